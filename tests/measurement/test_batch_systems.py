"""One month in the words of seven batch systems is one table."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read

BEGIN = 1788249600  # 2026-09-01 08:00 UTC
PBS = (
    "09/01/2026 08:00:00;Q;7.srv;queue=work\n"
    "09/01/2026 09:11:40;E;7.srv;user=ana group=g project=p jobname=my run queue=work "
    f"ctime={BEGIN} qtime={BEGIN} etime={BEGIN} start={BEGIN + 100} exec_host=n1/0*64+n2/0*64 "
    "Resource_List.ncpus=128 Resource_List.nodect=2 Resource_List.mem=2gb "
    "Resource_List.walltime=100:00:00 session=1 Exit_status={status} "
    f"end={BEGIN + 4300} resources_used.energy=0.5 resources_used.walltime=01:10:00\n"
)
QSTAT = {
    "timestamp": 1,
    "pbs_version": "23",
    "Jobs": {
        "7.srv": {
            "Job_Name": "my run",
            "Job_Owner": "ana@login",
            "job_state": "F",
            "queue": "work",
            "ctime": "Tue Sep  1 08:00:00 2026",
            "stime": "Tue Sep  1 08:01:40 2026",
            "Exit_status": 0,
            "resources_used": {"walltime": "01:10:00", "energy": 0.5},
            "project": "p",
            "Resource_List": {"ncpus": 128, "nodect": 2, "mem": "2gb", "walltime": "100:00:00"},
        }
    },
}
BJOBS = {
    "COMMAND": "bjobs",
    "JOBS": 1,
    "RECORDS": [
        {
            "JOBID": "7",
            "USER": "ana",
            "PROJ_NAME": "p",
            "QUEUE": "work",
            "JOB_NAME": "my run",
            "STAT": "DONE",
            "SUBMIT_TIME": "Sep  1 08:00:00 2026",
            "START_TIME": "Sep  1 08:01:40 2026",
            "FINISH_TIME": "Sep  1 09:11:40 2026 L",
            "RUN_TIME": "4200 second(s)",
            "EXIT_CODE": "-",
            "RUNTIMELIMIT": "6000.0/n1",
            "NALLOC_SLOT": "128",
            "EXEC_HOST": "64*n1:64*n2",
        }
    ],
}
QACCT = f"""{"=" * 62}
qname        work
hostname     n1
owner        ana
project      p
jobname      my run
jobnumber    7
taskid       undefined
pe_taskid    NONE
qsub_time    Tue Sep  1 08:00:00 2026
start_time   Tue Sep  1 08:01:40 2026
end_time     Tue Sep  1 09:11:40 2026
slots        128
failed       0
exit_status  0
ru_wallclock 4200s
{"=" * 62}
qname        work
hostname     n2
jobnumber    7
pe_taskid    1.n2
slots        128
"""
FLUX = {
    "jobs": [
        {
            "id": 7,
            "userid": 1,
            "username": "ana",
            "bank": "p",
            "queue": "work",
            "name": "my run",
            "t_submit": BEGIN,
            "t_run": BEGIN + 100,
            "t_cleanup": BEGIN + 4300,
            "state": "INACTIVE",
            "ncores": 128,
            "nnodes": 2,
            "duration": 360000.0,
            "result": "COMPLETED",
            "waitstatus": 0,
        }
    ]
}
CONDOR = [
    {
        "ClusterId": 7,
        "ProcId": 0,
        "Owner": "ana",
        "AccountingGroup": "p",
        "Cmd": "/x/my run",
        "QDate": BEGIN,
        "JobCurrentStartDate": BEGIN + 100,
        "CompletionDate": BEGIN + 4300,
        "RequestCpus": 128,
        "RequestMemory": 2048,
        "JobStatus": 4,
        "ExitCode": 0,
    }
]
OAR = {
    "7": {
        "Job_Id": 7,
        "name": "my run",
        "owner": "ana",
        "project": "p",
        "queue": "work",
        "state": "Terminated",
        "submissionTime": BEGIN,
        "startTime": BEGIN + 100,
        "stopTime": BEGIN + 4300,
        "walltime": 360000,
        "exit_code": "0 (0,0,0)",
        "assigned_network_address": ["n1", "n2"],
    }
}
TEXTS = {
    "pbs": PBS.format(status=0), "pbs-json": json.dumps(QSTAT, indent=1),
    "lsf": json.dumps(BJOBS, indent=2), "grid-engine": QACCT, "flux": json.dumps(FLUX),
    "htcondor": json.dumps(CONDOR), "oar": json.dumps(OAR, indent=1),
}  # fmt: skip
JOB = {
    "user": "ana", "account": "p", "app": "my run", "partition": "work", "submit_s": BEGIN,
    "start_s": BEGIN + 100, "end_s": BEGIN + 4300, "runtime_s": 4200, "nodes": 2, "cores": 128,
    "memory_b": 2 * 2**30, "time_limit_s": 360000, "state": "COMPLETED", "censored": False,
    "energy_j": 1.8e6, "power_w": 1.8e6 / 4200,
}  # fmt: skip
UNSAID = {
    "lsf": {"memory_b"}, "grid-engine": {"nodes", "memory_b", "time_limit_s"},
    "flux": {"memory_b"}, "htcondor": {"partition", "nodes", "time_limit_s"},
    "oar": {"cores", "memory_b"},
}  # fmt: skip
"""What a system does not say; energy is PBS's alone."""


def written(folder, text):
    path = folder / "jobs"
    path.write_text(text)
    return path


@pytest.mark.parametrize("system", TEXTS)
def test_a_job_is_the_same_in_the_words_of_each_system(tmp_path, system):
    path = written(tmp_path, TEXTS[system])
    assert guess_format(path) == system
    jobs = read(path)
    row = jobs.frame.row(0, named=True)
    assert len(jobs) == 1
    assert row["job_id"].startswith("7")
    unsaid = UNSAID.get(system, set()) | (set() if "pbs" in system else {"energy_j", "power_w"})
    assert {k: row[k] for k in JOB.keys() - unsaid} == {k: JOB[k] for k in JOB.keys() - unsaid}
    assert not unsaid & set(row)


@pytest.mark.parametrize(
    ("status", "state"), [("0", "COMPLETED"), ("271", "CANCELLED"), ("-29", "TIMEOUT"),
                          ("1", "FAILED")],
)  # fmt: skip
def test_how_a_job_of_pbs_ended(tmp_path, status, state):
    frame = read(written(tmp_path, PBS.format(status=status))).frame
    assert frame.select("state", "censored").row(0) == (state, state != "COMPLETED")


def test_a_job_that_pbs_ended_at_its_time_limit_timed_out(tmp_path):
    ran, limit = "resources_used.walltime=01:10:00", "Resource_List.walltime=100:00:00"
    text = PBS.format(status="271")
    assert ran in text
    assert limit in text
    frame = read(written(tmp_path, text.replace(limit, limit.replace("100:00", "01:10")))).frame
    assert frame["state"].to_list() == ["TIMEOUT"]
    record = json.loads(TEXTS["pbs-json"])
    for job in record["Jobs"].values():
        job["Exit_status"], job["Resource_List"]["walltime"] = 271, "01:10:00"
    assert read(written(tmp_path, json.dumps(record))).frame["state"].to_list() == ["TIMEOUT"]


def test_clocks_without_a_zone_are_those_of_the_site(tmp_path):
    path = written(tmp_path, TEXTS["lsf"])
    frame = read(path, options={"zone": "Europe/Paris"}).frame
    assert frame.select("submit_s", "runtime_s").row(0) == (BEGIN - 7200, 4200)
    assert any("times read as UTC" in note.message for note in read(path).notes)


def test_times_of_lsf_without_a_year_are_not_read_and_said(tmp_path):
    record = {**BJOBS["RECORDS"][0], "SUBMIT_TIME": "Sep  1 08:00", "JOB_NAME": "vasp[49]"}
    jobs = read(written(tmp_path, json.dumps({**BJOBS, "RECORDS": [record]})))
    assert "submit_s" not in jobs.columns
    assert jobs.frame.select("app", "runtime_s").row(0) == ("vasp", 4200)
    assert [n.rows for n in jobs.notes if "LSB_DISPLAY_YEAR=Y" in n.message] == [(0,)]


@pytest.mark.parametrize(
    ("reason", "state"), [("TERM_RUNLIMIT: job killed after reaching its limit", "TIMEOUT"),
                          ("TERM_OWNER: job killed by owner", "CANCELLED"),
                          ("TERM_MEMLIMIT: job killed", "FAILED")],
)  # fmt: skip
def test_why_a_job_of_lsf_exited(tmp_path, reason, state):
    record = {**BJOBS["RECORDS"][0], "STAT": "EXIT", "EXIT_REASON": reason}
    frame = read(written(tmp_path, json.dumps({**BJOBS, "RECORDS": [record]}))).frame
    assert frame["state"].to_list() == [state]


def test_fields_of_flux_stand_in_any_order(tmp_path):
    job = FLUX["jobs"][0]
    last = {"t_depend": BEGIN, "exception": {"occurred": False}, **job}
    path = written(tmp_path, json.dumps({"jobs": [last]}))
    assert (guess_format(path), read(path).frame["runtime_s"][0]) == ("flux", 4200)


def test_of_a_job_with_two_records_the_last_run_counts(tmp_path):
    later = PBS.format(status=0).replace(f"end={BEGIN + 4300}", f"end={BEGIN + 9999}")
    jobs = read(written(tmp_path, later + PBS.format(status=1)))
    assert jobs.frame["end_s"].to_list() == [BEGIN + 9999]
    assert [note.rows for note in jobs.notes if note.dropped] == [(3,)]


def test_jobs_of_pbs_without_an_end_are_noted(tmp_path):
    others = "".join(f"09/01/2026 09:20:0{i};{event};{job};queue=work\n" for i, (event, job) in
                     enumerate([("Q", "8.srv"), ("S", "8.srv"), ("Q", "9.srv"), ("L", "license"),
                                ("Q", "3[].srv")]))  # fmt: skip
    jobs = read(written(tmp_path, PBS.format(status=0) + others))
    (note,) = (n for n in jobs.notes if n.dropped)
    assert (len(jobs), note.rows) == (1, (3, 4))
    assert "no line of its end (E)" in note.message


def test_a_job_that_waits_or_runs_has_no_end(tmp_path):
    waits = {**FLUX["jobs"][0], "state": "SCHED", "t_run": None, "result": None}
    jobs = read(written(tmp_path, json.dumps({"jobs": [waits, {**FLUX["jobs"][0], "id": 8}]})))
    assert jobs.frame.select("state", "end_s", "runtime_s").row(0) == ("PENDING", None, None)


@pytest.mark.parametrize(
    "text", ['{"COMMAND": "bjobs", "JOBS": 0, "RECORDS": []}', TEXTS["lsf"][:-9],
             '{"COMMAND": "bjobs", "RECORDS": [7]}', "09/01/2026 08:00:00;Q;7.srv;queue=work\n"],
)  # fmt: skip
def test_a_log_without_a_job_says_what_was_expected(tmp_path, text):
    with pytest.raises(DataError, match=r"expected .*(bjobs -a -json|lines of ended jobs)"):
        read(written(tmp_path, text))


def test_jobs_of_several_access_points_of_htcondor_stay_apart(tmp_path):
    one = {**CONDOR[0], "GlobalJobId": "sched-a#7.0#1790000000"}
    other = {**CONDOR[0], "GlobalJobId": "sched-b#7.0#1790000000"}
    path = tmp_path / "history.json"
    path.write_text(json.dumps([one, other]))
    ids = read(path).frame["job_id"].to_list()
    number = f"{CONDOR[0]['ClusterId']}.{CONDOR[0].get('ProcId', 0)}"
    assert ids == [f"sched-a#{number}", f"sched-b#{number}"]


@pytest.mark.parametrize(
    ("failed", "limit", "state"),
    [("37  : qmaster enforced h_rt limit", "h_rt=4200", "TIMEOUT"),
     ("100 : assumedly after job", "h_vmem=2G,h_rt=1:10:00", "TIMEOUT"),
     ("100 : assumedly after job", "h_rt=360000", "FAILED"),  # killed for another reason
     ("37  : qmaster enforced h_rt, h_cpu or h_vmem limit", "mem=1G", "TIMEOUT"),
     ("1   : assumedly before job", "h_rt=4200", "FAILED"), ("0", "h_rt=4200", "COMPLETED")],
)  # fmt: skip
def test_a_job_of_grid_engine_that_reached_its_time_limit(tmp_path, failed, limit, state):
    text = QACCT.replace(
        "failed       0", f"failed       {failed}\ncategory     -l {limit} -pe x 8"
    )
    text = text.replace("exit_status  0", "exit_status  137") if failed != "0" else text
    frame = read(written(tmp_path, text)).frame
    assert frame["state"].to_list() == [state]


@pytest.mark.parametrize(
    ("said", "state"),
    [({"walltime": 4200, "exit_code": "9"}, "TIMEOUT"), ({"exit_code": "9"}, "FAILED"),
     ({"exit_code": "9", "events": [{"type": "WALLTIME"}]}, "TIMEOUT"),
     ({"state": "Error", "events": [{"type": "FRAG_JOB_REQUEST"}]}, "FAILED"),
     ({"walltime": 4200}, "COMPLETED")],
)  # fmt: skip
def test_a_job_of_oar_that_reached_its_time_limit(tmp_path, said, state):
    path = written(tmp_path, json.dumps({"7": {**OAR["7"], **said}}))
    assert read(path).frame["state"].to_list() == [state]


AF = """ ClusterId ProcId Owner RequestCpus RequestGpus NumJobStarts RemoteWallClockTime JobStatus \
QDate JobStartDate JobCurrentStartDate CompletionDate ExitCode
7 0 ana 4 undefined 3 900.0 4 1790812800 1790812900 1790813500 1790813800 0
7 1 bo 8 2 1 120.0 3 1790812800 1790812900 1790812900 0 undefined
7 2 bo 8 2 2 500.0 3 1790812800 1790812900 1790813000 0 undefined
7 3 bo 8 2 0 0.0 1 1790812800 undefined undefined 0 undefined
7 4 b o 8 2 1 90.0 4 1790812800 1790812900 1790812900 1790812990 0
"""


@pytest.mark.parametrize("between", [" ", "\t", ", "])
def test_lines_of_condor_history_under_their_heading(tmp_path, between):
    path = written(tmp_path, "\n".join(between.join(x.split(" ")) for x in AF.strip().split("\n")))
    assert guess_format(path) == "htcondor"
    jobs = read(path)
    kept = ["job_id", "cores", "gpus", "runtime_s", "state"]
    assert jobs.frame.select(kept).rows() == [
        ("7.0", 4, None, 300.0, "COMPLETED"),  # the last of three runs, not all of them
        ("7.1", 8, 2, 120.0, "CANCELLED"),  # it left after its only run
        ("7.2", 8, 2, None, "CANCELLED"),  # when it left, nothing says
        ("7.3", 8, 2, None, "PENDING"),
    ]
    assert [n.rows for n in jobs.notes if n.dropped] == [(4,)]  # a name with a blank


def test_lines_of_condor_history_without_when_jobs_came_name_what_to_print(tmp_path):
    path = written(tmp_path, " ClusterId ProcId RemoteWallClockTime\n7 0 90.0\n")
    with pytest.raises(DataError, match="expected what condor_history -json"):
        read(path)
