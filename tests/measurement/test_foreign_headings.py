"""Headings and words of systems that nobody told of: what they say is read, or asked for."""

from __future__ import annotations

import pytest

from rheostat.core.jobs import Moment
from rheostat.errors import DataError
from rheostat.measurement.runs import read_runs


@pytest.fixture
def jobs(tmp_path):
    def read(text, **options):
        path = tmp_path / "jobs.csv"
        path.write_text(text)
        return read_runs(path, **options)

    return read


def _said(table):
    return "\n".join(note.message for note in table.notes)


def test_a_column_of_words_for_ends_is_the_state_whatever_its_name(jobs):
    rows = "cfd,90,Succeeded\nmd,40,Failed\ncfd,80,Evicted\ncfd,70,\n"
    ended = jobs("app,runtime_s,phase\n" + rows)
    assert ended.frame["censored"].to_list() == [False, True, True, None]
    assert ended.schema["state"].known is Moment.END
    assert "state = phase" in _said(ended)
    assert "known before a run: app\n" in _said(ended) + "\n"


@pytest.mark.parametrize("text", [
    "app,runtime_s,mesh\ncfd,90,complete\nmd,40,partial\n",  # a setting: nothing failed
    "app,runtime_s,check,phase\ncfd,90,ok,failed\nmd,40,failed,ok\n",  # which of the two?
    "app,runtime_s,phase,exit_code\ncfd,90,ok,0\nmd,40,failed,0\n",  # another says it
])  # fmt: skip
def test_words_for_ends_are_no_state_where_they_may_be_something_else(jobs, text):
    assert "state" not in jobs(text).columns


@pytest.mark.parametrize("heading", ["requestedCores", "requested_cores", "ReqCores", "req_procs"])
def test_sizes_asked_for_are_sizes(jobs, heading):
    assert jobs(f"{heading},runtime_s\n4,60\n").frame["cores"].to_list() == [4]


def test_what_was_asked_for_beside_what_ran_is_not_taken_for_it(jobs):
    for names in ("requested_gpus,gpus", "gpus,requested_gpus"):
        cells = "8,2" if names.startswith("req") else "2,8"
        frame = jobs(f"{names},runtime_s\n{cells},60\n").frame
        assert (frame["gpus"][0], frame["gpus_requested"][0]) == (2, 8)


@pytest.mark.parametrize(("start", "end"), [
    ("Gestartet", "Beendet"), ("gestartet am", "beendet am"), ("Démarré le", "Terminé le"),
    ("Iniciado", "Finalizado"), ("Avviato", "Terminato"), ("Startad", "Avslutad"),
])  # fmt: skip
def test_participles_of_other_languages_are_moments(jobs, start, end):
    ran = jobs(f"{start};{end};Knoten\n01.10.2026 08:10:00;01.10.2026 09:10:00;2\n")
    assert ran.frame["runtime_s"].to_list() == [3600.0]


def test_means_of_aggregated_runs_are_the_quantities_in_their_unit(jobs):
    of = ["mean", "std", "min", "max", "count"]
    names = [f"{q}_{a}" for q in ("runtime_ms", "energy_kJ", "power_w") for a in of]
    row = "2000,30,1900,2100,5," + "0.5,0.1,0.4,0.6,5," + "250,3,240,260,5"
    mean = jobs(f"threads,{','.join(names)}\n1,{row}\n")
    taken = mean.frame.select("runtime_s", "energy_j", "power_w").row(0)
    assert taken == pytest.approx((2.0, 500.0, 250.0))
    assert mean.frame["runtime_min_s"][0] == pytest.approx(1.9)  # a minimum, no minutes
    assert mean.frame["runtime_ms_count"][0] == 5


def test_moments_of_kibana_are_read_and_said_to_be_in_no_unit(jobs):
    ran = jobs(
        "nodes,start_time,end_time\n"
        '1,"Feb 27, 2025 @ 09:28:10.837","Feb 27, 2025 @ 09:53:31.864"\n'
        '2,"Feb 28, 2025 @ 23:00:00.000","Mar 1, 2025 @ 01:00:00.000"\n'
    )
    assert ran.frame["runtime_s"].to_list() == pytest.approx([1521.027, 7200.0])
    assert "taken as s" not in _said(ran)


def test_a_table_whose_first_line_is_a_job_is_told_that_headings_are_missing(jobs):
    row = "{}|sim|ann|2026-10-05T12:09:45|2026-10-05T14:01:46|01:52:01|64|COMPLETED\n"
    with pytest.raises(DataError, match=r"2026-10-05T12:09:45.*leave out its -n"):
        jobs(row.format(5000) + row.format(5001))


def test_an_export_of_weights_and_biases_has_watts_of_gpus_and_no_application(jobs):
    gpus = "system/gpu.0.powerWatts,system/gpu.1.powerWatts"
    runs = jobs(
        f"Name,State,Created,Runtime,Sweep,batch_size,{gpus}\n"
        "run-00,finished,2026-10-01T10:00:00.000Z,5188,,16,188,185\n"
        "run-01,crashed,2026-10-01T10:00:00.000Z,20,,32,190,\n"
    )
    assert runs.frame["power_w"].to_list() == [373.0, None]  # of one GPU is not of both
    assert "app" not in runs.columns
    assert runs.frame["censored"].to_list() == [False, True]
    assert "the sum of 2 GPUs" in _said(runs)


LIMITS = """id,submit,{heads}
1,2026-10-01T00:00:00,{a},4
2,2026-10-01T00:10:00,{b},4
"""


@pytest.mark.parametrize(("heads", "a", "b"), [
    ("runtime_min,walltime_h,cores", "30,1", "80,2"),
    ("runtime,walltime,cores", "00:30:00,01:00:00", "01:20:00,02:00:00"),
    ("start,end,walltime_min,cores", "2026-10-01T00:01:00,2026-10-01T00:31:00,60",
     "2026-10-01T00:11:00,2026-10-01T01:31:00,120"),
    ("runtime_s,limit_h,cores", "1800,1", "4800,2"),
    ("elapsed_s,requested_hours,cores", "1800,1", "4800,2"),
    ("elapsed_s,reqtime,cores", "1800,3600", "4800,7200"),
    ("elapsed_s,walltime_asked_min,cores", "1800,60", "4800,120"),
])  # fmt: skip
def test_a_limit_is_one_in_any_unit_beside_the_run_time(jobs, heads, a, b):
    table = jobs(LIMITS.format(heads=heads, a=a, b=b))
    assert table.numpy("time_limit_s").tolist() == [3600.0, 7200.0]
    assert table.numpy("runtime_s").tolist() == [1800.0, 4800.0]
    assert table.schema["time_limit_s"].known is Moment.SUBMIT


def test_a_wall_time_that_is_the_run_is_no_limit(jobs):
    table = jobs("id,start,end,walltime_min,cores\n"
                 "1,2026-10-01T00:01:00,2026-10-01T00:31:00,30,4\n"
                 "2,2026-10-01T00:11:00,2026-10-01T01:31:00,80,4\n")  # fmt: skip
    assert table.numpy("runtime_s").tolist() == [1800.0, 4800.0]
    assert "time_limit_s" not in table.columns


def test_moments_of_lsf_with_a_year_are_read_in_a_table(jobs):
    table = jobs("JOBID;SUBMIT_TIME;START_TIME;FINISH_TIME;SLOTS\n"
                 "7;Oct  1 00:00 2026;Oct  1 00:02 2026;Oct  1 00:35 2026 L;4\n"
                 "8;Oct  2 10:00 2026;Oct  2 10:05 2026;Oct  2 11:05 2026 X;4\n")  # fmt: skip
    begin = 1790812800.0  # 1 October 2026
    assert table.numpy("submit_s").tolist() == [begin, begin + 34 * 3600]
    assert table.numpy("runtime_s").tolist() == [33 * 60.0, 3600.0]


def test_points_of_thousands_before_decimal_commas_and_lengths_of_iso_8601(tmp_path):
    file = tmp_path / "knoten.csv"
    file.write_text("Knoten;Laufzeit (s);Energie (kWh)\n1;1.234,5;2,5\n2;640,2;2,6\n4;1.200;2,9\n")
    assert read_runs(file).frame["runtime_s"].to_list() == [1234.5, 640.2, 1200]
    file.write_text("nodes,duration,energy_wh\n1,PT1H2M3S,500\n2,PT32M,520\n4,PT17M5.5S,560\n")
    assert read_runs(file).frame["runtime_s"].to_list() == [3723, 1920, 1025.5]


def test_a_queue_of_numbers_is_how_long_jobs_waited_or_a_queue_by_number(jobs):
    """Traces of Helios have seconds; queues of other logs are numbered, also in an idle week."""
    waits = (0, 0, 70, 300)

    def log(queue, waits=waits):
        rows = [f"{k},2,{100 * k},{100 * k + waits[k]},50,{q}" for k, q in enumerate(queue)]
        return jobs("\n".join(["job_id,gpu_num,submit_time,start_time,duration,queue", *rows, ""]))

    waited = log(waits)
    assert waited.frame["wait_s"].to_list() == list(waits)
    assert "partition" not in waited.columns
    assert log([1, 1, 2, 1]).frame["partition"].to_list() == [1, 1, 2, 1]
    assert log([1] * 20, [0] * 19 + [300]).frame["partition"].to_list() == [1] * 20
    alone = "job_id,duration,queue\n" + "".join(f"{k},50,{17 * k}\n" for k in range(9))
    assert jobs(alone).frame["wait_s"].to_list() == [17 * k for k in range(9)]
    assert jobs("job_id,runtime_s,queue_h\n1,9,2\n").frame["wait_s"].to_list() == [7200]


def test_times_of_two_codes_side_by_side_are_rows_of_each_and_a_named_one_is_taken(jobs):
    """``mini`` is no minimum: the other code's pair was the only one left, and was taken."""
    text = "nodes,miniFE time (s),miniFE energy (kJ),HPCG time (s),HPCG energy (kJ)\n1,9,4,20,8\n"
    both = jobs(text).frame.select("case", "runtime_s", "energy_j")
    assert both.rows() == [("miniFE", 9, 4000), ("HPCG", 20, 8000)]
    columns = {"runtime_s": "miniFE time (s)", "energy_j": "miniFE energy (kJ)"}
    one = jobs(text, columns=columns)
    assert one.frame.select("runtime_s", "energy_j").row(0) == (9, 4000)
