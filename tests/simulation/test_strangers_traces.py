"""Logs as others write them, through the command line: each start follows from the rows by hand.

All are simulated first come, first served with EASY on four processors; starts are counted from the
first submission.
"""

from __future__ import annotations

import csv
import gzip
import json

import pytest

from rheostat.cli import run

SACCT = "JobID|User|State|Submit|Start|End|Elapsed|Timelimit|NCPUS|ReqCPUS"
ARRAYS = f"""{SACCT}
100_1|ana|COMPLETED|2025-03-01T23:59:00|2025-03-01T23:59:00|2025-03-02T00:00:40|00:01:40|00:05:00|2|2
100_1.batch||COMPLETED|2025-03-01T23:59:00|2025-03-01T23:59:00|2025-03-02T00:00:40|00:01:40||2|2
100_2|ana|COMPLETED|2025-03-01T23:59:00|2025-03-02T00:00:40|2025-03-02T00:02:20|00:01:40|00:05:00|4|4
101|bob|CANCELLED by 7|2025-03-01T23:59:10|Unknown|2025-03-02T00:00:00|00:00:00|00:05:00|0|2
102|bob|TIMEOUT|2025-03-01T23:59:30|2025-03-01T23:59:40|2025-03-02T00:00:40|00:01:00|00:01:00|2|2
"""
REQUEUED = f"""{SACCT}
200|ana|REQUEUED|2025-03-01T10:00:00|2025-03-01T10:00:00|2025-03-01T10:00:50|00:00:50|00:02:00|4|4
200|ana|COMPLETED|2025-03-01T10:01:00|2025-03-01T10:02:00|2025-03-01T10:03:00|00:01:00|00:02:00|4|4
201|ana|COMPLETED|2025-03-01T10:00:20|2025-03-01T10:00:50|2025-03-01T10:01:30|00:00:40|1-00:00:00|4|4
"""
COMPONENTS = f"""{SACCT}
300+0|ana|COMPLETED|2025-03-01T10:00:00|2025-03-01T10:00:00|2025-03-01T10:01:00|00:01:00|00:02:00|2|2
300+1|ana|COMPLETED|2025-03-01T10:00:00|2025-03-01T10:00:00|2025-03-01T10:01:00|00:01:00|00:02:00|1|1
301|ana|COMPLETED|2025-03-01T10:00:20|2025-03-01T10:01:00|2025-03-01T10:01:30|00:00:30|00:02:00|2|2
"""
PBS = "03/01/2025 23:50:00;Q;1.srv;queue=work\n" + "".join(
    f"03/02/2025 00:00:00;E;{job}.srv;user=ana queue=work ctime={1740869400 + at} start={start} "
    f"Resource_List.ncpus={n} Resource_List.walltime={limit} end={start + took} Exit_status=0 "
    f"resources_used.walltime={took}\n"
    for job, at, start, took, n, limit in (
        ("1", 0, 1740869400, 600, 4, "00:20:00"),
        ("2[7]", 60, 1740870000, 30, 2, "00:01:00"),
        ("4", 120, 1740870000, 300, 2, "00:10:00"),
    )
)
LSF_RECORDS = [
    {"JOBID": "1", "STAT": "DONE", "SUBMIT_TIME": "Mar  1 23:59:00 2025",
     "START_TIME": "Mar  1 23:59:05 2025", "FINISH_TIME": "Mar  2 00:01:05 2025 L",
     "RUN_TIME": "120 second(s)", "RUNTIMELIMIT": "5.0/h2", "NALLOC_SLOT": "4"},
    {"JOBID": "2", "JOBINDEX": "3", "STAT": "EXIT", "SUBMIT_TIME": "Mar  1 23:59:30 2025",
     "START_TIME": "Mar  2 00:01:05 2025", "FINISH_TIME": "Mar  2 00:02:05 2025 L",
     "RUN_TIME": "60 second(s)", "RUNTIMELIMIT": "5.0", "NALLOC_SLOT": "2"},
    {"JOBID": "3", "STAT": "PEND", "SUBMIT_TIME": "Mar  1 23:59:40 2025", "START_TIME": "-",
     "FINISH_TIME": "-", "RUN_TIME": "0 second(s)", "RUNTIMELIMIT": "5.0", "NALLOC_SLOT": "-"},
]  # fmt: skip
REST = "-1 1 1 1 -1 -1 -1 -1 -1"
CASES = {
    "tabs, CRLF and a remark between jobs": (
        "a.swf", "1\t0\t-1\t100\t2\t-1\t-1\t2\t200\t-1\t1\t1\t1\t-1\t-1\t-1\t-1\t-1\r\n\r\n; so\r\n"
        "2\t10\t-1\t50\t4\t-1\t-1\t-1\t50\t-1\t1\t2\t1\t-1\t-1\t-1\t-1\t-1\r\n"
        "3\t20\t-1\t30\t-1\t-1\t-1\t2\t-1\t-1\t1\t2\t1\t-1\t-1\t-1\t-1\t-1\r\n",
        (), {"1": 0, "2": 100, "3": 20},
    ),
    "before zero, of no length, too large": (
        "c.swf", f"1 -5 0 10.5 4 -1 -1 4 20 {REST}\n2 0 0 0 1 -1 -1 1 20 {REST}\n"
        f"3 1 0 10 9 -1 -1 9 20 {REST}\n4 2 0 10 4 -1 -1 4 20 {REST}\n",
        (), {"1": 0, "2": 10.5, "4": 10.5},
    ),
    "not in order, packed": (
        "d.swf.gz", f"7 100 -1 10 4 -1 -1 4 10 {REST}\n3 0 -1 120 4 -1 -1 4 120 {REST}\n"
        f"9 50 -1 10 1 -1 -1 1 10 {REST}\n", (), {"3": 0, "9": 120, "7": 130},
    ),
    "arrays, steps, one cancelled as it waited, midnight": (
        "f.txt", ARRAYS, (), {"100_1": 0, "100_2": 100, "102": 30},
    ),
    "requeued": ("g.txt", REQUEUED, (), {"201": 0, "200": 40}),
    "components of one job": ("h.txt", COMPONENTS, (), {"300": 0, "301": 60}),
    "suspended for three of five minutes": (
        "i.txt", f"{SACCT}|Suspended\n"
        "400|ana|COMPLETED|2025-03-01T10:00:00|2025-03-01T10:00:00|2025-03-01T10:05:00|00:02:00"
        "|00:10:00|4|4|00:03:00\n"
        "401|ana|COMPLETED|2025-03-01T10:00:30|2025-03-01T10:05:00|2025-03-01T10:06:00|00:01:00"
        "|00:10:00|4|4|00:00:00\n", (), {"400": 0, "401": 120},
    ),
    "PBS accounting over midnight": (
        "20250301", PBS, (), {"1.srv": 0, "2[7].srv": 600, "4.srv": 600},
    ),
    "LSF": (
        "b.json", json.dumps({"COMMAND": "bjobs", "JOBS": 3, "RECORDS": LSF_RECORDS}),
        (), {"1": 0, "2[3]": 120},
    ),
    "own names, two zones": (
        "m.csv", "job,queued_at,took_min,ncpu,limit_h\nA,2025-03-01 23:59:30+01:00,2,4,1\n"
        "B,2025-03-01 23:00:00+00:00,1.5,2,1\nC,2025-03-02 00:00:10+01:00,3,2,1\n",
        ("job_id=job", "submit_s=queued_at", "runtime_s=took_min", "cores=ncpu",
         "time_limit_s=limit_h"), {"A": 0, "B": 120, "C": 120},
    ),
    "hours with a comma": (
        "n.csv", "JobID;Submit Time;Elapsed (h);CPUs;Walltime (h)\n1;01.03.2025 10:00;0,5;4;1\n"
        "2;01.03.2025 10:10;0,25;4;1\n", (), {"1": 0, "2": 1800},
    ),
    "the night without an hour from two to three": (
        "o.csv", "job_id,submit_s,start_s,end_s,cores,time_limit_s\n"
        "1,2025-03-30T01:50:00,2025-03-30T01:50:00,2025-03-30T03:10:00,4,7200\n"
        "2,2025-03-30T03:05:00,2025-03-30T03:10:00,2025-03-30T03:20:00,4,7200\n",
        ("--zone", "Europe/Berlin"), {"1": 0, "2": 1200},
    ),
    "milliseconds": (
        "r.csv", "job_id,submit_ms,runtime_ms,cores,time_limit_ms\n"
        "1,1740787200000,100000,4,100000\n2,1740787210000,1000,4,100000\n", (), {"1": 0, "2": 100},
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", CASES)
def test_starts_are_those_by_hand(which, tmp_path, monkeypatch, capsys):
    name, text, options, starts = CASES[which]
    monkeypatch.chdir(tmp_path)
    packed = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    columns = [w for o in options for w in (("--column", o) if "=" in o else (o,))]
    argv = ["simulate", name, "--machine", "4", "--schedule", "s.csv", *columns]
    assert run(argv) == 0, capsys.readouterr().err
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    first = min(float(r["submit_s"]) for r in rows)
    assert {r["job_id"]: float(r["start_s"]) - first for r in rows} == starts
