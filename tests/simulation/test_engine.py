"""The compiled engines against the plain oracle, and the invariants a schedule must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import BACKFILLING, OVERDUE, batch_policy
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS, PriorityFunction
from rheostat.errors import DataError
from rheostat.simulation.engine import running_jobs as busy
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.simulate_site import simulate_site
from tests.simulation.conftest import trace
from tests.simulation.oracle import oracle

HOW = [(semantics, ties) for semantics in ("textbook", "cqsim") for ties in ("event", "batch")]
FORGETFUL = sorted(n for n, o in PRIORITY_FUNCTIONS.items() if o.factors is None)


@st.composite
def workloads(draw, most=14, overdue=True):
    """(submit, run, procs, request, machine), with many ties; requests may be too short.

    A job that runs 0 s may have asked for none: then the estimate is 0 s, which scores count as 1.
    """
    n = draw(st.integers(1, most))
    size = draw(st.integers(1, 6))
    submit = sorted(draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)))
    run = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    procs = draw(st.lists(st.integers(1, size), min_size=n, max_size=n))
    more = draw(st.lists(st.integers(-2 if overdue else 0, 6), min_size=n, max_size=n))
    ask = [max(r > 0, r + m) for r, m in zip(run, more, strict=True)]
    return [np.array(v) for v in (submit, run, procs, ask)] + [size]


@settings(max_examples=300)
@example(
    load=[np.zeros(12, int), np.array([0] * 6 + [1, 3, 0, 0, 0, 3]), np.array([1] * 9 + [2, 1, 1]),
          np.array([1] * 7 + [3, 1, 1, 1, 2]), 2],
    name="ljf", backfill="conservative", how=("textbook", "event"), overdue="past",
)  # fmt: skip
@given(
    workloads(), st.sampled_from(FORGETFUL), st.sampled_from(BACKFILLING), st.sampled_from(HOW),
    st.sampled_from(OVERDUE),
)  # fmt: skip
def test_every_engine_starts_jobs_when_the_oracle_does(load, name, backfill, how, overdue):
    submit, run, procs, ask, size = load
    semantics, ties = how
    rule = batch_policy(f"{name}+{backfill}", semantics=semantics, ties=ties, overdue=overdue)
    found = simulate_run(trace(submit, run, procs, ask), rule, size)
    since = submit - submit[0]

    def score(now, j, _):
        r = float(max(ask[j], 1))
        return rule.order.score(float(now - submit[0]), float(since[j]), r, float(procs[j]))

    expected = oracle(
        submit, run, procs, size,
        planned=run if semantics == "cqsim" else ask, booked=ask,
        backfill=backfill, score=score, batch=ties == "batch", overdue=overdue,
    )  # fmt: skip
    assert found.jobs.numpy("start_s").tolist() == expected.tolist()


@pytest.mark.parametrize("backfill", ["", "+easy", "+conservative"])
@pytest.mark.parametrize("site", [False, True])
@pytest.mark.parametrize(
    ("name", "expected"),
    [  # at 10 s two jobs have waited 6 and 9 s, with estimates of 1 and 2 s; at 11 or 12 s there is
        ("wfp3", [0, 13, 10, 11, 20]),  # 216 against 91, then 125 against 1 of the job without
        ("lxf", [0, 13, 12, 10, 20]),  # 7 / 10 against 11 / 10, then 9 / 10 against 3 / 10
        ("unicef", [0, 13, 10, 11, 20]),  # 6 against 4.5, then 5 against 1
    ],
)
def test_an_estimate_of_no_seconds_counts_as_one(name, expected, backfill, site):
    """Also at wait 0, which is 0 / 0 for the last job."""
    jobs = trace([0, 10, 4, 1, 20], [10, 0, 1, 2, 0], [2] * 5, [10, 0, 1, 2, 0])
    rule = batch_policy(name + backfill)
    run = simulate_site(jobs, rule, Machine(2)) if site else simulate_run(jobs, rule, 2)
    assert run.jobs.numpy("start_s").tolist() == expected


@settings(max_examples=200)
@given(workloads(most=8), st.sampled_from(HOW), st.sampled_from(OVERDUE))
def test_easy_and_conservative_agree_while_two_jobs_wait(load, how, overdue):
    """One reservation and one candidate: whatever overdue means, it means the same to both."""
    *columns, size = load
    submit, rules = columns[0], [batch_policy(b, semantics=how[0], ties=how[1], overdue=overdue)
                                 for b in BACKFILLING[1:]]  # fmt: skip
    one, two = (simulate_run(trace(*columns), r, size).jobs.numpy("start_s") for r in rules)
    depth = [((submit <= s) & (one >= s)).sum() for s in np.concatenate([submit, one])]
    if max(depth) <= 2:
        assert one.tolist() == two.tolist()


# four processors: a job of two outlives its estimate of 10 s, a head of three waits for it
OVERDUE_CASE = [[0, 0, 1, 20, 20], [100, 90, 50, 5, 500], [2, 1, 3, 1, 1], [10, 200, 50, 5, 500]]


@pytest.mark.parametrize("rule", ["easy", "conservative", "lxf+easy"])
def test_when_an_overdue_job_is_expected_to_end_decides_what_may_pass(rule):
    """At 20 s one processor is free; jobs of 5 s and 500 s could take it.

    The first job was expected to end at 10 s, which leaves none over for them: in the past, or now,
    they wait.  With 60 s more it is expected at 70 s: the short one ends before that.
    """
    jobs = trace(*OVERDUE_CASE)
    found = {
        how: simulate_run(jobs, batch_policy(rule, overdue=how), 4).jobs.numpy("start_s").tolist()
        for how in OVERDUE
    }
    assert found["extend"][3] == 20
    assert found["past"][3] > 20
    assert found["now"][3] > 20
    assert all(f[4] > 20 for f in found.values())


@pytest.mark.parametrize("rule", ["easy", "conservative", "lxf+easy"])
def test_what_is_left_over_counts_all_overdue_jobs_only_where_they_are_expected_now(rule):
    """Two jobs are overdue, since 10 and 12 s; a head of two waits for the first of them.

    In the past nothing is left over when the first is gone; now, both are expected to be.
    """
    jobs = trace([0, 0, 0, 1, 20], [100] * 5, [1, 2, 1, 2, 1], [10, 12, 200, 200, 300])
    past, now = (
        simulate_run(jobs, batch_policy(rule, overdue=how), 5).jobs.numpy("start_s").tolist()
        for how in ("past", "now")
    )
    assert past == [0, 0, 0, 100, 100]
    assert now == [0, 0, 0, 100, 20]


@settings(max_examples=150)
@given(
    workloads(most=30), st.sampled_from(sorted(PRIORITY_FUNCTIONS)), st.sampled_from(BACKFILLING)
)
def test_capacity_and_submission_are_respected(load, name, backfill):
    submit, run, procs, ask, size = load
    jobs = simulate_run(trace(submit, run, procs, ask), f"{name}+{backfill}", size).jobs
    start, end = jobs.numpy("start_s"), jobs.numpy("end_s")
    assert (start >= submit).all()
    assert (end == start + run).all()
    for moment in np.unique(start):
        assert procs[(start <= moment) & (moment < end)].sum() <= size


@settings(max_examples=150)
@given(workloads(most=30, overdue=False))
def test_easy_conserves_work(load):
    """No waiting job could have run through, from now on, without touching what was promised."""
    submit, run, procs, _, size = load
    start = simulate_run(trace(submit, run, procs), "easy", size).jobs.numpy("start_s")
    for moment in np.unique(np.concatenate([start, start + run])):
        busy = procs[(start <= moment) & (moment < start + run)].sum()
        waiting = [j for j in range(len(submit)) if submit[j] <= moment < start[j]]
        assert not waiting or procs[waiting[0]] > size - busy


@settings(max_examples=150)
@given(workloads(most=12, overdue=False))
def test_a_backfilled_job_never_delays_the_promise(load):
    """With true estimates the head starts no later than when it first became head, it was told.

    One pass per time stamp and no empty runs: what starts at the moment of the promise was then
    either before it in the queue, or backfilled with the promise given.
    """
    submit, run, procs, _, size = load
    run = np.maximum(run, 1)
    rule = batch_policy("easy", ties="batch")
    done = simulate_run(trace(submit, run, procs), rule, size, estimates="perfect").jobs
    start = done.numpy("start_s")
    order = np.arange(len(submit))
    for j in order:
        before = order[:j]
        since = max(submit[j], start[before].max(initial=0))
        if start[j] <= since:
            continue
        running = [
            i for i in order
            if start[i] <= since < start[i] + run[i] and (i < j or start[i] < since)
        ]  # fmt: skip
        ends = sorted({since, *(start[i] + run[i] for i in running)})
        promise = next(
            e for e in ends
            if sum(procs[i] for i in running if start[i] + run[i] > e) + procs[j] <= size
        )  # fmt: skip
        assert start[j] <= promise


def test_equal_jobs_may_change_places():
    rng = np.random.default_rng(0)
    submit = np.sort(rng.integers(0, 50, 40)) // 10 * 10
    run, procs = np.full(40, 7), np.full(40, 2)
    one = simulate_run(trace(submit, run, procs), "sjf+easy", 6).jobs.numpy("start_s")
    assert one.tolist() == sorted(one.tolist())


def test_any_callable_is_an_order():
    rng = np.random.default_rng(1)
    jobs = trace(np.sort(rng.integers(0, 99, 60)), rng.integers(1, 30, 60), rng.integers(1, 5, 60))
    names = {"shortest": 1}

    def plain(now, submit, estimate, procs):
        return estimate * len(names)  # a dict: numba refuses, Python does not

    fixed = simulate_run(jobs, "sjf+easy", 5).jobs.numpy("start_s")
    moving = batch_policy(PriorityFunction("compiled", lambda now, s, r, n: r, fixed=False))
    assert simulate_run(jobs, moving, 5).jobs.numpy("start_s").tolist() == fixed.tolist()
    assert simulate_run(jobs, plain, 5).jobs.numpy("start_s").tolist() == fixed.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("span", "size"), [(0, 300), (4000, 300), (900, 1500)])
@pytest.mark.parametrize("rule", ["easy", "sjf+easy", "saf+easy", "lxf+easy", "conservative"])
def test_a_long_queue_and_many_running_jobs(rule, span, size):
    """Blocks split, empty and are packed again; the index over a deep queue comes and goes.

    Running jobs go from rows into blocks and back where 1,500 processors hold 250 of them.
    """
    rng = np.random.default_rng(2)
    n = 500 if rule == "lxf+easy" else 3000  # the oracle sorts the queue anew
    submit = np.sort(rng.integers(0, span + 1, n))
    run, procs = rng.integers(1, 900, n), rng.integers(1, 120, n) // 10 + 1
    ask = run + rng.integers(0, 600, n)
    found = simulate_run(trace(submit, run, procs, ask), rule, size).jobs.numpy("start_s")
    if rule == "conservative":
        assert (found >= submit).all()
        return
    of = batch_policy(rule).order.score
    score = (
        (lambda now, j, _: of(now, submit[j], float(ask[j]), float(procs[j])))
        if "+" in rule
        else None
    )
    expected = oracle(submit, run, procs, size, planned=ask, booked=ask, score=score)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("by_expected", [False, True])
def test_running_jobs_end_in_order_however_many_they_are(by_expected):
    """Against a sorted list: true ends, ties, expected ends, overdue jobs, through the blocks."""
    rng = np.random.default_rng(5)
    most = 2 * busy.FEW
    start, procs = np.zeros(4 * most), rng.integers(1, 9, 4 * most)
    booked = rng.integers(1, 60, 4 * most).astype(float)
    few, ends, running = busy.idle(most)
    left = []  # (true end, expected end or 0, job)
    for j, end in enumerate(rng.integers(1, 40, 4 * most).astype(float)):
        busy.begin(few, ends, running, j, end, booked[j], procs, by_expected)
        left.append((end, booked[j] if by_expected else 0.0, j))
        full = len(left) == most or (len(left) > 9 and rng.random() < 0.3)
        late = busy.overdue(few, running, 3.0)
        assert (late >= 0) == any(booked[k] < 3.0 for _, _, k in left)
        if late >= 0:
            booked[late] = 70.0 + late
            busy.postpone(few, running, late, booked[late], procs)
        for _ in range(len(left) - 9 if len(left) == most else int(full)):
            left.sort()
            assert busy.next_end(few, ends) == left[0][0]
            assert busy.finish(few, ends, running, start, booked, by_expected) == left.pop(0)[2]
        need = int(rng.integers(1, 400))
        least = (-np.inf, 20.0)[j % 2]
        due = sorted({max(booked[k], least) for _, _, k in left})
        over = [sum(procs[k] for _, _, k in left if booked[k] <= t) - need for t in due]
        known = [(t, o) for t, o in zip(due, over, strict=True) if o >= 0]
        told = busy.shadow(few, running, procs, 0, need, least)
        assert told == (known[0] if known else (np.inf, 0))


def test_a_score_that_fails_or_is_no_number_is_an_error_and_never_a_schedule():
    jobs = trace([0, 1, 2], [9, 9, 9], [2, 2, 1])

    def broken(now, submit, estimate, procs):
        raise KeyError("weights")

    def nowhere(now, submit, estimate, procs):
        return float("nan") if submit else 0.0

    for rule in (broken, PriorityFunction("wide", lambda now, s, r: 0.0, fixed=False)):
        with pytest.raises((KeyError, TypeError)):
            simulate_run(jobs, rule, 2)
    for rule in (nowhere, PriorityFunction("logs", lambda now, s, r, n: np.log(-r), fixed=True)):
        with pytest.raises(DataError, match="gave no number for"):
            simulate_run(jobs, rule, 2)


def test_a_callable_backfills_as_far_as_asked_and_the_trace_says_the_machine():
    """The order that the callable states is the one that the name states, however it backfills."""
    import rheostat as rh
    from rheostat.core.jobs import JobTable, Note

    rng = np.random.default_rng(0)
    run = rng.integers(1, 900, 60).astype(float)
    jobs = trace(np.sort(rng.integers(0, 4000, 60)), run, rng.integers(1, 9, 60), 2 * run)
    jobs = JobTable(jobs.frame, jobs.schema, (Note("header MaxProcs: 8"),))

    def mine(now, submit_s, estimate_s, procs):
        return estimate_s

    seen = []
    for far in BACKFILLING:
        told = rh.simulate(jobs, mine, backfill=far).schedule.frame["start_s"].to_list()
        name = "sjf" if far == "none" else f"sjf+{far}"
        assert told == rh.simulate(jobs, name, 8).schedule.frame["start_s"].to_list()
        assert batch_policy("sjf", backfill=far) == batch_policy(name)
        seen.append(told)
    assert seen[0] != seen[1] != seen[2]
    with pytest.raises(DataError, match=r"sjf\+easy: it says itself how far it backfills"):
        rh.simulate(jobs, "sjf+easy", backfill="none")
    with pytest.raises(DataError, match="expected one of none, easy, conservative, got 'far'"):
        rh.simulate(jobs, mine, backfill="far")
