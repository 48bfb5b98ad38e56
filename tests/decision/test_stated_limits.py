"""Limits that messages and comments state hold to the last job, watt and factor."""

from __future__ import annotations

import asyncio
import contextlib
import json

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.outcome import Outcome
from rheostat.core.space import Knob
from rheostat.decision.actuate import cap_files
from rheostat.decision.budget import allocate, change_limit, groups, pareto
from rheostat.decision.budget.allocate_power import PowerLimits, allocate_power
from rheostat.decision.budget.branch_and_bound import _step
from rheostat.decision.budget.cap_plan import facts
from rheostat.decision.budget.hull import Level
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.caps import choose_caps
from rheostat.decision.coschedule import queue_files
from rheostat.decision.serving.dispatch_queue import DispatchQueue
from rheostat.decision.serving.proxy_counters import EDGES_S, ProxyCounters
from rheostat.decision.serving.proxy_messages import parsed
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.trials.trial import plan_trial
from rheostat.decision.trials.trial_size import trial_size
from rheostat.errors import DataError
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.surface import Surface


def test_a_queue_file_holds_as_many_jobs_as_it_says(tmp_path, monkeypatch) -> None:
    (tmp_path / "p.csv").write_text("app,gpus,runtime_s,power_w\nA,1,40,300\nA,2,22,600\n")
    profiles = queue_files.read_profiles(tmp_path / "p.csv")
    monkeypatch.setattr(queue_files, "LONGEST", 3)
    (tmp_path / "three.csv").write_text("app\n" + "A\n" * 3)
    assert len(queue_files.read_queue(str(tmp_path / "three.csv"), profiles)) == 3
    (tmp_path / "four.csv").write_text("app\n" + "A\n" * 4)
    with pytest.raises(DataError, match="expected at most 3 jobs, got 4"):
        queue_files.read_queue(str(tmp_path / "four.csv"), profiles)


@pytest.mark.parametrize("wrong", [{"share": 1.0}, {"factors": ()}, {"factors": (0.0,)}])
def test_a_trial_of_nothing_or_of_all_jobs_is_refused(wrong) -> None:
    queue = table({"job_id": [1, 2], "nodes": [4, 16]})
    with pytest.raises(DataError, match=r"share: expected|factor"):
        plan_trial(queue, **{"share": 0.1, **wrong})


def test_a_limit_without_a_statement_may_take_what_its_register_holds() -> None:
    assert cap_files.REGISTER_W == 2**15 / 8


@pytest.mark.parametrize(("steps", "step_w"), [((17, 55, 90), 1 / 3), ((33, 67, 96), 20 / 3),
                                              ((9, 46, 78), 100 / 7), ((3, 10), 0.1)])  # fmt: skip
def test_watts_have_their_common_step_however_they_were_rounded(steps, step_w) -> None:
    watts = np.array(steps) * step_w
    assert _step([watts], float(watts[-1]), 1e9) == (pytest.approx(step_w, rel=1e-12), True)


def test_a_step_of_watts_is_no_finer_than_a_milliwatt_and_costs_no_more_than_allowed() -> None:
    assert _step([np.array([0.001])], 0.001, 1e9) == (0.001, True)
    assert _step([np.array([0.0009])], 0.001, 1e9) == (0.001, False)
    size = 100 + 1  # numbers of watts up to 100
    for more_w, work in (([1.0], 16 * size), (np.arange(1.0, 33.0), 33 * size)):
        need = [np.array(more_w)]  # a sixteenth of it per row, all of it per option
        assert _step(need, 100.0, work) == (1.0, True)
        assert _step(need, 100.0, work - 1) == (100.0 / 4096, False)


def test_racks_of_ten_thousand_nodes_with_caps_a_watt_apart_are_solved_exactly() -> None:
    rack = [np.concatenate([[0.0], np.arange(1.0, 65.0, 4.0)])] * 40
    assert _step(rack, 60.0 * 40, groups.MOST_WORK * 40 / 10_000) == (pytest.approx(1.0), True)


def test_the_share_of_a_trial_is_that_of_the_jobs_it_needs() -> None:
    queue = table({"job_id": range(2000), "nodes": [16] * 2000})
    size = trial_size(plan_trial(queue, share=0.05))
    assert size.share == pytest.approx(0.05 * size.needed / size.expected)
    nobody = trial_size(plan_trial(queue, share=0.05, low=16, high=16))
    assert (nobody.expected, nobody.reached) == (0, np.inf)
    assert np.isnan(nobody.share)


def test_caps_that_all_known_ones_ran_change_nothing_when_asked_for() -> None:
    runs = capped_runs(4, seed=4, cpu_caps=(140.0, 200.0), gpu_caps=(150.0, 250.0))
    own = runs.rows(pl.col("app") == "app01")
    asked_for = [Knob("cpu_cap_w", (140.0,))]
    plain, asked = (choose_caps(runs, own, "app01", knobs=knobs) for knobs in ((), asked_for))
    assert asked.kept == plain.kept
    assert asked.notes == plain.notes == ()


def sharing(levels: dict[str, dict[str, float]]):
    """A plan for two applications whose caps and whose draws differ, on four nodes."""
    known = {
        app: Surface(app, ("cap_w",), np.array(caps)[:, None], Outcome({"runtime_s": np.array(s)}))
        for app, caps, s in (("a", (100.0, 200.0), [[9.0, 6.0], [9.0, 7.0]]),
                             ("b", (150.0, 400.0), [[9.0, 3.0], [9.0, 5.0]]))
    }  # fmt: skip
    nodes = pl.DataFrame({"node": list("wxyz"), "app": ["a", "b", "b", "a"],
                          "rack": ["1", "1", "2", "2"]})  # fmt: skip
    return allocate_power(fleet(nodes, known, start="lowest"), PowerLimits(800.0, levels))


def test_a_group_with_room_for_all_changes_no_price() -> None:
    alone, inside = sharing({}), sharing({"rack": {"1": 900.0, "2": 900.0}})
    assert alone.price[1] < alone.price[2]
    assert inside.price == pytest.approx(alone.price)


def test_a_plan_states_the_worth_of_a_kilowatt_in_percent_of_the_mean_gain() -> None:
    watt = facts(sharing({}), baselines=False)["watt"]
    for name, per_w in watt["gain_per_w"].items():
        percent = per_w * 1000 * 100 / 4  # of four nodes, a thousand times a watt
        assert watt["mean_gain_percent_per_kw"][name] == pytest.approx(percent)


def test_groups_together_do_as_much_work_as_is_said(monkeypatch) -> None:
    given, solve = [], groups.frontier

    def noted(watts, value, keep, limit, most, **more):
        given.append(most)
        return solve(watts, value, keep, limit, most, **more)

    monkeypatch.setattr(groups, "frontier", noted)
    watts, value = np.tile([1.0, 2.0], (6, 1)), np.tile([0.0, 1.0], (6, 1))
    level = Level(np.array([0, 0, 0, 0, 1, 1]), np.array([9.0, 9.0]))
    groups.grouped(watts, value, [level])
    assert given == pytest.approx([groups.MOST_WORK * 4 / 6, groups.MOST_WORK * 2 / 6])


def test_sums_take_the_additions_allowed_and_not_one_more() -> None:
    watts, value = np.array([[0.0, 10.1], [0.0, 20.2]]), np.array([[0.0, 1.0], [0.0, 5.0]])
    enough = pareto._SORTING * (1 * 2 + 2 * 2)
    kept = [np.array([0, 1])] * 2
    assert pareto.sums(watts, value, kept, 25.0, enough, None) is not None
    assert pareto.sums(watts, value, kept, 25.0, enough - 1, None) is None


def test_few_changes_on_a_large_fleet_are_searched_for_without_a_proof_each(monkeypatch) -> None:
    proofs, prove = [], allocate.improve_exactly

    def noted(*given, **more):
        proofs.append(1)
        return prove(*given, **more)

    monkeypatch.setattr(allocate, "improve_exactly", noted)
    n = change_limit.SMALL + 1
    watts = np.tile([100.0, 200.0], (n, 1))
    value = np.column_stack([np.zeros(n), np.linspace(0.1, 1.0, n)])
    stays = np.tile([True, False], (n, 1))
    level = allocate.whole(n, 100.0 * n + 2_000.0)
    assert change_limit.at_most(watts, value, [level], stays, 5).choice.nonzero()[0].tolist() == [
        *range(n - 5, n)
    ]
    assert len(proofs) == 1


def test_those_that_leave_a_queue_do_not_stay_in_it() -> None:
    async def run() -> None:
        queue = DispatchQueue(servers=1, in_flight=1)

        async def wait() -> None:
            async with queue.place(1.0):
                pass

        async with queue.place(0.0):
            waiting = [asyncio.ensure_future(wait()) for _ in range(301)]
            await asyncio.sleep(0)
            for left, task in zip(range(300, -1, -1), waiting, strict=True):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                assert queue.waiting == left
                assert queue.waiting <= len(queue._line._heap) <= 2 * left + 100

    asyncio.run(run())


def test_the_histogram_of_waits_counts_each_wait_up_to_every_edge() -> None:
    counters = ProxyCounters()
    for seconds in (0.005, 0.01, 0.5, 1000.0):
        counters.waited(seconds)
    lines = dict(x.rsplit(" ", 1) for x in counters.text({}, {}).splitlines() if "_wait_" in x)
    name = "rheostat_proxy_wait_seconds"
    buckets = [
        lines[f'{name}_bucket{{le="{edge}"}}'] for edge in ("0.01", "0.1", "1", "10", "100", "+Inf")
    ]
    assert buckets == ["2", "2", "3", "3", "3", "4"]
    assert sum(x.startswith(f"{name}_bucket") for x in lines) == len(EDGES_S) + 1
    assert (lines[f"{name}_sum"], lines[f"{name}_count"]) == ("1000.515", "4")


@pytest.mark.parametrize(("asked", "most"), [
    ({"max_tokens": 20}, 20), ({"max_tokens": 0.5}, 0.5),
    ({"max_tokens": 20, "max_completion_tokens": 7}, 7), ({}, None),
    *(({"max_tokens": x}, None) for x in (None, True, "20", [20], 0, -1, float("nan"), 10**400)),
])  # fmt: skip
def test_an_answer_is_cut_off_at_a_length_asked_for_and_at_nothing_else(asked, most) -> None:
    given = parsed(bytearray(json.dumps({"prompt": "hello", **asked}).encode()))
    assert (given.prompt, given.most_tokens) == ("hello", most)
    assert np.isfinite(ServiceOrder().key(given.prompt, 0.0, given.most_tokens))


def test_the_order_of_a_queue_holds_after_many_have_left_it() -> None:
    async def run() -> None:
        queue, served = DispatchQueue(servers=1, in_flight=1), []

        async def wait(key: float) -> None:
            async with queue.place(key):
                served.append(key)

        async with queue.place(0.0):
            keys = np.random.default_rng(0).permutation(300).astype(float).tolist()
            waiting = {key: asyncio.ensure_future(wait(key)) for key in keys}
            await asyncio.sleep(0)
            for key in keys[:220]:
                waiting[key].cancel()
            await asyncio.wait([waiting[key] for key in keys[:220]])
            assert len(queue._line._heap) < 300
        await asyncio.gather(*(waiting[key] for key in keys[220:]))
        assert served == sorted(keys[220:])

    asyncio.run(run())
