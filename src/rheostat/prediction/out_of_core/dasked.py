"""Fit a trace on many machines at once, with the result one machine would get.

Every worker tallies and codes parts of its own; XGBoost's and LightGBM's own Dask support then grow
one common model over all of them.  Tallies add up, so all workers code alike, and the trees
differ only by the order in which numbers are added.  The work on parts is tried
again elsewhere when a worker is lost, and so is a training it was part of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable, Moment
from rheostat.errors import RheostatError
from rheostat.prediction.out_of_core.binned_file import coded
from rheostat.prediction.out_of_core.binning import Codes
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.category_counts import Tally, merge, tally
from rheostat.prediction.out_of_core.coding import Coding, make_coding
from rheostat.prediction.out_of_core.dask_cluster import on_workers
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.large_model import (
    Trees,
    calibrated,
    errors_of,
    left_out,
)
from rheostat.prediction.out_of_core.lgb import LightGBM
from rheostat.prediction.out_of_core.memory_plan import Matrix, MemoryPlan
from rheostat.prediction.out_of_core.outofcore import TARGETS, ScaleModel, centred, plan_for
from rheostat.prediction.out_of_core.partitions import Part, Progress, parts_of, silent, split_last
from rheostat.prediction.out_of_core.score import ScoreSums, score_part
from rheostat.prediction.out_of_core.xgb import MAX_BIN, XGBoost

RETRIES = 2
NOTICE_S = 15.0


def fit_dask(
    client: Any,
    batches: Sequence[Part] | Iterable[JobTable],
    features: Sequence[str] | None = None,
    targets: Sequence[str] = TARGETS,
    *,
    kind: str = "xgboost",
    settings: Settings | None = None,
    asked_at: Moment = Moment.SUBMIT,
    progress: Progress = silent,
) -> ScaleModel:
    """As `fit_out_of_core`, on the workers of a Dask ``client``; a part should fit one worker.

    Files of the parts are opened on the workers, by the same path.  Coded rows stay in the workers'
    memory, one byte per row and column over all of them.
    """
    settings = settings or Settings()
    engine_of(kind)
    parts = parts_of(batches)
    plan = plan_for(parts, targets, features, asked_at)
    past, last = split_last(parts)
    keep = settings.keep_levels
    tallies = _mapped(
        client, _tally_part, past, (plan, keep), progress=progress, stage="count names"
    )
    counted = merge(tallies, keep)
    notes = left_out(plan.targets, counted.rows, counted.totals[0].tolist())
    coding = make_coding(plan, counted, keep)
    trees = _grow(client, kind, coding, list(zip(past, tallies, strict=True)), settings, progress)
    pairs = _mapped(
        client, _errors_part, last, (coding, trees), progress=progress, stage="calibrate"
    )
    calibration = calibrated(pairs, seed=settings.seed)
    return ScaleModel(coding, trees, calibration, asked_at, counted.rows, notes)


def score_dask(
    client: Any,
    model: ScaleModel,
    batches: Sequence[Part] | Iterable[JobTable],
    *,
    level: float = 0.9,
    progress: Progress = silent,
) -> dict[str, Any]:
    """As `score`, each part marked where there is a free worker."""
    parts = parts_of(batches)
    scores: list[ScoreSums] = _mapped(
        client, _score_part, parts, (model, level), progress=progress, stage="score"
    )
    return sum(scores[1:], start=scores[0]).facts()


def _tally_part(part: Part, plan: MemoryPlan, keep: int) -> Tally:
    return tally(plan, part.batches(plan.columns), keep)


def _errors_part(part: Part, coding: Coding, trees: Trees) -> Any:
    return errors_of(coding, trees, part)


def _score_part(part: Part, model: ScaleModel, level: float) -> ScoreSums:
    return score_part(model, part, level)


def _code_part(part: Part, coding: Coding) -> tuple[Codes, Matrix]:
    x, y = zip(*coded(coding, part), strict=True)
    return np.concatenate(x), np.concatenate(y)


def _mapped(
    client: Any,
    work: Callable[..., Any],
    parts: Sequence[Part],
    shared: tuple[Any, ...],
    *,
    progress: Progress,
    stage: str,
) -> list[Any]:
    """``work(part, *shared)`` of every part, in order."""
    results = []
    for result in on_workers(client, work, parts, *shared):
        results.append(result)
        progress(stage, len(results), len(parts))
    return results


def _grow(
    client: Any,
    kind: str,
    coding: Coding,
    counted: Sequence[tuple[Part, Tally]],
    settings: Settings,
    progress: Progress,
) -> Trees:
    train = _train_xgboost if kind == "xgboost" else _train_lightgbm
    centres = tuple(float(p) for p in coding.prior)
    made = [_arrays(client, coding, counted)]

    def attempt(target: int, again: bool) -> bytes:
        if again:  # what the lost worker held went with it
            made[:] = [_arrays(client, coding, counted)]
        x, y = made[0]
        label = y[:, target].map_blocks(_label, centres[target], dtype=np.float32)
        weight = y[:, target].map_blocks(_weight, dtype=np.float32)
        return train(client, x, label, weight, settings)

    stages = []
    for t, target in enumerate(coding.plan.targets):
        progress(f"train {target}", 0, settings.rounds)
        stages.append((_insist(client, partial(attempt, t)),))
        progress(f"train {target}", settings.rounds, settings.rounds)
    return Trees(kind, tuple(stages), centres)


def _label(y: Matrix, centre: float) -> Matrix:
    return centred(y, centre)[0]


def _weight(y: Matrix) -> Matrix:
    return centred(y, 0.0)[1]


def _arrays(client: Any, coding: Coding, counted: Sequence[tuple[Part, Tally]]) -> tuple[Any, Any]:
    """Coded rows as two Dask arrays (n, k) and (n, t), one block per part, on the workers."""
    da, dask = require("dask.array", extra="cluster"), require("dask", extra="cluster")
    held = client.scatter(coding, broadcast=True, hash=False)
    xs, ys = [], []
    for part, facts in counted:
        if facts.rows:
            pair = dask.delayed(_code_part, nout=2)(part, held)
            widths = len(coding.plan.names), len(coding.plan.targets)
            xs.append(da.from_delayed(pair[0], (facts.rows, widths[0]), dtype=np.uint8))
            ys.append(da.from_delayed(pair[1], (facts.rows, widths[1]), dtype=np.float32))
    x, y = client.persist([da.concatenate(xs), da.concatenate(ys)])
    require("distributed", extra="cluster").wait([x, y])
    return x, y


def _train_xgboost(client: Any, x: Any, y: Any, w: Any, settings: Settings) -> bytes:
    xgb = require("xgboost", extra="trees")
    dask = require("xgboost.dask", extra="trees")
    parameters = XGBoost.parameters(settings)
    if not settings.threads:
        del parameters["nthread"]  # the workers' own number
    matrix = dask.DaskQuantileDMatrix(client, x, label=y, weight=w, max_bin=MAX_BIN)
    trained = dask.train(client, parameters, matrix, num_boost_round=settings.rounds)
    assert isinstance(trained["booster"], xgb.Booster)
    return bytes(trained["booster"].save_raw("ubj"))


def _train_lightgbm(client: Any, x: Any, y: Any, w: Any, settings: Settings) -> bytes:
    lgb = require("lightgbm", extra="trees")
    parameters = LightGBM.parameters(settings)
    model = lgb.DaskLGBMRegressor(client=client, n_estimators=settings.rounds, **parameters)
    model.fit(x, y, sample_weight=w)
    return bytes(model.booster_.model_to_string().encode())


def _insist(client: Any, train: Callable[[bool], bytes]) -> bytes:
    """Train; if the set of workers changed meanwhile, that is why it failed: train again."""
    for again in range(RETRIES):
        before = _workers(client)
        try:
            return train(again > 0)
        except _failures() as error:
            if not _changed(client, before):
                raise RheostatError(f"training on Dask failed: {error}") from error
    return train(True)


def _changed(client: Any, before: frozenset[str]) -> bool:
    """Whether a worker is gone; the survivors fail first, the scheduler notices later."""
    until = time.monotonic() + NOTICE_S
    while _workers(client) == before:
        if time.monotonic() > until:
            return False
        time.sleep(0.5)
    client.wait_for_workers(1, timeout=60)
    return True


def _failures() -> tuple[type[BaseException], ...]:
    """What the libraries raise when a worker they were talking to is gone."""
    distributed = require("distributed", extra="cluster")
    lgb = require("lightgbm", extra="trees")
    own = (distributed.scheduler.KilledWorker, lgb.basic.LightGBMError)
    return (*own, CancelledError, OSError, RuntimeError, ValueError)


def _workers(client: Any) -> frozenset[str]:
    return frozenset(client.scheduler_info(n_workers=-1)["workers"])
