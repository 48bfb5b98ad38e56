"""A GPU that nobody ran: the law of data sheets, learned from the others, on measured steps.

    python benchmarks/dnn_device_law.py [--write] [--json] [--tasks device,four]

Each of NeuSight's GPUs (11 types, six transformers, forward passes and training, 32 bits, one GPU,
kernels not fused) is left out and predicted from the rest and from PROFET's CNNs on four GPUs, then
with three of its own runs; and each of PROFET's (``device``, ``cnns``).  Beside it the mean rate of
the other GPUs (their median time for a FLOP), and a roofline with the shares that fit the others
best.  ``twins`` leaves out both A100, or MI210 and MI250, together.  ``transformers`` and
``cnn-networks`` leave out each network of a source, predicted from the others of that source.
``other-source``: each source from the other alone, as the package forecasts a step of neither.

``four``: training on four GPUs, data, tensor and pipeline parallel, from NeuSight's labels, with
the law as shipped and the sheets' links; the law has seen steps of one H100, and none of that A100.
``--write`` fits what the package ships.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from transformer_steps import SIZES, transformer_work

from rheostat.measurement.read import read
from rheostat.prediction.accelerators import Accelerator, accelerator, sheet_name
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost.device_law import DeviceLaw, Work
from rheostat.prediction.step_cost.several_devices import (
    data_parallel_s,
    pipeline_parallel_s,
    tensor_parallel_s,
)
from rheostat.prediction.step_cost.sheet_forecast import UNSEEN_SPREAD

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data")) / "dnn"
LABELS, PROFET = ROOT / "neusight" / "labels.csv", ROOT / "public/profet_target_latency.csv.gz"
SHIPPED = Path(__file__).parents[1] / "src/rheostat/prediction/step_cost/device_law.json"
TWINS = [["A100-PCI-40", "A100-PCI"], ["MI210", "MI250"]]
PROFET_AS = {"V100": "V100-16"}
PER_DEVICE = 40
NORMAL_90 = 1.645


@dataclass
class Runs:
    """Steps as the law takes them; ``device`` (n,) are names, ``log_s`` (n,) measured.

    ``network`` (n,) is whose step it is.
    """

    work: list[Work]
    device: list[str]
    log_s: np.ndarray
    network: list[str]

    def of(self, rows: np.ndarray) -> Runs:
        """Some of them."""
        return Runs([self.work[i] for i in rows], [self.device[i] for i in rows], self.log_s[rows],
                    [self.network[i] for i in rows])  # fmt: skip

    def sheets(self) -> list[Accelerator]:
        """Of their devices."""
        return [accelerator(d).part() for d in self.device]

    def joined(self, other: Runs) -> Runs:
        """Both."""
        return Runs(self.work + other.work, self.device + other.device,
                    np.concatenate([self.log_s, other.log_s]),
                    self.network + other.network)  # fmt: skip


def transformers() -> Runs:
    """NeuSight's, on one GPU."""
    table = pl.read_csv(LABELS).filter(pl.col("option").fill_null("") == "")
    work = [transformer_work(r["model_name"], r["seqlen"], r["batch"], train=r["mode"] == "train")
            for r in table.rows(named=True)]  # fmt: skip
    names = [sheet_name(d.replace("_", " ")) for d in table["device"]]
    return Runs(work, names, np.log(table["label_all_e2e_latency"].to_numpy() / 1e3),
                table["model_name"].to_list())  # fmt: skip


def networks(each: int = PER_DEVICE, seed: int = 0) -> Runs:
    """PROFET's, medians of repetitions; ``each`` of a device by chance."""
    by = ["app", "device", "batch_size", "image_px"]
    frame = read(PROFET).frame.group_by(by, maintain_order=True).agg(pl.col("runtime_s").median())
    rng, rows = np.random.default_rng(seed), []
    for device in sorted(frame["device"].unique()):
        mine = frame.with_row_index("i").filter(device=device)["i"].to_numpy()
        rows += sorted(rng.permutation(mine)[:each])
    table = frame[rows].rows(named=True)
    work = [Work.of(training_step(r["app"], r["image_px"], r["batch_size"])) for r in table]
    return Runs(work, [PROFET_AS.get(r["device"], r["device"]) for r in table],
                np.log([r["runtime_s"] for r in table]), [r["app"] for r in table])  # fmt: skip


def fitted(runs: Runs) -> DeviceLaw:
    """The law, given runs."""
    return DeviceLaw.prior().given(runs.work, runs.sheets(), runs.device, runs.log_s)


def mean_rate(known: Runs, asked: Runs) -> np.ndarray:
    """Log time at the median seconds for a FLOP of the others."""
    per = [y - np.log((w.flops * w.times).sum()) for y, w in zip(known.log_s, known.work,
                                                                 strict=True)]  # fmt: skip
    return np.array([np.median(per) + np.log((w.flops * w.times).sum()) for w in asked.work])


def roofline(known: Runs, asked: Runs) -> np.ndarray:
    """Log of the sheet's time for each operation, less what the others' medians show it misses."""

    def plain(runs: Runs) -> np.ndarray:
        return np.log([np.sum(np.maximum(np.where(w.kind >= 0, w.flops, 0.0) / s.flop32_per_s,
                                         w.bytes / s.memory_b_per_s) * w.times)
                       for w, s in zip(runs.work, runs.sheets(), strict=True)])  # fmt: skip

    return plain(asked) + np.median(known.log_s - plain(known))


def errors(method: str, mean: np.ndarray, spread: np.ndarray | None, asked: Runs) -> dict[str, Any]:
    """Relative errors and coverage of 90 % intervals."""
    away = mean - asked.log_s
    covered = None if spread is None else np.abs(away) < NORMAL_90 * spread
    return {"method": method, "device": asked.device[0], "error": np.expm1(away), "in": covered}


def left_out(runs: Runs, beside: Runs, groups: list[list[str]], few: int, seeds: int) -> list[Any]:
    """Rows of errors of every group of devices, predicted from the others."""
    every = np.array(runs.device)
    rows = []
    for group in groups:
        there = np.flatnonzero(np.isin(every, group))
        chips = {d.split("-")[0] for d in group}
        others = np.array([i for i, d in enumerate(beside.device) if d.split("-")[0] not in chips])
        known = runs.of(np.setdiff1d(np.arange(len(every)), there))
        law = fitted(known.joined(beside.of(others)))
        for device in group:
            mine = np.flatnonzero(every == device)
            rows += _of_device(runs, known, law, mine, few, seeds)
    return rows


def _of_device(
    runs: Runs, known: Runs, law: DeviceLaw, mine: np.ndarray, few: int, seeds: int
) -> list[Any]:
    asked, name = runs.of(mine), "law, 0 runs"
    rows = [errors(name, *_predicted(law, asked), asked),
            errors("mean rate of the others", mean_rate(known, asked), None, asked),
            errors("roofline of the others", roofline(known, asked), None, asked)]  # fmt: skip
    for seed in range(seeds if len(mine) > few else 0):
        pick = np.random.default_rng(seed).permutation(mine)[:few]
        rest = runs.of(np.setdiff1d(mine, pick))
        own = runs.of(pick)
        after = law.given(own.work, own.sheets(), own.device, own.log_s)
        rows.append(errors(f"law, {few} runs", *_predicted(after, rest), rest))
    return rows


def _predicted(law: DeviceLaw, asked: Runs) -> tuple[np.ndarray, np.ndarray]:
    made = [law.predict(w, s, d) for w, s, d in zip(asked.work, asked.sheets(), asked.device,
                                                    strict=True)]  # fmt: skip
    return np.array([m for m, _ in made]), np.array([s for _, s in made])


def summed(task: str, rows: list[Any]) -> list[dict[str, Any]]:
    """Median error, mean error and coverage of each method, in per cent."""
    made = []
    for method in dict.fromkeys(r["method"] for r in rows):
        mine = [r for r in rows if r["method"] == method]
        error = np.abs(np.concatenate([r["error"] for r in mine]))
        each = [np.median(np.abs(r["error"])) for r in mine]
        covered = [r["in"] for r in mine if r["in"] is not None]
        made.append({
            "task": task, "method": method, "rows": len(error),
            "median": round(100 * float(np.median(error)), 1),
            "mape": round(100 * float(error.mean()), 1),
            "worst_device_median": round(100 * float(max(each)), 1),
            "coverage": round(100 * float(np.concatenate(covered).mean()), 1) if covered else None,
        })  # fmt: skip
    return made


def four_gpus() -> list[Any]:
    """Rows of errors of steps on four GPUs: shared by the law, and as if nothing were exchanged."""
    law, rows = DeviceLaw.shipped(), []
    options = pl.read_csv(LABELS).filter(pl.col("option").is_in(["dp4", "tp4", "pp4_1"]))
    for row in options.rows(named=True):
        name = sheet_name(row["device"].replace("_", " "))
        asked = Runs([], [name], np.log([row["label_all_e2e_latency"] / 1e3]),
                     [row["model_name"]])  # fmt: skip
        made = _on_four(law, row, name)
        for method, seconds in zip(("ring", "nothing exchanged"), made, strict=True):
            rows.append(errors(f"{row['option']}, {method}", np.log([seconds]), None, asked))
    return rows


def _on_four(law: DeviceLaw, row: dict[str, Any], name: str) -> tuple[float, float]:
    layers, width, _, inner, words = SIZES[row["model_name"]]
    sheet, batch, n = accelerator(name).part(), row["batch"], 4
    share = batch // n if row["option"] == "dp4" else batch
    work = transformer_work(row["model_name"], row["seqlen"], share, train=True)
    step = float(np.exp(law.predict(work, sheet, name)[0]))
    starts = law.parts(work, sheet, name)["starts"]
    activations = 4.0 * batch * row["seqlen"] * width
    gradients = 4.0 * (layers * (4 * width**2 + 2 * width * inner) + words * width)
    if row["option"] == "dp4":
        return data_parallel_s(step, gradients, n, sheet), step
    if row["option"] == "tp4":
        return tensor_parallel_s(step, starts, layers, activations, n, sheet), step / n
    return pipeline_parallel_s(step, activations, n, sheet), step


def networks_out(runs: Runs) -> list[Any]:
    """Rows of errors of every network, predicted from the others of the same source."""
    every, rows = np.array(runs.network), []
    for network in sorted(set(runs.network)):
        asked = runs.of(np.flatnonzero(every == network))
        known = runs.of(np.flatnonzero(every != network))
        made = {"law": _predicted(fitted(known), asked),
                "mean rate of the others": (mean_rate(known, asked), None),
                "roofline of the others": (roofline(known, asked), None)}  # fmt: skip
        rows += [errors(name, *said, asked) | {"device": network} for name, said in made.items()]
    return rows


def other_source(known: Runs, asked: Runs) -> list[Any]:
    """Rows of errors of one source, with the intervals of a step that no table has."""
    mean, spread = _predicted(fitted(known), asked)
    return [errors("law", mean, np.hypot(spread, UNSEEN_SPREAD), asked)]


def scores(tasks: list[str], runs: Runs, cnn: Runs) -> list[dict[str, Any]]:
    """Rows of the result, task by task."""
    made: list[dict[str, Any]] = []
    if "device" in tasks:
        alone = [[d] for d in sorted(set(runs.device))]
        made += summed("device", left_out(runs, cnn, alone, 3, 3))
    if "twins" in tasks:
        made += summed("near twins", left_out(runs, cnn, TWINS, 3, 3))
    if "cnns" in tasks:
        made += summed("CNNs", left_out(cnn, runs, [[d] for d in sorted(set(cnn.device))], 3, 3))
    for task, source in (("transformers", runs), ("cnn-networks", cnn)):
        if task in tasks:
            made += summed(f"networks left out, {task}", networks_out(source))
    if "other-source" in tasks:
        made += summed("transformers from CNNs", other_source(cnn, runs))
        made += summed("CNNs from transformers", other_source(runs, cnn))
    if "four" in tasks:
        made += summed("four GPUs", four_gpus())
    return made


def main() -> None:
    """Leave devices out, or write the law that is shipped."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--write", action="store_true")
    args.add_argument("--json", action="store_true")
    args.add_argument(
        "--tasks", default="device,twins,cnns,transformers,cnn-networks,other-source,four"
    )
    given = args.parse_args()
    if not LABELS.exists():
        sys.exit(f"measured data not found at {LABELS}; set RHEOSTAT_DATA")
    runs, cnn = transformers(), networks()
    if given.write:
        SHIPPED.write_text(json.dumps(fitted(runs.joined(cnn)).to_dict()) + "\n")
        return
    made = scores(given.tasks.split(","), runs, cnn)
    if given.json:
        print(json.dumps({"rows": made}))
        return
    print("\t".join(made[0]))
    for row in made:
        print("\t".join(str(v) for v in row.values()))


if __name__ == "__main__":
    main()
