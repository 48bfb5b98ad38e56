"""Limits that messages and comments state hold to the last job, watt and factor."""

from __future__ import annotations

import pytest

from rheostat import table
from rheostat.decision.actuate import cap_files
from rheostat.decision.budget.branch_and_bound import _divisor
from rheostat.decision.coschedule import queue_files
from rheostat.decision.trial import plan_trial
from rheostat.errors import DataError


def test_a_queue_file_holds_as_many_jobs_as_it_says(tmp_path, monkeypatch) -> None:
    (tmp_path / "p.csv").write_text("app,gpus,runtime_s,power_w\nA,1,40,300\nA,2,22,600\n")
    profiles = queue_files.read_profiles(tmp_path / "p.csv")
    monkeypatch.setattr(queue_files, "LONGEST", 3)
    (tmp_path / "three.csv").write_text("app\n" + "A\n" * 3)
    assert len(queue_files.read_queue(str(tmp_path / "three.csv"), profiles)) == 3
    (tmp_path / "four.csv").write_text("app\n" + "A\n" * 4)
    with pytest.raises(DataError, match="expected at most 3 jobs, got 4"):
        queue_files.read_queue(str(tmp_path / "four.csv"), profiles)


@pytest.mark.parametrize("wrong", [{"share": 1.0}, {"factors": ()}, {"factors": (0.0,)}])
def test_a_trial_of_nothing_or_of_all_jobs_is_refused(wrong) -> None:
    queue = table({"job_id": [1, 2], "nodes": [4, 16]})
    with pytest.raises(DataError, match=r"share: expected|factor"):
        plan_trial(queue, **{"share": 0.1, **wrong})


def test_a_limit_without_a_statement_may_take_what_its_register_holds() -> None:
    assert cap_files.REGISTER_W == 2**15 / 8


@pytest.mark.parametrize(("a", "b", "step"), [(30.0, 12.0, 6.0), (0.3, 0.1, 0.1), (7.0, 5.0, 1.0)])
def test_a_common_step_divides_both_even_after_rounding(a, b, step) -> None:
    assert _divisor(a, b) == pytest.approx(step, abs=1e-6)
