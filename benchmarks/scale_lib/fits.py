"""The stages of `scale.py`: each returns figures and is measured by its caller."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import Moment
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.category_counts import merge, tally, with_folds
from rheostat.prediction.out_of_core.coding import make_coding
from rheostat.prediction.out_of_core.dask_cluster import Workers, connect
from rheostat.prediction.out_of_core.dasked import fit_dask, score_dask
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.memory_plan import log_scales, log_targets, make_plan
from rheostat.prediction.out_of_core.outofcore import centred, fit_out_of_core
from rheostat.prediction.out_of_core.partitions import parts_of
from rheostat.prediction.out_of_core.score import score

from . import months

SAME = 0.01
"""Median relative difference of predictions that counts as the same result."""
TARGETS = ("runtime_s", "power_w")


class Told:
    """Progress on stderr, once a stage and every tenth, and CPU and wall seconds by stage."""

    def __init__(self) -> None:
        self.stage, self.since, self.seconds = "", (time.time(), time.process_time()), {}

    def __call__(self, stage: str, done: float, total: float) -> None:
        if stage != self.stage:
            self.close()
            self.stage = stage
        if done * 10 % max(total, 1) < 10:
            now = time.strftime("%H:%M:%S")
            print(f"  {now} {stage} {done:.0f}/{total:.0f}", file=sys.stderr, flush=True)

    def close(self) -> dict[str, dict[str, float]]:
        """End the stage; what each took."""
        now = time.time(), time.process_time()
        if self.stage:
            self.seconds[self.stage] = {
                "wall_s": now[0] - self.since[0],
                "cpu_s": now[1] - self.since[1],
            }
        self.since = now
        return self.seconds


def generate(folder: Path, rows: int, seed: int) -> dict[str, Any]:
    """The months, and how large they are."""
    told = Told()
    paths = months.generate(folder, rows, seed, lambda done, of: told("month", done, of))
    size = sum(p.stat().st_size for p in paths) / 1e9
    return {"rows": rows, "parquet_gb": size, "paths": [str(p) for p in paths]}


def out_of_core(
    paths: Sequence[str], kind: str, settings: dict[str, Any], work: Path, score_all: bool
) -> dict[str, Any]:
    """Fit on all months but the last, mark on the last, or on all and on the last."""
    told, parts = Told(), parts_of(list(paths), months.read_month)
    model = fit_out_of_core(
        parts[:-1], kind=kind, settings=Settings(**settings), work_dir=work, progress=told
    )
    marks = score(model, parts[-1:], progress=told)
    facts = {"rows": model.rows_learnt, "features": list(model.coding.plan.features)}
    facts |= {"held_out_month": marks}
    if score_all:
        facts["all_months"] = score(model, parts, progress=told)
    chunks = sum(f.stat().st_size for f in (work / "chunks").glob("*.npy")) / 1e9
    return facts | {"chunks_gb": chunks, "stages": told.close()}


def on_dask(
    paths: Sequence[str], kind: str, settings: dict[str, Any], workers: int
) -> dict[str, Any]:
    """The same on a local cluster; the workers' peaks beside the client's."""
    told, parts = Told(), parts_of(list(paths), months.read_month)
    with connect(Workers(count=workers)) as client:
        model = fit_dask(
            client, parts[:-1], kind=kind, settings=Settings(**settings), progress=told
        )
        marks = score_dask(client, model, parts[-1:], progress=told)
        peaks = client.run(_peak_gb)
    named = {f"worker {i}": gb for i, gb in enumerate(peaks.values())}
    facts = {"rows": model.rows_learnt, "held_out_month": marks, "peaks_gb": named}
    return facts | {"stages": told.close()}


def _peak_gb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def compare(paths: Sequence[str], settings: dict[str, Any], rows: int) -> dict[str, Any]:
    """The libraries' plain in-memory fit against ours out of core, on the first ``rows`` rows."""
    parts, n = [], 0
    for part in parts_of(list(paths[:-1]), months.read_month):
        if n < rows:
            n += (part := part.rows(0, rows - n)).count(["nodes"])
            parts.append(part)
    asked = next(parts_of([paths[-1]], months.read_month)[0].rows(0, 100_000).batches())
    apart = {}
    for kind in ("xgboost", "lightgbm"):
        how = Settings(**settings)
        # The in-memory fit learns what ours does: all parts but the calibrating one.
        ours = fit_out_of_core([*parts, parts[-1].rows(0, 1000)], kind=kind, settings=how)
        plain = _in_memory(kind, parts, how, asked)
        difference = np.abs(np.expm1(ours.predict_log(asked) - plain))
        for name, column in zip(TARGETS, difference.T, strict=True):
            apart[f"{kind} {name}"] = {
                "median": float(np.median(column)),
                "p99": float(np.quantile(column, 0.99)),
            }
    same = max(v["median"] for v in apart.values()) < SAME
    return {"rows_compared": n, "relative_difference": apart, "tolerance": SAME, "same": same}


def _in_memory(kind: str, parts: Sequence[Any], settings: Settings, asked: Any) -> Any:
    batches = [b for p in parts for b in p.batches()]
    plan = make_plan(batches[0], TARGETS, None, Moment.SUBMIT)
    keep = settings.keep_levels
    coding = make_coding(plan, merge([tally(plan, [b], keep) for b in batches], keep), keep)
    pieces = [piece for b in batches for piece in with_folds([b])]
    x = np.concatenate([coding.matrix(b, f) for b, f in pieces])
    y = np.concatenate([log_targets(plan, b) for b in batches])
    seen = coding.matrix(asked)
    columns = [
        _plain(kind, x, centred(y[:, t], float(coding.prior[t])), settings, seen) + coding.prior[t]
        for t in range(len(TARGETS))
    ]
    return np.column_stack(columns) + log_scales(plan, asked)


def _plain(kind: str, x: Any, labels: tuple[Any, Any], settings: Settings, asked: Any) -> Any:
    label, weight = labels
    parameters = engine_of(kind).parameters(settings)  # type: ignore[attr-defined]
    if kind == "xgboost":
        import xgboost as xgb

        data = xgb.QuantileDMatrix(x, label=label, weight=weight, max_bin=256)
        return xgb.train(parameters, data, settings.rounds).inplace_predict(asked)
    import lightgbm as lgb

    data = lgb.Dataset(x.astype(float), label=label, weight=weight)
    return lgb.train(parameters, data, settings.rounds).predict(asked)
