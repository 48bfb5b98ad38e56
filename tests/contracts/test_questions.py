"""Command line and Python ask the same question and get the same document or the same error."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer

import rheostat as rh
import rheostat.cli
from rheostat.cli import FAILED, INFEASIBLE, WRONG_USE, run
from rheostat.cli.app import app
from rheostat.cli.asks import EMPTY, SHOWN, asked, taken_as
from rheostat.errors import CommandError, Infeasible, QuestionError, RheostatError
from rheostat.explanation.formats.long_tables import MOST, shortened
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.measurement.synthetic.served_models import request_log
from rheostat.questions.answer import Answer
from rheostat.questions.listener import Silent
from rheostat.questions.models.predict import PredictAnswer
from rheostat.questions.network.fit import IterationFit
from rheostat.questions.scheduling.explain_policy import ImitationSettings
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve
from rheostat.tradeoff.limits import Limit

RUNS = """app,nodes,runtime_s,power_w
lbm,1,3600,420
lbm,2,1900,830
lbm,4,1040,1640
lbm,8,640,3260
"""
LINE = 'printf \'{{"runtime_s": %s, "power_w": 9}}\' {nodes}'
STEP = """HloModule step

ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  w = f32[4,2]{1,0} parameter(1)
  ROOT h = f32[8,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
SERVING = """app,params,gpu_model,gpus,batch_cap,itl_s,energy_per_token_j
a,8e9,H100,1,8,0.010,0.5
a,8e9,H100,1,32,0.014,0.2
a,8e9,A100,1,8,0.013,0.6
a,8e9,A100,1,32,0.018,0.25
b,3e9,H100,1,8,0.006,0.3
b,3e9,H100,1,32,0.009,0.1
"""
TRACE = "submit_s,prompt_tokens,output_tokens\n" + "".join(
    f"{0.2 * i},{100 + 300 * (i % 5)},{20 + 15 * (i % 4)}\n" for i in range(12)
)
ASKED = {
    "front": [
        (["runs.csv", "--knob", "nodes=1..8"], lambda: rh.front("runs.csv", knobs="nodes=1..8")),
        (["runs.csv", "--knob", "nodes=1..8", "--within", "deadline=20m"],
         lambda: rh.front("runs.csv", knobs="nodes=1..8", limits=["deadline=20m"])),
        (["runs.csv", "--knob", "nodes=1..8", "--within", "deadline=2s"],
         lambda: rh.front("runs.csv", knobs="nodes=1..8", limits=[rh.Deadline("2s")])),
        (["runs.csv", "--knob", "gpus=1..8"], lambda: rh.front("runs.csv", knobs="gpus=1..8")),
        (["runs.csv", "--rule", "fast"], lambda: rh.front("runs.csv", rule="fast")),
        (["no.csv"], lambda: rh.front("no.csv")),
    ],
    "decide": [
        (["asked.csv", "--past", "runs.csv", "--knob", "nodes=1..8", "--kind", "law"],
         lambda: rh.decide("asked.csv", past="runs.csv", knobs="nodes=1..8", method="law")),
        (["log.csv"], lambda: rh.decide("log.csv")),
        (["blind.csv"], lambda: rh.decide("blind.csv")),
        (["runs.csv", "--objectives", " "], lambda: rh.decide("runs.csv", objectives=" ")),
        (["runs.csv", "--out", "advice.doc"],
         lambda: rh.decide("runs.csv", out=Path("advice.doc"))),
    ],
    "next": [
        (["runs.csv", "--knob", "nodes=1..16", "--method", "sobol"],
         lambda: rh.next_settings("runs.csv", knobs="nodes=1..16", method="sobol")),
        (["runs.csv", "--knob", "nodes=1..8"],
         lambda: rh.next_settings("runs.csv", knobs="nodes=1..8")),
    ],
    "predict": [
        (["asked.csv", "--model", "m.npz"], lambda: rh.predict("asked.csv", "m.npz")),
        (["asked.csv", "--model", "runs.csv"], lambda: rh.predict("asked.csv", "runs.csv")),
    ],
    "caps": [
        (["caps.csv", "--app", "b"], lambda: rh.caps("caps.csv", "b")),
        (["caps.csv", "--app", "none"], lambda: rh.caps("caps.csv", "none")),
    ],
    "summary": [
        (["log.csv", "--machine", "64"], lambda: rh.summary("log.csv", machine="64")),
        (["runs.csv"], lambda: rh.summary("runs.csv")),
    ],
    "trial plan": [
        (["log.csv", "--share", "0.1", "--seed", "3"],
         lambda: rh.trial.plan("log.csv", share=0.1, seed=3)),
        (["log.csv", "--out", "plan.csv"], lambda: rh.trial.plan("log.csv", out=Path("plan.csv"))),
    ],
    "trial read": [
        (["log.csv"], lambda: rh.trial.read("log.csv")),
        (["turned.csv"], lambda: rh.trial.read("turned.csv")),
    ],
    "search": [
        (["knobs.toml", "--measure", LINE, "--budget", "3", "--method", "sobol"],
         lambda: rh.search("nodes=1,2,4", LINE, budget=3, method="sobol")),
        (["knobs.toml", "--measure", LINE, "--budget", "3", "--method", "exhaustive", "--within",
          "deadline=1ms", "--from", "runs.csv"],
         lambda: rh.search("nodes=1,2,4", LINE, budget=3, method="exhaustive", known="runs.csv",
                           limits=[rh.Deadline("1ms")])),
        (["knobs.toml", "--measure", "true", "--method", "none"],
         lambda: rh.search(Path("knobs.toml"), "true", method="none")),
    ],
    "simulate": [
        (["log.csv", "--machine", "64", "--policy", "easy", "--policy", "sjf+easy"],
         lambda: rh.simulate("log.csv", ["easy", "sjf+easy"], 64)),
        (["log.csv", "--machine", "64", "--replays", "1"],
         lambda: rh.simulate("log.csv", machine=64, replays=1)),
        (["log.csv", "--machine", "64", "--policy", "none", "--policy", "nothing"],
         lambda: rh.simulate("log.csv", ["none", "nothing"], 64)),
    ],
    "compare": [
        (["log.csv", "--kinds", "lightgbm"], lambda: rh.compare("log.csv", methods="lightgbm")),
        (["log.csv", "--kinds", "none"], lambda: rh.compare("log.csv", methods="none")),
        (["--policies", "none", "--traces", "log.csv"],
         lambda: rh.compare_policies("none", ["log.csv"])),
    ],
    "coschedule": [
        (["profiles.csv", "--queue", "a*2,b", "--gpus", "2"],
         lambda: rh.coschedule("profiles.csv", "a*2,b", node=rh.Node(((0,), (1,)), 60.0))),
        (["profiles.csv", "--queue", "a*2,c"], lambda: rh.coschedule("profiles.csv", "a*2,c")),
        (["profiles.csv", "--exact", "--nodes", "2"],
         lambda: rh.coschedule("profiles.csv", exact=True, nodes=2)),
    ],
    "fit": [
        (["log.csv", "--kind", "lightgbm", "--out", "new.npz"],
         lambda: rh.fit("log.csv", method="lightgbm", out="new.npz")),
        (["log.csv", "--kind", "none", "--out", "new.npz"],
         lambda: rh.fit("log.csv", method="none")),
    ],
    "backtest": [
        (["log.csv", "--kind", "forest", "--seed", "1"],
         lambda: rh.backtest("log.csv", method="forest", seed=1)),
        (["log.csv", "--test-period", "x"], lambda: rh.backtest("log.csv", test_period="x")),
    ],
    "dnn fit": [
        (["steps.csv", "-o", "m.rheo"], lambda: rh.dnn.fit("steps.csv", out="m.rheo")),
        (["runs.csv", "-o", "m.rheo"], lambda: rh.dnn.fit("runs.csv", out="m.rheo")),
    ],
    "dnn front": [
        (["dnn.rheo", "--model-name", "lenet5", "--image-px", "32"],
         lambda: rh.dnn.front("lenet5", "dnn.rheo", image_px=32)),
    ],
    "dnn import": [
        (["step.hlo"], lambda: rh.dnn.read("step.hlo")),
        (["step.hlo", "step.hlo", "--out", "k"],
         lambda: rh.dnn.read(["step.hlo", "step.hlo"], out=Path("k"))),
        (["runs.csv"], lambda: rh.dnn.read("runs.csv")),
    ],
    "site drift": [
        (["log.csv", "--model", "m.npz"], lambda: rh.site.drift("log.csv", "m.npz")),
        (["runs.csv", "--model", "m.npz"], lambda: rh.site.drift("runs.csv", "m.npz")),
    ],
    "site refit": [
        (["log.csv", "--model", "m.npz", "--dry-run", "--test-period", "1d"],
         lambda: rh.site.refit("log.csv", "m.npz", dry_run=True, test_period="1d")),
        (["runs.csv", "--model", "m.npz", "--dry-run"],
         lambda: rh.site.refit("runs.csv", "m.npz", dry_run=True)),
    ],
    "site ingest": [
        (["--store", "store", "--from", "october.txt"],
         lambda: rh.site.ingest(_gone("store"), "october.txt")),
        (["--store", "store", "--from", "runs.csv"], lambda: rh.site.ingest("store", "runs.csv")),
    ],
    "site install": [
        (["log.csv", "--etc", "."], lambda: rh.site.install("log.csv", ".")),
        (["advice.csv", "--etc", ".", "--mode", "suggest", "--dry-run"],
         lambda: rh.site.install("advice.csv", ".", mode="suggest", dry_run=True)),
    ],
    "site power": [
        (["--store", "none", "--map", "none.toml"], lambda: rh.site.power("none", "none.toml")),
    ],
    "site shadow": [
        (["drawn.csv", "--advice", "told.csv"], lambda: rh.site.shadow("drawn.csv", "told.csv")),
        (["log.csv", "--advice", "advice.csv"], lambda: rh.site.shadow("log.csv", "advice.csv")),
    ],
    "site uninstall": [
        (["--etc", "."], lambda: rh.site.uninstall(".")),
    ],
    "demo": [
        (["--jobs", "300", "--kind", "forest"], lambda: rh.demo(jobs=300, method="forest")),
        (["--kind", "none"], lambda: rh.demo(method="none")),
    ],
    "counters": [
        (["runs.csv", "--what-if", "x"], lambda: rh.counters("runs.csv", what_if=["x"])),
        (["log.csv"], lambda: rh.counters("log.csv")),
        (["runs.csv", "--model", "m.npz"], lambda: rh.predict_counters("runs.csv", "m.npz")),
    ],
    "llm proxy": [
        (["--upstream", "ftp://none", "--priority", "none"],
         lambda: rh.llm.proxy(["ftp://none"], priority="none")),
        (["--upstream", "http://127.0.0.1:9", "--port", "0", "--stop-after", "0.01"],
         lambda: rh.llm.proxy(["http://127.0.0.1:9"], port=0, stop_after_s=0.01)),
    ],
    "explain": [
        (["none"], lambda: rh.explain_policy("none")),
        (["wfp3", "--export", "rust"], lambda: rh.export_policy("wfp3", "rust")),
        (["wfp3", "--trace", "log.csv", "--machine", "64", "--depth", "1", "--rounds", "1"],
         lambda: rh.explain_policy(
             "wfp3", ImitationSettings(Path("log.csv"), 64, depth=1, rounds=1))),
    ],
    "train": [
        (["log.csv", "-o", "agent", "--agent", "none"],
         lambda: rh.train("log.csv", "agent", agent="none")),
        (["log.csv", "-o", "agent", "--phases", "1,2"],
         lambda: rh.train("log.csv", "agent", phases="1,2")),
        (["log.csv", "-o", "agent", "--agent", "ours", "--objective", "speed=1"],
         lambda: rh.train("log.csv", "agent", agent="ours", objective="speed=1")),
    ],
    "doctor": [
        ([], rh.doctor),
    ],
    "fetch": [
        (["none"], lambda: rh.fetch("none")),
    ],
    "measure": [
        (["--replay", "samples.csv"], lambda: rh.measure(replay="samples.csv")),
        (["--", "no-such-program"], lambda: rh.measure(["no-such-program"])),
        ([], rh.measure),
    ],
    "site what-if": [
        (["log.csv", "--grid", "evening.csv", "--machine", "site.toml", "--replays", "1"],
         lambda: rh.site.what_if("log.csv", "evening.csv", machine="site.toml", replays=1)),
        (["log.csv", "--grid", "log.csv", "--machine", "site.toml"],
         lambda: rh.site.what_if("log.csv", "log.csv", machine="site.toml")),
        (["log.csv", "--grid", "evening.csv", "--machine", "site.toml", "--capped", "2=1"],
         lambda: rh.site.what_if("log.csv", "evening.csv", machine="site.toml", capped="2=1")),
    ],
    "llm calibrate": [
        (["served.csv", "--batch-cap", "8", "--cache-tokens", "40000"],
         lambda: rh.llm.calibrate("served.csv", batch_cap=8, cache_tokens=40_000)),
        (["trace.csv"], lambda: rh.llm.calibrate("trace.csv")),
    ],
    "llm demo": [
        (["new", "--requests", "20"], lambda: rh.llm.demo("new", requests=20)),
    ],
    "llm fit": [
        (["serving.csv", "--next", "1", "--for", "app=a"],
         lambda: rh.llm.fit("serving.csv", next_count=1, for_="app=a")),
        (["serving.csv", "--symbolic", "products"], lambda: rh.llm.formula("serving.csv")),
        (["serving.csv", "--symbolic", "none"], lambda: rh.llm.formula("serving.csv", "none")),
        (["runs.csv"], lambda: rh.llm.fit("runs.csv")),
    ],
    "llm plan": [
        (["serving.csv", "--app", "a", "--itl", "15ms"],
         lambda: rh.llm.plan("serving.csv", "a", itl=Limit("itl_s", 0.015, "s"))),
        (["serving.csv", "--app", "a", "--itl", "1us"],
         lambda: rh.llm.plan("serving.csv", "a", itl="1us")),
        (["serving.csv", "--app", "a", "--minimise", "cost", "--gpu-price", "3"],
         lambda: rh.llm.plan("serving.csv", "a", minimise="cost", gpu_price=3.0)),
        (["serving.csv", "--app", "a", "--trace", "trace.csv", "--replicas", "1"],
         lambda: rh.llm.plan("serving.csv", "a", trace="trace.csv", replicas=1)),
        (["serving.csv", "--app", "none"], lambda: rh.llm.plan("serving.csv", "none")),
    ],
    "llm rank": [
        (["asked.jsonl"], lambda: rh.llm.rank("asked.jsonl")),
        (["asked.jsonl", "--model", "runs.csv"], lambda: rh.llm.rank("asked.jsonl", "runs.csv")),
        (["asked.jsonl", "--model", "m", "--networks", "margin"],
         lambda: rh.llm.rank("asked.jsonl", "m", networks="margin")),
    ],
    "llm simulate": [
        (["trace.csv", "--batch-cap", "1", "--within", "1.2x"],
         lambda: rh.llm.simulate("trace.csv", batch_cap=1, within="1.2x")),
        (["trace.csv", "--cache-tokens", "9"],
         lambda: rh.llm.simulate("trace.csv", cache_tokens=9)),
        (["trace.csv", "--step", "1,2"], lambda: rh.llm.simulate("trace.csv", step_s="1,2")),
    ],
    "network fit": [
        (["times.csv"], lambda: rh.network.fit("times.csv")),
        (["times.csv", "--app", "none"], lambda: rh.network.fit("times.csv", "none")),
    ],
    "network forecast": [
        (["times.csv", "--steps", "3"], lambda: rh.network.forecast("times.csv", steps=3)),
        (["runs.csv"], lambda: rh.network.forecast("runs.csv")),
    ],
    "network generate": [
        (["g", "--sizes", "1"], lambda: rh.network.generate("g", sizes="1")),
    ],
    "network read": [
        (["times.csv"], lambda: rh.network.read("times.csv")),
        (["step.hlo"], lambda: rh.network.read("step.hlo")),
    ],
    "read": [
        (["log.csv"], lambda: rh.describe("log.csv")),
        (["runs.csv", "--column", "runtime_s"],
         lambda: rh.describe("runs.csv", renamed=["runtime_s"])),
        (["step.hlo"], lambda: rh.describe("step.hlo")),
    ],
    "budget apply": [
        (["runs.csv"], lambda: rh.budget.apply("runs.csv")),
    ],
    "budget diff": [
        (["runs.csv"], lambda: rh.budget.diff("runs.csv")),
    ],
    "budget follow": [
        (["capped.csv", "--limits", "knobs.toml", "--from", "lowest"],
         lambda: rh.budget.follow("capped.csv", "knobs.toml", start="lowest")),
    ],
    "budget plan": [
        (["capped.csv", "--budget", "1.2kW", "--from", "lowest", "--objective", "max-min"],
         lambda: rh.budget.plan("capped.csv", 1200.0, start="lowest", objective="max-min")),
        (["capped.csv", "--budget", "1W"], lambda: rh.budget.plan("capped.csv", "1W")),
        (["capped.csv"], lambda: rh.budget.plan("capped.csv")),
    ],
    "code refactor": [
        (["sum.c"], lambda: rh.code.refactor("sum.c", rh.code.ModelAddress())),
    ],
    "code search": [
        (["sum.c", "--to", "none", "--unsafe-no-sandbox"],
         lambda: rh.code.search("sum.c", to="none", unsafe_no_sandbox=True)),
        (["sum.c", "--rungs", "smell"], lambda: rh.code.search("sum.c", rungs="smell")),
    ],
    "code suite": [
        (["--only", "axpy,dot"], lambda: rh.code.suite(only=["axpy", "dot"])),
        (["--only", "none"], lambda: rh.code.suite(only="none")),
        (["--admit"], lambda: rh.code.suite(admit=True)),
        (["--hecbench", "."], lambda: rh.code.suite(".")),
    ],
    "code translate": [
        (["sum.c", "--to", "none", "--model", "m"],
         lambda: rh.code.translate("sum.c", "none", rh.code.ModelAddress("m"))),
    ],
    "code verify": [
        (["sum.c", "sum.c", "--rungs", "parse", "--require", "parse", "--seed", "3",
          "--unsafe-no-sandbox"],
         lambda: rh.code.verify("sum.c", "sum.c", rungs="parse", require="parse", seed=3,
                                unsafe_no_sandbox=True)),
        (["sum.c", "sum.c", "--input", "n"],
         lambda: rh.code.verify("sum.c", "sum.c", inputs=["n"])),
    ],
    "dnn predict": [
        (["dnn.rheo", "--model-name", "lenet5", "--image-px", "32"],
         lambda: rh.dnn.predict("dnn.rheo", network="lenet5", image_px=32)),
        (["step.hlo", "--device", "T4,H100", "--batch-size", "8"],
         lambda: rh.dnn.predict("step.hlo", device="T4,H100", batch_size=8)),
        (["lenet5", "--image-px", "32"], lambda: rh.dnn.predict("lenet5", image_px=32)),
        (["none.py:step", "--device", "T4"], lambda: rh.dnn.predict("none.py:step", device="T4")),
    ],
}  # fmt: skip
"""Commands that only ask a question, each as it is typed and as it is called."""


REFUSED = {
    "budget demo": (["runs.csv/capped.csv"], lambda: rh.budget.demo("runs.csv/capped.csv")),
    "budget restore": (["--journal", "none"], lambda: rh.budget.restore(Path("none"))),
    "budget run": (["runs.csv", "--", "true"], lambda: rh.budget.run("runs.csv", ["true"])),
    "budget slurm": (["runs.csv"], lambda: rh.budget.hooks("runs.csv")),
    "network serve": (["--model", "runs.csv"], lambda: rh.network.serve(model="runs.csv")),
    "serve": (["--host", "0.0.0.0", "--demo"],
              lambda: rh.serve(None, rh.ServiceSettings("0.0.0.0"), demo=True)),
}  # fmt: skip
"""Commands that start, serve or put back, and print no document: what they refuse."""


def commands(group: object, above: str = "") -> dict[str, bool]:
    """Every command, and whether it prints a document."""
    made = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            made |= commands(command, f"{above}{name} ")
        else:
            made[f"{above}{name}"] = any("--json" in p.opts for p in command.params)
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files that are asked about, made once."""
    tmp_path = tmp_path_factory.mktemp("asked")
    log = rh.prepared(_log())
    log.write_parquet(tmp_path / "log.parquet")
    log.frame.write_csv(tmp_path / "log.csv")
    asked = log.frame["nodes"].alias("nodes_requested")
    turned = log.frame.with_columns(asked, nodes=asked * np.where(np.arange(len(asked)) % 5, 1, 4))
    turned.write_csv(tmp_path / "turned.csv")
    log.frame.drop("memory_b").write_csv(tmp_path / "blind.csv")
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "knobs.toml").write_text("[knobs]\nnodes = [1, 2, 4]\n")
    (tmp_path / "asked.csv").write_text("job_id,app,nodes\n1,lbm,8\n2,lbm,4\n")
    (tmp_path / "profiles.csv").write_text(
        "app,gpus,runtime_s,power_w\na,1,100,200\na,2,60,390\nb,1,50,150\n"
    )
    rows = [f"{a},{c},{t * (1 + 0.3 * (250 - c) / 100 * k)}" for a, t, k in
            (("a", 9.0, 1), ("b", 5.0, 0.5), ("c", 7.0, 2)) for c in (150, 200, 250)]  # fmt: skip
    (tmp_path / "caps.csv").write_text("\n".join(["app,cap_w,runtime_s", *rows]))
    rh.save(
        rh.Surrogate("forest", targets=("runtime_s",)).fit(rh.read(tmp_path / "runs.csv")),
        tmp_path / "m.npz",
    )
    steps = [f"LeNet5,T4,32,{b},{1e-3 + 2e-5 * b}" for b in (8, 16, 32, 64)]
    (tmp_path / "steps.csv").write_text("\n".join(["app,device,image_px,batch_size,runtime_s",
                                                   *steps]))  # fmt: skip
    rh.save(rh.dnn.fit(tmp_path / "steps.csv").model, tmp_path / "dnn.rheo")
    (tmp_path / "step.hlo").write_text(STEP)
    (tmp_path / "times.csv").write_text("app,iteration,rank,runtime_s\n" + "".join(
        f"halo,{i},0,{0.5 + 0.1 * (i % 2)}\n" for i in range(40)))  # fmt: skip
    (tmp_path / "site.toml").write_text("procs = 4096\nidle_w = 3.0\nbusy_w = 9.0\n")
    (tmp_path / "october.txt").write_text(
        "JobID|State|Submit|Elapsed|ConsumedEnergyRaw\n"
        "7|COMPLETED|2026-10-01T00:00:00|00:02:00|\n"
        "7.batch|COMPLETED|2026-10-01T00:00:00|00:02:00|6181\n"
    )
    (tmp_path / "advice.csv").write_text(
        "app,nodes,nodes_requested,status\nlbm,4,8,advised\nlbm,8,8,kept\n"
    )
    (tmp_path / "told.csv").write_text(
        "app,nodes,nodes_requested,status,energy_j_change,energy_j_change_low,energy_j_change_high"
        "\nlbm,4,8,advised,-0.3,-0.4,-0.1\n"
    )
    (tmp_path / "drawn.csv").write_text("app,nodes,nodes_requested,trial_arm,runtime_s,energy_j\n"
        + "".join(f"lbm,4,8,advised,9,{60 + k}\nlbm,8,8,asked,8,{90 + k}\n" for k in range(3))
    )  # fmt: skip
    (tmp_path / "samples.csv").write_text(
        "t_s,meter,domain,kind,range_j,least_window_s,most_w,part_of,value\n"
        + "".join(f"{k},rapl,package-0,energy,inf,0.05,100.0,,{10 * k}\n" for k in range(6))
    )
    (tmp_path / "evening.csv").write_text("time,available_share\n00:00,1\n17:00,.8\n20:00,1\n")
    capped_runs(3, seed=0).frame.write_csv(tmp_path / "capped.csv")
    (tmp_path / "sum.c").write_text("int main(void) { return 0; }")
    (tmp_path / "serving.csv").write_text(SERVING)
    (tmp_path / "trace.csv").write_text(TRACE)
    played = serve(read_traffic(tmp_path / "trace.csv"), replica=Replica(8, 40_000)).requests
    played.frame.write_csv(tmp_path / "served.csv")
    (tmp_path / "asked.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in request_log(60, seed=0))
    )
    return tmp_path


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of them, for what a command writes."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def _gone(folder: str) -> str:
    shutil.rmtree(folder)
    return folder


def _log():
    from rheostat.measurement.synthetic import World

    return World(seed=0).jobs(300, seed=0)


def steady(document):
    """A document without the times that work took."""
    if isinstance(document, dict):
        return {k: steady(v) for k, v in document.items() if k not in ("engine", "seconds")}
    return [steady(v) for v in document] if isinstance(document, list) else document


def code_of(error: Exception) -> int:
    """The exit code that says which class of error Python raises."""
    if isinstance(error, CommandError):
        return error.status
    return {QuestionError: WRONG_USE, Infeasible: INFEASIBLE}.get(type(error), FAILED)


def test_no_command_is_forgotten() -> None:
    found = commands(typer.main.get_command(app))
    assert {name for name, documented in found.items() if documented} == set(ASKED)
    assert {name for name, documented in found.items() if not documented} == set(REFUSED)


@pytest.mark.parametrize("command", REFUSED)
def test_without_a_document_the_same_is_refused(here, capsys, command) -> None:
    typed, called = REFUSED[command]
    code = run([*command.split(), *typed])
    printed = capsys.readouterr()
    with pytest.raises((RheostatError, OSError)) as refused:
        called()
    error = refused.value
    assert code == code_of(error)
    assert (str(error) if isinstance(error, RheostatError) else str(error.filename)) in printed.err
    assert not printed.out


BRANCHES = (ast.For, ast.If, ast.IfExp, ast.Match, ast.Try, ast.While)
CHOICES = {
    "llm/fit": 2, "models/compare": 2, "models/counters": 1,  # two questions, each with its options
    "scheduling/simulate": 1,  # orders that are printed and no more
    "scheduling/train": 1,  # the page of what was learned, before it is judged for hours
    "serve": 1,  # a token that is added, and nothing served
    "site/ingest": 1,  # a file or --sacct, which Python says by leaving the file out
}  # fmt: skip
"""Lines with a branch in commands; all others hand their options to one question."""


def test_a_command_decides_nothing_but_which_question_is_asked() -> None:
    found, inner = (
        {},
        ("app", "arguments", "asks", "command", "config", "examples", "output", "progress"),
    )
    cli = Path(rheostat.cli.__file__).parent
    for file in sorted(cli.rglob("*.py")):
        name = str(file.relative_to(cli).with_suffix(""))
        lines = {n.lineno for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, BRANCHES)
                 and "TYPE_CHECKING" not in ast.dump(n)}  # fmt: skip
        if lines and name not in inner and not name.endswith(("__init__", "options", "written")):
            found[name] = len(lines)
    assert found == CHOICES


def declared(group: object, above: str = "") -> dict[str, object]:
    """The functions that declare the options of commands that hand them on by name."""
    made = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            made |= declared(command, f"{above}{name} ")
        elif hasattr(command.callback, "questions"):
            made[f"{above}{name}"] = command.callback
    return made


def test_every_option_is_an_argument_of_its_question() -> None:
    """Or one of how the answer is shown, or the command itself makes a value of it."""
    lost, emptied = [], []
    found = declared(typer.main.get_command(app))
    assert len(found) > 50
    for name, command in found.items():
        bodies = [ast.parse(inspect.getsource(part)).body[0].body for part in command.parts]
        used = {n.id for body in bodies for part in body for n in ast.walk(part)
                if isinstance(n, ast.Name)}  # fmt: skip
        takes = [inspect.signature(asked(q)).parameters for q in command.questions]
        for option, parameter in inspect.signature(command).parameters.items():
            taken = [(t, taken_as(option, t, command.called)) for t in takes]
            if not {option} & {*used, *SHOWN, *command.instead} and not any(n for _, n in taken):
                lost.append(f"{name} {option}")
            if parameter.default in EMPTY:
                emptied += [f"{name} {option}" for t, n in taken
                            if n and option not in used and t[n].default not in EMPTY]  # fmt: skip
    assert lost == ["simulate orders", "llm simulate frequency"]  # answered as they are read
    known = {"simulate policy", "compare test_fraction", "explain export"}
    assert set(emptied) == known  # whose help says what the question takes then


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "typed", "called"),
    [(c, typed, called) for c, cases in ASKED.items() for typed, called in cases],
    ids=[f"{c} {' '.join(typed)}" for c, cases in ASKED.items() for typed, _ in cases],
)
def test_one_document_or_one_error(here, capsys, command, typed, called) -> None:
    code = run([*command.split(), *typed, "--json"])
    printed = capsys.readouterr()
    try:
        answer = called()
    except (RheostatError, OSError) as error:
        expected = code_of(error)
        assert code == expected
        words = str(error) if isinstance(error, RheostatError) else str(error.filename)
        assert words in printed.err
        answer = getattr(error, "answer", None)
        assert (answer is None) == (not printed.out)
        assert answer is None or answer.to_dict()["schema"] == f"rheostat.{command}/1"
    if answer is not None:
        assert steady(json.loads(printed.out)) == steady(answer.to_dict())
        assert isinstance(answer, Answer)
        check_reads_well(answer)
    if code == 0:
        check_says_price_and_sureness(command, answer)


PRICED = {
    "backtest": r"of requested|should change, .* at most",
    "budget plan": "Its price: ",
    "caps": r"loses|lose at most|[Ff]irst run",
    "coschedule": "Its price: ",
    "decide": r"should change, .* at most",
    "dnn front": "Its price: ",
    "front": "Its price: ",
    "llm plan": "Its price: ",
    "llm simulate": r"but its|no order",
    "search": "Its price: ",
    "simulate": "Its price: ",
    "site shadow": r"Where advice is wrong it is forecast to cost",
    "site what-if": r"Its price: |Do nothing: no other plan is better",
}
"""Answers that take something for something else say among their first sentences for what."""
UNPRICED = {
    "what is, was or will be, and nothing is taken": (
        "compare",
        "counters",
        "demo",
        "doctor",
        "explain",
        "measure",
        "predict",
        "read",
        "summary",
        "code suite",
        "code verify",
        "dnn fit",
        "dnn import",
        "dnn predict",
        "fit",
        "llm calibrate",
        "llm fit",
        "llm rank",
        "network fit",
        "network forecast",
        "network read",
        "site drift",
        "trial read",
    ),
    "what a run will cost is what it is run for": ("next", "trial plan", "train"),
    "files are written or settings put in place, as asked": (
        "budget diff",
        "budget apply",
        "budget follow",
        "fetch",
        "llm demo",
        "llm proxy",
        "network generate",
        "site ingest",
        "site install",
        "site power",
        "site refit",
        "site uninstall",
    ),
    "of the search itself: a section of its own, with the lines that change": (
        "code refactor",
        "code search",
        "code translate",
    ),
}
SURE = re.compile(
    r"\[[^\]]*\d( %)?\]|90 %|80 %|±|[Mm]easured|left out|[Hh]ow sure|predictions within|"
    r"median error|proven|on average|forecasts within|stand right|only a trial tells|surely enough|"
    r"of the others|[Ff]irst run"
)
UNSURE = {
    "no figure is estimated": (
        "code suite", "demo", "dnn import", "doctor", "fetch", "llm demo", "llm proxy",
        "network generate", "network read", "read", "summary",
    ),
    "one step of a plan that is asked for": (
        "budget apply", "budget diff", "budget follow", "site ingest", "site install", "site power",
        "site uninstall",
    ),
    "which rungs passed is how sure it is": ("code refactor", "code search", "code translate",
                                             "code verify"),
}  # fmt: skip


def check_says_price_and_sureness(command: str, answer: Answer) -> None:
    """Both stand in the first section, among its first four sentences."""
    sections = [s for s in shortened(answer.report().sections) if not s.folded]
    said = " ".join(sections[0].sentences[:4]) if sections else ""
    if command in PRICED:
        assert re.search(PRICED[command], said), said
    if sections and command not in of(UNSURE):
        assert SURE.search(said), said


def of(reasons: dict[str, tuple[str, ...]]) -> set[str]:
    return {command for commands in reasons.values() for command in commands}


def test_each_answer_says_its_price_and_how_sure_it_is_or_why_not() -> None:
    assert PRICED.keys() | of(UNPRICED) == ASKED.keys()
    assert not PRICED.keys() & of(UNPRICED)
    assert of(UNSURE) <= ASKED.keys()


COUNTS = re.compile(
    r"[\d,]+ (rows?|columns?|jobs?|runs?|iterations?|configurations?|settings?|applications?|"
    r"networks?|programs?|requests?)\b(?!:)"
)
"""How a sentence begins that tells the size of what was read and answers nothing."""


def check_reads_well(answer: Answer) -> None:
    """The answer comes first, in a sentence; no table is longer than a person reads."""
    for report in (answer.report(), answer.page_report()):
        sections = [s for s in shortened(report.sections) if not s.folded]
        assert not sections or sections[0].sentences
        assert not sections or not COUNTS.match(sections[0].sentences[0])
        assert [s.title for s in sections if s.grid and len(s.grid.rows) > MOST] == []
        if sections and len(sections[0].sentences[0]) > 400:
            raise AssertionError(f"an answer is a sentence: {sections[0].sentences[0]}")
    pages = [s.title for s in answer.page_report().sections if s.title != "notes"]
    assert "can this log answer?" not in pages[:1] or len(pages) == 1


def test_an_answer_is_seen_in_every_form(here) -> None:
    answer = rh.front("runs.csv", knobs="nodes=1..8")
    assert answer.notes[0].startswith("guessed to be known before a run: app")
    assert answer.table()["nodes"].to_list() == [1, 2, 4, 8]
    assert "4 of 4 settings are worth considering" in str(answer)
    assert repr(answer) == "<FrontAnswer: 4 nodes: 17m runtime and 1.71 MJ energy.>"
    assert answer._repr_html_() == answer.to_html()
    assert answer.to_html().startswith("<!doctype html>")
    assert len(answer.figure().axes) == 1


def test_forecasts_say_first_what_is_asked_about_comes_to() -> None:
    asked = rh.table({"nodes": [1, 2], "app": ["a", "a"]})
    draws = {"runtime_s": np.array([[3600.0, np.nan]]), "energy_j": np.array([[2e6, np.nan]])}
    answer = PredictAnswer(jobs=asked, outcome=rh.Outcome(draws), model="m")
    said = "2 jobs: 1h runtime and 2 MJ energy in all, 1 of them without a forecast"
    assert answer.report().sections[0].sentences == (f"{said}; each has its 90 % interval.",)
    errors = {"milc": {"ours": 2.0, "last": 3.0}, "halo": {"ours": 5.0, "last": 4.0}}
    fit = IterationFit(model=None, name="run", errors=errors)
    assert fit.beside() == (
        "The next iteration is forecast within at most 4.00 % on average: halo, by last.",
    )


def test_ones_own_policy_gets_the_report_that_named_ones_get(here) -> None:
    class Last(rh.EventPolicy):
        name = "last come"

        def choose(self, state):
            free = state.free
            for place in range(len(state.procs))[::-1]:
                free -= state.procs[place]
                if free < 0:
                    return
                yield place

    answer = rh.simulate("log.csv", ["easy", Last()], 64)
    told = answer.to_dict()["policies"]["last come"]
    assert told["paired"]["against"] == "easy"
    assert "last come" in str(answer)
    assert len(answer.figure().axes)
    with pytest.raises(RheostatError, match="last come: two policies are called so"):
        rh.simulate("log.csv", [Last(), Last()], 64)


def test_a_listener_hears_what_is_noticed(here) -> None:
    heard = []

    class Listening(Silent):
        def notes(self, messages):
            heard.extend(messages)

    with rh.listening(Listening()):
        answer = rh.front("runs.csv", knobs="nodes=1..8")
    assert tuple(heard) == answer.notes
