"""Series are exact, pictures stay small, the page holds all of it and fetches nothing."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.vocabulary import VOCABULARY
from rheostat.explanation.formats.html import figure, page
from rheostat.explanation.formats.text import render
from rheostat.explanation.pictures.draw import drawing
from rheostat.explanation.schedules.schedule import flat_grid, schedule_report, schedule_text
from rheostat.simulation.report_facts import facts
from rheostat.simulation.report_series import CHANGES, changes, picture
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.timeline import even_edges, mean_in, peak_in, place, steps
from tests.simulation.conftest import trace

PROCS = 64


def jobs_of(n, seed=0):
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.uniform(0, 700 * n, n)).round()
    run = rng.lognormal(7, 1.5, n).round()
    jobs = trace(submit, run, rng.integers(1, PROCS + 1, n), run * rng.uniform(1, 5, n).round())
    return jobs.with_columns([VOCABULARY["user"]], user=[f"u{i}" for i in rng.integers(0, 30, n)])


@pytest.fixture(scope="module")
def runs():
    jobs = jobs_of(800)
    return [simulate_run(jobs, p, PROCS) for p in ("easy", "sjf+easy", "fcfs")]


@pytest.fixture(scope="module")
def told(runs):
    return facts("somewhere/trace.swf", runs, {"estimates": "user", "semantics": "textbook"})


def test_bins_hold_the_integral_and_the_peak_of_the_steps():
    """Against a sum over jobs taken every second."""
    rng = np.random.default_rng(1)
    begin = rng.integers(0, 90, 60).astype(float)
    end = begin + rng.integers(0, 30, 60)
    weight = rng.integers(1, 9, 60).astype(float)
    clock = np.arange(0, 120)
    on = (begin[:, None] <= clock) & (clock < end[:, None])
    second = (weight[:, None] * on).sum(axis=0).reshape(12, 10)
    t, h = steps(begin, end, weight)
    edges = even_edges(0, 120, 12)
    assert mean_in(t, h, edges) == pytest.approx(second.mean(axis=1))
    assert peak_in(t, h, edges) == pytest.approx(second.max(axis=1))


def test_no_two_jobs_are_drawn_on_one_processor(runs):
    jobs = runs[0].jobs.rows(np.arange(300))
    start, end = jobs.numpy("start_s"), jobs.numpy("end_s")
    procs = jobs.numpy("procs").astype(int)
    pieces = place(start, end, procs)
    size = np.zeros(len(jobs), int)
    for job, low, count in pieces:
        size[job] += count
        assert 0 <= low <= low + count <= PROCS
    assert (size == procs).all()
    for i, (job, low, count) in enumerate(pieces):
        for other, bottom, more in pieces[:i]:
            together = start[job] < end[other] and start[other] < end[job]
            assert not (together and low < bottom + more and bottom < low + count)


def test_the_area_over_time_is_that_of_the_jobs(runs):
    shown = picture(runs)
    for run in runs:
        series = shown["series"][run.policy.name]
        area = (run.jobs.numpy("runtime_s") * run.jobs.numpy("procs")).sum()
        assert series["utilisation"].sum() * shown["bin_s"] * PROCS == pytest.approx(area)
        waited = run.jobs.numpy("wait_s").sum()
        assert series["queue"].sum() * shown["bin_s"] == pytest.approx(waited)
        assert series["utilisation"].max() <= 1 + 1e-12
    for found in shown["occupancy"].values():
        assert found["share"].sum(axis=0) == pytest.approx(
            next(iter(shown["series"].values()))["utilisation"]
            if found is shown["occupancy"]["easy"]
            else shown["series"]["fcfs"]["utilisation"]
        )
    assert shown["wait_pairs"]["jobs"].sum() == len(runs[0].jobs)


def test_changes_are_counted_in_their_class(runs):
    base = runs[0].jobs
    moved = np.resize([-1e5, -5000, -100, 0, 60, -60, 100, 5000, 1e5], len(base))
    other = base.with_columns((), wait_s=base.numpy("wait_s") + moved)
    found = changes(other, base) * len(base)
    exact = [np.isin(moved, v).sum() for v in ([-1e5], [-5000], [-100], [0, 60, -60], [100],
                                               [5000], [1e5])]  # fmt: skip
    assert found.tolist() == pytest.approx(exact)
    assert len(CHANGES) == 7


def test_energy_over_time_is_the_energy_of_the_jobs_and_the_idle_machine():
    jobs = jobs_of(200)
    watts = 100.0 + np.arange(200)
    jobs = jobs.with_columns([VOCABULARY["power_w"]], power_w=watts)
    run = simulate_run(jobs, "easy", Machine(PROCS, idle_w=10.0, busy_w=50.0))
    shown = picture([run])
    series, j = shown["series"]["easy"], run.jobs
    energy = (j.numpy("power_w") * j.numpy("runtime_s")).sum()
    busy = (j.numpy("procs") * j.numpy("runtime_s")).sum()
    span = shown["bin_s"] * len(shown["day"])
    assert series["power_w"].sum() * shown["bin_s"] == pytest.approx(
        energy + 10 * (PROCS * span - busy)
    )
    assert (series["peak_w"] >= series["power_w"] - 1e-6).all()
    assert series["peak_w"].max() == run.account.peak_w
    assert facts("t", [run])["policies"]["easy"]["power"]["energy_j"] == run.account.total_j


def test_power_is_drawn_against_the_cap():
    jobs = jobs_of(200)
    top = PROCS * 10.0 + 20_000.0
    cap = Series((0.0, 1800.0), (top, top - 2000.0), repeat_s=3600.0)
    run = simulate_run(jobs, "easy", Machine(PROCS, idle_w=10.0, busy_w=50.0, cap_w=cap))
    shown = picture([run])
    said = schedule_report(facts("t", [run]), shown)
    power = next(s for s in said.sections if s.title == "Power")
    assert power.chart.series[-1]["name"] == "cap"
    assert (top - 2000.0 <= shown["cap_w"] + 1e-6).all()
    assert (shown["cap_w"] <= top + 1e-6).all()
    assert "never exceeded" in power.sentences[0]
    shown["series"]["easy"] |= {"cap_exceeded_s": 60.0, "cap_excess_w": 1500.0}
    over = schedule_report(facts("t", [run]), shown)
    power = next(s for s in over.sections if s.title == "Power")
    assert power.sentences[0] == "easy: the cap is exceeded for 1m, by up to 1.5 kW."


def test_without_watts_no_power_is_drawn(runs, told):
    said = schedule_report(told, picture(runs))
    assert "Power" not in [s.title for s in said.sections]


def test_the_page_has_every_picture_and_fetches_nothing(runs, told):
    said = schedule_report(told, picture(runs))
    titles = [s.title for s in said.sections]
    for part in ("Policies", "Paired differences", "Utilisation", "Queue depth",
                 "Who holds the machine: easy", "Gantt chart, close-up: fcfs", "Wait by size",
                 "Wait by user", "Job by job"):  # fmt: skip
        assert part in titles
    text = page(said)
    assert not re.search(r"(src|href)\s*=\s*[\"']https?:", text)
    assert text.count('"kind": "cells"') == 3
    kinds = {s.chart.kind for s in said.sections if s.chart}
    assert kinds == {"time", "occupancy", "pairs", "gantt", "columns"}


def test_every_policy_is_drawn_and_told_from_the_others():
    """Nine policies: each is in each picture over time and by group, no two look alike."""
    names = ["easy", "fcfs", "sjf", "ljf", "saf", "sjf+easy", "saf+easy", "f1", "conservative"]
    runs = [simulate_run(jobs_of(60), p, PROCS) for p in names]
    said = schedule_report(facts("t", runs), picture(runs))
    for section in said.sections:
        if section.chart and section.chart.kind in ("time", "columns"):
            marks = drawing(section.chart).elements
            assert [m.name for m in marks] == names[len(names) - len(marks) :]
            assert len(marks) >= len(names) - (section.title == "Job by job")
        if section.chart and section.chart.kind == "time":
            assert len({(m.colour, m.dash) for m in marks}) == len(names)
    shown = next(s for s in said.sections if s.title == "Who holds the machine: easy")
    assert "Of the 9 policies the first and the last are drawn" in shown.sentences[1]


def test_a_page_does_not_grow_with_the_trace():
    """Ten times the jobs, less than twice the numbers drawn."""
    size = []
    for n in (1000, 10_000):
        two = [simulate_run(jobs_of(n), p, PROCS) for p in ("easy", "sjf+easy")]
        said = schedule_report(facts("t", two), picture(two))
        size.append(sum(len(str(figure(s.chart))) for s in said.sections if s.chart))
    assert size[1] < 2 * size[0]
    assert size[1] < 300_000


def test_text_tells_metrics_and_paired_differences_within_a_hundred_columns(told):
    text = render(schedule_text(told), 100)
    assert "Job by job against easy" in text
    assert "Planned with what was known at submission only." in text
    assert max(map(len, text.splitlines())) <= 100
    flat = flat_grid(told)
    assert len(flat.rows) == 3
    assert flat.heads[:7] == ("policy", "wait", "p95 wait", "max wait", "slowdown",
                              "p95 slowdown", "used")  # fmt: skip


def test_plans_that_know_the_future_of_some_jobs_say_of_how_many():
    jobs = jobs_of(50)
    limit = pl.when(pl.col("job_id") <= 7).then(None).otherwise(pl.col("time_limit_s"))
    run = simulate_run(jobs.with_columns((), time_limit_s=limit), "easy", PROCS)
    how = {"estimates": "user", "semantics": "textbook"}
    assert "Clairvoyant for 7 jobs" in render(schedule_text(facts("t", [run], how)))
    assert "Clairvoyant: easy" in render(schedule_text(facts("t", [run], how | {"estimates": ""})))


def test_the_close_up_is_where_most_is_waited_for_and_no_bar_leaves_it():
    """A whole day of whole-machine jobs beats a burst of a thousand small ones."""
    day = 86_400.0
    burst = trace(np.full(1000, 3 * day), np.full(1000, 10.0), np.ones(1000, int))
    crowd = trace(np.full(400, 20 * day), np.full(400, 720.0), np.full(400, PROCS))
    jobs = burst.frame.vstack(crowd.frame).with_columns(job_id=np.arange(1400))
    last = trace([40 * day], [1.0], [1])
    jobs = jobs.vstack(last.frame.with_columns(job_id=pl.lit(1400, pl.Int64)))
    run = simulate_run(JobTable(jobs, burst.schema), "easy", PROCS)
    found = picture([run])["close_up"]["easy"]
    assert 16.5 < found["day"] < 24
    assert (found["hour"] >= 0).all()
    assert (found["lowest"] + found["procs"] <= PROCS).all()


def test_nothing_is_drawn_of_a_run_that_has_ended(runs, told):
    shown = picture(runs)
    said = schedule_report(told, shown)
    lines = next(s for s in said.sections if s.title == "Utilisation").chart.series
    for line in lines:
        last = max(x for x, y in zip(line["x"], line["y"], strict=True) if y is not None)
        assert last <= 86_400 * shown["end_day"][line["name"]] * 1.0001
    assert max(shown["end_day"].values()) == pytest.approx(
        shown["day"][-1] + shown["bin_s"] / 2 / 86_400
    )
