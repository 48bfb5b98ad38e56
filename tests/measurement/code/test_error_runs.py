"""Where the original ends with an error of its own a candidate has to end and print alike."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.measurement.code.surroundings.error_runs import error_runs
from tests.measurement.code.rung_cases import SMALL
from tests.measurement.scripted import done

HALTED = done("halt: 7 of 9", status=3)


@pytest.mark.parametrize(("own", "theirs", "said"), [
    (HALTED, HALTED, ""), (HALTED, done("halt: 7 of 9"), "ended with status 0"),
    (HALTED, done("halt: 8 of 9", status=3), "expected 'halt: 7 of 9', got 'halt: 8 of 9'"),
    (HALTED, done("halt: 7 of 9", status=3, stopped="out of time"), ""),
    (done(status=139), HALTED, ""), (done(), HALTED, ""),
])  # fmt: skip
def test_an_end_with_a_status_of_the_original_s_own_is_compared(case, box, own, theirs, said):
    case.reference.many = ((SMALL.given, SMALL.output),)
    case.reference.refused = [case.original.inputs.draw(np.random.default_rng(2), (0.0, 1.0))]
    box.says["original", "run gcc"], box.says["candidate", "run gcc"] = own, theirs
    messages = [f.message for f in error_runs(case)]
    n = case.reference.refused[0].values["n"]
    where = f"with n={n}, where the original ended with status 3: "
    assert messages == ([where + said] if said else [])


def test_an_end_that_is_another_one_each_time_is_none_to_compare(case, box):
    case.reference.many = ((SMALL.given, SMALL.output),)
    case.reference.refused = [SMALL.given]
    ends = iter([HALTED, done("halt: 2 of 9", status=3)])
    box.says["original", "run gcc"] = lambda _: next(ends)
    assert error_runs(case) == []


def test_inputs_that_the_original_does_not_run_on_are_kept(case, box):
    case.reference.count = 4

    def ends(asked):
        return done(status=3) if int(asked.command[-1]) % 2 else done("even")

    box.says["original", "run gcc"] = ends
    numbers = [int(given.values["n"]) for given, _ in case.reference.many]
    refused = [int(given.values["n"]) for given in case.reference.refused]
    assert numbers
    assert refused
    assert not any(n % 2 for n in numbers)
    assert all(n % 2 for n in refused)
