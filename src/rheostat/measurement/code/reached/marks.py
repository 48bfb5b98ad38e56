"""What the marks of a program's text mean: comparisons, blocks, values that are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from rheostat.measurement.code.reached.constant_values import Narrowing

At = tuple[str, int, int]


@dataclass(frozen=True)
class Comparison:
    """Where it stands, what it asks (eq, lt or gt, a constant if there is one), and its bytes.

    ``offset`` is the byte of false, the next one that of true; ``asks_this`` says whether true
    means that ``how`` holds; ``targets`` are the blocks of true and false, where it decides them.
    ``of`` is the byte of another comparison, which has to have come out both ways.
    """

    at: At
    how: str
    constant: str
    asks_this: bool
    offset: int
    targets: tuple[str, str] | None
    function: str
    of: int = -1


@dataclass
class Block:
    """A block's lines in the program's own files, where it leads, and what it does.

    ``acts``: it changes something or calls; ``stops``: the program ends there with an error;
    ``chooses``: a value hangs on where it was reached from.
    """

    offset: int
    places: set[tuple[str, int]] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)
    acts: bool = False
    stops: bool = False
    chooses: bool = False
    by_compiler: bool = False


@dataclass
class Marked:
    """The text with its marks, and what they mean.

    ``cut``: where numbers of threads are, which no run has to show.
    """

    text: str
    end: int
    comparisons: list[Comparison] = field(default_factory=list)
    blocks: dict[tuple[str, str], Block] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    values: list[Narrowing] = field(default_factory=list)
    cut: list[tuple[At, str]] = field(default_factory=list)
