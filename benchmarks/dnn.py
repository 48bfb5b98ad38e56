"""How right are predicted training steps: with many runs, few, on new devices and new networks?

    python benchmarks/dnn.py [--quick] [--json] [--seeds N] [--tasks plenty,...] [--samples 10,25]

Data: PROFET (15 networks, 4 GPUs), layers of Justus et al., JAX steps with their graphs; see
RHEOSTAT_DATA.  Runs of one configuration count once, by their median; of the JAX steps the
fastest in CPU time, since other processes can only add to it.

Tasks
    plenty                        random five folds of PROFET
    new-device                    all runs of the other GPUs and a few of this one
    new-device-new-architecture   the same; five networks are nowhere but in the test
    leave-model-out               each network predicted from the others
    hlo-cpu, hlo-cpu-family-out   JAX steps, five random folds, and each family from the others, a
                                  family as one network
    hlo-cpu-networks-family-out   the same; each width and depth is a network of its own
    profet-family-out             networks of PROFET, each family by name from the others
    justus-new-device             as new-device, single layers
    leave-device-out              each GPU from the data sheets and the other GPUs' runs, with 0 and
                                  3 of its own: NeuSight's transformers, PROFET's networks
    leave-family-out              the same law, each network from the others of its source
                                  (both: dnn_device_law.py; neither is run unless named)

Methods: repeat (the other runs of the same configuration: the noise; plenty and hlo-cpu), trivial
(median of the device's runs at the nearest batch), black-box (boosted trees on
sizes and names), additive (cost model on the graph), roofline (three rates: starts, arithmetic
in whole lanes, traffic), plain roofline (arithmetic as it is counted), gnn, gnn->xgb (as
published), ours (`rheostat dnn fit`), ours+gnn (these two as parts of one; hlo-cpu and unseen
architectures without --quick, the weights to stderr).  MAPE, median error and coverage of 90 %
intervals in per cent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from black_box import BlackBox, corrected
from dnn_device_law import networks as cnns
from dnn_device_law import scores, transformers
from graph_net import GraphNet
from rich.console import Console
from rich.table import Table

from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable
from rheostat.measurement.graphs.read_graph import graphs_of
from rheostat.measurement.read import read
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.prediction.step_cost.stacking import PRIOR_NETWORKS, chosen_weights
from rheostat.prediction.step_cost.terms import cost_terms
from rheostat.prediction.step_cost.unlike import EXPERTS
from rheostat.recipes.dnnperf import nearest_runs

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data")) / "dnn"
PROFET = ROOT / "public" / "profet_target_latency.csv.gz"
HLO = ROOT / "hlo_cpu" / "hlo_cpu_measured.jsonl.gz"
JUSTUS = [ROOT / "public" / f"justus_{kind}.csv.gz" for kind in ("dense", "convolution")]
FEW_RUNS, HELD_NETWORKS, FEWEST_TRUSTED = 100, 5, 25
FAMILIES = ("VGG", "ResNet", "MobileNet", "Inception", "AlexNet")
BY_SHEET = {"leave-device-out": ["device", "cnns"],
            "leave-family-out": ["transformers", "cnn-networks"]}  # fmt: skip
Split = tuple[np.ndarray, np.ndarray]
TASKS = ("plenty", "new-device", "new-device-new-architecture", "leave-model-out", "hlo-cpu",
         "hlo-cpu-family-out", "hlo-cpu-networks-family-out", "profet-family-out",
         "justus-new-device")  # fmt: skip
FAMILY_OUT = ("leave-model-out", *(t for t in TASKS if t.endswith("family-out")))


@dataclass
class Data:
    """Configurations with their times, and their graphs where a graph network may have them.

    ``again`` are runs whose configuration was run before: device, time and that of the others.
    """

    jobs: JobTable
    graphs: list[Graph] = field(default_factory=list)
    which: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    terms: dict[str, Any] = field(default_factory=dict)
    again: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        self.time_s = self.jobs.numpy("runtime_s")
        self.app = np.array(self.jobs.frame["app"].to_list())
        self.device = np.array(self.jobs.frame["device"].to_list())


def main() -> None:
    """Run the methods on the tasks and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="fewer seeds, samples, devices")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--seeds", type=int, default=0)
    args.add_argument("--tasks", default=",".join(TASKS))
    args.add_argument("--samples", default="")
    args.add_argument("--no-gnn", action="store_true", help="leave the graph network out")
    given = args.parse_args()
    if not PROFET.exists():
        sys.exit(f"measured data not found at {PROFET}; set RHEOSTAT_DATA")
    seeds = given.seeds or (2 if given.quick else 10)
    samples = [int(s) for s in (given.samples or ("25" if given.quick else "10,25,50")).split(",")]
    asked = given.tasks.split(",")
    wanted = [t for t in TASKS if t in asked]
    rows = list(every(wanted, seeds, samples, given.quick, not given.no_gnn))
    rows += [row for task in BY_SHEET if task in asked for row in by_sheet(task)]
    print(json.dumps({"rows": rows})) if given.json else show(rows)


def every(
    wanted: list[str], seeds: int, samples: list[int], quick: bool, gnn: bool
) -> Iterator[dict[str, Any]]:
    """All rows of the result, task by task."""
    sources: dict[str, Callable[[], Data]] = {"hlo": jax_steps, "jus": layers}
    data: dict[str, Data] = {}
    for task in wanted:
        kind = task[:3] if task[:3] in sources else "profet"
        data[kind] = data.get(kind) or sources.get(kind, networks)()
        devices = ("V100", "P100") if kind == "jus" else ("T4", "V100")
        if not quick:
            devices = tuple(sorted(set(data[kind].device)))
        for seed in range(1 if task in FAMILY_OUT else seeds):
            rng = np.random.default_rng(seed)
            with_gnn = gnn and seed < (1 if quick else 3)
            if task in ("plenty", "hlo-cpu"):
                if quick and seed:
                    continue
                folds = np.array_split(rng.permutation(len(data[kind].time_s)), 5)
                yield from folded(task, data[kind], folds, seed, with_gnn and not quick)
                yield from repeated(task, data[kind], seed)
            elif task in FAMILY_OUT:
                yield from left_out(task, data[kind], seed, with_gnn and not quick)
            else:
                for device in devices:
                    for n in samples:
                        split = few(data[kind], device, n, seed, new="architecture" in task)
                        about = {"task": task, "samples": n, "target_device": device, "seed": seed}
                        gnn_too = with_gnn and n == 25 and (not quick or device == devices[0])
                        yield from compared(data[kind], split, about, gnn_too, gnn_too and not quick
                                            and "architecture" in task)  # fmt: skip


def by_sheet(task: str) -> Iterator[dict[str, Any]]:
    """Rows of the law of data sheets, over all devices or networks of a source together."""
    for row in scores(BY_SHEET[task], transformers(), cnns()):
        yield {"task": f"{task}: {row['task']}", "method": row["method"], "samples": "",
               "target_device": "all", "seed": 0, "mape": row["mape"],
               "median_ape": row["median"], "coverage": row["coverage"]}  # fmt: skip


def left_out(task: str, data: Data, seed: int, gnn: bool) -> Iterator[dict[str, Any]]:
    """Rows where a network, or a family of them, is left out; each JAX family by itself, too."""
    family = data.app
    if task == "profet-family-out":
        family = np.array([next((f for f in FAMILIES if a.startswith(f)), "small")
                           for a in data.app])  # fmt: skip
    if task == "hlo-cpu-networks-family-out":
        data = replace(data, jobs=data.jobs.with_columns(
            [], app=[f"{a}-{w}-{d}" for a, w, d in
                     data.jobs.frame.select("app", "width", "depth").rows()]))  # fmt: skip
    folds = [np.flatnonzero(family == f) for f in np.unique(family)]
    yield from folded(task, data, folds, seed, gnn, family if "family" in task else None)


def folded(
    task: str, data: Data, folds: list[np.ndarray], seed: int, gnn: bool,
    family: np.ndarray | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Rows over all folds together, for each device, and for each family."""
    made: dict[str, np.ndarray] = {}
    for fold in folds:
        known = np.setdiff1d(np.arange(len(data.time_s)), fold)
        said = answers(data, (known, fold), gnn)
        if gnn and task == "hlo-cpu":
            said["ours+gnn"] = mixed(data, (known, fold), said)
        for method, answer in said.items():
            made.setdefault(method, np.full((3, len(data.time_s)), np.nan))[:, fold] = answer
    for (method, answer), split in product(made.items(), [data.device, family]):
        for group in [] if split is None else np.unique(split):
            rows = np.flatnonzero(split == group)
            about = {"task": task, "samples": len(data.time_s) - len(folds[0]),
                     "target_device": str(group), "seed": seed}  # fmt: skip
            yield scored(method, answer[:, rows], data.time_s[rows], about)


def repeated(task: str, data: Data, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of what the other runs of the same configuration say: the noise of the measurement."""
    if data.again is None:
        return
    for (device,), runs in sorted(data.again.group_by("device")):
        about = {"task": task, "samples": len(runs), "target_device": device, "seed": seed}
        yield scored("repeat", alone(runs["others_s"].to_numpy()), runs["runtime_s"].to_numpy(),
                     about)  # fmt: skip


def of_others(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Runs of configurations that were run more than once, with the median of the other runs."""
    rows = []
    for group in frame.filter(pl.len().over(keys) > 1).partition_by(keys):
        times = group["runtime_s"].to_numpy()
        rows += [(group["device"][0], t, float(np.median(np.delete(times, i))))
                 for i, t in enumerate(times)]  # fmt: skip
    return pl.DataFrame(rows, schema=["device", "runtime_s", "others_s"], orient="row")


def compared(
    data: Data, split: Split, about: dict[str, Any], gnn: bool, mix: bool
) -> Iterator[dict[str, Any]]:
    """Rows of one split."""
    said = answers(data, split, gnn)
    if mix:
        said["ours+gnn"] = mixed(data, split, said)
    for method, answer in said.items():
        yield scored(method, np.asarray(answer), data.time_s[split[1]], about)


def answers(data: Data, split: Split, gnn: bool) -> dict[str, np.ndarray]:
    """Prediction, low and high end of each row asked about, (3, n), by method; NaN is no end."""
    known, asked = split
    jobs, log_y = data.jobs.rows(known), np.log(data.time_s[known])
    question = data.jobs.rows(asked)
    model = StepCost(["runtime_s"])
    model.terms = data.terms
    outcome = model.fit(jobs).predict(question)
    rows = model.coded(TrainingRows.of(question, model.terms))
    black = BlackBox().fit(jobs, log_y).predict(question)
    made = {
        "trivial": alone(nearest_runs(model, question, "runtime_s")),
        "black-box": alone(np.exp(black)),
        "ours": np.array([outcome.quantile("runtime_s", 0.5), *outcome.interval("runtime_s")]),
    }
    each = model.unlike_["runtime_s"].each(rows)
    made |= {name: alone(np.exp(v)) for name, v in zip(EXPERTS, each, strict=True)}
    if gnn and data.graphs:
        made |= {name: alone(np.exp(v)) for name, v in of_graphs(data, known, asked).items()}
    return made


def mixed(data: Data, split: Split, said: dict[str, np.ndarray]) -> np.ndarray:
    """Ours, the graph network or both, as ours takes its parts: by what was left out.

    A quarter of the runs; each third of the networks where those asked about are new.
    """
    known, asked = split
    new = not np.isin(data.app[asked], data.app[known]).any()
    groups = np.unique(data.app, return_inverse=True)[1] if new else np.arange(len(data.app))
    order = np.random.default_rng(0).permutation(np.unique(groups[known]))
    held = np.array_split(order, 3) if new else [order[3 * len(order) // 4 :]]
    places, device = np.unique(data.device, return_inverse=True)
    errors, rows = [], []
    for some in held:
        out = known[np.isin(groups[known], some)]
        inner = answers(data, (np.setdiff1d(known, out), out), True)
        errors.append(np.log(data.time_s[out]) - np.log([inner["ours"][0], inner["gnn"][0]]))
        rows.append(out)
    there = np.concatenate(rows)
    weights = chosen_weights(np.hstack(errors), device[there], groups[there], len(places),
                             PRIOR_NETWORKS if new else 0.0)[device[asked]]  # fmt: skip
    print(f"ours+gnn: the graph network's weight is {weights[:, 1].mean():.2f}", file=sys.stderr)
    both = np.log([said["ours"][0], said["gnn"][0]])
    return alone(np.exp((weights.T * both).sum(axis=0)))


def of_graphs(data: Data, known: np.ndarray, asked: np.ndarray) -> dict[str, np.ndarray]:
    """The graph network, pre-trained where a device has few runs, and trees that read it."""
    names, codes = np.unique(data.device, return_inverse=True)
    log_y = np.log(data.time_s)
    many = np.bincount(codes[known], minlength=len(names)) >= FEW_RUNS
    pretrained = known[many[codes[known]]]
    heads = np.flatnonzero(many)
    head = np.searchsorted(heads, codes[pretrained])
    net = GraphNet().fit(data.graphs, data.which[pretrained], head, log_y[pretrained])
    said = net.predict(data.graphs)[data.which]
    own = np.where(many[codes], said[np.arange(len(codes)), np.searchsorted(heads, codes)
                                     % len(heads)], said.mean(axis=1))  # fmt: skip
    result = own.copy()
    for device in np.flatnonzero(~many & (np.bincount(codes[known], minlength=len(names)) > 0)):
        here, rows = codes == device, known[codes[known] == device]
        result[here] = corrected(said.mean(axis=1), rows, log_y[rows])[here]
    few_rows = known[~many[codes[known]]] if (~many[codes[known]]).any() else known
    trees = BlackBox().fit(data.jobs.rows(few_rows), log_y[few_rows], own[few_rows, None])
    return {"gnn": result[asked],
            "gnn->xgb": trees.predict(data.jobs.rows(asked), own[asked, None])}  # fmt: skip


def alone(prediction: np.ndarray) -> np.ndarray:
    """A prediction without an interval."""
    return np.array([prediction, np.full(len(prediction), np.nan), np.full(len(prediction),
                                                                           np.nan)])  # fmt: skip


def scored(
    method: str, answer: np.ndarray, time_s: np.ndarray, about: dict[str, Any]
) -> dict[str, Any]:
    """One row."""
    error = 100 * np.abs(answer[0] / time_s - 1)
    inside = (answer[1] <= time_s) & (time_s <= answer[2])
    covered = None if np.isnan(answer[1]).all() else 100 * float(np.mean(inside))
    return {
        "task": about["task"], "method": method, "samples": about["samples"],
        "target_device": about["target_device"], "seed": about["seed"],
        "mape": float(np.mean(error)), "median_ape": float(np.median(error)), "coverage": covered,
    }  # fmt: skip


def few(data: Data, device: str, n: int, seed: int, *, new: bool) -> Split:
    """The other devices' runs and ``n`` of this one; asked are its others, or held networks."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(data.time_s), dtype=bool)
    if new:
        held = np.isin(data.app, rng.permutation(np.unique(data.app))[:HELD_NETWORKS])
    here = data.device == device
    own = rng.choice(np.flatnonzero(here & ~held), n, replace=False)
    others = np.flatnonzero(~here & ~held)
    asked = np.flatnonzero(here & held) if new else np.setdiff1d(np.flatnonzero(here), own)
    return np.concatenate([others, own]), asked


def networks() -> Data:
    """PROFET: a row per configuration."""
    jobs = read(PROFET)
    keys = ["device", "app", "image_px", "classes", "samples", "batch_size", "optimizer"]
    frame = jobs.frame.group_by(keys, maintain_order=True).agg(pl.col("runtime_s").median())
    frame = frame.sort("device", "app", "image_px", "batch_size")
    sizes = frame.select("app", "image_px", "batch_size", "classes").rows()
    kinds = {s: i for i, s in enumerate(dict.fromkeys(sizes))}
    graphs = [training_step(a, px, b, c) for a, px, b, c in kinds]
    return Data(JobTable(frame, jobs.schema.only(frame.columns)), graphs,
                np.array([kinds[s] for s in sizes]), again=of_others(jobs.frame, keys))  # fmt: skip


def jax_steps() -> Data:
    """The JAX steps with their compiled graphs: a row per configuration."""
    jobs = read(HLO)
    jobs = jobs.with_columns([], runtime_s=jobs.numpy("runtime_min_s"))
    sizes = ["app", "input_size", "width", "depth", "heads", "batch_size", "optimizer"]
    again = of_others(jobs.frame, [*sizes, "device"])
    first = pl.col("runtime_s") == pl.col("runtime_s").min().over(sizes)
    jobs = jobs.rows(np.flatnonzero(jobs.frame.select(first).to_series()))
    graphs = graphs_of(jobs, HLO.parent)
    place = {name: i for i, name in enumerate(graphs)}
    which = np.array([place[g] for g in jobs.frame["graph"]])
    return Data(jobs, list(graphs.values()), which, {n: cost_terms(g) for n, g in graphs.items()},
                again)  # fmt: skip


def layers() -> Data:
    """Layers of Justus et al.: 150 of either kind on each GPU."""
    frames = [read(path).frame for path in JUSTUS]
    some = [f.filter(pl.int_range(pl.len()).shuffle(seed=0).over("device") < 150) for f in frames]
    frame = pl.concat(some, how="diagonal")
    return Data(JobTable(frame, read_schema(frame)))


def read_schema(frame: pl.DataFrame) -> Any:
    """What the columns mean."""
    from rheostat.core.vocabulary import table
    from rheostat.measurement.training_columns import COLUMNS

    return table(frame, COLUMNS).schema


def show(rows: list[dict[str, Any]]) -> None:
    """Means over seeds."""
    said = Table("task", "device", "samples", "method", "MAPE", "median APE", "coverage")
    keys = ("task", "target_device", "samples", "method")
    for key in dict.fromkeys(tuple(r[k] for k in keys) for r in rows):
        some = [r for r in rows if tuple(r[k] for k in keys) == key]
        values = [[r[c] for r in some if r[c] is not None] for c in
                  ("mape", "median_ape", "coverage")]  # fmt: skip
        cells = [f"{np.mean(v):.1f} %" if v else "" for v in values]
        said.add_row(*map(str, key), *cells)
    Console(width=110).print(said)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
