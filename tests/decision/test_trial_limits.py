"""Who takes part in a trial, what a placebo needs, and which forecasts contradict physics."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.decision.placebo import Placebo, placebos
from rheostat.decision.trials.trial import _drawn, plan_trial, probabilities
from rheostat.errors import DataError
from rheostat.prediction.effects.plausible import backwards, below_idle


@pytest.mark.parametrize(("low", "high", "passes"), [
    (0.01, 0.5, True), (0.011, 0.5, False), (-0.5, -0.01, True), (-0.5, -0.011, False),
    (-0.5, 0.5, True),
])  # fmt: skip
def test_a_placebo_passes_up_to_a_negligible_exponent(low, high, passes) -> None:
    assert Placebo("nodes", "runtime_s", 99, 9, (low + high) / 2, low, high).passes is passes


def log(applications: int, runs: int):
    """Applications of one user each; the next run's nodes tell the runtime before."""
    rng = np.random.default_rng(0)
    n = applications * runs
    nodes = np.exp(rng.normal(3, 1, n))
    app = np.arange(n) % applications
    after = np.roll(nodes, -applications)  # the next run of the same application
    runtime = after**0.5 * np.exp(rng.normal(0, 0.01, n))
    return table({"app": [f"a{a}" for a in app], "submit_s": np.arange(n, dtype=float),
                  "nodes": nodes, "runtime_s": runtime})  # fmt: skip


@pytest.mark.parametrize(("applications", "runs", "pairs"), [(5, 9, 40), (4, 9, 0), (5, 8, 0)])
def test_a_placebo_needs_five_applications_of_eight_pairs_each(applications, runs, pairs) -> None:
    made = placebos(log(applications, runs), "nodes", ["runtime_s"])
    assert sum(p.pairs for p in made) == pairs
    for placebo in made:
        assert placebo.applications == applications
        assert placebo.low < 0.5 < placebo.high
        assert not placebo.passes


@pytest.mark.parametrize(("asked", "share", "chance"), [
    ([1.0, 1.0, 1000.0], 0.4, [0.35, 0.35, 0.5]),  # what the cap leaves goes to the others
    ([2.0, 2.0], 0.9, [0.5, 0.5]),
    ([0.0, np.nan, 8.0, 8.0], 0.1, [0.0, 0.0, 0.2, 0.2]),
    ([5.0, 5.0], 0.0, [0.0, 0.0]),
    ([0.01, 0.01], 0.1, [0.1, 0.1]),  # however small the numbers of the knob are
    ([0.0, 0.0], 0.1, [0.0, 0.0]),
])  # fmt: skip
def test_nobody_takes_part_with_more_than_a_half_and_all_together_with_the_share(
    asked, share, chance
) -> None:
    assert probabilities(np.array(asked), share) == pytest.approx(chance)


def test_a_job_that_would_run_as_it_asked_does_not_take_part() -> None:
    ids = list(range(400))
    whole = plan_trial(table({"job_id": ids, "nodes": [1, 8] * 200}), 0.4, factors=[0.3], high=8)
    frame = whole.table.frame
    assert set(frame.filter(frame["takes_part"])["nodes"]) == {2}  # 0.3 of 8, and 1 stays 1
    assert set(frame.filter(frame["takes_part"])["nodes_requested"]) == {8}
    parts = plan_trial(table({"job_id": ids, "cpu_cap_w": [100.0] * 400}), 0.4, "cpu_cap_w",
                       factors=[0.333])  # fmt: skip
    caps = parts.table.frame.filter(parts.table.frame["takes_part"])["cpu_cap_w"]
    assert caps.to_list() == pytest.approx([33.3] * parts.taking_part)


@pytest.mark.parametrize(("runtimes", "wrong"), [
    ([1.0, 0.66, 0.26], [False, False, False]),
    ([1.0, 0.64, 0.26], [False, True, False]),
    ([1.0, 0.66, 0.24], [False, False, True]),
])  # fmt: skip
def test_time_falls_neither_with_fewer_nodes_nor_faster_than_their_square(runtimes, wrong) -> None:
    change = np.log([runtimes] * 2)
    assert backwards(change, np.array([1.0, 0.5, 2.0])).tolist() == wrong


def test_no_node_draws_less_than_one_that_idles() -> None:
    nodes = np.array([4.0, 2.0, 8.0])
    assert below_idle(np.array([[319.0, 161.0, 641.0]]), nodes, 100.0).tolist() == [True, 0, 0]


def test_a_plan_made_again_is_the_same_to_the_last_job() -> None:
    queue = table({"job_id": range(1000, 1016), "nodes": [16] * 16})
    nodes = plan_trial(queue, 0.5, seed=3).table.frame["nodes"]
    assert nodes.to_list() == [16, 16, 16, 64, 16, 4, 4, 64, 16, 64, 16, 64, 16, 16, 4, 64]
    again = plan_trial(table(queue.frame[::-1]), 0.5, seed=3).table.frame["nodes"]
    assert again.to_list() == nodes.to_list()[::-1]


def test_who_takes_part_says_nothing_about_the_factor() -> None:
    frame = plan_trial(table({"job_id": range(4000), "nodes": [16] * 4000}), 0.4).table.frame
    part = frame.filter(frame["takes_part"])["nodes"]
    assert part.unique().sort().to_list() == [4, 64]
    assert abs((part == 4).mean() - 0.5) < 4 * 0.5 / len(part) ** 0.5


def test_unless_another_share_is_named_one_job_in_twenty_takes_part() -> None:
    plan = plan_trial(table({"job_id": range(8000), "nodes": [16] * 8000}))
    assert plan.share == 0.05
    assert abs(plan.taking_part - 400) < 4 * 20


def test_unless_others_are_named_there_are_256_nodes() -> None:
    frame = plan_trial(table({"job_id": range(400), "nodes": [128, 2] * 200}), 0.4).table.frame
    part = frame.filter(frame["takes_part"])
    assert set(part.filter(part["nodes_requested"] == 128)["nodes"]) == {32, 256}
    assert set(part.filter(part["nodes_requested"] == 2)["nodes"]) <= {1, 8}


@pytest.mark.parametrize("wrong", [{"share": -0.01}, {"share": 1.0}, {"factors": []},
                                   {"factors": [2.0, 0.0]}, {"factors": [float("nan")]},
                                   {"knob": "gpus"}])  # fmt: skip
def test_a_plan_of_no_share_no_factor_or_no_setting_is_refused(wrong) -> None:
    queue = table({"job_id": range(10), "nodes": [4] * 10})
    with pytest.raises(DataError):
        plan_trial(queue, **wrong)
    assert plan_trial(queue, 0.0).taking_part == 0
    with pytest.raises(DataError, match="job_id"):
        plan_trial(table({"nodes": [4]}))


def test_a_job_without_a_number_or_a_setting_takes_no_part_and_keeps_its_place() -> None:
    """Nodes that are not known stay so; the share is made up by the others."""
    nodes = [None if i % 5 == 0 else 16 for i in range(400)]
    ids = [None if i % 7 == 0 else i for i in range(400)]
    plan = plan_trial(table({"job_id": ids, "nodes": nodes}), 0.4)
    frame = plan.table.frame
    assert frame["nodes"].null_count() == frame["nodes_requested"].null_count() == 80
    part = frame.filter(frame["takes_part"])
    assert part["job_id"].null_count() == part["nodes_requested"].null_count() == 0
    assert frame["probability"].sum() == pytest.approx(160.0)
    assert set(part["nodes"]) == {4, 64}
    halves = plan_trial(table({"job_id": range(400), "f": [1.5, None] * 200}), 0.4, "f",
                        factors=[0.5], low=0.1).table.frame  # fmt: skip
    assert halves["f"].dtype == pl.Float64
    assert halves["f"].null_count() == 200
    assert set(halves.filter(halves["takes_part"])["f"]) == {0.75}


def test_settings_are_drawn_from_those_that_exist_and_differ() -> None:
    """A quarter of 2 is 1 (of whole numbers, and where the least is 1), as 4 times 64 is 128."""
    asked, number = np.array([2.0, 2.0, 64.0, 1.0, 8.0]), np.array([0.0, 0.99, 0.6, 0.5, 0.49])
    made = _drawn(asked, number, (0.25, 4.0), (1, 128), whole=True)
    assert made.tolist() == [1.0, 8.0, 128.0, 4.0, 2.0]
    parts = _drawn(asked, number, (0.25, 4.0), (0.1, 128), whole=False)
    assert parts.tolist() == [0.5, 8.0, 128.0, 0.25 if number[3] < 0.5 else 4.0, 2.0]
    still = _drawn(np.array([1.0]), np.array([0.9]), (0.25, 1.0), (1, 128), whole=True)
    assert still.tolist() == [1.0]


def test_what_is_cut_off_at_a_half_goes_to_the_others_in_proportion() -> None:
    """Powers of 1.5; two rounds of what is left over."""
    asked = np.array([1.0, 1.0, 4.0, 16.0, 100.0, 0.0, np.nan])
    made = probabilities(asked, 0.25)
    assert made[3:5].tolist() == [0.5, 0.5]
    rest = 0.25 * 7 - 1.0
    free = np.array([1.0, 1.0, 8.0])
    each = np.minimum(free * rest / free.sum(), 0.5)
    left = rest - each[2]
    assert made[:3] == pytest.approx([left / 2, left / 2, 0.5])
    assert made[5:].tolist() == [0.0, 0.0]
    assert probabilities(asked, 0.9)[:5].tolist() == [0.5] * 5
    assert probabilities(np.zeros(3), 0.2).tolist() == [0.0] * 3
