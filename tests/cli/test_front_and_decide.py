"""Fronts, advice and forecasts as commands: one JSON document, intervals, no look ahead."""

from __future__ import annotations

import csv
import io
import json
import re

import polars as pl
import pytest

import rheostat as rh
from rheostat.core.jobs import JobTable
from tests.cli.telling import told


def test_no_feasible_setting_is_exit_3_and_names_the_nearest(front, capsys):
    code, _, err = told(capsys, *front, "--within", "deadline=1s")
    assert code == 3
    assert re.search(r"no setting meets .* nearest is nodes=\d+", err)
    code, out, _ = told(capsys, *front, "--within", "deadline=1s", "--json")
    value = json.loads(out)
    assert code == 3
    assert value["feasible"] is False
    assert value["choice"] is None
    assert set(value["nearest"]) == {"nodes"}


def test_front_json_is_one_document_with_intervals(front, capsys):
    code, out, _ = told(capsys, *front, "--json")
    value = json.loads(out)
    assert code == 0
    assert value["schema"] == "rheostat.front/1"
    entry = next(e for e in value["front"] if e["on_front"])
    low, high = entry["intervals"]["energy_j"]
    assert low < high
    assert {"nodes", "runtime_s", "energy_j", "power_w", "probability", "support"} <= set(entry)
    assert value["choice"]["setting"]["nodes"] in {e["nodes"] for e in value["front"]}
    assert value["because"]["rule"] == "knee of the front"


def test_front_in_a_pipe_is_tab_separated_in_base_units(front, capsys):
    _, out, err = told(capsys, *front)
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert {"nodes", "runtime_s", "runtime_s_low", "energy_j_high", "on_front"} <= set(rows[0])
    assert sum(r["chosen"] == "True" for r in rows) == 1
    assert "asked for" in err


def test_a_job_is_forecast_from_runs_that_had_ended_before_it(log, capsys, tmp_path):
    """Changing what happened later changes nothing."""
    jobs = JobTable.read_parquet(log)
    when = jobs.job(1000300).frame["submit_s"][0]
    later = jobs.frame["end_s"] > when
    poisoned = jobs.with_columns(
        (), runtime_s=pl.when(later).then(1e9).otherwise(pl.col("runtime_s"))
    )
    poisoned.write_parquet(tmp_path / "later.parquet")
    ask = ["--job", "1000300", "--kind", "lightgbm", "--knob", "nodes=1..8", "--json"]
    assert (
        told(capsys, "front", log, *ask)[1]
        == told(capsys, "front", tmp_path / "later.parquet", *ask)[1]
    )


@pytest.mark.slow
def test_decide_advises_every_job_and_writes_all_formats(log, model, capsys, tmp_path):
    for name in ("a.csv", "a.parquet", "a.json", "a.tsv"):
        code, out, err = told(capsys, "decide", log, "--model", model, "--out", tmp_path / name)
        assert code == 0
        assert name in err
        assert out == ""
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.tsv").read_text()), delimiter="\t"))
    assert len(rows) == 500
    assert pl.read_csv(tmp_path / "a.csv").height == 500
    assert JobTable.read_parquet(tmp_path / "a.parquet").schema["energy_j_advised"].unit == "J"
    assert len(json.loads((tmp_path / "a.json").read_text())["jobs"]) == 500


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_jobs_that_have_yet_to_run_teach_nothing(command, tmp_path, capsys):
    waiting = tmp_path / "waiting.csv"
    rows = "".join(f"{i},cfd,{3600 * i},4\n" for i in range(60))
    waiting.write_text(f"job_id,app,submit_s,nodes\n{rows}")
    code, out, err = told(capsys, command, waiting)
    assert (code, out) == (1, "")
    assert "yet to run" in err


def test_decide_asks_the_log_and_saves_energy_at_a_tenth_more_runtime(log, capsys):
    code, out, err = told(capsys, "decide", log, "--json")
    value = json.loads(out)
    assert code == 0
    assert "Can this log answer?" in err
    assert value["rule"] == "least energy"
    assert value["constraints"] == [
        "at most 1.1 times the runtime as requested with 80 % confidence",
        "at most 1 times the energy as requested with 80 % confidence",
    ]
    assert value["advised_settings_ran"] is False
    (varied,) = value["identification"]["variation"]
    assert 0 < varied["two_settings"] <= 1
    assert 0 <= varied["within"] <= 1
    assert 0 < value["accuracy"]["runtime_s"]["error"] < 1
    assert sum(value["evidence"].values()) == value["counts"]["advised"] > 0
    for job in value["jobs"]:
        if job["status"] == "advised":
            assert job["runtime_s_change"] <= 0.1
            assert job["energy_j_change"] <= 0
            shown = job["power_w_advised"] * job["runtime_s_advised"]
            assert shown == pytest.approx(job["energy_j_advised"], rel=1e-6)
    wider = json.loads(told(capsys, "decide", log, "--slowdown", "50", "--json")[1])
    assert "1.5 times" in wider["constraints"][0]


def test_without_energy_in_the_log_advice_is_for_node_hours(log, capsys, tmp_path):
    blind = rh.read(log)
    blind.select([c for c in blind.columns if c not in ("power_w", "energy_j")]).write_parquet(
        tmp_path / "blind.parquet"
    )
    code, out, err = told(capsys, "decide", tmp_path / "blind.parquet", "--json")
    assert code == 0
    assert json.loads(out)["objectives"] == ["runtime_s", "node_hours"]
    assert json.loads(out)["rule"] == "least node-hours"
    assert "no row has power or energy: advice is for runtime_s and node_hours" in err


def test_a_log_advises_nobody_to_save_by_more_nodes(log, capsys):
    call = ("decide", log, "--rule", "weighted=energy_j:1")
    value = json.loads(told(capsys, *call, "--json")[1])
    jobs = [j for j in value["jobs"] if j["status"] == "advised"]
    assert jobs
    assert all(j["nodes"] < j["nodes_requested"] for j in jobs)
    assert sum(value["doubted"].values()) > 0
    assert "left out: that more nodes take less is what a log tells least surely" in told(
        capsys, *call
    )[2].replace("\n", " ")


def test_decide_json_counts_add_up(log, model, capsys):
    _, out, _ = told(capsys, "decide", log, "--model", model, "--within", "slowdown=1.1", "--json")
    value = json.loads(out)
    assert value["schema"] == "rheostat.decide/1"
    assert sum(value["counts"].values()) == len(value["jobs"]) == 500
    for job in value["jobs"]:
        if job["status"] == "advised" and job["runtime_s_change"] is not None:
            assert job["runtime_s_change_low"] <= 0.1 + 1e-9
    assert "as requested" in value["constraints"][0]


@pytest.mark.slow
def test_decide_says_when_the_forecast_has_seen_the_jobs(log, capsys):
    _, out, err = told(capsys, "decide", log, "--kind", "lightgbm", "--json")
    assert json.loads(out)["learnt_from_these_jobs"] is True
    assert "has learnt from these jobs" in err


def test_predict_gives_every_job_an_interval(log, model, capsys):
    _, out, _ = told(capsys, "predict", log, "--model", model, "--json")
    jobs = json.loads(out)["jobs"]
    assert len(jobs) == 500
    known = [j for j in jobs if j["runtime_s"] is not None]
    assert known
    assert all(j["intervals"]["runtime_s"][0] < j["intervals"]["runtime_s"][1] for j in known)


@pytest.mark.slow
def test_backtest_says_what_is_predicted_and_not_measured(log, capsys, tmp_path):
    page = tmp_path / "b.html"
    code, out, _ = told(capsys, "backtest", log, "--kind", "lightgbm", "--html", page)
    assert code == 0
    assert "These changes are predictions: the advised settings never ran." in " ".join(out.split())
    assert page.stat().st_size > 1e6
    value = json.loads(told(capsys, "backtest", log, "--kind", "lightgbm", "--json")[1])
    assert value["schema"] == "rheostat.backtest/1"
    assert value["true"] is None
    assert 0 < value["accuracy"]["runtime_s"]["coverage"] <= 1


def test_compare_puts_methods_side_by_side(log, capsys):
    code, out, err = told(capsys, "compare", log, "--kinds", "lightgbm,xgboost", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    trivial = {"mean", "median", "user last two", "user neighbours"}
    assert {r["method"] for r in rows} == {"lightgbm", "xgboost", *trivial}
    error = {r["method"]: r["median_abs_log_error"]["value"] for r in rows
             if (r["quantity"], r["group"]) == ("runtime_s", "all")}  # fmt: skip
    assert error["lightgbm"] < min(error[m] for m in trivial)
    assert "learnt in" in err
    assert not any("fit_s" in r for r in rows)


@pytest.mark.slow
def test_fit_marks_the_model_on_jobs_it_has_not_seen(log, capsys, tmp_path):
    path = tmp_path / "m.rheo"
    _, out, _ = told(capsys, "fit", log, "--kind", "lightgbm", "--out", path, "--json")
    value = json.loads(out)
    assert value["schema"] == "rheostat.fit/1"
    assert value["accuracy"]["power_w"]["rows"] > 50
    assert path.exists()


def test_a_table_of_runs_of_one_code_has_a_front_without_a_job(tmp_path, capsys):
    runs = tmp_path / "runs.csv"
    rows = [(1, 400.0, 0.3), (2, 210.0, 0.6), (4, 115.0, 1.2), (8, 120.0, 2.5)]
    runs.write_text("nodes,wall_s,power_kW\n" + "".join(f"{n},{s},{p}\n" for n, s, p in rows))
    code, out, _ = told(capsys, "front", runs, "--knob", "nodes=1,2,4,8", "--json")
    facts = json.loads(out)
    assert (code, facts["requested"]) == (0, None)
    code, out, _ = told(capsys, "front", runs, "--knob", "nodes=1,2,4,8")
    table = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [float(r["runtime_s"]) for r in table] == [400.0, 210.0, 115.0, 120.0]
    assert [r["on_front"] for r in table] == ["True", "True", "True", "False"]
    assert {r["evidence"] for r in table} == {"measured"}
    runs.write_text("app,nodes,wall_s,power_kW\na,1,9,1\nb,2,8,2\n")
    code, _, err = told(capsys, "front", runs, "--knob", "nodes=1,2")
    assert (code, "2 values of app do not compare: name one; --where app=a: " in err) == (
        2, True)  # fmt: skip
