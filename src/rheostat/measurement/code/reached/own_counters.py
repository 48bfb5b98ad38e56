"""Counters that nothing but steps of one raises: they do not come round, as no run has 2**31 turns.

A proof that knows nothing of overflow takes each sum for one that may wrap, also that of
``for (int r = 0; r <= rings; r++)``.  A variable of 32 bits that only small constants and sums with
one are stored to, and whose address goes nowhere, needs 2**31 turns for that, which no run takes
that is no slower than the original.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rheostat.measurement.code.reached.constant_values import NAME

DEFINED = re.compile(r'define .*?@(?P<name>[-\w.$]+|"[^"]*")\(')
VARIABLE = re.compile(rf"\s*(?P<place>{NAME}) = alloca i32(?:,|$)")
STORED = re.compile(rf"\s*store i32 (?P<value>[^,]+), ptr (?P<place>{NAME})(?:,|$)")
LOADED = re.compile(rf"\s*(?P<value>{NAME}) = load i32, ptr (?P<place>{NAME})(?:,|$)")
RAISED = re.compile(rf"\s*(?P<value>{NAME}) = add nsw i32 (?P<of>{NAME}), 1(?:,|$)")
NO_USE = re.compile(r"\s*call void @llvm\.(?:lifetime|dbg)\.")
MOST_FIRST = 1 << 20
"""The greatest constant that a counter may begin with, and the least is 0."""


def own_counters(code: str) -> set[tuple[str, str]]:
    """Functions of a text and names of the sums in them that raise such a counter.

    Parameters
    ----------
    code : str
        LLVM's, before it is optimised.
    """
    made, function, rows = set[tuple[str, str]](), "", list[str]()
    for row in code.splitlines():
        if m := DEFINED.match(row):
            function, rows = m["name"], []
        elif row == "}" and function:
            made |= {(function, value) for value in _raised(rows)}
            function = ""
        rows.append(row)
    return made


def _raised(rows: Sequence[str]) -> Iterator[str]:
    r"""Names of a function's sums that raise a counter.

    >>> rows = ["%r = alloca i32", "store i32 0, ptr %r", "%1 = load i32, ptr %r",
    ...         "%2 = add nsw i32 %1, 1", "store i32 %2, ptr %r"]
    >>> [*_raised(rows)], [*_raised([*rows, "store i32 %n, ptr %r"])]
    (['%2'], [])
    >>> [*_raised([*rows, "call void @f(ptr %r)"])]
    []
    """
    places = {m["place"] for row in rows if (m := VARIABLE.match(row))}
    read = {m["value"]: m["place"] for row in rows if (m := LOADED.match(row))}
    raised = {m["value"]: read.get(m["of"], "") for row in rows if (m := RAISED.match(row))}
    kept = defaultdict[str, set[str]](set)
    for row in rows:
        if m := STORED.match(row):
            kept[m["place"]].add(m["value"])
        elif not (LOADED.match(row) or VARIABLE.match(row) or NO_USE.match(row)):
            places -= set(re.findall(NAME, row))
    for place in places:
        values = kept[place]
        if all(raised.get(v) == place or _is_small(v) for v in values):
            yield from (v for v in values if v in raised)


def _is_small(value: str) -> bool:
    return value.isdecimal() and int(value) <= MOST_FIRST
