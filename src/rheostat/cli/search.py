"""``rheostat search``: measure one's own code at a few well-chosen settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import knob_options
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.core.space import Space


def search(
    space: Annotated[
        Path, typer.Argument(help="TOML: a [knobs] table, see --help below.", metavar="SPACE.toml")
    ],
    measure: Annotated[
        str, typer.Option(help="Command to run; {nodes} stands for the value of the knob nodes.")
    ],
    budget: Annotated[int, typer.Option(min=1, help="Settings to measure in all.")] = 8,
    journal: Annotated[
        Path | None, typer.Option(help="Results on disk as they come; the same call continues.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each setting.")] = 1,
    method: o.Method = "auto",
    prior: o.Prior = None,
    known: Annotated[
        Path | None,
        typer.Option("--from", help="Runs of this code at hand: told first, not counted."),
    ] = None,
    power_model: Annotated[
        Path | None,
        typer.Option(help="Power of runs that are not metered: a model saved by rheostat fit."),
    ] = None,
    timeout: Annotated[str, typer.Option(help="A run that takes longer counts as failed.")] = "1d",
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Measure a few settings of your own code, well chosen, and take one.

    SPACE.toml holds [knobs] with lines like nodes = [1, 2, 4] or cap_w = {low = 100, high = 300}.
    The command may print a JSON object such as {"runtime_s": 12.5, "energy_j": 4100} as its last
    line; the wall time stands in for a missing runtime_s, and what RAPL, NVML or Zeus read for
    missing watts, where they can. Without a meter, --objectives runtime_s,node_hours needs no
    energy, and --power-model predicts it. A run that fails is not asked again.
    """
    from rheostat.cli.next import repeat_words, repeats
    from rheostat.cli.output import tell
    from rheostat.core.units import parse_duration
    from rheostat.recipes.search_defaults import distinct, proposer
    from rheostat.tradeoff.measured_cells import tell_runs
    from rheostat.tradeoff.search import search as run

    knobs = knob_options.space_file(space)
    wanted = o.names(objectives)
    chosen_by, limits = o.rules(rule, within)
    past = o.load(prior, knobs=knobs.names) if prior else None
    at_hand = o.load(known, knobs=knobs.names) if known else None
    held = 0 if at_hand is None else distinct(at_hand, knobs)
    asker = proposer(
        method, knobs, wanted, limits=limits, prior=past, budget=budget + held, seed=seed
    )
    if at_hand is not None:
        tell(f"{tell_runs(asker, at_hand)} settings of {known} are measured already")
    for note in asker.notes:
        tell(f"note: {note.message}")
    meter = _meter(measure, knobs, wanted, repeat, parse_duration(timeout), model=power_model)
    again: list[dict[str, Any]] = []

    def announce(asked: JobTable) -> None:
        for setting in repeats(asker, asked):
            again.append(setting)
            tell(repeat_words(setting))

    options = run(
        asker, meter, budget, journal=journal, progress=_progress(json=json), announce=announce
    )
    for note in (*options.outcome.notes, *meter.notes):
        tell(f"note: {note.message}")
    shown = options if at_hand is None else asker.front
    _show(shown, asker, again, chosen_by, limits, json=json, html=html, figure=figure)


NO_METER = (
    "note: nothing here reads energy ({why}): the command must print energy_j or power_w. If it "
    "cannot: --objectives runtime_s,node_hours needs neither, --power-model predicts power"
)


def _meter(
    line: str, knobs: Space, wanted: tuple[str, ...], repeat: int, timeout_s: float, *, model: Any
) -> Any:
    """What runs the command; before the first run, how its energy will be known."""
    from rheostat.cli.output import tell
    from rheostat.measurement.command import Command
    from rheostat.measurement.meters import meters
    from rheostat.prediction.persist import PREDICTORS, load
    from rheostat.recipes.predicted_power import PredictedPower

    watts = {"energy_j", "power_w", "edp_js"} & set(wanted)
    sensors = meters(("rapl", "nvml", "zeus")) if watts and model is None else []
    if sensors and all(s.why() for s in sensors):
        tell(NO_METER.format(why="; ".join(f"{s.name}: {s.why()}" for s in sensors)))
    derived = {"node_hours"} if "nodes" in knobs.names else set()
    printed = [q for q in wanted if q not in (watts | derived if model else derived)]
    run = Command(line, printed, repeat=repeat, timeout_s=timeout_s, meters=sensors)
    return run if model is None else PredictedPower(run, load(model, PREDICTORS))


def _progress(*, json: bool) -> Any:
    import sys

    from rheostat.cli.output import tell

    if sys.stderr.isatty() or json:
        return sys.stderr.isatty()
    return lambda done, budget: tell(f"measured {done} of {budget}")


def _show(
    options: Front,
    asker: Any,
    again: list[dict[str, Any]],
    rule: Any,
    limits: tuple[Any, ...],
    *,
    json: bool,
    html: Any,
    figure: Any,
) -> None:
    from rheostat.cli.next import best, best_words
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.core.report import Section
    from rheostat.errors import Infeasible
    from rheostat.explanation.choice import explain_choice, explain_front, front_table
    from rheostat.explanation.narrate import Narrative

    try:
        choice, stop = options.choose(rule, limits), None
    except Infeasible as infeasible:
        choice, stop = None, infeasible
    sections, facts = explain_front(options, None if choice is None else choice.index, None)
    facts |= {"evaluations": len(options), "feasible": stop is None, "choice": None}
    facts["repeats"] = again
    if choice is not None:
        more, reasons = explain_choice(choice, options)
        sections, facts = [*sections, *more], facts | reasons
    elif stop is not None and stop.nearest >= 0:
        facts["nearest"] = options.setting(stop.nearest)
    so_far = best(asker, rule, limits)
    facts |= so_far
    if so_far["expected_better"] is not None:
        sections = [*sections, Section("next", best_words(so_far))]
    report = Narrative("", sections, facts)
    if json:
        put_json("rheostat.search/1", facts)
    else:
        put_report(report, front_table(options, None if choice is None else choice.index, None))
    write_files(report, html, figure)
    if stop is not None:
        raise stop
