"""What `site_shadow` answers: a forecast of what advice saves, and beside it what was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import polars as pl

from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.decision.submission.randomised import Effect
from rheostat.explanation.formats.grid_cells import change
from rheostat.explanation.number_words import quantity, share
from rheostat.questions.answer import Answer

FORECAST, MEASURED = "forecast by the model", "measured by randomisation"
KIND = ("app", "nodes_requested")
KIND_COLUMNS = {
    "app": pl.String, "nodes_requested": pl.Int64, "jobs_advised": pl.Int64, "jobs_asked": pl.Int64,
    "change": pl.Float64, "change_low": pl.Float64, "change_high": pl.Float64, "more": pl.Float64,
}  # fmt: skip
NO_TRIAL = (
    "Nothing is measured: no two jobs of a kind were drawn to run as advised and as asked "
    "(rheostat site install --mode trial), and what a model computes is no evidence."
)
ADDED_UP = "Intervals add up the ends of the jobs' 90 % intervals: they hold if all err alike."
NAMED = 5
"""Kinds of jobs that a sentence names."""
NOISY = "Of kinds of few jobs some look worse by chance alone: the sum over them is an upper bound."


@dataclass(frozen=True)
class TrialOutcome:
    """What chance showed of one quantity, and what was forecast.

    Parameters
    ----------
    quantity : str
        Such as energy_j or runtime_s.
    effect : Effect
        Measured, with its interval.
    forecast : (float, float, float)
        The change forecast for the jobs that were kept as asked: mean, low, high.
    """

    quantity: str
    effect: Effect
    forecast: tuple[float, float, float]

    @property
    def inside(self) -> bool:
        """Whether what was measured lies in the interval of the forecast."""
        return self.forecast[1] <= self.effect.change <= self.forecast[2]


@dataclass(frozen=True, kw_only=True, repr=False)
class SiteShadowAnswer(Answer):
    """What advice would have changed, and what a trial measured.

    Parameters
    ----------
    quantity : str
        What is saved: energy_j, else node_hours, else runtime_s.
    jobs : int
        Jobs that came after the advice and have ended.
    total : mapping
        Of those that ran as asked, where the quantity is known: ``jobs``, how many advice
        ``would_change``, the sums that they ``took`` and would have ``saved`` with low and high,
        the ``expected_loss`` where advice is wrong, and by how much longer jobs would have run.
    by_group : mapping of str to DataFrame
        The same by user and by application, the largest saving first.
    trial : tuple of TrialOutcome
        What chance showed; empty without a trial.
    kinds : DataFrame
        The same of each application at each number of nodes asked for, the dearest advice first.
    """

    schema: ClassVar[str] = "rheostat.site.shadow/1"
    quantity: str
    jobs: int
    total: Mapping[str, Any]
    by_group: Mapping[str, pl.DataFrame]
    trial: tuple[TrialOutcome, ...]
    kinds: pl.DataFrame

    def report(self) -> Report:
        """Forecast, what was measured, then both in parts."""
        parts = [
            Section(
                f"{FORECAST}, by {name}", (), _grid(frame, self.quantity), folded=len(frame) > 20
            )
            for name, frame in self.by_group.items()
        ]
        if len(self.kinds):
            parts.append(Section(f"{MEASURED}, by kind of job", (NOISY,),
                                 _grid(self.kinds, self.quantity)))  # fmt: skip
        said = [Section(FORECAST, self._forecast()), Section(MEASURED, self._measured())]
        return Report("", [*said, *parts], self.facts())

    def beside(self) -> tuple[str, ...]:
        """Both answers, each with what kind of figure it is."""
        return (*self._forecast(), *self._measured())

    def facts(self) -> dict[str, Any]:
        """Both answers as data, each with what kind of figure it is."""
        return {
            "quantity": self.quantity, "jobs": self.jobs,
            "forecast": {"figure": FORECAST, "total": dict(self.total),
                         "by": {n: f.to_dicts() for n, f in self.by_group.items()}},
            "trial": [
                {"figure": MEASURED, "quantity": t.quantity, **asdict(t.effect),
                 "forecast": dict(zip(("change", "low", "high"), t.forecast, strict=True)),
                 "inside_forecast": t.inside}
                for t in self.trial
            ],
            "kinds": self.kinds.to_dicts(), "regret": self._regret(),
        }  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row per user, else per application."""
        return tuple(_grid(f, self.quantity) for f in list(self.by_group.values())[:1])

    def table(self) -> pl.DataFrame:
        """A row per user, else per application, with low and high as columns."""
        return next(iter(self.by_group.values()))

    def _regret(self) -> dict[str, Any]:
        """What wrong advice costs: by the model, and of kinds that chance showed to be worse."""
        worse = self.kinds.filter(pl.col("more") > 0)
        return {
            "expected_loss": self.total["expected_loss"], "figure": FORECAST,
            "measured_upper": worse["more"].sum() if len(self.kinds) else None,
            "kinds_worse": len(worse),
            "kinds_surely_worse": len(worse.filter(pl.col("change_low") > 0)),
        }  # fmt: skip

    def _forecast(self) -> tuple[str, ...]:
        t = self.total
        if not t["would_change"]:
            return (f"Advice would have changed none of {t['jobs']:,} jobs.",)
        name, unit = plain_name(self.quantity), unit_of(self.quantity)
        mean, high, low = (_over(t[k], -t["took"]) for k in ("saved", "saved_low", "saved_high"))
        part = change((mean, low, high))
        lost = share(_over(t["expected_loss"], t["took"]), 1)
        return (
            f"Advice would have changed {t['would_change']:,} of {t['jobs']:,} jobs: {name} {part} "
            f"of {quantity(t['took'], unit)}, a forecast.",
            f"Where advice is wrong it is forecast to cost {lost}, which is in that sum.",
            ADDED_UP,
        )

    def _measured(self) -> tuple[str, ...]:
        if not self.trial:
            return (NO_TRIAL,)
        said = [_trial_words(t) for t in self.trial]
        regret = self._regret()
        cost = quantity(regret["measured_upper"], unit_of(self.quantity))
        said.append(
            f"Advice took more than the request in {regret['kinds_worse']} of {len(self.kinds)} "
            f"kinds of job, {regret['kinds_surely_worse']} of them beyond chance: {cost} at most."
        )
        worse = self.kinds.filter(pl.col("change_low") > 0)
        if len(worse):
            named = [_kind_words(k) for k in worse.head(NAMED).iter_rows(named=True)]
            more = f" and {len(worse) - NAMED} more" if len(worse) > NAMED else ""
            said.append(f"Beyond chance advice is bad for {', '.join(named)}{more}.")
        return tuple(said)


def _kind_words(kind: Mapping[str, Any]) -> str:
    ends = change((kind["change"], kind["change_low"], kind["change_high"]))
    return f"{kind['app']} where {kind['nodes_requested']} nodes are asked for ({ends})"


def _trial_words(t: TrialOutcome) -> str:
    e = t.effect
    agreed = "inside" if t.inside else "outside"
    measured = change((e.change, e.low, e.high))
    return (
        f"By chance {e.advised:,} jobs ran as advised and {e.asked:,} as asked: "
        f"{plain_name(t.quantity)} {measured} by the advice, measured; {agreed} the forecast for "
        f"the same jobs, {change(t.forecast)}."
    )


def _grid(frame: pl.DataFrame, name: str) -> Grid:
    """Columns, and a value with its ends as one cell."""
    unit = unit_of(name)
    units = {"took": unit, "saved": unit, "more": unit, "expected_loss": unit, "slower_s": "+s",
             "change": "%"}  # fmt: skip
    heads = [c for c in frame.columns if not c.endswith(("_low", "_high"))]
    ended = [c for c in heads if f"{c}_low" in frame.columns]
    cells = frame.with_columns(
        pl.Series(
            c,
            list(zip(*(frame[f"{c}{e}"] for e in ("", "_low", "_high")), strict=True)),
            dtype=pl.Object,
        )
        for c in ended
    )
    rows = tuple(tuple(row) for row in cells.select(heads).iter_rows())
    return Grid(tuple(heads), rows, tuple(units.get(c, "") for c in heads))


def _over(part: float | None, whole: float) -> float:
    return _known(part) / whole if whole else math.nan


def _known(value: float | None) -> float:
    return math.nan if value is None else value
