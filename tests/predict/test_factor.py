"""Completing a row under caps: closed forms, calibration, targets on the measured tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.errors import DataError, NotFitted
from rheostat.measure.synthetic.capped import capped_runs
from rheostat.predict.factor.choose import keep, next_try
from rheostat.predict.factor.classic import LowRank, Neighbours, TrainMean
from rheostat.predict.factor.kernels import additive, bases
from rheostat.predict.factor.mixture import CapMixture, Completion
from rheostat.predict.factor.table import CapTable, cap_table


@pytest.fixture(scope="module")
def known() -> CapTable:
    return cap_table(capped_runs(30, noise=0.01, seed=5))


@pytest.fixture(scope="module")
def model(known: CapTable) -> CapMixture:
    return CapMixture().fit(known.only(range(18)))


def test_speed_is_relative_to_the_default(known: CapTable) -> None:
    assert known.caps_w[known.default].tolist() == [200.0, 250.0]
    assert known.speed[:, known.default] == pytest.approx(1.0)
    assert known.speed.shape == (30, 77)
    assert known.saved_w.max() == 160.0


def test_an_application_without_its_default_is_named() -> None:
    runs = capped_runs(2)
    gone = runs.rows(
        ~((pl.col("app") == "app01") & (pl.col("cpu_cap_w") == 200) & (pl.col("gpu_cap_w") == 250))
    )
    with pytest.raises(DataError, match="app01 has no run at the default, cpu_cap_w=200"):
        cap_table(gone)


def test_bases_are_covariances_that_vanish_at_the_default() -> None:
    depth = np.random.default_rng(0).random((12, 2))
    depth[0] = 0.0
    for basis in bases(depth):
        assert np.linalg.eigvalsh(basis).min() > -1e-10
        assert basis[0] == pytest.approx(0.0)


def test_an_additive_curve_is_taken_apart_exactly(known: CapTable) -> None:
    depth = known.depth
    curve = -0.2 * depth[:, 0] ** 2 - 0.1 * depth[:, 1]
    parts = additive(curve, depth)
    assert parts[0] == pytest.approx(-0.2 * depth[:, 0] ** 2, abs=1e-9)
    assert parts[1] == pytest.approx(-0.1 * depth[:, 1], abs=1e-9)


def test_the_posterior_is_the_textbook_one(known: CapTable, model: CapMixture) -> None:
    """One component, written out: joint normal of default-relative runs, conditioned."""
    tried, row = [3, 40], known.speed[20]
    found = model.complete(tried, row[tried])
    c, n = 7, known.caps_w.shape[0]
    s2, k = model.noise_[c] ** 2, model.covariance_[c]
    runs = k + s2 * (np.eye(n) + 1.0)
    gain = runs[:, tried] @ np.linalg.inv(runs[np.ix_(tried, tried)])
    mean = model.mean_[c] + gain @ (np.log(row[tried]) - model.mean_[c][tried])
    variance = np.diag(runs - gain @ runs[tried])
    others = np.setdiff1d(np.arange(n), [*tried, known.default])
    assert model.spread_ >= 1.0
    assert found.mean[c][others] == pytest.approx(mean[others], abs=1e-6)
    spread = found.sd[c][others] / model.spread_
    assert spread**2 == pytest.approx(variance[others], abs=1e-7)
    assert found.weight.sum() == pytest.approx(1.0)


def test_bounds_are_reached_as_often_as_they_say(known: CapTable, model: CapMixture) -> None:
    held = []
    for row in known.speed[18:]:
        tried = [0, 10, 66]
        found = model.complete(tried, row[tried])
        others = np.setdiff1d(np.arange(77), [*tried, known.default])
        held.append((row >= found.bound(0.9))[others].mean())
    assert 0.8 <= np.mean(held) <= 1.0


def test_bound_and_probability_agree(known: CapTable, model: CapMixture) -> None:
    found = model.complete([0], known.speed[20, [0]])
    bound = found.bound(0.9)
    other = 30
    assert found.reaches(float(bound[other]))[other] == pytest.approx(0.9, abs=1e-3)


def test_the_first_try_is_low_and_the_default_is_never_asked_for(model, known) -> None:
    nothing = model.complete([known.default], np.ones(1))
    first = next_try(model, nothing, known.saved_w, 0.05, 0.9)
    assert known.depth[first].sum() > 0.8  # teaches most where curves have had room to fall
    tried = [known.default]
    for _ in range(6):
        seen = model.complete(tried, known.speed[20, tried])
        tried.append(next_try(model, seen, known.saved_w, 0.05, 0.9))
    assert len(set(tried)) == 7


def test_what_is_kept_is_safe_or_the_default() -> None:
    never = Completion(np.ones(1), np.full((1, 3), -1.0), np.full((1, 3), 0.01), ())
    kept = keep(never, np.array([50.0, 20.0, 0.0]), 0.05, 0.9)
    assert (kept.setting, kept.saved_w) == (2, 0.0)


def test_more_tries_lose_less_and_violate_seldom(known: CapTable, model: CapMixture) -> None:
    saved = {}
    for n in (1, 3, 6):
        kept = []
        for row in known.speed[18:]:
            tried = [known.default]
            while len(tried) <= n:
                seen = model.complete(tried, row[tried])
                tried.append(next_try(model, seen, known.saved_w, 0.05, 0.9))
            k = keep(model.complete(tried, row[tried]), known.saved_w, 0.05, 0.9)
            kept.append((k.saved_w, row[k.setting] < 0.95))
        saved[n] = np.mean(kept, axis=0)
    assert saved[6][0] >= saved[1][0]
    assert saved[6][1] <= 2 / 12


def test_one_cap_alone_works() -> None:
    runs = capped_runs(8, cpu_caps=(200.0,), noise=0.005, seed=2)
    table = cap_table(runs.select(["app", "gpu_cap_w", "runtime_s"]))
    model = CapMixture().fit(table.only(range(7)))
    found = model.complete([0], table.speed[7, [0]])
    assert np.abs(found.speed() / table.speed[7] - 1).mean() < 0.05


def test_rivals_restore_what_they_can(known: CapTable) -> None:
    rank_one = np.outer([1.0, 2.0, 3.0, 1.5], np.linspace(0.5, 1.0, 6))
    table = CapTable(tuple("abcd"), ("cap_w",), np.arange(6.0)[:, None], rank_one)
    filled = LowRank(1).fit(table.only([0, 1, 2])).fill([0, 5], rank_one[3, [0, 5]])
    assert filled == pytest.approx(rank_one[3], abs=0.02)
    assert TrainMean().fit(table).fill([], np.zeros(0)) == pytest.approx(rank_one.mean(axis=0))
    twin = Neighbours(1).fit(table).fill([0], rank_one[2, [0]])
    assert twin == pytest.approx(rank_one[2])


def test_unfitted_says_so() -> None:
    with pytest.raises(NotFitted):
        CapMixture().complete([0], np.ones(1))


def test_open_networks_learn_and_repeat_themselves(known: CapTable) -> None:
    pytest.importorskip("torch")
    from rheostat.predict.factor.neural import Autoencoder, Collaborative, CounterSpeed

    small = known.only(range(6))
    row = known.speed[20]
    for make in (lambda: Collaborative(epochs=1, seed=1), lambda: Autoencoder(epochs=8, seed=1)):
        one, two = (make().fit(small).fill([0, 5, 40], row[[0, 5, 40]]) for _ in range(2))
        assert one.tobytes() == two.tobytes()
        assert np.isfinite(one).all()
    from dataclasses import replace

    counted = replace(small, counters=small.speed[..., None], counter_names=("speed",))
    heard = CounterSpeed(epochs=8).fit(counted).predict(small.caps_w, small.speed[0][:, None])
    assert np.abs(heard - small.speed[0]).mean() < 0.05  # the counter is the answer
