"""The promises of a predictor hold for ours, and each check fails on a predictor that breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.measurement.synthetic import World
from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor
from rheostat.prediction.surrogate.embedding import AttentionEmbedding
from rheostat.prediction.surrogate.surrogate import Surrogate
from rheostat.prediction.surrogate.tabnet import TabNetRegressor
from rheostat.testing import predictors as promise

JOBS = World(seed=3).jobs(400)
SUBMIT = Moment.SUBMIT


def small(seed: int) -> Surrogate:
    return Surrogate(RandomForestRegressor(n_estimators=8, random_state=seed), seed=seed)


OWN = [
    pytest.param(Ridge(), id="ridge"),
    pytest.param("forest", id="forest"),
    pytest.param(XGBRegressor(n_estimators=40, max_depth=5, n_jobs=1), id="xgboost"),
    pytest.param(LGBMRegressor(n_estimators=40, verbosity=-1, n_jobs=1), id="lightgbm"),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", OWN)
def test_own_predictors_keep_every_promise(kind) -> None:
    promise.check_predictor(lambda seed: Surrogate(kind, seed=seed), JOBS)


QUICK = {"epochs": 4, "max_rows": 200}
DEEP = [
    pytest.param(TabNetRegressor(**QUICK), id="tabnet"),
    pytest.param(
        EmbeddedRegressor(AttentionEmbedding(**QUICK), RandomForestRegressor(8, random_state=0)),
        id="attention",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEEP)
def test_networks_keep_every_promise(kind) -> None:
    promise.check_predictor(lambda seed: Surrogate(kind, seed=seed), JOBS)


class ReturnsNothing(Surrogate):
    def fit(self, jobs: JobTable) -> None:
        super().fit(jobs)


class GlobalDice(Surrogate):
    rng = np.random.default_rng()

    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome({k: v * self.rng.uniform(0.9, 1.1) for k, v in out.draws.items()})


class ByPosition(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome({k: v * (1 + np.arange(v.shape[1])) for k, v in out.draws.items()})


class ByBatch(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome({k: v * len(jobs) for k, v in out.draws.items()})


class KnowsItsUsers(Surrogate):
    def fit(self, jobs: JobTable):
        self.seen = {u: i for i, u in enumerate(jobs.frame["user"].unique())}
        return super().fit(jobs)

    def predict(self, jobs: JobTable) -> Outcome:
        assert all(self.seen[u] >= 0 for u in jobs.frame["user"])
        return super().predict(jobs)


class Linear(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome({k: v - np.nanquantile(v, 0.9) for k, v in out.draws.items()})


class Peeks(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        if "runtime_s" not in jobs.columns:
            return out
        told = 1.0 + 1e-9 * jobs.numpy("runtime_s")
        return Outcome({k: v * told for k, v in out.draws.items()})


class LearnsFromTheEnd(Surrogate):
    def fit(self, jobs: JobTable):
        self.energy = float(np.nanmean(jobs.numpy("energy_j")))
        return super().fit(jobs)

    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome({k: v * (1 + 1e-12 * self.energy) for k, v in out.draws.items()})


def _stretched(out: Outcome, power: float) -> Outcome:
    middle = {k: np.median(v, axis=0) for k, v in out.draws.items()}
    return Outcome({k: middle[k] * (v / middle[k]) ** power for k, v in out.draws.items()})


class TooSure(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome(
            {k: np.median(v, axis=0) * (v / v.mean(axis=0)) ** 0.3 for k, v in out.draws.items()}
        )


class TooVague(Surrogate):
    def predict(self, jobs: JobTable) -> Outcome:
        out = super().predict(jobs)
        return Outcome(
            {k: np.median(v, axis=0) * (v / v.mean(axis=0)) ** 3 for k, v in out.draws.items()}
        )


BROKEN = [
    (ReturnsNothing, lambda m: promise.returns_itself(m, JOBS), "return self"),
    (GlobalDice, lambda m: promise.repeats_itself(m(0).fit(JOBS), m, JOBS), "same seed"),
    (ByPosition, lambda m: promise.forgets_row_order(m(0).fit(JOBS), JOBS), "shuffled"),
    (ByBatch, lambda m: promise.forgets_batch_size(m(0).fit(JOBS), JOBS), "alone"),
    (Linear, lambda m: promise.stays_physical(m(0).fit(JOBS), JOBS), "not positive"),
    (
        Peeks,
        lambda m: promise.ignores_the_future_in_questions(m(0).fit(JOBS), JOBS, SUBMIT),
        "poisoned",
    ),
    (
        LearnsFromTheEnd,
        lambda m: promise.ignores_the_future_in_lessons(m(0).fit(JOBS), m, JOBS, SUBMIT),
        "past poisoned",
    ),
    (TooSure, lambda m: promise.covers_the_truth(m, promise.noisy_site), "intervals hold"),
    (TooVague, lambda m: promise.covers_the_truth(m, promise.noisy_site), "intervals hold"),
]


@pytest.mark.parametrize(("broken", "check", "words"), BROKEN, ids=[b[0].__name__ for b in BROKEN])
def test_each_check_fails_on_a_predictor_that_breaks_it(broken, check, words: str) -> None:
    def make(seed: int):
        return broken(RandomForestRegressor(n_estimators=4, random_state=seed), seed=seed)

    with pytest.raises(AssertionError, match=words):
        check(make)


def test_unseen_names_that_crash_are_found() -> None:
    with pytest.raises(KeyError, match="never seen"):
        promise.bears_unseen_names(KnowsItsUsers(Ridge()).fit(JOBS), JOBS)
