"""Power: energy adds up, closed forms of a few jobs, and a cap that holds at every event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.machine import Machine, Partition
from rheostat.core.outcome import Outcome
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation.power import J_PER_KWH, integral
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import trace
from tests.simulation.sites import any_case, case


def _run(c):
    try:
        return simulate_run(c.jobs, c.policy, c.machine, alternatives=c.alternatives)
    except DataError as error:
        if "no row of the trace can run" in str(error):
            return None
        raise


def by_hand(run) -> dict[float, float]:
    """The site's watts right after each event, from the table alone; no sleep, no failures."""
    parts = {p.name: p for p in run.machine.parts}
    jobs = run.jobs.frame
    events = sorted({*jobs["start_s"], *jobs["end_s"]})
    rows = jobs.to_dicts()
    drawn = {}
    for t in events[:-1]:
        on = [r for r in rows if r["start_s"] <= t < r["end_s"]]
        total = sum(p.procs * p.idle_w + p.gpus * p.gpu_idle_w for p in parts.values())
        for r in on:
            part = parts[r["partition"]]
            cards = r["gpus"] if any(p.gpus for p in parts.values()) else 0
            total += r["power_w"] - r["procs"] * part.idle_w - cards * part.gpu_idle_w
        drawn[t] = total
    return drawn


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_energy_is_the_sum_of_its_parts_and_the_integral_of_the_power(seed, n):
    found = _run(any_case(seed, n=n, span=2 * n))
    if found is None:
        return
    books = found.account
    assert books.total_j == pytest.approx(sum(books.energy_j.values()), rel=1e-9)
    assert books.total_j == pytest.approx(integral(books.times, books.watts), rel=1e-9, abs=1e-6)
    done = books.runs.killed == 0
    mine = (books.runs.watts * (books.runs.end_s - books.runs.start_s))[done].sum()
    assert books.energy_j["jobs"] == pytest.approx(mine, rel=1e-9, abs=1e-6)
    assert all(v >= -1e-6 for v in books.energy_j.values())


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from(("limit", "never")))
def test_the_cap_holds_at_every_event(seed, n, kill):
    """Of jobs that end within their limit; or that are made to."""
    c = case(seed, "cap", "partitions", "gpus", *(("limit",) if kill == "limit" else ()),
             *(("sleep",) if seed % 2 else ()), *(("ways",) if seed % 3 else ()),
             *(("windows",) if seed % 5 == 0 else ()), n=n, span=2 * n)  # fmt: skip
    if kill == "never":
        limit = np.maximum(c.jobs.numpy("time_limit_s"), c.jobs.numpy("runtime_s"))
        c = replace(c, jobs=c.jobs.with_columns([], time_limit_s=limit))
    found = _run(c)
    if found is None:
        return
    books = found.account
    cap = c.machine.cap_w
    if not len(books.times):  # all jobs end as they start
        return
    assert books.cap_exceeded_s == books.cap_excess_w == 0
    moments = np.union1d(books.times[:-1], cap.changes(books.times[0], books.times[-2]))
    watts = books.watts[np.searchsorted(books.times, moments, side="right") - 1]
    assert (watts <= cap.at(moments) + 1e-6).all()
    if not seed % 2:
        for t, drawn in by_hand(found).items():
            assert drawn <= cap.at(np.array([t]))[0] + 1e-6
            assert drawn == pytest.approx(books.watts[np.searchsorted(books.times, t, "right") - 1])


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_a_constant_cap_holds_even_when_jobs_outlive_their_limit(seed):
    c = case(seed, "cap", "partitions", n=25, span=40)
    highest = Series.of(c.machine.cap_w.values[0])
    found = _run(replace(c, machine=replace(c.machine, cap_w=highest)))
    assert found is None or found.account.cap_exceeded_s == 0


def test_closed_form_of_two_jobs_with_tariff_and_carbon():
    machine = Machine(
        4, idle_w=50.0, busy_w=100.0,
        tariff_per_kwh=Series((0.0, 12.0), (0.1, 0.3)),
        carbon_g_per_kwh=Series((0.0, 5.0), (400.0, 100.0), repeat_s=10.0),
    )  # fmt: skip
    books = simulate_run(trace([0, 0], [10, 5], [2, 4]), "easy", machine, power_w=None).account
    assert dict(books.energy_j) == {"jobs": 2 * 100 * 10 + 4 * 100 * 5, "idle": 2 * 50 * 10}
    assert (books.peak_w, books.times.tolist()) == (400.0, [0.0, 10.0, 15.0])
    assert books.watts.tolist() == [300.0, 400.0, 0.0]
    assert books.cost == pytest.approx((300 * 10 * 0.1 + 400 * 2 * 0.1 + 400 * 3 * 0.3) / J_PER_KWH)
    carbon = 300 * 5 * 400 + 300 * 5 * 100 + 400 * 5 * 400
    assert books.carbon_g == pytest.approx(carbon / J_PER_KWH)


def test_closed_form_of_sleep_and_waking():
    part = Partition(2, "a", idle_w=50.0, busy_w=100.0, sleep_after_s=3.0, sleep_w=5.0, wake_s=2.0,
                     wake_w=80.0)  # fmt: skip
    jobs = trace([0, 10], [1, 4], [1, 2])
    found = simulate_run(jobs, "easy", Machine(2, partitions=(part,)), power_w=None)
    assert found.jobs.frame["start_s"].to_list() == [0.0, 12.0]
    assert dict(found.account.energy_j) == {
        "jobs": 1 * 100 * 1 + 2 * 100 * 4,
        "idle": 3 * 50 + 3 * 50,
        "wake": 2 * 80 * 2,
        "sleep": (7 + 6) * 5,
    }


def test_processors_that_idled_least_are_taken_first():
    part = Partition(2, "a", idle_w=50.0, busy_w=100.0, sleep_after_s=3.0, wake_s=2.0, wake_w=80.0)
    jobs = trace([0, 5], [4, 1], [1, 1])
    found = simulate_run(jobs, "easy", Machine(2, partitions=(part,)))
    assert found.jobs.frame["start_s"].to_list() == [0.0, 5.0]  # the other one sleeps since 3


def capped(values, power, at=(0.0,), repeat=0.0, **facts):
    """One job of 8 s on 4 processors, submitted at 4, under a cap; idle draws nothing."""
    machine = Machine(4, idle_w=0.0, cap_w=Series(at, values, repeat), **facts)
    jobs = table({**trace([4], [8], [4]).frame.to_dict(), "power_w": [power]})
    return simulate_run(jobs, "easy", machine)


def test_a_job_waits_for_hours_in_which_its_whole_run_fits():
    found = capped((400.0, 200.0), 400.0, (0.0, 10.0), 20.0)
    assert found.jobs.frame["start_s"].to_list() == [20.0]  # 4 + 8 is beyond 10
    assert found.clairvoyant  # it was planned with its measured power
    assert capped((400.0, 200.0), 200.0, (0.0, 10.0), 20.0).jobs.frame["start_s"].to_list() == [4.0]


def test_a_job_that_no_day_has_room_for_is_left_out():
    """Eight seconds at 400 W, and the cap allows that for five at a time, for ever."""
    machine = Machine(4, idle_w=0.0, busy_w=100.0, cap_w=Series((0.0, 5.0), (400.0, 200.0), 10.0))
    found = simulate_run(trace([0, 1, 2], [4, 8, 8], [4, 4, 2]), "easy", machine).jobs
    assert found.frame["job_id"].to_list() == [1, 3]
    assert found.frame["start_s"].to_list() == [0.0, 4.0]
    assert any("never fits" in n.message for n in found.notes)


def test_a_job_above_every_cap_is_left_out():
    with pytest.raises(DataError, match="watts"):
        capped((300.0,), 400.0)
    with pytest.raises(DataError, match="busy_w"):
        capped((300.0,), float("nan"))


def test_planning_with_predicted_watts_sees_no_measured_ones():
    jobs = table({**trace([0, 0], [8, 8], [2, 2]).frame.to_dict(), "power_w": [300.0, 300.0]})
    machine = Machine(4, idle_w=0.0, cap_w=Series.of(400.0))
    known = simulate_run(jobs, "easy", machine)
    assert (known.clairvoyant, known.jobs.frame["start_s"].to_list()) == (True, [0.0, 8.0])
    guess = Outcome({"power_w": np.array([[150.0, 180.0], [170.0, 200.0]])})
    told = simulate_run(jobs, "easy", machine, power_w=guess)
    assert (told.clairvoyant, told.jobs.frame["start_s"].to_list()) == (False, [0.0, 0.0])
    assert (told.account.cap_exceeded_s, told.account.cap_excess_w) == (8.0, 200.0)
    rated = replace(machine, busy_w=100.0)
    bare = trace([0, 0], [8, 8], [2, 2])
    assert simulate_run(bare, "easy", rated).account.total_j == 4 * 100 * 8


def test_idle_power_counts_against_the_cap():
    machine = Machine(4, idle_w=50.0, busy_w=90.0, cap_w=Series.of(100.0))
    with pytest.raises(DataError, match="drawn when idle"):
        simulate_run(trace([0], [1], [1]), "easy", machine)
