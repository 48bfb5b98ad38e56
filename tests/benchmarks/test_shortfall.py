"""Unlikeness is 0 for a twin at another level; the report says whether shortfall goes with it."""

from __future__ import annotations

import numpy as np
import pytest
from nodecount_lib.pools import PAIRS, Pool, make_pool
from nodecount_lib.shortfall import by_pool, unlikeness
from nodecount_lib.stats import Scores


def made(app: str, exponent: float, level: float = 1.0) -> Pool:
    n = np.arange(1.0, 9.0)[:, None]
    t, p = level * 100 * n[:, 0] ** -exponent, 50 * level * n[:, 0]
    y = np.column_stack([t, p, t * p])
    return make_pool(f"m/{app}", "m", app, knobs=("nodes",), settings=n, y=y, source="")


def test_a_twin_at_another_level_is_alike_and_the_nearest_counts() -> None:
    pool, pair = made("a", 0.8), PAIRS["runtime,power"]
    assert unlikeness(pool, [made("b", 0.8, 7.0)], pair) == pytest.approx(0.0, abs=1e-12)
    near, far = (unlikeness(pool, [made("b", e)], pair) for e in (0.6, 0.1))
    assert 0 < near < far
    assert unlikeness(pool, [made("b", 0.1), made("c", 0.6)], pair) == near
    assert np.isnan(unlikeness(pool, [], pair))


def test_shortfall_that_goes_with_unlikeness_is_said() -> None:
    pools = [made(name, e) for name, e in zip("abcd", (0.8, 0.8, 0.7, 0.1), strict=True)]
    share = {"m/a": 1.0, "m/b": 0.99, "m/c": 0.9, "m/d": 0.5}
    rows = [
        {"method": "ours", "pool": p, "objectives": "runtime,energy", "budget": b, "seed": 0,
         "hv_fraction": v, "hv_attainable": v, "regret": 1 - v}
        for p, v in share.items() for b in (2, 4)
    ]  # fmt: skip
    lines = by_pool(Scores(rows), pools)
    said = next(line for line in lines if line.startswith("- runtime,energy"))
    assert "rank correlation of shortfall and unlikeness 0.9" in said
    assert len([line for line in lines if line.startswith("| m/")]) == 4
