"""Jobs of the night in which a site's clock is put back, in logs of local times."""

from __future__ import annotations

import json

import pytest

import rheostat as rh

JOBS = (  # submit, start, end as shown on 25 October 2026 in Berlin, length, hours since 0:00
    ("00:30:00", "02:50:00", "02:20:00", 1800, (0.5, 2 + 5 / 6, 3 + 1 / 3)),
    ("02:55:00", "02:10:00", "03:10:00", 3600, (2 + 11 / 12, 3 + 1 / 6, 4 + 1 / 6)),
    ("01:30:00", "01:50:00", "03:20:00", 9000, (1.5, 1 + 5 / 6, 4 + 1 / 3)),
)
MIDNIGHT = 1_792_879_200.0


def qacct(jobs):
    lines = []
    for k, (submit, start, end, length, _) in enumerate(jobs):
        times = {"qsub_time": submit, "start_time": start, "end_time": end}
        lines += ["=" * 62, "qname all.q", "hostname n1", "owner bo", f"jobnumber {k}"]
        lines += [f"{n} Sun Oct 25 {t} 2026" for n, t in times.items()]
        lines += ["slots 16", "failed 0", "exit_status 0", f"ru_wallclock {length}"]
    return "\n".join([*lines, ""])


def bjobs(jobs):
    rows = [
        {"JOBID": str(k), "STAT": "DONE", "SUBMIT_TIME": f"Oct 25 {submit} 2026",
         "START_TIME": f"Oct 25 {start} 2026", "FINISH_TIME": f"Oct 25 {end} 2026",
         "RUN_TIME": f"{length} second(s)", "NALLOC_SLOT": "16"}
        for k, (submit, start, end, length, _) in enumerate(jobs)
    ]  # fmt: skip
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(rows), "RECORDS": rows}, indent=1)


def read(tmp_path, text, zone="UTC"):
    (file := tmp_path / "log").write_text(text)
    return rh.read(file, options={"zone": zone})


def said(jobs):
    return " ".join(n.message for n in jobs.notes)


@pytest.mark.parametrize("form", [qacct, bjobs])
def test_jobs_of_the_hour_that_is_shown_twice_have_their_times_with_a_zone(tmp_path, form):
    """Two of three were left out: one ended before its start, one started before its submission."""
    frame = read(tmp_path, form(JOBS), "Europe/Berlin").frame
    assert frame["runtime_s"].to_list() == [1800, 3600, 9000]
    for name, at in (("submit_s", 0), ("start_s", 1), ("end_s", 2)):
        expected = [MIDNIGHT + 3600 * hours[at] for *_, hours in JOBS]
        assert frame[name].to_list() == pytest.approx(expected)


@pytest.mark.parametrize("form", [qacct, bjobs])
def test_without_a_zone_they_stay_with_their_hours_and_without_their_times(tmp_path, form):
    jobs = read(tmp_path, form(JOBS))
    assert jobs.frame["runtime_s"].to_list() == [1800, 3600, 9000]
    assert jobs.frame["end_s"].is_null().to_list() == [True, True, False]
    assert "as where a clock was put back: start_s and end_s not known (--zone" in said(jobs)


def test_a_job_within_that_hour_may_be_in_either_and_the_first_is_taken_with_a_note(tmp_path):
    job = ("01:00:00", "02:10:00", "02:40:00", 1800, ())
    jobs = read(tmp_path, qacct([job]), "Europe/Berlin")
    assert jobs.frame["start_s"].to_list() == [MIDNIGHT + 7800]
    assert "nothing tells which: the first is taken" in said(jobs)


def test_a_job_that_cannot_be_is_left_out_in_another_night(tmp_path):
    """Five hours are no hour, and in Berlin's October no other night has one twice."""
    text = qacct([("00:30:00", "07:50:00", "02:20:00", 1800, ()), JOBS[2]])
    assert len(read(tmp_path, text)) == 1
    later = qacct(JOBS).replace("Oct 25", "Oct 26")
    assert len(read(tmp_path, later, "Europe/Berlin")) == 1
