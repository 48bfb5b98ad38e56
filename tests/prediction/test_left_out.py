"""Errors of settings left out say how wide a law's spread has to be, and how wide it has not."""

from __future__ import annotations

import numpy as np
import pytest

import rheostat as rh
from rheostat.prediction.scaling_law.left_out import _narrowing, widening

AT = np.linspace(-1.0, 1.0, 12)[:, None]


def test_many_small_errors_narrow_and_few_do_not():
    small = np.full((12, 2), 0.3)
    assert (widening(AT, AT, small) < 0.7).all()
    assert (widening(AT[:8], AT[:8], small[:8]) >= 0.5).all()
    assert _narrowing(small[:8]).tolist() == [1.0, 1.0]
    assert _narrowing(np.arange(1, 20)[:, None] / 20 * np.ones(2)) == pytest.approx(
        0.9 / 1.6449, 1e-3
    )


def test_one_large_error_of_eleven_leaves_all_as_wide_as_the_law_says():
    """And wider where it lies, for that quantity alone."""
    errors = np.full((11, 2), 0.1)
    errors[5, 0] = 4.0
    made = widening(AT[:11], AT[:11], errors)
    assert made[5, 0] == made[:, 0].max() > 2.0
    assert made[:, 0].min() >= 1.0
    assert (made[:, 1] < 0.4).all()


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_what_is_narrowed_holds_the_next_error_of_the_kind(spread):
    """Conformal: whatever the law says of its spread, if errors are alike."""
    rng = np.random.default_rng(4)
    errors = spread * rng.standard_normal((4000, 12, 2))
    factor = np.array([_narrowing(np.abs(e[:11])) for e in errors])
    held = np.abs(errors[:, 11]) <= 1.6449 * factor
    assert 0.85 <= held.mean() <= 0.95


def test_intervals_of_a_clean_table_of_runs_hold():
    rng, widths = np.random.default_rng(700), []
    nodes, clock = (
        v.ravel() for v in np.meshgrid(2.0 ** np.arange(7), [1.2, 1.8, 2.4], indexing="ij")
    )
    runtime = 5000 * nodes**-0.8 * clock**-0.7
    ran = rng.choice(21, 12, replace=False)
    runs = {"nodes": nodes[ran].astype(int), "freq_ghz": clock[ran], "runtime_s": runtime[ran]}
    power = nodes[ran] * (150 + 100 * (clock[ran] / 2.4) ** 2)
    front = rh.front(rh.table({**runs, "energy_j": runtime[ran] * power}),
                     knobs=["nodes=1,2,4,8,16,32,64", "freq_ghz=1.2,1.8,2.4"]).front  # fmt: skip
    low, high = (np.asarray(end) for end in front.outcome.interval("runtime_s"))
    asked = front.alternatives.frame
    true = 5000 * asked["nodes"].to_numpy() ** -0.8 * asked["freq_ghz"].to_numpy() ** -0.7
    measured = {(n, f) for n, f in zip(nodes[ran], clock[ran], strict=True)}
    for row, key in enumerate(zip(asked["nodes"], asked["freq_ghz"], strict=True)):
        if key not in measured and np.isfinite(low[row]):
            assert low[row] <= true[row] <= high[row]
            widths.append(np.log(high[row] / low[row]))
    assert len(widths) >= 5
    assert np.max(widths) < 1.0


def test_neighbours_between_the_runs_are_about_as_sure():
    """Errors far off, or of few settings, make no interval many times its neighbour's."""
    rng = np.random.default_rng(3)
    clocks = [1.2, 1.5, 1.8, 2.4]
    nodes, clock = (v.ravel() for v in np.meshgrid(2.0 ** np.arange(6), clocks, indexing="ij"))
    ran = rng.choice(24, 12, replace=False)
    noise = np.exp(0.01 * rng.standard_normal((2, 24)))
    runtime = 5000 * (0.02 + 0.98 * nodes**-0.9) * (0.4 + 0.6 * 2.4 / clock) * noise[0]
    energy = runtime * nodes * (150 + 100 * (clock / 2.4) ** 2) * noise[1]
    runs = {"nodes": nodes.astype(int), "freq_ghz": clock, "runtime_s": runtime, "energy_j": energy}
    table = rh.table({k: v[ran] for k, v in runs.items()})
    asked = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32]
    knobs = [f"nodes={','.join(map(str, asked))}", f"freq_ghz={','.join(map(str, clocks))}"]
    front = rh.front(table, knobs=knobs).front
    low, high = (np.asarray(end) for end in front.outcome.interval("runtime_s"))
    rows = zip(*(front.alternatives.frame[k] for k in ("nodes", "freq_ghz")), strict=True)
    width = dict(zip(rows, np.log(high / low), strict=True))
    grid = np.array([[width.get((n, c), np.nan) for c in clocks] for n in asked])
    grid[grid == 0] = np.nan  # was run
    apart = np.abs(np.concatenate([np.diff(np.log(grid), axis=a).ravel() for a in (0, 1)]))
    assert np.isfinite(apart).sum() > 20
    assert np.nanmax(apart) < np.log(2)
