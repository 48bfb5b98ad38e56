"""Loops blocked and taken apart, so that nests in them walk memory the other way and stay shared.

``for j { s[j] = 0; for k s[j] += a[k] * b[k][j]; }`` is two loops over j, of which the second can
be exchanged with its inner one.  Only loops none of whose iterations touches what another does are
taken apart: each iteration's statements then still run in their order.  Where such a loop is the
one to share among threads, blocks of it are first made a loop around it, and stay outside.
"""

from __future__ import annotations

from itertools import groupby

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.measurement.code.programs.program import C, Program
from rheostat.tradeoff.variants.accesses import Body
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node, identifiers
from rheostat.tradeoff.variants.dependence import dependence, read_after
from rheostat.tradeoff.variants.loop_blocks import blocked, indent_of
from rheostat.tradeoff.variants.loop_order import (
    exchange_gains,
    interchange,
    nested,
    nested_in,
)
from rheostat.tradeoff.variants.scalar_sums import KEPT, accumulated
from rheostat.tradeoff.variants.subscripts import SAFE
from rheostat.tradeoff.variants.unroll_and_jam import JAMMED, jammed
from rheostat.tradeoff.variants.variant import Variant

REORDERED = "loops in another order"
"""What a variant of such a text says before what else it changes."""
MOST_LOOPS = 24
JUMPS = ("continue_statement", "labeled_statement", "preproc_call", "preproc_ifdef", "preproc_if")
"""What belongs to the loop that it stands in."""


def reordered(text: str, *, headers: str = "") -> str | None:
    """Loops blocked and taken apart where that lets nests be exchanged, and nests exchanged.

    Parameters
    ----------
    text : str
        A C file.
    headers : str
        Text of the program's other files, whose macros it may use.

    Returns
    -------
    str or None
        None where nothing gains.

    Examples
    --------
    >>> print(reordered('''void f(int n, double s[n], double a[n], double b[n][n]) {
    ...   for (int i = 0; i < n; i++)
    ...     for (int j = 0; j < n; j++) {
    ...       b[i][j] = 0;
    ...       for (int k = 0; k < n; k++) b[i][j] += a[k] * s[k][j];
    ...     }
    ... }'''))
    void f(int n, double s[n], double a[n], double b[n][n]) {
      for (int i = 0; i < n; i++)
        {
          for (int j = 0; j < n; j++) { b[i][j] = 0; }
          for (int k = 0; k < n; k++) { for (int j = 0; j < n; j++) b[i][j] += a[k] * s[k][j]; }
        }
    }
    """
    before = text
    for _ in range(MOST_LOOPS):
        source = CSource(text, headers=headers)
        changed = next((t for loop in source.loops if (t := _changed(source, loop))), None)
        if changed is None:
            break
        text = changed
    text = interchange(text, headers=headers) or text
    return text if text != before else None


def in_another_order(program: Program) -> list[Variant]:
    """A serial program in C with its loops in another order, where that promises a gain.

    One thread may be all that a small program needs: beside it is told what sharing adds.

    Examples
    --------
    >>> in_another_order(Program({"a.c": "int main() {}"}, "serial"))
    []
    """
    name = program.sources[0]
    others = "\n".join(t for n, t in program.files.items() if n != name)
    if program.language != "serial" or not name.endswith(C):
        return []
    text, changes = prepared(program.files[name], headers=others)
    return [Variant(text, "search", changes, program.flags, "serial")] if changes else []


def prepared(text: str, *, headers: str = "") -> tuple[str, str]:
    """A C file with its loops in another order and its sums in scalars, and which was done.

    Examples
    --------
    >>> prepared("void f(int n, double *a) { for (int i = 0; i < n; i++) a[0] += a[i]; }")[1]
    ''
    """
    changes = []
    for said, change in ((REORDERED, reordered), (KEPT, accumulated), (JAMMED, jammed)):
        if (made := change(text, headers=headers)) is not None:
            text = made
            changes.append(said)
    return text, ", ".join(changes)


def _changed(source: CSource, loop: Loop) -> str | None:
    """The text with a loop blocked, or with a loop for each part of its body."""
    parts = _parts(loop)
    whole = nested(source, loop)
    within = [nested_in(source, loop, x) for x in parts] if whole is None else [whole]
    gains = {x.start for x in within if x is not None and exchange_gains(source, loop, x)}
    if not gains or not _apart(source, loop):
        return None
    shared = [x for x in source.around(loop) if dependence(source, x).level == SAFE]
    if not shared:  # of no iterations the variable would not be set
        return None if read_after(source, loop, loop.variable) else blocked(source, loop)
    if whole is not None or loop.body.type != "compound_statement":
        return None
    return _distributed(source, loop, gains) if len(parts) > 1 else None


def _apart(source: CSource, loop: Loop) -> bool:
    """Whether no iteration touches what another does, nor hands a scalar from part to part."""
    carried = dependence(source, loop)
    counters = {x.variable for x in source.inside(loop)}
    scalars = carried.private | carried.lastprivate | set(carried.reductions)
    declared = Body(source, loop).local - counters
    return (carried.level == SAFE and scalars <= counters and not declared
            and not any(x.type in JUMPS for x in walk(loop.node))
            and not any(_counted_elsewhere(source, x, counters) for x in _parts(loop))
            and not any(x.type == "call_expression" for b in (loop.low, loop.high)
                        for x in walk(b)))  # fmt: skip


def _parts(loop: Loop) -> list[Node]:
    """The statements of a body."""
    alone = loop.body.type != "compound_statement"
    return [loop.body] if alone else [x for x in loop.body.named_children if x.type != "comment"]


def _counted_elsewhere(source: CSource, part: Node, counters: set[str]) -> bool:
    """Whether a part uses a counter of which no loop in it is: what another part left in it."""
    own = {x.variable for x in source.loops if part.start_byte <= x.start < part.end_byte}
    return bool(identifiers(source, part) & counters - own)


def _distributed(source: CSource, loop: Loop, gains: set[int]) -> str:
    """The text with a loop for each part that gains, and for what stands between them."""
    parts = _parts(loop)
    groups = [list(g) for _, g in
              groupby(parts, key=lambda x: x.start_byte in gains and x.start_byte)]  # fmt: skip
    begin, end = loop.head
    first, space = source.bytes[begin:end].decode(), indent_of(source, begin)
    alone = loop.node.parent.type == "compound_statement"
    between = f"\n{space}" if alone else f"\n{space}  "
    loops = between.join(
        f"{first} {{ {source.bytes[g[0].start_byte : g[-1].end_byte].decode()} }}" for g in groups
    )
    whole = loops if alone else f"{{{between}{loops}\n{space}}}"
    return source.edited([(int(loop.node.start_byte), int(loop.node.end_byte), whole)])
