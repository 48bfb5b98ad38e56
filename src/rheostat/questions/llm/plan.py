"""`llm.plan`: which configuration to serve a model with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.space import Setting
from rheostat.decision.serving.engine_line import engine_line
from rheostat.errors import DataError, Infeasible
from rheostat.explanation.interval_words import (
    new_model_words,
    refuse_unheld,
)
from rheostat.measurement.serving.model_config import ModelConfig
from rheostat.measurement.serving.serving_names import our_name
from rheostat.prediction.accelerators import stating
from rheostat.prediction.serving_law import ServingLaw
from rheostat.questions import inputs, listener
from rheostat.questions.listener import question
from rheostat.questions.llm.measured_cost import MeasuredCostAnswer, measured_cost, unmetered
from rheostat.questions.llm.plan_answer import PlanAnswer
from rheostat.questions.llm.plan_runs import as_runs
from rheostat.questions.llm.runs import (
    Files,
    Pairs,
    Sheets,
    configured,
    kernel_medians,
    load_runs,
    parse_sheets,
    refuse_unstated,
)
from rheostat.questions.llm.serving_lengths import at_lengths
from rheostat.questions.llm.serving_limits import (
    MEMORY,
    TTFT,
    overfull,
    refuse_beyond_measured,
    with_limits,
)
from rheostat.questions.llm.serving_model import CacheSize
from rheostat.questions.llm.serving_prices import CARBON, COST, Prices, priced, prices_in
from rheostat.questions.llm.standing_rule import standing
from rheostat.questions.llm.trace import for_trace
from rheostat.questions.parse import HourPrices, Knobs, parse_hour_prices, parse_limit, parse_space
from rheostat.questions.written import write_csv
from rheostat.recipes.energylens import (
    KNOBS,
    PRECISION,
    caps_between,
    in_engines,
    mixed_precisions,
    mixed_workloads,
    notes_on,
    of_service,
    offered,
    runnable,
    simple_rules,
    turned,
)
from rheostat.recipes.energylens import plan as planned
from rheostat.recipes.new_model import as_service, is_new
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.rules import Weighted

AIMS = {"energy": "energy_per_token_j", "cost": COST, "carbon": CARBON}


@question
def plan(
    runs: Files,
    app: str = "",
    *,
    workload: str = "",
    knobs: Knobs = None,
    itl: str | Limit = "",
    power: str | Limit = "",
    ttft: str | Limit = "",
    minimise: str = "energy",
    gpu_price: HourPrices = (),
    kwh_price: float = 0.0,
    carbon_g_per_kwh: float = 0.0,
    trace: inputs.Jobs | None = None,
    prompt_tokens: float = 0.0,
    output_tokens: float = 0.0,
    context_tokens: float = 0.0,
    memory: float = 0.9,
    model_config: Path | str | None = None,
    gpus: Sheets = (),
    engine: str = "vllm",
    kernels: Path | str | None = None,
    replicas: int = 8,
    out: Path | str | None = None,
    format: str = "",
    columns: Path | None = None,
    renamed: Pairs = (),
    units: Pairs = (),
) -> PlanAnswer | MeasuredCostAnswer:
    """Take the configuration with the least energy per token within the limits, or cost, or carbon.

    Configurations that the runs hold for this model show their measurement, the law fills the
    others.

    Parameters
    ----------
    runs : JobTable, path or several paths
        Measured configurations: gpu_model, gpus, batch_cap, app, params, itl_s,
        energy_per_token_j.
    app, workload : str
        The language model and the workload, as the runs name them; a model that they do not hold
        is planned from its ``model_config``.  Runs of one model need no ``app``.
    knobs : Space, Knob, several Knobs, or texts
        What may be turned, as ``gpus=1,2,4``; others stay as models of this architecture were run.
    itl, power, ttft : str or Limit
        Most time between tokens, as ``"50ms@0.9"``; most power; most time to the first token: over
        the trace for 99 %, else of a request of ``prompt_tokens`` that finds a place.
    minimise : str
        energy, cost or carbon, of a token.
    gpu_price : float, mapping, or texts
        Of a GPU-hour: 2.5, or by type as ``{"H100": 2.5}``.
    kwh_price, carbon_g_per_kwh : float
        Price and carbon of a kilowatt-hour.
    trace : JobTable or path, optional
        Also choose replicas and order for these requests: the answer is a `TraceAnswer`.
    prompt_tokens, output_tokens, context_tokens : float
        Of a prompt, of an answer, and of a running request: the caches of a full batch of these
        have to fit ``memory``.
    memory : float
        Share of the GPUs' memory that may be taken.
    model_config, kernels : path, optional
        The model's config.json; a directory of kernel tables as prior of their GPUs.
    gpus : sequence of str or mapping
        Types of GPU by their data sheets, as ``"NAME=TB/s,TFLOPs,W,GB"``.
    engine : str
        Whose command line starts it: vllm or sglang.
    replicas : int
        Most replicas for the trace.
    out : path, optional
        Also write the configurations that hold the limits as runs under caps, a CSV file for
        `budget.plan` and `site.what_if`.
    format, columns, renamed, units
        How a file is read.

    Returns
    -------
    PlanAnswer or MeasuredCostAnswer
        With ``setting``, ``front``, ``choice`` and ``simple``: what simple rules would take; of
        runs without watts by the price of GPUs, with ``front`` and ``choice`` of measured ones.

    Raises
    ------
    DataError
        The model is unknown, or a limit cannot be judged.
    Infeasible
        No configuration holds the limits.

    Examples
    --------
    >>> import rheostat as rh
    >>> runs = rh.table({
    ...     "app": ["a"] * 4, "params": [8e9] * 4, "gpu_model": ["H100", "H100", "A100", "A100"],
    ...     "gpus": [1] * 4, "batch_cap": [8, 32, 8, 32], "itl_s": [0.010, 0.014, 0.013, 0.018],
    ...     "energy_per_token_j": [0.5, 0.2, 0.6, 0.25]})
    >>> answer = rh.llm.plan(runs, "a", itl="15ms")
    >>> answer.setting["batch_cap"]
    32
    """
    if trace is not None and minimise != "energy":
        said = f"on a --trace energy alone is minimised, got {minimise}: leave one of them out"
        raise DataError("--minimise", [said])
    if trace is not None and out is not None:
        said = "what holds a --trace is replicas, not one configuration: leave one of them out"
        raise DataError("--out", [said])
    engine_line("model", {"batch_cap": 1}, engine)  # an unknown one is refused before the fit
    sheets = parse_sheets(gpus)
    prices = Prices(parse_hour_prices(gpu_price), kwh_price, carbon_g_per_kwh)
    with stating(sheets):
        if minimise == "cost" and not (kwh_price or trace or out or power or ttft):
            given = runs if isinstance(runs, JobTable) else inputs.paths(runs)
            if (bare := unmetered(given, renamed, units)) is not None:
                limits = [parse_limit("itl_s", itl)] if itl else []
                prices = _with_prices(prices, minimise, bare)
                return measured_cost(bare, app or _only_app(bare), workload, prices, limits)
        jobs = load_runs(runs, format, columns, renamed, units)
        prices = _with_prices(prices, minimise, jobs)
        app = app or _only_app(jobs)
        jobs, model = configured(jobs, app, model_config)
        refuse_unstated(jobs, "params", "itl_s", "energy_per_token_j")
        prior, cache = kernel_medians(kernels), CacheSize(model)
        law = ServingLaw(kernels=prior).fit(jobs)
        listener.notes(notes_on(jobs))
        own = _of_app(law, jobs, app, workload, model)
        settings = _settings(jobs, own, knobs)
        own = _of_lengths(own, prompt_tokens, output_tokens)
        front, aim = _aimed(planned(law, jobs, own, settings), minimise, prices)
        refuse_beyond_measured(jobs, prompt_tokens, context_tokens, output_tokens)
        front = with_limits(front, law, prompt_tokens, context_tokens, cache, jobs)
        first = "" if trace is not None else ttft
        if first and not prompt_tokens:
            raise DataError("--ttft", ["needs --prompt-tokens, or a --trace of requests"])
        limits = _limits(law, {"itl_s": itl, "power_w": power, TTFT: first})
        limits += [Limit(MEMORY, memory, "")] if context_tokens else []
        if trace is not None:
            return for_trace(app, law, jobs, front, _allowed(front, limits), trace, ttft=ttft,
                             most=replicas, cache=cache, engine=engine)  # fmt: skip
        if out is not None:
            write_csv(as_runs(app, front, _allowed(front, limits)).frame, out)
        answer = PlanAnswer(app=app, engine=engine, law=law, front=front, aim=aim, runs=jobs,
                            kernels=prior, gpus=sheets)  # fmt: skip
        return _chosen(answer, limits, cache, standing_too=minimise == "energy")


def _only_app(jobs: JobTable) -> str:
    """The model of runs of one model; of several, a `DataError` names them."""
    jobs.require("app")
    names = jobs.frame["app"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    if len(names) != 1:
        said = f"runs of {len(names)} models; take one: {', '.join(map(quote, names))}"
        raise DataError("--app", [said])
    return str(names[0])


def _with_prices(prices: Prices, minimise: str, runs: JobTable) -> Prices:
    """Prices with those of the runs' own column, where cost is asked for and none was given."""
    if prices.gpu_hour or minimise != "cost":
        return prices
    hours, said = prices_in(runs)
    for words in said:
        listener.note(words)
    return replace(prices, gpu_hour=hours)


def _aimed(front: Front, minimise: str, prices: Prices) -> tuple[Front, str]:
    """The front with what prices add to it, and the quantity to minimise."""
    if minimise not in AIMS:
        raise DataError("--minimise", [f"expected {', '.join(AIMS)}, got {minimise!r}"])
    front = priced(front, prices)
    if AIMS[minimise] not in front.outcome:
        raise DataError("--minimise", [f"{minimise} needs --gpu-price or --carbon"])
    return front, AIMS[minimise]


def _settings(jobs: JobTable, own: JobTable, knobs: Knobs) -> Sequence[Setting]:
    """What is offered, with the knobs as asked."""
    settings, drawn = offered(jobs, own)
    listener.notes(drawn)
    asked = _asked(jobs, knobs) if knobs else []
    if not any("batch_cap" in setting for setting in asked):
        _tell_caps_between(jobs, own)
    if knobs:
        settings = turned(settings, asked)
        made, settings = settings, runnable(settings, own)
        if made and not settings:
            problem = "no such setting has memory for the weights of all its copies"
            raise DataError("--knob", [problem])
    if settings:
        settings, chosen_too = in_engines(own, settings)
        listener.notes(chosen_too)
    if len({s.get(PRECISION) for s in settings}) > 1:
        listener.notes(mixed_precisions(own))
    if not settings:
        raise DataError("--knob", ["no such setting has as many GPUs as its split needs"])
    return settings


def _tell_caps_between(jobs: JobTable, own: JobTable) -> None:
    """Say which batch caps the law could answer for that other models ran, and how to ask."""
    if between := caps_between(jobs, own):
        every = sorted({*own.frame["batch_cap"].to_list(), *between})
        new, asked = (",".join(map(str, caps)) for caps in (between, every))
        listener.note(
            f"batch caps {new}, which other models ran and this one did not, are not offered: "
            f"--knob batch_cap={asked} asks the law about them, too"
        )


def _asked(jobs: JobTable, knobs: Knobs) -> list[Setting]:
    """Values of the knobs, which may have their names in the table that was read."""
    space = parse_space(knobs)
    ours = {n: n if n in jobs.columns else our_name(n) for n in space.names}
    known = {*jobs.columns, *KNOBS}
    if unknown := [n for n, name in ours.items() if name not in known]:
        said = f"expected one of {', '.join(KNOBS)}, got {', '.join(unknown)}"
        raise DataError("--knob", [said])
    return [{ours[n]: v for n, v in setting.items()} for setting in space.settings()]


def _of_lengths(own: JobTable, prompt_tokens: float, output_tokens: float) -> JobTable:
    """Runs of requests so long; says which."""
    own, notes = at_lengths(own, prompt_tokens, output_tokens)
    listener.notes(notes)
    return own


def _of_app(
    law: ServingLaw, jobs: JobTable, app: str, workload: str, model: ModelConfig | None
) -> JobTable:
    """Runs of the service; of a model that was not run, rows without a measurement."""
    if model is not None and is_new(jobs, app):
        listener.line(new_model_words(law, app))
        return as_service(jobs, app, model, workload)
    own = of_service(jobs, app, workload)
    listener.notes(mixed_workloads(own))
    return own


def _limits(law: ServingLaw, asked: Mapping[str, str | Limit]) -> list[Limit]:
    """Limits as asked; refused where one has a confidence and intervals do not hold."""
    limits = [parse_limit(quantity, text) for quantity, text in asked.items() if text]
    for limit in limits:
        refuse_unheld(law, limit.quantity, limit.confidence)
    return limits


def _chosen(
    answer: PlanAnswer, limits: Sequence[Limit], cache: CacheSize, *, standing_too: bool
) -> PlanAnswer:
    """The answer with its choice; an error that carries the front where nothing holds the limits.

    The law's choice gives way to a standing rule where that is the surer.
    """
    front, law = answer.front, answer.law
    rule, alike = (
        Weighted({answer.aim: 1.0}),
        replace(front, repeats=None),
    )  # the law knows all runs
    listener.notes(front.outcome.notes)
    try:
        choice = alike.choose(rule, limits)
    except Infeasible as stop:
        stop.answer = replace(answer, nearest=stop.nearest)
        raise
    simple = simple_rules(front, _allowed(front, limits))
    kept = standing(law, answer.runs, front, rule, choice.index, simple) if standing_too else None
    if kept:
        choice = alike.choose(kept, limits)
        listener.line(str(kept))
    if choice.because.evidence != "measured":
        listener.notes(overfull(front.alternatives, choice.index, cache))
    return replace(answer, choice=choice, simple=simple)


def _allowed(front: Front, limits: Sequence[Limit]) -> NDArray[np.bool_]:
    """Which configurations are known and hold the limits, (n,)."""
    allowed = np.asarray(np.isfinite(front.values).all(axis=1))
    for limit in limits:
        allowed &= np.nan_to_num(limit.excess(front), nan=1.0) <= 0
    return allowed
