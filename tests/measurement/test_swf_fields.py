"""The Standard Workload Format field by field, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.measurement.job_logs.swf import read_swf, write_swf


def test_a_line_of_swf_field_by_field(tmp_path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; MaxNodes: 8\n; MaxProcs: 32\n; Note: x\n"
                    "7 100 20 300 6 55 64 5 900 128 1 11 12 13 14 15 6 30\n")  # fmt: skip
    jobs = read_swf(path)
    want = {
        "job_id": 7, "submit_s": 100, "wait_s": 20, "runtime_s": 300, "cores_alloc": 6,
        "cpu_time_s": 55, "cores": 5, "time_limit_s": 900, "user": "11", "group": "12",
        "app": "13", "queue": "14", "partition": "15", "preceding_job": 6, "think_s": 30,
        "start_s": 120, "end_s": 420, "state": "COMPLETED", "censored": False,
        "memory_b": 128 * 1024 * 5, "memory_used_b": 64 * 1024 * 6, "nodes": 2,
    }  # fmt: skip
    assert jobs.frame.row(0, named=True) == want
    said = [n.message for n in jobs.notes]
    assert "header MaxNodes: 8; MaxProcs: 32" in said
    assert "nodes = cores / 4 (MaxProcs / MaxNodes), rounded up" in said


@pytest.mark.parametrize(
    ("status", "state", "censored"),
    [(0, "FAILED", True), (1, "COMPLETED", False), (2, "PARTIAL", True),
     (3, "PARTIAL_COMPLETED", False), (4, "PARTIAL_FAILED", True), (5, "CANCELLED", True),
     (-1, None, None), (9, None, None)],
)  # fmt: skip
def test_the_status_of_a_job(tmp_path, status, state, censored) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"1 0 0 5 1 -1 -1 1 9 -1 {status} 1 1 1 1 1 -1 -1\n")
    jobs = read_swf(path)
    assert jobs.frame.select("state", "censored").row(0) == (state, censored)
    pieces = any("a piece of a job" in n.message for n in jobs.notes)
    assert pieces == ("PARTIAL" in str(state))


@pytest.mark.parametrize(
    ("head", "why"),
    [("; MaxNodes: 3\n; MaxProcs: 16\n", "MaxProcs 16 is no multiple of MaxNodes 3"),
     ("; MaxNodes: 0\n; MaxProcs: 16\n", "no multiple of MaxNodes 0"),
     ("; MaxNodes: x\n; MaxProcs: 16\n", "counts processors, not nodes"), ("", "counts proc")],
)  # fmt: skip
def test_nodes_are_not_guessed(tmp_path, head, why) -> None:
    path = tmp_path / "log.swf"
    path.write_text(head + "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    jobs = read_swf(path)
    assert "nodes" not in jobs.columns
    assert any(why in n.message for n in jobs.notes)
    assert read_swf(path, procs_per_node=4).frame["nodes"].to_list() == [1]


whole = st.integers(-1, 2000)


@pytest.mark.slow
@given(st.lists(st.tuples(*[whole] * 17), min_size=1, max_size=8),
       st.sampled_from([" ", "  ", "\t"]), st.sampled_from(["\n", " \n", "\r\n", "\n\n"]),
       st.booleans(), st.booleans())  # fmt: skip
def test_blanks_and_comments_change_nothing(tmp_path_factory, rows, gap, end, indent, late) -> None:
    """The quick way and the careful way read the same table from the same numbers."""
    folder = tmp_path_factory.mktemp("swf")
    lines = [[i + 1, *map(abs, row[:1]), *row[1:]] for i, row in enumerate(rows)]
    plain = "".join(" ".join(map(str, x)) + "\n" for x in lines)
    spaced = "".join(gap * indent + gap.join(map(str, x)) + end for x in lines)
    (folder / "a.swf").write_text("; MaxProcs: 4\n" + plain)
    (folder / "b.swf").write_text("; MaxProcs: 4\n" + spaced + "; the end\n" * late)
    a, b = read_swf(folder / "a.swf"), read_swf(folder / "b.swf")
    assert a.frame.equals(b.frame, null_equal=True)
    assert [n.rows for n in a.notes if n.dropped] == [n.rows for n in b.notes if n.dropped]


def test_what_a_table_lacks_is_minus_one_and_names_become_numbers(tmp_path) -> None:
    path = tmp_path / "log.swf"
    jobs = table({"job_id": [1, 2], "submit_s": [0.0, 5.5], "start_s": [1.0, 7.5],
                  "runtime_s": [3.0, None], "cores": [2, 4], "user": ["zoe", "ann"],
                  "state": ["FAILED", "RUNNING"]})  # fmt: skip
    write_swf(jobs, path, ["MaxProcs: 8"])
    assert path.read_text().splitlines() == [
        "; Version: 2.2",
        "; MaxProcs: 8",
        "1 0 1 3 -1 -1 -1 2 -1 -1 0 2 -1 -1 -1 -1 -1 -1",
        "2 5.5 2 -1 -1 -1 -1 4 -1 -1 -1 1 -1 -1 -1 -1 -1 -1",
    ]
    again = read_swf(path)
    assert again.frame["start_s"].to_list() == [1.0, 7.5]
    assert again.frame["user"].to_list() == ["2", "1"]


def test_numbers_too_large_or_not_whole_are_noted_with_their_row(tmp_path) -> None:
    path = tmp_path / "log.swf"
    good = "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"
    path.write_text(good + good.replace(" 5 1 ", f" {2**53} 1 ") + good.replace("1 0 0", "1.5 0 0")
                    + good.replace("9 -1 1 1", "9 -1 1 1.5") + good)  # fmt: skip
    gone = {n.message: n.rows for n in read_swf(path).notes if n.dropped}
    assert gone == {"line is not 18 numbers": (1,), "job_id is not a whole number": (2,),
                    "user is not a whole number": (3,)}  # fmt: skip


def test_pieces_of_a_job_do_not_run_beside_it(tmp_path) -> None:
    path = tmp_path / "log.swf"
    line = "{} {} 0 {} 1 -1 -1 1 99 -1 {} 1 1 1 1 1 -1 -1\n"
    path.write_text(line.format(1, 0, 50, 1) + line.format(2, 5, 9, 1) + line.format(1, 0, 20, 2)
                    + line.format(1, 20, 30, 3) + line.format(3, 40, 7, 2))  # fmt: skip
    jobs = read_swf(path)
    assert jobs.frame.select("job_id", "runtime_s").rows() == [(1, 50), (2, 9), (3, 7)]
    rows = {n.message: n.rows for n in jobs.notes if "piece" in n.message}
    assert rows["a piece of a job whose own line is there"] == (2, 3)
    assert [r for m, r in rows.items() if "no line of its own" in m] == [(4,)]
