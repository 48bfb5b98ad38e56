"""The serving law's Gaussian against one of dense matrices, and its parts against stand-ins."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.prediction.serving_law import ServingLaw, predictor
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.kernel_medians import medians
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, jacobian, step
from rheostat.prediction.serving_law.measured_range import outside
from rheostat.prediction.serving_law.measured_rows import TARGETS, measured_rows
from rheostat.prediction.serving_law.part_weights import PartWeights, groups_of
from rheostat.prediction.serving_law.sharing import (
    PARAMETERS,
    RESIDUALS,
    TOGETHER,
    levels,
)
from tests.prediction.test_serving_law import runs
from tests.prediction.test_serving_law_parts import MIXED, configurations, several

KERNELS = {"H100": {"bandwidth": 0.7, "compute": 0.45}, "L40S": {"compute": 0.3}}
ASKED = several(app=["a", "new", "c"], gpu_model=["H100", "B200", "A100"], gpus=[1, 4, 8],
                params=[8e9, 4e10, 7e10], active_params=[8e9, 5e9, 7e10],
                batch_cap=[16, 64, 200])  # fmt: skip


def prior(a: Configurations, b: Configurations, of_a, of_b, *, residual: bool) -> np.ndarray:
    """Covariance of both rows' logarithms, pair by pair and quantity by quantity."""
    shared = levels(a, b)
    n, m = len(a), len(b)
    made = np.zeros((3 * n, 3 * m))
    for k, name in enumerate(NAMES):
        own = sum(s**2 * shared[level] for level, s in PARAMETERS[name].items())
        made += np.outer(of_a[:, k], of_b[:, k]) * np.tile(own, (3, 3))
    for i in range(3) if residual else ():
        for j in range(3):
            own = sum(s * RESIDUALS[j][level] * shared[level] for level, s in RESIDUALS[i].items())
            made[i * n : (i + 1) * n, j * m : (j + 1) * m] += TOGETHER[i, j] * own
    return made


class Dense:
    """What a fitted law says, from its most likely parameters at the runs."""

    def __init__(self, law: ServingLaw, jobs, asked: Configurations) -> None:
        self.seen = Configurations.of(jobs)
        self.logs = measured_rows(jobs)[1].T.ravel()
        self.rows = np.flatnonzero(np.isfinite(self.logs))
        kernels = law.kernels or {}
        self.at = law.log_parameters_of(self.seen)
        self.slopes = jacobian(self.at, self.seen)
        noise = (0.02 if law.residual else 0.1) ** 2
        every = prior(self.seen, self.seen, self.slopes, self.slopes, residual=law.residual)
        self.spread = (every + noise * np.eye(len(every)))[np.ix_(self.rows, self.rows)]
        moved = np.sum(np.tile(self.at - medians(kernels, self.seen), (3, 1)) * self.slopes, axis=1)
        # on the tangent: what was measured over the prior's medians
        self.left = (self.logs - np.concatenate(step(self.at, self.seen)) + moved)[self.rows]
        self.weights = np.linalg.solve(self.spread, self.left)
        shared = levels(self.seen, asked)
        own = self.slopes[self.rows]
        pulled = np.zeros((len(asked), len(NAMES)))
        for k, name in enumerate(NAMES):
            cov = sum(s**2 * shared[level] for level, s in PARAMETERS[name].items())
            pulled[:, k] = np.tile(cov, (3, 1))[self.rows].T @ (own[:, k] * self.weights)
        self.parameters = medians(kernels, asked) + pulled
        self.of_asked = jacobian(self.parameters, asked)
        cross = prior(self.seen, asked, self.slopes, self.of_asked, residual=law.residual)[
            self.rows
        ]
        alone = prior(self.seen, asked, self.slopes * 0, self.of_asked * 0, residual=law.residual)
        whole = prior(asked, asked, self.of_asked, self.of_asked, residual=law.residual)
        self.covariance = whole - cross.T @ np.linalg.solve(self.spread, cross)
        self.mean = np.concatenate(step(self.parameters, asked))
        self.mean += alone[self.rows].T @ self.weights


@pytest.mark.parametrize("residual", [True, False])
def test_answers_are_those_of_the_gaussian_around_the_most_likely_parameters(
    residual, monkeypatch
) -> None:
    monkeypatch.setattr(predictor, "CLOSE", 1e-12)
    jobs, asked = MIXED, Configurations.of(ASKED)
    law = ServingLaw(residual=residual, kernels=KERNELS).fit(jobs)
    dense = Dense(law, jobs, asked)
    assert law.log_parameters_of(asked) == pytest.approx(dense.parameters, abs=1e-4)
    law.evidence_ = None  # the law alone
    mean, spread = law.posterior(asked)
    assert mean == pytest.approx(dense.mean, abs=1e-4)
    assert spread == pytest.approx(dense.covariance, abs=1e-4, rel=1e-3)
    part, own = law.posterior(asked, ["power_w", "itl_s"])
    rows = [6, 7, 8, 0, 1, 2]
    assert part == pytest.approx(mean[rows])
    assert own == pytest.approx(spread[np.ix_(rows, rows)])
    common = np.array([PARAMETERS[n]["every"] ** 2 for n in NAMES])
    cross = (dense.slopes * common)[dense.rows]
    left = np.diag(common) - cross.T @ np.linalg.solve(dense.spread, cross)
    assert law.common_covariance() == pytest.approx(left, abs=1e-4)
    moved = MEDIAN + cross.T @ dense.weights
    assert law.log_parameters_ == pytest.approx(moved, abs=1e-4)


@pytest.mark.parametrize("residual", [True, False])
def test_what_is_left_out_is_predicted_from_the_other_groups(residual, monkeypatch) -> None:
    monkeypatch.setattr(predictor, "CLOSE", 1e-12)
    law = ServingLaw(residual=residual).fit(MIXED)
    dense = Dense(law, MIXED, law.seen_)
    groups = np.array([0, 0, 1, 2, 2, 3, 1, 3])
    left = law.left_out(groups)
    own = np.tile(groups, 3)[dense.rows]
    for g in range(4):
        out = own == g
        cross = dense.spread[np.ix_(~out, out)]
        gain = np.linalg.solve(dense.spread[np.ix_(~out, ~out)], cross)
        error = dense.left[out] - gain.T @ dense.left[~out]
        wide = np.sqrt(np.diag(dense.spread[np.ix_(out, out)] - cross.T @ gain))
        assert left.error.ravel()[dense.rows[out]] == pytest.approx(error, abs=1e-4)
        assert left.deviation.ravel()[dense.rows[out]] == pytest.approx(wide, rel=1e-4)
    unknown = np.setdiff1d(np.arange(24), dense.rows)
    assert np.isnan(left.error.ravel()[unknown]).all()
    assert np.isnan(left.deviation.ravel()[unknown]).all()
    assert left.error.shape == (3, 8)


class Said:
    """A learned part that says one thing."""

    def __init__(self, mean: float, variance: float) -> None:
        self.mean, self.variance = mean, variance

    def posterior(self, asked):
        n = len(asked)
        return np.full(n, self.mean), self.variance * (np.eye(n) + 0.25)


def test_an_answer_is_the_law_and_the_learned_part_by_its_share_as_wide_as_measured() -> None:
    """On a type of GPU that was measured: elsewhere the law answers alone."""
    law = ServingLaw().fit(MIXED)
    asked = configurations(gpu_model=["H100", "L40S"])
    law.evidence_ = None
    mean, spread = law.posterior(asked)
    share, width = np.array([0.25, 0.0, 0.5]), np.array([2.0, 0.5, 3.0])
    law.evidence_ = PartWeights(share, width, np.ones((3, 2)), 12)
    law.learned_ = [Said(-3.0, 0.2), Said(9.0, 9.0), Said(6.0, 0.7)]
    made, wide = law.posterior(asked)
    s = np.array([0.25, 0, 0, 0, 0.5, 0])
    other = np.array([-3.0, -3.0, mean[2], mean[3], 6.0, 6.0])
    assert made == pytest.approx((1 - s) * mean + s * other)
    beside = np.zeros((6, 6))
    beside[:2, :2], beside[4:, 4:] = (v * (np.eye(2) + 0.25) for v in (0.2, 0.7))
    for i in range(6):
        for j in range(6):
            a = [np.sqrt(s[x] * (1 - s[x])) * (mean[x] - other[x]) for x in (i, j)]
            both = np.sqrt((1 - s[i]) * (1 - s[j])) * spread[i, j] + a[0] * a[1]
            both += np.sqrt(s[i] * s[j]) * beside[i, j]
            assert wide[i, j] == pytest.approx(width[i // 2] * width[j // 2] * both)
    power, _ = law.posterior(asked, ["power_w"])
    assert power == pytest.approx(made[4:])
    law.learned_ = [None, None, None]  # measured too seldom: nothing beside the law
    assert law.posterior(asked)[0] == pytest.approx(mean)


def test_draws_have_the_mean_and_covariance_of_their_row_and_power_is_below_the_cap() -> None:
    law = ServingLaw(n_draws=7, seed=4).fit(MIXED)
    said = law.predict(MIXED)
    mean, spread = law.posterior(Configurations.of(MIXED))
    z = np.random.default_rng(4).standard_normal((7, 3))
    caps = Configurations.of(MIXED).cap_w * Configurations.of(MIXED).gpus
    for i in range(8):
        own = spread[i::8, i::8]
        draws = np.exp(mean[i::8] + z @ np.linalg.cholesky(own + 1e-12 * np.eye(3)).T)
        draws[:, 2] = np.minimum(draws[:, 2], caps[i])
        for q, name in enumerate(("itl_s", "energy_per_token_j", "power_w")):
            assert said.draws[name][:, i] == pytest.approx(draws[:, q])
    none = MIXED.rows([])
    assert law.predict(none).draws["power_w"].shape == (7, 0)


def test_a_law_has_two_hundred_draws_and_what_it_leaves_over_is_learned_unless_asked() -> None:
    law = ServingLaw()
    assert (law.residual, law.kernels, law.n_draws, law.seed) == (True, None, 200, 0)
    own = ServingLaw(residual=False, kernels=KERNELS, n_draws=3, seed=2)
    assert (own.residual, own.kernels, own.n_draws, own.seed) == (False, KERNELS, 3, 2)
    assert (predictor.NOISE, predictor.SCATTER, predictor.CLOSE) == (0.02, 0.1, 0.002)
    assert (predictor.MOST_ROWS, predictor.BLOCK) == (800, 100)
    assert law.fit(MIXED) is law
    assert law.configurations_ == 8


def test_kernels_that_say_what_bandwidth_is_reached_cover_a_type_of_gpu_and_no_others() -> None:
    asked = configurations(gpu_model=["H100", "L40S", "V100"], params=[4e10] * 3)
    covered = {"L40S": {"bandwidth": 0.8}, "V100": {"compute": 0.3}}
    seen = configurations(gpu_model=["H100"])
    assert outside(seen, asked, ["L40S"])[0].tolist() == [False, False, True]
    jobs = several(gpu_model=["H100"], energy_per_token_j=[1.0])
    law = ServingLaw(kernels=covered).fit(jobs)
    said = law.predict(several(gpu_model=["H100", "L40S", "V100"]))
    assert said.abstained.tolist() == [False, False, True]


def test_the_learned_part_is_asked_from_twelve_groups_on_and_twelve_figures(monkeypatch) -> None:
    jobs = runs(12, app=[f"m{i}" for i in range(12)])
    assert len(set(groups_of(Configurations.of(jobs)))) == 12
    law = ServingLaw().fit(jobs)
    assert all(part is not None for part in law.learned_)
    assert law.evidence_.held.shape == (3, 2)
    assert np.isfinite(law.evidence_.held).all()
    few = ServingLaw().fit(jobs.rows(np.arange(11)))
    assert few.learned_ == [None] * 3
    assert (few.evidence_.groups, few.evidence_.share.tolist()) == (11, [0.0] * 3)
    assert ServingLaw(residual=False).fit(jobs).learned_ == [None] * 3
    taken = []
    monkeypatch.setattr(predictor, "LogGaussian", lambda seen, logs: taken.append(logs) or "part")
    seen = SimpleNamespace()
    assert predictor._learned(seen, np.r_[np.ones(12), np.nan]) == "part"
    assert predictor._learned(seen, np.r_[np.ones(11), np.nan]) is None


@pytest.mark.parametrize(("seed", "noise"), [(0, 0.5), (1, 0.5), (2, 0.5), (1, 1.0)])
def test_the_parameters_are_where_no_move_is_likelier(seed, noise, monkeypatch) -> None:
    """Of runs that no parameters explain, so that whole steps go too far: the slope there is 0."""
    monkeypatch.setattr(predictor, "CLOSE", 1e-12)
    monkeypatch.setattr(predictor, "STEPS", 300)
    rng, clean = np.random.default_rng(seed), runs(8, seed=seed)
    jobs = table(clean.frame.with_columns(
        pl.col(c) * pl.Series(np.exp(rng.normal(0, noise, 8))) for c in TARGETS
    ))  # fmt: skip
    law, logs = ServingLaw().fit(jobs), measured_rows(jobs)[1].T.ravel()
    none = np.zeros((24, len(NAMES)))
    alone = prior(law.seen_, law.seen_, none, none, residual=True) + 0.02**2 * np.eye(24)
    at = law.log_parameters_of(law.seen_)
    weights = np.linalg.solve(alone, logs - np.concatenate(step(at, law.seen_)))
    assert law.weights_ == pytest.approx(weights, rel=1e-6, abs=1e-6 * np.abs(weights).max())
    pull = np.sum((jacobian(at, law.seen_) * weights[:, None]).reshape(3, 8, -1), axis=0)
    assert law.pull_ == pytest.approx(pull, abs=1e-4 * np.abs(pull).max())


@pytest.mark.parametrize("seed", range(6))
def test_a_step_is_halved_while_that_is_likelier(seed, monkeypatch) -> None:
    """The first step from the prior's medians, along the most likely move on the tangent there."""
    monkeypatch.setattr(predictor, "STEPS", 1)
    rng, clean = np.random.default_rng(seed), runs(8, seed=seed)
    jobs = table(clean.frame.with_columns(
        pl.col(c) * pl.Series(np.exp(rng.normal(0, 2.0, 8))) for c in TARGETS
    ))  # fmt: skip
    law, logs = ServingLaw().fit(jobs), measured_rows(jobs)[1].T.ravel()
    seen, none, shared = law.seen_, np.zeros((24, len(NAMES))), levels(law.seen_, law.seen_)
    start = np.tile(MEDIAN, (8, 1))
    alone = prior(seen, seen, none, none, residual=True) + 0.02**2 * np.eye(24)
    slopes = jacobian(start, seen)
    spread = prior(seen, seen, slopes, slopes, residual=True) + 0.02**2 * np.eye(24)
    weights = np.linalg.solve(spread, logs - np.concatenate(step(start, seen)))
    whole = np.sum((slopes * weights[:, None]).reshape(3, 8, -1), axis=0)

    def unlikely(share: float) -> float:
        moved = np.stack([
            sum(s**2 * shared[level] for level, s in PARAMETERS[name].items()) @ whole[:, k]
            for k, name in enumerate(NAMES)
        ], axis=1) * share  # fmt: skip
        left = logs - np.concatenate(step(start + moved, seen))
        return float(np.sum(share * whole * moved) + left @ np.linalg.solve(alone, left)) / 2

    now, tried = unlikely(0.0), [unlikely(0.5**i) for i in range(10)]
    best = next(i for i in range(10) if tried[i] < min(now, *tried[i + 1 : i + 2]))
    assert law.pull_ == pytest.approx(0.5**best * whole, rel=1e-6)
