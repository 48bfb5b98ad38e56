"""Comparisons that the stated ranges decide: both sides are sums of arguments and constants.

``taps - 1 < n`` comes out one way for every input that is allowed, so that no run has to show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.reached.constants import POINTER, passed_on, set_once
from rheostat.measurement.code.reached.truths import LOADED, STORED

FUNCTION = re.compile(r'(?ms)^define [^@]*@([-\w.$]+|"[^"]*")\(([^\n]*)\)[^()\n]*\{\n(.*?)^\}')
PARSED = re.compile(r"call \S+ @(?:ato(?:i|ll?)|strto(?:u?ll?|[iu]max))\(ptr [^%]*(%[^\s,)]+)")
ELEMENT = re.compile(r"getelementptr (?:inbounds )?ptr, ptr (%[^\s,]+), i64 (\d+)")
SUM = re.compile(r"(add|sub|mul) (?:n[us]w )*i(\d+) ([^\s,]+), ([^\s,]+)")
WIDER = re.compile(r"(?:sext|zext|trunc) i\d+ (%\S+) to i(\d+)")
CHOSEN = re.compile(r"phi i\d+ \[ ([^\s,]+), \S+ \], \[ ([^\s,]+), \S+ \]")
HELD = {"eq": lambda low, high: (low == high == 0, low <= 0 <= high),
        "lt": lambda low, high: (high < 0, low < 0),
        "gt": lambda low, high: (low > 0, high > 0)}  # fmt: skip
"""Of each comparison with 0 whether it always holds between two ends, and whether it ever does."""
REGION = re.compile(r"call void .*@__kmpc_fork_call\(.*?, ptr @([-\w.$]+)(.*)")
ALONE = re.compile(r"call void @([-\w.$]+)\(ptr [^,]+, ptr [^,)]+(.*)")
"""A parallel region that its `if` clause lets one thread run: the same region, called."""
OWN = 2
"""Parameters of a parallel region that are none of the program's."""
DEEPEST = 20
PARAMETER = re.compile(r"(%[-\w.$]+)(?=,|$)")
Ends = tuple[int, int]


@lru_cache(maxsize=8)
def functions_of(
    code: str,
) -> Mapping[str, tuple[Sequence[str], Sequence[str], Mapping[str, str]]]:
    """Rows, parameters and values by name of each function; each check asks for the same.

    Parameters
    ----------
    code : str
        LLVM's text.

    Returns
    -------
    mapping
        By the function's name.
    """
    made = {}
    for name, given, body in FUNCTION.findall(code):
        rows = body.splitlines()
        defined = dict(r.strip().split(" = ", 1) for r in rows if " = " in r)
        made[name] = rows, PARAMETER.findall(given), defined
    return made


@dataclass
class FunctionText:
    """A function's rows, its parameters, its values by name, and places that are set once."""

    rows: Sequence[str]
    parameters: Sequence[str]
    defined: Mapping[str, str]
    once: Mapping[str, str]

    @classmethod
    def each(cls, code: str) -> dict[str, Self]:
        """Those of LLVM's text, by name."""
        return {name: cls(rows, parameters, defined, set_once(rows))
                for name, (rows, parameters, defined) in functions_of(code).items()}  # fmt: skip


@dataclass(frozen=True)
class Sum:
    """A constant and arguments of the program, by their place, each so many times."""

    constant: int = 0
    times: tuple[tuple[int, int], ...] = ()

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """The sum of both, the other taken ``factor`` times.

        >>> Sum(1, ((2, 1),)).plus(Sum(4, ((2, 1),)), -1)
        Sum(constant=-3, times=())
        """
        every = dict(self.times)
        for place, n in other.times:
            every[place] = every.get(place, 0) + factor * n
        kept = tuple(sorted((p, n) for p, n in every.items() if n))
        return Sum(self.constant + factor * other.constant, kept)

    def ends(self, stated: Mapping[int, Ends]) -> Ends:
        """The least and the most that it can be."""
        each = [sorted((n * stated[p][0], n * stated[p][1])) for p, n in self.times]
        return self.constant + sum(e[0] for e in each), self.constant + sum(e[1] for e in each)


def stated_ends(inputs: ProgramInputs) -> dict[int, Ends]:
    """Between what each argument lies that a person has stated to be a whole number.

    >>> from rheostat.measurement.code.programs.program_inputs import InputRange
    >>> stated_ends(ProgramInputs({"n": InputRange(4, 9)}, ("x", "{n}")))
    {2: (4, 9)}
    """
    made = {}
    for place, text in enumerate(inputs.arguments if not inputs.guessed else (), 1):
        r = inputs.ranges.get(text[1:-1]) if text[:1] == "{" else None
        if r and not r.values and r.kind != "real" and text.count("{") == 1:
            made[place] = int(r.low), int(r.high)
    return made


def _by_pointers(passed: str) -> bool:
    """Whether a region shares all that it is given by its place; parts of a loop come as numbers.

    >>> _by_pointers(", ptr %n, ptr %s), !dbg !7"), _by_pointers(", i64 %first, ptr %s)")
    (True, False)
    """
    given = passed.partition(")")[0]
    return given.count(", ") == len(POINTER.findall(given))


class Stated:
    """The values of a program's own text that its stated arguments alone decide.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    stated : mapping of int to pair of int
        The ends of arguments by their place.
    """

    def __init__(self, code: str, stated: Mapping[int, Ends]) -> None:
        self.code, self.stated = code, stated
        functions = functions_of(code)
        self.rows = {name: rows for name, (rows, _, _) in functions.items()}
        self.parameters = {name: given for name, (_, given, _) in functions.items()}
        self.defined = {name: defined for name, (_, _, defined) in functions.items()}
        self.regions = {f: (caller, m[2]) for caller, rows in self.rows.items() for row in rows
                        if (m := REGION.search(row)) and (f := m[1]) in self.rows
                        and _by_pointers(m[2])}  # fmt: skip
        self.places = {name: set_once([self._changing(r) for r in rows])
                       for name, rows in self.rows.items()}  # fmt: skip
        self._known: dict[tuple[str, str], Sum | None] = {}

    def _changing(self, row: str) -> str:
        """A row; of one that starts a parallel region only the places that it may change."""
        m = REGION.search(row) or ALONE.search(row)
        if not m or m[1] not in self.regions:
            return row
        given, names = POINTER.findall(m[2]), self.parameters[m[1]][OWN:]
        changed = self.changed(m[1])
        some = [p for p, name in zip(given, names, strict=False) if name in changed]
        return f"call void @changes({', '.join(f'ptr {p}' for p in some)})"

    def changed(self, region: str) -> set[str]:
        """Parameters of a parallel region whose place it may change, by the text."""
        rows, slots = self.rows[region], set_once(self.rows[region])
        stored = {m["place"] for row in rows if (m := STORED.match(row))}
        shared = {v: slots[m[1]] for v, said in self.defined[region].items()
                  if (m := LOADED.match(said)) and m[1] in slots}  # fmt: skip
        changed = {shared[v] for v in (stored | passed_on(rows)) & shared.keys()}
        return changed | (set(self.parameters[region]) - set(shared.values()))

    def decided(
        self, function: str, how: str, one: str, other: str, *, signed: bool
    ) -> bool | None:
        """Whether a comparison holds for all that is stated; None where it hangs on more."""
        if not self.stated:
            return None
        left, right = self._sum(function, one), self._sum(function, other)
        if left is None or right is None:
            return None
        if not signed and min(left.ends(self.stated)[0], right.ends(self.stated)[0]) < 0:
            return None
        always, ever = HELD[how](*left.plus(right, -1).ends(self.stated))
        return always if always or not ever else None

    def _sum(self, function: str, value: str, depth: int = 0) -> Sum | None:
        if re.fullmatch(r"-?\d+", value):
            return Sum(int(value))
        said = self.defined.get(function, {}).get(value, "")
        if depth > DEEPEST:
            return None
        return self._said(function, said, depth) if said else self._given(function, value)

    def _said(self, function: str, said: str, depth: int) -> Sum | None:
        """What an instruction makes."""
        if m := SUM.match(said):
            return self._fits(self._of_two(function, m, depth + 1), int(m[2]))
        if m := WIDER.match(said):
            return self._fits(self._sum(function, m[1], depth + 1), int(m[2]))
        if m := PARSED.match(said):
            return self._argument(function, m[1])
        if m := CHOSEN.match(said):
            return self._or_default(function, m[1], m[2], depth + 1)
        place = LOADED.match(said)
        return self._held(function, place[1], depth + 1) if place else None

    def _held(self, function: str, place: str, depth: int) -> Sum | None:
        """What a place holds that is set once; of a parallel region also one that it shares."""
        if (kept := self.places[function].get(place)) is not None:
            return self._sum(function, kept, depth)
        slot = LOADED.match(self.defined[function].get(place, ""))
        name = self.places[function].get(slot[1], "") if slot else ""
        if function not in self.regions or name not in self.parameters[function]:
            return None
        caller, passed = self.regions[function]
        given = POINTER.findall(passed)
        at = self.parameters[function].index(name) - OWN
        return self._held(caller, given[at], depth) if 0 <= at < len(given) else None

    def _of_two(self, function: str, m: re.Match[str], depth: int) -> Sum | None:
        one, other = (self._sum(function, x, depth) for x in (m[3], m[4]))
        if one is None or other is None:
            return None
        if m[1] != "mul":
            return one.plus(other, -1 if m[1] == "sub" else 1)
        one, other = (other, one) if one.times else (one, other)
        return None if one.times else Sum().plus(other, one.constant)

    def _fits(self, made: Sum | None, bits: int) -> Sum | None:
        if made is None:
            return None
        low, high = made.ends(self.stated)
        return made if -(1 << bits - 1) <= low and high < 1 << bits - 1 else None

    def _argument(self, function: str, text: str) -> Sum | None:
        """What stands in ``argv[k]`` of main, where its range is stated."""
        defined = self.defined[function]
        read = LOADED.match(defined.get(text, ""))
        m = ELEMENT.match(defined.get(read[1], "")) if read else None
        base = LOADED.match(defined.get(m[1], "")) if m else None
        held = self.places[function].get(base[1]) if base else None
        is_argv = function == "main" and held == self.parameters["main"][-1:][0]
        return Sum(0, ((int(m[2]), 1),)) if m and is_argv and int(m[2]) in self.stated else None

    def argument_read(self, function: str, row: str) -> int:
        """The place of the stated argument that a row reads as a number; 0 where it reads none."""
        m = PARSED.search(row) if function == "main" else None
        made = self._argument(function, m[1]) if m else None
        return made.times[0][0] if made else 0

    def _or_default(self, function: str, one: str, other: str, depth: int) -> Sum | None:
        """An argument, or what stands for it where there is none, if that is a stated value."""
        sums = [s for x in (one, other) if (s := self._sum(function, x, depth)) is not None]
        given, default = sorted(sums, key=lambda s: not s.times) if len(sums) == 2 else (None, None)
        if given is None or default is None or default.times:
            return None
        low, high = given.ends(self.stated)
        return given if low <= default.constant <= high else None

    def _given(self, function: str, value: str) -> Sum | None:
        """A parameter that every call gives the same; asked again within its own calls, none."""
        key = function, value
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._of_calls(function, value)
        return self._known[key]

    def _of_calls(self, function: str, value: str) -> Sum | None:
        parameters = self.parameters.get(function, [])
        name = re.escape(function)
        if value not in parameters or function == "main":
            return None
        call = re.compile(rf"call [^@]*@{name}\((.*?)\)(?:,| #|$)")
        calls = [(caller, m[1]) for caller, rows in self.rows.items() for row in rows
                 if function in row and (m := call.search(row))]  # fmt: skip
        if len(calls) + 1 != len(re.findall(rf"@{name}(?![-\w.$])", self.code)):
            return None
        at = parameters.index(value)
        sums = {self._sum(caller, given.split(", ")[at].split()[-1])
                for caller, given in calls if given.count(", ") + 1 == len(parameters)}  # fmt: skip
        return sums.pop() if len(sums) == 1 and calls else None
