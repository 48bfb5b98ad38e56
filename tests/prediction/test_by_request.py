"""What chance turned may depend on what was asked for: one slope for all, as far as it is there."""

from __future__ import annotations

import numpy as np
import pytest

import rheostat as rh
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.effects.by_request import SURE, fit_by_request
from rheostat.prediction.effects.effect_coding import fit_coding
from rheostat.prediction.effects.levels import centred

APPS, JOBS = 24, 2400


def law(size, nodes):
    """Work that divides, and communication that grows, of a problem of this size."""
    return 900.0 * (4.0 * size / nodes + 0.15 * np.log2(nodes) + 0.005 * nodes + 0.04)


def log(follows, seed=0, drawn=0.08):
    """Requests follow the hidden size as far as said; chance turned some."""
    rng = np.random.default_rng(seed)
    app, size = rng.integers(APPS, size=JOBS), np.exp(0.8 * rng.standard_normal(JOBS))
    want = 4.0 * size**follows * np.exp((0.35 if follows else 0.9) * rng.standard_normal(JOBS))
    asked = np.clip(2 ** np.round(np.log2(want)), 1, 64).astype(int)
    turn = 2.0 ** rng.choice([-2, -1, 1, 2], JOBS)
    turned = rng.random(JOBS) < drawn
    ran = np.where(turned, np.clip(asked * turn, 1, 64), asked).astype(int)
    return rh.table({
        "app": [f"app{a}" for a in app], "user": [f"u{a % 7}" for a in app], "nodes": ran,
        "nodes_requested": asked, "randomized": turned, "submit_s": 600.0 * np.arange(JOBS),
        "runtime_s": law(size, ran) * np.exp(0.05 * rng.standard_normal(JOBS)),
    }), size  # fmt: skip


def forecast(jobs, asked, at):
    """Log change of run time from ``asked`` to ``at`` nodes, the mean of its draws."""
    model = WithinApplication(targets=("runtime_s",)).fit(jobs)
    one = jobs.rows(np.flatnonzero(jobs.numpy("nodes_requested") == asked)[:40])
    draws = [
        np.log(model.predict(one.with_columns((), nodes=[n] * len(one)))["runtime_s"])
        for n in (at, asked)
    ]
    return float(np.nanmean(draws[0] - draws[1])), model.fitted_["runtime_s"].by_request.slope


def test_larger_requests_of_larger_problems_are_forecast_to_lose_more_on_fewer_nodes():
    jobs, size = log(follows=1.0)
    said, slope = forecast(jobs, 32, 8)
    those = size[jobs.numpy("nodes_requested") == 32]
    true = float(np.mean(np.log(law(those, 8) / law(those, 32))))
    assert slope.mean() < 0
    assert said == pytest.approx(true, abs=0.2)


def test_where_requests_tell_nothing_of_the_size_there_is_no_slope():
    slopes = [forecast(log(0.0, seed)[0], 8, 4)[1] for seed in range(3)]
    assert [s.tolist() for s in slopes] == [[0.0] * len(slopes[0])] * 3


def rows(slope, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    jobs, _ = log(0.5, seed)
    coding = fit_coding(jobs.frame, ("nodes",), ("runtime_s",), by=None, sizes=(), problem=None)
    coded = coding.rows(jobs.frame)
    asked = coded.log_asked[:, 0]
    z = (coded.log_run[:, 0] - asked) * (asked - asked[coded.turned].mean())
    y = slope * z + noise * rng.standard_normal(len(z))
    return coded, centred(np.column_stack([coded.effect["runtime_s"], y]), coded.cell)


def test_a_slope_that_is_surely_there_is_nearly_as_large_as_it_is():
    coded, flat = rows(-0.3)
    found = fit_by_request(coded, flat, np.random.default_rng(0).standard_normal(400))
    assert found.slope.mean() == pytest.approx(-0.3, abs=0.05)
    assert 0 < found.slope.std() < 0.3 / SURE
    assert not found.of(coded)[:, ~coded.turned].any()


def test_one_that_chance_explains_is_none():
    found = [fit_by_request(*rows(0.0, seed=seed), np.ones(4)) for seed in range(20)]
    assert sum(bool(f.slope.any()) for f in found) <= 2
