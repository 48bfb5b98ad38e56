"""Fit tens of millions of jobs on one machine in a few gigabytes.

Three passes: tally the names, code everything to chunks on disk, then grow trees on bins of one
byte per value.  The last part in time is not learnt from; the errors made on it become the
prediction intervals.  Every so many rounds a checkpoint is written, and the same call with the same
``work_dir`` goes on where the last one stopped.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.core.storage.files import replace_file
from rheostat.errors import DataError
from rheostat.prediction.intervals import Calibration
from rheostat.prediction.out_of_core.binned_file import Spool, find_spool, key_of, write_spool
from rheostat.prediction.out_of_core.boosters import BoostRun, Settings
from rheostat.prediction.out_of_core.category_counts import Tally, merge, tally
from rheostat.prediction.out_of_core.coding import Coding, make_coding
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.large_model import (
    Trees,
    calibrated,
    errors_of,
    job_groups,
    left_out,
)
from rheostat.prediction.out_of_core.memory_plan import (
    Matrix,
    MemoryPlan,
    log_scales,
    make_plan,
)
from rheostat.prediction.out_of_core.partitions import (
    Part,
    Progress,
    parts_of,
    silent,
    split_last,
)
from rheostat.prediction.saved_models.from_file import blames_its_file

TARGETS = ("runtime_s", "power_w")


@dataclass(frozen=True)
class ScaleModel:
    """A fitted `Predictor`; made by `fit_out_of_core` and `fit_dask`.

    A number beyond the range learnt from is outside the support: the row's draws are NaN and a note
    says so.  ``support`` is the number of training rows that carry the row's rarest name, 0 for a
    name never seen; such rows are still predicted, from their other columns.
    """

    coding: Coding
    trees: Trees
    calibration: Calibration
    asked_at: Moment
    rows_learnt: int
    notes: tuple[Note, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """What is predicted."""
        return self.coding.plan.targets

    def fit(self, jobs: JobTable) -> ScaleModel:
        """A new model of the same kind, targets and features, learnt from ``jobs``."""
        plan = self.coding.plan
        return fit_out_of_core(
            jobs, targets=plan.targets, features=plan.features, kind=self.trees.kind
        )

    @blames_its_file
    def predict_log(self, jobs: JobTable) -> Array:
        """Median prediction of each log target, (n, t), also outside the support."""
        asked = self._asked(jobs)
        if not len(asked):
            return np.empty((0, len(self.targets)))
        return self.trees.predict(self.coding.matrix(asked)) + log_scales(self.coding.plan, asked)

    @blames_its_file
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (K, n) of every target, support (n,), and a note on rows it abstains on."""
        asked = self._asked(jobs)
        mu, outside = self.predict_log(asked), self.coding.outside(asked)
        x = np.where(outside[:, None], np.nan, mu)
        known = np.zeros(len(asked), dtype=bool)
        draws = self.calibration.draws(x, mu, job_groups(asked, self.coding), known)
        values = {t: np.exp(d) for t, d in zip(self.targets, draws, strict=True)}
        return Outcome(values, self.coding.support(asked), _abstentions(outside))

    def bounds(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high) factors on the median that hold ``level`` of the truth, each (t,)."""
        errors = self.calibration.marginals
        tail = (1 - level) / 2
        return (
            np.exp(np.quantile(errors, tail, axis=1)),
            np.exp(np.quantile(errors, 1 - tail, axis=1)),
        )

    def _asked(self, jobs: JobTable) -> JobTable:
        plan = self.coding.plan
        jobs.require(*plan.features)
        jobs.refuse_later_than(self.asked_at, plan.features)
        return jobs.select(plan.features)


def _abstentions(outside: NDArray[np.bool_]) -> tuple[Note, ...]:
    if not outside.any():
        return ()
    where = tuple(np.flatnonzero(outside)[:20].tolist())
    text = "outside the range of the past jobs: no prediction"
    return (Note(text, where, int(outside.sum())),)


@dataclass(frozen=True)
class DataFolder:
    """The working folder of one fit, and whom to tell how far it is."""

    folder: Path
    progress: Progress = silent


def fit_out_of_core(
    batches: JobTable | Sequence[Part] | Iterable[JobTable],
    features: Sequence[str] | None = None,
    targets: Sequence[str] = TARGETS,
    *,
    kind: str = "xgboost",
    settings: Settings | None = None,
    asked_at: Moment = Moment.SUBMIT,
    work_dir: str | Path | None = None,
    progress: Progress = silent,
) -> ScaleModel:
    """Learn ``targets`` from jobs that are read part by part, never all at once.

    Parameters
    ----------
    batches
        Parts in time order (`parts_of` makes them from paths and a reader), tables, or one table.
        The last part, of a single one the last fifth of its rows, calibrates the intervals and is
        not learnt from.
    features
        Columns to look at; None takes those known at ``asked_at`` that can teach.
    targets
        Positive quantities in SI units, or such as follow from two columns (energy).
    kind
        "xgboost" or "lightgbm".
    settings
        How the trees are grown and what the process may use.
    asked_at
        The moment predictions are asked for.
    work_dir
        Where chunks and checkpoints go, and from where an interrupted fit goes on; None takes a
        temporary folder that is removed.  The chunks take one byte per row and column.
    progress
        Told (stage, done, total).

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> n = np.tile([1, 2, 4, 8], 500)
    >>> jobs = table({"nodes": n, "runtime_s": 80.0 / n, "power_w": 300.0 * n})
    >>> model = fit_out_of_core(jobs, settings=Settings(rounds=60))
    >>> out = model.predict(table({"nodes": [4, 64]}))
    >>> out.mean("runtime_s").round(), out.mean("power_w").round()
    (array([20., nan]), array([1200.,   nan]))
    >>> out.notes[0].message
    'outside the range of the past jobs: no prediction'

    Raises `LeakError` for features known later than ``asked_at`` and `DataError` for missing
    columns, an unknown kind, or a target that no row has.
    """
    settings = settings or Settings()
    engine_of(kind)  # an unknown kind is told before an hour of reading
    with _folder(work_dir) as folder:
        where = DataFolder(folder, progress)
        parts = parts_of(batches, spool=folder / "batches")
        plan = plan_for(parts, targets, features, asked_at)
        past, last = split_last(parts)
        counted = count(plan, past, settings, progress)
        notes = left_out(plan.targets, counted.rows, counted.totals[0].tolist())
        coding = make_coding(plan, counted, settings.keep_levels)
        spool, key = spooled(coding, past, settings, where)
        trees = _grow(
            kind, coding, spool, replace(where, folder=folder / f"{kind}-{key}"), settings
        )
        pairs = _tell(progress, "calibrate", [(coding, trees, p) for p in last])
        calibration = calibrated((errors_of(*p) for p in pairs), seed=settings.seed)
        return ScaleModel(coding, trees, calibration, asked_at, counted.rows, notes)


def plan_for(
    parts: Sequence[Part], targets: Sequence[str], features: Sequence[str] | None, asked_at: Moment
) -> MemoryPlan:
    """The plan that the first batch with rows implies."""
    first = next((b for p in parts if (b := p.first()) is not None), None)
    if first is None:
        raise DataError("parts", [f"no rows in any of the {len(parts)} parts"])
    return make_plan(first, targets, features, asked_at)


def count(plan: MemoryPlan, parts: Sequence[Part], settings: Settings, progress: Progress) -> Tally:
    """The tally of all parts, one after another."""
    result: Tally | None = None
    for part in _tell(progress, "count names", parts):
        one = tally(plan, part.batches(plan.columns), settings.keep_levels)
        result = one if result is None else merge([result, one], settings.keep_levels)
    if result is None:
        raise DataError("fit", ["no training part"])
    return result


def spooled(
    coding: Coding, parts: Sequence[Part], settings: Settings, where: DataFolder
) -> tuple[Spool, str]:
    """The coded chunks, found or made, and the key of this fit."""
    plan = coding.plan
    key = key_of(plan, parts, settings.keep_levels)
    kept = find_spool(where.folder / "chunks", key)
    spool = kept or write_spool(where.folder / "chunks", key, coding, parts, where.progress)
    grown = replace(settings, threads=0, memory_b=0.0, checkpoint_every=0)
    return spool, key_of(plan, parts, grown)


def _grow(kind: str, coding: Coding, spool: Spool, where: DataFolder, settings: Settings) -> Trees:
    """Bin once, train each target on it."""
    y = spool.targets()
    binned, stages, centres = None, [], []
    for t, target in enumerate(coding.plan.targets):
        centre = float(coding.prior[t])
        label, weight = centred(y[:, t], centre)
        run = BoostRun(settings, spool, _stages(where.folder, target))
        if engine_of(kind).rounds(run.stages) < settings.rounds:
            if binned is None:
                where.progress("bin", 0, 1)
                binned = engine_of(kind).bin(spool, settings)
                where.progress("bin", 1, 1)
            run = replace(run, after=_after(run, where, target, kind))
            trained = engine_of(kind).train(binned, label, weight, run=run)
            replace_file(_stage(where.folder, target, len(trained) - 1), trained[-1])
            run = replace(run, stages=trained)
        stages.append(run.stages)
        centres.append(centre)
    return Trees(kind, tuple(stages), tuple(centres))


def centred(y: Matrix, centre: float) -> tuple[Matrix, Matrix]:
    """(label, weight): labels about 0 so that boosting starts there, weight 0 for NaN."""
    there = np.isfinite(y)
    label = np.where(there, y - np.float32(centre), np.float32(0.0)).astype(np.float32)
    return label, there.astype(np.float32)


def _after(run: BoostRun, where: DataFolder, target: str, kind: str):  # type: ignore[no-untyped-def]
    """Tells each round and writes a checkpoint every so many."""
    before = engine_of(kind).rounds(run.stages)
    number = len(run.stages) if kind == "lightgbm" else 0

    def after(done: int, model):  # type: ignore[no-untyped-def]
        where.progress(f"train {target}", before + done, run.settings.rounds)
        if done % max(run.settings.checkpoint_every, 1) == 0:
            replace_file(_stage(where.folder, target, number), model())

    return after


def _stage(folder: Path, target: str, number: int) -> Path:
    return folder / f"{target}.{number:03d}.stage"


def _stages(folder: Path, target: str) -> tuple[bytes, ...]:
    return tuple(p.read_bytes() for p in sorted(folder.glob(f"{target}.*.stage")))


def _tell(progress: Progress, stage: str, items: Sequence):  # type: ignore[no-untyped-def,type-arg]
    for done, item in enumerate(items):
        progress(stage, done, len(items))
        yield item
    progress(stage, len(items), len(items))


@contextmanager
def _folder(work_dir: str | Path | None) -> Iterator[Path]:
    if work_dir is not None:
        folder = Path(work_dir)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="rheostat-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
