"""Products that are hashes of data which a program keeps, in LLVM's text, and no draws.

What a generator makes goes back to where its state came from.  What a factor that fills a word
makes of elements and members that nothing steps so is a hash of data that were kept before, where
the program multiplies nothing else by it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rheostat.measurement.code.reached.stated_ranges import FUNCTION
from rheostat.measurement.code.reached.truths import LOADED, STORED

PRODUCT = re.compile(r"mul i(?P<bits>32|64) (?P<one>%\S+), (?P<factor>-?\d+)(?:,|$)")
"""The compiler puts the constant second."""
LEAST_BITS = {32: 24, 64: 56}
"""Of a factor, by the bits of what it makes: smaller ones may be those of a fixed point."""
PART = re.compile(r"(?:lshr|urem|and) (?:exact )?i(?:32|64) (%[^\s,]+), ")
STEP = re.compile(
    r"(?:add|sub|mul|x?or|and|shl|[la]shr|[us]rem|[us]div|zext|sext|trunc|select|phi)\b"
)
VALUE = re.compile(r"%[-\w.$]+")
CALL = re.compile(r"\b(?:call|invoke) [^@]*@([-\w.$]+)\((.*)\)")
TEXT = re.compile(r"load i8, ptr ")
"""A byte is no generator's state."""
LAST = re.compile(r"(%[-\w.$]+)\s*$")
MEMBER = re.compile(
    r"getelementptr [^%@]*(?P<of>%(?!class\.anon)[^\s,]+), ptr [%@][^\s,]+"
    r"(?P<way>(?:, i\d+ \d+)+)(?:,|$)"
)
ELEMENT = re.compile(
    r"(?:getelementptr (?!.*%class\.anon)[^@]*?ptr|"
    r"(?:tail )?call [^@]*@_ZNK?S\w*(?:ixEm|2atEm)\([^%@]*) ?(?P<of>[%@][^\s,]+)"
)


@dataclass(frozen=True, eq=False)
class HashedBody:
    """A function's parameters, what its values are, and what is stored where."""

    name: str
    parameters: list[str]
    defined: Mapping[str, str]
    stores: Mapping[str, list[str]]

    def kind(self, pointer: str) -> tuple[str, bool]:
        """A name of the variable, array or kind of member; whether it is one of the latter two."""
        said = self.defined.get(pointer, "")
        if m := MEMBER.match(said):
            return m["of"] + m["way"], True
        if m := ELEMENT.match(said):
            return self._array(m["of"]), True
        return pointer if pointer.startswith("@") else f"{self.name}:{pointer}", False

    def _array(self, base: str) -> str:
        m = LOADED.match(self.defined.get(base, ""))
        base = m[1] if m else base
        return f"{'' if base.startswith('@') else self.name}:{base}[]"


class DataHashes:
    """The products of a program that are hashes of data.

    Parameters
    ----------
    codes : sequence of str
        LLVM's text of each source before it is optimised.
    """

    def __init__(self, codes: Sequence[str]) -> None:
        self.codes = codes
        self.bodies = {one[0]: _body(*one) for code in codes for one in FUNCTION.findall(code)}

    def factor(self, said: str) -> int:
        """What an instruction multiplies kept data by for a hash; 0 if it does not.

        Parameters
        ----------
        said : str
            The instruction.
        """
        m = PRODUCT.match(said)
        factor = abs(int(m["factor"])) if m else 0
        if not m or factor.bit_length() <= LEAST_BITS[int(m["bits"])] or not factor & (factor - 1):
            return 0
        return factor if factor in self._of_data else 0

    @cached_property
    def _of_data(self) -> set[int]:
        """Factors of kept data and of nothing else."""
        kept, other = set[int](), set[int]()
        for f in self.bodies.values():
            for m in filter(None, map(PRODUCT.match, f.defined.values())):
                read = self.origins(f, m["one"])
                of_data = any(read.values()) and not read.keys() & self.stepped
                (kept if of_data else other).add(abs(int(m["factor"])))
        return kept - other

    def used(self) -> Iterator[tuple[str, str, int]]:
        """Functions, values and factors of the hashes a part of which is taken."""
        for f in self.bodies.values():
            hashes = {v: n for v, said in f.defined.items() if (n := self.factor(said))}
            parts = [m[1] for said in f.defined.values() if (m := PART.match(said))]
            parted = {v for part in parts if hashes for g, v in self.made_of(f, part) if g is f}
            for value in hashes.keys() & parted:
                yield f.name, value, hashes[value]

    def made_of(self, f: HashedBody, value: str) -> list[tuple[HashedBody, str]]:
        """Values that it is made of, through variables and what functions are called with.

        Parameters
        ----------
        f : HashedBody
            The function.
        value : str
            The value's name there.
        """
        known, open_ = dict[tuple[str, str], tuple[HashedBody, str]](), [(f, value)]
        while open_:
            f, value = open_.pop()
            if (f.name, value) in known:
                continue
            known[f.name, value] = f, value
            said = f.defined.get(value, "")
            if m := LOADED.match(said):
                open_ += [(f, v) for v in f.stores.get(m[1], ())]
            elif STEP.match(said):
                open_ += [(f, v) for v in VALUE.findall(said)]
            elif value in f.parameters:
                open_ += self._given[f.name, f.parameters.index(value)]
        return list(known.values())

    def origins(self, f: HashedBody, value: str) -> dict[str, bool]:
        """Kinds of places that it is read from, and whether these are elements or members.

        Parameters
        ----------
        f : HashedBody
            The function.
        value : str
            The value's name there.
        """
        loads = ((g, LOADED.match(g.defined.get(v, ""))) for g, v in self.made_of(f, value))
        return dict(g.kind(m[1]) for g, m in loads if m)

    @cached_property
    def _given(self) -> Mapping[tuple[str, int], list[tuple[HashedBody, str]]]:
        """What functions are called with."""
        made = defaultdict[tuple[str, int], list[tuple[HashedBody, str]]](list)
        for f in self.bodies.values():
            for said in f.defined.values():
                if m := CALL.search(said):
                    for i, one in enumerate(m[2].split(",")):
                        made[m[1], i] += [(f, v) for v in LAST.findall(one)]
        return made

    def rolled(self, name: str) -> set[str]:
        """A function's variables that hash text or kept data: each starts with constants.

        Parameters
        ----------
        name : str
            The function.
        """
        f = self.bodies[name]
        own = [(place, values) for place, values in f.stores.items()
               if f.defined.get(place, "").startswith("alloca i")]  # fmt: skip
        made = {place for place, values in own if self._rolls(f, place, values)}
        begin = {place for place, values in own if made and {*values} <= {*f.parameters}
                 and all(self._of_constants(f, v) for v in values)}  # fmt: skip
        return made | begin

    def _rolls(self, f: HashedBody, place: str, values: Sequence[str]) -> bool:
        """Whether all that is stored there is of constants or made of itself, and some of data."""
        own, _ = f.kind(place)
        steps = [v for v in values if own in self.origins(f, v)]
        if not steps or not all(self._of_constants(f, v) for v in values if v not in steps):
            return False
        every = [self.origins(f, v) for v in steps]
        return (
            len(steps) < len(values)
            and any(
                TEXT.match(g.defined.get(v, "")) for step in steps for g, v in self.made_of(f, step)
            )
            and not any(kind in self.stepped for read in every for kind in read if kind != own)
        )

    def _of_constants(self, f: HashedBody, value: str) -> bool:
        """Whether a value is a constant, also one that other functions keep and pass on.

        What counts is none: a generator may be a product of that.
        """
        for g, v in self.made_of(f, value):
            said = g.defined.get(v, "")
            if m := LOADED.match(said):
                known = g.stores.get(m[1]) and g.kind(m[1])[0] not in self.stepped
                if not (known and g.defined.get(m[1], "").startswith("alloca i")):
                    return False
            elif not (STEP.match(said) or not VALUE.match(v)
                      or (v in g.parameters and self._is_passed(g, v))):  # fmt: skip
                return False
        return True

    def _is_passed(self, f: HashedBody, parameter: str) -> bool:
        """Whether all that a function gets there is known: nothing but calls has its name."""
        key = f.name, f.parameters.index(parameter)
        named = sum(len(re.findall(rf"@{re.escape(f.name)}\b(?![-.$])", c)) for c in self.codes)
        return key in self._given and named == 1 + self._calls[f.name]

    @cached_property
    def _calls(self) -> Mapping[str, int]:
        """How often each function is called by its name."""
        return Counter(m[1] for f in self.bodies.values() for said in f.defined.values()
                       if (m := CALL.search(said)))  # fmt: skip

    @cached_property
    def stepped(self) -> set[str]:
        """Kinds of places that are made of themselves."""
        made = set[str]()
        for f in self.bodies.values():
            for place, values in f.stores.items():
                kind, _ = f.kind(place)
                if any(kind in self.origins(f, v) for v in values):
                    made.add(kind)
        return made


def _body(name: str, passed: str, body: str) -> HashedBody:
    rows = body.splitlines()
    stores = defaultdict[str, list[str]](list)
    for m in filter(None, map(STORED.match, rows)):
        stores[m["place"]].append(m["value"])
    defined = dict(r.strip().split(" = ", 1) for r in rows if " = " in r)
    parameters = [(LAST.findall(one) or [""])[0] for one in passed.split(",")]
    return HashedBody(name, parameters, defined, stores)
