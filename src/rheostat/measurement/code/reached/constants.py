"""What LLVM's text itself says of a value: places that hold one constant, also for a while."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from rheostat.measurement.code.reached.truths import LOADED, STORED

CONSTANT = re.compile(r"-?\d[\w.+-]*|true|false|null")
SET_ONCE = re.compile(r"(?m)^(@\S+) = internal \S*\s?(?:global|constant) \S+ (-?\d[^\s,]*)")
LEFT_ALONE = re.compile(r"@(?:llvm\.(?!mem)|_ZSt(?:3min|3max|5clamp)I)")
ADDRESSES = re.compile(r"((?:call|invoke) .*|= (?:getelementptr|phi|select) .*|store ptr [^,]+)")
POINTER = re.compile(r"ptr [^,]*?(%[^\s,)]+)")
ASKED = re.compile(
    r"(?m)^ *(%\S+) = load \S+, ptr (?P<place>%[^\s,]+).*\n"
    r" *(%\S+) = icmp (?P<how>eq|ne) \S+ \1, (?P<value>-?\d+)\b.*\n"
    r" *br i1 \3, label %(?P<yes>[^\s,]+), label %(?P<no>[^\s,]+)"
)
LOADS = re.compile(r"\s*(%\S+) = (?=load )")


def globals_set_once(code: str) -> dict[str, str]:
    """Variables of a file that hold one constant: nothing stores to them."""
    return {p: v for p, v in SET_ONCE.findall(code)
            if not re.search(rf"store .*, ptr {re.escape(p)},", code)}  # fmt: skip


def passed_on(rows: Iterable[str]) -> set[str]:
    """Places that calls are given, or whose address is kept.

    >>> sorted(passed_on(["store ptr %a, ptr %b", "call void @f(ptr noundef %c, i32 %d)"]))
    ['%a', '%c']
    """
    said = (m[1] for row in rows if (m := ADDRESSES.search(row)) and not LEFT_ALONE.search(row))
    return {p for words in said for p in POINTER.findall(words)}


def set_once(rows: Sequence[str]) -> dict[str, str]:
    """Places of a function's own that one value is stored to, and that no call is given.

    >>> set_once(["  store i32 7, ptr %x", "  store i32 %n, ptr %y", "  call void @f(ptr %y)"])
    {'%x': '7'}
    """
    stored = [(m["place"], m["value"]) for row in rows if (m := STORED.match(row))]
    times = Counter(place for place, _ in stored)
    passed = passed_on(rows)
    return {p: v for p, v in stored if p.startswith("%") and times[p] == 1 and p not in passed}


def asked_before(rows: Sequence[str], defined: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What a function's own places hold where a block begins, as the one branch to it asked.

    >>> rows = ["  %1 = load i32, ptr %i", "  %c = icmp eq i32 %1, 0",
    ...         "  br i1 %c, label %first, label %rest"]
    >>> asked_before(rows, {"%i": "alloca i32"})
    {'first': {'%i': '0'}}
    """
    code = "\n".join(rows)
    asked = [(m["yes" if m["how"] == "eq" else "no"], m["place"], m["value"])
             for m in ASKED.finditer(code)]  # fmt: skip
    return {label: {place: value} for label, place, value in asked
            if defined.get(place, "").startswith("alloca")
            and len(re.findall(rf"label %{re.escape(label)}(?![-\w.$])", code)) == 1}  # fmt: skip


def constant_loads(
    block: Sequence[str], defined: Mapping[str, str],
    before: Mapping[str, str] = MappingProxyType({}),
) -> Collection[str]:  # fmt: skip
    """Values that are read from a place to which the same block has stored a constant before.

    Or that held one ``before`` it.

    >>> rows = ["  store i32 0, ptr %top", "  %1 = load i32, ptr %top", "  store i32 %s, ptr %top",
    ...         "  %2 = load i32, ptr %top"]
    >>> constant_loads(rows, {"%top": "alloca i32", "%1": "load i32, ptr %top"})
    {'%1'}
    """
    known, made = dict(before), set()
    for row in block:
        if m := STORED.match(row):
            if not defined.get(m["place"], "").startswith("alloca"):
                known = {}  # it may be any of them
            known[m["place"]] = m["value"]
        elif "call " in row and not LEFT_ALONE.search(row):
            known = {}
        elif (m := LOADS.match(row)) and (read := LOADED.search(row)):
            made |= {m[1]} if CONSTANT.fullmatch(known.get(read[1], "")) else set()
    return made
