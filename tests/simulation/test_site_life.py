"""Life at a site: who waits for whom, when nodes are away, what a failure or a limit ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.machine import Failure, Machine, Rules, Window
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.timeline import steps
from tests.simulation.conftest import trace
from tests.simulation.sites import case


def _run(c):
    return simulate_run(c.jobs, c.policy, c.machine, alternatives=c.alternatives)


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.booleans())
def test_nobody_starts_before_what_it_waits_for(seed, accidents):
    c = case(seed, "links", "partitions", *(("failures",) if accidents else ()), n=30, span=40)
    rows = {r["job_id"]: r for r in _run(c).jobs.frame.to_dicts()}
    for row in rows.values():
        before = rows.get(row["preceding_job"])
        if before is not None:
            assert row["start_s"] >= before["end_s"] + row["think_s"]
            assert row["eligible_s"] == max(row["submit_s"], before["end_s"] + row["think_s"])
        else:
            assert row["eligible_s"] == row["submit_s"]


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_no_more_tasks_of_an_array_run_than_it_allows(seed):
    found = _run(case(seed, "links", n=40, span=20))
    for array in found.jobs.frame["array_id"].drop_nulls().unique():
        rows = found.jobs.frame.filter(found.jobs.frame["array_id"] == array)
        begin, end = rows["start_s"].to_numpy(), rows["end_s"].to_numpy()
        _, running = steps(begin, end, np.ones(len(rows)))
        assert running.max() <= 2


def test_arrays_and_dependencies_count_only_where_the_site_says_so():
    c = case(5, "links", n=30, span=20)
    free = replace(c, machine=replace(c.machine, rules=Rules()))
    bare = replace(free, jobs=c.jobs.select([n for n in c.jobs.columns if n[:5] not in
                                             ("prece", "think", "array")]))  # fmt: skip
    assert _run(free).jobs.numpy("start_s").tolist() == _run(bare).jobs.numpy("start_s").tolist()


def test_a_circle_of_jobs_is_an_error_and_a_stranger_a_note():
    columns = trace([0, 1], [2, 2], [1, 1]).frame.to_dict()
    machine = Machine(4, rules=Rules(dependencies=True))
    with pytest.raises(DataError, match="circle"):
        simulate_run(table({**columns, "preceding_job": [2, 1]}), "easy", machine)
    found = simulate_run(table({**columns, "preceding_job": [None, 9]}), "easy", machine)
    assert found.jobs.frame["start_s"].to_list() == [0.0, 1.0]
    assert any("preceding job is not in the trace" in n.message for n in found.jobs.notes)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.booleans())
def test_planned_jobs_never_overlap_maintenance(seed, kill):
    c = case(seed, "windows", "partitions", *(("limit",) if kill else ()), n=30, span=40)
    if not kill:
        limit = np.maximum(c.jobs.numpy("time_limit_s"), c.jobs.numpy("runtime_s"))
        c = replace(c, jobs=c.jobs.with_columns([], time_limit_s=limit))
    found = _run(c)
    runs, windows = found.account.runs, c.machine.maintenance
    assert found.account.overrun_proc_s == 0
    for k, part in enumerate(c.machine.parts):
        mine = runs.part == k
        for t in {t for w in windows for t in (w.from_s, w.to_s - 0.5)} | set(runs.start_s[mine]):
            on = [w for w in windows if w.partition in ("", part.name) and w.from_s <= t < w.to_s]
            away = sum(w.procs or part.procs for w in on)
            busy = runs.procs[mine & (runs.start_s <= t) & (t < runs.end_s)].sum()
            assert busy <= max(part.procs - away, 0)


def test_a_job_that_does_not_fit_before_maintenance_waits_and_a_short_one_does_not():
    machine = Machine(4, maintenance=(Window(10.0, 20.0),))
    jobs = trace([0, 0, 0], [8, 5, 3], [4, 4, 4], [8, 5, 3])
    assert simulate_run(jobs, "easy", machine).jobs.frame["start_s"].to_list() == [0.0, 20.0, 25.0]
    late = trace([0, 9], [8, 1], [4, 4])
    assert simulate_run(late, "easy", machine).jobs.frame["start_s"].to_list() == [0.0, 9.0]


def test_a_job_that_outlives_its_plan_runs_into_maintenance_and_it_is_counted():
    machine = Machine(4, maintenance=(Window(10.0, 20.0),))
    found = simulate_run(trace([0], [13], [3], [9]), "easy", machine)
    assert found.account.overrun_proc_s == 3 * 3


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_a_failure_kills_requeues_and_is_accounted(seed):
    c = case(seed, "failures", "partitions", n=30, span=40)
    found = _run(c)
    runs, tries = found.account.runs, c.machine.rules.requeue
    at = {f.at_s for f in c.machine.failures}
    assert set(runs.end_s[runs.killed]) <= at
    times = np.bincount(runs.job[runs.killed], minlength=len(c.jobs))
    rows = found.jobs.frame
    assert rows["restarts"].to_list() == times.tolist()
    assert (times <= tries + 1).all()
    assert ((rows["state"] == "NODE_FAIL").to_numpy() == (times > tries)).all()
    finished = rows.filter(rows["state"] != "NODE_FAIL")
    assert (finished["end_s"] - finished["start_s"]).to_list() == finished["runtime_s"].to_list()
    assert len(finished) == len(c.jobs) - (times > tries).sum()
    lost = ((runs.end_s - runs.start_s) * runs.killed).sum()
    assert rows["lost_s"].sum() == pytest.approx(lost)
    assert found.account.lost_proc_s == pytest.approx(
        ((runs.end_s - runs.alloc_s) * runs.procs)[runs.killed].sum()
    )


def down(requeue):
    machine = Machine(4, idle_w=10.0, busy_w=100.0, failures=(Failure(4.0, 3.0),),
                      rules=Rules(requeue=requeue))  # fmt: skip
    return simulate_run(trace([0, 0], [10, 2], [4, 3]), "fcfs", machine)


def test_closed_form_of_a_failure():
    found = down(1)
    rows = found.jobs.frame
    assert rows["start_s"].to_list() == [7.0, 17.0]  # one processor is away until 7
    assert rows["restarts"].to_list() == [1, 0]
    assert rows["lost_s"].to_list() == [4.0, 0.0]
    assert found.account.energy_j["lost"] == 4 * 100 * 4
    assert found.account.energy_j["idle"] == 3 * 10 * 3 + 1 * 10 * 2
    assert (found.account.restarts, found.account.lost_proc_s) == (1, 16.0)


def test_without_another_try_the_job_is_over():
    rows = down(0).jobs.frame
    assert rows["state"].to_list() == ["NODE_FAIL", "COMPLETED"]
    assert rows["end_s"].to_list() == [4.0, 6.0]
    assert rows["runtime_s"].to_list() == [4.0, 2.0]


def test_a_failure_on_idle_processors_kills_nobody():
    machine = Machine(4, failures=(Failure(4.0, 30.0, procs=4),))
    found = simulate_run(trace([0, 5], [2, 2], [4, 4]), "fcfs", machine)
    assert found.jobs.frame["start_s"].to_list() == [0.0, 34.0]
    assert found.account.restarts == 0


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_limit_ends_a_run(seed):
    c = case(seed, "limit", "sleep", "partitions", n=25, span=30)
    rows = _run(c).jobs.frame
    cut = rows["state"] == "TIMEOUT"
    asked = c.jobs.numpy("runtime_s") > c.jobs.numpy("time_limit_s")
    assert cut.to_list() == asked.tolist()
    kept = np.minimum(c.jobs.numpy("runtime_s"), c.jobs.numpy("time_limit_s"))
    assert rows["runtime_s"].to_list() == kept.tolist()
    assert (rows["end_s"] - rows["start_s"]).to_list() == kept.tolist()


def test_a_killed_run_is_noted_as_such():
    machine = Machine(4, rules=Rules(kill="limit"))
    found = simulate_run(trace([0], [9], [1], [5]), "easy", machine).jobs
    assert [n.message for n in found.notes] == ["ran longer than requested: ended at the limit"]


def test_tasks_are_known_by_their_number_and_the_site_may_limit_them():
    columns = trace([0] * 4, [5] * 4, [1] * 4).frame.to_dict()
    jobs = table({**columns, "job_id": ["7_1", "7_2", "7_3", "8"]})
    machine = Machine(4, rules=Rules(arrays=True, array_limit=2))
    assert simulate_run(jobs, "easy", machine).jobs.frame["start_s"].to_list() == [0, 0, 5, 0]
