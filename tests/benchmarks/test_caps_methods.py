"""The published system's networks and the simple methods that complete a row under caps."""

from __future__ import annotations

import numpy as np
import pytest
from caps_lib.classic import LowRank, Neighbours, TrainMean

from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.completion.table import CapTable, cap_table


@pytest.fixture(scope="module")
def known() -> CapTable:
    return cap_table(capped_runs(30, noise=0.01, seed=5))


def test_simple_methods_restore_what_they_can() -> None:
    rank_one = np.outer([1.0, 2.0, 3.0, 1.5], np.linspace(0.5, 1.0, 6))
    table = CapTable(tuple("abcd"), ("cap_w",), np.arange(6.0)[:, None], rank_one)
    filled = LowRank(1).fit(table.only([0, 1, 2])).fill([0, 5], rank_one[3, [0, 5]])
    assert filled == pytest.approx(rank_one[3], abs=0.02)
    assert TrainMean().fit(table).fill([], np.zeros(0)) == pytest.approx(rank_one.mean(axis=0))
    twin = Neighbours(1).fit(table).fill([0], rank_one[2, [0]])
    assert twin == pytest.approx(rank_one[2])


@pytest.mark.slow
def test_open_networks_learn_and_repeat_themselves(known: CapTable) -> None:
    pytest.importorskip("torch")
    from caps_lib.neural import Autoencoder, Collaborative, CounterSpeed

    small = known.only(range(6))
    row = known.speed[20]
    for make in (lambda: Collaborative(epochs=1, seed=1), lambda: Autoencoder(epochs=8, seed=1)):
        one, two = (make().fit(small).fill([0, 5, 40], row[[0, 5, 40]]) for _ in range(2))
        assert one.tobytes() == two.tobytes()
        assert np.isfinite(one).all()
    from dataclasses import replace

    counted = replace(small, counters=small.speed[..., None], counter_names=("speed",))
    heard = CounterSpeed(epochs=8).fit(counted).predict(small.values, small.speed[0][:, None])
    assert np.abs(heard - small.speed[0]).mean() < 0.05  # the counter is the answer
