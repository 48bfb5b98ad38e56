"""`advice_lookup`: advice for the kinds of job that a log has, made before anybody submits one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from rheostat.core.front import Constraint, Rule
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import unit_of
from rheostat.explanation.number_words import cost_name, duration, quantity
from rheostat.prediction.features.requested_settings import requested
from rheostat.questions import inputs, listener
from rheostat.questions.advice.decide import decide
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_space
from rheostat.questions.settings.knob_columns import turnable

WHO = ("user", "account", "app", "partition")
COMMON = ("app", "partition")
MOST_KINDS = 20_000
DAY_S = 86_400.0
OPTIONS = {"nodes": "--nodes", "gpus": "--gpus", "tasks": "--ntasks", "cores": "--ntasks"}
"""What a submission calls a knob."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AdviceLookup(Answer):
    """Advice by kind of job: who submits what, where, at which setting.

    Parameters
    ----------
    rows : polars.DataFrame
        A row per kind, as the table of `rheostat.decide`; the newest job stands for its kind.
    knobs : tuple of str
        Columns that were turned.
    """

    schema: ClassVar[str] = "rheostat.advice-lookup/1"
    rows: pl.DataFrame
    knobs: tuple[str, ...] = field(default=("nodes",))

    def report(self) -> Report:
        """How many kinds there are, and the first of them."""
        return Report("", [Section("advice", self.beside(), self.grids()[0])], self.facts())

    def beside(self) -> tuple[str, ...]:
        """How many kinds of job have advice."""
        other = int((self.rows["status"] == "advised").sum())
        return (f"{len(self.rows):,} kinds of job, {other:,} of them with another setting.",)

    def facts(self) -> dict[str, Any]:
        """Every kind with its advice."""
        return {"keys": list(self.keys), "knobs": list(self.knobs), "kinds": self.rows.to_dicts()}

    def grids(self) -> tuple[Grid, ...]:
        """A row per kind."""
        return (Grid(tuple(self.rows.columns), tuple(self.rows.rows())),)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that make two jobs the same kind."""
        asked = tuple(requested(k) for k in self.knobs)
        return (*(c for c in WHO if c in self.rows.columns), *asked)

    def find(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The advice for a job of these settings; None where no such job is in the log.

        Parameters
        ----------
        settings : mapping
            What is known at submission: user, account, app, partition, and the knobs.
        """
        for names, table in self._tables:
            at = tuple(settings.get(n.removesuffix("_requested")) for n in names)
            if at in table:
                return table[at]
        return None

    @cached_property
    def _tables(self) -> list[tuple[tuple[str, ...], dict[tuple[Any, ...], dict[str, Any]]]]:
        common = tuple(k for k in self.keys if k not in WHO or k in COMMON)
        kinds = self.rows.to_dicts()
        return [(k, {tuple(r[c] for c in k): r for r in kinds}) for k in (self.keys, common)]


def advice_words(row: Mapping[str, Any], knobs: Sequence[str]) -> str:
    """One line for who submits: both settings with what they cost, and what the other one saves.

    >>> advice_words({"status": "kept"}, ["nodes"])
    ''
    >>> advice_words({"status": "advised", "nodes": 32, "nodes_requested": 64,
    ...     "runtime_s_requested": 7560.0, "runtime_s_advised": 10440.0,
    ...     "energy_j_requested": 3.8e8, "energy_j_advised": 2.1e8,
    ...     "energy_j_change": -0.45}, ["nodes"])
    '64 nodes: 2h 6m, 380 MJ; 32 nodes: 2h 54m, 210 MJ; --nodes=32 saves 45 % energy'
    """
    if row["status"] != "advised":
        return ""
    spent = next((q for q in ("energy_j", "node_hours") if f"{q}_change" in row), "runtime_s")
    unit = unit_of(spent)
    sides = []
    for end in ("requested", "advised"):
        values = [row[k] if end == "advised" else row[requested(k)] for k in knobs]
        setting = ", ".join(f"{v} {k}" for k, v in zip(knobs, values, strict=True))
        amounts = [(row.get(f"runtime_s_{end}"), "s")]
        amounts += [(row.get(f"{spent}_{end}"), unit)] if spent != "runtime_s" else []
        said = [duration(v) if u == "s" else quantity(v, u) for v, u in amounts if v is not None]
        sides.append(f"{setting}: {', '.join(said) or 'not known'}")
    change = row.get(f"{spent}_change")
    if change is None:
        return "; ".join(sides)
    options = " ".join(f"{OPTIONS.get(k, k)}={row[k]}" for k in knobs)
    return f"{'; '.join(sides)}; {options} saves {-change:.0%} {cost_name(spent)}".replace(
        "%", " %"
    )


@question
def advice_lookup(
    jobs: inputs.Jobs,
    *,
    model: inputs.Model | None = None,
    knobs: Knobs = None,
    objectives: Names = (),
    rule: str | Rule | None = None,
    slowdown: float | None = None,
    limits: Sequence[str | Constraint] = (),
    method: str = "auto",
    days: float = 180.0,
    seed: int = 0,
) -> AdviceLookup:
    """Make advice for every kind of job of a log, so that who submits one need not wait for it.

    Parameters
    ----------
    jobs : JobTable or path
        A log.
    model, knobs, objectives, rule, slowdown, limits, method, seed
        As those of `rheostat.decide`.
    days : float
        Kinds of job that were submitted in so many last days of the log, 20,000 at most.

    Returns
    -------
    AdviceLookup
        With ``find(settings)``.

    Raises
    ------
    DataError
        No such knob or objective in the table.
    Infeasible
        The log cannot answer; ``answer`` of the error says why.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> log = World(seed=1).jobs(300)
    >>> lookup = advice_lookup(log, knobs="nodes=1..64")
    >>> one = lookup.rows.row(0, named=True)
    >>> lookup.find({**one, "nodes": one["nodes_requested"]}) == one
    True
    """
    space = parse_space(knobs)
    log = inputs.opened(jobs, knobs=space.names)
    turnable(log, space.names)
    kinds = _kinds(log, space.names, days)
    with listener.working(f"advice for {len(kinds):,} kinds of job"):
        answer = decide(kinds, past=log, model=model, knobs=space, objectives=objectives, rule=rule,
                        slowdown=slowdown, limits=limits, method=method, seed=seed)  # fmt: skip
    return AdviceLookup(rows=answer.table(), knobs=space.names)


def _kinds(log: JobTable, knobs: Iterable[str], days: float) -> JobTable:
    """The newest job of each kind, as it was submitted."""
    names = [c for c in (*WHO, *knobs) if c in log.columns]
    frame = log.frame.with_row_index("row_")
    if "submit_s" in log.columns:
        newest = pl.col("submit_s").max()
        frame = frame.filter(pl.col("submit_s") >= newest - days * DAY_S).sort("submit_s")
    last = frame.group_by(names).agg(pl.col("row_").last()).sort("row_").tail(MOST_KINDS)
    return log.rows(last["row_"].to_numpy()).known_at(Moment.SUBMIT)
