"""Surfaces: monotone, noise found, readers map two caps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.monotone import rising, rising_everywhere
from rheostat.prediction.surface import mixed, named_by, surfaces


def test_along_one_axis_it_is_isotonic_regression() -> None:
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=(20, 9)), rng.uniform(0.1, 2, 9)
    for own, found in zip(y, rising(y, w), strict=True):
        assert found == pytest.approx(isotonic_regression(own, weights=w).x)


def test_two_axes_rise_and_lie_no_farther_than_the_running_maximum() -> None:
    rng = np.random.default_rng(1)
    truth = np.add.outer(np.arange(6.0), np.arange(7.0)) / 4
    y = truth + rng.normal(0, 0.4, (1, 6, 7))
    found = rising_everywhere(y, np.ones((6, 7)), rounds=200, tolerance=1e-9)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (np.diff(found, axis=2) >= 0).all()
    running = np.maximum.accumulate(np.maximum.accumulate(y, axis=1), axis=2)
    assert ((found - y) ** 2).sum() < ((running - y) ** 2).sum()
    assert ((found - truth) ** 2).sum() < ((y - truth) ** 2).sum()  # noise taken out


def test_noise_is_found_from_repeats_and_from_single_runs() -> None:
    many = surfaces(capped_runs(4, repeats=4, noise=0.03, seed=2))
    one = surfaces(capped_runs(4, noise=0.03, seed=2))
    assert [s.noise for s in many.values()] == pytest.approx([0.03] * 4, rel=0.25)
    assert [s.noise for s in one.values()] == pytest.approx([0.03] * 4, rel=0.6)


def test_rate_rises_with_every_cap_in_every_draw() -> None:
    s = surfaces(capped_runs(1, noise=0.05, seed=3))["app00"]
    rate = s.rate.reshape(len(s.rate), 7, 11)
    assert (np.diff(rate, axis=1) >= 0).all()
    assert (np.diff(rate, axis=2) >= 0).all()


def test_totals_count_gpus_and_nodes() -> None:
    runs = table({"app": ["a"] * 3, "cpu_cap_w": [100, 100, 200], "gpu_cap_w": [200, 200, 200],
                  "gpus": [1, 4, 4], "runtime_s": [9.0, 5.0, 4.0]})  # fmt: skip
    assert surfaces(runs)["a"].total_w.tolist() == [300.0, 900.0, 1000.0]


def test_runs_that_differ_in_another_setting_are_no_repeats() -> None:
    runs = table({"app": ["a"] * 4, "cap_w": [1, 1, 2, 2], "batch_size": [8, 16, 8, 16],
                  "job_id": [1, 2, 3, 4], "runtime_s": [4.0, 9.0, 3.0, 8.0]})  # fmt: skip
    assert mixed(runs) == ("batch_size",)
    apart = named_by(runs, ("app", "batch_size"))
    assert mixed(apart) == ()
    assert list(surfaces(apart)) == ["a 16", "a 8"]


def test_a_table_without_caps_is_refused() -> None:
    with pytest.raises(DataError, match="cpu_cap_w"):
        surfaces(table({"app": ["a"], "nodes": [1], "runtime_s": [1.0]}))


def test_published_tables_are_read_with_both_caps(shared_data) -> None:
    folder = shared_data / "power"
    runs = read(folder / "open_dualcap_a100" / "dualcap_raw_aggregated.csv")
    assert {"cpu_cap_w", "gpu_cap_w", "runtime_s", "energy_j"} <= set(runs.columns)
    runs = read(folder / "zzheng_power_caps" / "cap_sweeps_energy_runtime.csv")
    assert {"cpu_cap_w", "gpu_cap_w", "runtime_s"} <= set(runs.columns)
