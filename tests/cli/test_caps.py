"""``rheostat caps``: the default first, then tries, then a setting that holds; believed runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat.cli import run
from rheostat.measure.synthetic.capped import capped_runs

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
    assert facts["keep"]["probability"] >= 0.9


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


def test_mistakes_are_told(runs, known, tmp_path, capsys) -> None:
    path = tmp_path / "t.csv"
    odd = runs.filter(pl.col("app") == APP).head(2)
    odd.with_columns(gpu_cap_w=pl.lit(333.0)).write_csv(path)
    code, _, err = asked(capsys, known, "--app", APP, "--tried", path)
    assert code == 1
    assert "gpu_cap_w=333: the known applications have no runs there" in err
    runs.filter(pl.col("app").is_in(["app00", APP])).write_csv(path)
    code, _, err = asked(capsys, path, "--app", APP)
    assert code == 1
    assert "expected two or more beside app07" in err
