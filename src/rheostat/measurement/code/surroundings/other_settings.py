"""Where the environment sets OpenMP as other people do: cancelling, thread limits, teams."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import CLANG, compiler_absent
from rheostat.measurement.code.verdict import Finding


@dataclass(frozen=True)
class OtherSetting:
    """Threads and an environment that other people may have, in words.

    With a ``word`` it is tried by LLVM's library on candidates that have that word, on more inputs
    than the small one; with a ``language`` by LLVM's library on candidates of that alone.
    """

    threads: int
    environment: dict[str, str]
    said: str
    word: str = ""
    language: str = ""

    @property
    def by_llvm(self) -> bool:
        """Whether gcc's library has no such thing: its regions on the host have one team."""
        return bool(self.word or self.language)

    def concerns(self, case: Case) -> bool:
        """Whether the candidate can be built for it and may go by it."""
        own = case.candidate
        if self.by_llvm and compiler_absent(own, "clang"):
            return False
        return own.language == (self.language or own.language) and self.word in own.text


OTHER_SETTINGS = (
    OtherSetting(
        2,
        {"OMP_CANCELLATION": "true", "OMP_MAX_ACTIVE_LEVELS": "3", "OMP_SCHEDULE": "dynamic,64"},
        " where the environment allows cancelling, regions in regions and chunks of 64",
    ),
    OtherSetting(
        5, {"OMP_THREAD_LIMIT": "2"}, ", 5 threads asked for and 2 given (OMP_THREAD_LIMIT)"
    ),
    OtherSetting(2, {"OMP_NUM_TEAMS": "4"}, " and 4 teams (OMP_NUM_TEAMS)", language="target"),
    OtherSetting(
        8,
        {"OMP_DYNAMIC": "true", "KMP_DYNAMIC_MODE": "random"},
        " where regions get other numbers of threads (OMP_DYNAMIC)",
        word="threadprivate",
    ),
    OtherSetting(
        3,
        {"KMP_SCHEDULE": "static,greedy"},
        " and 3 threads, of which the first take larger parts of loops (KMP_SCHEDULE)",
        word="omp_get_thread_num",
    ),
)
"""Values of a thread go from one region to another with as many threads alone, and no standard
says how `static` parts a loop."""


def set_otherwise(case: Case, expected: Expected) -> list[Finding]:
    """What is wrong where the environment sets OpenMP as other people do, and the original is not.

    That is cancelling, regions in regions, another schedule where the program names none; fewer
    threads than are asked for; several teams; other parts of static loops.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    expected : Expected
        An input and the original's output.
    """

    def wrong(program: Program, other: OtherSetting) -> list[Finding]:
        built = case.bench.build(program, CLANG if other.by_llvm else case.kind)
        for known in (expected, *case.reference.expected) if other.word else (expected,):
            run = case.bench.run(built, known.given, threads=other.threads,
                                 limits=known.limits(8), environment=other.environment)  # fmt: skip
            if findings := case.wrong("threads", run, known, other.said):
                return findings
        return []

    for other in OTHER_SETTINGS if case.is_parallel else ():
        own = wrong(case.candidate, other) if other.concerns(case) else []
        if own and not wrong(case.original, other):
            return own
    return []
