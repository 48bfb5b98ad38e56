"""The sample has the wanted size, keeps averages unbiased, and never starves an easy row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import DataError
from rheostat.measurement.synthetic import World
from rheostat.prediction.surrogate.loss_sampling import (
    LossProportional,
    Uniform,
    difficulty,
    draw,
    keep_probabilities,
    wrong_chance,
)
from rheostat.prediction.surrogate.surrogate import Surrogate

losses = st.lists(st.just(0.0) | st.floats(1e-2, 1e6), min_size=2, max_size=60).map(np.array)


@given(losses, st.floats(0.1, 1.0), st.floats(0.0, 1.0))
def test_probabilities_sum_to_the_wanted_size_and_respect_the_least(loss, fraction, share) -> None:
    wanted, p_min = fraction * len(loss), share * fraction
    p = keep_probabilities(loss, wanted, p_min)
    assert (p <= 1).all()
    assert (p >= p_min - 1e-12).all()
    reachable = np.where(loss > 0, 1.0, p_min).sum()
    if loss.any() and reachable >= wanted:
        assert p.sum() == pytest.approx(wanted, rel=1e-6)


@given(losses)
def test_a_harder_row_is_never_less_likely(loss) -> None:
    p = keep_probabilities(loss, 0.4 * len(loss), 0.05)
    assert (np.diff(p[np.argsort(loss, kind="stable")]) >= -1e-12).all()


def test_the_weighted_mean_is_unbiased() -> None:
    rng = np.random.default_rng(0)
    y = rng.lognormal(size=500)
    p = keep_probabilities(y, 100, 0.05)
    weighted, plain = [], []
    for _ in range(400):
        kept, w = draw(p, rng, weights=True)
        weighted.append((w * y[kept]).sum() / len(y))
        plain.append(y[kept].mean())
    spread = np.std(weighted) / np.sqrt(len(weighted))
    assert abs(np.mean(weighted) - y.mean()) < 4 * spread
    assert abs(np.mean(plain) - y.mean()) > 10 * spread


def test_out_of_fold_difficulty_finds_the_noisy_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(400, 2))
    noisy = x[:, 0] > 0.7
    y = x[:, :1] + np.where(noisy, 1.0, 0.02)[:, None] * rng.normal(size=(400, 2))
    loss = difficulty(x, y, rng)
    assert loss.mean() == pytest.approx(1.0)
    assert loss[noisy].mean() > 4 * loss[~noisy].mean()
    p = LossProportional(0.3).chances(x, y, rng)
    assert p[noisy].mean() > 2 * p[~noisy].mean()
    assert p.min() >= 0.2 * 0.3 - 1e-12


def test_soft_error_of_classes() -> None:
    assert wrong_chance([1.0, 0.25]).tolist() == [0.0, 0.75]


def test_uniform_is_uniform_and_a_fraction_must_be_one() -> None:
    rng = np.random.default_rng(0)
    assert (Uniform(0.25).chances(np.zeros((8, 1)), np.zeros((8, 1)), rng) == 0.25).all()
    with pytest.raises(DataError, match="0 < fraction <= 1"):
        Uniform(1.5).chances(np.zeros((8, 1)), np.zeros((8, 1)), rng)


@pytest.mark.parametrize(
    "sample", [LossProportional(0.5), LossProportional(0.5, weights=False), Uniform(0.5)]
)
def test_a_surrogate_learns_from_a_sample(sample) -> None:
    past, recent = World(seed=2).jobs(600).split_by_time(0.8)
    truth = recent.numpy("power_w")
    out = Surrogate("forest", sample=sample).fit(past).predict(recent)
    error = np.abs(np.log(out.mean("power_w") / truth))
    assert np.nanmedian(error) < 0.3
