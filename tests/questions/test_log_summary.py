"""A summary always answers; what it says is what the log holds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import rheostat as rh
from rheostat.explanation.formats.text import render
from rheostat.measurement.synthetic.world import World
from rheostat.questions.logs.log_summary import summary
from rheostat.questions.logs.scheduler_words import scheduler_of

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def text(found):
    return " ".join(render(found.report("october.txt"), 80).split())


def test_a_log_of_almost_nothing_is_answered():
    found = summary(rh.table({"job_id": [1, 2]}))
    said = text(found)
    assert "2 jobs. Node-hours: not known" in said
    assert "Energy: not known, no row has power or energy." in said
    assert "How jobs ended is not recorded." in said
    assert "Not compared with a simulation: the log tells neither" in said
    assert "No: the log has no submission times and no applications or users." in said
    assert "Record submission times and applications or users: the scheduler's own" in said
    timed = summary(rh.table({"job_id": [1, 2], "submit_s": [0.0, 1.0], "nodes": [1, 2]}))
    assert "No: the log has no applications or users." in text(timed)


def test_a_generated_log_is_told_with_its_waits_and_what_would_let_it_answer():
    jobs = World(seed=3).jobs(150)
    blind = jobs.select([c for c in jobs.columns if c != "memory_b"])
    found = summary(blind)
    assert found.replay is not None
    waits = jobs.numpy("start_s") - jobs.numpy("submit_s")
    assert found.logged.jobs.numpy("wait_s").tolist() == waits.tolist()
    facts = found.facts("october.txt")
    assert list(facts["waits"]["policies"]) == ["as logged", "easy"]
    assert facts["waits"]["planning"]["overdue"] == "extend"
    said = text(found)
    assert "150 jobs from 2024-01-01" in said
    assert "Energy of all jobs" in said
    assert "Is the simulator like this site?" in said
    assert "What would change it: Record the memory that jobs ask for" in said
    assert "rheostat simulate october.txt --policy easy" in said


def test_a_log_without_nodes_lacks_nodes_and_not_memory():
    jobs = World(seed=3).jobs(60)
    lacking = ("memory_b", "nodes", "nodes_alloc")
    said = text(summary(jobs.select([c for c in jobs.columns if c not in lacking])))
    assert "No: the log has no nodes" in said
    assert "What would change it: Record the nodes that jobs ask for" in said


def test_names_of_one_job_each_are_no_groups():
    jobs = {"nodes": [1] * 11, "runtime_s": [60.0] * 11, "user": [f"u{k}" for k in range(11)]}
    assert "11 names of users, each of one job" in text(summary(rh.table(jobs)))


def test_a_log_with_memory_needs_a_trial_of_so_many_jobs():
    found = summary(World(seed=1).jobs(60))
    assert not found.answer.answers
    assert found.change.startswith("Run a trial of ")
    assert "rheostat trial plan FILE --share 0.05" in found.change


def test_where_no_end_is_recorded_nothing_counts_as_lost():
    jobs = World(seed=1).jobs(60)
    blind = jobs.select([c for c in jobs.columns if c not in ("state", "censored", "exit_code")])
    report = summary(blind).report("october.txt", page=True)
    assert "How jobs ended is not recorded." in report.sections[0].sentences
    assert report.sections[0].grid is None
    heads = {h for s in report.sections if s.grid for h in s.grid.heads}
    assert not [h for h in heads if "not completed" in h]
    series = {s["name"] for p in report.sections if p.chart for s in p.chart.series}
    assert "did not complete" not in series


def test_hours_of_jobs_that_did_not_run_are_not_known_and_no_zero() -> None:
    jobs = rh.table({"nodes": [2, 2], "runtime_s": [60.0, None], "user": ["a", "a"],
                     "state": ["COMPLETED", "CANCELLED"]})  # fmt: skip
    found = summary(jobs)
    said = text(found)
    assert "nan" not in said
    assert "- of them" not in said
    assert "1 job (50 %), whose node-hours are not known." in said
    assert math.isnan(found.usage.groups["user"][0]["lost_hours"])


def test_jobs_without_nodes_and_names_used_once_are_no_obstacle():
    jobs = World(seed=1).jobs(200)
    nodes = [None if k % 9 == 0 else n for k, n in enumerate(jobs.frame["nodes"])]
    log = jobs.with_columns((), nodes=nodes, app=[str(k) for k in range(200)], user=["7"] * 200)
    said = text(summary(log))
    assert "Can this log tell what a node count does? No: memory_b may tell the size" in said
    assert "0 % of 177 applications, with 0 % of the jobs, ran at two settings" in said


def test_jobs_that_still_run_are_no_part_of_those_that_ended():
    """Of two jobs that ended one failed, in the table as in the sentence; a third still runs."""
    states = ["COMPLETED", "FAILED", "RUNNING", "RUNNING"]
    log = rh.table({"nodes": [2] * 4, "runtime_s": [3600.0] * 4, "state": states,
                    "user": ["a", "a", "a", "b"]})  # fmt: skip
    found = summary(log)
    said = text(found)
    assert "1 job (50 %), with 2.00 node-hours (25 %)." in said
    assert "a 3 6 75 % 50 % 33 %" in said
    assert "b 1 2 25 % - 0 %" in said
    assert [g["ended_jobs"] for g in found.usage.groups["user"]] == [2, 0]


def test_a_trial_of_no_job_is_not_proposed():
    found = summary(World(seed=1).jobs(1))
    assert "names 0 of" not in text(found)
    assert "1 job from" in text(found)


def test_a_page_has_dates_on_its_axes():
    report = summary(World(seed=3).jobs(150)).report("october.txt", page=True)
    times = [s.chart for s in report.sections if s.chart and s.chart.kind == "time"]
    assert [c.axes[0] for c in times] == ["date", "date"]
    assert {c.units[0] for c in times} == {"date"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize("file", ["slurm/sacct.json", "sacct/sacct_dump2101.log",
                                  "jobs/pm100_adastra_display_rows/pm100_rows.csv"])  # fmt: skip
def test_logs_of_real_sites_are_answered(file):
    said = text(summary(rh.read(SHARED / file)))
    assert "Did not complete" in said
    assert "Can this log tell what a node count does? No" in said


def test_notes_name_jobs_of_the_log_where_some_of_it_never_started() -> None:
    """Their rows come last, beyond those whose waits are known."""
    n = 60
    started = {"job_id": [*range(1, n + 1), 900], "submit_s": [*(60.0 * i for i in range(n)), 5.0],
               "runtime_s": [300.0] * n + [0.0], "cores": [4] * (n + 1),
               "wait_s": [30.0] * n + [math.nan], "time_limit_s": [600.0] * (n + 1)}  # fmt: skip
    found = summary(rh.table(started), rh.Machine(8))
    assert found.logged is not None
    named = [note["jobs"] for note in found.facts()["waits"]["notes"] if "jobs" in note]
    assert named == [[900]] * 2


def test_devices_that_were_sampled_are_no_jobs(tmp_path):
    """Two GPUs of 300 and 400 W for 100 s: 70 kJ together, and not a word of jobs or node-hours."""
    file = tmp_path / "smi.csv"
    file.write_text("timestamp, index, power.draw [W]\n" + "".join(
        f"2026/03/02 08:{k // 60:02d}:{k % 60:02d}.000, {g}, {300 + 100 * g}.00 W\n"
        for k in range(101) for g in (0, 1)))  # fmt: skip
    answer = rh.summary(str(file))
    said = render(answer.report())
    assert "2 devices watched" in said
    assert "All 2 together: 70000 J, 700 W" in said
    assert "node-hours" not in said.lower()
    assert "2 jobs" not in said
    assert [d["energy_j"] for d in answer.to_dict()["devices"]] == pytest.approx([30_000, 40_000])


@pytest.mark.parametrize(("heading", "command"), [
    ("EXEC_HOST", "memlimit of bjobs -o"), ("Resource_List.nodect", "PBS's accounting log"),
    ("namespace", "kubectl get pods"), ("ReqTRES", "ReqMem of sacct"),
])  # fmt: skip
def test_what_to_record_is_said_in_the_words_of_the_site_s_scheduler(tmp_path, heading, command):
    """No site without Slurm is sent to sacct."""
    file = tmp_path / "log.csv"
    rows = [
        f"u{k % 3},wrf,{60 * k},{60 * k + 9},{60 * k + 99 + k},{1 + k % 4},x{k}" for k in range(40)
    ]
    file.write_text("\n".join([f"user,app,submit,start,end,nodes,{heading}", *rows]) + "\n")
    said = " ".join(render(rh.summary(str(file)).report()).split())
    assert command in said
    assert ("sacct" in said) == ("sacct" in command)


@pytest.mark.parametrize(("gap", "said"), [(60.0, "Not to be told from jobs"), (6e3, "Far.")])
def test_what_a_log_of_less_than_a_day_lacks_is_not_the_simulators(gap, said):
    n = 60  # each waits for half an hour on a machine that has room
    jobs = {"job_id": [*range(n)], "submit_s": [gap * i for i in range(n)], "cores": [1] * n,
            "runtime_s": [300.0] * n, "wait_s": [1800.0] * n}  # fmt: skip
    assert said in text(summary(rh.table(jobs), rh.Machine(8)))


def test_grid_engine_is_not_asked_for_the_nodes_that_it_never_counts():
    frame = {"qname": ["all.q"] * 2, "slots": [4, 8], "runtime_s": [90.0, 80.0],
             "submit_s": [0.0, 9.0]}  # fmt: skip
    assert scheduler_of(rh.table(frame)).recorded(["the nodes"]).startswith("Grid Engine counts")
