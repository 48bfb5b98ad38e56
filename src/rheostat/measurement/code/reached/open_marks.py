"""What the marks of a program's runs leave open: comparisons that miss an outcome, and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.reached.consequences import done_behind
from rheostat.measurement.code.reached.constant_values import Narrowing
from rheostat.measurement.code.reached.error_ends import DataFlow
from rheostat.measurement.code.reached.marks import Block, Comparison, Marked
from rheostat.measurement.code.verdict import Finding

PRAGMA_LINE = re.compile(PRAGMA)
LOOPS = re.compile(r"\b(?:for|simd|loop|distribute|taskloop)\b")
DECIDES = re.compile(r"\b(?:filter|cancel)\b")
COLLAPSED = re.compile(r"\bcollapse\s*\(\s*(\d+)")
WHOLE, ORDER = "whole", "order"
"""Lines whose comparisons are the compiler's; those where it makes some that ask for an order."""
Key = tuple[tuple[str, int, int], str, str]


@dataclass
class Left:
    """Comparisons with whether they never held (else: always), lines that were not reached.

    ``values`` came near the end of what is kept of them, with what is to be said of each;
    ``tables`` have entries that were never read; ``seen`` is what runs have set, ``kept`` what
    they kept of values.
    """

    comparisons: list[tuple[Comparison, bool]] = field(default_factory=list)
    lines: set[tuple[str, int]] = field(default_factory=set)
    values: list[tuple[Narrowing, str]] = field(default_factory=list)
    tables: list[Finding] = field(default_factory=list)
    seen: bytes = b""
    kept: bytes = b""


def left_of(whole: Sequence[Marked], seen: bytes, program: Program) -> Left:
    """What a program's runs leave open.

    Parameters
    ----------
    whole : sequence of Marked
        The program's sources.
    seen : bytes
        What stands at the marks' offsets after the runs.
    program : Program
        Its text.

    Returns
    -------
    Left
        Without what OpenMP's pragmas make, and what leads to nothing but an error's end.
    """
    made = made_by_pragmas(program)
    held, failed, counts = set[Key](), set[Key](), dict[Key, Comparison]()
    for one in whole:
        flow = DataFlow(one.text)
        for c in one.comparisons:
            how = made.get(c.at[:2], "")
            own = how and _is_own(program.row(*c.at[:2]), c.at[2], how)
            if not own and (how == WHOLE or (how == ORDER and c.how != "eq")):
                continue
            if c.of >= 0 and not (seen[c.of] and seen[c.of + 1]):
                continue
            key = (c.at, c.how, c.constant)
            false, true = bool(seen[c.offset]), bool(seen[c.offset + 1])
            held |= {key} if (true if c.asks_this else false) else set()
            failed |= {key} if (false if c.asks_this else true) else set()
            if true != false and not _harmless(one, seen, c, true, flow):
                counts[key] = replace(c, behind=done_behind(one, seen, c, true))
    left = Left(
        seen=seen,
        comparisons=[(c, k not in held) for k, c in counts.items() if (k in held) != (k in failed)],
    )
    left.tables = [f for one in whole for t in one.tables for f in t.findings(seen)]
    left.lines = {(f, n) for f, n in _never(whole, seen) - made.keys()
                  if re.search(r"\w", program.row(f, n))}  # fmt: skip
    return left


def left_by(
    whole: Sequence[Marked], seen: bytes, left: Left, program: Program, *, proved: bool = False
) -> Left:  # fmt: skip
    """What of it is left where more marks are set than runs have.

    Parameters
    ----------
    whole : sequence of Marked
        The program's sources.
    seen : bytes
        What stands at the marks' offsets now.
    left : Left
        What was left before.
    program : Program
        Its text.
    proved : bool
        Whether no run set these marks, but a proof: what they left is then not more.  A run that
        comes where none was before may leave a comparison open there.
    """
    rest = left_of(whole, seen, program)
    open_ = {(c.at, c.how, c.constant, missing) for c, missing in rest.comparisons}
    comparisons = [(c, missing) for c, missing in left.comparisons
                   if (c.at, c.how, c.constant, missing) in open_]  # fmt: skip
    if not proved:
        known = {(c.at, c.how, c.constant) for m in whole for c in m.comparisons
                 if left.seen[c.offset] or left.seen[c.offset + 1]}  # fmt: skip
        comparisons += [(c, missing) for c, missing in rest.comparisons
                        if (c.at, c.how, c.constant) not in known]  # fmt: skip
    return replace(left, comparisons=comparisons, lines=left.lines & rest.lines, seen=seen)


def _is_own(row: str, column: int, how: str) -> bool:
    """Whether a comparison is the program's: it stands at a sign, the compiler's at the loop.

    On a pragma's line where a clause decides more than how many threads there are.

    >>> row = "for (int b = 0; b < n - (x > 300); b++)"
    >>> [_is_own(row, column, ORDER) for column in (1, 6, 28)]
    [False, False, True]
    """
    decides = how == ORDER or DECIDES.search(row) is not None
    return decides and row[column - 1 : column] in ("<", ">", "=", "!")


def _never(whole: Sequence[Marked], seen: bytes) -> set[tuple[str, int]]:
    """Lines of blocks that were not run, in functions that something refers to."""
    never, reached = set[tuple[str, int]](), set[tuple[str, int]]()
    for one in whole:
        ways = {function: _ways(one, function) for function in one.functions}
        for (function, label), block in one.blocks.items():
            if seen[block.offset]:
                reached |= block.places
            elif label in ways.get(function, ()) and not (block.stops or block.unasked):
                never |= block.places
    return never - reached


def _ways(one: Marked, function: str) -> set[str]:
    """The blocks that some way leads to from a function's first, by the text."""
    own = [label for f, label in one.blocks if f == function]
    known, open_ = set(own[:1]), own[:1]
    while open_:
        targets = set(one.blocks[function, open_.pop()].targets) - known
        open_ += [t for t in targets if (function, t) in one.blocks]
        known |= targets
    return known


def _harmless(
    one: Marked, seen: bytes, c: Comparison, came_true: bool, flow: DataFlow
) -> bool:  # fmt: skip
    """Whether the way not taken ends with an error, or joins the other with nothing done.

    An error for what data holds is a question.
    """
    if c.targets is None:
        return False
    errors: list[str] = []
    taken, missing = c.targets if came_true else c.targets[::-1]
    joined = one.blocks.get((c.function, taken))
    visited: set[str] = set()

    def harmless(label: str) -> bool:
        block: Block | None = one.blocks.get((c.function, label))
        if label == taken or label in visited:
            return joined is not None and not joined.chooses
        visited.add(label)
        if block is None or seen[block.offset]:
            return False
        if block.stops:
            errors.append(label)
        return block.stops or (not block.acts and all(map(harmless, block.targets)))

    alone = missing != taken and harmless(missing)
    return alone and not (errors and c.value and flow.on_data(c.function, c.value))


def made_by_pragmas(program: Program) -> dict[tuple[str, int], str]:
    r"""Lines of OpenMP's pragmas, and the heads of the loops behind them, by what is made there.

    >>> text = "#pragma omp for collapse(2)\nfor (;;)\nfor (;;)\nfor (;;) ;"
    >>> {n: how for (_, n), how in made_by_pragmas(Program({"a.c": text}, "openmp")).items()}
    {1: 'whole', 2: 'order', 3: 'order'}
    """
    made: dict[tuple[str, int], str] = {}
    for file, text in program.files.items():
        made |= {(file, n): how for n, how in _heads(text.splitlines())}
    return made


def _heads(rows: Sequence[str]) -> Iterator[tuple[int, str]]:
    loops = open_ = 0
    goes_on = False
    for number, row in enumerate(rows, 1):
        pragma = bool(PRAGMA_LINE.search(row))
        if pragma or goes_on:
            deeper = COLLAPSED.search(row)
            loops = int(deeper[1]) if deeper else max(loops * goes_on, bool(LOOPS.search(row)))
            goes_on = row.rstrip().endswith("\\")
            yield number, WHOLE
        elif loops and (open_ or re.search(r"\bfor\s*\(", row)):
            open_ += row.count("(") - row.count(")")
            yield number, ORDER
            loops -= open_ <= 0
            open_ = max(open_, 0)
