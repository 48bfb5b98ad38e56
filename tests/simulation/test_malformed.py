"""Malformed traces through the command line: a note per row or one clear error, nothing silent."""

from __future__ import annotations

import gzip
import json

import numpy as np
import polars as pl
import pytest

from rheostat.cli import run

HEAD = "; MaxProcs: 16\n"


def job(number=1, submit=0, runtime=100, procs=4, *, wait=-1, used=None, ask=200):
    used = procs if used is None else used
    return (
        f"{number} {submit} {wait} {runtime} {used} -1 -1 {procs} {ask} -1 1 7 1 -1 -1 -1 -1 -1\n"
    )


@pytest.fixture
def simulated(tmp_path, capsys):
    """(exit code, rows of the schedule or None, stderr) of a trace with this text."""

    def go(text, *options, name="t.swf"):
        trace, out = tmp_path / name, tmp_path / "starts.csv"
        trace.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = run(["simulate", str(trace), "--schedule", str(out), *options])
        rows = pl.read_csv(out).rows() if out.exists() else None
        return code, rows, capsys.readouterr().err

    return go


GOOD = (1, 0, 0, 100, 4)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("2 10 -1 100 4\n", "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2).replace("100", "abc"), "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2).replace("100", "nan"), "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2).replace("100", "inf"), "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2).replace("100", "1e300"), "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2).strip() + " 5\n", "line is not 18 numbers: left out (1 row: record 2)"),
        (job(2, runtime=-7), "runtime_s is negative: left out (1 row: record 2)"),
        (job(2, runtime=-1), "no run time: left out (1 row: job 2)"),
        (job(2, procs=-4), "cores is negative: left out (1 row: record 2)"),
        (job(2, procs=0), "no processors asked for or used: left out (1 row: job 2)"),
        (job(2, procs=-1), "no processors asked for or used: left out (1 row: job 2)"),
        (job(2, procs=2.5), "cores is not a whole number: left out (1 row: record 2)"),
        (job(2.5), "job_id is not a whole number: left out (1 row: record 2)"),
        (job(2, procs=17), "more processors than the machine's 16: left out (1 row: job 2)"),
        (job(2, submit=-1), "no submission time: left out (1 row: job 2)"),
        (job(2, ask=-9), "time_limit_s is negative: left out (1 row: record 2)"),
    ],
)
def test_a_row_that_cannot_run_is_left_out_and_named(simulated, line, note):
    code, rows, err = simulated(HEAD + job(1) + line)
    assert code == 0
    assert rows == [GOOD]
    assert f"note: {note}" in err.splitlines()


@pytest.mark.parametrize(
    ("line", "row", "note"),
    [
        (job(2, 10, 0), (2, 10, 10, 10, 4), "zero run time: starts and ends at once"),
        (job(2, 10, ask=-1), (2, 10, 10, 110, 4), "no requested run time: planned with the true"),
        (job(2, 10, ask=0), (2, 10, 10, 110, 4), "no requested run time: planned with the true"),
        (job(2, 10, 300), (2, 10, 10, 310, 4), "ran longer than requested: kept"),
        (job(2, 10, wait=-60), (2, 10, 10, 110, 4), "wait_s is negative: taken as not known"),
        (job(2, -20), (2, -20, -20, 80, 4), "submitted before the row above"),
        (job(1, 10), (1, 10, 10, 110, 4), "job number used more than once"),
    ],
)
def test_a_row_that_is_odd_but_runs_is_run_as_it_stands_and_named(simulated, line, row, note):
    code, rows, err = simulated(HEAD + job(1) + line)
    assert code == 0
    assert rows == [GOOD, row]
    assert any(x.startswith(f"note: {note}") and "row" in x for x in err.splitlines())


def test_a_size_that_is_not_asked_for_is_the_one_used(simulated):
    code, rows, _ = simulated(HEAD + job(1, procs=-1, used=3))
    assert (code, rows) == (0, [(1, 0, 0, 100, 3)])


def test_submissions_out_of_order_are_run_by_time_and_come_back_in_the_order_of_the_trace(
    simulated,
):
    """Job 3 comes first, by time, and takes the whole machine."""
    text = HEAD + job(1, 50) + job(2, 40) + job(3, 20, procs=16)
    code, rows, err = simulated(text)
    assert code == 0
    assert rows == [(1, 50, 120, 220, 4), (2, 40, 120, 220, 4), (3, 20, 20, 120, 16)]
    assert "note: submitted before the row above: simulated in order of time" in err
    assert "(2 rows: jobs 2, 3)" in err


def test_the_order_of_rows_changes_no_start(simulated):
    rng = np.random.default_rng(0)
    lines = [
        job(i, int(s), int(r), int(p), ask=2 * int(r))
        for i, s, r, p in zip(range(60), rng.permutation(6000), rng.integers(1, 900, 60),
                              rng.integers(1, 17, 60), strict=False)
    ]  # fmt: skip
    first = simulated(HEAD + "".join(sorted(lines, key=lambda x: int(x.split()[1]))))[1]
    shuffled = simulated(HEAD + "".join(rng.permutation(lines)))[1]
    assert sorted(first) == sorted(shuffled)
    assert first != shuffled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (HEAD, "has no line of 18 numbers"),
        (HEAD + "1 2 3\n", "has no line of 18 numbers"),
        (HEAD + job(1, runtime=-1), "no row of the trace can run; no run time: left out"),
        (
            job(1),
            "the trace does not say its size, and has no starts to find it by: give its ",
        ),
        ("; MaxProcs: many\n" + job(1), "the trace does not say its size"),
        ("; MaxProcs: 0\n" + job(1), "the trace does not say its size"),
        ("hello\n", "no known format"),
        (b"\x00\xff\x00" * 100, "no known format"),
        (gzip.compress((HEAD + job(1) * 5000).encode(), mtime=0)[:100], "damaged or cut off"),
    ],
)
def test_a_file_that_is_no_trace_is_one_clear_error(simulated, text, said):
    packed = isinstance(text, bytes) and text[:2] == b"\x1f\x8b"
    code, rows, err = simulated(text, name="t.swf.gz" if packed else "t.swf")
    assert code == 1
    assert rows is None
    assert said in err
    assert err.startswith("rheostat: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("size", ["0", "-3", "2.5", "many"])
def test_a_machine_that_is_none_is_one_clear_error(simulated, size):
    code, _, err = simulated(HEAD + job(1), f"--machine={size}")
    assert code == 1
    assert "expected a" in err
    assert len(err.splitlines()) == 1


def test_the_first_lines_may_be_damaged(simulated):
    code, rows, err = simulated("what is this\n1 2\n" + HEAD + job(1))
    assert (code, rows) == (0, [GOOD])
    assert "line is not 18 numbers: left out (2 rows: records 1, 2)" in err


def test_json_carries_the_same_notes(tmp_path, capsys):
    path = tmp_path / "t.swf"
    path.write_text(HEAD + job(1) + "1 2 3\n" + job(3, runtime=0) + job(4, procs=99))
    assert run(["simulate", str(path), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    found = {
        n["message"]: (n["rows"], n["dropped"], n.get("records"), n.get("jobs")) for n in notes
    }
    assert found["line is not 18 numbers"] == (1, True, [2], None)
    assert found["zero run time: starts and ends at once"] == (1, False, None, [3])
    assert found["more processors than the machine's 16: left out"] == (1, True, None, [4])


def test_rows_in_are_rows_out_and_rows_left_out(simulated):
    """Any mixture of damage: no row is lost without being counted."""
    damage = [
        job(7),
        "1 2\n",
        job(8, runtime=-1),
        job(9, procs=40),
        job(10, runtime=-5),
        job(11, 5),
    ]
    rng = np.random.default_rng(1)
    lines = [damage[i] for i in rng.integers(0, len(damage), 300)] + [job(12)]
    _, rows, err = simulated(HEAD + "".join(lines))
    gone = sum(int(x.split("(")[-1].split(" row")[0]) for x in err.splitlines() if "left out" in x)
    assert len(rows) + gone == len(lines)


def test_a_trace_without_sizes_is_told_the_option_that_names_them(simulated):
    text = "job_id,submit_s,procz,runtime_s\na,0,4,60\n"
    code, _, said = simulated(text, "--machine", "8", name="t.csv")
    assert code == 1
    assert "--column cores=THEIRS" in said
