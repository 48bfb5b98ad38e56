"""``rheostat fit`` where the log is many files: out of core here, or on workers elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.prediction.out_of_core.dask_cluster import Workers


def read_batches(
    path: str, columns: Sequence[str] | None, form: str = "", mapped: Path | None = None
) -> Iterator[JobTable]:
    """A file of any format as one batch; workers import this by name."""
    from rheostat.measurement.read import read
    from rheostat.recipes.nodecount import prepared

    options: dict[str, Any] = {"map": mapped} if mapped else {}
    jobs = prepared(read(path, form or None, options=options))
    yield jobs if columns is None else jobs.select(list(columns))


def workers_of(dask: str | None, slurm: str | None, count: int, memory: str) -> Workers | None:
    """Workers as the flags ask for; None: this process alone."""
    from rheostat.errors import DataError
    from rheostat.prediction.out_of_core.dask_cluster import Workers

    if dask and slurm:
        raise DataError("--dask and --slurm", ["give one of them, or neither"])
    if not (dask or slurm):
        return None
    address = None if dask in (None, "local") else dask
    return Workers(address=address, slurm=slurm, count=count, memory=memory)


def fit_files(
    files: Sequence[Path],
    out: Path,
    *,
    kind: str,
    test_fraction: float,
    seed: int,
    workers: Workers | None,
    work: Path | None,
    form: str = "",
    mapped: Path | None = None,
) -> dict[str, Any]:
    """Fit, score, save; the facts ``rheostat fit`` prints."""
    from rheostat.cli.output import tell, tell_notes
    from rheostat.cli.progress import stages
    from rheostat.prediction.out_of_core.boosters import Settings
    from rheostat.prediction.out_of_core.large import LargeFit, fit_large
    from rheostat.prediction.persist import save

    chosen = "xgboost" if kind == "auto" else kind
    read = partial(read_batches, form=form, mapped=mapped)
    job = LargeFit(kind=chosen, settings=Settings(seed=seed))
    with stages() as progress:
        model, scores = fit_large(
            files,
            read,
            job,
            workers=workers,
            work_dir=work,
            held_out=test_fraction,
            progress=progress,
        )
    tell_notes(model.notes)
    save(model, out)
    tell(f"wrote {out}")
    return {
        "model": str(out),
        "kind": chosen,
        "rows": model.rows_learnt,
        "targets": list(model.targets),
        "features": list(model.coding.plan.features),
        "accuracy": scores or {},
    }


def words(facts: dict[str, Any]) -> tuple[str, ...]:
    """The facts as sentences."""
    said = [f"{facts['kind']}, learnt from {facts['rows']:,} jobs."]
    for target, mark in facts["accuracy"].items():
        if isinstance(mark, dict) and mark["rows"]:
            off = 100 * (2.718281828459045 ** mark["median_abs_log_error"] - 1)
            said.append(
                f"{target}: half of {mark['rows']:,} newer jobs are within {off:.0f} % of the "
                f"forecast; 90 % intervals hold {100 * mark['coverage']:.0f} %."
            )
    return tuple(said)
