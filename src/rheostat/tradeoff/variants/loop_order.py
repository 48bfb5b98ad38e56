"""Nested loops exchanged, so that the innermost walks memory in short steps."""

from __future__ import annotations

from rheostat.tradeoff.variants.accesses import Body
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node, identifiers
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.loop_blocks import counter
from rheostat.tradeoff.variants.polynomial import split
from rheostat.tradeoff.variants.subscripts import CONFLICT


def interchange(text: str, *, headers: str = "") -> str | None:
    """Nested loops in the order in which the innermost walks memory in steps of one element."""
    before = text
    for _ in range(MOST_SWAPS):
        source = CSource(text, headers=headers)
        swapped = next((t for loop in source.loops if (t := _swapped(source, loop))), None)
        if swapped is None:
            break
        text = swapped
    return text if text != before else None


MOST_SWAPS = 12


def _swapped(source: CSource, outer: Loop) -> str | None:
    """The text with a loop and the one inside it exchanged, if that shortens its steps."""
    inner = nested(source, outer)
    if inner is None or dependence(source, outer).level == CONFLICT:
        return None
    if counter(source, outer) != outer.variable:  # blocks are made to stay outside
        return None
    if not exchange_gains(source, outer, inner):
        return None
    heads = [x.head for x in (outer, inner)]
    return source.edited(
        [(*heads[0], _slice(source, heads[1])), (*heads[1], _slice(source, heads[0]))]
    )


def nested(source: CSource, outer: Loop) -> Loop | None:
    """The loop that is all of another's body, with bounds that do not hang on the outer one.

    Parameters
    ----------
    source : CSource
        The file.
    outer : Loop
        One of its loops.

    Returns
    -------
    Loop or None
        The loop within.
    """
    parts = [x for x in outer.body.named_children if x.type != "comment"]
    alone = parts[0] if outer.body.type == "compound_statement" and len(parts) == 1 else outer.body
    return nested_in(source, outer, alone)


def nested_in(source: CSource, outer: Loop, part: Node) -> Loop | None:
    """A part of a loop's body, if it is a loop with bounds that do not hang on the outer one."""
    inner = next((x for x in source.loops if x.start == part.start_byte), None)
    if inner is None or part.type != "for_statement":
        return None
    bounds = identifiers(source, inner.low) | identifiers(source, inner.high)
    return None if outer.variable in bounds else inner


def exchange_gains(source: CSource, outer: Loop, inner: Loop) -> bool:
    """Whether memory is walked in shorter steps with the outer loop's variable innermost."""
    return _strides(source, inner, outer.variable) < _strides(source, inner, inner.variable)


def _slice(source: CSource, place: tuple[int, int]) -> str:
    return source.bytes[place[0] : place[1]].decode()


def _strides(source: CSource, loop: Loop, variable: str) -> int:
    """How many accesses in a body move by more than an element when a variable counts."""
    far = 0
    for access in Body(source, loop).accesses:
        if not access.subscripts:
            continue
        parts = [split(p, variable) for p in access.subscripts]
        last = parts[-1]
        rows = any(p is None or p[0] for p in parts[:-1])
        far += rows or last is None or bool(set(last[0]) - {()}) or abs(last[0].get((), 0)) > 4
    return far
