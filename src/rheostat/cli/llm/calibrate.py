"""``rheostat llm calibrate``: what a step of your server takes, from requests it answered."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.simulation.serving.calibrate import CalibratedReplica


def calibrate(
    recorded: Annotated[
        Path,
        typer.Argument(
            help="Answered requests with moments or durations: vllm bench serve --save-detailed, "
            "SGLang's bench_serving with details, aiperf's profile_export.jsonl, LLMServingSim, a "
            "request log as JSON lines, CSV or parquet (arrival_time, ttft_ms, e2e_latency_ms, "
            "input_len, ...), or submit_s, prompt_tokens, output_tokens, start_s, end_s.",
            metavar="RECORDED",
        ),
    ],
    learn: Annotated[
        int | None,
        typer.Option(
            help="Learn from so many of the first requests.",
            min=1,
            max=100_000_000,
            show_default="100, or half",
        ),
    ] = None,
    batch_cap: Annotated[
        int | None,
        typer.Option(
            help="Requests that run at once on each server.",
            min=1,
            max=1_000_000,
            show_default="read from the log",
        ),
    ] = None,
    cache_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens that each server's cache holds.",
            min=1,
            max=10**12,
            show_default="read from the log",
        ),
    ] = None,
    chunk: Annotated[
        int, typer.Option(help="Prompt tokens prefilled in a step.", min=1, max=10**9)
    ] = 2048,
    replicas: Annotated[int, typer.Option(help="Servers that answered.", min=1, max=10_000)] = 1,
    prefill_replicas: Annotated[
        int,
        typer.Option(
            help="Servers that only prefilled; the others only decoded.", min=0, max=10_000
        ),
    ] = 0,
    seed: o.Seed = 0,
    column: o.Columns = None,
    html: o.Html = None,
    figure: o.Figure = None,
    json: o.Json = False,
) -> None:
    """Find what a step of your server takes; prints options of `rheostat llm simulate`.

    The requests are served again until the first of them get their tokens when they did; the errors
    are of the others, beside what two baselines make of them: the median of those learned from, and
    a line through their numbers of tokens.  Limits of the server that are not given are read from
    the log where it shows any, and noted.
    """
    from rheostat.cli.output import put_json, tell, tell_notes, working, write_files
    from rheostat.explanation.serving_report import calibration_report
    from rheostat.measurement.serving.recorded_requests import read_recorded
    from rheostat.questions.parse import parse_pairs
    from rheostat.simulation.serving.calibrate import calibrate as fit_steps
    from rheostat.simulation.serving.deployment import Deployment

    jobs = read_recorded(recorded, columns=parse_pairs(column, "--column") if column else None)
    tell_notes(jobs.notes)
    place = Deployment(replicas, "least-work", prefill_replicas=prefill_replicas)
    with working(f"playing {len(jobs):,} requests again"):
        result = fit_steps(jobs, learn, batch_cap=batch_cap, cache_tokens=cache_tokens,
                           chunk=chunk, deployment=place, seed=seed)  # fmt: skip
    facts = _facts(result, len(jobs))
    if html or figure:
        write_files(calibration_report(facts, _times(jobs, result)), html, figure)
    if json:
        put_json("rheostat.llm-calibrate/1", facts)
        return
    print(_as_options(result))
    tell(f"relative errors of the {len(jobs) - result.learned} requests not learned from, "
         f"{', '.join(facts['median_error'])}")  # fmt: skip
    for name, off in facts["errors"].items():
        tell(f"  {name:28} " + " ".join(_percent(v) for v in off.values()))
    for note in result.notes:
        tell(f"note: {note}")


def _facts(result: CalibratedReplica, requests: int) -> dict[str, Any]:
    from rheostat.simulation.serving.replica import TIMES

    r, d = result.replica, result.deployment
    names = (*TIMES, "delay_s", "batch_cap", "cache_tokens", "chunk")
    baselines = {f"{name}, median": off for name, off in result.baselines.items()}
    return {
        "requests": requests, "learned": result.learned, **{n: getattr(r, n) for n in names},
        "replicas": d.replicas, "routing": d.routing, "prefill_replicas": d.prefill_replicas,
        "median_error": result.median_error, "p90_error": result.p90_error,
        "learned_error": result.learned_error, "baselines": result.baselines,
        "errors": {"median": result.median_error, "90th percentile": result.p90_error,
                   "learned, median": result.learned_error, **{
                       f"baseline {name}": off for name, off in baselines.items()}},
        "notes": list(result.notes),
    }  # fmt: skip


def _as_options(result: CalibratedReplica) -> str:
    """What `rheostat llm simulate` takes."""
    from rheostat.simulation.serving.replica import TIMES

    r, d = result.replica, result.deployment
    step = ",".join(f"{getattr(r, name):.4g}" for name in TIMES)
    said = f"--step {step} --delay {r.delay_s:.4g} --batch-cap {r.batch_cap}"
    said += f" --cache-tokens {r.cache_tokens} --chunk {r.chunk}"
    said += f" --replicas {d.replicas} --routing {d.routing}" if d.replicas > 1 else ""
    return said + (f" --prefill-replicas {d.prefill_replicas}" if d.prefill_replicas else "")


def _percent(value: float) -> str:
    return f"{'unknown' if math.isnan(value) else f'{100 * value:.1f} %':>10}"


def _times(jobs: JobTable, result: CalibratedReplica) -> dict[str, tuple[Any, Any, Any]]:
    """Moments of submission, first and last token: as recorded, and as calibrated."""
    from rheostat.simulation.serving.serve import serve

    def moments(requests: JobTable) -> tuple[Any, Any, Any]:
        first = requests.numpy("start_s" if "start_s" in requests.columns else "end_s")
        return requests.numpy("submit_s"), first, requests.numpy("end_s")

    served = serve(jobs, "fcfs", result.replica, deployment=result.deployment).requests
    return {"recorded": moments(jobs), "calibrated": moments(served)}
