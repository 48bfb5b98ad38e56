"""One call for a trace of any size: out of core here, or on workers elsewhere.

Behind ``rheostat fit PARTS...`` with ``--out-of-core``, ``--dask ADDRESS`` or ``--slurm QUEUE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.dask_cluster import Workers, connect
from rheostat.prediction.out_of_core.dasked import fit_dask, score_dask
from rheostat.prediction.out_of_core.outofcore import TARGETS, ScaleModel, fit_out_of_core
from rheostat.prediction.out_of_core.partitions import (
    Part,
    Progress,
    ReadBatches,
    parts_of,
    silent,
    split_last,
)
from rheostat.prediction.out_of_core.score import score


@dataclass(frozen=True)
class LargeFit:
    """What to fit: columns, booster, its settings."""

    targets: tuple[str, ...] = TARGETS
    features: tuple[str, ...] | None = None
    kind: str = "xgboost"
    settings: Settings = field(default_factory=Settings)


class Large:
    """`fit_out_of_core` behind ``fit`` and ``predict``, for a table that is there already.

    >>> import numpy as np
    >>> from rheostat.core.vocabulary import table
    >>> n = np.tile([1, 2, 4, 8], 500)
    >>> past = table({"nodes": n, "runtime_s": 80.0 / n})
    >>> job = LargeFit(targets=("runtime_s",), settings=Settings(rounds=60))
    >>> Large(job).fit(past).predict(table({"nodes": [2]})).mean("runtime_s").round()
    array([40.])
    """

    def __init__(self, job: LargeFit | None = None) -> None:
        self.job = job or LargeFit()

    def fit(self, jobs: JobTable) -> Large:
        """Learn from ``jobs``, ordered by submission where that is known; returns itself."""
        if "submit_s" in jobs.columns:
            jobs = replace(jobs, frame=jobs.frame.sort("submit_s", maintain_order=True))
        job = self.job
        self.model_ = fit_out_of_core(
            jobs, job.features, job.targets, kind=job.kind, settings=job.settings
        )
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """See `ScaleModel.predict`."""
        if not hasattr(self, "model_"):
            raise NotFitted(self)
        return self.model_.predict(jobs)


def fit_large(
    paths: Sequence[str | Path],
    read: ReadBatches,
    job: LargeFit | None = None,
    *,
    workers: Workers | None = None,
    work_dir: str | Path | None = None,
    held_out: float = 0.0,
    progress: Progress = silent,
) -> tuple[ScaleModel, dict[str, Any] | None]:
    """Fit the files ``paths``, in time order, and score the model on the last share ``held_out``.

    ``workers`` None fits out of core in this process, with chunks and checkpoints in ``work_dir``;
    otherwise on a Dask cluster (see `Workers`), whose workers must see the same paths.  Whole files
    are held out, of a single file its last rows.  Returns the model and the scores (`score`), None
    where nothing was held out.
    """
    job = job or LargeFit()
    fitted, rest = _divided(parts_of(list(paths), read), held_out)
    if workers is None:
        model = fit_out_of_core(
            fitted,
            job.features,
            job.targets,
            kind=job.kind,
            settings=job.settings,
            work_dir=work_dir,
            progress=progress,
        )
        return model, score(model, rest, progress=progress) if rest else None
    return _on_workers(fitted, rest, job, workers, progress)


def _divided(parts: Sequence[Part], share: float) -> tuple[Sequence[Part], Sequence[Part]]:
    """(to fit, to score): at least one part or row to each, unless ``share`` is 0."""
    if share <= 0:
        return parts, ()
    if len(parts) == 1:
        return split_last(parts, share)
    last = min(max(1, round(share * len(parts))), len(parts) - 1)
    return parts[:-last], parts[-last:]


def _on_workers(
    fitted: Sequence[Part],
    rest: Sequence[Part],
    job: LargeFit,
    workers: Workers,
    progress: Progress,
) -> tuple[ScaleModel, dict[str, Any] | None]:
    with connect(workers) as client:
        model = fit_dask(
            client,
            fitted,
            job.features,
            job.targets,
            kind=job.kind,
            settings=job.settings,
            progress=progress,
        )
        return model, score_dask(client, model, rest, progress=progress) if rest else None
