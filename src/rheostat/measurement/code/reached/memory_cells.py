"""Cells of memory: what they hold is what some store keeps there, whatever the index.

A cell is a member of all an object's elements, or all of an object that has whole numbers of one
width only.  What a function of a library may write to is none, nor is what is read in two widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rheostat.measurement.code.reached.memory_objects import (
    DEFINED,
    UNKNOWN,
    MemoryObject,
    MemoryObjects,
)

STRUCTURE = re.compile(r'(?m)^(%(?:"[^"]*"|[-\w.$]+)) = type \{ (.*) \}$')
DEFINED_ROWS = re.compile(rf"(?m)^{DEFINED.pattern}")
WHOLE = re.compile(r"i(?:8|16|32|64)$")
PARTS = re.compile(r'%(?:"[^"]*"|[-\w.$]+)|[a-z]\w*')
WIDTHS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "ptr": 8, "double": 8, "float": 4}


@dataclass(frozen=True)
class Cell:
    """Rows that read and that keep whole numbers of a type there; what it holds before."""

    type_: str
    loads: tuple[int, ...]
    stores: tuple[int, ...]
    first: frozenset[int]


def memory_cells(text: str) -> list[Cell]:
    """The cells of LLVM's optimised text; none where it makes pointers of numbers.

    Parameters
    ----------
    text : str
        Of a whole program but for the libraries'.
    """
    heads = sum(row.startswith("define ") for row in text.splitlines())
    if UNKNOWN.search(text) or heads != len(re.findall(DEFINED_ROWS, text)):
        return []
    types = {m[1]: m[2] for m in STRUCTURE.finditer(text)}
    return [c for o in MemoryObjects(text).each() for c in _of_object(o, types)]


def _of_object(o: MemoryObject, types: dict[str, str]) -> Iterator[Cell]:
    """Its members where all its elements are one structure's, else all of it."""
    every = {**o.loads, **o.stores}
    shape = next(iter(o.shapes)) if len(o.shapes) == 1 else ""
    members = types.get(shape, "").split(", ")
    if members[0] and all(m in WIDTHS for m in members):
        if all(size % _size(members) == 0 for size in o.sizes):
            for i, type_ in enumerate(members):
                rows = {n for n, (_, member) in every.items() if member == str(i)}
                yield from _cell(o, type_, rows)
        return
    type_ = next(iter(every.values()))[0] if every else ""
    alike = all(_has_only(s.removeprefix("within "), type_, types) for s in o.shapes)
    if alike and all(size % WIDTHS.get(type_, 1) == 0 for size in o.sizes):
        yield from _cell(o, type_, set(every))


def _cell(o: MemoryObject, type_: str, rows: set[int]) -> Iterator[Cell]:
    loads, stores = sorted(rows & o.loads.keys()), sorted(rows & o.stores.keys())
    alike = all((o.loads.get(n) or o.stores[n])[0] == type_ for n in rows)
    if loads and alike and WHOLE.match(type_):
        yield Cell(type_, tuple(loads), tuple(stores), frozenset(o.first))


def _has_only(shape: str, type_: str, types: dict[str, str]) -> bool:
    """Whether a type is made of numbers of this one alone.

    >>> _has_only("[4 x i32]", "i32", {}), _has_only("%t", "i32", {"%t": "[2 x i32], i32"})
    (True, True)
    >>> _has_only("%t", "i32", {"%t": "i32, [2 x double]"}), _has_only("i8", "i32", {})
    (False, False)
    """
    parts = [p for p in PARTS.findall(types.get(shape, shape)) if p != "x"]
    return bool(parts) and all(
        p == type_ or (p != shape and p in types and _has_only(p, type_, types)) for p in parts
    )


def _size(members: list[str]) -> int:
    """Bytes of a structure, as its members are laid out.

    >>> _size(["i32", "i64", "i8"])
    24
    """
    at = 0
    for m in members:
        at = -(-at // WIDTHS[m]) * WIDTHS[m] + WIDTHS[m]
    widest = max(WIDTHS[m] for m in members)
    return -(-at // widest) * widest
