"""What is done behind a decision that never came out so: whether two programs do the same there.

They may ask the same of the same values and then do another thing.  Where no input decides so in
either, no output tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.marks import Block, Comparison, Marked

CONSTANT = r"(?P<value>-?\d[\w.+-]*|true|false|null)"
SETS = re.compile(rf"\s*(?:store|ret) (?!i1 )\S+ {CONSTANT}(?:,|$)")
CALLS = re.compile(
    r"(?:call|invoke) [^@]*@(?P<name>(?!llvm\.|_ZN?K?(?:St|S[abdios]|9__gnu_cxx))[-\w.$]+)\("
)
"""Not of C++'s library: by which of its functions an element is had is no matter."""
CHOOSES = re.compile(rf"\s*{NAME} = phi (?!i1 )\S+ ")
FROM = re.compile(rf"\[ {CONSTANT}, %(?P<label>[^\s\]]+) \]")


def note(block: Block, row: str) -> None:
    """Note the constants that a row keeps or gives back, and what it calls.

    >>> block = Block(0)
    >>> for row in ("store i32 1, ptr %x", "%2 = call double @fabs(double %1)",
    ...             "%3 = phi i32 [ %1, %then ], [ 7, %else ]",
    ...             "%4 = call ptr @_ZNSt6vectorIiSaIiEEixEm(ptr %v, i64 0)"):
    ...     note(block, "  " + row)
    >>> sorted(block.does), block.given
    (['1', 'fabs'], {'else': {'7'}})
    """
    if m := SETS.match(row) or CALLS.search(row):
        block.does.add(m[1])
    if CHOOSES.match(row):
        for m in FROM.finditer(row):
            block.given.setdefault(m["label"], set()).add(m["value"])


def done_behind(one: Marked, seen: bytes, c: Comparison, came_true: bool) -> frozenset[str]:
    """Constants and calls of the blocks that only the way not taken leads to.

    Parameters
    ----------
    one : Marked
        The source.
    seen : bytes
        What stands at the marks' offsets after the runs.
    c : Comparison
        One that came out one way only.
    came_true : bool
        Which way.
    """
    if c.targets is None:
        return frozenset()
    return frozenset(_done(one, seen, c.function, c.targets[came_true]))


def _done(one: Marked, seen: bytes, function: str, first: str) -> Iterator[str]:
    open_, known = [first], set[str]()
    while open_:
        label = open_.pop()
        block = one.blocks.get((function, label))
        if label in known or block is None or seen[block.offset]:
            continue
        known.add(label)
        yield from block.does
        for target in block.targets:
            other = one.blocks.get((function, target))
            yield from other.given.get(label, ()) if other else ()
        open_ += block.targets
