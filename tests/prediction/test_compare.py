"""Methods are marked by what they get right, on the same jobs, new users apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import table
from rheostat.errors import NotFitted
from rheostat.measurement.synthetic import World
from rheostat.prediction.baselines import Constant, LastTwo, UserNeighbours, baselines
from rheostat.prediction.compare import compare
from rheostat.prediction.surrogate.surrogate import Surrogate

PAST, RECENT = World(seed=4).jobs(1200).split_by_time(0.8)


class Oracle:
    """Knows the answer; its interval is exactly as wide as asked."""

    def __init__(self, answers: JobTable, factor: float) -> None:
        self.answers, self.factor = answers, factor

    def fit(self, jobs: JobTable) -> Oracle:
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        places = {j: i for i, j in enumerate(self.answers.frame["job_id"])}
        rows = self.answers.rows([places[j] for j in jobs.frame["job_id"]])
        spread = np.array([[1.0], [self.factor], [self.factor], [self.factor], [2.0]])
        return Outcome({q: rows.numpy(q) * spread for q in ("runtime_s", "power_w")})


def pick(rows, method: str, quantity: str, group: str = "all"):
    return next(r for r in rows if (r.method, r.quantity, r.group) == (method, quantity, group))


def test_an_oracle_gets_full_marks_and_a_factor_is_measured() -> None:
    rows = compare({"right": Oracle(RECENT, 1.0), "high": Oracle(RECENT, 1.25)}, PAST, RECENT)
    right, high = (pick(rows, m, "power_per_node_w").scores for m in ("right", "high"))
    assert right["mape"] == pytest.approx((0, 0, 0), abs=1e-12)
    assert right["r2_log"][0] == pytest.approx(1.0)
    assert right["coverage"] == (1.0, 1.0, 1.0)
    assert high["mape"][0] == pytest.approx(0.25)
    assert high["median_abs_log_error"] == pytest.approx((np.log(1.25),) * 3)


def test_the_surrogate_beats_every_baseline_and_power_per_node_is_harder() -> None:
    own = Surrogate(RandomForestRegressor(n_estimators=20, max_features=0.5, random_state=0))
    rows = compare({**baselines(), "forest": own}, PAST, RECENT)
    for quantity in ("runtime_s", "power_w", "power_per_node_w"):
        ours = pick(rows, "forest", quantity).scores["median_abs_log_error"]
        assert ours[1] <= ours[0] <= ours[2]
        for name in baselines():
            theirs = pick(rows, name, quantity).scores["median_abs_log_error"]
            assert ours[2] < theirs[1], (quantity, name)
    r2 = [pick(rows, "forest", q).scores["r2_log"][0] for q in ("power_w", "power_per_node_w")]
    assert r2[1] < r2[0]
    groups = {r.group: r.jobs for r in rows}
    assert groups["known users"] + groups["new users"] == groups["all"]


def test_a_single_guess_claims_no_coverage() -> None:
    rows = compare({"mean": Constant()}, PAST, RECENT)
    assert np.isnan(rows[0].scores["coverage"]).all()


def test_user_neighbours_find_the_run_that_was_asked_before() -> None:
    past = table(
        {"user": ["a"] * 12, "nodes": [1] * 6 + [8] * 6, "runtime_s": [80.0] * 6 + [10.0] * 6}
    )
    model = UserNeighbours(("runtime_s",)).fit(past)
    asked = table({"user": ["a", "a", "z"], "nodes": [1, 8, 8]})
    assert model.predict(asked).mean("runtime_s").tolist() == [80.0, 10.0, 45.0]


def test_an_unfitted_baseline_says_so() -> None:
    for model in (Constant(), LastTwo(), UserNeighbours()):
        with pytest.raises(NotFitted):
            model.predict(PAST)
