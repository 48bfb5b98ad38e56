"""Ties: orders that are asked for only where two values of the data are equal.

Which of two equal values comes first is no decision that inputs have to take both ways: `races`
looks at it with data of few values.  ``if (a.x != b.x) return a.x < b.x; return a.at < b.at;`` is
one as well as ``a.x == b.x && a.at < b.at``, on one line or on several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rheostat.measurement.code.reached.constant_values import NAME

EQUAL = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:icmp|fcmp (?:[a-z]+ )*?)\s*(?P<how>eq|ne|oeq|une) \S+ "
    rf"(?P<one>{NAME}), (?P<other>{NAME})(?:,|$)"
)
BRANCH = re.compile(rf"\s*br i1 ({NAME}), label %(\S+), label %([^\s,]+)")
LABEL = re.compile(r"label %([-\w.$]+)")
CONVERTED = re.compile(rf"(?:[sz]ext|trunc|fpext|sitofp|uitofp) \S+ ({NAME}) to ")
LOADED = re.compile(r"load \S+, ptr ([^\s,]+)")
STORED = re.compile(rf"\s*store \S+ ({NAME}), ptr ({NAME})")


def tied_blocks(rows: Sequence[str], defined: Mapping[str, str]) -> set[str]:
    """Labels of a function's blocks that are reached only where two values of data are equal.

    Parameters
    ----------
    rows : sequence of str
        The function in LLVM's text before it is optimised.
    defined : mapping of str to str
        What its values are.
    """
    stored: dict[str, list[str]] = {}
    for row in rows:
        if m := STORED.match(row):
            stored.setdefault(m[2], []).append(m[1])
    equal = {
        m["value"]: "eq" in m["how"]
        for row in rows
        if (m := EQUAL.match(row)) and _are_data(m.group("one", "other"), defined, stored)
    }
    leading = [label for row in rows if re.match(r"\s*(?:br|switch)\b|\s*i\d+ -?\d+, label", row)
               for label in LABEL.findall(row)] if equal else []  # fmt: skip
    return {label for label in _behind(rows, equal) if leading.count(label) == 1}


def _behind(rows: Sequence[str], equal: Mapping[str, bool]) -> Iterator[str]:
    for row in rows:
        if (m := BRANCH.match(row)) and m[1] in equal:
            yield m[2] if equal[m[1]] else m[3]


def _are_data(
    both: Sequence[str], defined: Mapping[str, str], stored: Mapping[str, Sequence[str]]
) -> bool:
    """Whether both are elements or members, or one is and the other a variable that keeps one."""
    places = [_place(v, defined) for v in both]
    elements = [_is_element(p, defined) for p in places]
    kept = [any(_is_element(_place(v, defined), defined) for v in stored.get(p, ()))
            for p in places]  # fmt: skip
    return any(elements) and all(e or k for e, k in zip(elements, kept, strict=True))


def _place(value: str, defined: Mapping[str, str]) -> str:
    """Where a value is loaded from, also before a conversion."""
    said = defined.get(value, "")
    if m := CONVERTED.match(said):
        said = defined.get(m[1], "")
    m = LOADED.match(said)
    return m[1] if m else ""


def _is_element(place: str, defined: Mapping[str, str]) -> bool:
    return defined.get(place, "").startswith("getelementptr")
