"""`front`, `decide`, `backtest` and `trial` answer from one forecast; so do those of `dnn`."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rheostat as rh
from benchmarks.confounding_lib.confounded_site import ConfoundedSite
from rheostat import Knob, Weighted, powers_of_two
from rheostat.cli import run
from rheostat.core.jobs import Moment
from rheostat.decision.backtest import backtest
from rheostat.decision.decide import decide
from rheostat.decision.trials.trial import plan_trial
from rheostat.decision.trials.trial_size import trial_result
from rheostat.prediction.effects import WithinApplication
from rheostat.tradeoff.all_settings import front

MENU = Knob("nodes", powers_of_two(1, 256))
QUANTITIES = ("runtime_s", "energy_j")
RULE = Weighted({"runtime_s": 1, "energy_j": 1})


def site_log(proxy: str, share: float):
    """Six applications whose users give larger problems more nodes; communication grows."""
    month = ConfoundedSite(5, 0.5, 1.0, proxy, n_apps=6, law="communication").month(1500)
    if not share:
        return month.run()
    nodes = plan_trial(month.requests, share, "nodes", seed=5).table.frame["nodes"]
    return month.run(nodes.to_numpy())


@pytest.fixture(scope="module", params=[("memory", 0.0), ("none", 0.1)], ids=["size", "trial"])
def asked(request):
    """The log, the model of its first part, and the jobs after it."""
    log = site_log(*request.param)
    past, recent, _ = rh.decision.backtest.divided(log, 0.9)
    return log, WithinApplication(("nodes",)).fit(past), recent


def test_one_job_and_many_get_the_same_forecast_and_the_same_silence(asked) -> None:
    log, model, recent = asked
    advice = decide(recent, model, MENU, RULE)
    backtested = backtest(log, WithinApplication(("nodes",)), MENU, RULE, split=0.9).advice
    assert backtested.table.frame.equals(advice.table.frame)
    asked_for = "nodes_requested" if "nodes_requested" in recent.columns else "nodes"
    compared = 0
    for i in range(0, len(recent), 12):
        row = advice.table.frame.row(i, named=True)
        settings = [{"nodes": n} for n in {*MENU.values, recent.frame[asked_for][i]}]
        one = front(recent.rows([i]), model, MENU, QUANTITIES, settings=settings)
        place = [options["nodes"] for options in settings]
        assert row["nodes_requested"] == recent.frame[asked_for][i]
        if row["status"] == "abstained":
            continue
        compared += row["status"] == "advised"
        for q in QUANTITIES:
            mean = one.mean(q)
            assert mean[place.index(row["nodes"])] == pytest.approx(row[f"{q}_advised"])
            assert mean[place.index(row["nodes_requested"])] == pytest.approx(row[f"{q}_requested"])
    assert compared


def test_the_trial_is_read_with_the_forecast_of_decide(asked) -> None:
    log, _, _ = asked
    if "nodes_requested" not in log.columns:
        pytest.skip("a log without a trial")
    model = WithinApplication(("nodes",)).fit(log)
    found = trial_result(log, "nodes", model)
    turned = log.rows(pl.col("nodes") != pl.col("nodes_requested"))
    moves = np.log(turned.numpy("nodes") / turned.numpy("nodes_requested"))
    asked_for = turned.known_at(Moment.SUBMIT)
    before = asked_for.with_columns((), nodes=asked_for.frame["nodes_requested"])
    change = np.log(model.predict(asked_for)["runtime_s"] / model.predict(before)["runtime_s"])
    known = np.isfinite(change).all(axis=0)
    each = change[:, known] @ moves[known] / (moves[known] @ moves[known])
    assert found.by_forecast[0] == pytest.approx(each.mean())
    assert found.agrees


def test_the_command_line_asks_the_same(tmp_path, capsys) -> None:
    log = site_log("memory", 0.0)
    frame = log.frame
    last = frame["end_s"].max() + 1
    waiting = frame[-5:].with_columns(
        job_id=pl.col("job_id") + 10, submit_s=pl.lit(last),
        **{c: pl.lit(None, frame[c].dtype) for c in
           ("start_s", "end_s", "runtime_s", "power_w", "energy_j")},
    )  # fmt: skip
    pl.concat([frame, waiting.select(frame.columns)]).write_parquet(tmp_path / "log.parquet")
    given = str(tmp_path / "log.parquet")
    assert run(["decide", given, "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert len(jobs) == 5
    for job in jobs[:2]:
        assert run(["front", given, "--job", str(job["job_id"]), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["requested"] == {"nodes": job["nodes_requested"]}
        rows = {r["nodes"]: r for r in shown["front"]}
        for q in QUANTITIES:
            assert rows[job["nodes"]][q] == pytest.approx(job[f"{q}_advised"], rel=1e-6)
            assert rows[job["nodes_requested"]][q] == pytest.approx(job[f"{q}_requested"], rel=1e-6)


def test_runs_measured_with_repeats_get_the_same_figures_and_the_same_setting(tmp_path, capsys):
    """Energy falls by 1.7 % from 300 to 200 W, which the noise of repeats resolves."""
    rows = [f"{app},{cap},{t + d:.2f},{e + 10 * d:.0f}"
            for app, cap, t, e in (("stencil", 200, 101, 20160), ("stencil", 250, 100, 20470),
                                   ("stencil", 300, 100, 20500), ("gemm", 200, 130, 26000),
                                   ("gemm", 250, 113, 27900), ("gemm", 300, 100, 29000))
            for d in (0.0, 0.05, -0.05)]  # fmt: skip
    (tmp_path / "runs.csv").write_text("\n".join(["app,cap_w,runtime_s,energy_j", *rows]) + "\n")
    turned = [str(tmp_path / "runs.csv"), "--knob", "cap_w=200,250,300", "--json"]
    assert run(["decide", *turned, "--slowdown", "10"]) == 0
    shown = json.loads(capsys.readouterr().out)
    job = shown["jobs"][6]
    assert (job["app"], job["cap_w_requested"], job["cap_w"]) == ("stencil", 300, 200)
    assert job["evidence"] == "measured"
    assert job["energy_j_change"] == pytest.approx(20160 / 20500 - 1, abs=1e-6)
    assert job["energy_j_change_low"] > -0.02
    assert job["energy_j_change_high"] < -0.014
    for own in (["app=stencil"], ["app=stencil", "cap_w=300"]):
        where = [w for text in own for w in ("--where", text)]
        assert run(["front", *turned, *where, "--rule", "weighted=energy_j:1"]) == 0
        front = json.loads(capsys.readouterr().out)
        assert {r["evidence"] for r in front["front"]} == {"measured"}
        assert front["choice"]["setting"] == {"cap_w": 200}
        taken = next(r for r in front["front"] if r["cap_w"] == 200)
        assert taken["energy_j"] == pytest.approx(job["energy_j_advised"], rel=1e-3)


@pytest.fixture(scope="module", params=["sheet", "runs"])
def step(request, tmp_path_factory):
    """A network and who forecasts it, as they are typed: data sheets, or a model of runs."""
    if request.param == "sheet":
        return [], ["lenet5"], ("A100", "T4")
    folder = tmp_path_factory.mktemp("dnn")
    pl.DataFrame({
        "app": ["LeNet5"] * 6, "device": ["T4"] * 3 + ["V100"] * 3, "image_px": [32] * 6,
        "batch_size": [8, 32, 128] * 2, "runtime_s": [1e-3, 1.4e-3, 4e-3, 7e-4, 9e-4, 2e-3],
    }).write_csv(folder / "runs.csv")  # fmt: skip
    assert run(["dnn", "fit", str(folder / "runs.csv"), "-o", str(folder / "m.rheo")]) == 0
    return ["--model-name", "resnet18"], [str(folder / "m.rheo")], ("T4", "V100")


def test_one_step_and_many_settings_of_it_get_the_same_forecast(step, capsys) -> None:
    """The network of the model of runs was never run, so that its draws are far from symmetric."""
    named, source, devices = step
    size = ["--image-px", "32", "--classes", "10", "--json"]
    turned = (["--knob", f"device={','.join(devices)}", "--knob", "batch_size=16,64"] if named
              else ["--device", ",".join(devices), "--batch-size", "16,64"])  # fmt: skip
    objectives = ["--objectives", "sample_s,runtime_s"]
    assert run(["dnn", "front", *source, *named, *turned, *objectives, *size]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["statistic"].startswith("medians")
    for row in shown["front"]:
        asked = ["--device", row["device"], "--batch-size", str(row["batch_size"])]
        assert run(["dnn", "predict", *source, *named, *asked, *size]) == 0
        (one,) = (said := json.loads(capsys.readouterr().out)).get("runs") or said["devices"]
        low, high = row["intervals"]["runtime_s"]
        expected = {"median": row["runtime_s"], "low": low, "high": high}
        assert one["runtime_s"] == pytest.approx(expected, rel=1e-6)
        per_sample = one["sample_s"]["median"] if named else one["sample_s"]
        assert per_sample == pytest.approx(row["sample_s"], rel=1e-6)
