"""Which caps for one application, from a few of its runs and what others have taught?

The runs of known applications teach how speed falls under caps; a few runs of the new one tell
which kind it is.  The setting kept is the one that saves most watts and still holds the loss bound
with the probability asked for; the next one to try is where success would save most beyond it.

Notation
--------
p  settings      k  knobs: caps, and counts of GPUs or nodes that vary
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.space import Knob
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import rows_where
from rheostat.prediction.completion.alone import Corners, Line, Process
from rheostat.prediction.completion.cap_choice import CapChoice, keep, next_try
from rheostat.prediction.completion.mixture import Completion
from rheostat.prediction.completion.model import CapModel
from rheostat.prediction.completion.table import CapTable, cap_table
from rheostat.prediction.surface import CAPS, knobs_in

NOT_ABOVE_0 = "a cap, a count or the runtime is not known or not above 0"
LOSS = 0.05
RISK = 0.9


@dataclass(frozen=True)
class Baseline:
    """What a plainer method says: its speed at each setting (p,), and the setting it would keep."""

    name: str
    speed: Array
    kept: int


@dataclass(frozen=True)
class CapAdvice:
    """What is believed of an application, which setting to keep and which to try next.

    ``row`` are its measured speeds, NaN where not tried; ``ready`` is False while the default has
    not been tried: then that is next, and nothing else can be said.  ``needed`` is the probability
    that a setting not tried must have to be kept, inf where none can be promised; ``next_setting``
    is -1 where no other setting is worth a run; ``notes`` tell
    what of the tables was not used, and what was interpolated.
    """

    known: CapTable
    app: str
    row: Array
    default_s: float
    completion: Completion
    kept: CapChoice
    next_setting: int
    needed: float = float("inf")
    baselines: tuple[Baseline, ...] = ()
    notes: tuple[str, ...] = ()
    loss: float = LOSS
    risk: float = RISK

    @property
    def ready(self) -> bool:
        """Whether the default has been tried."""
        return bool(np.isfinite(self.default_s))

    def probability(self) -> Array:
        """Probability that each setting loses no more than ``loss``, (p,).

        Of a few known applications none can be shown: the next of A breaks a bound that all held
        with 1 in A + 1, so that where nothing can be promised, no setting not tried says more.
        """
        likely = self.completion.reaches(1.0 - self.loss)
        if np.isfinite(self.needed):
            return likely
        apps = len(self.known.apps)
        return np.where(np.isfinite(self.row), likely, np.minimum(likely, apps / (apps + 1)))


def choose_caps(
    others: JobTable,
    runs: JobTable,
    app: str,
    *,
    loss: float = LOSS,
    risk: float = RISK,
    knobs: Sequence[Knob] = (),
) -> CapAdvice:
    """Caps for one application, from a few of its runs and the runs of others.

    Parameters
    ----------
    others : JobTable
        Runs of other applications: app, runtime_s, caps in watts, counts of GPUs or nodes.
    runs : JobTable
        Runs of the application; its caps may be others, between those of ``others``.
    app : str
        Its name.
    loss : float
        Share of speed that may be lost.
    risk : float
        Probability with which the setting kept must hold that.
    knobs : sequence of Knob
        Values to predict where they are to be others than those of ``others``.

    Returns
    -------
    CapAdvice
        The setting to keep, the one to measure next, and the speed expected at each.

    Raises
    ------
    DataError
        Fewer than two known applications, columns that are missing, knobs beyond what is known.
    """
    known, spoilt = _usable(others.finished().rows(pl.col("app").cast(pl.String) != app))
    complete, notes = _with_default(known)
    if complete.frame["app"].n_unique() < 2:
        raise DataError("known applications", [f"expected two or more beside {app}"])
    learnt = cap_table(complete)
    measured, outside = _runs(learnt, runs, app)
    learnt, between = _between(learnt, [*measured, *_grid(learnt, knobs)])
    runtime = np.full(len(learnt.values), np.nan)
    for setting, seconds in measured.items():
        runtime[learnt.index(setting)] = seconds
    first = float(runtime[learnt.default])
    model = CapModel().fit(learnt)
    at = [int(i) for i in np.flatnonzero(np.isfinite(first / runtime))]
    row = first / runtime
    completion = model.complete(at, row[at], level=risk)
    notes = (*spoilt, *notes, *outside, *between)
    if not at:
        kept = CapChoice(learnt.default, 0.0, 1.0)
        first_run = CapAdvice(
            learnt, app, row, first, completion, kept, learnt.default, notes=notes
        )
        return replace(first_run, loss=loss, risk=risk)
    needed = model.needed(at, row[at], loss, risk)
    kept = keep(completion, learnt.saved_w, loss, needed, learnt.default)
    eligible = ~_below_a_failure(learnt, row, loss)
    after = next_try(model, completion, learnt.saved_w, loss, eligible)
    plain = _baselines(learnt, at, row, loss, risk)
    return CapAdvice(
        learnt, app, row, first, completion, kept, after, needed, plain, notes, loss, risk
    )


def _below_a_failure(known: CapTable, row: Array, loss: float) -> NDArray[np.bool_]:
    """Settings (p,) of the same counts with no cap above those of one that lost too much speed."""
    failed = known.values[np.nan_to_num(row, nan=1.0) < 1.0 - loss]
    caps = np.array([k in CAPS for k in known.knobs])
    lower = (known.values[:, None, caps] <= failed[:, caps]).all(axis=2)
    alike = (known.values[:, None, ~caps] == failed[:, ~caps]).all(axis=2)
    return np.asarray((lower & alike).any(axis=1))


def _usable(known: JobTable) -> tuple[JobTable, tuple[str, ...]]:
    """Runs with a runtime and settings above 0, and a note on the others."""
    asked = [c for c in (*knobs_in(known), "runtime_s") if c in known.columns]
    there = [c for c in asked if known.frame[c].count()]  # what misses altogether is an error later
    good = pl.all_horizontal([pl.lit(True), *(pl.col(c) > 0 for c in there)])
    frame, gone = rows_where(known.frame, good, NOT_ABOVE_0)
    said = tuple(f"left out, {note.message}: {note.count} rows" for note in gone)
    return replace(known, frame=frame), said


def _with_default(known: JobTable) -> tuple[JobTable, tuple[str, ...]]:
    """Runs of applications that ran at the highest setting, and a note on the others."""
    knobs = knobs_in(known)
    if not set(knobs) & set(CAPS) or "app" not in known.columns:
        return known, ()  # cap_table tells what is missing
    if not len(known):
        raise DataError("caps", ["expected runs of other applications to learn from, got none"])
    if blank := [c for c in knobs if known.frame[c].count() == 0]:
        raise DataError("caps", [f"column {c} has no value" for c in blank])
    top = [pl.col(c) == known.frame[c].max() for c in knobs]
    there = known.frame.filter(*top)["app"].unique()
    gone = known.frame.filter(~pl.col("app").is_in(there.implode()))["app"].unique().sort()
    at = _setting_text(knobs, [float(known.frame[c].max()) for c in knobs])  # type: ignore[arg-type]
    note = (f"left out, no run at {at}: {', '.join(map(str, gone))}",) if len(gone) else ()
    return known.rows(pl.col("app").is_in(there.implode())), note


def _runs(
    known: CapTable, tried: JobTable, app: str
) -> tuple[dict[tuple[float, ...], float], tuple[str, ...]]:
    """Mean runtime of the application at each setting that it ran, and notes on those not used."""
    frame = tried.finished().frame
    if "app" in frame.columns:
        frame = frame.filter(pl.col("app").cast(pl.String) == app)
    problems = [f"column {c} is missing" for c in (*known.knobs, "runtime_s") if c not in frame]
    if problems:
        raise DataError("tried", [*problems, f"present: {', '.join(tried.columns)}"])
    good = [pl.col(c) > 0 for c in (*known.knobs, "runtime_s")]
    cells, gone = rows_where(frame, pl.all_horizontal(good), f"of {app}: {NOT_ABOVE_0}")
    mean = cells.group_by(*known.knobs).agg(pl.col("runtime_s").log().mean().exp())
    runtimes = {
        tuple(map(float, row[:-1])): float(row[-1]) for row in mean.sort(known.knobs).rows()
    }
    odd = [s for s in runtimes if not known.covers(s)]
    low, high = known.values.min(axis=0), known.values.max(axis=0)
    between = ", ".join(
        f"{k} {a:g} to {b:g}" for k, a, b in zip(known.knobs, low, high, strict=True)
    )
    notes = tuple(f"{_setting_text(known.knobs, s)} is not used: known are {between}" for s in odd)
    notes += tuple(f"left out, {note.message}: {note.count} rows" for note in gone)
    return {s: t for s, t in runtimes.items() if s not in odd}, notes


def _grid(known: CapTable, asked: Sequence[Knob]) -> list[tuple[float, ...]]:
    """Every combination of the values asked for, with those known of the other knobs."""
    given = {knob.name: [float(v) for v in knob.values] for knob in asked}
    wrong = [f"{name} is no knob of this table: {', '.join(known.knobs)}"
             for name in given if name not in known.knobs]  # fmt: skip
    axes = [
        given.get(name, sorted(set(column)))
        for name, column in zip(known.knobs, known.values.T.tolist(), strict=True)
    ]
    settings = list(itertools.product(*axes)) if given and not wrong else []
    wrong += [f"{_setting_text(known.knobs, s)} is beyond what the known applications ran"
              for s in settings if not known.covers(s)]  # fmt: skip
    if wrong:
        raise DataError("--knob", wrong)
    return settings


def _between(
    known: CapTable, settings: Sequence[tuple[float, ...]]
) -> tuple[CapTable, tuple[str, ...]]:
    """The table with these settings too, and a note on those at which no known one ran."""
    new = [s for s in settings if known.index(s) is None]
    if not new:
        return known, ()
    listed = "; ".join(_setting_text(known.knobs, s) for s in sorted(set(new))[:5])
    more = f" and {len(set(new)) - 5} more" if len(set(new)) > 5 else ""
    note = f"no known application ran at {listed}{more}: theirs are interpolated there"
    return known.with_settings(new), (note,)


def _baselines(
    known: CapTable, at: list[int], row: Array, loss: float, risk: float
) -> tuple[Baseline, ...]:
    """What plainer methods say of the same runs, as far as they can be computed."""
    if len(at) < 2:
        return ()
    line, corners, process = Line().fit(known), Corners().fit(known), Process().fit(known)
    said = {"line": line.fill(at, row[at]), "gp_low": process.bound(at, row[at], risk)}
    if len(known.knobs) > 1 and corners.possible(at):
        said["bilinear"] = corners.fill(at, row[at])
    baselines = []
    for name, speed in said.items():
        speed[at] = row[at]
        allowed = speed >= 1.0 - loss - 1e-9
        kept = int(np.where(allowed, known.saved_w, -np.inf).argmax())
        baselines.append(Baseline(name, speed, kept))
    return tuple(baselines)


def _setting_text(knobs: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{k}={v:g}" for k, v in zip(knobs, values, strict=True))


def as_runs(advised: CapAdvice, draws: int = 8) -> JobTable:
    """What is believed, as a table of runs: so many equally likely runtimes at each setting.

    Such a table can be given wherever measured runs can, to `rheostat budget plan` for instance.
    """
    levels = (np.arange(draws) + 0.5) / draws
    speeds = np.stack([advised.completion.bound(1.0 - level) for level in levels], axis=1)
    values = np.repeat(advised.known.values, draws, axis=0)
    columns = {k: values[:, j] for j, k in enumerate(advised.known.knobs)}
    runtime = advised.default_s / speeds.ravel()
    return table({"app": [advised.app] * len(values), **columns, "runtime_s": runtime})
