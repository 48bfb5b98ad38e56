"""``rheostat search``: measure one's own code at a few well-chosen settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
        str,
        typer.Option(
            help="Command to run; {nodes}, outside quotes, is the value of the knob nodes."
        ),
    ],
    budget: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Settings to measure in all.")
    ] = 8,
    journal: Annotated[
        Path | None, typer.Option(help="Results on disk as they come; the same call continues.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=10_000, help="Runs of each setting.")] = 1,
    warm_up: Annotated[
        int, typer.Option(min=0, max=10_000, help="Runs of each setting before those that count.")
    ] = 0,
    check: Annotated[
        str,
        typer.Option(help="REGEX in the output of a right run, or 'cmd: COMMAND' that reads it."),
    ] = "",
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
    Runs are timed here. What the command prints counts by its name, as a JSON object on a line:
    {"runtime_s": 12.5, "energy_j": 4100}; a bare number does not. RAPL, NVML or Zeus are read for
    missing watts, where they can, and the report says where each figure came from. Without a meter,
    --objectives runtime_s,node_hours needs no energy, and --power-model predicts it. A run that
    fails, or whose output --check calls wrong, is not asked again.
    """
    from rheostat.cli.output import tell
    from rheostat.core.units import parse_duration
    from rheostat.questions import inputs
    from rheostat.questions.next_settings import repeat_words, repeats
    from rheostat.questions.parse import parse_objectives, parse_rules, space_file
    from rheostat.recipes.search_defaults import UNUSED_PRIOR, distinct, proposer, uses_prior
    from rheostat.tradeoff.measured_cells import tell_runs
    from rheostat.tradeoff.search import search as run

    knobs = space_file(space)
    wanted = parse_objectives(objectives)
    inputs.countable(wanted, knobs.names)
    o.two_to_draw(figure, wanted)
    chosen_by, limits = parse_rules(rule, within)
    past = inputs.load(prior, knobs=knobs.names) if prior else None
    at_hand = inputs.load(known, knobs=knobs.names) if known else None
    held = 0 if at_hand is None else distinct(at_hand, knobs)
    asker = proposer(
        method, knobs, wanted, limits=limits, prior=past, budget=budget + held, seed=seed
    )
    if prior and not uses_prior(asker):
        tell(UNUSED_PRIOR.format(type(asker).__name__))
    if at_hand is not None:
        tell(f"{tell_runs(asker, at_hand)} settings of {known} are measured already")
    for note in asker.notes:
        tell(f"note: {note.message}")
    seconds = parse_duration(timeout)
    runs = {"repeat": repeat, "timeout_s": seconds, "warm_up": warm_up, "check": check}
    meter = _meter(measure, knobs, wanted, runs, model=power_model)
    again: list[dict[str, Any]] = []

    def announce(asked: JobTable) -> None:
        for setting in repeats(asker, asked):
            again.append(setting)
            tell(repeat_words(setting))

    options = run(
        asker, meter, budget, journal=journal, progress=_progress(json=json), announce=announce
    )
    said = tuple(dict.fromkeys(n.message for n in (*options.outcome.notes, *meter.notes)))
    for message in said:
        tell(f"note: {message}")
    shown = options if at_hand is None else asker.front
    _show(shown, asker, again, said, chosen_by, limits, json=json, html=html, figure=figure)


NO_METER = (
    "note: nothing here reads energy ({why}): the command must print energy_j or power_w. If it "
    "cannot: --objectives {without} needs neither, --power-model predicts power"
)


def _meter(
    line: str, knobs: Space, wanted: tuple[str, ...], runs: dict[str, Any], *, model: Any
) -> Any:
    """What runs the command; before the first run, how its energy will be known."""
    from rheostat.cli.output import tell
    from rheostat.measurement.command import Command
    from rheostat.measurement.meters import meters
    from rheostat.prediction.persist import PREDICTORS, load
    from rheostat.questions import inputs
    from rheostat.recipes.predicted_power import PredictedPower

    watts = {"energy_j", "power_w", "edp_js"} & set(wanted)
    sensors = meters(("rapl", "nvml", "zeus")) if watts and model is None else []
    if sensors and all(s.why() for s in sensors):
        why = "; ".join(f"{s.name}: {s.why()}" for s in sensors)
        tell(NO_METER.format(why=why, without=inputs.without_energy(knobs.names)))
    derived = {"node_hours"} if "nodes" in knobs.names else set()
    printed = [q for q in wanted if q not in (watts | derived if model else derived)]
    run = Command(line, printed, meters=sensors, **runs)
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
    said: tuple[str, ...],
    rule: Any,
    limits: tuple[Any, ...],
    *,
    json: bool,
    html: Any,
    figure: Any,
) -> None:
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.core.report import Section
    from rheostat.errors import Infeasible
    from rheostat.explanation.choice import explain_choice
    from rheostat.explanation.front import explain_front, front_table
    from rheostat.explanation.narrate import Narrative
    from rheostat.questions.next_settings import best_so_far, best_words

    try:
        choice, stop = options.choose(rule, limits), None
    except Infeasible as infeasible:
        choice, stop = None, infeasible
    sections, facts = explain_front(options, None if choice is None else choice.index, None)
    facts |= {"evaluations": len(options), "feasible": stop is None, "choice": None}
    facts["repeats"], facts["notes"] = again, list(said)
    sections = [*sections, Section("measured", tuple(f"{n}." for n in said))] if said else sections
    if choice is not None:
        more, reasons = explain_choice(choice, options)
        sections, facts = [*sections, *more], facts | reasons
    elif stop is not None and stop.nearest >= 0:
        facts["nearest"] = options.setting(stop.nearest)
    so_far = best_so_far(asker, rule, limits)
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
