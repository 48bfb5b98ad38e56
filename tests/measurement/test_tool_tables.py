"""Tables of known tools get the units that their columns do not say; figures worked out by hand."""

from __future__ import annotations

import pytest

from rheostat import read
from rheostat.cli import run
from rheostat.errors import DataError

CODECARBON = """timestamp,project_name,run_id,duration,emissions,emissions_rate,energy_consumed
2025-03-01T10:00:00,b32,r1,400.0,0.005,1.3e-05,0.04
2025-03-01T10:10:00,b32,r1,800.0,0.011,1.3e-05,0.07
2025-03-01T11:00:00,b64,r2,600.0,0.009,1.5e-05,0.05
"""
PYRAPL = """label,timestamp,duration,pkg,dram,socket
fib,1614849123.4,2000000.0,50000000.0,4000000.0,0
fib,1614849123.4,2000000.0,30000000.0,2000000.0,1
"""
EAR = """JOBID;STEPID;NODENAME;JOBNAME;DEF_FREQ_KHZ;TIME_SEC;DC_NODE_POWER_W
7;4294967291;n1;lulesh;2400000;130.0;400.0
7;0;n1;lulesh;2400000;100.0;400.0
7;0;n2;lulesh;2400000;101.0;420.0
"""
REFRAME = """job_completion_time|display_name|result|elapsed_value|elapsed_unit|copy_value|copy_unit
2024-05-17T11:00:21+0000|stream %num_threads=8|pass|1500|ms|23512.1|MB/s
2024-05-17T11:01:21+0000|stream %num_threads=16|fail|900|ms|43512.1|MB/s
"""
ZEUS = """start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy
2025-03-01 10:00:00,epoch,10.0,2000.0,1500.0
"""


def written(folder, text: str, name: str = "runs.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(("text", "runtimes_s", "energies_j"), [
    (CODECARBON, [800.0, 600.0], [0.07 * 3.6e6, 0.05 * 3.6e6]),
    (PYRAPL, [2.0], [86.0]),
    (ZEUS, [10.0], [3500.0]),
])  # fmt: skip
def test_times_and_energies_are_in_the_units_of_their_tool(
    tmp_path, text, runtimes_s, energies_j
) -> None:
    frame = read(written(tmp_path, text)).frame
    assert frame["runtime_s"].to_list() == pytest.approx(runtimes_s)
    assert frame["energy_j"].to_list() == pytest.approx(energies_j)


def test_a_run_that_codecarbon_wrote_down_twice_is_counted_as_left_out(tmp_path) -> None:
    jobs = read(written(tmp_path, CODECARBON))
    assert [n.count for n in jobs.notes if n.dropped] == [1]


def test_columns_that_the_caller_names_are_taken_as_they_stand(tmp_path) -> None:
    jobs = read(written(tmp_path, PYRAPL), options={"columns": {"runtime_s": "duration"}})
    assert jobs.frame["runtime_s"].to_list() == [2e6, 2e6]
    assert any("duration is taken as it stands" in n.message for n in jobs.notes)
    with pytest.raises(DataError, match="energy_kWh"):
        read(written(tmp_path, CODECARBON), options={"columns": {"runtime_s": "duration"}})


def test_rows_of_ears_nodes_are_one_run_without_the_batch_step(tmp_path) -> None:
    jobs = read(written(tmp_path, EAR))
    assert jobs.frame.select("runtime_s", "nodes", "power_w").rows() == [(101.0, 2, 820.0)]


def test_units_and_parameters_of_reframe_become_columns(tmp_path) -> None:
    frame = read(written(tmp_path, REFRAME, "stream.log")).frame
    assert frame["runtime_s"].to_list() == [1.5, 0.9]
    assert frame["threads"].to_list() == [8.0, 16.0]
    assert frame["censored"].to_list() == [False, True]


RAPL = "Language,Package,Core(s),GPU,Time(sec)\nC,2.5,1.2,0.03,0.1\nGo,3.5,1.7,0.01,0.15\n"


def test_parts_of_a_processor_are_no_counts(tmp_path) -> None:
    frame = read(written(tmp_path, RAPL)).frame
    assert frame["energy_j"].to_list() == [2.5, 3.5]
    assert not {"cores", "gpus"} & set(frame.columns)


def test_energy_of_sockets_and_memory_adds_up_and_that_of_cores_does_not(tmp_path) -> None:
    rows = (
        "threads,Time (s),PKG0 (J),PKG1 (J),DRAM0 (J),PP0_0 (J)\n8,10,50,40,5,30\n16,6,44,36,4,25\n"
    )
    assert read(written(tmp_path, rows)).frame["energy_j"].to_list() == [95.0, 84.0]


def test_energies_of_rapl_that_no_processor_draws_are_not_taken(tmp_path) -> None:
    jobs = read(
        written(tmp_path, "Name,PKG,CORE,DRAM,Time\na,39.8,30.1,2.1,1125\nb,9.1,5.2,.4,290\n")
    )
    assert "energy_j" not in jobs.columns
    assert any("write them, as PKG_J" in n.message for n in jobs.notes)


def test_a_package_count_is_no_energy(tmp_path) -> None:
    frame = read(written(tmp_path, "package,cores,Time (s)\n2,16,9.5\n2,32,5.1\n")).frame
    assert frame["cores"].to_list() == [16, 32]


def test_energy_that_no_computer_draws_is_asked_for_without_nodes(tmp_path) -> None:
    with pytest.raises(DataError, match=r"as joules it is .* W in the median job.*energy_kWh"):
        read(written(tmp_path, "threads,time,energy\n16,812,0.071\n32,431,0.074\n"))


@pytest.mark.parametrize("text", [
    "file time avg-energy\nrow 31.9 1631.8\nmap 20.1 1021.3\nomp 0.9 60.5\n",
    "# by bench.sh\n# file,time,avg-energy\nrow,31.9,1631.8\nmap,20.1,1021.3\nomp,0.9,60.5\n",
    "Of October;;\n;;\nfile;time;avg-energy\nrow;31.9;1631.8\nmap;20.1;1021.3\nomp;.9;60.5\n",
])  # fmt: skip
def test_blanks_comments_and_titles_around_headings(tmp_path, text) -> None:
    frame = read(written(tmp_path, text, "runs.dat")).frame
    assert frame.select("runtime_s", "energy_j").row(1) == (20.1, 1021.3)
    assert frame.height == 3


def test_what_was_turned_is_named_as_knobs_that_can_be_typed(tmp_path, capsys) -> None:
    rows = "lang,P-state,time_s,energy_J,aborts\n" + "".join(
        f"{lang},{p},{t},{10 * t},{a}\n"
        for lang, p, t, a in (("C", 0, 9, 71), ("C", 1, 8, 72), ("Go", 0, 7, 75), ("Go", 1, 5, 79))
    )
    file = written(tmp_path, rows)
    assert run(["front", str(file)]) == 1
    hint = " ".join(capsys.readouterr().err.split()).partition("turned here: ")[2]
    assert hint == "--knob lang=C,Go --knob P-state=0,1"
    assert run(["front", str(file), *hint.split()]) == 0


def test_days_of_spreadsheets_are_moments(tmp_path) -> None:
    jobs = read(
        written(tmp_path, "job_id,nodes,start,end\n1,2,46296.0,46296.5\n2,1,46297.0,46297.25\n")
    )
    assert jobs.frame["runtime_s"].to_list() == [43_200.0, 21_600.0]
    assert jobs.frame["start_s"][0] == 1_790_812_800.0  # 2026-10-01T00:00:00Z


def test_seconds_of_a_log_that_begins_at_nought_stay(tmp_path) -> None:
    jobs = read(written(tmp_path, "job_id,nodes,start,end\n1,2,30000.5,41000.0\n2,1,31000,52000\n"))
    assert jobs.frame["runtime_s"].to_list() == [10_999.5, 21_000.0]


def test_a_mean_with_its_spread_is_the_mean(tmp_path) -> None:
    frame = read(
        written(tmp_path, "flags,time [s],energy_J\nO2,41.2 ± 0.4,9800\nO3,38.9 ± 0.2,9500\n")
    ).frame
    assert frame["runtime_s"].to_list() == [41.2, 38.9]


@pytest.mark.parametrize(
    "cell", ["4 963.7 ± 1 054.6", "4'963.7 +- 9", "4 963.7 ± 1 %", "4 963.7 (9)"]
)
def test_a_mean_with_thousands_apart_and_its_spread_is_the_mean(tmp_path, cell) -> None:
    frame = read(written(tmp_path, f"nodes|time [s]\n1|{cell}\n2|598.5 ± 5.4\n")).frame
    assert frame["runtime_s"].to_list() == [4963.7, 598.5]


@pytest.mark.parametrize(("heading", "row", "runtime_s"), [
    ("access,Latency(s),open(s),total(s),stripe_count", "write,0.03,0.02,32,8", 32.0),
    ("JOB_NAME,QUEUED_TIMESTAMP,WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED",
     "a,2026-10-01 00:00:00,7200,3600,4", 3600.0),
    ("name,status,submit,duration,realtime,cpus", "a,COMPLETED,2026-10-01 00:00:00,600,60,1", 60.0),
])  # fmt: skip
def test_of_two_times_the_one_that_ran_is_taken(tmp_path, heading, row, runtime_s) -> None:
    assert read(written(tmp_path, f"{heading}\n{row}\n")).frame["runtime_s"].to_list() == [
        runtime_s
    ]


@pytest.mark.parametrize(("start", "said"), [
    (b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml", "Excel"),
    (b"PK\x03\x04" + b"\0" * 26 + b"docProps/app.xmlM", "Excel"),
    (b"-- MySQL dump 10.13\nCREATE TABLE `jobs` (\n", "SQL dump"),
    (b"Job Id: 3000.pbs01\n    Job_Name = cavity\n", "-F json"),
    (b"<?xml version='1.0'?><jobs/>", "save its table"),
    (b"\nAccounting information about jobs that are:\n  - submitted by", "bjobs -a -json"),
    (b'"JOB_FINISH" "10.1" 1740787200 1001 1000 33554438 4 1740787200\n', "bjobs -a -json"),
    (b'{"apiVersion": "v1", "kind": "List", "items": []}', "jq -r"),
    (b'{"jobs": [{"jobArn": "arn:aws:batch"}]}', "describe-jobs"),
])  # fmt: skip
def test_files_that_are_not_read_say_what_to_do(tmp_path, start, said) -> None:
    (tmp_path / "jobs").write_bytes(start)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "jobs")


def test_memory_by_core_is_that_of_the_cores_given_where_none_is_asked_for(tmp_path) -> None:
    log = "JobID|State|Submit|Start|End|AllocCPUS|ReqMem|NNodes\n"
    log += "1|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:00:00|2026-10-01T01:00:00|8|512Mc|1\n"
    frame = read(written(tmp_path, log, "jobs.txt")).frame
    assert frame["memory_b"].to_list() == [8 * 512 * 2**20]


def test_times_of_the_shell_are_no_users(tmp_path, capsys):
    """Seconds of processors were known before a run, and one of them a person: 'name a job'."""
    file = tmp_path / "time.csv"
    file.write_text("threads,real,user,sys\n1,3m12.250s,3m10.0s,0m1.0s\n"
                    "2,1m40.500s,3m11.0s,0m1.2s\n4,0m52.125s,3m15.0s,0m2.0s\n")  # fmt: skip
    assert read(file).frame["runtime_s"].to_list() == [192.25, 100.5, 52.125]
    asked = ["--knob", "threads=1,2,4", "--objectives", "runtime_s"]
    assert run(["front", str(file), *asked]) == 0
    assert "4 threads: 52.1 s" in capsys.readouterr().err
    file.write_text("threads,real\n1,3m12.250s\n2,1m40.500s\n")
    assert read(file).frame["runtime_s"].to_list() == [192.25, 100.5]
