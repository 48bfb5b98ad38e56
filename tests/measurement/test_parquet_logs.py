"""PM100, Adastra and F-DATA: the published schema in, SI units out, every trap guarded."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from benchmarks.published_logs import write_adastra
from rheostat.core.jobs import Moment
from rheostat.errors import DataError, LeakError
from rheostat.measurement.job_logs.adastra import read_adastra
from rheostat.measurement.job_logs.fdata import read_fdata
from rheostat.measurement.job_logs.pm100 import read_pm100
from rheostat.measurement.repairs import complete_only, per_node_power, per_node_requests
from rheostat.measurement.synthetic import World

READ = {"pm100": read_pm100, "adastra": read_adastra, "fdata": read_fdata}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_what_the_site_knows(generated, name):
    path, site = generated[name]
    jobs = READ[name](path)
    assert len(jobs) == len(site)
    for column, rtol in (("nodes", 0), ("runtime_s", 0), ("submit_s", 0), ("start_s", 0),
                         ("end_s", 0), ("power_w", 0.2), ("energy_j", 0.2)):  # fmt: skip
        np.testing.assert_allclose(
            jobs.numpy(column), site.numpy(column), rtol=rtol, atol=1e-6, err_msg=column
        )
    middle = np.median(jobs.numpy("power_w") / site.numpy("power_w"))
    assert abs(middle - 1) < 0.005
    assert jobs.frame["censored"].to_list() == site.frame["censored"].to_list()


@pytest.mark.parametrize("name", READ)
def test_nothing_known_later_than_submission_passes_as_a_feature(generated, name):
    jobs = READ[name](generated[name][0])
    early = jobs.known_at(Moment.SUBMIT).columns
    assert not {"runtime_s", "power_w", "energy_j", "end_s", "state", "censored"} & set(early)
    assert not {"start_s", "nodes_alloc", "cores_alloc"} & set(early)
    with pytest.raises(LeakError, match="power_w is known later"):
        jobs.refuse_later_than(Moment.SUBMIT, ["nodes", "power_w"])


def test_the_generated_schemas_have_the_published_columns(generated):
    counts = {k: len(pq.read_schema(p).names) for k, (p, _) in generated.items()}
    assert counts == {"pm100": 35, "adastra": 35, "fdata": 45}
    schema = pq.read_schema(generated["pm100"][0])
    assert str(schema.field("submit_time").type) == "timestamp[us, tz=UTC]"
    assert str(schema.field("node_power_consumption").type).startswith("list<")
    assert schema.field("num_tasks").type == "double"


class TestPm100:
    def test_power_is_the_total_of_the_job_and_per_node_is_offered(self, generated):
        jobs = read_pm100(generated["pm100"][0])
        assert any("whole job" in n.message for n in jobs.notes)
        each = per_node_power(jobs)
        total = np.corrcoef(np.log(jobs.numpy("nodes")), np.log(jobs.numpy("power_w")))[0, 1]
        share = np.corrcoef(np.log(jobs.numpy("nodes")), np.log(each.numpy("power_per_node_w")))[
            0, 1
        ]
        assert total > 0.8
        assert abs(share) < 0.6
        assert each.schema["power_per_node_w"].known is Moment.END

    def test_limits_are_seconds_and_memory_bytes(self, generated):
        path, site = generated["pm100"]
        jobs = read_pm100(path)
        assert (jobs.numpy("time_limit_s") == site.numpy("time_limit_s")).all()
        assert (jobs.numpy("memory_b") == site.numpy("memory_b")).all()

    def test_a_mean_is_the_mean_of_the_samples(self, generated):
        path, _ = generated["pm100"]
        raw = pl.read_parquet(path)["node_power_consumption"].to_list()
        jobs = read_pm100(path)
        np.testing.assert_allclose(jobs.numpy("power_w"), [np.mean(x) for x in raw])
        assert jobs.frame["power_max_w"].to_list() == [max(x) for x in raw]
        assert jobs.frame["power_samples"].to_list() == [len(x) for x in raw]

    def test_an_empty_power_list_is_null_not_zero(self, generated, tmp_path):
        frame = pl.read_parquet(generated["pm100"][0]).head(5)
        empty = pl.Series([[], *frame["node_power_consumption"].to_list()[1:]],
                          dtype=pl.List(pl.Int64))  # fmt: skip
        frame.with_columns(node_power_consumption=empty).write_parquet(tmp_path / "x.parquet")
        jobs = read_pm100(tmp_path / "x.parquet")
        assert jobs.frame["power_w"].to_list()[0] is None
        assert jobs.frame["energy_j"].to_list()[0] is None
        assert jobs.frame["power_w"].null_count() == 1


class TestAdastra:
    def test_joules_become_watts(self, generated):
        path, site = generated["adastra"]
        jobs = read_adastra(path)
        joules = pl.read_parquet(path)["node_power_consumption"].list.first().to_numpy()
        np.testing.assert_allclose(jobs.numpy("energy_j"), joules)
        np.testing.assert_allclose(jobs.numpy("power_w"), joules / site.numpy("runtime_s"))
        each = per_node_power(jobs).numpy("power_per_node_w")
        assert 200 < np.median(each) < 5000

    def test_the_columns_that_leak_the_runtime_are_refused_and_named(self, generated):
        jobs = read_adastra(generated["adastra"][0])
        note = next(n.message for n in jobs.notes if n.message.startswith("refused"))
        assert "cpu_power_consumption (140 W in 100%" in note
        assert "mem_power_consumption (74.26 W in 100%" in note
        assert not [c for c in jobs.columns if "cpu_power" in c or "mem_power" in c]

    def test_limits_that_are_instants_become_what_is_left_or_null(self, generated, tmp_path):
        path, site = generated["adastra"]
        jobs = read_adastra(path)
        assert jobs.frame["time_limit_s"].null_count() == len(jobs)
        note = next(n for n in jobs.notes if "time_limit is an instant" in n.message)
        assert note.count == len(jobs)
        frame = pl.read_parquet(path).head(3)
        deadline = np.add(site.numpy("start_s")[:3], [3600, -10, 7200]).astype(int)
        frame.with_columns(time_limit=pl.Series(deadline)).write_parquet(tmp_path / "x.parquet")
        assert read_adastra(tmp_path / "x.parquet").frame["time_limit_s"].to_list() == [
            3600.0, None, 7200.0]  # fmt: skip

    def test_a_zone_can_be_given(self, generated):
        path, site = generated["adastra"]
        utc = read_adastra(path, zone="UTC").numpy("submit_s")
        assert set(np.unique(utc - site.numpy("submit_s"))) == {7200.0}

    def test_pm100_is_not_read_as_adastra(self, generated):
        with pytest.raises(DataError, match=r"several values.*read it as pm100"):
            read_adastra(generated["pm100"][0])

    def test_a_run_of_no_time_has_no_power(self, generated, tmp_path):
        frame = pl.read_parquet(generated["adastra"][0]).head(2)
        frame.with_columns(run_time=pl.Series([0, 10])).write_parquet(tmp_path / "x.parquet")
        assert read_adastra(tmp_path / "x.parquet").frame["power_w"].to_list()[0] is None

    def test_the_same_file_comes_from_the_same_seed(self, tmp_path):
        for name in ("a", "b"):
            write_adastra(tmp_path / name, 200, seed=2)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class TestFdata:
    def test_watt_hours_megahertz_and_the_memory_that_is_no_limit(self, generated):
        path, site = generated["fdata"]
        jobs = read_fdata(path)
        np.testing.assert_allclose(jobs.numpy("energy_j"), site.numpy("energy_j"), rtol=1e-9)
        assert set(jobs.frame["frequency_hz"].unique()) == {2.0e9, 2.2e9}
        raw = pl.read_parquet(path, columns=["mszl", "nnumr"])
        none = (raw["mszl"] > 1e18).to_numpy()
        assert np.isnan(jobs.numpy("memory_b")[none]).all()
        assert (jobs.numpy("memory_b")[~none] == 28e9 * raw["nnumr"].to_numpy()[~none]).all()
        assert next(n for n in jobs.notes if "no limit" in n.message).count == none.sum()

    def test_instants_written_as_text_are_read_too(self, generated, tmp_path):
        path, site = generated["fdata"]
        frame = pl.read_parquet(path).head(50)
        frame.with_columns(
            pl.col("adt", "sdt", "edt").dt.strftime("%Y-%m-%d %H:%M:%S%.6f+00:00")
        ).write_parquet(tmp_path / "x.parquet")
        assert (read_fdata(tmp_path / "x.parquet").numpy("submit_s")
                == site.numpy("submit_s")[:50]).all()  # fmt: skip


def test_complete_only_leaves_out_what_was_cut_and_says_how_many(generated):
    jobs = read_pm100(generated["pm100"][0])
    done = complete_only(jobs)
    assert set(done.frame["state"]) == {"COMPLETED"}
    assert f"left out {len(jobs) - len(done)} censored" in done.notes[-1].message


def test_amounts_per_node_stay_true_when_nodes_are_turned():
    jobs = per_node_requests(World().jobs(500))
    assert {"cores", "gpus", "tasks"}.isdisjoint(jobs.columns)
    assert set(jobs.frame["cores_per_node"]) == {64.0}
    assert jobs.schema["gpus_per_node"].known is Moment.SUBMIT


def test_the_displayed_rows_of_the_real_tables_have_the_units_we_read(shared_data):
    rows = shared_data / "jobs" / "pm100_adastra_display_rows"
    adastra = pl.read_csv(rows / "adastra_rows.csv", try_parse_dates=True)
    elapsed = adastra["cpu_power_consumption_raw"] / 140
    assert ((elapsed - adastra["mem_power_consumption_raw"] / 74.26).abs() < 0.05).all()
    watts = (adastra["node_power_consumption_raw"] / elapsed).to_numpy()
    assert ((watts > 500) & (watts < 2000)).all()
    assert (adastra["time_limit_raw"] > 1e9).all()
    pm100 = pl.read_csv(rows / "pm100_rows.csv")
    each = (pm100["node_pcon_mean_W"] / (pm100["num_gpus_alloc"] / 4)).to_numpy()
    assert ((each > 400) & (each < 1200)).all()
