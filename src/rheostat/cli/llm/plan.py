"""``rheostat llm plan``: which configuration to serve a model with."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.llm.serving_runs import (
    Config,
    Gpus,
    Kernels,
    Runs,
    configured,
    kernel_medians,
    know_gpus,
    load_runs,
)

if TYPE_CHECKING:
    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.measurement.serving.model_config import ModelConfig
    from rheostat.prediction.serving_law import ServingLaw


def plan(
    context: typer.Context,
    runs: Runs,
    app: Annotated[str, typer.Option(help="The language model, as RUNS names it.")],
    workload: Annotated[str, typer.Option(help="The workload, as RUNS names it.")] = "",
    knob: Annotated[
        list[str] | None,
        typer.Option(
            help="What may be turned, as gpus=1,2,4 or power_cap_w=400..700/100; others stay as "
            "models of this architecture were run. Repeatable."
        ),
    ] = None,
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
    output_tokens: Annotated[float, typer.Option(help="Tokens of an answer.", min=0.0)] = 0.0,
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
    config: Config = None,
    gpu: Gpus = None,
    engine: Annotated[
        str, typer.Option(help="Whose command line is printed: vllm or sglang.")
    ] = "vllm",
    kernels: Kernels = None,
    replicas: Annotated[
        int, typer.Option(help="Most replicas for the trace.", min=1, max=1000)
    ] = 8,
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    unit: o.Units = None,
    json: o.Json = False,
) -> None:
    """Take the configuration with the least energy per token within the limits, or cost, or carbon.

    Configurations that RUNS hold for this model show their measurement, the law fills the others.
    What simple rules would take, and what that costs more, stands below.  With --trace candidates
    serve the trace in simulation, each with the fewest replicas that hold --ttft.
    """
    from rheostat.cli.llm.plan_output import ServedTrace, about_the_law, show, show_for_trace
    from rheostat.cli.output import tell, tell_notes
    from rheostat.decision.serving.engine_line import engine_line
    from rheostat.errors import DataError, Infeasible
    from rheostat.prediction.serving_law import ServingLaw
    from rheostat.questions.llm.serving_limits import (
        MEMORY,
        TTFT,
        refuse_beyond_measured,
        with_limits,
    )
    from rheostat.questions.llm.serving_model import CacheSize
    from rheostat.questions.llm.standing_rule import standing
    from rheostat.recipes.energylens import notes_on, simple_rules
    from rheostat.recipes.energylens import plan as planned
    from rheostat.tradeoff.limits import Limit
    from rheostat.tradeoff.rules import Weighted

    if trace is not None and minimise != "energy":
        said = f"on a --trace energy alone is minimised, got {minimise}: leave one of them out"
        raise DataError("--minimise", [said])
    know_gpus(context, gpu)
    engine_line(app, {"batch_cap": 1}, engine)  # an unknown one is refused before the fit
    jobs, model = configured(load_runs(runs, form, mapped, column, unit), app, config)
    prior, cache = kernel_medians(kernels), CacheSize(model)
    law = ServingLaw(kernels=prior).fit(jobs)
    tell_notes(notes_on(jobs))
    own = _of_app(law, jobs, app, workload, model)
    settings = _settings(jobs, own, knob)
    own = _of_lengths(law, own, prompt_tokens, output_tokens)
    front, aim = _aimed(planned(law, jobs, own, settings), minimise, gpu_price, kwh_price, carbon)
    refuse_beyond_measured(jobs, prompt_tokens, context_tokens, output_tokens)
    front = with_limits(front, law, prompt_tokens, context_tokens, cache)
    first = "" if trace else ttft
    if first and not prompt_tokens:
        raise DataError("--ttft", ["needs --prompt-tokens, or a --trace of requests"])
    limits = _limits(law, {"itl_s": itl, "power_w": power, TTFT: first})
    limits += [Limit(MEMORY, memory, "")] if context_tokens else []
    if trace is not None:
        served = ServedTrace(trace, ttft or "10s", replicas, cache)
        show_for_trace(law, front, allowed(front, limits), served, json=json, html=html,
                       figure=figure)  # fmt: skip
        return
    more = partial(about_the_law, law, jobs, prior)
    rule, alike = Weighted({aim: 1.0}), replace(front, repeats=None)  # the law knows all runs
    try:
        choice = alike.choose(rule, limits)
    except Infeasible as stop:
        show(front, None, {}, more=more, json=json, html=html, figure=figure, stop=stop)
        raise
    simple = simple_rules(front, allowed(front, limits))
    kept = standing(law, jobs, front, rule, choice.index, simple) if minimise == "energy" else None
    if kept:
        choice = alike.choose(kept, limits)
        tell(str(kept))
    line = engine_line(app, front.setting(choice.index), engine)
    show(front, choice, simple, aim, more=more, json=json, html=html, figure=figure, line=line)


def _aimed(
    front: Front, minimise: str, gpu_price: list[str] | None, kwh_price: float, carbon: float
) -> tuple[Front, str]:
    """The front with what prices add to it, and the quantity to minimise."""
    from rheostat.errors import DataError
    from rheostat.questions.llm.serving_prices import CARBON, COST, EVERY, Prices, priced

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


def _of_app(
    law: ServingLaw, jobs: JobTable, app: str, workload: str, model: ModelConfig | None
) -> JobTable:
    """Runs of the service; of a model that was not run, rows without a measurement."""
    from rheostat.cli.output import tell, tell_notes
    from rheostat.explanation.interval_words import new_model_words
    from rheostat.recipes.energylens import mixed_workloads, of_service
    from rheostat.recipes.new_model import as_service, is_new

    if model is not None and is_new(jobs, app):
        tell(new_model_words(law, app))
        return as_service(jobs, app, model, workload)
    own = of_service(jobs, app, workload)
    tell_notes(mixed_workloads(own))
    return own


def _limits(law: ServingLaw, texts: dict[str, str]) -> list[Any]:
    """Limits as asked; refused where one has a confidence and intervals do not hold."""
    limits = [_limit(q, text) for q, text in texts.items() if text]
    _held(law, limits)
    return limits


def _settings(jobs: JobTable, own: JobTable, knob: list[str] | None) -> list[dict[str, Any]]:
    """What is offered, with the knobs as asked."""
    from rheostat.errors import DataError
    from rheostat.questions.parse import parse_space
    from rheostat.recipes.energylens import offered, turned

    settings = offered(jobs, own)
    if knob:
        settings = turned(settings, parse_space(knob).settings())
    if not settings:
        raise DataError("--knob", ["no such setting has as many GPUs as its split needs"])
    return settings


def _of_lengths(
    law: ServingLaw, own: JobTable, prompt_tokens: float, output_tokens: float
) -> JobTable:
    """Runs of requests so long; says which, and how often the law's intervals hold."""
    from rheostat.cli.output import tell, tell_notes
    from rheostat.explanation.interval_words import interval_words
    from rheostat.questions.llm.serving_lengths import at_lengths

    own, notes = at_lengths(own, prompt_tokens, output_tokens)
    tell_notes(notes)
    for text in interval_words(law):
        tell(text)
    return own


def _held(law: ServingLaw, limits: list[Any]) -> None:
    """Refuse limits with a confidence where intervals do not hold."""
    from rheostat.explanation.interval_words import refuse_unheld

    for limit in limits:
        refuse_unheld(law, limit.quantity, limit.confidence)


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


def allowed(front: Front, limits: list[Any]) -> Any:
    """Which configurations are known and hold the limits, (n,)."""
    import numpy as np

    allowed = np.asarray(np.isfinite(front.values).all(axis=1))
    for limit in limits:
        allowed &= np.nan_to_num(limit.excess(front), nan=1.0) <= 0
    return allowed
