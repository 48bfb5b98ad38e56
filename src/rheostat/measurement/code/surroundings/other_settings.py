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


def set_otherwise(case: Case, expected: Expected) -> list[Finding]:
    """What is wrong where the environment sets OpenMP as other people do, and the original is not.

    That is cancelling, regions in regions, another schedule where the program names none; fewer
    threads than are asked for; several teams.

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
        built = case.bench.build(program, CLANG if environment == TEAMS else case.kind)
        run = case.bench.run(built, expected.given, threads=count, limits=expected.limits(8),
                             environment=environment)  # fmt: skip
        return case.wrong("threads", run, expected, how)

    for setting in OTHER_SETTINGS if case.is_parallel else ():
        # gcc's regions on the host have one team, whatever the environment says
        if setting[1] == TEAMS and not _makes_teams(case):
            continue
        own = wrong(case.candidate, *setting)
        if own and not wrong(case.original, *setting):
            return own
    return []


def _makes_teams(case: Case) -> bool:
    return case.candidate.language == "target" and not compiler_absent(case.candidate, "clang")
