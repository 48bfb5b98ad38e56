"""`next_settings`: which settings to measure next, from the results at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.decision import Assignment
from rheostat.core.front import Constraint, Rule
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.errors import DataError, Infeasible
from rheostat.explanation.choices.choice import choice_facts, cost_words
from rheostat.explanation.choices.indistinct import indistinct
from rheostat.explanation.number_words import setting_words
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import (
    Knobs,
    Names,
    knob_names,
    parse_objectives,
    parse_rules,
)
from rheostat.questions.settings.knob_columns import space_of
from rheostat.questions.settings.lacking import our_names, our_rule
from rheostat.questions.settings.unlike_runs import of_one_kind, tell_unlike
from rheostat.questions.settings.warm_up import without_first_runs
from rheostat.tradeoff.all_settings import RUNTIME_ENERGY
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.measured_cells import FAILED, better_unmeasured, tell_runs, uncounted
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.proposer import distinct, others, proposer

NAMED = 3
AGAIN = "measured already, but runs differ so much that a repeat tells more"


@dataclass(frozen=True, kw_only=True, repr=False)
class NextAnswer(Answer):
    """Settings to measure next, and the best so far.

    Parameters
    ----------
    settings : tuple of mapping
        Knob values to run.
    repeats : tuple of mapping
        Those of them that were measured already.
    expected : mapping of str to list
        For each objective that the method forecasts: median, low and high end of the 90 % interval
        of each setting.
    measured : int
        Settings measured so far.
    method : str
        Name of the method.
    best : mapping
        As `best_so_far` gives it.
    """

    schema: ClassVar[str] = "rheostat.next/1"
    settings: tuple[Mapping[str, Any], ...]
    repeats: tuple[Mapping[str, Any], ...]
    expected: Mapping[str, Sequence[tuple[float, float, float]]]
    measured: int
    method: str
    best: Mapping[str, Any]

    def report(self) -> Report:
        """The settings with what is expected of them, and the best so far."""
        (grid,) = self.grids()
        titles = tuple(plain_name(h) if h in self.expected else h for h in grid.heads)
        more = f", then {len(self.settings) - 1} more" if len(self.settings) > 1 else ""
        first = f"Measure next: {setting_words(self.settings[0])}{more}"
        said = (f"{first}; {self.measured} settings are measured.", *self._again)
        section = Section("next", said, Grid(titles, grid.rows, grid.units))
        so_far = Section("so far", best_words(self.best))
        return Report("", [section, so_far], self.facts())

    def facts(self) -> dict[str, Any]:
        """The settings, what is expected of them, and the best so far."""
        expected = [
            {q: list(values[i]) for q, values in self.expected.items()}
            for i in range(len(self.settings))
        ]
        return {
            "method": self.method,
            "measured": self.measured,
            "next": [
                {"setting": s, "repeat": s in self.repeats, "expected": e}
                for s, e in zip(self.settings, expected, strict=True)
            ],
            **self.best,
        }

    def grids(self) -> tuple[Grid, ...]:
        """A row per setting."""
        knobs, names = tuple(self.settings[0]), tuple(self.expected)
        rows = tuple(
            (*s.values(), *(self.expected[q][i] for q in names))
            for i, s in enumerate(self.settings)
        )
        return (Grid((*knobs, *names), rows, ("",) * len(knobs) + tuple(map(unit_of, names))),)

    def beside(self) -> tuple[str, ...]:
        """What is repeated, and the best so far."""
        return (" ".join([*self._again, *best_words(self.best)]),)

    @property
    def _again(self) -> tuple[str, ...]:
        return tuple(map(repeat_words, self.repeats))


@question
def next_settings(
    runs: inputs.Jobs,
    *,
    knobs: Knobs = None,
    where: Sequence[str] = (),
    count: int = 1,
    method: str = "auto",
    prior: inputs.Jobs | None = None,
    objectives: Names = RUNTIME_ENERGY,
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> NextAnswer:
    """Name the settings to measure next, given runs; nothing is run.

    Parameters
    ----------
    runs : JobTable or path
        Measured runs, with the knobs and the objectives.
    knobs : Space, Knob, several Knobs, or texts
        What may be turned.
    where : sequence of str
        Only rows with ``column=value``; the others, of other applications, teach the method.
    count : int
        Settings to name.
    method : str
        As for `rheostat.proposer`.
    prior : JobTable or path, optional
        Runs of other applications that teach the method.
    objectives, rule, limits, seed, format, columns, renamed
        As those of `rheostat.front`.

    Returns
    -------
    NextAnswer
        At most ``count`` settings, with what is expected of them.

    Raises
    ------
    DataError
        A knob is no column of the runs, no method has this name, or every setting is measured.

    Examples
    --------
    >>> from rheostat import table
    >>> runs = table({"nodes": [1, 4], "runtime_s": [90.0, 30.0], "energy_j": [9e3, 12e3]})
    >>> next_settings(runs, knobs="nodes=1,2,4", method="sobol").settings
    ({'nodes': 2},)
    """
    names, rules = knob_names(knobs), parse_rules(rule, limits)
    quantities = parse_objectives(objectives)
    jobs = inputs.opened(runs, format, columns, names, renamed)
    rules = (our_rule(jobs, rules[0]), rules[1])
    space = space_of(jobs, knobs, measured="nodes" not in jobs.columns)
    jobs, own = of_one_kind(jobs, inputs.only(jobs, where), space)
    jobs, own = without_first_runs(jobs, own, space.names)
    wanted = inputs.judged(own, our_names(jobs, quantities), model=False)
    inputs.countable(wanted, own.columns)
    held = distinct(own, space)
    past = others(jobs, own, space) if prior is None else inputs.beside(prior, renamed, space.names)
    asker = proposer(
        method, space, wanted, limits=steering(*rules), prior=past, budget=held + count, seed=seed
    )
    if prior is not None and past is not None:
        tell_prior(asker, past)
    known = tell_runs(asker, own)
    if known < held:
        listener.note(_uncounted_words(asker, own, held))
    tell_unlike(own, space)
    listener.notes(asker.notes)
    asked = asker.ask(count)
    best = best_so_far(asker, *rules)
    if not len(asked):
        said = " ".join(best_words(best))
        raise DataError(
            "next", [f"every setting of --knob was run, {known} measured: nothing is left. {said}"]
        )
    settings = asked.select(asker.space.names).frame.rows(named=True)
    return NextAnswer(
        settings=tuple(settings),
        repeats=tuple(repeats(asker, asked)),
        expected=_expected(asker, settings) if known else {},
        measured=known,
        method=type(asker).__name__,
        best=best,
    )


def _uncounted_words(asker: Searcher, own: JobTable, held: int) -> str:
    """Which settings count as not measured, and why; those that failed are not asked again."""
    left = uncounted(asker, own)
    said = []
    for why in dict.fromkeys(w for _, w in left):
        those = [_setting_and_end(own, s) for s, w in left if w == why]
        more = f" and {len(those) - NAMED} more" if len(those) > NAMED else ""
        again = " (not asked again)" if why == FAILED else ""
        said.append(f"{'; '.join(those[:NAMED])}{more} {why}{again}")
    return f"{len(left)} of {held} settings run do not count as measured: {', '.join(said)}"


def _setting_and_end(own: JobTable, setting: Mapping[str, Any]) -> str:
    """A setting, with the words for how its runs ended where those are known."""
    runs = own.rows(own.cut_off).frame
    if "state" not in runs.columns:
        return setting_words(setting)
    there = runs.filter(*(pl.col(k) == v for k, v in setting.items()))
    ends = there["state"].drop_nulls().unique(maintain_order=True).to_list()
    return setting_words(setting) + (f" ({', '.join(ends)})" if ends else "")


def steering(rule: Any, limits: Sequence[Constraint]) -> tuple[Any, ...]:
    """The limits that settings are proposed by: a deadline as the rule is one, too.

    >>> steering(*parse_rules("deadline=2h", ["energy=3MJ"])) == (
    ...     *parse_rules("knee", ["energy=3MJ", "deadline=2h"])[1],)
    True
    """
    return (*limits, rule) if isinstance(rule, Limit) and rule not in limits else tuple(limits)


def tell_prior(asker: Any, past: JobTable) -> None:
    """Say what becomes of runs of other applications: not used, or all of one application."""
    if "app" not in past.columns:
        listener.note("--prior has no column app: its runs count as those of one application "
                      "(--column app=THEIRS tells several apart)")  # fmt: skip
    if not hasattr(asker, "past_applications"):
        name = type(asker).__name__
        listener.line(
            f"note: --prior is not used: {name} does not learn from runs of other applications"
        )


def _expected(
    asker: Any, settings: Sequence[Mapping[str, Any]]
) -> dict[str, list[tuple[float, float, float]]]:
    outcome = asker.forecast(settings)
    if outcome is None:
        return {}
    names = [q.name for q in asker.objectives if q.name in outcome]
    spans = {q: (outcome.quantile(q, 0.5), *outcome.interval(q)) for q in names}
    return {
        q: [tuple(float(v[i]) for v in span) for i in range(len(settings))]  # type: ignore[misc]
        for q, span in spans.items()
    }


def repeats(asker: Any, asked: JobTable) -> list[dict[str, Any]]:
    """The settings asked that are measured already: the method wants another run of them."""
    settings = asked.select(asker.space.names).frame.rows(named=True)
    return [s for s in settings if asker.measured(s)]


def repeat_words(setting: Mapping[str, Any]) -> str:
    """Why a setting is to be measured once more."""
    return f"{setting_words(setting)}: {AGAIN}."


def best_so_far(asker: Any, rule: Any, limits: Any) -> dict[str, Any]:
    """The best measured setting by the rule, and one that it would take by forecast, if any.

    Expected values are medians of the draws with 90 % intervals.
    """
    facts: dict[str, Any] = {"best_measured": None, "expected_better": None, "nearest": None}
    facts["not_told_apart"] = None
    if not len(asker.history):
        return facts
    for name, find in (
        ("best_measured", lambda: asker.front.choose(rule, limits)),
        ("expected_better", lambda: better_unmeasured(asker, rule, limits)),
    ):
        try:
            choice: Assignment | None = find()
        except Infeasible as stop:
            if name == "best_measured" and stop.nearest >= 0:
                facts["nearest"] = asker.front.setting(stop.nearest)
                facts["misses"] = str(stop)
            continue
        facts[name] = None if choice is None else choice_facts(choice)
        if choice is not None and name == "best_measured":
            alike = indistinct(asker.front, choice)
            facts["not_told_apart"] = alike and alike.words(choice.setting)
    return facts


def best_words(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences for `best_so_far`."""
    measured, better = facts["best_measured"], facts["expected_better"]
    said = ["Nothing measured meets the limits."]
    if facts["nearest"] is not None:
        said = [f"Of what was measured, {facts['misses']}."]
    if measured is not None:
        said = [f"Best measured: {setting_words(measured['setting'])}, {cost_words(measured)}."]
        said += [alike] if (alike := facts["not_told_apart"]) else []
    if better is not None:
        said.append(
            f"By its forecast the rule would take {setting_words(better['setting'])}, not measured "
            "yet: measure it to confirm."
        )
    return tuple(said)
