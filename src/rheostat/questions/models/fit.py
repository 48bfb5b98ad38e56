"""`fit`: learn from a log once, forecast often."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Predictor
from rheostat.core.report import Report, Section
from rheostat.decision.accuracy import accuracy_facts
from rheostat.explanation.choices.checked_forecasts import accuracy_words
from rheostat.measurement.read import read
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.dask_cluster import Workers
from rheostat.prediction.out_of_core.large import LargeFit, fit_large
from rheostat.prediction.saved_models.persist import save
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.models.left_over import left_over
from rheostat.questions.parse import Names, parse_names, parse_reader_options
from rheostat.recipes.nodecount import accuracy_on_newest, kind_of, prepared, targets_in, trees
from rheostat.recipes.nodecount import model as new_model


@dataclass(frozen=True, kw_only=True, repr=False)
class FitAnswer(Answer):
    """A fitted model, and how right it is on the newest jobs.

    Parameters
    ----------
    model : Predictor
        Fitted.
    method : str
        Its kind.
    rows : int
        Jobs that it learned from.
    targets, features : tuple of str
        What it predicts, and from what.
    accuracy : mapping
        Error and coverage by quantity.
    sentences : tuple of str
        The same in words.
    file : Path or None
        Where it was saved.
    """

    schema: ClassVar[str] = "rheostat.fit/1"
    model: Predictor
    method: str
    rows: int
    targets: tuple[str, ...]
    features: tuple[str, ...]
    accuracy: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    file: Path | None = None

    def report(self) -> Report:
        """How right it is, and from what it was learned."""
        said = self.sentences or ("How right it is, is not known: no newer jobs were held back.",)
        learned = f"{self.method}, learnt from {self.rows:,} jobs."
        return Report("", [Section("fit", (*said, learned))], self.facts())

    def facts(self) -> dict[str, Any]:
        """The model's file, what it predicts, and its accuracy."""
        return {
            "model": None if self.file is None else str(self.file),
            "kind": self.method,
            "rows": self.rows,
            "targets": list(self.targets),
            "features": list(self.features),
            "accuracy": dict(self.accuracy),
        }


@question
def fit(
    jobs: inputs.Jobs | Sequence[Path | str],
    *,
    out: Path | str | None = None,
    method: str = "auto",
    test_fraction: float = 0.2,
    knobs: Names = "nodes",
    seed: int = 0,
    out_of_core: bool = False,
    workers: Workers | None = None,
    work: Path | None = None,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
    known: Sequence[str] = (),
) -> FitAnswer:
    """Learn from a job log and save the model; says how right it is on the newest jobs.

    The model has learnt from all finished jobs; the scores come from one that had not seen the
    newest of them.  Several files in time order, ``out_of_core`` and ``workers`` make an XGBoost or
    LightGBM model part by part; what ``test_fraction`` holds back is then not learned from.

    Parameters
    ----------
    jobs : JobTable, path or several paths
        A job log, or the parts of one.
    out : path, optional
        Where the model goes.
    method : str
        auto, within, law, forest, boosting, xgboost, lightgbm, tabnet or attention.
    test_fraction : float
        Share of the newest jobs that is not learned from and tested on.
    knobs : sequence of str
        Columns that will be turned; only the law model needs to know.
    seed : int
        Of everything that draws.
    out_of_core : bool
        Never hold all jobs in memory.
    workers : Workers, optional
        Dask workers, as `rheostat.questions.workers.workers_of` gives them.
    work : path, optional
        Folder from where an interrupted out-of-core fit goes on.
    format, columns, renamed : str, path and sequence of str
        How files are read.
    known : sequence of str
        When columns are known, as ``size=submit``.

    Returns
    -------
    FitAnswer
        With ``model`` and ``accuracy``.

    Raises
    ------
    DataError
        No method has this name, or too few jobs have ended.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> answer = fit(World(seed=1).jobs(200), method="lightgbm")
    >>> answer.rows, answer.targets
    (200, ('runtime_s', 'power_w'))
    """
    files = [jobs] if isinstance(jobs, (JobTable, Path, str)) else list(jobs)
    into = None if out is None else Path(out)
    if len(files) > 1 or out_of_core or workers is not None:
        parts = [Path(f) for f in files if not isinstance(f, JobTable)]
        how = parse_reader_options(renamed, known=known, columns=columns)
        reading = partial(read_batches, form=format, options=how)
        return _of_parts(parts, reading, into, method, test_fraction, seed, workers, work)
    table = inputs.opened(files[0], format, columns, columns=renamed, known=known)
    chosen, names, by = _learner(method, table, parse_names(knobs))
    clock = test_fraction > 0 and "submit_s" in table.columns
    new = new_model(chosen, table, knobs=names, by=by, seed=seed)
    scores = accuracy_on_newest(table, new, test_fraction) if clock else {}
    model = inputs.fitted(table, None, chosen, seed, names, by)
    return FitAnswer(
        model=model, method=chosen, rows=len(table), targets=targets_in(table),
        features=tuple(getattr(model, "features_", ())), accuracy=accuracy_facts(scores),
        sentences=tuple(accuracy_words(q, a) for q, a in scores.items()), file=_saved(model, into),
    )  # fmt: skip


def _learner(
    method: str, table: JobTable, knobs: tuple[str, ...]
) -> tuple[str, tuple[str, ...], tuple[str, ...] | None]:
    """The method, its knobs, and what makes an application: with what a law would leave over.

    Sizes become knobs of the law, names part the applications; trees learn from those with gaps.
    """
    chosen = kind_of(method, table, knobs)
    by = tuple(c for c in ("app", "user") if c in table.columns)[:1]
    more = left_over(table, knobs, by) if chosen == "law" else ()
    if not more:
        return chosen, knobs, None
    each = ", then ".join(f"{c.column} explains {100 * c.share:.0f} %" for c in more)
    said = f"of what {', '.join((*by, *knobs))} leave over of the run time, {each}"
    gaps = [c.column for c in more if table.frame[c.column].null_count()]
    if gaps and method == "auto":
        listener.note(f"{said}: {trees()} is fitted, as rows lack {', '.join(gaps)}")
        return trees(), knobs, None
    used = [c for c in more if c.column not in gaps]
    learnt = f"the law learns from {', '.join(c.column for c in used)}, too" if used else ""
    lacking = f"not from {', '.join(gaps)}, which rows lack: --kind {trees()} does" if gaps else ""
    listener.note(f"{said}: {'; '.join(filter(None, (learnt, lacking)))}")
    sizes, names = (tuple(c.column for c in used if c.number is n) for n in (True, False))
    return chosen, (*knobs, *sizes), (*by, *names)


def _saved(model: Any, out: Path | None) -> Path | None:
    if out is None:
        return None
    path = save(model, out)
    listener.line(f"wrote {path}")
    return path


def read_batches(
    path: str,
    columns: Sequence[str] | None,
    form: str = "",
    options: Mapping[str, Any] | None = None,
) -> Iterator[JobTable]:
    """A file of any format as one batch; workers import this by name."""
    jobs = prepared(read(path, form or None, options=options or {}))
    yield jobs if columns is None else jobs.select(list(columns))


def _of_parts(
    files: Sequence[Path],
    reading: Any,
    out: Path | None,
    method: str,
    test_fraction: float,
    seed: int,
    workers: Workers | None,
    work: Path | None,
) -> FitAnswer:
    """A booster of many files, part by part."""
    chosen = "xgboost" if method == "auto" else method
    job = LargeFit(kind=chosen, settings=Settings(seed=seed))
    with listener.stages() as progress:
        model, scores = fit_large(
            files, reading, job, workers=workers, work_dir=work, held_out=test_fraction,
            progress=progress,
        )  # fmt: skip
    listener.notes(model.notes)
    accuracy = scores or {}
    return FitAnswer(
        model=model, method=chosen, rows=model.rows_learnt, targets=tuple(model.targets),
        features=tuple(model.coding.plan.features), accuracy=accuracy,
        sentences=tuple(part_words(accuracy)), file=_saved(model, out),
    )  # fmt: skip


def part_words(accuracy: Mapping[str, Any]) -> Iterator[str]:
    """How right a model of parts is on the newest, a sentence for each quantity."""
    for target, mark in accuracy.items():
        if isinstance(mark, dict) and mark["rows"]:
            off = 100 * (math.exp(mark["median_abs_log_error"]) - 1)
            yield (
                f"{target}: half of {mark['rows']:,} newer jobs are within {off:.0f} % of the "
                f"forecast; 90 % intervals hold {100 * mark['coverage']:.0f} %."
            )
