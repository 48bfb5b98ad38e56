"""One call for a trace of any size: out of core here, or on workers elsewhere.

Behind ``rheostat fit PARTS...`` with ``--out-of-core``, ``--dask ADDRESS`` or ``--slurm QUEUE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
