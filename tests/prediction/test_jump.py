"""Between two measured settings where a curve jumps, either side's value is held for possible."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gpytorch")

import rheostat as rh
from rheostat.prediction.scaling_law import jump
from rheostat.tradeoff.propose.law_guided import LawGuided

NODES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
PER_NODE_W = 300.0
NOISE = 0.005


def amdahl(slower: float = 0.0, before: float = 4.5) -> np.ndarray:
    """Run time (s), ``slower`` by a factor below so many nodes."""
    return 4000 * (1 + slower * (before > NODES)) * (0.01 + 0.99 / NODES)


def runs(runtime: np.ndarray, measured: list[int]) -> rh.JobTable:
    rng = np.random.default_rng(0)
    rows = np.repeat(measured, 2)
    noisy = runtime[rows] * np.exp(rng.normal(0, NOISE, len(rows)))
    nodes = NODES[rows]
    return rh.table(
        {"nodes": nodes.astype(int), "runtime_s": noisy, "energy_j": noisy * nodes * PER_NODE_W}
    )


def interval(runtime: np.ndarray, missing: int) -> tuple[float, float]:
    """By `front`, of the setting that was not measured."""
    table = runs(runtime, [k for k in range(len(NODES)) if k != missing])
    front = rh.front(table, knobs="nodes=1,2,4,8,16,32,64").front
    at = front.alternatives.frame["nodes"].to_list().index(int(NODES[missing]))
    low, high = front.outcome.interval("runtime_s")
    return float(low[at]), float(high[at])


def test_an_interval_beside_a_kink_holds_the_kink_on_either_side_of_its_setting() -> None:
    low, high = interval(amdahl(0.8), missing=2)
    assert low < amdahl(0.8, before=3)[2] < amdahl(0.8)[2] < high


def test_the_last_gap_may_jump_too() -> None:
    before, after = (4000 * (1 + 0.8 * (k > NODES)) / NODES**0.8 for k in (24, 48))
    low, high = interval(before, missing=5)
    assert low < before[5] < after[5] < high * (1 + 3 * NOISE)


def test_a_curve_without_a_jump_has_narrow_intervals() -> None:
    low, high = interval(amdahl(), missing=2)
    assert low < amdahl()[2] < high < 1.35 * low


def test_the_next_setting_is_forecast_by_either_side() -> None:
    searcher = LawGuided(rh.Knob("nodes", NODES.astype(int).tolist()))
    runtime, asked = amdahl(0.8), 2
    for k in [k for k in range(len(NODES)) if k != asked]:
        told = rh.table(
            {
                "nodes": [int(NODES[k])],
                "runtime_s": [runtime[k]],
                "power_w": [PER_NODE_W * NODES[k]],
            }
        )
        measured = rh.Outcome.measured(told, "runtime_s", "power_w")
        searcher.tell(told.select(["nodes"]), measured)
    low, high = searcher.forecast([{"nodes": 4}]).interval("runtime_s")
    assert low[0] < amdahl(0.8, before=3)[asked] < runtime[asked] < high[0]


@pytest.mark.parametrize("slower", [-0.4, 0.6])
def test_jumps_up_and_down_are_found_where_they_are_and_nowhere_else(slower: float) -> None:
    x, measured = np.log2(NODES), [0, 1, 3, 4, 5, 6]
    log_t = np.log(amdahl(slower))[measured]
    logs = np.stack([log_t, 0 * log_t])
    found = [
        jump.two_sides(
            np.array([at]), x[measured, None], logs, np.full((2, 6), 1e-5), np.log([0.5])
        )
        for at in (0.5, 2.0, 3.5, 4.5, 5.5)
    ]
    assert [f is not None for f in found] == [False, True, False, False, False]
