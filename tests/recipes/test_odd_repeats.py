"""A run that is unlike all its repeats is named before the choice hangs on it."""

import numpy as np
import pytest

from rheostat import table
from rheostat.recipes.nodecount import confounded, differing, drift, odd_repeats


def test_one_run_unlike_its_repeats_is_named():
    runs = {"nodes": [1] * 5 + [2] * 3, "runtime_s": [1.9, 1.92, 17.0, 1.9, 1.9, 2.2, 2.2, 2.3]}
    assert odd_repeats(table(runs), ["nodes"]) == [("nodes 1", 17.0, 1.9)]
    fast = {"nodes": [12] * 4, "runtime_s": [168.0, 170.0, 3.1, 169.0]}  # did not do its work
    assert odd_repeats(table(fast), ["nodes"]) == [("nodes 12", 3.1, 169.0)]


def test_noise_problems_of_several_kinds_and_pairs_are_not():
    noisy = {"nodes": [1] * 5, "runtime_s": [1.0, 1.4, 2.4, 1.9, 5.0]}
    assert odd_repeats(table(noisy), ["nodes"]) == []
    assert odd_repeats(table({"nodes": [1, 1], "runtime_s": [1.0, 9.0]}), ["nodes"]) == []
    unlike = {"nodes": [1] * 4, "app": ["a", "a", "a", "b"], "runtime_s": [2.0, 2.0, 2.0, 9.0]}
    assert odd_repeats(table(unlike), ["nodes"]) == []


def test_a_column_that_numbers_the_repeats_is_no_difference():
    runs = {"nodes": [1, 1, 1, 2, 2, 2], "rep": [0, 1, 2] * 2,
            "runtime_s": [1.9, 17.0, 1.9, 1.0, 1.0, 1.1]}  # fmt: skip
    assert differing(table(runs), ["nodes"]) == ()
    assert odd_repeats(table(runs), ["nodes"]) == [("nodes 1", 17.0, 1.9)]
    again = {**runs, "rep": [0, 0, 1, 0, 1, 1]}  # two problems, say
    assert differing(table(again), ["nodes"]) == ("rep",)


def test_a_column_of_words_that_goes_with_the_settings_is_named():
    runs = {"nodes": [1, 2, 3, 4], "cluster": ["milan", "haswell"] * 2, "runtime_s": [4.0] * 4}
    assert confounded(table(runs), ["nodes"]) == ("cluster",)
    assert confounded(table({**runs, "cluster": ["milan"] * 4}), ["nodes"]) == ()
    assert confounded(table({**runs, "cluster": list("abcd")}), ["nodes"]) == ()  # its name
    both = {"nodes": [1, 1, 2, 2], "cluster": ["milan", "haswell"] * 2, "runtime_s": [4.0] * 4}
    assert confounded(table(both), ["nodes"]) == ()
    assert differing(table(both), ["nodes"]) == ("cluster",)


def test_repeats_that_take_longer_through_the_day_are_a_drift():
    hours = np.arange(12)
    runs = {"core_mhz": [1500, 1000, 1100, 1200] * 3, "start_s": 3600.0 * hours,
            "runtime_s": np.tile([10.0, 15.0, 13.0, 12.0], 3) * 1.02**hours}  # fmt: skip
    assert drift(table(runs), ["core_mhz"]) == pytest.approx(1.02**11)
    assert drift(table({k: v for k, v in runs.items() if k != "start_s"}), ["core_mhz"]) == 1.0
    once = {k: v[:4] for k, v in runs.items()}  # nothing was repeated
    assert drift(table(once), ["core_mhz"]) == 1.0


def test_noise_is_a_drift_no_oftener_than_stated():
    rng = np.random.default_rng(0)
    runs = {"nodes": [1, 2, 4] * 4, "start_s": 60.0 * np.arange(12)}
    said = [
        drift(table({**runs, "runtime_s": np.exp(0.05 * rng.normal(size=12))}), ["nodes"]) != 1.0
        for _ in range(300)
    ]
    assert sum(said) <= 9  # 1 in 100, and three standard errors
