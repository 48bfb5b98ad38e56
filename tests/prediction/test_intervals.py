"""Intervals hold what they say: in closed form, and on later jobs of generated sites."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from rheostat.measurement.synthetic import World
from rheostat.prediction.intervals import calibrate, group_correlation, joint_marginals, row_hash
from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor
from rheostat.prediction.surrogate.embedding import AttentionEmbedding, TabNetEmbedding
from rheostat.prediction.surrogate.surrogate import Surrogate
from rheostat.prediction.surrogate.tabnet import TabNetRegressor


def scores(m: int = 4000, r: float = -0.8) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.multivariate_normal([0, 0], [[1, r], [r, 1]], m)


def test_draws_have_the_quantiles_and_the_correlation_of_the_errors() -> None:
    z = scores()
    draws = joint_marginals(z, 64)
    for t in range(2):
        assert np.quantile(draws[t], [0.05, 0.5, 0.95]) == pytest.approx(
            [-1.645, 0, 1.645], abs=0.1
        )
    assert np.corrcoef(draws)[0, 1] == pytest.approx(-0.8, abs=0.08)


def test_the_spread_of_a_sum_depends_on_errors_occurring_together() -> None:
    """Log energy = log runtime + log power: opposite errors cancel, as they do in the data."""
    z = scores()
    total = joint_marginals(z, 64).sum(axis=0)
    assert np.std(total) == pytest.approx(np.std(z.sum(axis=1)), rel=0.2)


def test_correlation_inside_groups_is_recovered() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 10)
    own, common = rng.normal(size=(2000, 2)), rng.normal(size=(200, 2))[groups]
    for rho in (0.0, 0.5, 0.9):
        z = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
        assert group_correlation(z, groups) == pytest.approx(rho, abs=0.08)


def test_rows_of_a_group_err_together_and_have_the_same_marginal() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 10)
    z = 0.8 * rng.normal(size=(100, 1))[groups] + 0.6 * rng.normal(size=(1000, 1))
    calibration = calibrate(z, groups, rng=rng)
    x = rng.normal(size=(40, 3))
    asked = np.repeat([3, 4], 20)
    draws = calibration.draws(np.zeros((40, 1)), x, asked, np.zeros(40, dtype=bool))[0]
    assert np.array_equal(np.sort(draws, axis=0), np.tile(np.sort(draws[:, :1], axis=0), 40))
    c = np.corrcoef(draws.T)
    same, other = c[:20, :20][~np.eye(20, dtype=bool)].mean(), c[:20, 20:].mean()
    assert same == pytest.approx(0.64, abs=0.15)
    assert abs(other) < 0.25


def test_a_rows_draws_depend_on_that_row_alone() -> None:
    x = np.array([[1.0, np.nan], [2.0, 0.0], [-0.0, 3.0]])
    assert np.array_equal(row_hash(x)[1:], row_hash(x[1:]))
    assert len(set(row_hash(np.random.default_rng(0).normal(size=(500, 2))))) == 500


def test_newcomers_have_the_scores_of_hidden_groups() -> None:
    rng = np.random.default_rng(0)
    wide = 5 * rng.normal(size=(300, 1))
    calibration = calibrate(
        rng.normal(size=(300, 1)), np.arange(300), new_group_residuals=wide, rng=rng
    )
    new = np.array([False, True])
    draws = calibration.draws(np.zeros((2, 1)), np.ones((2, 1)), np.zeros(2, dtype=int), new)[0]
    assert np.std(draws[:, 1]) > 4 * np.std(draws[:, 0])


TREES = RandomForestRegressor(n_estimators=20, min_samples_leaf=2, max_features=0.5, random_state=0)
QUICK = {"epochs": 8}
FORMS = {
    "forest": lambda: TREES,
    "xgboost": lambda: "xgboost",
    "lightgbm": lambda: "lightgbm",
    "ridge": Ridge,
    "tabnet": lambda: TabNetRegressor(**QUICK),
    "forest on tabnet": lambda: EmbeddedRegressor(TabNetEmbedding(**QUICK), TREES),
    "forest on attention": lambda: EmbeddedRegressor(AttentionEmbedding(**QUICK), TREES),
}


def coverage(form: str, seed: int) -> list[float]:
    past, recent = World(seed).jobs(2000).split_by_time(0.8)
    recent = recent.rows(~recent.frame["censored"].to_numpy())
    out = Surrogate(FORMS[form]()).fit(past).predict(recent)
    held = []
    for name in ("runtime_s", "power_w"):
        low, high = out.interval(name, 0.9)
        y = recent.numpy(name)
        held.append(((y >= low) & (y <= high))[~out.abstained].mean())
    return held


DEEP = {form for form in FORMS if "tabnet" in form or "attention" in form}


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(set(FORMS) - DEEP))
def test_90_percent_intervals_cover_later_jobs(form: str) -> None:
    """The next fifth of the trace, with its new users, projects and growing problems."""
    found = np.array([coverage(form, seed) for seed in range(5)])
    assert (found.mean(axis=0) >= 0.86).all(), found
    assert (found.mean(axis=0) <= 0.95).all(), found
    assert found.min() > 0.75, found


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(DEEP))
def test_90_percent_intervals_of_networks_cover_later_jobs(form: str) -> None:
    """Two fits of a network differ more than two forests do: the promise holds less exactly."""
    found = np.array([coverage(form, seed) for seed in range(2)])
    assert (found.mean(axis=0) >= 0.78).all(), found
    assert (found.mean(axis=0) <= 0.995).all(), found
