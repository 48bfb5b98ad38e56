"""Sums that stand for what they are made of: of products, or of a table of random words.

Two things are held to be the same where such sums are (the first four powers of their parts, words
of a table put together by exclusive or), and different ones may have the same.  A sum is taken for
one where all that becomes of it is a comparison for equality with another of its kind: what is
printed, ordered by or calculated with is a number of its own.  A sum whose weights are made of each
other, as of digits, is a number that is put together, and one that is multiplied before it is
added to is another rule's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rheostat.measurement.code.altered.compared_sums import COMPARED, PRODUCT, few_bits
from rheostat.measurement.code.altered.data_hashes import CALL, STEP, VALUE, DataHashes, HashedBody
from rheostat.measurement.code.reached.stated_ranges import FUNCTION
from rheostat.measurement.code.reached.truths import LOADED, STORED

RETURNED = re.compile(r"\s*ret i(?:32|64) (?P<value>%[^\s,]+)")
JOINED = re.compile(r"(?:add|xor) (?:n[us]w )*i(?:32|64) (?P<one>%[^\s,]+), (?P<other>%[^\s,]+)")
WIDER = re.compile(r"(?:[sz]ext|trunc) ")
MULTIPLIED = re.compile(r"(?:mul|shl) ")
WORD = re.compile(r"load i64, ")
BYTES = re.compile(r"call [^@]*@(?:memcmp|bcmp)\(")
KEPT = re.compile(r"\s*store (?P<type>i32|i64) (?P<value>%[^\s,]+), ptr (?P<place>[%@][^\s,]+)")
LEFT = re.compile(r"\s*(?:br|switch|unreachable|resume|;|!)")


@dataclass
class _Follower:
    """What becomes of one kind of place: the values that are made of it, and where they are kept.

    ``kinds`` are those of places, ``functions`` those that give such a value.
    """

    data: DataHashes
    rows: dict[str, list[str]]
    kinds: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def compared(self) -> list[str] | None:
        """Rows that compare two of them for equality; None where anything else becomes of one."""
        while True:
            before = len(self.kinds), len(self.functions)
            made = [self._in(f) for f in self.data.bodies.values()]
            if None in made:
                return None
            if before == (len(self.kinds), len(self.functions)):
                return [row for rows in made for row in rows or ()]

    def _in(self, f: HashedBody) -> list[str] | None:
        """The comparisons of a function; None where another thing is done with a value there."""
        of = {v for v, said in f.defined.items() if self._is_one(f, said)}
        if not of:
            return []
        for v, said in f.defined.items():  # values stand behind what they are made of
            if STEP.match(said) and not of.isdisjoint(VALUE.findall(said)):
                of.add(v)
        compared = list[str]()
        for row in self.rows[f.name]:
            if LEFT.match(row) or of.isdisjoint(VALUE.findall(row.partition(" = ")[2] or row)):
                continue
            value = row.strip().partition(" = ")[0]
            if m := COMPARED.match(row):
                compared += [row] if {m["one"], m["other"]} <= of else []
            elif (m := STORED.match(row)) and m["value"] in of:
                self.kinds.add(f.kind(m["place"])[0])
            elif m := RETURNED.match(row):
                self.functions.add(f.name)
            elif value not in of or not STEP.match(f.defined.get(value, "")):
                return None
        return compared

    def _is_one(self, f: HashedBody, said: str) -> bool:
        if m := LOADED.match(said):
            return f.kind(m[1])[0] in self.kinds
        m = CALL.search(said)
        return m is not None and m[1] in self.functions


def power_sums(
    code: str, data: DataHashes, theirs: Callable[[str], bool] = lambda _: False
) -> dict[str, str]:
    """Rows that compare such sums, and what compares few bits of them.

    Where whole structures are compared by their bytes, few bits are kept of the sums.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    data : DataHashes
        What is known of its data.
    theirs : callable
        Whether a row is made of a line that the original has as well.
    """
    made = dict[str, str]()
    if not (kinds := {kind for f in data.bodies.values() for kind in _summed(data, f)}):
        return made
    rows = {name: body.splitlines() for name, _, body in FUNCTION.findall(code)}
    by_bytes = BYTES.search(code) is not None
    for kind in sorted(kinds):
        compared = _Follower(data, rows, {kind}).compared()
        made |= {row: few_bits(m) for row in compared or () if (m := COMPARED.match(row))}
        if compared == [] and by_bytes:
            made |= _stored_in_few_bits(data, rows, kind)
    return {row: few for row, few in made.items() if not theirs(row)}


def _stored_in_few_bits(data: DataHashes, rows: dict[str, list[str]], kind: str) -> dict[str, str]:
    made = dict[str, str]()
    for f in data.bodies.values():
        for row in rows[f.name]:
            m = KEPT.match(row)
            if m and f.kind(m["place"])[0] == kind:
                few = f"{m['value']}.few"
                stored = row.replace(f"{m['value']},", f"{few},", 1)
                made[row] = f"  {few} = and {m['type']} {m['value']}, 7\n{stored}"
    return made


def _summed(data: DataHashes, f: HashedBody) -> Iterator[str]:
    """Kinds of places that products, or words of a table, are added to."""
    for place, values in f.stores.items():
        own = f.kind(place)[0]
        for value in values:
            m = JOINED.match(f.defined.get(value, ""))
            for one, other in ((m["one"], m["other"]), (m["other"], m["one"])) if m else ():
                if _reads(f, one) == own and (
                    _weighted(data, f, other) or _of_table(data, f, other)
                ):
                    yield own


def _reads(f: HashedBody, value: str) -> str:
    m = LOADED.match(f.defined.get(_plain(f, value), ""))
    return f.kind(m[1])[0] if m else ""


def _plain(f: HashedBody, value: str) -> str:
    """A value before it was made wider or narrower."""
    while WIDER.match(said := f.defined.get(value, "")):
        value = VALUE.findall(said)[0]
    return value


def _weighted(data: DataHashes, f: HashedBody, value: str) -> bool:
    """Whether it is a product of two variables, none of which is made by multiplying itself."""
    if not PRODUCT.match(f.defined.get(_plain(f, value), "")):
        return False
    read = (f.kind(m[1])[0] for g, v in data.made_of(f, value)
            if g is f and (m := LOADED.match(f.defined.get(v, ""))))  # fmt: skip
    return not any(_is_weight(data, kind) for kind in read)


def _is_weight(data: DataHashes, kind: str) -> bool:
    """Whether a place is multiplied again and again, as digits' weights, or a table in the text."""
    stored = [(f, v) for f in data.bodies.values() for place, values in f.stores.items()
              if f.kind(place)[0] == kind for v in values]  # fmt: skip
    powers = any(MULTIPLIED.match(f.defined.get(v, "")) and kind in data.origins(f, v)
                 for f, v in stored)  # fmt: skip
    return powers or (kind.startswith(":@") and not stored)


def _of_table(data: DataHashes, f: HashedBody, value: str) -> bool:
    """Whether it is a word of a table that a generator fills."""
    said = f.defined.get(value, "")
    m = LOADED.match(said)
    kind, kept = f.kind(m[1]) if m and WORD.match(said) else ("", False)
    stored = [(g, v) for g in data.bodies.values() for place, values in g.stores.items() if kept
              and g.kind(place)[0] == kind for v in values]  # fmt: skip
    return bool(stored) and all(_is_drawn(data, g, v) for g, v in stored)


def _is_drawn(data: DataHashes, f: HashedBody, value: str) -> bool:
    """Whether a function of the program gives it, or it is a product by a factor as of hashes."""
    said = f.defined.get(value, "")
    m = CALL.search(said)
    return bool(m and m[1] in data.bodies and not VALUE.findall(m[2])) or bool(data.factor(said))
