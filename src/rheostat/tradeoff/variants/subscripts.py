"""Whether subscripts of two iterations of a loop are at different places, as polynomials tell."""

from __future__ import annotations

from rheostat.tradeoff.variants.accesses import READ, Access
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.polynomial import (
    Polynomial,
    added,
    is_data,
    meet_in_one,
    names_in,
    split,
)

SAFE, UNKNOWN, CONFLICT = 0, 1, 2


def apart_by(source: CSource, mine: list[Access], variable: str, moving: set[str]) -> bool:
    """Whether accesses to an array are at other places wherever a variable has other values.

    Parameters
    ----------
    source : CSource
        The file.
    mine : list of Access
        All of the array.
    variable : str
        Which.
    moving : set of str
        Variables that may have any value at the same time.

    Returns
    -------
    bool
        False also where it is not known.
    """
    counted = {x.variable for x in source.loops}
    return all(apart(w, a, variable, moving, counted) == SAFE
               for w in mine if w.kind != READ for a in mine)  # fmt: skip


def apart(
    write: Access, other: Access, variable: str, inner: set[str], counted: set[str], step: int = 1
) -> int:
    """Whether a write and another access of different iterations are at different places.

    Parameters
    ----------
    write, other : Access
        Of one array.
    variable : str
        What tells iterations apart.
    inner, counted : set of str
        Variables that may have any value in each iteration, and those of all loops.
    step : int
        By how much the variable counts.

    Returns
    -------
    int
        SAFE, UNKNOWN or CONFLICT.
    """
    if len(write.subscripts) != len(other.subscripts):
        return UNKNOWN
    pairs = list(zip(write.subscripts, other.subscripts, strict=True))
    levels = [_dimension(w, o, variable, inner, counted, step) for w, o in pairs]
    if SAFE in levels or meet_in_one(pairs, variable, inner):
        return SAFE
    return CONFLICT if all(x == CONFLICT for x in levels) else UNKNOWN


def _dimension(
    write: Polynomial, other: Polynomial, variable: str, inner: set[str], counted: set[str],
    step: int,
) -> int:  # fmt: skip
    """One subscript, A i + r against B i + q: apart if A = B and r, q stay within a row."""
    mine, its = split(write, variable), split(other, variable)
    if mine is None or its is None:
        return UNKNOWN
    (slope, rest), (slope_, rest_) = mine, its
    if not slope and not slope_:  # neither depends on the loop: the same places every time
        same = rest == rest_ and not is_data(rest)
        moving = (names_in(rest) | names_in(rest_)) & inner
        return CONFLICT if same or not (moving or is_data(rest) or is_data(rest_)) else UNKNOWN
    if slope != slope_:
        return UNKNOWN
    shift = added(rest, rest_, -1)
    few = set(slope) == {()} and set(shift) <= {()} and not names_in(rest) & inner
    if few and not is_data(rest) and abs(shift.get((), 0)) < step * abs(slope[()]):
        return SAFE  # a loop in steps of four has four elements of its own
    return _within(slope, rest, shift, inner, counted)


def _within(
    slope: Polynomial, rest: Polynomial, shift: Polynomial, inner: set[str], counted: set[str]
) -> int:
    """Whether offsets are smaller than a step of the loop, by the sizes in their monomials.

    A step of n elements leaves room for an inner loop over j and for any fixed number of elements;
    a step of 3 for offsets of less than 3; a step of 1 for none.  Variables of loops have no size.
    """

    def sizes(m: tuple[str, ...]) -> int:
        return sum(x not in counted and x not in inner for x in m)

    if any(is_data({m: 1}) for m in (*rest, *shift)):
        return UNKNOWN
    degree, unit = max(map(sizes, slope)), abs(slope.get((), 0))
    moving = [m for m in rest if set(m) & inner]
    if any(sizes(m) == degree and not (degree == 0 and unit > 1) for m in moving):
        return UNKNOWN
    if not shift:
        return SAFE
    large = [m for m in shift if sizes(m) >= max(degree, 1)]
    if large:
        return UNKNOWN if any(set(m) & counted for m in large) else CONFLICT
    if degree:
        return SAFE
    return SAFE if abs(shift.get((), 0)) < unit and set(shift) == {()} else CONFLICT
