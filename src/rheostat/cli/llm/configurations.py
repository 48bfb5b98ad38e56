"""``rheostat llm fit`` and ``plan``: what a served model costs, and which configuration to take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import knob_options
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.core.report import Section
    from rheostat.prediction.serving_law import ServingLaw

WORDS = {"energy_per_token_j": "energy", "cost_per_mtoken": "cost", "carbon_g_per_mtoken": "carbon"}

Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Measured configurations, one or more files: an ML.ENERGY table, or any table of runs "
        "with gpu_model, gpus, batch_cap, app, params, itl_s and energy_per_token_j (--map).",
        metavar="RUNS...",
    ),
]


Kernels = Annotated[
    Path | None,
    typer.Option(help="Kernel tables (a directory of AIConfigurator's) as prior of their GPUs."),
]


def fit(
    runs: Runs,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equation as LaTeX.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print a Python function.")] = False,
    next_count: Annotated[
        int, typer.Option("--next", min=0, help="Also name this many configurations to measure.")
    ] = 0,
    symbolic: Annotated[
        str,
        typer.Option(
            help="Find a formula instead: products (sums of products of powers) or operon (genetic "
            "programming, extra symbolic)."
        ),
    ] = "",
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Keep the law in this file.", writable=True)
    ] = None,
    kernels: Kernels = None,
    seed: o.Seed = 0,
    where: o.Where = None,
    form: o.Form = "",
    mapped: o.Map = None,
    unit: o.Units = None,
    json: o.Json = False,
) -> None:
    """Fit the law of time and energy per token to measured configurations, and print it.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by RUNS.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.prediction import persist
    from rheostat.prediction.serving_law import ServingLaw, equation
    from rheostat.recipes.energylens import notes_on

    jobs = o.only(o.load(runs, form, mapped, units=unit), where)
    if symbolic:
        _formula(jobs, symbolic, save, seed, json=json)
        return
    law = ServingLaw(kernels=_prior(kernels)).fit(jobs)
    tell_notes(notes_on(jobs))
    if save is not None:
        persist.save(law, save)
        tell(f"wrote {save}")
    wanted = _to_measure(law, jobs, next_count) if next_count else []
    if len(wanted) < next_count:
        tell(
            f"{len(wanted)} of {next_count} named: no other placement and batch cap in RUNS is open"
        )
    if json:
        intervals = equation.intervals(law)
        said = {k: {"value": v, "low": a, "high": b} for k, (v, a, b) in intervals.items()}
        put_json("rheostat.llm-law/1", {"runs": len(jobs), "parameters": said,
                                        "equation": equation.TEXT, "next": wanted})  # fmt: skip
        return
    write = equation.as_latex if latex else equation.as_python if python else equation.as_text
    print(write(law))
    for setting in wanted:
        print("next: " + ", ".join(f"{k}={v}" for k, v in setting.items()))


def plan(
    runs: Runs,
    app: Annotated[str, typer.Option(help="The language model, as RUNS names it.")],
    workload: Annotated[str, typer.Option(help="The workload, as RUNS names it.")] = "",
    knob: o.Knobs = None,
    itl: Annotated[str, typer.Option(help="Most time between tokens, as 50ms or 50ms@0.9.")] = "",
    power: Annotated[str, typer.Option(help="Most power of the deployment, as 2kW@0.9.")] = "",
    minimise: Annotated[str, typer.Option(help="energy, cost or carbon, of a token.")] = "energy",
    gpu_price: Annotated[
        list[str] | None,
        typer.Option(help="Price of a GPU-hour: 2.5, or by type H100=2.5. Repeatable."),
    ] = None,
    kwh_price: Annotated[float, typer.Option(help="Price of a kilowatt-hour.", min=0.0)] = 0.0,
    carbon: Annotated[
        float, typer.Option(help="Carbon of electricity, gCO2e per kWh.", min=0.0)
    ] = 0.0,
    trace: Annotated[
        Path | None,
        typer.Option(help="Also choose replicas and order for this trace of requests."),
    ] = None,
    ttft: Annotated[
        str,
        typer.Option(
            help="Most time to the first token: over the trace for 99 % (10s), else of a "
            "request that finds a place, with --prompt-tokens, as 500ms@0.9."
        ),
    ] = "",
    prompt_tokens: Annotated[float, typer.Option(help="Tokens of a prompt.", min=0.0)] = 0.0,
    context_tokens: Annotated[
        float,
        typer.Option(
            help="Tokens of a running request, prompt and answer: the caches of a full "
            "batch have to fit --memory.",
            min=0.0,
        ),
    ] = 0.0,
    memory: Annotated[
        float, typer.Option(help="Share of the GPUs' memory that may be taken.", min=0.0, max=1.0)
    ] = 0.9,
    kernels: Kernels = None,
    replicas: Annotated[int, typer.Option(help="Most replicas for the trace.", min=1)] = 8,
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    unit: o.Units = None,
    json: o.Json = False,
) -> None:
    """Take the configuration with the least energy per token within the limits, or cost, or carbon.

    Configurations that RUNS hold for this model show their measurement, the law fills the others.
    What simple rules would take, and what that costs more, stands below.  With --trace candidates
    serve the trace in simulation, each with the fewest replicas that hold --ttft.
    """
    from rheostat.cli.output import tell, tell_notes
    from rheostat.errors import DataError, Infeasible
    from rheostat.prediction.serving_law import ServingLaw
    from rheostat.recipes.energylens import notes_on, of_service, offered, turned
    from rheostat.recipes.energylens import plan as planned
    from rheostat.recipes.serving_limits import MEMORY, TTFT, refuse_beyond_measured, with_limits
    from rheostat.recipes.standing_rule import standing
    from rheostat.tradeoff.limits import Limit
    from rheostat.tradeoff.rules import Weighted

    jobs = o.load(runs, form, mapped, units=unit)
    prior = _prior(kernels)
    law = ServingLaw(kernels=prior).fit(jobs)
    tell_notes(notes_on(jobs))
    own = of_service(jobs, app, workload)
    settings = turned(offered(jobs, own), knob_options.space(knob).settings()) if knob else None
    front, aim = _aimed(planned(law, jobs, own, settings), minimise, gpu_price, kwh_price, carbon)
    refuse_beyond_measured(jobs, prompt_tokens, context_tokens)
    front = with_limits(front, law, prompt_tokens, context_tokens)
    first = "" if trace else ttft
    if first and not prompt_tokens:
        raise DataError("--ttft", ["needs --prompt-tokens, or a --trace of requests"])
    asked = (("itl_s", itl), ("power_w", power), (TTFT, first))
    limits = [_limit(q, text) for q, text in asked if text]
    limits += [Limit(MEMORY, memory, "")] if context_tokens else []
    if trace is not None:
        _for_trace(law, front, limits, trace, ttft or "10s", replicas, json=json)
        return
    rule = Weighted({aim: 1.0})
    more = partial(_about_the_law, law, jobs, prior)
    try:
        choice = front.choose(rule, limits)
    except Infeasible as stop:
        _show(front, None, {}, more=more, json=json, html=html, figure=figure, stop=stop)
        raise
    simple = _simple(front, limits)
    kept = standing(law, jobs, front, rule, choice.index, simple) if minimise == "energy" else None
    if kept:
        choice = front.choose(kept, limits)
        tell(str(kept))
    _show(front, choice, simple, aim, more=more, json=json, html=html, figure=figure)


def _prior(directory: Path | None) -> dict[str, dict[str, float]] | None:
    """Prior medians from kernel tables, where a directory of them is given."""
    from rheostat.cli.output import tell, working
    from rheostat.measurement.serving.kernel_tables import read_kernels
    from rheostat.recipes.kernel_prior import kernel_prior

    if directory is None:
        return None
    with working(f"reading {directory}"):
        made = kernel_prior(read_kernels(directory))
    for device, numbers in made.items():
        tell(f"{device}: " + ", ".join(f"{k} {v:.2f}" for k, v in numbers.items()))
    return made


def _aimed(
    front: Front, minimise: str, gpu_price: list[str] | None, kwh_price: float, carbon: float
) -> tuple[Front, str]:
    """The front with what prices add to it, and the quantity to minimise."""
    from rheostat.errors import DataError
    from rheostat.recipes.serving_prices import CARBON, COST, EVERY, Prices, priced

    hours = {}
    for text in gpu_price or ():
        name, _, value = text.rpartition("=")
        try:
            hours[name or EVERY] = float(value)
        except ValueError as error:
            raise DataError("--gpu-price", [f"expected 2.5 or H100=2.5, got {text!r}"]) from error
    aims = {"energy": "energy_per_token_j", "cost": COST, "carbon": CARBON}
    if minimise not in aims:
        raise DataError("--minimise", [f"expected {', '.join(aims)}, got {minimise!r}"])
    front = priced(front, Prices(hours, kwh_price, carbon))
    if aims[minimise] not in front.outcome:
        raise DataError("--minimise", [f"{minimise} needs --gpu-price or --carbon"])
    return front, aims[minimise]


def _for_trace(
    law: ServingLaw, front: Front, limits: list[Any], trace: Path, ttft: str, most: int, *,
    json: bool,
) -> None:  # fmt: skip
    """Candidates on the trace: the best first, with what it is beside first come, first served."""
    from rheostat.cli.output import put_json, tell, tell_notes, working
    from rheostat.core.units import parse_quantity
    from rheostat.measurement.serving.traffic import read_traffic
    from rheostat.recipes.serving_trace import TraceLimits, best_for_trace, plan_for_trace

    requests = read_traffic(trace)
    tell_notes(requests.notes)
    counts = [n for n in (2**k for k in range(12)) if n <= most]
    with working(f"serving {len(requests):,} requests with every candidate"):
        rows = plan_for_trace(law, front, requests, TraceLimits(parse_quantity(ttft, "s")),
                              counts, _allowed(front, limits))  # fmt: skip
    best = best_for_trace(rows)
    if json:
        put_json("rheostat.llm-plan/1", {"requests": len(requests), "candidates": rows,
                 "choice": best, "feasible": True})  # fmt: skip
        return
    keys = [k for k in best if k not in ("setting", "excess")]
    print("\t".join([*best["setting"], *keys]))
    for row in rows:
        cells = [row[k] for k in keys]
        said = (f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells)
        print("\t".join([*map(str, row["setting"].values()), *said]))
    tell(f"least energy: {best['replicas']} x " + ", ".join(
        f"{k}={v}" for k, v in best["setting"].items()) + f", {best['order']}")  # fmt: skip


def _formula(jobs: JobTable, kind: str, save: Path | None, seed: int, *, json: bool) -> None:
    """A formula found in the runs, and how far it is from them."""
    import numpy as np

    from rheostat.cli.output import put_json, tell
    from rheostat.errors import DataError
    from rheostat.prediction.serving_law.operon_law import OperonLaw
    from rheostat.prediction.serving_law.products import TARGET, ProductLaw

    if kind not in ("products", "operon"):
        raise DataError("--symbolic", [f"expected products or operon, got {kind!r}"])
    if save is not None:
        raise DataError("--save", ["keeps the law; a formula is a line of text"])
    jobs.require(TARGET)
    model = ProductLaw() if kind == "products" else OperonLaw(seed=seed)
    model.fit(jobs)
    away = np.abs(model.predict(jobs).mean(TARGET) / jobs.numpy(TARGET) - 1)
    error = float(np.nanmedian(away))
    if json:
        put_json("rheostat.llm-formula/1", {"runs": len(jobs), "equation": model.as_text(),
                                            "median_error": error})  # fmt: skip
        return
    print(model.as_text())
    tell(f"median error of the {len(jobs)} runs learned from: {100 * error:.1f} %")


def _to_measure(law: ServingLaw, jobs: JobTable, count: int) -> list[dict[str, Any]]:
    from rheostat.recipes.energylens import knobs_in, to_measure

    names = [n for n in ("app", "workload", *knobs_in(jobs)) if n in jobs.columns]
    return to_measure(law, jobs, count).frame.select(names).rows(named=True)


def _limit(quantity: str, text: str) -> Any:
    from rheostat.core.units import parse_quantity
    from rheostat.errors import DataError
    from rheostat.tradeoff.limits import Limit

    value, _, confidence = text.partition("@")
    unit = "W" if quantity == "power_w" else "s"
    try:
        return Limit(quantity, parse_quantity(value, unit), unit, float(confidence or 0.5))
    except ValueError as error:
        raise DataError(quantity, [f"expected a confidence as @0.9, got {text!r}"]) from error


def _simple(front: Front, limits: list[Any]) -> dict[str, int]:
    """What simple rules take among the configurations that hold the limits."""
    from rheostat.recipes.energylens import simple_rules

    return simple_rules(front, _allowed(front, limits))


def _allowed(front: Front, limits: list[Any]) -> Any:
    """Which configurations are known and hold the limits, (n,)."""
    import numpy as np

    allowed = np.asarray(np.isfinite(front.values).all(axis=1))
    for limit in limits:
        allowed &= np.nan_to_num(limit.excess(front), nan=1.0) <= 0
    return allowed


def _show(
    front: Front,
    choice: Any,
    simple: dict[str, int],
    aim: str = "energy_per_token_j",
    *,
    more: Callable[[], tuple[list[Section], dict[str, Any]]],
    json: bool,
    html: Path | None,
    figure: Path | None,
    stop: Any = None,
) -> None:
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, write_files
    from rheostat.explanation.choice import explain_choice, explain_front, front_table
    from rheostat.explanation.narrate import Narrative

    row = None if choice is None else choice.index
    sections, facts = explain_front(front, row, None)
    facts |= {"feasible": stop is None, "choice": None, "simple_rules": {}}
    if choice is not None:
        reasons, chosen = explain_choice(choice, front)
        sections, facts = [*sections, *reasons], facts | chosen
        energy, value = front.mean("energy_per_token_j"), front.mean(aim)
        facts["minimised"] = aim
        facts["simple_rules"] = {
            name: {"setting": front.setting(i), "energy_ratio": float(energy[i] / energy[row]),
                   "ratio": float(value[i] / value[row])}
            for name, i in simple.items()
        }  # fmt: skip
    elif stop is not None and stop.nearest >= 0:
        facts["nearest"] = front.setting(stop.nearest)
    report = Narrative("", sections, facts)
    if json:
        put_json("rheostat.llm-plan/1", facts)
    else:
        put_report(report, front_table(front, row, None))
        if choice is not None and not sys.stdout.isatty():
            tell(sections[1].sentences[0])
        for name, rule in facts["simple_rules"].items():
            said = ", ".join(f"{k}={v}" for k, v in rule["setting"].items())
            tell(f"{name}: {said}: {100 * (rule['ratio'] - 1):+.1f} % {WORDS[aim]} per token")
        tell_notes(front.outcome.notes)
    if html is not None or figure is not None:
        added, checked = more() if html is not None else ([], {})
        facts |= {"accuracy": checked} if checked else {}
        write_files(Narrative("", [*sections, *added], facts), html, figure)


def _about_the_law(
    law: ServingLaw, runs: JobTable, prior: dict[str, dict[str, float]] | None
) -> tuple[list[Section], dict[str, Any]]:
    """Sections on the law and on how far it is from runs that it did not learn from."""
    from rheostat.cli.output import working
    from rheostat.core.report import Section
    from rheostat.prediction.serving_law.equation import as_text
    from rheostat.recipes.serving_accuracy import calibration_sections

    with working("predicting runs by laws that did not see them"):
        sections, facts = calibration_sections(runs, prior)
    return [Section("The law", listing=as_text(law)), *sections], facts
