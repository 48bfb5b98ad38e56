"""What `trial read` says where forecasts and a trial differ."""

import numpy as np
import pytest

import rheostat as rh
from rheostat.decision.trials.trial_size import TrialResult
from rheostat.errors import DataError
from rheostat.questions.trial import TrialReading
from tests.prediction.test_machine_date import trial


@pytest.mark.parametrize(
    ("forecast", "said"),
    [
        ((-0.1, -0.15, -0.08), "at twice the nodes the run time that is forecast is 7% too long"),
        ((-0.3, -0.35, -0.25), "at twice the nodes the run time that is forecast is 7% too short"),
        ((-0.18, -0.22, -0.14), "both agree"),
        (None, "the two cannot be compared"),
    ],
)
def test_a_forecast_beside_the_trial(forecast, said):
    result = TrialResult("nodes", 300, 15, (-0.2, -0.22, -0.17), (0.3, 0.2, 0.4), forecast)
    answer = TrialReading(result=result, knob="nodes", notes=())
    text = " ".join(str(answer).split())
    assert said in text
    assert "nothing is advised" not in text  # `decide` is asked for advice


def test_a_forecast_of_a_part_of_the_jobs_is_held_against_that_part():
    part = (-0.4, -0.45, -0.35)
    result = TrialResult("nodes", 300, 15, (-0.2, -0.22, -0.17), (0.3, 0.2, 0.4), part, 120, part)
    text = " ".join(str(TrialReading(result=result, knob="nodes", notes=())).split())
    assert "for the 120 of these jobs that have a forecast, of which the trial says -0.40" in text
    assert text.endswith("both agree.")


def test_a_log_without_a_trial_is_told_what_to_give(tmp_path):
    log = tmp_path / "log.csv"
    rows = [f"{i},u,cfd,{100 * i},{2 ** (i % 3)},{50 + i}" for i in range(30)]
    log.write_text("\n".join(["job_id,user,app,submit_s,nodes,runtime_s", *rows]) + "\n")
    with pytest.raises(DataError, match=r"--plan PLAN .* or name the column .*nodes_requested="):
        rh.trial.read(log)


def test_a_log_drawn_whole_has_no_plan_to_give() -> None:
    """It was told to give a plan, or the column of what was asked for, which there is none of."""
    n = 2 ** (np.arange(400) * 7 % 5)
    log = rh.table({"app": ["a", "b"] * 200, "submit_s": 9.0 * np.arange(400), "nodes": n,
                    "runtime_s": 900.0 / n, "randomized": [1] * 400})  # fmt: skip
    with pytest.raises(DataError, match=r"chance drew the nodes of every job.*decide LOG"):
        rh.trial.read(log)


def test_another_machine_in_the_middle_of_a_trial_is_said() -> None:
    answer = rh.trial.read(trial())
    assert any("run times at equal requests are 0.60 times" in n for n in answer.notes)
    assert answer.result.by_trial[0] == pytest.approx(-0.97, abs=0.1)
