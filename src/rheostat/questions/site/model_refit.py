"""`site_refit`: fit anew on what has ended since; replace the model in use if that is not worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Predictor
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.files import replace_file
from rheostat.decision.backtest import divided
from rheostat.decision.replacement import FEWEST_GROUPS, FEWEST_JOBS, ModelComparison, compared
from rheostat.explanation.number_words import plain_name
from rheostat.prediction.saved_models.persist import save
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.site.drift import ended_jobs, misses, who_ran
from rheostat.recipes.nodecount import kind_of, targets_in

COLUMNS = ("quantity", "jobs", "groups", "score_current", "score_new", "standard_error",
           "known_current", "known_new", "not_worse")  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class SiteRefitAnswer(Answer):
    """Whether a new model replaces the one in use, and the scores behind it.

    Parameters
    ----------
    replaces : bool
        Whether the new model is not worse on the newest jobs in any quantity, and either better in
        one or one that these jobs do not contradict.
    comparisons : tuple of ModelComparison
        One a quantity; none where no model was in use.
    method : str
        Kind of the new model.
    held_out : int
        Newest jobs that both were judged on.
    file, previous : Path or None
        Where the new model was written, and where the last one is kept that held.
    strange : bool
        Whether the newest jobs lie outside the intervals of both models.
    """

    schema: ClassVar[str] = "rheostat.site.refit/1"
    replaces: bool
    comparisons: tuple[ModelComparison, ...]
    method: str
    held_out: int
    file: Path | None = None
    previous: Path | None = None
    strange: bool = False

    def report(self) -> Report:
        """What happens to the model, and the scores."""
        return Report("", [Section("refit", self.beside(), self.grids()[0])], self.facts())

    def beside(self) -> tuple[str, ...]:
        """What happens to the model and why; where the files are."""
        first = [self._verdict(), *(_words(c) for c in self.comparisons)]
        if self.file is not None:
            first.append(f"{self.file} has learned from all jobs that have ended, the newest too.")
        if self.previous is not None:
            first.append(
                f"{self.previous} is the last one that held: copy it back to return to it."
            )
        return tuple(first)

    def _verdict(self) -> str:
        if not self.comparisons and self.replaces:
            return "No model was in use: the new one is the first."
        if not self.comparisons:
            return "The model in use stays: it and the new one forecast nothing in common."
        if self.replaces:
            done = "replaces" if self.file is not None else "would replace"
            return f"The new model {done} the one in use: on the newest jobs it is not worse."
        if not all(c.enough for c in self.comparisons):
            few = f"{FEWEST_JOBS} jobs of {FEWEST_GROUPS} users' applications are needed"
            return f"The model in use stays: too few new jobs can tell ({few})."
        if all(c.not_worse for c in self.comparisons):
            return (
                "The model in use stays: neither it nor the new one forecasts the newest jobs, and "
                "a model would learn from them. rheostat site drift says what is strange of them."
            )
        return "The model in use stays: on the newest jobs the new one is worse."

    def facts(self) -> Mapping[str, Any]:
        """Verdict, scores and files as data."""
        return {
            "replaces": self.replaces, "kind": self.method, "held_out": self.held_out,
            "model": None if self.file is None else str(self.file),
            "previous": None if self.previous is None else str(self.previous),
            "strange": self.strange, "comparisons": [_row(c) for c in self.comparisons],
        }  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row per quantity."""
        rows = tuple(tuple(_row(c).values()) for c in self.comparisons)
        return (Grid(COLUMNS, rows, tuple("share" if "known" in c else "" for c in COLUMNS)),)


@question
def site_refit(
    jobs: inputs.Jobs,
    model: Path | str,
    *,
    test_period: str = "7d",
    method: str = "auto",
    dry_run: bool = False,
    seed: int = 0,
) -> SiteRefitAnswer:
    """Fit anew; the new model replaces the saved one if it is not worse on the newest jobs.

    It is judged on jobs of the newest ``test_period`` that have ended, after learning from those
    that had ended before; then it learns from all.  It replaces the model in use where its score
    is in no quantity higher by more than one standard error of the difference or 5 %.  Where the
    newest jobs lie outside the intervals of both, it has to be better: what is replaced would learn
    from jobs that may be recorded wrongly.  Jobs that the model in use had learned from flatter it.

    Parameters
    ----------
    jobs : JobTable or path
        A log, or the folder that `ingest` fills.
    model : path
        The model in use, which is replaced; where there is none the new one is the first.  The last
        one whose intervals held the newest jobs stays beside it as ``NAME.previous``.
    test_period : str
        The newest jobs that models are judged on: ``"7d"``, ``"48h"``.
    method : str
        Kind of the new model, as in `fit`.
    dry_run : bool
        Judge, and write nothing.
    seed : int
        Of everything that draws.

    Returns
    -------
    SiteRefitAnswer
        With ``replaces`` and ``comparisons``.

    Raises
    ------
    DataError
        No job has ended in the test period or before it, or ``model`` is no saved model.

    Examples
    --------
    >>> import tempfile, rheostat as rh
    >>> from rheostat.measurement.synthetic.world import World
    >>> log = World(seed=1).jobs(600)
    >>> file = tempfile.mkdtemp() + "/model.rheo"
    >>> first = rh.site.refit(log, file, method="lightgbm", test_period="6h")
    >>> again = rh.site.refit(log, file, method="lightgbm", test_period="6h", dry_run=True)
    >>> first.replaces, len(first.comparisons), again.comparisons[0].quantity
    (True, 0, 'runtime_s')
    """
    log, path = inputs.opened(jobs), Path(model)
    current = inputs.fitted(log, path, method, seed) if path.exists() else None
    past, recent, _ = divided(log, test_period)
    recent = ended_jobs(recent, "site refit")
    chosen = kind_of(method, log, ("nodes",))
    comparisons: tuple[ModelComparison, ...] = ()
    missed = (False, False)
    if current is not None:
        new = inputs.fitted(past, None, chosen, seed)
        comparisons, missed = _compared(recent, current, new)
    fair = bool(comparisons) and all(c.not_worse for c in comparisons)
    strange = all(missed)
    replaces = current is None or (fair and (not strange or any(c.better for c in comparisons)))
    written = path if replaces and not dry_run else None
    previous = _kept(path, good=not missed[0]) if written and comparisons else None
    if written:
        save(inputs.fitted(log, None, chosen, seed), path)
    return SiteRefitAnswer(
        replaces=replaces, comparisons=comparisons, method=chosen, held_out=len(recent),
        file=written, previous=previous, strange=strange,
    )  # fmt: skip


def _compared(
    recent: JobTable, current: Predictor, new: Predictor
) -> tuple[tuple[ModelComparison, ...], tuple[bool, bool]]:
    """Scores by quantity, and whether the intervals of each model miss too many jobs."""
    asked = recent.known_at(Moment.SUBMIT)
    with listener.working(f"forecasting {len(recent):,} jobs"):
        ours, theirs = new.predict(asked), current.predict(asked)
    groups = _numbered(recent)
    scores = tuple(
        compared(q, theirs[q], ours[q], recent.numpy(q), groups)
        for q in targets_in(recent)
        if q in ours and q in theirs
    )
    return scores, (misses(recent, theirs), misses(recent, ours))


def _numbered(jobs: JobTable) -> Array:
    """A number for each user's application."""
    named: Array = who_ran(jobs).cast(pl.Categorical).to_physical().to_numpy()
    return named


def _kept(path: Path, *, good: bool) -> Path:
    """Where the last model is that held; a copy of the one in use, if it does or none is there."""
    beside = path.with_name(f"{path.name}.previous")
    if good or not beside.exists():
        replace_file(beside, path.read_bytes())
    return beside


def _row(comparison: ModelComparison) -> dict[str, Any]:
    return {**asdict(comparison), "not_worse": comparison.not_worse}


def _words(c: ModelComparison) -> str:
    if not c.jobs or not np.isfinite(c.score_current):
        return f"{plain_name(c.quantity)}: no job has a forecast by both."
    change = 100 * (c.score_new / c.score_current - 1) if c.score_current else 0.0
    error = 100 * c.standard_error / c.score_current if c.score_current else 0.0
    return (
        f"{plain_name(c.quantity)}: the new model scores {change:+.1f} % (standard error "
        f"{error:.1f} %; lower is better) on {c.jobs:,} jobs of {c.groups:,} users' applications."
    )
