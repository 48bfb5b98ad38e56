"""The text in which races are looked for: loops dealt out, sums of floats that a checker sees."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

from rheostat.measurement.code.programs.program import GAP, PRAGMA, Program

DEALT = re.compile(r"\bschedule\s*\(\s*(?:\w+\s*:\s*)?(?:dynamic|guided|auto|runtime)\b[^)]*\)")
LOOP = re.compile(
    PRAGMA + rf"{GAP}+(?:(?:parallel|target|teams|distribute){GAP}+)*for\b(?:{GAP}+simd\b)?"
    r"(?P<clauses>(?:[^\n\\\"]|\\\n)*)"
)
FIXED = re.compile(r"\b(?:schedule|ordered|inscan)\b")
PARTS = re.compile(r"\bschedule\s*\(\s*static\s*\)")
"""Equal parts: of ``parallel for`` nothing relies on which thread has which, unless threads keep
something from one region to the next or ask for their number."""
KEPT = re.compile(
    PRAGMA + r"\b[^\n]*\bthreadprivate\b|\b(?:thread_local|_Thread_local|__thread)\b"
    r"|\bomp_get_thread_num\b"
)
NOWAIT = re.compile(PRAGMA + r"\b(?:[^\n\\\"]|\\\n)*\bnowait\b")
SCHEDULES = ("static,1", "static", "static,3")
"""One after the other: neighbours, ends of parts, and what is a number of threads apart."""
LEAGUE = re.compile(r"(?<=\s)distribute\b(?!\s+parallel\b)(?=[\s(]|$)")
ATOMIC = re.compile(
    PRAGMA + rf"{GAP}+atomic\b(?![^\n]*\b(?:read|write|capture|compare)\b)[^\n]*\n\s*"
    r"(?P<place>[^=;{}\n]+?)\s*(?:(?P<by>[+-])=|=\s*(?P=place)\s*(?P<and>[+-](?![+-])))(?P<value>[^;{}]+);"
)


def spread_over_threads(program: Program) -> Program:
    r"""The program with loops dealt out as each run says: a race needs two threads that meet.

    On a busy machine one thread may run all of a dynamic loop before another wakes up, and parts
    of a loop without a schedule meet at their ends alone.  Teams become threads of one team:
    Archer does not see that a league waits for its teams.

    >>> text = "#pragma omp for schedule(dynamic, 8) nowait"
    >>> spread_over_threads(Program({"a.c": text}, "openmp")).text
    '#pragma omp for schedule(runtime) nowait'
    >>> spread_over_threads(Program({"a.c": "#pragma omp parallel for simd if(n)"}, "openmp")).text
    '#pragma omp parallel for simd schedule(runtime) if(n)'
    >>> text = "#pragma omp parallel for schedule(static)\n#pragma omp for schedule(static)"
    >>> print(spread_over_threads(Program({"a.c": text}, "openmp")).text)
    #pragma omp parallel for schedule(runtime)
    #pragma omp for schedule(static)
    """
    keeps = bool(KEPT.search(program.text))

    def dealt(m: re.Match[str]) -> str:
        said = m[0].removesuffix(m["clauses"])
        if not keeps and re.search(r"\bparallel\b", said) and PARTS.search(m["clauses"]):
            return said + PARTS.sub("schedule(runtime)", m["clauses"])
        return m[0] if FIXED.search(m["clauses"]) else f"{said} schedule(runtime){m['clauses']}"

    def whole(text: str) -> str:
        text = LEAGUE.sub("distribute parallel for", DEALT.sub("schedule(runtime)", text))
        return seen_atomics(LOOP.sub(dealt, text))

    return replace(program, files={name: whole(text) for name, text in program.files.items()})


def dealt_unlike(program: Program) -> Program | None:
    """The program with a schedule of its own for each loop that is dealt out as threads come.

    Behind ``nowait`` the next loop may meet what another thread still writes, unless both deal out
    alike by ``static``, on which a program may rely.  None where there is no such loop.

    >>> text = "#pragma omp for schedule(dynamic, 8) nowait"
    >>> dealt_unlike(Program({"a.c": f"{text}{chr(10)}{text}"}, "openmp")).text.split(chr(10))
    ['#pragma omp for schedule(static, 2) nowait', '#pragma omp for schedule(static, 3) nowait']
    """
    if not (NOWAIT.search(program.text) and DEALT.search(program.text)):
        return None
    parts = count(2)

    def whole(text: str) -> str:
        text = DEALT.sub(lambda _: f"schedule(static, {next(parts)})", text)
        return seen_atomics(LEAGUE.sub("distribute parallel for", text))

    return replace(program, files={name: whole(text) for name, text in program.files.items()})


def seen_atomics(text: str) -> str:
    r"""The text with atomic sums of floats in a form that clang does not make one instruction of.

    ThreadSanitizer does not see that instruction, so that a plain access beside it is no race.
    The value is taken in the next wider type; what is no float stays as it is.

    >>> print(seen_atomics("#pragma omp atomic\nsum += f(i);"))
    #pragma omp atomic
    sum += _Generic((sum), double: (long double)(f(i)), float: (double)(f(i)), default: (f(i)));
    """

    def widened(m: re.Match[str]) -> str:
        start = m.start("value") - m.start()
        v = m["value"].strip()
        return (f"{m[0][:start]} _Generic(({m['place']}), double: (long double)({v}), "
                f"float: (double)({v}), default: ({v}));")  # fmt: skip

    return ATOMIC.sub(widened, text)
