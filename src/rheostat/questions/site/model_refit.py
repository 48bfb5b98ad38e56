"""`site_refit`: fit anew on what has ended since; replace the model in use if that is not worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Predictor
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.files import replace_file
from rheostat.core.units import plain_name
from rheostat.decision.backtest import divided
from rheostat.decision.replacement import FEWEST_GROUPS, FEWEST_JOBS, ModelComparison, compared
from rheostat.prediction.saved_models.persist import save
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.site.drift import (
    PREVIOUS,
    confirmed_beside,
    contradictions,
    ended_jobs,
    missed,
    who_ran,
)
from rheostat.recipes.nodecount import kind_of, targets_in

COLUMNS = ("quantity", "jobs", "groups", "score_current", "score_new", "standard_error",
           "known_current", "known_new", "not_worse")  # fmt: skip
IMPLAUSIBLE = 10.0
"""No change of programs or nodes makes half of a week's jobs so many times as large or small."""


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
        Where the new model was written, and where the last confirmed one is kept.
    strange : bool
        Whether the newest jobs lie outside the intervals of both models.
    alarms : tuple of str
        What the last confirmed model finds changed in the newest jobs, until a person accepts it.
    """

    schema: ClassVar[str] = "rheostat.site.refit/1"
    replaces: bool
    comparisons: tuple[ModelComparison, ...]
    method: str
    held_out: int
    file: Path | None = None
    previous: Path | None = None
    strange: bool = False
    alarms: tuple[str, ...] = ()

    def report(self) -> Report:
        """What happens to the model, and the scores."""
        return Report("", [Section("refit", self.beside(), self.grids()[0])], self.facts())

    def beside(self) -> tuple[str, ...]:
        """What happens to the model and why; where the files are."""
        first = [self._verdict(), *(_words(c) for c in self.comparisons)]
        if self.file is not None:
            first.append(f"{self.file} has learned from all jobs that have ended, the newest too.")
        if self.file is not None and self.previous is not None:
            first.append(
                f"{self.previous} is the last one that was confirmed: copy it back to return to it."
            )
        return (*first, *self.alarms)

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
                if self.strange
                else "The model in use stays: the newest jobs are too far from all before."
            )
        return "The model in use stays: on the newest jobs the new one is worse."

    def facts(self) -> Mapping[str, Any]:
        """Verdict, scores and files as data."""
        return {
            "replaces": self.replaces, "kind": self.method, "held_out": self.held_out,
            "model": None if self.file is None else str(self.file),
            "previous": None if self.previous is None else str(self.previous),
            "strange": self.strange, "alarms": list(self.alarms),
            "comparisons": [_row(c) for c in self.comparisons],
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
    accept: bool = False,
    dry_run: bool = False,
    seed: int = 0,
) -> SiteRefitAnswer:
    """Fit anew; the new model replaces the saved one if it is not worse on the newest jobs.

    It is judged on jobs of the newest ``test_period`` that have ended, after learning from those
    that had ended before; then it learns from all.  It replaces the model in use where its score
    is in no quantity higher by more than one standard error of the difference or 5 %.  Where the
    newest jobs lie outside the intervals of both, it has to be better: what is replaced would learn
    from jobs that may be recorded wrongly.  Jobs that the model in use had learned from flatter it.

    A newer model soon holds whatever is recorded, right or wrong.  The last model that newest jobs
    confirmed is therefore kept, and not overwritten while they contradict it: that is an alarm,
    each time, until they confirm it again or a person accepts what they record.  A change of more
    than ten times is not learned before.

    Parameters
    ----------
    jobs : JobTable or path
        A log, or the folder that `ingest` fills.
    model : path
        The model in use, which is replaced; where there is none the new one is the first.  The last
        one that newest jobs confirmed stays beside it as ``NAME.previous``.
    test_period : str
        The newest jobs that models are judged on: ``"7d"``, ``"48h"``.
    method : str
        Kind of the new model, as in `fit`.
    accept : bool
        The newest jobs are recorded rightly, whatever changed: the model that is in use after this
        counts as confirmed.
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
    kept = Path(PREVIOUS.format(path))
    current = inputs.fitted(log, path, method, seed) if path.exists() else None
    past, recent, _ = divided(log, test_period)
    recent = ended_jobs(recent, "site refit")
    chosen = kind_of(method, log, ("nodes",))
    judged, pending = _RefitScores(), False
    if current is not None:
        new = inputs.fitted(past, None, chosen, seed)
        confirmed = confirmed_beside(path) if kept.exists() else current
        judged, pending = _judged(recent, current, new, confirmed), confirmed is None
    replaces = current is None or (judged.fair and (accept or judged.plausible))
    written = path if replaces and not dry_run else None
    if written and current is not None and (judged.confirms or not kept.exists()):
        replace_file(kept, path.read_bytes())
    if written:
        save(inputs.fitted(log, None, chosen, seed), path)
    if (accept or (pending and not judged.confirms)) and path.exists() and not dry_run:
        replace_file(kept, path.read_bytes())  # alike until newest jobs confirm the one in use
    alarms = () if accept else contradictions(judged.changed, kept if kept.exists() else path)
    return SiteRefitAnswer(
        replaces=replaces, comparisons=judged.comparisons, method=chosen, held_out=len(recent),
        file=written, previous=kept if kept.exists() else None, strange=judged.strange,
        alarms=alarms,
    )  # fmt: skip


@dataclass(frozen=True)
class _RefitScores:
    """What the newest jobs say of the model in use, of a new one, and of the last confirmed one.

    ``missed`` and ``changed`` are of `missed`: of the model in use, and of the confirmed one.
    """

    comparisons: tuple[ModelComparison, ...] = ()
    missed: Mapping[str, float] = field(default_factory=dict)
    changed: Mapping[str, float] = field(default_factory=dict)
    strange: bool = False

    @property
    def fair(self) -> bool:
        return bool(self.comparisons) and all(c.not_worse for c in self.comparisons)

    @property
    def plausible(self) -> bool:
        """Whether a model may learn from the newest jobs before a person has looked at them."""
        far = any(not 1 / IMPLAUSIBLE < ratio < IMPLAUSIBLE for ratio in self.changed.values())
        return not far and (not self.strange or any(c.better for c in self.comparisons))

    @property
    def confirms(self) -> bool:
        """Whether the model in use is as good as the last confirmed one."""
        return not self.missed and not self.changed


def _judged(
    recent: JobTable, current: Predictor, new: Predictor, confirmed: Predictor | None
) -> _RefitScores:
    """``confirmed`` is None where a person has just accepted what is recorded."""
    asked = recent.known_at(Moment.SUBMIT)
    with listener.working(f"forecasting {len(recent):,} jobs"):
        ours, theirs = new.predict(asked), current.predict(asked)
        last = None if confirmed is None else confirmed.predict(asked)
    groups = _numbered(recent)
    scores = tuple(
        compared(q, theirs[q], ours[q], recent.numpy(q), groups)
        for q in targets_in(recent)
        if q in ours and q in theirs
    )
    by_current = missed(recent, theirs)
    strange = bool(by_current and missed(recent, ours))
    return _RefitScores(scores, by_current, {} if last is None else missed(recent, last), strange)


def _numbered(jobs: JobTable) -> Array:
    """A number for each user's application."""
    named: Array = who_ran(jobs).cast(pl.Categorical).to_physical().to_numpy()
    return named


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
