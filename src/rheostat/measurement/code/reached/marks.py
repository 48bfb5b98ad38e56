"""What the marks of a program's text mean: comparisons, blocks, values that are kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.constant_values import Narrowing
from rheostat.measurement.code.reached.unread_entries import Table

STORED = re.compile(
    r"  store i8 1, ptr (?:%rheostat_reached\.(?P<one>\d+)(?:\.too)?\.at|"
    r"getelementptr \(i8, ptr @rheostat_reached, i64 (?P<byte>\d+)\))"
)
ARRAY = "rheostat_reached"
NOTED = re.compile(r"  call void @rheostat_reached_\w+\(i32 (?:noundef )?(?P<number>\d+)")
At = tuple[str, int, int]


@dataclass(frozen=True)
class Comparison:
    """Where it stands, what it asks (eq, lt or gt, a constant if there is one), and its bytes.

    ``offset`` is the byte of false, the next one that of true; ``asks_this`` says whether true
    means that ``how`` holds; ``targets`` are the blocks of true and false, where it decides them.
    ``of`` is the byte of another comparison, which has to have come out both ways; ``value`` is
    what LLVM's text calls it; ``tie``: two things of one kind are compared; ``letter``: a byte is;
    ``behind``: what is done only where it comes out as it never did.
    """

    at: At
    how: str
    constant: str
    asks_this: bool
    offset: int
    targets: tuple[str, str] | None
    function: str
    of: int = -1
    value: str = ""
    tie: bool = False
    letter: bool = False
    behind: frozenset[str] = frozenset()


@dataclass
class Block:
    """A block's lines in the program's own files, where it leads, and what it does.

    ``acts``: it changes something or calls; ``stops``: the program ends there with an error;
    ``chooses``: a value hangs on where it was reached from; ``given``: which constants, by block;
    ``does``: constants it keeps, and calls; ``unasked``: whether a run reaches it is no question.
    """

    offset: int
    places: set[tuple[str, int]] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)
    acts: bool = False
    stops: bool = False
    chooses: bool = False
    does: set[str] = field(default_factory=set)
    given: dict[str, set[str]] = field(default_factory=dict)
    unasked: bool = False


@dataclass
class Marked:
    """The text with its marks, and what they mean.

    ``cut``: where numbers of threads are, or a remainder is not exact: no run has to show it.
    """

    text: str
    end: int
    comparisons: list[Comparison] = field(default_factory=list)
    blocks: dict[tuple[str, str], Block] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    values: list[Narrowing] = field(default_factory=list)
    cut: list[tuple[At, str]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def still_asked(text: str, seen: bytes, values: Collection[int]) -> Iterator[str]:
    """Rows of a marked text without marks whose bytes are set, and with these values alone.

    Marks make a loop up to ten times slower, and nearly all are set after a few runs.

    Parameters
    ----------
    text : str
        LLVM's, marked.
    seen : bytes
        What stands at the marks' offsets; those beyond its end are not set.
    values : collection of int
        Numbers of the values that are kept.
    """

    def is_set(offset: int) -> bool:
        return offset < len(seen) and bool(seen[offset])

    for row in text.splitlines():
        m, noted = STORED.match(row), NOTED.match(row)
        if m and m["one"] and is_set(int(m["one"])) and is_set(int(m["one"]) + 1):
            continue
        if m and m["byte"] and is_set(int(m["byte"])):
            continue
        if noted is None or int(noted["number"]) in values:
            yield row


def stored(offset: int, name: str) -> Iterator[str]:
    """What writes to the byte that stands so far behind this one.

    Parameters
    ----------
    offset : int
        Of the byte.
    name : str
        The value in LLVM's text that says how far.
    """
    yield f"  {name}.at = getelementptr i8, ptr {byte_at(offset)}, i64 {name}"
    yield f"  store i8 1, ptr {name}.at"


def byte_at(offset: int) -> str:
    """A byte of the marks, as LLVM's text writes its place."""
    return f"getelementptr (i8, ptr @{ARRAY}, i64 {offset})"
