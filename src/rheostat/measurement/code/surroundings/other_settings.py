"""Where the environment sets OpenMP as other people do: cancelling, thread limits, teams."""

from __future__ import annotations

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import CLANG, compiler_absent
from rheostat.measurement.code.verdict import Finding

TEAMS = {"OMP_NUM_TEAMS": "4"}
OTHER_SETTINGS = (
    (
        2,
        {"OMP_CANCELLATION": "true", "OMP_MAX_ACTIVE_LEVELS": "3", "OMP_SCHEDULE": "dynamic,64"},
        " where the environment allows cancelling, regions in regions and chunks of 64",
    ),
    (5, {"OMP_THREAD_LIMIT": "2"}, ", 5 threads asked for and 2 given (OMP_THREAD_LIMIT)"),
    (2, TEAMS, " and 4 teams (OMP_NUM_TEAMS)"),
)
"""Threads and environments that other people may have, in words."""
OF_LLVM = {
    "threadprivate": (
        8,
        {"OMP_DYNAMIC": "true", "KMP_DYNAMIC_MODE": "random"},
        " where regions get other numbers of threads (OMP_DYNAMIC)",
    ),
    "omp_get_thread_num": (
        3,
        {"KMP_SCHEDULE": "static,greedy"},
        " and 3 threads, of which the first take larger parts of loops (KMP_SCHEDULE)",
    ),
}
"""What LLVM's library may do, where a program has such a word: values of a thread go from one
region to another with as many threads alone, and no standard says how `static` parts a loop."""


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

    def wrong(
        program: Program, count: int, environment: dict[str, str], how: str
    ) -> list[Finding]:  # fmt: skip
        of_llvm = (count, environment, how) in OF_LLVM.values()
        built = case.bench.build(program, CLANG if of_llvm or environment == TEAMS else case.kind)
        for known in (expected, *case.reference.expected) if of_llvm else (expected,):
            run = case.bench.run(built, known.given, threads=count, limits=known.limits(8),
                                 environment=environment)  # fmt: skip
            if findings := case.wrong("threads", run, known, how):
                return findings
        return []

    for setting in (*OTHER_SETTINGS, *_of_llvm(case)) if case.is_parallel else ():
        # gcc's regions on the host have one team, whatever the environment says
        if setting[1] == TEAMS and not _makes_teams(case):
            continue
        own = wrong(case.candidate, *setting)
        if own and not wrong(case.original, *setting):
            return own
    return []


def _of_llvm(case: Case) -> list[tuple[int, dict[str, str], str]]:
    """Settings for words that the candidate has, where its threads may be those of LLVM."""
    if case.candidate.language != "openmp" or compiler_absent(case.candidate, "clang"):
        return []
    return [setting for word, setting in OF_LLVM.items() if word in case.candidate.text]


def _makes_teams(case: Case) -> bool:
    return case.candidate.language == "target" and not compiler_absent(case.candidate, "clang")
