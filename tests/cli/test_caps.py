"""``rheostat caps``: the default first, then tries, then a setting that holds; believed runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat.cli import run
from rheostat.explanation.choices.caps import _only_tried
from rheostat.measurement.synthetic.capped_runs import capped_runs

APP = "app07"


@pytest.fixture(scope="module")
def runs() -> pl.DataFrame:
    grid = {"cpu_caps": (140.0, 160.0, 180.0, 200.0), "gpu_caps": (150.0, 200.0, 250.0)}
    return capped_runs(10, seed=4, **grid).frame


@pytest.fixture(scope="module")
def known(runs: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("caps") / "known.csv"
    runs.filter(pl.col("app") != APP).write_csv(path)
    return path


def asked(capsys, *argv):
    capsys.readouterr()
    code = run(["caps", *(str(a) for a in argv)])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.slow
def test_tries_asked_for_one_by_one_end_in_caps_that_hold(runs, known, tmp_path, capsys) -> None:
    own = runs.filter(pl.col("app") == APP)
    code, out, _ = asked(capsys, known, "--app", APP, "--json")
    facts = json.loads(out)
    assert code == 0
    assert not facts["ready"]
    assert facts["next"] == {"cpu_cap_w": 200.0, "gpu_cap_w": 250.0}
    done, path = own.head(0), tmp_path / "tried.csv"
    for _ in range(4):
        caps = facts["next"]
        done = pl.concat([done, own.filter(*(pl.col(k) == w for k, w in caps.items()))])
        done.write_csv(path)
        facts = json.loads(asked(capsys, known, "--app", APP, "--tried", path, "--json")[1])
    assert facts["tried"] == 4
    assert sum(s["tried"] for s in facts["settings"]) == 4
    kept = own.filter(*(pl.col(k) == w for k, w in facts["keep"]["caps"].items()))
    default = own.filter(pl.col("cpu_cap_w") == 200, pl.col("gpu_cap_w") == 250)
    assert default["runtime_s"][0] / kept["runtime_s"][0] >= 0.94
    assert facts["keep"]["probability"] >= facts["needed_probability"]


def test_what_is_believed_can_be_planned_with(runs, known, tmp_path, capsys) -> None:
    own, path, out = runs.filter(pl.col("app") == APP), tmp_path / "t.csv", tmp_path / "b.csv"
    own[[0, 6, 11]].write_csv(path)
    assert asked(capsys, known, "--app", APP, "--tried", path, "--out", out)[0] == 0
    believed = pl.read_csv(out)
    assert believed.height == 12 * 8
    means = believed.group_by("cpu_cap_w", "gpu_cap_w", maintain_order=True).agg(
        pl.col("runtime_s").mean()
    )
    error = means["runtime_s"].to_numpy() / own["runtime_s"].to_numpy() - 1
    assert np.abs(error).mean() < 0.1
    assert run(["budget", "plan", str(out), "--extra", "40", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["nodes"][0]["gain"]["low"] < plan["nodes"][0]["gain"]["high"]


def test_a_table_of_rates_and_a_part_of_a_table(runs, tmp_path, capsys) -> None:
    """Published tables hold speeds, not times, and several machines in one file."""
    path, rates = tmp_path / "rates.csv", tmp_path / "map.toml"
    speed = runs.with_columns(Performance=1.0 / pl.col("runtime_s"), site=pl.lit("a"))
    other = speed.with_columns(Performance=pl.lit(1.0), site=pl.lit("b"))
    pl.concat([speed, other]).drop("runtime_s", "power_w").write_csv(path)
    rates.write_text('[columns]\nruntime_s = {from = "Performance", inverse = true}\n')
    ask = (path, "--app", APP, "--map", rates, "--where", "site=a", "--json")
    facts = json.loads(asked(capsys, *ask)[1])
    assert facts["next"] is None  # it ran everywhere
    assert facts["tried"] == 12
    truth = runs.filter(pl.col("app") == APP)["runtime_s"].to_numpy()
    losses = [s["loss"] for s in facts["settings"]]
    assert losses == pytest.approx(1 - truth[-1] / truth, abs=1e-6)
    code, _, err = asked(capsys, path, "--app", APP, "--map", rates, "--where", "site=c")
    assert code == 1
    assert "no row has site=c" in err


def test_baselines_stand_beside_the_answer(runs, known, tmp_path, capsys) -> None:
    own, path = runs.filter(pl.col("app") == APP), tmp_path / "t.csv"
    ends = own.filter(
        pl.col("cpu_cap_w").is_in([140.0, 200.0]), pl.col("gpu_cap_w").is_in([150.0, 250.0])
    )
    ends.write_csv(path)
    facts = json.loads(asked(capsys, known, "--app", APP, "--tried", path, "--json")[1])
    assert [b["name"] for b in facts["baselines"]] == ["line", "gp_low", "bilinear"]
    speed = {s["caps"]["cpu_cap_w"] * 1000 + s["caps"]["gpu_cap_w"]: s for s in facts["settings"]}
    corner = [speed[k]["loss"] for k in (140150, 140250, 200150, 200250)]
    middle = speed[140200]["baselines"]["bilinear"]
    assert middle == pytest.approx((corner[0] + corner[1]) / 2, abs=1e-6)
    _, out, err = asked(capsys, known, "--app", APP, "--tried", path)
    assert out.splitlines()[0].endswith("loss_line\tloss_gp_low\tloss_bilinear")
    assert "Bilinear interpolation of the corners would keep" in err
    ends[1:].write_csv(path)
    facts = json.loads(asked(capsys, known, "--app", APP, "--tried", path, "--json")[1])
    assert [b["name"] for b in facts["baselines"]] == ["line", "gp_low"]


def test_too_few_known_applications_are_said(runs, tmp_path, capsys) -> None:
    path = tmp_path / "t.csv"
    runs.filter(pl.col("app").is_in(["app00", "app01", "app02", APP])).write_csv(path)
    own = tmp_path / "own.csv"
    runs.filter(pl.col("app") == APP)[[0, 11]].write_csv(own)
    code, out, _ = asked(capsys, path, "--app", APP, "--tried", own, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["needed_probability"] is None
    assert facts["keep"]["tried"]
    _, _, err = asked(capsys, path, "--app", APP, "--tried", own)
    said = "to show a probability of 0.9 takes 9 known applications; 3 show 0.75 at most"
    assert said in err
    likely = [s["probability"] for s in facts["settings"] if not s["tried"]]
    assert max(likely) <= 0.75


def test_a_setting_that_seems_sure_enough_and_is_not_kept_is_explained() -> None:
    """Where known applications left out broke the bound, more than the risk asked for is needed."""
    settings = [{"caps": {"cap_w": w}, "saved_w": 250.0 - w, "probability": p, "tried": w == 250}
                for w, p in ((150, 0.5), (200, 0.92), (250, 1.0))]  # fmt: skip
    facts = {"risk": 0.9, "needed_probability": 0.95, "settings": settings, "keep": {"saved_w": 0}}
    assert "kept from a probability of 0.950 on" in _only_tried(facts)[0]
    assert _only_tried({**facts, "needed_probability": 0.9}) == ()
    assert _only_tried({**facts, "keep": {"saved_w": 50}}) == ()


def test_caps_that_the_known_ones_never_ran(runs, known, tmp_path, capsys) -> None:
    """Between theirs they are used and asked about; beyond theirs they are noted."""
    own, path = runs.filter(pl.col("app") == APP), tmp_path / "t.csv"
    more = own[[11, 11, 0]].with_columns(
        gpu_cap_w=pl.Series([250.0, 225.0, 90.0]),
        runtime_s=pl.Series([100.0, 101.0, 500.0]),
    )
    more.write_csv(path)
    ask = (known, "--app", APP, "--tried", path, "--knob", "gpu_cap_w=160,170", "--json")
    code, out, err = asked(capsys, *ask)
    facts = json.loads(out)
    assert code == 0
    assert facts["tried"] == 2
    found = {tuple(s["caps"].values()): s for s in facts["settings"]}
    assert len(found) == 12 + 1 + 8
    assert found[200.0, 225.0]["loss"] == pytest.approx(1 - 100 / 101)
    assert found[200.0, 250.0]["loss"] <= found[200.0, 170.0]["loss"]
    assert "cpu_cap_w=140, gpu_cap_w=90 is not used: known are cpu_cap_w 140 to 200" in err
    assert "no known application ran at cpu_cap_w=140, gpu_cap_w=160;" in err
    code, _, err = asked(capsys, known, "--app", APP, "--knob", "gpu_cap_w=90", "--knob", "x=1")
    assert code == 1
    assert "x is no knob of this table: cpu_cap_w, gpu_cap_w" in err


def test_the_number_of_gpus_is_a_knob(runs, tmp_path, capsys) -> None:
    parts = [
        runs.filter(pl.col("cpu_cap_w") == 200).with_columns(
            gpus=pl.lit(n), runtime_s=pl.col("runtime_s") * 2 / n**0.9
        ).drop("cpu_cap_w")
        for n in (1, 2)
    ]  # fmt: skip
    path = tmp_path / "gpus.csv"
    pl.concat(parts).write_csv(path)
    facts = json.loads(asked(capsys, path, "--app", APP, "--loss", "0.5", "--json")[1])
    assert facts["knobs"] == ["gpu_cap_w", "gpus"]
    most = max(s["saved_w"] for s in facts["settings"])
    assert most == 2 * 250 - 150


def test_columns_are_named_by_flags(runs, tmp_path, capsys) -> None:
    path = tmp_path / "odd.csv"
    odd = runs.rename({"app": "who", "runtime_s": "took"})
    odd.write_csv(path)
    flags = ("--column", "app=who", "--column", "runtime_s=took")
    code, out, _ = asked(capsys, path, "--app", APP, *flags, "--json")
    assert code == 0
    assert json.loads(out)["tried"] == 12


def test_mistakes_are_told(runs, known, tmp_path, capsys) -> None:
    path = tmp_path / "t.csv"
    odd = runs.filter(pl.col("app") == APP).head(2)
    odd.with_columns(gpu_cap_w=pl.lit(333.0)).write_csv(path)
    code, out, err = asked(capsys, known, "--app", APP, "--tried", path, "--json")
    assert code == 0
    assert not json.loads(out)["ready"]
    assert "gpu_cap_w=333 is not used: known are cpu_cap_w 140 to 200, gpu_cap_w 150 to 250" in err
    runs.filter(pl.col("app").is_in(["app00", APP])).write_csv(path)
    code, _, err = asked(capsys, path, "--app", APP)
    assert code == 1
    assert "expected two or more beside app07" in err
