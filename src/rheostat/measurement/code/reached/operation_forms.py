"""What an operation looks like with names aside: whether two programs have the same one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from rheostat.measurement.code.reached.idle_operations import COMPUTED, LOAD, TURNED

ELEMENT = re.compile(r"getelementptr [^,]*, ptr ([%@][^\s,]+)")
LEAST_OPERATIONS = 2
"""A single operation is in every program."""


class OperationForms:
    """Forms of the operations of one function.

    Parameters
    ----------
    defined : mapping of str to str
        What each value of the function is.
    """

    def __init__(self, defined: Mapping[str, str]) -> None:
        self.defined = defined

    def of(self, value: str) -> str:
        """The whole expression that an operation is a part of, which is marked.

        Arrays are told apart by their order, and where in them is left out.

        >>> forms = OperationForms({"%p": "getelementptr i32, ptr %a, i64 %i",
        ...     "%x": "load i32, ptr %p", "%y": "load i32, ptr %b", "%s": "add i32 %x, %y",
        ...     "%z": "load i32, ptr %p", "%t": "mul i32 %s, %z"})
        >>> forms.of("%s"), OperationForms({"%s": "add i32 %x, %y"}).of("%s")
        ('(mul *(add 0[] 1) 0[])', '')
        """
        root = value
        while root in self._part_of:
            root = self._part_of[root]
        said = self._said(root, value, {})
        return said if said.count("(") >= LEAST_OPERATIONS else ""

    @cached_property
    def _part_of(self) -> dict[str, str]:
        """The operation that an operation is an operand of."""
        computed = ((v, COMPUTED.match(f"{v} = {said}")) for v, said in self.defined.items())
        return {self._source(m[side]): v for v, m in computed if m for side in ("left", "right")}

    def _source(self, value: str) -> str:
        while m := TURNED.match(self.defined.get(value, "")):
            value = m[1]
        return value

    def _said(self, value: str, marked: str, names: dict[str, int]) -> str:
        value = self._source(value)
        said = self.defined.get(value, "")
        if m := COMPUTED.match(f"{value} = {said}"):
            sides = (self._said(m[side], marked, names) for side in ("left", "right"))
            return f"{'*' * (value == marked)}({m['how']} {' '.join(sides)})"
        if not value.startswith("%"):
            return value
        place, depth = (m[1] if (m := LOAD.match(said)) else value), 0
        while m := ELEMENT.match(self.defined.get(place, "")):
            place, depth = m[1], depth + 1
        if depth and (m := LOAD.match(self.defined.get(place, ""))):
            place = m[1]
        return f"{names.setdefault(place, len(names))}{'[]' * depth}"
