"""Whole numbers that are divided or multiplied in floating point, and the results compared.

Of two fractions of whole numbers up to 2**12 a ``float`` tells which is the greater, a ``double``
up to 2**26; beyond that two that differ may come out equal, in one of millions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.constants import CONSTANT
from rheostat.measurement.code.reached.stated_ranges import functions_of

TOLD_APART = {"float": 2**12, "double": 2**26}
"""Up to which whole numbers fractions and products keep their order."""
HELD = {"float": 2**24, "double": 2**53}
VALUE = re.compile(rf"(?<![\w.]){NAME}")
COMPARED = re.compile(
    r"fcmp (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*\w+ \w+ ([^\s,]+), ([^\s,]+)"
)
FROM_WHOLE = re.compile(r"[su]itofp i(?:16|32|64) %\S+ to (float|double)")
OF_BOTH = re.compile(
    rf"f(?:div|mul) (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*\w+ ({NAME}), ({NAME})"
)
PASSES = re.compile(r"(?:fneg|fpext|fptrunc|select|phi|fsub) ")
WIDER = re.compile(rf"fpext float ({NAME}) to double")
LOADED = re.compile(r"load (?:float|double), ptr ([^\s,]+)")
STORED = re.compile(rf"\s*store (?:float|double) ({NAME}), ptr ([^\s,]+)")
RETURNED = re.compile(rf"\s*ret (?:float|double) ({NAME})")
CALLED = re.compile(r"call [^@]*?(?:float|double) @([-\w.$]+)\(")
ELEMENT = re.compile(r"getelementptr [^,]*, ptr ([^\s,]+)")
POINTER = re.compile(r"load ptr, ptr ([^\s,]+)")


@dataclass
class FloatFlow:
    """A function's floating-point values: what they are, and what is stored where."""

    rows: Sequence[str]
    defined: Mapping[str, str]
    stored: dict[str, list[str]] = field(default_factory=dict)

    def place(self, pointer: str) -> str:
        """What memory a pointer is of: a variable, or what a variable points to, by its name."""
        said = self.defined.get(pointer, "")
        if m := ELEMENT.match(said):
            return self.place(m[1])
        return f"*{self.place(m[1])}" if (m := POINTER.match(said)) else pointer

    def origins(self, value: str) -> Iterable[str]:
        """The values that this one may be, unchanged or rounded; of a difference both."""
        said = self.defined.get(value, "")
        if PASSES.match(said):
            return VALUE.findall(said)
        m = LOADED.match(said)
        return self.stored.get(self.place(m[1]), ()) if m else ()

    def all_origins(self, values: Iterable[str]) -> set[str]:
        """These values and all they come from."""
        known, open_ = set[str](), list(values)
        while open_:
            value = open_.pop()
            if value not in known:
                known.add(value)
                open_ += self.origins(value)
        return known


def inexact(code: str) -> dict[tuple[str, str], int]:
    """Up to where whole numbers are told apart that are compared in floating point.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.

    Returns
    -------
    dict of tuple to int
        By function and value.
    """
    functions = float_flows(code)
    compared = {name: f.all_origins(_compared(f)) for name, f in functions.items()}
    asked = {m[1] for name, f in functions.items() for value in compared[name]
             if (m := CALLED.match(f.defined.get(value, "")))}  # fmt: skip
    for name in asked & functions.keys():
        f = functions[name]
        compared[name] |= f.all_origins(m[1] for row in f.rows if (m := RETURNED.match(row)))
    return {(name, value): most for name, f in functions.items()
            for value, most in _limits(f, compared[name])}  # fmt: skip


def float_flows(code: str) -> dict[str, FloatFlow]:
    """The floating-point values of each function."""
    return {name: _function(rows, defined)
            for name, (rows, _, defined) in functions_of(code).items()}  # fmt: skip


def _function(rows: Sequence[str], defined: Mapping[str, str]) -> FloatFlow:
    made = FloatFlow(rows, defined)
    for row in rows:
        if m := STORED.match(row):
            made.stored.setdefault(made.place(m[2]), []).append(m[1])
    return made


def _compared(f: FloatFlow) -> Iterator[str]:
    """Values that are compared with each other, or whose difference is with 0."""
    for said in f.defined.values():
        if m := COMPARED.match(said):
            of_both = not any(CONSTANT.fullmatch(x) for x in m.groups())
            for value in m.groups():
                if of_both or f.defined.get(value, "").startswith("fsub "):
                    yield value


def _limits(f: FloatFlow, compared: Iterable[str]) -> Iterator[tuple[str, int]]:
    for value in compared:
        said = f.defined.get(value, "")
        if m := FROM_WHOLE.match(said):
            yield value, HELD[m[1]]
        elif m := OF_BOTH.match(said):
            both = [_whole(f, x) for x in m.groups()]
            if all(both):
                yield from ((v, TOLD_APART[kind]) for some in both for v, kind in some)


def _whole(f: FloatFlow, value: str) -> list[tuple[str, str]]:
    """The whole numbers that a value is made of, and as what; none if it may be any other."""
    made = []
    for one in {value} | f.all_origins([value]):
        said = f.defined.get(one, "")
        if m := FROM_WHOLE.match(said):
            made.append((one, m[1]))
        elif not (LOADED.match(said) or WIDER.match(said)):
            return []
    return made
