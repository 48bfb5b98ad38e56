"""`llm.calibrate`: what a step of your server takes, from requests it answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.report import Report
from rheostat.explanation.serving_report import calibration_report
from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.llm.runs import Pairs, moments
from rheostat.questions.parse import parse_pairs
from rheostat.simulation.serving.replica import TIMES

if TYPE_CHECKING:  # the compiler is loaded by who serves requests, not by `plan` and `fit`
    from rheostat.simulation.serving.calibrate import CalibratedReplica


@dataclass(frozen=True, kw_only=True, repr=False)
class CalibrationAnswer(Answer):
    """A server as recorded, and the one that is simulated in its place.

    Parameters
    ----------
    requests : JobTable
        As recorded.
    calibrated : CalibratedReplica
        What to simulate with, and how far off it is.
    """

    schema: ClassVar[str] = "rheostat.llm-calibrate/1"
    requests: JobTable
    calibrated: CalibratedReplica

    def report(self) -> Report:
        """Errors of what was not learned from, and who waits, as recorded and as calibrated."""
        from rheostat.simulation.serving.request_columns import with_hit_rate
        from rheostat.simulation.serving.serve import serve

        result = self.calibrated
        rate = result.hit_rate
        asked = with_hit_rate(self.requests, rate) if rate else self.requests
        again = serve(asked, "fcfs", result.replica, deployment=result.deployment)
        times = {"recorded": moments(self.requests), "calibrated": moments(again)}
        return calibration_report(self.facts(), times)

    def facts(self) -> dict[str, Any]:
        """The server's times and limits, and errors beside baselines."""
        result = self.calibrated
        r, d = result.replica, result.deployment
        names = (*TIMES, "delay_s", "tool_delay_s", "batch_cap", "cache_tokens", "chunk")
        baselines = {f"{name}, median": off for name, off in result.baselines.items()}
        return {
            "requests": len(self.requests), "learned": result.learned,
            **{n: getattr(r, n) for n in names},
            "prefix_cache_tokens": d.prefix_cache_tokens, "hit_rate": result.hit_rate,
            "replicas": d.replicas, "routing": d.routing, "prefill_replicas": d.prefill_replicas,
            "median_error": result.median_error, "p90_error": result.p90_error,
            "learned_error": result.learned_error, "baselines": result.baselines,
            "errors": {"median": result.median_error, "90th percentile": result.p90_error,
                       "learned, median": result.learned_error, **{
                           f"baseline {name}": off for name, off in baselines.items()}},
            "notes": list(result.notes),
        }  # fmt: skip

    def text(self) -> str:
        """The options that ``rheostat llm simulate`` takes."""
        r, d = self.calibrated.replica, self.calibrated.deployment
        step = ",".join(f"{getattr(r, name):.4g}" for name in TIMES)
        said = f"--step {step} --delay {r.delay_s:.4g} --batch-cap {r.batch_cap}"
        said += f" --cache-tokens {r.cache_tokens} --chunk {r.chunk}"
        said += f" --tool-delay {r.tool_delay_s:.4g}" if r.tool_delay_s else ""
        said += f" --prefix-cache {d.prefix_cache_tokens}" if d.prefix_cache_tokens else ""
        said += f" --hit-rate {self.calibrated.hit_rate:.4g}" if self.calibrated.hit_rate else ""
        said += f" --replicas {d.replicas} --routing {d.routing}" if d.replicas > 1 else ""
        said += f" --prefill-replicas {d.prefill_replicas}" if d.prefill_replicas else ""
        return f"{said}\n"

    def beside(self) -> tuple[str, ...]:
        """Errors of the requests that were not learned from, beside baselines."""
        facts = self.facts()
        others = f"the {facts['requests'] - facts['learned']} requests not learned from"
        errors = facts["errors"].items()
        return (f"relative errors of {others}, {', '.join(facts['median_error'])}",
                *(f"  {name:28} " + " ".join(_percent(v) for v in off.values())
                  for name, off in errors))  # fmt: skip


def _percent(value: float) -> str:
    return f"{'unknown' if math.isnan(value) else f'{100 * value:.1f} %':>10}"


@question
def calibrate(
    recorded: inputs.Jobs,
    *,
    learn: int | None = None,
    batch_cap: int | None = None,
    cache_tokens: int | None = None,
    chunk: int | None = None,
    replicas: int = 1,
    prefill_replicas: int = 0,
    prefix_cache_tokens: int = 0,
    hit_rate: float | None = None,
    seed: int = 0,
    columns: Pairs = (),
) -> CalibrationAnswer:
    """Find what a step of a server takes, from requests that it answered.

    The requests are served again until the first of them get their tokens when they did; the errors
    are of the others, beside two baselines: the median of those learned from, and a line through
    their numbers of tokens.

    Parameters
    ----------
    recorded : JobTable or path
        Answered requests with moments or durations.
    learn : int, optional
        Learn from so many of the first requests; 100, or half of them, by default.
    batch_cap, cache_tokens : int, optional
        Limits of the server; read from the log, where it shows any, by default.
    chunk : int, optional
        Prompt tokens prefilled in a step; 2048, or what first tokens show, by default.
    replicas, prefill_replicas : int
        Servers that answered, and those that only prefilled.
    prefix_cache_tokens : int
        Tokens of earlier prompts that each server kept, for logs with the blocks or texts of
        prompts; found out, whether there was such a cache, if 0.
    hit_rate : float, optional
        Share of prompt tokens that a prefix cache held, for logs that do not say it; read from when
        first tokens came, where they show it, by default.
    seed : int
        Of the search.
    columns : sequence of str or mapping
        Names in the file, as ``submit_s=arrived``.

    Returns
    -------
    CalibrationAnswer
        With ``calibrated.replica`` and ``calibrated.deployment``.

    Raises
    ------
    DataError
        The log does not say when requests were answered, or too few were.

    Examples
    --------
    >>> import numpy as np, rheostat as rh
    >>> from rheostat.simulation.serving.serve import serve
    >>> n = np.arange(40)
    >>> asked = rh.table({"submit_s": 0.5 * n, "prompt_tokens": 100 + 50 * (n % 7),
    ...                   "output_tokens": 20 + 10 * (n % 5)})
    >>> answer = rh.llm.calibrate(serve(asked).requests, batch_cap=256, cache_tokens=400_000)
    >>> answer.calibrated.median_error["latency"] < 0.01
    True
    """
    from rheostat.simulation.serving.calibrate import calibrate as fit_steps
    from rheostat.simulation.serving.deployment import Deployment

    jobs = recorded if isinstance(recorded, JobTable) else _read(Path(recorded), columns)
    place = Deployment(replicas, "least-work", prefix_cache_tokens, prefill_replicas)
    with listener.working(f"playing {len(jobs):,} requests again"):
        result = fit_steps(jobs, learn, batch_cap=batch_cap, cache_tokens=cache_tokens,
                           chunk=chunk, deployment=place, hit_rate=hit_rate, seed=seed)  # fmt: skip
    for said in result.notes:
        listener.note(said)
    return CalibrationAnswer(requests=jobs, calibrated=result)


def _read(path: Path, columns: Pairs) -> JobTable:
    jobs = read_recorded(path, columns=parse_pairs(columns, "--column") or None)
    listener.notes(jobs.notes)
    return jobs
