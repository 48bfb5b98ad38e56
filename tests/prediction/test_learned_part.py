"""The Gaussian process beside the serving law: kernel pair by pair, likelihood, slopes, answers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import multivariate_normal

from rheostat import table
from rheostat.prediction.serving_law import learned_part
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.learned_part import (
    NAMES,
    NUMBERS,
    Columns,
    LogGaussian,
    PairwiseColumns,
)


def kernel(one: Columns, two: Columns, hyper: np.ndarray) -> np.ndarray:
    """k(i, j) as the module writes it, pair by pair."""
    d = one.numbers.shape[1]
    (_, linear, smooth), same = np.exp(hyper[:3]), np.exp(hyper[3 : 3 + len(NAMES)])
    length = np.exp(hyper[3 + len(NAMES) :])
    made = np.empty((len(one.numbers), len(two.numbers)))
    for i, j in np.ndindex(made.shape):
        apart = (one.numbers[i] - two.numbers[j]) / length[:d]
        differ = one.names[i] != two.names[j]
        away = apart @ apart + np.sum(differ / length[d:] ** 2)
        made[i, j] = linear * one.numbers[i] @ two.numbers[j] + same[~differ].sum()
        made[i, j] += smooth * np.exp(-away / 2)
    return made


def columns(n: int, d: int, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    return Columns(rng.normal(size=(n, d)), rng.choice(["a", "b", "c"], (n, len(NAMES))))


def hyper_of(d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=3 + 2 * len(NAMES) + d) / 2


def seen(n: int = 14, seed: int = 0) -> tuple[Configurations, np.ndarray]:
    """Runs of two models on two GPUs; lengths of every third are not stated."""
    rng = np.random.default_rng(seed)
    tokens = [[v if i % 3 else None for i, v in enumerate(rng.integers(9, 999, n).tolist())]
              for _ in range(2)]  # fmt: skip
    made = {
        "app": [f"m{i % 2}" for i in range(n)], "gpu_model": rng.choice(["H100", "A100"], n),
        "params": [(7e9, 3e10)[i % 2] for i in range(n)], "gpus": 2 ** rng.integers(0, 4, n),
        "batch_cap": 2 ** rng.integers(2, 8, n), "workload": rng.choice(["chat", "code"], n),
        "prompt_tokens": tokens[0], "output_tokens": tokens[1],
    }  # fmt: skip
    return Configurations.of(table(pl.DataFrame(made))), rng.normal(-3, 0.7, n)


@pytest.mark.parametrize("seed", range(3))
def test_covariances_are_the_kernel_of_each_pair(seed) -> None:
    one, two, hyper = columns(7, 3, seed), columns(5, 3, seed + 9), hyper_of(3, seed)
    assert learned_part._covariance(one, two, hyper) == pytest.approx(kernel(one, two, hyper))
    few = PairwiseColumns.of(one)
    assert few.covariance(hyper, few.smooth(hyper)) == pytest.approx(kernel(one, one, hyper))


def test_the_fit_minimises_the_likelihood_times_its_prior_by_exact_slopes(monkeypatch) -> None:
    given, calls = columns(9, 2, 1), []
    y = np.random.default_rng(2).normal(size=9)

    class Made:
        x = np.arange(3.0)

    monkeypatch.setattr(learned_part, "minimize", lambda *a, **k: calls.append((a, k)) or Made)
    assert learned_part._fitted(given, y).tolist() == [0.0, 1.0, 2.0]
    (((unlikely, middle), options),) = calls
    assert options["jac"] is True
    assert options["options"] == {"maxiter": 40}
    width = np.array([1.5] * 7 + [1.0] * 6)
    assert middle.tolist() == [-5.0, -1.2, -1.2, *[-2.3] * 4, *[1.0] * 6]
    low, high = np.array(options["bounds"]).T
    assert low == pytest.approx(middle - 4 * width)
    assert high == pytest.approx(middle + 4 * width)

    def value(hyper):
        spread = kernel(given, given, hyper) + (np.exp(hyper[0]) + 1e-8) * np.eye(9)
        density = multivariate_normal(np.zeros(9), spread).logpdf(y) + 4.5 * np.log(2 * np.pi)
        return -density + np.sum(((hyper - middle) / width) ** 2) / 2

    for hyper in (middle, middle + 0.3 * hyper_of(2, 5)):
        found, slopes = unlikely(hyper)
        assert found == pytest.approx(value(hyper))
        steps = 1e-5 * np.eye(len(hyper))
        central = [(value(hyper + h) - value(hyper - h)) / 2e-5 for h in steps]
        assert slopes == pytest.approx(central, abs=1e-6)


def test_answers_are_those_of_a_gaussian_given_what_was_measured() -> None:
    ran, logs = seen()
    logs[4] = np.nan  # not learned from
    part, (asked, _) = LogGaussian(ran, logs), seen(5, seed=3)
    there = np.isfinite(logs)
    every = np.log(np.column_stack([getattr(ran, n) for n in NUMBERS]))[there]
    known = np.isfinite(every).any(axis=0)
    typical = np.where(known, np.nanmedian(np.where(known, every, 0.0), axis=0), 0.0)
    filled = np.where(np.isnan(every), typical, every)
    kept = filled.std(axis=0) > 1e-9

    def scaled(c: Configurations) -> Columns:
        own = np.log(np.column_stack([getattr(c, n) for n in NUMBERS]))
        own = np.where(np.isnan(own), typical, own)[:, kept]
        own = (own - typical[kept]) / filled.std(axis=0)[kept]
        return Columns(own, np.column_stack([getattr(c, n) for n in NAMES]))

    before, at, noise = scaled(ran).of(np.flatnonzero(there)), scaled(asked), np.exp(part.hyper[0])
    measured = logs[there]
    inverse = np.linalg.inv(kernel(before, before, part.hyper) + noise * np.eye(13))
    cross = kernel(before, at, part.hyper)
    mean = measured.mean() + cross.T @ inverse @ (measured - measured.mean())
    spread = kernel(at, at, part.hyper) + noise * np.eye(5) - cross.T @ inverse @ cross
    found = part.posterior(asked)
    assert found[0] == pytest.approx(mean, rel=1e-6)
    assert found[1] == pytest.approx(measured.std() ** 2 * spread, rel=1e-5, abs=1e-9)


def test_what_is_left_out_is_said_by_a_fit_to_the_others() -> None:
    ran, logs = seen()
    out = np.arange(14) % 2 == 0
    error, deviation = LogGaussian.left_out(ran, logs, [out])
    mean, spread = LogGaussian(ran.of_rows(~out), logs[~out]).posterior(ran.of_rows(out))
    assert error[out] == pytest.approx(logs[out] - mean)
    assert deviation[out] == pytest.approx(np.sqrt(np.diag(spread)))
    assert np.isnan([error[~out], deviation[~out]]).all()


def test_of_many_rows_those_that_lie_evenly_fit_the_kernel_and_all_are_answered_from(
    monkeypatch,
) -> None:
    ran, logs = seen()
    assert learned_part.MOST == 100
    monkeypatch.setattr(learned_part, "MOST", 5)
    fitted = learned_part._fitted
    taken = []
    monkeypatch.setattr(learned_part, "_fitted", lambda k, y: taken.append(y) or fitted(k, y))
    part = LogGaussian(ran, logs)
    (y,) = taken
    assert y == pytest.approx(((logs - logs.mean()) / logs.std())[[0, 3, 6, 10, 13]])
    assert len(part.weights) == 14
