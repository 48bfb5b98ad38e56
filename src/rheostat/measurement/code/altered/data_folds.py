"""Folds of data that a program keeps: parts of a word laid upon each other, in fewer bits.

``key ^ key >> 32`` in 32 bits stands for 64, and two keys may have the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.altered.data_hashes import DataHashes, HashedBody
from rheostat.measurement.code.reached.truths import LOADED

FOLD = re.compile(
    r"(?P<how>xor|add) (?:n[us]w )*i(?P<bits>32|64) (?P<one>%\S+), (?P<other>%[^\s,]+)"
)
SHIFTED = re.compile(r"(?:[la]shr|shl|udiv|urem) (?:\w+ )*i64 ")
HALVED = re.compile(r"[la]shr (?:exact )?i64 %[^\s,]+, \d+")
PACKED = re.compile(r"shl (?:n[us]w )*i64 ")
NARROWED = re.compile(
    r"(?:trunc|lshr|urem|and) (?:(?:exact|nuw|nsw) )*i64 (?P<of>%[^\s,]+)(?: to i(?:8|16|32)|, )"
)


class DataFolds:
    """The folds of a program's data.

    Parameters
    ----------
    data : DataHashes
        What is known of its data.
    """

    def __init__(self, data: DataHashes) -> None:
        self.data = data
        said = [s for f in data.bodies.values() for s in f.defined.values()]
        self.packs = any(map(PACKED.match, said))

    def used(self) -> Iterator[tuple[str, str]]:
        """Functions and values of the folds that keep fewer bits than the data."""
        for f in self.data.bodies.values():
            if any(map(SHIFTED.match, f.defined.values())):
                yield from ((f.name, value) for value in self._of(f))

    def _of(self, f: HashedBody) -> Iterator[str]:
        matched = {v: m for v, said in f.defined.items() if (m := FOLD.match(said))}
        wide = {v for v, m in matched.items() if m["bits"] == "64"}
        narrowed = self._narrowed(f) if wide else set()
        for value, m in matched.items():
            if (value not in wide or value in narrowed) and self._folds(f, m):
                yield value

    def _narrowed(self, f: HashedBody) -> set[str]:
        cut = (m["of"] for said in f.defined.values() if (m := NARROWED.match(said)))
        return {v for one in cut for g, v in self.data.made_of(f, one) if g is f}

    def _folds(self, f: HashedBody, m: re.Match[str]) -> bool:
        """Whether both sides are of the same kept word, and one of them of its upper part.

        A sum of what was packed into a word is that of two numbers.
        """
        shifted = HALVED if m["how"] == "add" else SHIFTED
        if m["how"] == "add" and self.packs:
            return False
        sides = [self._sides(f, m[side]) for side in ("one", "other")]
        return bool(sides[0] and sides[0] == sides[1]) and any(
            shifted.match(g.defined.get(v, ""))
            for side in ("one", "other") for g, v in self.data.made_of(f, m[side])
        )  # fmt: skip

    def _sides(self, f: HashedBody, value: str) -> set[str]:
        """The kinds of whole words of kept data that a value is made of; empty if of others."""
        kinds = set[str]()
        for g, v in self.data.made_of(f, value):
            said = g.defined.get(v, "")
            if m := LOADED.match(said):
                kind, kept = g.kind(m[1])
                if kept and (not said.startswith("load i64") or kind in self.data.stepped):
                    return set()
                kinds |= {kind} if kept else set()
        return kinds
