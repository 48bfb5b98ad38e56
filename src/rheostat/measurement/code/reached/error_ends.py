"""Ends with an error that hang on data: a valid value may be refused by them.

Nobody takes an error for a result, so that a way which no run took and that ends with one is no
question where arguments, the system or memory decide it.  Where a floating-point number does, or
an element of an array, the original would have to refuse the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.stated_ranges import FUNCTION
from rheostat.measurement.code.reached.truths import LOADED, STORED

ADDRESS = re.compile(
    rf"getelementptr (?:inbounds )?(?P<of>%struct|%class|%union|ptr,)?.*?, ptr (?P<base>{NAME})"
)
"""Of an element; of a field where it names a type; of an argument's text where it is a pointer."""
CONTAINED = re.compile(r"(?:call|invoke) [^@]*@_ZNK?S\w*(?:ixE|atE|frontE|backE|deE)")
"""An element of C++'s containers."""
CALLED = re.compile(r"(?:tail )?call [^@]*@(?P<name>[-\w.$]+)\(")
OF_LIBRARY = re.compile(r"(?:llvm\.|f?(?:abs|max|min|loor|ma|mod)|sqrt|pow|exp|log|ceil|round)")
"""Functions that only hand on what their arguments hang on."""
RETURNED = re.compile(rf"\s*ret \w+ ({NAME})")
DRAWS = re.compile(r"(?:xor (?!.*, -1)|mul (?:n[us]w )*i\d+ \S+, -?\d{4})")
"""What steps of a generator of numbers do with the number before."""
VALUE = re.compile(NAME)
MOST_VALUES, DEEPEST = 200, 3


class DataFlow:
    """What a function's values hang on, by its text.

    Parameters
    ----------
    code : str
        LLVM's text.
    """

    def __init__(self, code: str) -> None:
        self._code = code

    @cached_property
    def _functions(self) -> dict[str, _FunctionRows]:
        return {m[1]: _FunctionRows(m[3].splitlines()) for m in FUNCTION.finditer(self._code)}

    def on_data(self, function: str, value: str, depth: int = 0) -> bool:
        """Whether a value hangs on an element of an array, on a variable of the file, on a draw.

        Not on arguments of the program and of the function, nor on what a function of the library
        gives back.

        Parameters
        ----------
        function : str
            Where it stands.
        value : str
            Of a comparison.
        depth : int
            How many calls are behind it.
        """
        own = self._functions.get(function)
        visited, open_ = set[str](), [value] if own and depth < DEEPEST else []
        while own and open_ and len(visited) < MOST_VALUES:
            one = open_.pop()
            said = own.defined.get(one, "")
            if one in visited or not said:
                continue
            visited.add(one)
            called, place = CALLED.match(said), LOADED.match(said)
            if called and not OF_LIBRARY.match(called["name"]):
                if self._gives_data(called["name"], depth + 1):
                    return True
            elif place is None:
                open_ += VALUE.findall(said)
            elif own.is_data(place[1]):
                return True
            else:
                open_ += own.stored.get(place[1], ())
        return False

    def _gives_data(self, name: str, depth: int) -> bool:
        own = self._functions.get(name)
        given = [m[1] for row in own.rows if (m := RETURNED.match(row))] if own else []
        return any(self.on_data(name, value, depth) for value in given)


class _FunctionRows:
    def __init__(self, rows: Sequence[str]) -> None:
        self.rows = rows

    @cached_property
    def defined(self) -> dict[str, str]:
        return dict(r.strip().split(" = ", 1) for r in self.rows if " = " in r)

    @cached_property
    def stored(self) -> dict[str, list[str]]:
        """Values by the place that they are stored to."""
        made: dict[str, list[str]] = {}
        for row in self.rows:
            if m := STORED.match(row):
                made.setdefault(m["place"], []).append(m["value"])
        return made

    def is_data(self, place: str) -> bool:
        """Whether it is an element, also one's field, a variable of the file, or is drawn."""
        made = [self._made(value) for value in self.stored.get(place, ())]
        drawn = any(DRAWS.match(said) and place in said for said in made)
        while m := ADDRESS.match(self.defined.get(place, "")):
            if m["of"] is None:
                return True
            place = m["base"]
        return drawn or place.startswith("@") or bool(CONTAINED.match(self.defined.get(place, "")))

    def _made(self, value: str) -> str:
        """What makes a value, with that of its operands behind it, without what is added."""
        said = self.defined.get(value, "")
        if said.startswith(("add ", "sub ")):
            return self._made(next(iter(VALUE.findall(said)), ""))
        return "; ".join([said, *(self.defined.get(v, "") for v in VALUE.findall(said))])
