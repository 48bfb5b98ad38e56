"""One door: formats are told apart by content; damaged parquet is one clear error."""

from __future__ import annotations

import polars as pl
import pyarrow.parquet as pq
import pytest

import rheostat
from rheostat.core.jobs import Moment
from rheostat.errors import DataError
from rheostat.measurement import read as reading
from rheostat.measurement.job_logs.pm100 import read_pm100
from rheostat.measurement.read import READERS, Reader, guess_format, read


@pytest.mark.parametrize("name", ["pm100", "adastra", "fdata"])
def test_generated_logs_are_told_apart(generated, name):
    assert guess_format(generated[name][0]) == name


def test_recorded_files_are_told_apart(shared_data):
    want = {
        "slurm/sacct_P.psv": "sacct", "slurm/sacct.json": "sacct-json",
        "slurm/v24.11/sacct_all_fields.psv": "sacct", "sacct/sacct_dump2101.log": "sacct",
        "swf/LLNL-Atlas-2006-2.1-cln.swf.gz": "swf", "swf/lublin_256.swf.gz": "swf",
        "swf/lumos_data_theta.csv.gz": "runs", "runs/lulesh_likwid/lulesh_omp.csv": "runs",
        "jobs/m100_gridpilot/m100_real_jobs_jan2022.parquet": "runs",
    }  # fmt: skip
    assert {k: guess_format(shared_data / k) for k in want} == want


def test_a_table_of_our_own_comes_back_whole(generated, tmp_path):
    jobs = read(generated["adastra"][0])
    jobs.write_parquet(tmp_path / "own.parquet")
    again = rheostat.read(tmp_path / "own.parquet")
    assert guess_format(tmp_path / "own.parquet") == "rheostat"
    assert again.frame.equals(jobs.frame, null_equal=True)
    assert again.notes == jobs.notes
    assert dict(again.schema) == dict(jobs.schema)


def test_a_pm100_table_whose_limits_are_instants_is_adastra(generated, tmp_path):
    frame = pl.read_parquet(generated["pm100"][0])
    frame.with_columns(time_limit=pl.lit(1_726_351_182)).write_parquet(tmp_path / "x.parquet")
    assert guess_format(tmp_path / "x.parquet") == "adastra"


def test_what_is_in_no_known_format_is_refused_with_what_is_read(tmp_path):
    (tmp_path / "a.txt").write_text("hello world\n")
    with pytest.raises(DataError, match="in no known format: give a table"):
        read(tmp_path / "a.txt")
    with pytest.raises(DataError, match=r"expected one of rheostat, store, adastra.*got 'tape'"):
        read(tmp_path / "a.txt", format="tape")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "b.txt")
    with pytest.raises(DataError, match="expected a file, got a folder"):
        read(tmp_path)
    (tmp_path / "c").write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        read(tmp_path / "c")


def test_an_option_that_a_format_has_not_is_named(generated):
    with pytest.raises(DataError, match="takes no option 'zone'"):
        read(generated["pm100"][0], options={"zone": "UTC"})


def test_values_of_all_rows_are_taken_beside_any_format(generated):
    jobs = read(generated["pm100"][0], options={"columns": {"randomized": "=1", "site": "=x"}})
    assert set(jobs.frame["randomized"]) == {1}
    assert set(jobs.frame["site"]) == {"x"}
    assert len(jobs) == len(read(generated["pm100"][0]))
    with pytest.raises(DataError, match="its columns are known; --column NAME==VALUE alone"):
        read(generated["pm100"][0], options={"columns": {"randomized": "=1", "app": "name"}})


def test_readers_of_other_packages_join_by_entry_point(monkeypatch, tmp_path):
    class Entry:
        name = "ones"

        def load(self):
            return Reader("ones", lambda h: h.start == b"1", read_pm100, "ones")

    monkeypatch.setattr(
        reading, "entry_points", lambda group: [Entry()] * (group == "rheostat.readers")
    )
    (tmp_path / "x").write_bytes(b"1")
    assert guess_format(tmp_path / "x") == "ones"
    assert "ones" not in READERS


class TestDamagedParquet:
    @pytest.mark.parametrize("name", ["pm100", "adastra", "fdata"])
    def test_cut_off(self, generated, tmp_path, name):
        whole = generated[name][0].read_bytes()
        (tmp_path / "x.parquet").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match="cut off"):
            read(tmp_path / "x.parquet")
        with pytest.raises(DataError, match="cut off"):
            READERS[name].read(tmp_path / "x.parquet")

    def test_a_hole_in_the_middle(self, generated, tmp_path):
        path = generated["pm100"][0]
        data = bytearray(path.read_bytes())
        group = pq.ParquetFile(path).metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        where = next(c for c in columns if c.path_in_schema.startswith("run_time"))
        at = where.dictionary_page_offset or where.data_page_offset
        data[at : at + where.total_compressed_size] = bytes(where.total_compressed_size)
        (tmp_path / "x.parquet").write_bytes(data)
        with pytest.raises(DataError, match="damaged"):
            read_pm100(tmp_path / "x.parquet")

    def test_a_text_file_that_is_called_parquet(self, tmp_path):
        (tmp_path / "x.parquet").write_text("hello")
        with pytest.raises(DataError, match="not a parquet file"):
            read_pm100(tmp_path / "x.parquet")

    def test_missing_and_mistyped_columns_are_all_named_at_once(self, generated, tmp_path):
        frame = pl.read_parquet(generated["pm100"][0]).drop("num_nodes_req", "submit_time")
        frame = frame.with_columns(run_time=pl.col("run_time").cast(pl.String),
                                   node_power_consumption=pl.lit(5.0))  # fmt: skip
        frame.write_parquet(tmp_path / "x.parquet")
        with pytest.raises(DataError) as caught:
            read_pm100(tmp_path / "x.parquet")
        said = str(caught.value)
        for part in ("submit_time is missing", "num_nodes_req is missing",
                     "run_time is String, expected a number",
                     "node_power_consumption is Float64, expected a list"):  # fmt: skip
            assert part in said

    def test_columns_but_no_rows(self, generated, tmp_path):
        for name in ("pm100", "adastra", "fdata"):
            pl.read_parquet(generated[name][0]).clear().write_parquet(tmp_path / "x.parquet")
            with pytest.raises(DataError, match="no rows"):
                READERS[name].read(tmp_path / "x.parquet")

    def test_optional_columns_may_be_absent_and_that_is_said(self, generated, tmp_path):
        frame = pl.read_parquet(generated["pm100"][0]).drop("num_tasks", "qos")
        frame.write_parquet(tmp_path / "x.parquet")
        jobs = read_pm100(tmp_path / "x.parquet")
        assert "qos" not in jobs.columns
        assert any("not in this file: qos, num_tasks" in n.message for n in jobs.notes)

    def test_impossible_rows_are_left_out_with_their_numbers(self, generated, tmp_path):
        frame = pl.read_parquet(generated["pm100"][0]).head(10).with_row_index("i")
        frame = frame.with_columns(
            run_time=pl.when(pl.col("i") == 2).then(-5).otherwise("run_time"),
            end_time=pl.when(pl.col("i") == 4)
            .then(pl.lit(0).cast(pl.Datetime("us", "UTC")))
            .otherwise("end_time"),
            num_nodes_req=pl.when(pl.col("i") == 6).then(-1).otherwise("num_nodes_req"),
        ).drop("i")
        frame.write_parquet(tmp_path / "x.parquet")
        jobs = read_pm100(tmp_path / "x.parquet")
        gone = {n.message: n.rows for n in jobs.notes if n.dropped}
        assert gone == {"runtime_s is negative": (2,), "end before start": (4,),
                        "nodes is negative": (6,)}  # fmt: skip
        assert len(jobs) == 7


def test_a_model_is_refused_what_only_the_end_reveals(generated):
    jobs = read(generated["pm100"][0])
    assert jobs.schema["runtime_s"].known is Moment.END
    from rheostat.errors import LeakError

    with pytest.raises(LeakError) as caught:
        jobs.refuse_later_than(Moment.SUBMIT, jobs.columns)
    assert {"runtime_s", "power_w", "energy_j", "start_s"} <= set(caught.value.columns)


def test_bytes_in_place_of_numbers_are_named(tmp_path):
    frame = pl.DataFrame({"app": ["a"], "nodes": [1], "runtime_s": [1.0], "power_w": [b"\xff"]})
    frame.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match="power_w holds bytes, expected numbers"):
        read(tmp_path / "x.parquet")
