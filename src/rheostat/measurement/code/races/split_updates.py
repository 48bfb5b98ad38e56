"""Updates that are taken apart: a variable read in one atomic step and written in another.

What another thread writes in between is lost, and no checker of races reports it: each access is
atomic by itself.  The text shows both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.verdict import Finding

READ = re.compile(PRAGMA + r"\s+atomic\s+read\b[^\n]*\n[^=;{}]*=(?P<place>[^=;]+);")
WRITE = re.compile(PRAGMA + r"\s+atomic\s+write\b[^\n]*\n(?P<place>[^=;{}]+)=(?P<value>[^=;]+);")
LOST = "{} is read by one atomic and written by another: what is written in between is lost"
OF_PARAMETER = re.compile(r"\*\s*(?P<pointer>\w+)|(?P<first>\w+)\s*\[\s*0\s*\]")
FUNCTION = re.compile(r"(?P<name>\w+)\s*\((?P<given>[^(){}]*)\)\s*$")
NUMBER = re.compile(r"\d+|true|false")
CALL = re.compile(r"(?m)^(?![ \t]*#).*\w\s*\(")
TEAM = re.compile(PRAGMA + r"[^\n]*\bparallel\b")
CHANGED = r"(?:\+\+|--|&)\s*{0}\b|\b{0}\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))"


@dataclass(frozen=True)
class _TeamFunction:
    """A function of a file: its name, what it is given, and its body."""

    name: str
    given: str
    body: str
    start: int


def split_updates(program: Program) -> list[Finding]:
    r"""Each write of what the same program reads so, but for one of a plain number.

    A function that writes so, or reads, for others is looked at where it is called.  There a value
    that all threads of a team share is none that was read before.

    Examples
    --------
    >>> text = "#pragma omp atomic read\ns = busy;\ns++;\n#pragma omp atomic write\nbusy = {};"
    >>> [f.words for f in split_updates(Program({"a.c": text.format("s")}))]
    ['a.c:4: busy is read by one atomic and written by another: what is written in between is lost']
    >>> split_updates(Program({"a.c": text.format(1)}))
    []
    """
    return [f for name, text in program.files.items() for f in _in_file(name, text)]


def _in_file(name: str, text: str) -> list[Finding]:
    plain = without_comments(text)
    functions = list(_functions(plain))
    reads = list(READ.finditer(plain))
    read = {without_blanks(m["place"]) for m in reads}
    made = []
    for m in WRITE.finditer(plain):
        if without_blanks(m["place"]) not in read or NUMBER.fullmatch(m["value"].strip()):
            continue
        writer = _helper(functions, m)
        readers = [_helper(functions, r) for r in reads
                   if without_blanks(r["place"]) == without_blanks(m["place"])]  # fmt: skip
        if writer is None or None in readers or CALL.search(writer.body):
            made.append((m.start(), m["place"].strip()))
        else:
            made += _calls(functions, writer)
    return [Finding("races", name, plain.count("\n", 0, at) + 1, LOST.format(place))
            for at, place in made]  # fmt: skip


def _functions(plain: str) -> Iterator[_TeamFunction]:
    """Functions that stand in no other braces."""
    depth, opened = 0, 0
    for m in re.finditer(r"[{}]", plain):
        depth += 1 if m[0] == "{" else -1
        if m[0] == "{" and depth == 1:
            opened = m.end()
        elif depth == 0 and (head := FUNCTION.search(plain[: opened - 1])):
            yield _TeamFunction(head["name"], head["given"], plain[opened : m.start()], opened)


def _helper(functions: Sequence[_TeamFunction], match: re.Match[str]) -> _TeamFunction | None:
    """The function that accesses what a parameter of it points to, and whose team is another's."""
    place = OF_PARAMETER.fullmatch(match["place"].strip())
    function = _around(functions, match.start())
    if place is None or function is None or TEAM.search(function.body):
        return None
    named = re.search(rf"\*\s*{place['pointer'] or place['first']}\b", function.given)
    return function if named else None


def _around(functions: Sequence[_TeamFunction], at: int) -> _TeamFunction | None:
    return next((f for f in functions if f.start <= at < f.start + len(f.body)), None)


def _calls(functions: Sequence[_TeamFunction], writer: _TeamFunction) -> Iterator[tuple[int, str]]:
    """Where a function writes for others a value that threads may have read before."""
    call = re.compile(rf"\b{writer.name}\s*\(\s*(?P<place>[^;]*?),(?P<value>[^,;]*)\)\s*;")
    within = _within_teams(functions)
    for function in functions:
        calls = list(call.finditer(function.body))
        if len(re.findall(rf"\b{writer.name}\b", function.body)) != len(calls):
            yield function.start, writer.name
        values = {(_base(m["place"]), m["value"].strip()) for m in calls}
        of_base = Counter(base for base, _ in values)
        for m in calls:
            alone = of_base[_base(m["place"])] == 1 and function.name not in within
            if not (alone and TEAM.search(function.body[: m.start()])
                    and _is_shared(function, m["value"])):  # fmt: skip
                yield function.start + m.start(), m["place"].strip().removeprefix("&")


def _within_teams(functions: Sequence[_TeamFunction]) -> set[str]:
    """Functions that threads of a team call, each with values of its own."""
    names = {f.name: set(re.findall(r"\w+", f.body)) for f in functions}
    within = {n for f in functions if TEAM.search(f.body) for n in names[f.name] if n in names}
    while more := {n for w in within for n in names[w] if n in names} - within:
        within |= more
    return within


def _base(place: str) -> str:
    """The array or variable of which the address is taken."""
    name = re.search(r"[A-Za-z_]\w*", place)
    return name[0] if name else ""


def _is_shared(function: _TeamFunction, value: str, most: int = 3) -> bool:
    """Whether a value is of numbers, of parameters that are never set, and of what is set once so.

    >>> one = _TeamFunction("f", "int level, int *p", "int next = level + 1;", 0)
    >>> [_is_shared(one, value) for value in ("next", "level", "p[0]", "-1", "other")]
    [True, True, False, True, False]
    """
    names = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", value)) - {"true", "false"}
    if most < 0 or not re.fullmatch(r"[\w\s.+\-]*", value):
        return False
    for name in names:
        once = re.findall(rf"\b(?!return\b)[A-Za-z_]\w*\s+{name}\s*=(?!=)([^;,]*);", function.body)
        sets = len(re.findall(CHANGED.format(name), function.body))
        if len(once) == sets == 1:
            if not _is_shared(function, once[0], most - 1):
                return False
        elif sets or not re.search(rf"[\w>]\s+{name}\s*(?:,|$)", function.given):
            return False
    return True
