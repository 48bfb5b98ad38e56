"""A run that is unlike all its repeats is named before the choice hangs on it."""

import numpy as np
import pytest

import rheostat as rh
from rheostat import table
from rheostat.errors import QuestionError
from rheostat.recipes.nodecount import (
    confounded,
    differing,
    drift,
    odd_repeats,
    split_settings,
    warm_up,
)


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


def test_runs_on_hosts_of_their_own_are_repeats():
    hosts = ["cn[1-2]", "cn[3-4]", "cn[5-6]", "cn[7-8]"]
    runs = {"nodes": [2] * 4, "node_list": hosts, "runtime_s": [232.5, 239.6, 626.2, 240.5]}
    assert odd_repeats(table(runs), ["nodes"]) == [("nodes 2", 626.2, 239.6)]
    twice = {**runs, "node_list": [*hosts[:3], hosts[2]]}
    assert odd_repeats(table(twice), ["nodes"]) == []


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


def test_settings_that_no_machine_ran_alone_are_not_compared():
    runs = {"batch_size": [8, 16, 16, 32], "gpu_type": ["H100", "H100", "A100", "A100"],
            "runtime_s": [9.0, 8.0, 16.0, 12.0], "energy_j": [5.0, 4.0, 6.0, 5.0]}  # fmt: skip
    has = {"A100": ("16", "32"), "H100": ("8", "16")}
    assert split_settings(table(runs), ["batch_size"]) == ("gpu_type", has)
    with pytest.raises(QuestionError, match=r"--where gpu_type=H100 \(has 8, 16\)"):
        rh.front(table(runs), knobs="batch_size=8,16,32")
    one = rh.front(table(runs), where=["gpu_type=H100"], knobs="batch_size=8,16")
    assert len(one.front.alternatives) == 2
    whole = {**runs, "batch_size": [8, 16, 8, 16]}
    assert split_settings(table(whole), ["batch_size"]) is None
    hosts = {k if k != "gpu_type" else "host": v for k, v in runs.items()}
    assert split_settings(table(hosts), ["batch_size"]) is None


def test_one_setting_of_another_named_problem_is_not_compared_with_those_of_one():
    runs = {"nodes": [1, 2, 4, 8, 16], "deck": ["12M"] * 4 + ["6M"],
            "runtime_s": [90.0, 46.0, 24.0, 13.0, 4.0]}  # fmt: skip
    has = {"12M": ("1", "2", "4", "8"), "6M": ("16",)}
    assert split_settings(table(runs), ["nodes"]) == ("deck", has)
    weak = {**runs, "deck": ["1M", "2M", "4M", "8M", "16M"]}
    assert split_settings(table(weak), ["nodes"]) is None


def test_settings_of_two_problems_are_not_compared():
    runs = {
        "matrix_n": [2048, 2048, 8192, 8192],
        "nodes": [1, 2, 4, 8],
        "runtime_s": [20.0, 10.0, 180.0, 100.0],
        "energy_j": [6.0, 6.1, 440.0, 500.0],
    }
    with pytest.raises(QuestionError, match=r"--where matrix_n=2048 \(has 1, 2\)"):
        rh.front(table(runs), knobs="nodes=1,2,4,8")
    weak = {**runs, "matrix_n": [2048, 4096, 8192, 16384]}  # grows with the nodes: only noted
    assert split_settings(table(weak), ["nodes"]) is None
    both = {**runs, "nodes": [1, 2, 1, 2]}
    assert split_settings(table(both), ["nodes"]) is None


def test_first_runs_that_take_longer_at_most_settings_are_a_warm_up():
    nodes, times = np.repeat([1, 2, 4], 3), np.array([9.0, 3, 3, 8, 2, 2, 7, 1, 1])
    assert warm_up(table({"nodes": nodes, "runtime_s": times}), ["nodes"]) == (3, 3, 4.0)
    later = times.reshape(3, 3)[:, ::-1].ravel()
    assert warm_up(table({"nodes": nodes, "runtime_s": later}), ["nodes"]) is None
    clock = {"start_s": np.arange(9.0)[::-1]}
    assert warm_up(table({"nodes": nodes, "runtime_s": later, **clock}), ["nodes"]) == (3, 3, 4.0)
    two = table({"nodes": nodes[:6], "runtime_s": times[:6]})
    assert warm_up(two, ["nodes"]) is None


def test_one_of_five_runs_that_is_half_longer_is_named_where_the_others_agree():
    times = [20.0, 20.3, 30.1, 20.1, 20.2]
    runs = table({"threads": [16] * 5, "runtime_s": times})
    [(setting, odd, others)] = odd_repeats(runs, ["threads"])
    assert (setting, odd, round(others, 2)) == ("threads 16", 30.1, 20.15)
    noisy = table({"threads": [16] * 5, "runtime_s": [20.0, 26.0, 30.1, 22.0, 18.0]})
    assert odd_repeats(noisy, ["threads"]) == []


def test_decide_names_a_run_unlike_its_repeats_as_front_does():
    caps = [200] * 5 + [300] * 5
    times = [104.1, 104.3, 416.4, 103.6, 104.0, 100.1, 100.2, 100.3, 100.0, 99.9]
    one = {"app": ["fem"] * 10, "cap_w": caps, "runtime_s": times,
           "power_w": [150.0] * 5 + [230.0] * 5}  # fmt: skip
    said = "one run at cap_w 200 took 416 s where the others there take 104 s"
    decided = rh.decide(table(one), knobs="cap_w=200,300", slowdown=10)
    assert sum(n.startswith(said) for n in decided.notes) == 1
    shown = rh.front(table(one), knobs="cap_w=200,300", rule="slowdown=1.1")
    assert any(n.startswith(said) for n in shown.notes)
    two = {k: v * 2 for k, v in one.items()} | {"app": ["fem"] * 10 + ["other"] * 10}
    two["rep"] = [1, 2, 3, 4, 5] * 4
    two["runtime_s"] = [*times[:2], 104.2, *times[3:], *times]
    other = rh.decide(table(two), knobs="cap_w=200,300", slowdown=10)
    (note,) = (n for n in other.notes if n.startswith("one run at"))
    assert note.startswith("one run at cap_w 200, app other took 416 s")
    assert note.count("one run at") == 1


def test_a_system_for_each_setting_of_one_accelerator_is_the_name_of_the_setting():
    runs = {"gpus": [1, 2, 4], "System": ["x1", "x2", "x4"], "Accelerator": ["H100"] * 3}
    assert split_settings(table(runs), ["gpus"]) is None
    other = {**runs, "Accelerator": ["H100", "A100", "H100"]}
    assert split_settings(table(other), ["gpus"]) is not None
    assert split_settings(table(runs).select(["gpus", "System"]), ["gpus"]) is not None


def test_names_of_runs_hide_no_odd_one():
    named = table({"run": list("abcd"), "nodes": [1] * 4, "runtime_s": [2.0, 2.1, 18.0, 2.0]})
    assert odd_repeats(named, ["nodes"]) == [("nodes 1", 18.0, 2.0)]
