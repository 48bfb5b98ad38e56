"""LLVM's text with calls that tell a guided search what a run compares, indexes and writes.

Before a comparison, an index, a store to an element, and an ``or`` stands a call with its operands.
Rows of the program's own files alone have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.source_places import Places

OPERAND = r"[^\s,]+"
WHOLE = r"(?P<type>i8|i16|i32|i64)"
TWO = rf"(?P<one>{OPERAND}), (?P<other>{OPERAND})"
END = r"(?:, !.*)?$"
COMPARED = re.compile(rf"  %\S+ = icmp (?P<how>[a-z]+) {WHOLE} {TWO}")
REAL = re.compile(rf"  %\S+ = fcmp [\w ]*?\w+ (?P<type>float|double) {TWO}")
INDEX = re.compile(
    rf"  (?P<value>%\S+) = getelementptr .*, (?P<type>i32|i64) (?P<one>%{OPERAND}?){END}"
)
STORE = re.compile(rf"  store (?:volatile )?\S+ {OPERAND}, ptr (?P<place>%{OPERAND}), align")
JOINED = re.compile(rf"  %\S+ = or {WHOLE} {TWO}")
TIMES = re.compile(rf"  (?P<value>%\S+) = mul (?:n[us]w )*{WHOLE} %\S+, (?P<by>\d+){END}")
SUM = re.compile(rf"  %\S+ = add (?:n[us]w )*{WHOLE} {TWO}{END}")
UNSIGNED = ("ugt", "uge", "ult", "ule")
DECLARED = """declare void @rheostat_way(i32, i64, i64)
declare void @rheostat_way_real(i32, double, double)
declare void @rheostat_size(i32, i64)
declare void @rheostat_store(i32, ptr)
"""


@dataclass
class _Watching:
    """A text on its way: how many places are watched, and what a function's values are."""

    places: Places
    count: int
    names: int = 0
    elements: set[str] = field(default_factory=set)
    products: dict[str, str] = field(default_factory=dict)

    def rows(self, row: str) -> Iterator[str]:
        """What stands before a row, and it."""
        if row.startswith("define "):
            self.elements, self.products = set(), {}
        if m := INDEX.match(row):
            self.elements.add(m["value"])
        if m := TIMES.match(row):
            self.products[m["value"]] = m["by"]
        if self.places.of(row):
            yield from self._watched(row)
        yield row

    def _watched(self, row: str) -> Iterator[str]:
        if m := COMPARED.match(row):
            extended = "zext" if m["how"] in UNSIGNED else "sext"
            yield from self._reported("way", m["type"], (m["one"], m["other"]), extended)
        elif m := REAL.match(row):
            yield from self._reported("way_real", m["type"], (m["one"], m["other"]), "fpext")
        elif m := INDEX.match(row):
            yield from self._reported("size", m["type"], (m["one"],))
        elif m := JOINED.match(row):
            shared = self._name()
            yield f"  {shared} = and {m['type']} {m['one']}, {m['other']}"
            yield from self._reported("size", m["type"], (shared,), "zext")
        elif (m := STORE.match(row)) and m["place"] in self.elements:
            yield from self._reported("store", "ptr", (m["place"],))
        elif m := SUM.match(row):
            for one, other in ((m["one"], m["other"]), (m["other"], m["one"])):
                if one in self.products:
                    yield from self._reported("way", m["type"], (other, self.products[one]))

    def _reported(
        self, what: str, kind: str, operands: Sequence[str], extended: str = "sext"
    ) -> Iterator[str]:
        """A call with the number of the place and what is reported, as wide as it can be."""
        self.count += 1
        wide = {"way_real": "double", "store": "ptr"}.get(what, "i64")
        given = [f"i32 {self.count}"]
        for value in operands:
            widened = kind != wide and value.startswith("%")
            name = self._name() if widened else value
            if widened:
                yield f"  {name} = {extended} {kind} {value} to {wide}"
            given.append(f"{wide} {name}")
        yield f"  call void @rheostat_{what}({', '.join(given)})"

    def _name(self) -> str:
        self.names += 1
        return f"%rheostat.watched.{self.names}"


def watched(code: str, files: Mapping[str, str], count: int = 0) -> tuple[str, int]:
    r"""A text with calls, and how many places are watched in it and in the texts before it.

    >>> rows = ["  %a = icmp eq i32 %x, 7, !dbg !5", '!1 = !DIFile(filename: "a.c")',
    ...         "!5 = !DILocation(line: 3, column: 2, scope: !2)", "!2 = !DIBlock(file: !1)"]
    >>> print("\n".join(watched("\n".join(rows), {"a.c": ""})[0].splitlines()[:3]))
      %rheostat.watched.1 = sext i32 %x to i64
      call void @rheostat_way(i32 1, i64 %rheostat.watched.1, i64 7)
      %a = icmp eq i32 %x, 7, !dbg !5

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised, with lines.
    files : mapping of str to str
        The program's own.
    count : int
        Places of the texts before.
    """
    one = _Watching(Places(code, files), count)
    rows = [made for row in code.splitlines() for made in one.rows(row)]
    return "\n".join([*rows, DECLARED]), one.count
