"""Numbers of threads that are cut: two threads may then share what belongs to one.

Followed through variables, conversions, calls and returns; what is multiplied or counted up is
another number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rheostat.measurement.code.reached.stated_ranges import FunctionText
from rheostat.measurement.code.reached.truths import LOADED

ASKED = re.compile(r"(?:tail )?call i32 @omp_get_(?:thread_num|ancestor_thread_num)\(")
SAME = re.compile(r"(?:[sz]ext i\d+|(?:add|sub) (?:n[us]w )*i\d+) (%[^\s,]+)(?:, -?\d+|\s+to )")
CUT = re.compile(
    r"(?:(?P<how>and|[su]rem) i\d+ (?P<value>%[^\s,]+), \d+|trunc i\d+ (?P<wide>%\S+) to i(?:8|16)|"
    r"shl (?:n[us]w )*i\d+ \d+, (?P<by>%[^\s,]+))(?:,|$)"
)
FIXED = re.compile(
    r"getelementptr (?:inbounds )?\[(?P<count>\d+) x .*, i64 0, i64 (?P<index>%[^\s,]+)(?:,|$)"
)
BESIDE = re.compile(
    r"(?:add|sub|or) (?:n[us]w )*i\d+ (?P<one>%[^\s,]+), (?P<other>%[^\s,]+)(?:,|$)"
)
PLACED = re.compile(
    r"(?:mul|shl) (?:n[us]w )*i\d+ %[^\s,]+, \d+|"
    r"(?:add|sub) (?:n[us]w )*i\d+ (?P<of>%[^\s,]+), -?\d+"
)
CALL = re.compile(r"(?:tail )?call [^@]*@([-\w.$]+)\((.*)\)")
GIVEN = re.compile(r"i(?:32|64) (?:noundef |signext |zeroext )*(%[^\s,)]+)")
RETURNED = re.compile(r"\s*ret i\d+ (%\S+)")
SETS_THREADS = re.compile(r"\bnum_threads\s*\(|\bomp_set_num_threads\b")
SHARED = "the number of a thread is cut here, so that two threads may share what belongs to one"
TOO_MANY = (
    "an array of {} elements is indexed by the number of a thread, of which there may be more"
)

PACKED = "the number of a thread stands beside what is multiplied by a constant: more threads share"


@dataclass
class _CountedFunction(FunctionText):
    numbers: set[str] = field(default_factory=set)

    def spread(self, returning: set[str]) -> None:
        """Add what holds a thread's number, too."""
        count = -1
        while count != len(self.numbers):
            count = len(self.numbers)
            self.numbers |= {v for v, said in self.defined.items() if self._is_one(said, returning)}

    def _is_one(self, said: str, returning: set[str]) -> bool:
        if ASKED.match(said):
            return True
        if m := SAME.match(said):
            return m[1] in self.numbers
        if m := CALL.match(said):
            return m[1] in returning
        m = LOADED.match(said)
        return m is not None and self.once.get(m[1], "") in self.numbers


def cut_numbers(code: str, texts: Iterable[str]) -> dict[tuple[str, str], str]:
    """Where numbers of threads are cut, by function and the value that is made, with what to say.

    Parameters
    ----------
    code : str
        LLVM's text before it is optimised.
    texts : iterable of str
        The program's files.  Where they say how many threads there are, arrays of a fixed size are
        no finding.
    """
    if "@omp_get_" not in code:
        return {}
    functions, bounded = _CountedFunction.each(code), any(map(SETS_THREADS.search, texts))
    returning, count = set[str](), -1
    while count != (count := len(returning) + sum(len(f.numbers) for f in functions.values())):
        for name, f in functions.items():
            f.spread(returning)
            if any(m[1] in f.numbers for row in f.rows if (m := RETURNED.match(row))):
                returning.add(name)
            _hand_on(f, functions)
    return {(name, v): said for name, f in functions.items() for v, said in _cut(f, bounded)}


def _hand_on(f: _CountedFunction, functions: Mapping[str, _CountedFunction]) -> None:
    """Parameters that a call gives a thread's number."""
    for row in f.rows if f.numbers else ():
        m = CALL.search(row)
        if not m or m[1] not in functions:
            continue
        called = functions[m[1]]
        for at, word in enumerate(m[2].split(", ")):
            given = GIVEN.search(word)
            if given and given[1] in f.numbers and at < len(called.parameters):
                called.numbers.add(called.parameters[at])


def _cut(f: _CountedFunction, bounded: bool) -> Iterator[tuple[str, str]]:
    for value, said in f.defined.items() if f.numbers else ():
        m = CUT.match(said)
        if m and (m["value"] or m["wide"] or m["by"]) in f.numbers:
            yield value, SHARED
        elif not bounded and (m := FIXED.match(said)) and m["index"] in f.numbers:
            yield value, TOO_MANY.format(m["count"])
        elif not bounded and (m := BESIDE.match(said)):
            pair = m.groups()
            if any(a in f.numbers and _is_placed(b, f.defined) for a, b in (pair, pair[::-1])):
                yield value, PACKED


def _is_placed(value: str, defined: Mapping[str, str]) -> bool:
    """Whether it is a multiple of a constant, also with a constant more.

    >>> _is_placed("%k", {"%k": "add nsw i64 %m, 299", "%m": "mul nsw i64 %g, 300"})
    True
    """
    m = PLACED.match(defined.get(value, ""))
    return bool(m and (m["of"] is None or _is_placed(m["of"], defined)))
