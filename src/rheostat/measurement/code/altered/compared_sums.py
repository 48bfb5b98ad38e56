"""Weighted sums that are compared with what they were: whether all is the same, by a number.

Two states may have the same sum, as changes may cancel.  Few bits are kept of both sides of such a
comparison, so that many have.  A plain sum is left alone: of values that only fall it is enough.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rheostat.measurement.code.reached.stated_ranges import FUNCTION
from rheostat.measurement.code.reached.truths import LOADED, STORED

COMPARED = re.compile(
    r"\s*(?P<value>%\S+) = icmp (?P<how>eq|ne) (?P<type>i(?:32|64)) (?P<one>%\S+), "
    r"(?P<other>%[^\s,]+)(?P<rest>.*)"
)
STEP = re.compile(r"(?:add|sub|mul|xor|zext|sext|trunc)\b")
PRODUCT = re.compile(r"mul (?:n[us]w )*i\d+ %[^\s,]+, %")
VALUE = re.compile(r"%[-\w.$]+")
CALLED = re.compile(r"(?:tail )?(?:call|invoke) [^@]*@([-\w.$]+)\((.*)")
REGION = re.compile(r"call [^@]*@__kmpc_fork_call\(.*ptr @(?P<name>[-\w.$]+)(?P<passed>.*)\)")


@dataclass
class _SummedBody:
    """A function's rows, what its values are, and what is stored where."""

    rows: list[str]
    defined: Mapping[str, str]
    stored: Mapping[str, list[str]]

    def read(self, value: str) -> str:
        """The place that a value is read from."""
        m = LOADED.match(self.defined.get(value, ""))
        return m[1] if m else ""

    def weighs(self) -> set[str]:
        """Places to which products of two variables are added."""
        return {p for p, values in self.stored.items() if any(self._weighted(p, v) for v in values)}

    def _weighted(self, place: str, value: str) -> bool:
        open_, known, read, product = [value], set[str](), False, False
        while open_:
            if (value := open_.pop()) in known:
                continue
            known.add(value)
            said = self.defined.get(value, "")
            read = read or self.read(value) == place
            product = product or bool(PRODUCT.match(said))
            open_ += VALUE.findall(said) if STEP.match(said) else []
        return read and product


def compared_sums(code: str, theirs: Callable[[str], bool]) -> dict[str, str]:
    """Rows that compare a weighted sum with what it was before, and what compares few bits of them.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    theirs : callable
        Whether a row is made of a line that the original has as well.
    """
    bodies = {name: _body(text) for name, _, text in FUNCTION.findall(code)}
    weighing = {name for name, body in bodies.items() if body.weighs()}
    made = {}
    for body in bodies.values():
        sums = _sums(body, weighing)
        for row in body.rows if sums else ():
            m = COMPARED.match(row)
            if m and _with_itself(body, m, sums) and not theirs(row):
                made[row] = few_bits(m)
    return made


def _body(text: str) -> _SummedBody:
    rows = text.splitlines()
    stored = defaultdict[str, list[str]](list)
    for m in filter(None, map(STORED.match, rows)):
        stored[m["place"]].append(m["value"])
    return _SummedBody(rows, dict(r.strip().split(" = ", 1) for r in rows if " = " in r), stored)


def _sums(body: _SummedBody, weighing: set[str]) -> set[str]:
    """Places of weighted sums: made here, by a function, or by a region's threads."""
    made = body.weighs()
    for place, values in body.stored.items():
        calls = (CALLED.match(body.defined.get(v, "")) for v in values)
        if any(m and m[1] in weighing for m in calls):
            made.add(place)
    regions = (REGION.search(row) for row in body.rows)
    return made.union(*(VALUE.findall(m["passed"]) for m in regions if m and m["name"] in weighing))


def _with_itself(body: _SummedBody, m: re.Match[str], sums: set[str]) -> bool:
    """Whether a place is compared with a copy of it that was kept."""
    one, other = body.read(m["one"]), body.read(m["other"])
    ways = ((one, other), (other, one))
    return any(p in sums and any(body.read(v) == p for v in body.stored.get(kept, ()))
               for p, kept in ways)  # fmt: skip


def few_bits(m: re.Match[str]) -> str:
    """A comparison for equality that looks at three bits.

    Parameters
    ----------
    m : re.Match
        Of `COMPARED`.
    """
    value, of = m["value"], m["type"]
    return (f"  {value}.sums = xor {of} {m['one']}, {m['other']}\n"
            f"  {value}.few = and {of} {value}.sums, 7\n"
            f"  {value} = icmp {m['how']} {of} {value}.few, 0{m['rest']}")  # fmt: skip
