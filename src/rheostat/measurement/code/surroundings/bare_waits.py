"""Waits on a condition variable that go on as soon as they return, whatever woke them.

C++ and POSIX let a wait return although nobody notified it.  Only a loop, or a predicate, asks
again whether what was waited for has happened; no run here shows a wait that wakes by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.blocks import opened
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

DECLARED = re.compile(r"\bcondition_variable(?:_any)?\s*[&*]?\s*(\w+)")
OF_C = re.compile(r"\b(?:pthread_cond_wait|cnd_wait)\s*\(")
LOOP = re.compile(
    r"\b(?P<kind>while|for|do)\b\s*(?P<head>\((?:[^(){}]|\((?:[^()]|\([^()]*\))*\))*\))?\s*$"
)
ENDLESS = re.compile(r"\(\s*(?:true|1)?\s*\)|\(\s*;\s*;?\s*(?:true|1)?\s*;?\s*\)")
ALONE = re.compile(r"\bif\s*\((?:[^(){};]|\((?:[^()]|\([^()]*\))*\))*\)\s*$")
ONCE_MORE = re.compile(r"[^;{}]*;\s*(?:\}\s*)?(?:continue\b|else\b)")
MOST_BEFORE = 400
"""Characters before a statement in which its loop or condition begins."""
SAID = (
    "a wait may return although nobody notified it: ask again in a loop, or give the wait a "
    "predicate"
)


def bare_waits(program: Program) -> list[Finding]:
    r"""Each of them, by its line.

    Examples
    --------
    >>> def waits(body):
    ...     text = "std::condition_variable all;\nvoid f() {\n" + body + "\n}\n"
    ...     return [f.line for f in bare_waits(Program({"a.cpp": text}))]
    >>> waits("if (busy) all.wait(lock);"), waits("while (busy) all.wait(lock);")
    ([3], [])
    >>> waits("while (busy) {\n all.wait(lock);\n}"), waits("all.wait(lock, [&] { return !n; });")
    ([], [])
    >>> waits("for (;;) {\n if (jobs.empty()) all.wait(lock);\n run(jobs.front());\n}")
    [4]
    """
    return [
        Finding("calls", name, text.count("\n", 0, at) + 1, SAID)
        for name, text in program.files.items()
        for at in _waits(without_comments(text))
    ]


def _waits(text: str) -> Iterator[int]:
    names = "|".join(sorted(set(DECLARED.findall(text)))) or r"\b\B"
    of_cxx = rf"\b(?:{names})\s*(?:\.|->)\s*wait\s*\(\s*[\w.\->]+\s*\)"
    for m in re.finditer(rf"{of_cxx}|{OF_C.pattern}", text):
        if not _asked_again(text, m.start()):
            yield m.start()


def _asked_again(text: str, at: int) -> bool:
    """Whether a loop with a condition is around it; an endless one asks again only by itself."""
    alone = ALONE.search(text, max(0, at - MOST_BEFORE), at) is not None
    alone = alone and not ONCE_MORE.match(text, at)
    while at >= 0:
        m = LOOP.search(text, max(0, at - MOST_BEFORE), at)
        if m and m["kind"] == "do":
            return True
        if m and m["head"]:
            return not (alone and ENDLESS.fullmatch(m["head"]))
        at = opened(text, at)
    return False
