"""Scalars from outside a parallel region that its threads write, named by no clause.

ThreadSanitizer and lock sets see a race where two threads come to it in one run.  What stands
behind a rare condition is reached by one thread or none; the text shows that nothing keeps a
second one away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.declared_names import ARGUMENTS, names, scalars
from rheostat.measurement.code.races.league_writes import OWN, WRITTEN, each_scalar
from rheostat.measurement.code.races.unordered_sums import DIRECTIVE, no_directives
from rheostat.measurement.code.verdict import Finding

TEAM = re.compile(r"\bparallel\b")
LOOP = re.compile(r"\b(?:for|loop|distribute|taskloop|simd)\b")
LEVELS = re.compile(r"\b(?:collapse|ordered)\s*\(\s*(\d+)\s*\)")
COUNTED = re.compile(r"\bfor\s*\(\s*(?:[\w:]+\s+)*(\w+)\s*[={:]")
ONE_AT_A_TIME = re.compile(
    r"\b(?:atomic|critical|single|master|masked|sections?|task|taskloop|taskgroup)\b"
)
LOCKS = re.compile(
    r"lock\w*\s*\(|\b(?:lock_guard|unique_lock|scoped_lock|shared_lock|atomic_flag\w*)\b"
    r"|test_and_set|compare_exchange|\b__(?:sync|atomic)_\w+|\batomic\s+(?:compare\s+)?capture\b"
)
"""Locks, and what locks are built of."""
ONE_THREAD = re.compile(r"\bnum_threads\s*\(\s*1\s*\)|\bif\s*\(\s*(?:0|false)\s*\)")
NUMBER = re.compile(r"\bomp_get_thread_num\s*\(\s*\)")
NUMBERED = re.compile(r"\b(\w+)\s*=\s*omp_get_thread_num\b")
CONDITION = re.compile(r"\bif\s*\(")
ONE_OF_ALL = re.compile(r"\s*(?:[\w\s+*-]+==[\w\s+*-]+|!\s*\w+\s*)\Z")
THREADPRIVATE = re.compile(r"\bthreadprivate\s*\(([^()]*)\)")
SAID = "is written by the threads of a region, and no clause, atomic or lock makes that one's own"


def thread_writes(program: Program) -> list[Finding]:
    r"""Each scalar that threads write together, by the line of what writes it.

    Examples
    --------
    >>> loop = "for (int i = 0; i < n; i++)\nif (a[i] == b[i]) both++;"
    >>> text = "long both = 0;\n#pragma omp parallel for{}\n" + loop
    >>> [f.line for f in thread_writes(Program({"a.c": text.format("")}))]
    [4]
    >>> thread_writes(Program({"a.c": text.format(" reduction(+ : both)")}))
    []
    """
    return each_scalar(program, _shared, SAID)


def _shared(text: str) -> Iterator[tuple[int, str]]:
    every = [(m, statement_end(text, m.end())) for m in DIRECTIVE.finditer(text)]
    private = set(re.findall(r"\w+", " ".join(THREADPRIVATE.findall(text))))
    numbers = {"omp_get_thread_num", *NUMBERED.findall(text)}
    for region, end in every:
        if not _shares(region) or LOCKS.search(text[region.end() : end]):
            continue
        inner = [(m, e) for m, e in every if region.end() <= m.start() < end]
        counters = {c for m, _ in [(region, end), *inner] for c in _counted(text, m)}
        body = no_directives(text[region.end() : end])
        outside = scalars(no_directives(text[: region.start()])) - private
        outside -= {*counters, *names(body)}
        for m in WRITTEN.finditer(body):
            name, at = m["name"] or m["other"], region.end() + m.start()
            around = [region, *(x for x, e in inner if x.end() <= at < e)]
            kept = _is_kept(around, name) or _by_one(body, m.start(), numbers | counters)
            if name in outside and not kept:
                yield at, name


def _words(m: re.Match[str]) -> str:
    """A directive without what its clauses name."""
    return ARGUMENTS.sub("", f"{m['what']}{m['clauses']}")


def _shares(m: re.Match[str]) -> bool:
    """Whether a directive has several threads run its statement."""
    words = _words(m)
    alone = ONE_AT_A_TIME.search(words) or ONE_THREAD.search(m["clauses"])
    return bool(TEAM.search(words)) and not alone


def _counted(text: str, m: re.Match[str]) -> list[str]:
    """What the loops of a directive count, of which each thread has its own."""
    if not LOOP.search(_words(m)):
        return []
    levels = [int(n) for n in LEVELS.findall(m["clauses"])]
    loops = COUNTED.finditer(text, m.end(), statement_end(text, m.end()))
    return [loop[1] for _, loop in zip(range(max([1, *levels])), loops, strict=False)]


def _is_kept(around: Sequence[re.Match[str]], name: str) -> bool:
    """Whether one thread at a time comes here, or each has its own of that name."""
    owned = re.findall(r"\w+", " ".join(c for m in around for c in OWN.findall(m["clauses"])))
    return name in owned or any(
        m["what"] == "ordered" or ONE_AT_A_TIME.search(_words(m)) for m in around[1:]
    )


def _by_one(body: str, at: int, alone: set[str]) -> bool:
    """Whether what stands here is done by one thread, or in one iteration, of all."""
    for m in CONDITION.finditer(body, 0, at):
        close = _end_of_brackets(body, m.end() - 1)
        if not close <= at < statement_end(body, m.start()):
            continue
        asked = NUMBER.sub("omp_get_thread_num", body[m.end() : close - 1])
        if "||" not in asked and any(
            ONE_OF_ALL.match(part) and alone & set(re.findall(r"\w+", part))
            for part in asked.split("&&")
        ):
            return True
    return False


def _end_of_brackets(text: str, at: int) -> int:
    """Where the brackets end that open here."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] == "(") - (text[k] == ")")
        if not depth:
            return k + 1
    return len(text)
