"""SWF: real logs of the Parallel Workloads Archive, and what is written is what is read."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.job_logs.swf import read_swf, write_swf

LINE = "1 0 10 100 4 -1 -1 8 3600 2048 1 3 2 7 1 -1 -1 -1\n"


def test_a_real_log_comes_in_whole(shared_data):
    path = shared_data / "swf" / "LLNL-Atlas-2006-2.1-cln.swf.gz"
    jobs = read_swf(path)
    assert len(jobs) == 43778
    assert any("MaxProcs: 9216" in n.message for n in jobs.notes)
    assert any("UnixStartTime: 1163199901" in n.message for n in jobs.notes)
    assert jobs.frame["nodes"].max() == 9120 / 8  # whole nodes of 8 processors
    assert jobs.frame["cores"].null_count() == 4572  # -1 in the log, not the allocation
    assert set(jobs.frame["state"].drop_nulls()) == {"FAILED", "COMPLETED", "CANCELLED"}


def test_the_first_line_of_a_real_log_field_by_field(shared_data):
    path = shared_data / "swf" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    with gzip.open(path, "rt", encoding="latin-1") as file:
        raw = next(x for x in file if not x.startswith(";"))
    first = read_swf(path).frame.row(0, named=True)
    v = [float(x) for x in raw.split()]
    assert first["submit_s"] == v[1]
    assert first["start_s"] == v[1] + v[2]
    assert first["cores"] == v[7]
    assert first["user"] == str(int(v[11]))


def test_minus_one_is_null_and_nothing_is_filled_in(tmp_path):
    (tmp_path / "a.swf").write_text(
        "; MaxNodes: 4\n; MaxProcs: 16\n"
        + LINE
        + "2 5 -1 0 -1 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n"
    )
    jobs = read_swf(tmp_path / "a.swf")
    one, two = jobs.frame.rows(named=True)
    assert (one["nodes"], one["cores"], one["cores_alloc"]) == (2, 8, 4)
    assert one["memory_b"] == 2048 * 1024 * 8
    assert (one["start_s"], one["end_s"]) == (10.0, 110.0)
    assert two["cores"] is two["start_s"] is two["user"] is two["time_limit_s"] is None
    assert two["censored"]
    assert not one["censored"]


def test_processors_per_node_are_asked_for_or_taken_from_the_header(tmp_path):
    (tmp_path / "a.swf").write_text("; MaxNodes: 3\n; MaxProcs: 16\n" + LINE)
    assert "nodes" not in read_swf(tmp_path / "a.swf").columns
    assert read_swf(tmp_path / "a.swf", procs_per_node=3).frame["nodes"].to_list() == [3]


def test_bad_lines_are_noted_with_their_rows_and_the_rest_is_read(tmp_path):
    bad = [LINE, "1 2 3\n", LINE.replace("100", "x"), LINE.replace("1 0 10 100", "4 0 10 -7"),
           "9" * 10_000_000 + "\n", LINE]  # fmt: skip
    data = "".join(bad).encode() + b"\xff\xfe 1\n"
    (tmp_path / "a.swf").write_bytes(b"; Acknowledge: \xc5ke\n" + data)
    jobs = read_swf(tmp_path / "a.swf")
    gone = {n.message.split(";")[0]: n.rows for n in jobs.notes if n.dropped}
    assert gone == {
        "line is not 18 numbers": (1, 2),
        "runtime_s is negative": (3,),
        "line longer than 1,000,000 bytes": (4,),
        "line is not utf-8": (6,),
    }
    assert len(jobs) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "empty"), (b"; only a header\n", "only a header"), (b"hello\n", "not SWF")],
)
def test_a_file_without_jobs_is_one_clear_error(tmp_path, content, said):
    (tmp_path / "a.swf").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_swf(tmp_path / "a.swf")


def test_a_cut_gzip_file_says_so(tmp_path):
    whole = gzip.compress((LINE * 5000).encode())
    (tmp_path / "a.swf.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="damaged or cut off"):
        read_swf(tmp_path / "a.swf.gz")


NUMBERS = st.integers(min_value=0, max_value=10**9)


@settings(max_examples=50)
@given(
    rows=st.lists(
        st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 10**5), NUMBERS | st.none(),
                  st.sampled_from(["COMPLETED", "FAILED", "CANCELLED"]), st.integers(0, 999)),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_what_is_written_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("swf") / "a.swf"
    submit, wait, run, cores, limit, state, user = zip(*rows, strict=True)
    jobs = table({
        "job_id": list(range(len(rows))), "submit_s": list(map(float, submit)),
        "wait_s": list(map(float, wait)), "runtime_s": list(map(float, run)),
        "cores": list(cores), "time_limit_s": pl.Series(limit, dtype=pl.Float64),
        "state": list(state), "user": [str(u) for u in user],
    })  # fmt: skip
    write_swf(jobs, path, ["MaxNodes: 1000"])
    again = read_swf(path)
    assert again.frame.select(jobs.columns).equals(jobs.frame, null_equal=True)
    np.testing.assert_array_equal(again.numpy("end_s"), np.add(np.add(submit, wait), run))


@pytest.mark.parametrize("block_b", [1, 40, 150])
def test_text_put_in_order_block_by_block_is_the_same_log(tmp_path, monkeypatch, block_b):
    rows = [f"{i:>5}  {60 * i:>6}   0 {100 + i} 4 -1 -1  4 600 -1 1 {i % 3} 1 -1 1 -1 -1 -1"
            for i in range(1, 9)]  # fmt: skip
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 64\n" + "\n".join([*rows[:4], "", *rows[4:]]))  # no last newline
    whole = read_swf(log)
    monkeypatch.setattr("rheostat.measurement.job_logs.swf.BLOCK_B", block_b)
    assert read_swf(log).frame.equals(whole.frame)
    assert whole.frame["runtime_s"].to_list() == [101.0 + i for i in range(8)]
