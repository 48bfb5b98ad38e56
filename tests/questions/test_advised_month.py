"""The simulated month with advice: closed forms on a machine of a few nodes."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Outcome, Weighted, table
from rheostat.core.report import Report
from rheostat.decision.decide import decide
from rheostat.errors import DataError
from rheostat.explanation.formats.text import render
from rheostat.questions.logs.advised_month import _ratios, advised_month, largest_use, month_section

JOBS = table(
    {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, 0.0, 10.0],
        "start_s": [0.0, 0.0, 10.0],
        "end_s": [100.0, 100.0, 60.0],
        "nodes": [2, 2, 1],
        "runtime_s": [100.0, 100.0, 50.0],
        "power_w": [400.0, 400.0, 200.0],
        "time_limit_s": [150.0, 300.0, 100.0],
    }
)


class Scaled:
    """Time falls with 1 / nodes, times an uncertain factor at 4 nodes; 200 W a node."""

    def __init__(self, factors=(1.0, 1.0)):
        self.factors = np.array(factors)[:, None]

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None]
        return Outcome({"runtime_s": 200.0 / n * np.where(n == 4, self.factors, 1.0),
                        "power_w": np.broadcast_to(200.0 * n, (2, n.shape[1]))})  # fmt: skip


def month(model, values, nodes, **rule):
    advice = decide(JOBS, model, Knob("nodes", values), Weighted({"runtime_s": 1}), **rule)
    return advised_month(JOBS, advice, model, nodes, draws=2)


def test_jobs_wait_for_each_other_in_both_months() -> None:
    """On 5 nodes all three run at once; on 4 nodes each as advised, one after the other."""
    found = month(Scaled(), [4], 5)
    assert (found.jobs, found.changed, found.too_large) == (3, 3, 0)
    assert found.without["mean_wait_s"] == 0
    assert found.without["peak_power_w"] == 1000
    assert found.without["energy_j"] == 400 * 100 * 2 + 200 * 50
    # 50 s, 50 s and, a quarter of 50 s, 12.5 s, each on 4 of 5 nodes
    assert found.advised["makespan_s"][0] == pytest.approx(112.5)
    assert found.advised["peak_power_w"][0] == 800
    assert found.advised["mean_wait_s"][0] == pytest.approx((0 + 50 + (100 - 10)) / 3)
    assert found.advised["energy_j"][0] == pytest.approx(found.without["energy_j"])
    assert found.change["node_hours"] == pytest.approx((0.0, 0.0, 0.0))


def test_differences_are_paired_draw_by_draw() -> None:
    found = month(Scaled((0.8, 1.2)), [4], 5)
    mean, low, high = found.change["node_hours"]
    assert mean == pytest.approx(0.0)
    assert (low, high) == pytest.approx((-0.18, 0.18))


def test_the_table_shows_words_with_units_and_a_change_in_per_cent() -> None:
    """The change was drawn a hundred times too large, and joules with eleven digits."""
    section = month_section(month(Scaled((0.8, 1.2)), [4], 5))
    rows = {row[0]: row[1:] for row in section.grid.rows}
    assert rows["energy"][:2] == ("90 kJ", "90 kJ [74 106]")
    assert rows["node-hours"][2] == pytest.approx((0.0, -0.18, 0.18))
    text = render(Report("", [section]), 100)
    assert "+18" in text
    assert "1800" not in text


def test_jobs_that_do_not_fit_stay_as_asked_and_are_told() -> None:
    found = month(Scaled(), [8], 5)
    assert (found.changed, found.too_large) == (0, 3)
    assert found.advised["makespan_s"][0] == found.without["makespan_s"]
    assert "3 are advised more nodes than the machine has" in month_section(found).sentences[1]
    with pytest.raises(DataError, match="--machine"):
        month(Scaled(), [4], 0)


def test_jobs_that_outlive_their_limit_as_advised_are_counted() -> None:
    model = Scaled()
    advice = decide(JOBS, model, Knob("nodes", [1]), Weighted({"power_w": 1}))
    found = advised_month(JOBS, advice, model, 5, draws=2)
    assert found.over_limit == 1  # 200 s where 150 s were asked for


def test_the_machine_is_as_large_as_was_ever_in_use() -> None:
    assert largest_use(JOBS) == 5
    assert largest_use(JOBS.select(["nodes", "submit_s"])) is None


class Apart:
    """Knows each setting's runtime within a factor of three, and nothing in common of two."""

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None]
        rng = np.random.default_rng(int(n[0, 0]))
        return Outcome({"runtime_s": 200.0 / n * np.exp(rng.normal(0.0, 1.0, (400, n.shape[1])))})


def test_a_forecast_unsure_at_both_settings_is_not_doubly_so_in_the_month():
    """The mean of the ratio of two such draws is e times the ratio of their means."""
    two, four = (table({"nodes": [n] * 3}) for n in (2, 4))
    drawn = _ratios(Apart(), two, four, 400)["runtime_s"]
    means = Apart().predict(four).mean("runtime_s") / Apart().predict(two).mean("runtime_s")
    assert drawn.mean(axis=0) == pytest.approx(means)
    assert np.log(drawn).std(axis=0) == pytest.approx(1.0, abs=0.1)  # of their ratio: 1.41
