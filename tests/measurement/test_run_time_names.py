"""Names of run time, limit and wait in other words, and which of several the run time is."""

import pytest

import rheostat as rh
from rheostat.measurement.runs.guess import guess_name

RUN = (
    "run_min", "run_h", "run_hours", "runMinutes", "run (min)", "Run [h]", "ran_min", "exec_s",
    "ran_for_min", "execution_min", "ExecutionTime", "execTime(ms)", "actual_min", "took_min",
    "actual_runtime_s", "job_duration_min", "run_duration_s", "run_length_min", "running_time_s",
    "service_time_s", "service_s", "processing_time_h", "time_used_s", "time_taken_min",
    "wall_used_min", "real_min", "job_run_min", "walltime_min",
)  # fmt: skip
LIMIT = (
    "req_min", "requested_min", "max_walltime_min", "max_wall_h", "wall_req_h", "estimate_min",
    "est_min", "booked_h", "estimated_min", "asked_min", "max_run_h", "walltime_requested_min",
)  # fmt: skip
WAIT = ("queue_wait_min", "waited_min", "pending_min", "time_in_queue_min", "queue_time_s")


@pytest.mark.parametrize(
    ("ours", "names"), [("runtime_s", RUN), ("time_limit_s", LIMIT), ("wait_s", WAIT)]
)
def test_a_time_is_told_by_its_words(ours, names) -> None:
    assert {n: guess_name(n) for n in names} == dict.fromkeys(names, ours)


def test_without_a_unit_of_time_such_words_are_none() -> None:
    names = ("run", "ran", "exec", "run_no", "runs", "step_min", "io_min", "power_min", "actual")
    assert {n: guess_name(n) for n in names} == dict.fromkeys(names)


@pytest.fixture
def log(tmp_path):
    def read(heads: str, *rows: str):
        """Two jobs of 90 and 30 minutes, 240 asked for."""
        file = tmp_path / "log.csv"
        lines = [f"id,submit,{heads},cores"]
        lines += [f"{i},2026-10-01T00:00:00,{row},4" for i, row in enumerate(rows)]
        file.write_text("\n".join(lines) + "\n")
        return rh.read(file)

    return read


@pytest.mark.parametrize("heads", ["run_min,walltime_min", "walltime_min,run_min",
                                   "exec_min,wall_min", "wall_min,actual_min",
                                   "duration_min,walltime_min", "service_min,wall (min)",
                                   "run_min,est_min", "took_min,requested_min"])  # fmt: skip
def test_of_run_and_wall_time_the_longer_was_asked_for(log, heads) -> None:
    first = heads.startswith("wall")
    jobs = log(heads, *(("240,90", "240,30") if first else ("90,240", "30,240")))
    assert jobs.numpy("runtime_s").tolist() == [5400.0, 1800.0]
    assert jobs.numpy("time_limit_s").tolist() == [14400.0, 14400.0]
    assert not _doubts(jobs)


@pytest.mark.parametrize(("heads", "rows"), [
    ("compute_min,walltime_min", ("90,240", "30,240")),
    ("ran,walltime", ("01:30:00,04:00:00", "00:30:00,04:00:00")),
])  # fmt: skip
def test_a_wall_time_beside_an_unknown_shorter_time_is_in_doubt(log, heads, rows) -> None:
    jobs = log(heads, *rows)
    assert jobs.numpy("runtime_s").tolist() == [14400.0, 14400.0]
    theirs, wall = heads.split(",")
    said = f"--column runtime_s={theirs} --column time_limit_s={wall} says so"
    assert [n.endswith(said) for n in _doubts(jobs)] == [True]


def test_times_of_a_run_and_of_its_parts_are_no_limit(tmp_path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("nodes,wall_s,exec_s,energy_J\n1,100,90,1000\n2,60,50,900\n")
    runs = rh.read(file)
    assert runs.numpy("runtime_s").tolist() == [100.0, 60.0]
    assert [n.endswith("--column runtime_s=exec_s says so") for n in _doubts(runs)] == [True]
    file.write_text("nodes,runtime_min,runtime_max,runtime_mean\n1,9,11,10\n2,5,7,6\n")
    assert rh.read(file).numpy("runtime_s").tolist() == [10.0, 6.0]  # no minutes
    assert not _doubts(rh.read(file))


def _doubts(jobs):
    return [n.message for n in jobs.notes if "but it may be" in n.message]
