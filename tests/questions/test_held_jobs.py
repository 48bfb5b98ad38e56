"""Jobs that could not start at once: their waits are said to count from submission."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.core.vocabulary import table


@pytest.mark.parametrize(("late_s", "said"), [(59.0, False), (7200.0, True)])
def test_jobs_that_were_held_are_counted(late_s, said):
    submit = [100.0 * k for k in range(40)]
    eligible = [s + late_s * (k < 2) for k, s in enumerate(submit)]
    rest = {"runtime_s": [50.0] * 40, "cores": [4] * 40, "state": ["COMPLETED"] * 40}
    start = [e + 60.0 for e in eligible]
    jobs = table({"submit_s": submit, "eligible_s": eligible, "start_s": start, **rest})
    notes = rh.summary(jobs).notes
    assert any(note.startswith("2 jobs were held") for note in notes) is said
