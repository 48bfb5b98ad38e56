"""``rheostat llm``: what serving a language model costs, and which configuration to take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.prediction.serving_law import ServingLaw

QUEUED = 0.05
"""Share of the time in which requests wait, below which their order is of no account."""

llm = typer.Typer(
    help="Serving language models: an energy law, and the configuration to take.",
    no_args_is_help=True,
)

Runs = Annotated[
    Path,
    typer.Argument(
        help="Measured configurations: an ML.ENERGY table, or any table of runs with gpu_model, "
        "gpus, batch_cap, app, params, itl_s and energy_per_token_j (--map, --column).",
        metavar="RUNS",
    ),
]


@llm.command()
def fit(
    runs: Runs,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equation as LaTeX.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print a Python function.")] = False,
    next_count: Annotated[
        int, typer.Option("--next", min=0, help="Also name this many configurations to measure.")
    ] = 0,
    save: Annotated[
        Path | None, typer.Option("--save", help="Keep the law in this file.", writable=True)
    ] = None,
    where: o.Where = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Fit the law of time and energy per token to measured configurations, and print it.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by RUNS.
    """
    from rheostat.cli.output import put_json, tell
    from rheostat.prediction import persist
    from rheostat.prediction.serving_law import equation

    jobs, law = _fitted(runs, where, form, mapped)
    if save is not None:
        persist.save(law, save)
        tell(f"wrote {save}")
    wanted = _to_measure(law, jobs, next_count) if next_count else []
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


@llm.command()
def plan(
    runs: Runs,
    app: Annotated[str, typer.Option(help="The language model, as RUNS names it.")],
    workload: Annotated[str, typer.Option(help="The workload, as RUNS names it.")] = "",
    knob: o.Knobs = None,
    itl: Annotated[str, typer.Option(help="Most time between tokens, as 50ms or 50ms@0.9.")] = "",
    power: Annotated[str, typer.Option(help="Most power of the deployment, as 2kW@0.9.")] = "",
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Take the configuration with the least energy per token within the limits.

    Configurations that RUNS hold for this model show their measurement, the law fills the others.
    What simple rules would take, and what that costs more, stands below.
    """
    from rheostat.errors import Infeasible
    from rheostat.recipes.energylens import of_service
    from rheostat.recipes.energylens import plan as planned
    from rheostat.tradeoff.rules import Weighted

    jobs, law = _fitted(runs, None, form, mapped)
    own = of_service(jobs, app, workload)
    settings = o.space(knob).settings() if knob else None
    front = planned(law, jobs, own, settings)
    limits = [_limit(q, text) for q, text in (("itl_s", itl), ("power_w", power)) if text]
    rule = Weighted({"energy_per_token_j": 1.0})
    try:
        choice = front.choose(rule, limits)
    except Infeasible as stop:
        _show(front, None, {}, json=json, html=html, figure=figure, stop=stop)
        raise
    _show(front, choice, _simple(front, limits), json=json, html=html, figure=figure)


def _fitted(
    path: Path, where: list[str] | None, form: str, mapped: Path | None
) -> tuple[JobTable, ServingLaw]:
    from rheostat.cli.output import tell_notes
    from rheostat.prediction.serving_law import ServingLaw

    jobs = o.only(o.load(path, form, mapped), where)
    tell_notes(jobs.notes)
    return jobs, ServingLaw().fit(jobs)


def _to_measure(law: ServingLaw, jobs: JobTable, count: int) -> list[dict[str, Any]]:
    from rheostat.recipes.energylens import knobs_in, to_measure

    names = [n for n in ("app", "workload", *knobs_in(jobs)) if n in jobs.columns]
    return to_measure(law, jobs, count).frame.select(names).rows(named=True)


def _limit(quantity: str, text: str) -> Any:
    from rheostat.core.units import parse_quantity
    from rheostat.errors import DataError
    from rheostat.tradeoff.rules import Limit

    value, _, confidence = text.partition("@")
    unit = "s" if quantity == "itl_s" else "W"
    try:
        return Limit(quantity, parse_quantity(value, unit), unit, float(confidence or 0.5))
    except ValueError as error:
        raise DataError(quantity, [f"expected a confidence as @0.9, got {text!r}"]) from error


def _simple(front: Front, limits: list[Any]) -> dict[str, int]:
    """What simple rules take among the configurations that hold the limits."""
    import numpy as np

    from rheostat.recipes.energylens import simple_rules

    allowed = np.asarray(np.isfinite(front.values).all(axis=1))
    for limit in limits:
        allowed &= np.nan_to_num(limit.excess(front), nan=1.0) <= 0
    return simple_rules(front, allowed)


def _show(
    front: Front,
    choice: Any,
    simple: dict[str, int],
    *,
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
        energy = front.mean("energy_per_token_j")
        facts["simple_rules"] = {
            name: {"setting": front.setting(i), "energy_ratio": float(energy[i] / energy[row])}
            for name, i in simple.items()
        }
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
            tell(f"{name}: {said}: {100 * (rule['energy_ratio'] - 1):+.1f} % energy per token")
        tell_notes(front.outcome.notes)
    write_files(report, html, figure)


@llm.command()
def rank(
    requests: Annotated[
        Path,
        typer.Argument(
            help="Answered requests: JSON lines with prompt or messages and the answer or its "
            "tokens, or a table with prompt and output_tokens.",
            metavar="REQUESTS",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option("--model", help="Rank by this model, learn nothing.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Keep the model in this file.", writable=True)
    ] = None,
    column: o.Columns = None,
    test_fraction: Annotated[
        float, typer.Option("--test-fraction", help="Share of the requests kept for the scores.")
    ] = 0.2,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Learn whose answer will be shorter, and say how well that orders other requests.

    Scores are Kendall's tau over all pairs, and the share of pairs in the right order among those
    whose lengths differ by a fifth or more.  The length of the prompt stands beside, as a baseline.
    With --model all requests are ranked by a model saved before.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.measurement.serving.requests import read_requests
    from rheostat.prediction import persist
    from rheostat.recipes.pars import evaluated, ranked

    jobs = read_requests(requests, columns=o.pairs(column, "--column") if column else None)
    tell_notes(jobs.notes)
    if model is not None:
        scores = ranked(persist.load(model, ["prompt-length"]), jobs, seed)
    else:
        fitted, scores = evaluated(jobs, test_fraction, seed)
        if save is not None:
            persist.save(fitted, save)
            tell(f"wrote {save}")
    if json:
        put_json("rheostat.llm-rank/1", {"requests": len(jobs), "methods": scores})
        return
    for name, score in scores.items():
        print(f"{name}\ttau {score['tau']:.3f}\tpairs {100 * score['pair_accuracy']:.1f} %"
              f"\ttests {score['tests']:.0f}")  # fmt: skip


@llm.command()
def simulate(
    trace: Annotated[
        Path,
        typer.Argument(
            help="Requests: an Azure or Mooncake trace, or a table with submit_s, prompt_tokens "
            "and output_tokens.",
            metavar="TRACE",
        ),
    ],
    policies: Annotated[
        str, typer.Option(help="Orders of the waiting requests, comma-separated.")
    ] = "fcfs,shortest-prompt,cost-oracle",
    rate: Annotated[
        float, typer.Option(help="Play the trace this many times as fast.", min=1e-6)
    ] = 1.0,
    batch_cap: Annotated[int, typer.Option(help="Requests that run at once.", min=1)] = 256,
    cache_tokens: Annotated[int, typer.Option(help="Tokens the cache holds.", min=1)] = 400_000,
    chunk: Annotated[int, typer.Option(help="Prompt tokens prefilled in a step.", min=1)] = 2048,
    step: Annotated[
        str,
        typer.Option(
            help="Seconds of a step: of itself, per running request, per token in a cache, per "
            "prefilled token."
        ),
    ] = "8e-3,20e-6,22e-9,22e-6",
    power: Annotated[str, typer.Option(help="Watts without and with a running step.")] = "100,600",
    ageing: Annotated[
        float, typer.Option(help="Seconds of cost that a second of waiting outweighs.", min=0.0)
    ] = 0.0,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:
    """Serve a trace by one replica under several orders, and say whether an order helps.

    Continuous batching with chunked prefill; a full cache puts requests back.  An order can only
    help while requests wait: a line says for how much of the time they do.  cost-oracle knows the
    lengths of the answers beforehand, which no server does: it is the most an order can gain.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.measurement.serving.traffic import read_traffic
    from rheostat.simulation.serving.serve import Replica, serve

    jobs = read_traffic(trace, columns=o.pairs(column, "--column") if column else None)
    tell_notes(jobs.notes)
    jobs = jobs.with_columns([], submit_s=jobs.numpy("submit_s") / rate)
    base_s, request_s, context_s, prefill_s = _numbers(step, 4, "--step")
    idle_w, busy_w = _numbers(power, 2, "--power")
    replica = Replica(batch_cap, cache_tokens, chunk, base_s, request_s, context_s, prefill_s,
                      idle_w, busy_w)  # fmt: skip
    summaries = {p: serve(jobs, p, replica, ageing=ageing).summary() for p in o.names(policies)}
    if json:
        put_json("rheostat.llm-simulate/1", {"requests": len(jobs), "policies": summaries})
        return
    queued = max(f["queued_share"] for f in summaries.values())
    help_ = "an order can help" if queued > QUEUED else "no order will help"
    tell(f"requests wait in {100 * queued:.1f} % of the time: {help_}")
    keys = list(next(iter(summaries.values())))
    print("\t".join(["policy", *keys]))
    for name, figures in summaries.items():
        print("\t".join([name, *(f"{figures[k]:.6g}" for k in keys)]))


@llm.command()
def calibrate(
    recorded: Annotated[
        Path,
        typer.Argument(
            help="Requests with when they came and were answered: JSON lines as LLMServingSim "
            "records vLLM, or a table with submit_s, prompt_tokens, output_tokens, start_s, end_s.",
            metavar="RECORDED",
        ),
    ],
    learn: Annotated[int, typer.Option(help="Learn from so many of the first requests.")] = 100,
    batch_cap: Annotated[int, typer.Option(help="Requests that run at once.", min=1)] = 256,
    cache_tokens: Annotated[int, typer.Option(help="Tokens the cache holds.", min=1)] = 400_000,
    chunk: Annotated[int, typer.Option(help="Prompt tokens prefilled in a step.", min=1)] = 2048,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:
    """Find what a step of your server takes, for `rheostat llm simulate --step`.

    The requests are served again until the first of them get their tokens when they did; the errors
    printed are of the others.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.measurement.serving.traffic import read_recorded
    from rheostat.simulation.serving.calibrate import TIMES
    from rheostat.simulation.serving.calibrate import calibrate as fit_steps
    from rheostat.simulation.serving.serve import Replica

    jobs = read_recorded(recorded, columns=o.pairs(column, "--column") if column else None)
    tell_notes(jobs.notes)
    replica, errors = fit_steps(jobs, learn, Replica(batch_cap, cache_tokens, chunk))
    times = {name: getattr(replica, name) for name in TIMES}
    if json:
        put_json("rheostat.llm-calibrate/1", {"requests": len(jobs), "learned": learn, **times,
                 "cache_tokens": replica.cache_tokens, "median_error": errors})  # fmt: skip
        return
    print("--step " + ",".join(f"{v:.4g}" for v in times.values()), end=" ")
    print(f"--cache-tokens {replica.cache_tokens}")
    said = ", ".join(f"{name} {100 * e:.1f} %" for name, e in errors.items())
    tell(f"median error of the {len(jobs) - learn} requests not learned from: {said}")


def _numbers(text: str, count: int, option: str) -> list[float]:
    """So many comma-separated numbers."""
    from rheostat.errors import DataError

    try:
        values = [float(v) for v in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        raise DataError(option, [f"expected {count} numbers with commas between, got {text!r}"])
    return values
