"""``rheostat next``: which settings to measure next, from the results at hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable


def next(
    file: o.File,
    knob: o.Knobs = None,
    where: o.Where = None,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=100_000, help="Settings to name.")
    ] = 1,
    method: o.Method = "auto",
    prior: o.Prior = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Name the settings to measure next, given the runs in FILE; nothing is run.

    Measure them, append the rows to FILE, and call it again.  With --where the other rows of FILE,
    being other applications, teach the method, unless --prior names a table that does.  The method
    is that of `rheostat search`.
    """
    from rheostat.cli.output import tell
    from rheostat.errors import DataError
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_rules, parse_space
    from rheostat.recipes.search_defaults import (
        UNUSED_PRIOR,
        distinct,
        others,
        proposer,
        uses_prior,
    )
    from rheostat.tradeoff.measured_cells import tell_runs

    space = parse_space(knob)
    chosen_by, limits = parse_rules(rule, within)
    jobs = inputs.load(file, form, mapped, knobs=space.names)
    inputs.turnable(jobs, space)
    own = inputs.only(jobs, where)
    wanted = inputs.judged(own, objectives, model=False)
    inputs.countable(wanted, own.columns)
    past = inputs.load(prior, knobs=space.names) if prior else others(jobs, own, space)
    planned = distinct(own, space) + count
    asker = proposer(method, space, wanted, limits=limits, prior=past, budget=planned, seed=seed)
    if prior and not uses_prior(asker):
        tell(UNUSED_PRIOR.format(type(asker).__name__))
    known, held = tell_runs(asker, own), distinct(own, space)
    if known < held:
        tell(
            f"note: {held - known} of {held} settings run are outside --knob, lack an objective"
            " or did not finish"
        )
    for note in asker.notes:
        tell(f"note: {note.message}")
    asked = asker.ask(count)
    if not len(asked):
        raise DataError("next", [f"all {known} settings of --knob are measured: nothing is left"])
    _show(asker, asked, known, chosen_by, limits, json=json)


def _show(asker: Any, asked: JobTable, known: int, rule: Any, limits: Any, *, json: bool) -> None:
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.report import Grid, Report, Section
    from rheostat.explanation.number_words import plain_name, unit_of

    settings = asked.select(asker.space.names).frame.rows(named=True)
    outcome = asker.forecast(settings) if known else None
    spans = {
        q.name: (outcome.quantile(q.name, 0.5), *outcome.interval(q.name))
        for q in asker.objectives
        if outcome is not None and q.name in outcome
    }
    names = list(spans)
    expected = [{q: [float(v[i]) for v in spans[q]] for q in names} for i in range(len(settings))]
    rows = tuple(
        (*s.values(), *(tuple(e[q]) for q in names))
        for s, e in zip(settings, expected, strict=True)
    )
    heads = (*asker.space.names, *names)
    grid = Grid(heads, rows, ("",) * len(asker.space.names) + tuple(map(unit_of, names)))
    again = repeats(asker, asked)
    facts = {
        "method": type(asker).__name__,
        "measured": known,
        "next": [
            {"setting": s, "repeat": s in again, "expected": e}
            for s, e in zip(settings, expected, strict=True)
        ],
        **best(asker, rule, limits),
    }
    if json:
        put_json("rheostat.next/1", facts)
        return
    said = [f"{known} settings are measured; measure next:", *map(repeat_words, again)]
    titles = tuple(plain_name(h) if h in names else h for h in heads)
    section = Section("next", tuple(said), Grid(titles, rows, grid.units))
    put_report(Report("", [section, Section("so far", best_words(facts))], facts), grid)
    if not sys.stdout.isatty():
        tell(" ".join([*said[1:], *best_words(facts)]))


def repeats(asker: Any, asked: JobTable) -> list[dict[str, Any]]:
    """The settings asked that are measured already: the method wants another run of them."""
    settings = asked.select(asker.space.names).frame.rows(named=True)
    return [s for s in settings if asker.measured(s)]


def repeat_words(setting: dict[str, Any]) -> str:
    """Why a setting is to be measured once more."""
    from rheostat.explanation.number_words import setting_words

    said = "measured already, but runs differ so much that a repeat tells more"
    return f"{setting_words(setting)}: {said}."


def best(asker: Any, rule: Any, limits: Any) -> dict[str, Any]:
    """The best measured setting by the rule, and one expected to be better, if any.

    Expected values are medians of the draws with 90 % intervals.
    """
    from rheostat.errors import Infeasible
    from rheostat.explanation.choice import choice_facts
    from rheostat.tradeoff.measured_cells import better_unmeasured

    facts: dict[str, Any] = {"best_measured": None, "expected_better": None, "nearest": None}
    if not len(asker.history):
        return facts
    for name, find in (
        ("best_measured", lambda: asker.front.choose(rule, limits)),
        ("expected_better", lambda: better_unmeasured(asker, rule, limits)),
    ):
        try:
            choice = find()
        except Infeasible as stop:
            if name == "best_measured" and stop.nearest >= 0:
                facts["nearest"] = asker.front.setting(stop.nearest)
                facts["misses"] = str(stop)
            continue
        facts[name] = None if choice is None else choice_facts(choice)
    return facts


def best_words(facts: dict[str, Any]) -> tuple[str, ...]:
    """Sentences for `best`."""
    from rheostat.explanation.number_words import setting_words

    measured, better = facts["best_measured"], facts["expected_better"]
    said = ["Nothing measured meets the limits."]
    if facts["nearest"] is not None:
        said = [f"Of what was measured, {facts['misses']}."]
    if measured is not None:
        said = [f"Best measured: {setting_words(measured['setting'])}."]
    if better is not None:
        said.append(
            f"Expected to be better, not measured yet: {setting_words(better['setting'])}; "
            "measure it to confirm."
        )
    return tuple(said)
