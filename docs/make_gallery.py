"""Make docs/gallery.md and its pictures: every report with a picture, on generated data.

The same bytes every time with the matplotlib of constraints.txt.  `make gallery` runs this.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.cli import run
from rheostat.measurement.read import read
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.measurement.synthetic import World
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.measurement.synthetic.counter_runs import write_pcm
from rheostat.prediction.saved_models.persist import save
from rheostat.prediction.step_cost import StepCost
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve

DOCS = Path(__file__).parent
INTO = DOCS / "gallery"
TOP = """\
# Gallery

Every report with a picture, on generated data. Each picture is the file that the command above it
writes with `--figure`; the same command with `--html` writes the whole report as a page.
`make gallery` makes the data, the pictures and this page anew; the bytes stay the same.

Pictures are SVG, PDF or PNG by the file's ending. Words stay text, axes carry their units, the
width is that of a text column (7.2 inches, 6.5 point). They need `pip install -e '.[figures]'` in
a checkout; pages, text and JSON do not.
"""


@dataclass(frozen=True)
class Entry:
    """A command, and which of its pictures stand in the gallery, each with what it shows."""

    title: str
    command: str
    shows: dict[str, str]


GALLERY = (
    Entry("The whole job", "demo", {
        "demo": "One job at every node count: forecasts with intervals, the front, the choice, and "
        "crosses where the truth is.",
        "demo-measure": "How much of the true front a few measurements find.",
        "demo-fit": "Do 90 % intervals hold 90 % of the outcomes?",
        "demo-leans-on": "Which columns the forecast uses.",
    }),
    Entry("A month of a site", "summary trace.parquet", {
        "summary": "Node-hours of each application, and those that did not complete.",
    }),
    Entry("One job's settings", "front trace.parquet --job 1001924", {
        "front": "From a job log: what the job would have cost at other node counts.",
    }),
    Entry("Measured runs", "front training.csv --where app=net1 "
          "--knob batch_size=16,32,64,128,256,512 --knob cap_w=100..250/25", {
        "training": "From a table of runs of a training: batch size and power cap together.",
    }),
    Entry("A search", "search space.toml --budget 9 "
          "--measure '{python} program.py {nodes} {cap_w}'", {
        "search": "Nine of 24 settings of one's own program, chosen one by one.",
    }),
    Entry("Advice for all jobs", "decide trace.parquet", {
        "decide": "What would change for each application.",
    }),
    Entry("A back-test", "backtest trace.parquet", {
        "backtest": "Intervals promised on the past, checked on the last month.",
    }),
    Entry("Models side by side", "compare trace.parquet --kinds lightgbm,forest", {
        "compare": "Half of the predictions are nearer than this.",
    }),
    Entry("Caps of an application", "caps known.csv --app app06 --tried tried.csv --loss 0.1", {
        "caps": "Four measured settings, the others predicted; the kept one holds the bound.",
    }),
    Entry("A power budget", "budget plan capped.csv --nodes nodes.csv --limits limits.toml", {
        "budget": "Watts of each rack before and after, and its limit.",
    }),
    Entry("Power from counters", "counters counters.csv --methods law --leave-out application", {
        "counters": "What 20 % less of a counter would do to the power.",
    }),
    Entry("A served language model", "llm plan llm-demo/runs.csv --app m32 --itl 12ms "
          "--knob gpu_model=H100,B200 --knob gpus=1,2,4,8 --knob batch_cap=32,128,512", {
        "llm": "Energy per token against the time between tokens, and the configuration to take.",
    }),
    Entry("Orders of waiting prompts", "llm simulate llm-demo/requests.jsonl --rate 8", {
        "requests": "How many requests are answered within so many seconds, under each order.",
    }),
    Entry("A server as it answered", "llm calibrate answered.csv", {
        "answered": "How many requests were answered within so many seconds, and are by its model.",
    }),
    Entry("A shared network", "network forecast run --app lammps --steps 10", {
        "network": "Iteration times, forecasts one iteration ahead, and where the load changed.",
    }),
    Entry("Training steps", "dnn front steps.rheo --model-name vgg11", {
        "steps": "Time of a sample against memory, for each batch size and device, with intervals.",
    }),
    Entry("Jobs that share a node", "coschedule profiles.csv "
          "--queue 'lbm*3,resnet50*2,minife*3,gpt2'", {
        "coschedule": "Which job runs on which GPUs, and when.",
    }),
    Entry("Batch policies", "simulate trace.parquet --machine 6000 --policy easy "
          "--policy sjf+easy --policy wfp3+easy", {
        "simulate": "How full the machine is.",
        "simulate-queue-depth": "How many jobs wait.",
        "simulate-who-holds-the-machine-easy": "Who holds the machine.",
        "simulate-wait-against-wait": "Each job's wait under two policies.",
        "simulate-wait-by-size": "Who waits: small jobs or large ones.",
    }),
    Entry("Policies over traces", "compare --policies sjf+easy,wfp3+easy "
          "--traces trace.parquet --machine 6000 --processes 1", {
        "policies": "Slowdown over that of the best simple order: whole trace and later part.",
    }),
    Entry("The rules of a policy", "explain wfp3 --trace trace.parquet --machine 6000 "
          "--depth 3 --rounds 2", {
        "explain": "A policy imitated by a tree of questions.",
    }),
    Entry("A learned order", "train trace.parquet --machine 6000 --agent ours "
          "--updates 6 --out ours.model", {
        "train": "How the order gets better while it learns.",
    }),
)  # fmt: skip
PROGRAM = """\
import json, sys
nodes, cap_w = float(sys.argv[1]), float(sys.argv[2])
runtime_s = (40 + 2400 / nodes) * max(1.0, 260.0 / cap_w) ** 0.6
print(json.dumps({"runtime_s": runtime_s, "power_w": nodes * (60 + min(cap_w, 260.0))}))
"""


def write_data(folder: Path) -> None:
    """The files that the commands name."""
    World(seed=0).jobs(2000).write_parquet(folder / "trace.parquet")
    caps = {"cpu_caps": (140, 160, 180, 200), "gpu_caps": (150, 175, 200, 225, 250)}
    runs = capped_runs(12, seed=1, **caps).frame
    runs.write_csv(folder / "capped.csv")
    runs.filter(pl.col("app") != "app06").write_csv(folder / "known.csv")
    settings = [(200, 250), (140, 150), (200, 175), (160, 250)]
    tried = pl.DataFrame(settings, ["cpu_cap_w", "gpu_cap_w"], orient="row").cast(pl.Float64)
    own = runs.filter(pl.col("app") == "app06")
    own.join(tried, on=tried.columns, how="semi").write_csv(folder / "tried.csv")
    write_pcm(folder / "counters.csv", n_apps=6)
    nodes = "".join(f"n{i:02d},app{i % 12:02d},140,150,r{i % 4}\n" for i in range(24))
    (folder / "nodes.csv").write_text(f"node,app,cpu_cap_w,gpu_cap_w,rack\n{nodes}")
    racks = 'r0 = "2.0 kW"\nr1 = "2.2 kW"\nr2 = "2.4 kW"\nr3 = "2.6 kW"\n'
    (folder / "limits.toml").write_text(f'[site]\ntotal = "8.6 kW"\n[rack]\n{racks}')
    (folder / "space.toml").write_text(
        "[knobs]\nnodes = [1, 2, 4, 8, 16, 32]\ncap_w = [150, 200, 250, 300]\n"
    )
    (folder / "program.py").write_text(PROGRAM)
    (folder / "training.csv").write_text("\n".join(_training()) + "\n")
    (folder / "steps.csv").write_text("\n".join(_steps()) + "\n")
    save(StepCost().fit(read(folder / "steps.csv", "training")), folder / "steps.rheo")
    (folder / "profiles.csv").write_text("\n".join(_profiles()) + "\n")
    run(["llm", "demo", str(folder / "llm-demo")])
    _answered(folder / "llm-demo" / "requests.jsonl").write_csv(folder / "answered.csv")
    (folder / "run").mkdir()
    (folder / "run" / "wl.conf").write_text("4 milc 0 0\n4 lammps 0 0\n")
    (folder / "run" / "alloc.conf").write_text("0 1 2 3\n4 5 6 7\n")
    (folder / "run" / "iterations.txt").write_text("\n".join(_iterations()) + "\n")


def _answered(trace: Path) -> pl.DataFrame:
    """The first requests of a trace with when a server answered them, its clients' ways unequal."""
    asked = read_traffic(trace).rows(range(300))
    asked = asked.with_columns([], submit_s=asked.numpy("submit_s") / 8)
    served = serve(asked, "fcfs", Replica(batch_cap=32)).requests.frame
    way_s = pl.Series([0.002 * (k * 7 % 11) for k in range(served.height)])
    names = ("submit_s", "prompt_tokens", "output_tokens")
    return served.select(*names, start_s=served["start_s"] + way_s, end_s=served["end_s"] + way_s)


def _training() -> list[str]:
    """Time and energy to a target accuracy over batch size and power cap."""
    lines = ["app,batch_size,cap_w,runtime_s,energy_j"]
    for name, scale, best, full_w in (("net0", 1.0, 64, 180), ("net1", 2.2, 256, 240)):
        for batch in (16, 32, 64, 128, 256, 512):
            for cap_w in range(100, 251, 25):
                epochs = 1 + 0.3 * (best / batch) + 0.15 * (batch / best) ** 1.3
                runtime_s = 3600 * scale * epochs * max(1.0, full_w / cap_w) ** 0.7
                power_w = 70 + min(cap_w, full_w) * (0.75 + 0.25 * min(1.0, batch / best))
                lines.append(f"{name},{batch},{cap_w},{runtime_s:.1f},{runtime_s * power_w:.0f}")
    return lines


def _steps() -> list[str]:
    """Time and memory of a training step of three networks on two devices."""
    lines = ["model,device,batch_size,step_ms,mem_GB"]
    for model, gflop, mparam in (("vgg11", 7.6, 133), ("resnet18", 1.8, 12), ("alexnet", 0.7, 61)):
        for device, tflop_per_s, gb_per_s in (("A", 8.0, 300), ("B", 19.0, 1500)):
            for batch in (8, 16, 32, 64, 128):
                step_ms = 3 + 3 * gflop * batch / tflop_per_s + 24 * mparam / gb_per_s
                gigabytes = 0.5 + 0.016 * mparam + 0.012 * batch * gflop**0.7
                lines.append(f"{model},{device},{batch},{step_ms:.2f},{gigabytes:.2f}")
    return lines


def _profiles() -> list[str]:
    """Time and power of four applications on one to four GPUs."""
    apps = {"lbm": (900, 0.95, 260), "resnet50": (1400, 0.8, 300), "minife": (420, 0.99, 210),
            "gpt2": (2600, 0.7, 320)}  # fmt: skip
    lines = ["app,gpus,runtime_s,power_w"]
    for app, (alone_s, scaling, watts) in apps.items():
        lines += [
            f"{app},{n},{alone_s / n**scaling:.1f},{watts * n**0.95:.0f}" for n in (1, 2, 3, 4)
        ]
    return lines


def _iterations() -> list[str]:
    """Marks of two applications; the second one's iterations double when a neighbour comes."""
    rng = random.Random(0)
    lines = []
    for job, (usual_s, later_s) in enumerate(((3.0, 3.1), (2.0, 4.2))):
        at = 0.0
        for k in range(90):
            at += (usual_s if k < 50 else later_s) * rng.lognormvariate(0.0, 0.03)
            lines += [
                f"ITERATION {k} node {4 * job + r} job {job} rank {r} time {at * 1e6:.1f}"
                for r in range(4)
            ]
    return lines


def draw(entry: Entry, folder: Path) -> list[Path]:
    """Run the command and return its pictures."""
    first = next(iter(entry.shows))
    words = entry.command.replace("{python}", sys.executable)
    command = f"{sys.executable} -m rheostat {words} --figure {first}.svg"
    env = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return [folder / f"{name}.svg" for name in entry.shows]


def page() -> str:
    """The page's text."""
    parts = [TOP]
    for entry in GALLERY:
        first = next(iter(entry.shows))
        command = entry.command.replace("{python}", "python")
        parts.append(f"## {entry.title}\n\n```sh\nrheostat {command} --figure {first}.svg\n```\n")
        parts += [
            f"{said}\n\n![{said}](gallery/{name}.svg)\n" for name, said in entry.shows.items()
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    wanted = re.compile("|".join(sys.argv[1:]) or ".")
    INTO.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        write_data(Path(place))
        for entry in GALLERY:
            if wanted.search(next(iter(entry.shows))):
                for drawn in draw(entry, Path(place)):
                    shutil.copy(drawn, INTO / drawn.name)
                print(entry.title)
    (DOCS / "gallery.md").write_text(page())
