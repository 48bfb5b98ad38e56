"""Paired intervals: certain where there is no spread, wide where there is, honest about ties."""

from __future__ import annotations

import numpy as np
import pytest
from nodecount_lib.stats import Estimate, Scores, bootstrap, difference, verdict


def rows(method: str, shift: float, seeds: int = 4) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    return [
        {"method": method, "pool": p, "objectives": "runtime,energy", "budget": 4, "seed": s,
         "hv_fraction": base + shift, "hv_attainable": base + shift, "regret": base - shift}
        for p in "abc"
        for s in range(4)
        for base in [rng.random()]
        if s < seeds
    ]  # fmt: skip


def test_a_constant_difference_has_no_interval() -> None:
    scores = Scores([*rows("ours", 0.1), *rows("peer", 0.0)])
    d = difference(scores, "hv_fraction", "ours", "peer", cell=("runtime,energy", 4))
    assert (d.mean, d.low, d.high) == pytest.approx((0.1, 0.1, 0.1))
    assert verdict("hv_fraction", d) == "ahead"
    assert verdict("regret", d) == "behind"


def test_pairs_are_the_common_seeds_only() -> None:
    scores = Scores([*rows("ours", 0.1), *rows("peer", 0.0, seeds=2)])
    d = difference(scores, "hv_fraction", "ours", "peer", cell=("runtime,energy", 4))
    assert d.mean == pytest.approx(0.1)


def test_interval_covers_the_mean_of_many_pools() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for k in range(40):
        effect = rng.normal(0.0, 1.0, size=(15, 1))
        e = bootstrap(effect + rng.normal(0.0, 1.0, size=(15, 4)), seed=k)
        hits += e.low <= 0.0 <= e.high
    assert hits >= 32


def test_best_peer_is_never_ours_and_regret_is_better_low() -> None:
    scores = Scores([*rows("ours", 0.5), *rows("x", 0.1), *rows("y", 0.2)])
    assert scores.best_peer("hv_fraction", "runtime,energy", 4) == "y"
    assert scores.best_peer("regret", "runtime,energy", 4) == "y"


def test_ties_are_called_level_or_same() -> None:
    assert verdict("regret", Estimate(0.0, -0.1, 0.1)) == "level"
    assert verdict("regret", Estimate(0.0, 0.0, 0.0)) == "same"
