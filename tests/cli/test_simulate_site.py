"""``simulate --machine site.toml --alternatives FILE``: energy in every output, mistakes told."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from tests.cli.test_simulate import write

SITE = """
procs = 16
idle_w = 50
busy_w = 150
[power]
cap_w = 2000
tariff_per_kwh = 0.25
carbon_g_per_kwh = 300
[rules]
kill = "limit"
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.swf", 0, n=120)
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "ways.csv").write_text(
        "job_id,cores,runtime_s,time_limit_s\n100,4,50,60\n100,2,90,99\n"
    )
    return tmp_path


def told(capsys, *argv):
    capsys.readouterr()
    code = run(["simulate", "log.swf", "--machine", "site.toml", *argv])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_json_has_the_account_of_each_policy(desk, capsys):
    code, out, _ = told(capsys, "--policy", "easy", "--policy", "sjf+easy", "--json")
    assert code == 0
    for policy in json.loads(out)["policies"].values():
        power = policy["power"]
        assert power["energy_j"] == pytest.approx(power["energy_jobs_j"] + power["energy_idle_j"])
        assert power["cost"] == pytest.approx(power["energy_j"] / 3.6e6 * 0.25)
        assert power["carbon_g"] == pytest.approx(power["energy_j"] / 3.6e6 * 300)
        assert power["peak_w"] <= 2000
        assert power["cap_exceeded_s"] == 0


def test_a_pipe_has_energy_peak_cost_and_carbon(desk, capsys):
    code, out, _ = told(capsys)
    heads, row = (line.split("\t") for line in out.splitlines()[:2])
    found = dict(zip(heads, row, strict=True))
    assert code == 0
    assert {"energy", "peak", "cost", "carbon"} <= set(found)
    assert "above cap" not in found


def test_alternatives_and_the_page(desk, capsys):
    code, _, err = told(capsys, "--alternatives", "ways.csv", "--html", "o.html", "--schedule",
                        "s.csv")  # fmt: skip
    assert code == 0, err
    page = (desk / "o.html").read_text()
    assert "the cap is never exceeded" in page
    row = next(r for r in (desk / "s.csv").read_text().splitlines() if r.startswith("100,"))
    assert row.split(",")[-1] in ("4", "2")


def test_mistakes_are_told(desk, capsys):
    code, _, err = told(capsys, "--alternatives", "none.csv")
    assert code != 0
    assert "no such file" in err
    (desk / "site.toml").write_text(SITE.replace("idle_w = 50", "idle = 50"))
    code, _, err = told(capsys)
    assert code != 0
    assert "idle is not known" in err


@pytest.mark.slow
def test_a_saved_model_predicts_the_power_a_cap_is_planned_with(tmp_path, monkeypatch, capsys):
    """Measured watts would be clairvoyant; the model knows columns of the submission alone."""
    from rheostat.measurement.synthetic import World
    from rheostat.prediction.saved_models.persist import save
    from rheostat.prediction.surrogate.surrogate import Surrogate

    monkeypatch.chdir(tmp_path)
    jobs = World(seed=0).jobs(700, seed=0)
    jobs.write_parquet(tmp_path / "log.parquet")
    past = jobs.rows(range(400))
    save(Surrogate("forest", targets=("power_w",)).fit(past), tmp_path / "watts.model")
    save(Surrogate("forest", targets=("runtime_s",)).fit(past), tmp_path / "time.model")
    peak = 2 * jobs.numpy("power_w").max()
    procs = 4 * int(jobs.numpy("cores").max())
    (tmp_path / "site.toml").write_text(
        f"procs = {procs}\nidle_w = 0.0\nbusy_w = 20\n[power]\ncap_w = {peak}\n"
    )
    known = {}
    for extra in ((), ("--power-model", "watts.model")):
        argv = ["simulate", "log.parquet", "--machine", "site.toml", "--json", *extra]
        assert run(argv) == 0
        found = json.loads(capsys.readouterr().out)["policies"]["easy"]
        known[extra] = found["clairvoyant"]
        if not extra:
            assert found["power"]["peak_w"] <= peak * (1 + 1e-9)
    assert known == {(): True, ("--power-model", "watts.model"): False}
    argv = ["simulate", "log.parquet", "--machine", "site.toml", "--power-model", "time.model"]
    assert run(argv) == 1
    assert "expected a model of power_w" in capsys.readouterr().err
