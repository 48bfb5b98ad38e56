"""A thousand threads under the sanitizers, which the machine may not have room for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import rungs_run
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.verdict import FAILED, PASSED
from tests.measurement.code.rung_cases import of
from tests.measurement.scripted import done

OVERFLOW = "a.c:7:3: runtime error: signed integer overflow: 3000000 * 768 cannot be represented\n"
NO_ROOM = done("", "OMP: System error #11: Resource temporarily unavailable\n", 1)
FULL = done("", "==1==ERROR: AddressSanitizer: hard rss limit exhausted (2048Mb vs 2050Mb)\n", 1)


def numbered(case: Case) -> Case:
    made = of(case, "openmp")
    text = "int candidate;\nint at(int n) { return n * omp_get_thread_num(); }\n"
    return replace(made, candidate=replace(made.candidate, files={"a.c": text}))


def overflows(asked):
    many = asked.environment["OMP_NUM_THREADS"] == "1024"
    return done("", OVERFLOW, 1) if many else done(f"sum {asked.command[-1]}")


def test_a_number_times_a_thread_s_overflows_with_a_thousand_threads(case, box):
    box.says["candidate", "run sanitizers"] = overflows
    made = rungs_run.threads(numbered(case))
    assert made.state == FAILED
    assert made.reason == ("a.c:7: signed integer overflow: 3000000 * 768 cannot be represented, "
                           "with n=700 and 1024 threads under the sanitizers")  # fmt: skip
    assert rungs_run.threads(of(case, "openmp")).state == PASSED, "no thread's number"
    box.says["original", "run sanitizers"] = overflows
    assert rungs_run.threads(numbered(case)).state == PASSED


def test_another_output_with_a_thousand_threads_is_wrong(case, box):
    box.says["candidate", "run sanitizers"] = done("sum 1")
    assert " and 1024 threads under the sanitizers, output" in rungs_run.threads(
        numbered(case)).reason  # fmt: skip


@pytest.mark.parametrize("ending", [NO_ROOM, FULL, done(stopped="stopped after 2 s")])
def test_what_a_machine_has_no_room_for_is_said_and_no_finding(case, box, ending):
    def most(limit):
        return lambda asked: (ending if int(asked.environment["OMP_NUM_THREADS"]) > limit
                              else done(f"sum {asked.command[-1]}"))  # fmt: skip

    for limit, said in ((600, " and 512 threads under the sanitizers"),
                        (100, " no room or time under the sanitizers here")):  # fmt: skip
        box.says["candidate", "run sanitizers"] = most(limit)
        made = rungs_run.threads(numbered(case))
        assert (made.state, made.reason.endswith(said)) == (PASSED, True)
