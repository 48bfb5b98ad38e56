"""A back-test learns only from what had ended; its figures are true where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Moment, Outcome, table
from rheostat.decision.accuracy import accuracy
from rheostat.decision.backtest import backtest, divided
from rheostat.errors import DataError, LeakError
from rheostat.explanation.choices.checked_forecasts import with_accuracy
from rheostat.explanation.narrate import explain
from rheostat.measurement.synthetic.world import World
from rheostat.tradeoff.rules import Weighted

DAY = 86400.0


class Oracle:
    """Knows the truth of a world; remembers what it was shown."""

    def __init__(self, world: World, bias: float = 1.0) -> None:
        self.world, self.bias = world, bias

    def fit(self, jobs):
        self.seen = jobs
        return self

    def predict(self, jobs):
        late = [c for c in jobs.columns if jobs.schema[c].known > Moment.SUBMIT]
        if late:
            raise LeakError("SUBMIT", late)
        true = self.world.truth(jobs)
        noise = np.exp(np.linspace(-0.15, 0.15, 21))[:, None] * self.bias
        draws = {"runtime_s": true["runtime_s"] * noise, "power_w": true["power_w"] + 0 * noise}
        return Outcome(draws, np.full(len(jobs), 9.0))


@pytest.fixture(scope="module")
def world():
    return World(5)


@pytest.fixture(scope="module")
def jobs(world):
    return world.jobs(600)


def test_only_runs_that_had_ended_are_learnt_from(world, jobs):
    model = Oracle(world)
    result = backtest(jobs, model, Knob("nodes", [1, 8, 64]))
    assert model.seen.numpy("end_s").max() <= result.edge_s
    assert result.learnt == len(model.seen)
    assert result.learnt + result.unfinished + len(result.advice) == 600
    assert result.unfinished > 0


def test_with_the_truth_as_model_the_predicted_change_is_the_true_one(world, jobs):
    result = backtest(
        jobs, Oracle(world), Knob("nodes", [1, 8, 64]), Weighted({"energy_j": 1}), truth=world.truth
    )
    for q in ("runtime_s", "energy_j"):
        predicted, true = result.advice.totals[q].change[0], result.true[q].change[0]
        assert predicted == pytest.approx(true, abs=1e-9)
    assert result.true["energy_j"].change[0] < 0


def test_following_the_least_energy_can_only_save_energy_for_each_user(world, jobs):
    result = backtest(jobs, Oracle(world), Knob("nodes", [1, 8, 64]), Weighted({"energy_j": 1}))
    assert (result.by_user["energy_j_change"] <= 1e-12).all()
    assert result.by_user["jobs"].sum() == len(result.advice)
    assert result.by_user["changed"].sum() == result.advice.counts()["advised"]


def test_without_a_known_truth_none_is_claimed(world, jobs):
    assert backtest(jobs, Oracle(world), Knob("nodes", [1, 8])).true is None


def test_a_biased_model_is_marked_as_such(world, jobs):
    good = backtest(jobs, Oracle(world), Knob("nodes", [1, 8])).accuracy["runtime_s"]
    bad = backtest(jobs, Oracle(world, bias=1.5), Knob("nodes", [1, 8])).accuracy["runtime_s"]
    assert good.error < 0.08
    assert bad.error == pytest.approx(0.5, abs=0.08)
    assert good.coverage > 0.9
    assert bad.coverage < 0.1


@pytest.mark.parametrize(("bias", "kept"), [(1.0, True), (1.9, True), (3.0, False), (0.3, False)])
def test_a_total_far_from_what_was_measured_is_never_printed(world, jobs, bias, kept):
    """Totals of a thousand times the log's were printed without a word."""
    rule = Weighted({"energy_j": 1})
    result = backtest(jobs, Oracle(world, bias), Knob("nodes", [1, 8, 64]), rule)
    report = explain(result)
    assert ("runtime_s" in report.facts["totals"]) is kept is ("runtime_s" not in result.far_off)
    said = " ".join(report.sections[0].sentences)
    assert ("total of runtime is left out" in said) is not kept
    assert kept or result.far_off["runtime_s"] == pytest.approx(bias, rel=0.05)


def test_cut_off_runs_are_not_counted_as_errors():
    out = Outcome({"runtime_s": np.array([[90.0, 90.0], [110.0, 110.0]])})
    seen = table({"runtime_s": [100.0, 5.0], "censored": [False, True]})
    found = accuracy(out, seen, ["runtime_s"])["runtime_s"]
    assert (found.rows, found.error, found.coverage) == (1, 0.0, 1.0)


def test_the_recent_part_may_be_given_as_a_time(jobs):
    past, recent, _ = divided(jobs, "6h")
    assert recent.numpy("submit_s").min() > jobs.numpy("submit_s").max() - DAY / 4
    assert past.numpy("submit_s").max() <= jobs.numpy("submit_s").max() - DAY / 4


def test_a_split_without_a_past_says_so(jobs):
    with pytest.raises(DataError, match="before and after the split"):
        divided(jobs, "1000d")


class Sure(Oracle):
    """Says a fiftieth of the noise that there is, around twice the time."""

    def predict(self, jobs):
        out = super().predict(jobs)
        return Outcome({**out.draws, "runtime_s": 2 * out["runtime_s"]}, out.support)


@pytest.mark.parametrize(("model", "warned"), [(Sure, True), (Oracle, False)])
def test_intervals_that_do_not_hold_stand_before_the_advice(world, jobs, model, warned):
    result = backtest(jobs, model(world), Knob("nodes", [1, 8, 64]))
    report = explain(result)
    said = next(s for s in report.sections if s.title == "predicted").sentences[0]
    assert said.startswith("Do not follow this advice as it is") == warned
    assert report.facts["accuracy"]["runtime_s"]["far_below"] == warned
    first = with_accuracy(explain(result.advice), result.accuracy, 0.2).sections[0].sentences[0]
    assert first.startswith("Do not follow this advice as it is") == warned
