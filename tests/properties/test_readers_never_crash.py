"""Whatever bytes a file holds, reading it gives a table or a `DataError`, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.published_logs import write_adastra, write_fdata, write_pm100
from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.measurement.read import READERS, read
from rheostat.measurement.synthetic import World

SACCT = (
    "JobID|JobName|State|Submit|Start|End|Elapsed|Timelimit|NNodes|ReqMem|ReqTRES|ConsumedEnergy\n"
    "1|a|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|00:01:00|"
    "1-00:00:00|2|4Gn|cpu=2,mem=4G,node=2|5.1K\n"
    "1.batch|b|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|00:01:00||2|||5K\n"
)
SWF = "; MaxNodes: 4\n; MaxProcs: 8\n" + "1 2 5 60 4 -1 -1 4 600 -1 1 3 -1 -1 1 -1 -1 -1\n" * 5
JSON = (
    '{"meta": {"slurm": {"release": "24.11"}}, "jobs": [{"job_id": 1, "name": "x", "time": '
    '{"submission": 10, "start": 20, "end": 80, "elapsed": 60, "limit": {"set": true, '
    '"number": 5}}, "state": {"current": ["COMPLETED"]}, "tres": {"requested": '
    '[{"type": "node", "count": 2}]}, "steps": [{"step": {"id": "1.0"}, '
    '"statistics": {"energy": {"consumed": 5}}}]}]}'
)
RUNS = "app,nodes,wall_s,power_W\n" + "lu,1,10.5,300\n" * 6
TEXTS = {"sacct": SACCT, "swf": SWF, "sacct-json": JSON, "runs": RUNS}
ODD = ["|", ",", "\n", "null", "-1", "1e400", "nan", "{}", "[]", "9" * 30, '"', "\0"]
SOME = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def survives(path, name=None):
    try:
        jobs = read(path, name)
    except DataError:
        return
    assert isinstance(jobs, JobTable)
    assert len(jobs) >= 0


@SOME
@given(data=st.binary(max_size=400), name=st.sampled_from([None, *READERS]))
def test_any_bytes(folder, data, name):
    (folder / "x").write_bytes(data)
    survives(folder / "x", name)


@pytest.mark.slow
@SOME
@given(
    name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 700), gone=st.integers(0, 30),
    extra=st.text(max_size=20) | st.sampled_from(ODD),
)  # fmt: skip
def test_a_text_log_with_a_piece_replaced(folder, name, at, gone, extra):
    text = TEXTS[name]
    at %= len(text)
    (folder / "x").write_bytes((text[:at] + extra + text[at + gone :]).encode("utf-8", "replace"))
    survives(folder / "x")
    survives(folder / "x", name)


@pytest.fixture(scope="module")
def logs(folder):
    for name, write in (("pm100", write_pm100), ("adastra", write_adastra), ("fdata", write_fdata)):
        write(folder / name, 40)
    World().jobs(40).write_parquet(folder / "rheostat")
    return {n: (folder / n).read_bytes() for n in ("pm100", "adastra", "fdata", "rheostat")}


@pytest.mark.slow
@SOME
@given(
    name=st.sampled_from(["pm100", "adastra", "fdata", "rheostat"]),
    at=st.floats(0, 1), piece=st.binary(min_size=1, max_size=60), cut=st.booleans(),
)  # fmt: skip
def test_a_parquet_log_with_a_piece_replaced_or_cut(folder, logs, name, at, piece, cut):
    data = logs[name]
    i = int(at * (len(data) - 1))
    (folder / "x").write_bytes(data[:i] if cut else data[:i] + piece + data[i + len(piece) :])
    survives(folder / "x")
    survives(folder / "x", name)
