"""What every reader promises of every row and every file: nothing impossible, nothing silent."""

from __future__ import annotations

import polars as pl
import pytest

from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.checks import AMOUNTS, ROW, as_jobs, drop_impossible, note_rows
from rheostat.measurement.job_logs.swf import read_swf
from rheostat.measurement.read import READERS, read
from rheostat.measurement.runs import read_runs

SWF = "{} {} {} 100 4 -1 -1 4 200 -1 1 7 1 -1 -1 -1 -1 -1\n"


def rows(**columns) -> pl.DataFrame:
    frame = pl.DataFrame(columns)
    return frame.with_columns(pl.int_range(frame.height).alias(ROW))


def test_everything_that_is_counted_or_metered_is_an_amount() -> None:
    """Whatever has watts, joules, bytes or a limit, or counts hardware, cannot be below zero."""
    # what is set, or derived after reading, is left out
    metered = {n for n, c in VOCABULARY.items() if c.unit in ("W", "J", "B")} | {"time_limit_s"}
    later = {"cap_w", "cpu_cap_w", "gpu_cap_w", "power_per_node_w", "memory_alloc_b"}
    assert metered - later <= set(AMOUNTS)


@pytest.mark.parametrize("name", AMOUNTS)
def test_an_amount_below_zero_costs_the_row_its_place_and_zero_does_not(name) -> None:
    kept, notes = drop_impossible(rows(**{name: [1.0, -1.0, 0.0, None]}))
    assert kept[name].to_list() == [1.0, 0.0, None]
    assert [(n.message, n.rows, n.count, n.dropped) for n in notes] == [
        (f"{name} is negative", (1,), 1, True)
    ]


def test_a_row_wrong_in_two_ways_is_counted_once() -> None:
    frame = rows(submit_s=[5.0, 5.0, 5.0], start_s=[6.0, 4.0, 6.0], end_s=[6.0, 3.0, 5.0],
                 runtime_s=[0.0, -1.0, 1.0])  # fmt: skip
    jobs = as_jobs(frame)
    assert len(jobs) == 1
    assert {n.message: n.rows for n in jobs.notes} == {
        "runtime_s is negative": (1,),
        "end before start": (2,),
    }


def test_a_note_lists_twenty_rows_and_counts_all() -> None:
    note = note_rows("odd", range(21))
    assert (note.rows, note.count, note.dropped) == (tuple(range(20)), 21, False)


def test_nulls_are_counted_by_column() -> None:
    jobs = as_jobs(rows(nodes=[1, None, None], power_w=[None, 2.0, 3.0]))
    assert [n.message for n in jobs.notes] == ["not known (null): nodes 2, power_w 1"]


def test_negative_joules_of_a_table_are_left_out_and_named(tmp_path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("nodes,runtime_s,energy_j\n1,5,50\n2,5,-50\n")
    jobs = read(path)
    assert jobs.frame["energy_j"].to_list() == [50]
    assert [(n.message, n.rows) for n in jobs.notes if n.dropped] == [
        ("energy_j is negative", (1,))
    ]


def test_a_negative_wait_is_noted_with_its_row_and_the_job_stays(tmp_path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(SWF.format(1, 0, 5) + SWF.format(2, 10, -60) + SWF.format(3, 20, 0))
    jobs = read_swf(path)
    assert jobs.frame["wait_s"].to_list() == [5, None, 0]
    assert jobs.frame["start_s"].to_list() == [5, None, 20]
    said = {n.message: (n.rows, n.count, n.dropped) for n in jobs.notes}
    assert said["wait_s is negative: taken as not known"] == ((1,), 1, False)


def test_a_rate_becomes_a_time_and_no_rate_becomes_none(tmp_path) -> None:
    """A speed of 0 never ends: its runtime is not known, and certainly not infinite or 0."""
    path = tmp_path / "rates.csv"
    path.write_text("nodes,speed\n1,4\n2,0\n3,-2\n4,0.5\n")
    jobs = read_runs(path, columns={"runtime_s": {"from": "speed", "inverse": True}})
    assert jobs.frame["runtime_s"].to_list() == [0.25, None, None, 2.0]
    assert "not known (null): runtime_s 2" in [n.message for n in jobs.notes]


FILES = {
    "pm100": None,
    "fdata": None,
    "papi": '{"papi_version": "7", "threads": {"0": {"regions": {}}}}',
    "perf": "1.5,msec,task-clock,100,100.00,,\n",
    "pcm": "System,,\nDate,Time,EXEC\n2026-01-01,00:00:00,0.5\n",
    "sacct": "JobID|State|Elapsed\n1|COMPLETED|00:01:00\n",
    "sacct-json": '{"jobs": [{"job_id": 1}]}',
    "swf": SWF.format(1, 0, 5),
    "text": "hello world\n",
}
# tables of runs take any delimited text with a runtime, power or energy; that is their purpose
STRICT = sorted(set(READERS) - {"runs", "training"})


@pytest.mark.parametrize("reader", STRICT)
def test_a_file_of_another_format_is_refused_and_named(reader, generated, tmp_path) -> None:
    for name, text in FILES.items():
        if name == reader:
            continue
        path = generated[name][0] if text is None else tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(DataError) as caught:
            read(path, format=reader)
        assert str(path) in str(caught.value)


def test_of_many_columns_with_nulls_the_few_that_matter_are_named():
    empty = {f"own_{i}": [None] * 3 for i in range(11)}
    jobs = as_jobs(pl.DataFrame({**empty, "qos": ["a", None, "b"], "energy_j": [None, None, 9.0],
                                 ROW: [0, 1, 2]}))  # fmt: skip
    assert [n.message for n in jobs.notes] == [
        "not known (null): energy_j 2, qos 1; "
        "and in every row 11 columns (own_0, own_1, own_2, ...)"
    ]
