"""``rheostat counters`` on a table of one's own: what it looks at, what it does not, and why."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.cli import run
from rheostat.measurement.counters import read_pcm
from rheostat.measurement.synthetic.counter_runs import write_pcm
from rheostat.prediction.counters.counter_columns import runs_of

RATES = ["core_hz", "uncore_hz", "instructions_per_s", "memory_read_b_per_s"]
ASKED = ["--target", "package_power_w", "--leave-out", "application", "--json"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> pl.DataFrame:
    recorded = read_pcm(write_pcm(tmp_path_factory.mktemp("pcm") / "pcm.csv", n_apps=6))
    return runs_of(recorded).frame.drop("run_id", "span_s")


def asked(frame: pl.DataFrame, path, capsys, *options):
    frame.write_csv(path)
    capsys.readouterr()
    code = run(["counters", str(path), *ASKED, *options])
    out, err = capsys.readouterr()
    return code, json.loads(out) if code == 0 else {}, err


def test_a_table_in_the_vocabulary_is_used_like_a_recording(runs, tmp_path, capsys) -> None:
    own = runs.select("app", "cpu_cap_w", "runtime_s", "package_power_w", "core_ipc", *RATES)
    code, facts, err = asked(own, tmp_path / "own.csv", capsys)
    assert code == 0
    assert facts["features"] == ["cpu_cap_w", "core_ipc", *RATES]
    assert facts["ignored"] == facts["left_out"] == {}
    assert "features: cpu_cap_w, core_ipc, core_hz, uncore_hz" in err
    error = {m["method"]: m["mape"][0] for m in facts["marks"]}
    assert error["law"] < 0.5 * error["cap"]


def test_what_is_not_used_is_listed_with_its_reason(runs, tmp_path, capsys) -> None:
    n = pl.int_range(pl.len())
    own = runs.select(
        "app", "cpu_cap_w", "package_power_w", *RATES, energy_j=pl.col("package_power_w") * 9,
        runtime_s=10.0 + n, samples=100 + 10 * n, nodes=pl.lit(1), comment=pl.lit("x"),
        ipc=pl.when(n > 5).then(0.5 + n / 100),
    )  # fmt: skip
    _, facts, err = asked(own, tmp_path / "own.csv", capsys)
    assert facts["features"] == ["cpu_cap_w", *RATES]
    assert facts["ignored"] == {
        "energy_j": "a meter (J): a model from counters may not see it",
        "samples": "gives the runtime away (rank correlation 1.00), and is no rate",
        "nodes": "the same everywhere",
        "comment": "text",
        "ipc": "no value in 6 of 30 rows",
    }
    assert "note: column comment is not used: text" in err
    assert "core_hz" not in err.split("not used")[1]
    assert "how busy the cores are" in facts["left_out"]["law"]


@pytest.mark.slow
def test_a_clock_that_falls_as_runs_take_longer_is_no_total(runs, tmp_path, capsys) -> None:
    own = runs.with_columns(runtime_s=1e12 / pl.col("core_hz"))
    _, facts, _ = asked(own, tmp_path / "own.csv", capsys)
    assert "core_hz" in facts["features"]


def test_one_hole_costs_a_run_and_not_the_counter(runs, tmp_path, capsys) -> None:
    hole = pl.when(pl.int_range(pl.len()) != 3).then(pl.col("core_hz")).alias("core_hz")
    _, facts, err = asked(runs.with_columns(hole), tmp_path / "own.csv", capsys)
    assert "core_hz" in facts["features"]
    assert facts["runs"] == 29
    assert "1 runs are left out: core_hz has no value" in err


def test_no_counter_at_all_is_told_with_reasons(runs, tmp_path, capsys) -> None:
    own = runs.select("app", "package_power_w", mode=pl.lit("fast"))
    code, _, err = asked(own, tmp_path / "own.csv", capsys)
    assert code == 1
    assert "no column that a model may learn from; mode: text" in err


@pytest.mark.slow
def test_a_saved_model_predicts_unmetered_runs_as_the_one_that_was_fitted(
    runs, tmp_path, capsys
) -> None:
    other, kept = tmp_path / "other.csv", tmp_path / "power.rheo"
    runs.drop("package_power_w", "dram_power_w", "power_w", strict=False).write_csv(other)
    options = ("--methods", "neighbours,law+trees", "--predict", str(other), "--save", str(kept))
    code, facts, err = asked(runs, tmp_path / "own.csv", capsys, *options)
    assert code == 0
    assert f"wrote {kept}" in err
    assert run(["counters", str(other), "--model", str(kept), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["schema"] == "rheostat.counters-predict/1"
    assert again["predicted"] == facts["predicted"]
    assert len(again["predicted"]) == 30
    assert run(["counters", str(other), "--model", str(kept), "--what-if", "core_hz=0.5"]) == 2
    assert "--what-if" in capsys.readouterr().err


def test_a_learner_leaves_out_settings_that_need_more_runs_or_counters(
    runs, tmp_path, capsys
) -> None:
    own = runs.select("app", "cpu_cap_w", "package_power_w", "core_ipc").head(20)
    code, facts, _ = asked(own, tmp_path / "own.csv", capsys, "--methods", "pls,neighbours")
    assert code == 0
    assert {m["method"] for m in facts["marks"]} == {"cap", "pls", "neighbours"}
    few = own.gather_every(5)
    code, _, err = asked(few, tmp_path / "few.csv", capsys, "--methods", "neighbours")
    assert code == 1
    assert "are too few to learn" in err
