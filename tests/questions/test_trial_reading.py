"""What `trial read` says where forecasts and a trial differ."""

import pytest

from rheostat.decision.trials.trial_size import TrialResult
from rheostat.questions.trial import TrialReading


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
