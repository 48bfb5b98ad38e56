"""Whether a whole number is only counted: made of constants, arguments and sizes by + and -."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from rheostat.measurement.code.reached.constants import CONSTANT
from rheostat.measurement.code.reached.stated_ranges import PARSED, FunctionText
from rheostat.measurement.code.reached.truths import LOADED, STORED

SUM = re.compile(r"(?:add|sub) (?:n[us]w )*i\d+ ([^\s,]+), ([^\s,]+)")
TURNED = re.compile(r"(?:sext|zext|trunc) i(?!1 )\d+ (%\S+) to i\d+")
CHOSEN = re.compile(r"\[ ([^\s,]+), %\S+ \]")
SIZE = re.compile(r"(?:call|invoke) [^@]*@_ZNK?S\w*(?:4size|6length)Ev\(")
CALLED = r"(?:call|invoke) [^@]*@{0}\((.*)"
MOST = 200


class Counted:
    """The counted numbers of LLVM's text before it is optimised.

    Parameters
    ----------
    code : str
        The text.
    """

    def __init__(self, code: str) -> None:
        self._code, self._functions = code, FunctionText.each(code)
        self._stored: defaultdict[str, defaultdict[str, list[str]]]
        self._stored = defaultdict(lambda: defaultdict(list))
        for name, one in self._functions.items():
            for m in filter(None, map(STORED.match, one.rows)):
                self._stored[name][m["place"]].append(m["value"])

    def is_counted(self, function: str, value: str) -> bool:
        """Whether nothing but sums of constants, arguments and sizes comes to a value.

        An element of an array is none, nor is a quotient, a remainder or what another function
        gives back.
        """
        open_, known = [(function, value)], set[tuple[str, str]]()
        while open_:
            one = open_.pop()
            if one in known or CONSTANT.fullmatch(one[1]):
                continue
            known.add(one)
            made = self._made_of(*one)
            if made is None or len(known) > MOST:
                return False
            open_ += made
        return True

    def _made_of(self, function: str, value: str) -> list[tuple[str, str]] | None:
        of = self._functions.get(function)
        said = of.defined.get(value, "") if of else ""
        if of is None or not said:
            return self._given(function, value)
        if m := SUM.match(said) or TURNED.match(said):
            return [(function, v) for v in m.groups()]
        if said.startswith("phi "):
            return [(function, v) for v in CHOSEN.findall(said)]
        if PARSED.match(said) or SIZE.match(said):
            return []
        m = LOADED.match(said)
        place = of.defined.get(m[1], "") if m else ""
        if m is None or not place.startswith("alloca ") or self._is_shared(function, m[1]):
            return None
        return [(function, v) for v in self._stored[function][m[1]]]

    def _is_shared(self, function: str, place: str) -> bool:
        """Whether another function may write to a variable."""
        name = re.compile(rf"{re.escape(place)}(?![-\w.$])")
        return any(name.search(row) and "@llvm." not in row and not LOADED.search(row)
                   and not ((m := STORED.match(row)) and m["value"] != place)
                   and " = alloca " not in row
                   for row in self._functions[function].rows)  # fmt: skip

    def _given(self, function: str, value: str) -> list[tuple[str, str]] | None:
        """What calls give a function in the place of its parameter."""
        of = self._functions.get(function)
        if of is None or value not in of.parameters or function == "main":
            return None
        at, made = of.parameters.index(value), list(self._calls(function))
        named = len(re.findall(rf"@{re.escape(function)}(?![-\w.$])", self._code))
        if not made or named != len(made) + 1 or any(len(v) <= at for _, v in made):
            return None
        return [(caller, values[at]) for caller, values in made]

    def _calls(self, function: str) -> Iterator[tuple[str, list[str]]]:
        call = re.compile(CALLED.format(re.escape(function)))
        for name, one in self._functions.items():
            for m in filter(None, map(call.search, one.rows)):
                given = m[1].split("), !")[0].split(") #")[0].removesuffix(")")
                yield name, [part.split()[-1] for part in given.split(", ") if part.split()]
