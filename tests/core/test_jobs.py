"""The claims of `core.jobs`: the future is out of reach, rows are neither lost nor reordered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema
from rheostat.core.vocabulary import VOCABULARY, table
from rheostat.errors import DataError, LeakError


def test_submit_time_view_has_no_later_column() -> None:
    every = table({name: [1] for name in VOCABULARY})
    seen = every.known_at(Moment.SUBMIT)
    assert all(seen.schema[c].known is Moment.SUBMIT for c in seen.columns)
    assert "runtime_s" not in seen.columns
    assert "nodes_alloc" in every.known_at(Moment.START).columns


def test_leak_names_every_late_column() -> None:
    jobs = table({"nodes": [1], "runtime_s": [2.0], "power_w": [3.0]})
    with pytest.raises(
        LeakError, match=r"runtime_s is known later; power_w is known later"
    ) as caught:
        jobs.refuse_later_than(Moment.SUBMIT, ["nodes", "runtime_s", "power_w"])
    assert caught.value.columns == ("runtime_s", "power_w")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.floats(0.05, 0.95))
def test_split_by_time_partitions_and_orders(submits: list[int], fraction: float) -> None:
    jobs = table({"job_id": list(range(len(submits))), "submit_s": submits})
    past, recent = jobs.split_by_time(fraction)
    ids = past.frame["job_id"].to_list() + recent.frame["job_id"].to_list()
    assert sorted(ids) == list(range(len(submits)))
    if len(recent):
        assert past.frame["submit_s"].max() < recent.frame["submit_s"].min()


def test_rows_without_a_submit_time_are_recent_not_lost() -> None:
    past, recent = table({"submit_s": [3, None, 1, 2]}).split_by_time(0.5)
    assert past.frame["submit_s"].to_list() == [1, 2]
    assert recent.frame["submit_s"].to_list() == [3, None]


def test_frame_and_schema_must_agree_and_all_problems_are_said() -> None:
    schema = Schema([Column("a", "", Moment.SUBMIT), Column("b", "", Moment.SUBMIT)])
    with pytest.raises(DataError) as caught:
        JobTable(pl.DataFrame({"a": [1], "c": [2]}), schema)
    assert caught.value.problems == (
        "column c has no schema entry",
        "schema names b, the frame has not",
    )


def test_missing_columns_are_all_named() -> None:
    with pytest.raises(
        DataError, match="column nodes is missing; column user is missing; present: a"
    ):
        table({"a": [1]}).select(["nodes", "a", "user"])


def test_parquet_keeps_units_moments_and_notes(tmp_path: Path) -> None:
    jobs = table(
        {"nodes": [1, None], "tile": ["a", "b"]},
        [Column("tile", "", Moment.START, "tile")],
        [Note("row 1 has no nodes", (1,), 1)],
    )
    jobs.write_parquet(tmp_path / "t.parquet")
    again = JobTable.read_parquet(tmp_path / "t.parquet")
    assert again.frame.equals(jobs.frame)
    assert dict(again.schema) == dict(jobs.schema)
    assert again.notes == jobs.notes


def test_foreign_parquet_is_refused_with_the_way_out(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"read other formats with rheostat\.read"):
        JobTable.read_parquet(tmp_path / "x.parquet")


def test_null_is_nan_never_zero() -> None:
    assert np.isnan(table({"power_w": [None, 2.0]}).numpy("power_w")[0])


def test_rows_by_mask_index_and_expression_agree() -> None:
    jobs = table({"nodes": [4, 2, 8]})
    by_mask = jobs.rows(np.array([False, True, True])).frame
    assert by_mask.equals(jobs.rows([1, 2]).frame)
    assert by_mask["nodes"].to_list() == [2, 8]
    assert jobs.rows(pl.col("nodes") > 3).frame["nodes"].to_list() == [4, 8]


def test_frames_of_other_libraries_come_in_and_go_out_whole() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    own = table({"job_id": ["a", "b"], "nodes": [4, None], "runtime_s": [60.0, 40.5]})
    for theirs in (own.to_pandas(), arrow.table(own), own.frame, own):
        again = table(theirs)
        assert again.frame["runtime_s"].to_list() == [60.0, 40.5]
        assert again.frame["job_id"].to_list() == ["a", "b"]
        assert again.schema["runtime_s"] == own.schema["runtime_s"]
    assert isinstance(own.to_pandas(), pandas.DataFrame)
    assert arrow.table(own).column("nodes").to_pylist() == [4, None]


def test_the_short_form_of_a_table_fits_a_line() -> None:
    wide = table({f"c{i}": [1] for i in range(30)}, notes=[Note("odd")])
    assert repr(wide) == "<JobTable: 1 row of c0, c1, c2, c3, c4, c5 and 24 more; 1 note>"
    assert "<table" in wide._repr_html_()
