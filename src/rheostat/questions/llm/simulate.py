"""`llm.simulate`: what an order of requests changes, and for whom."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.errors import DataError
from rheostat.explanation.serving_report import over_time, serving_report
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.llm.runs import Pairs, moments
from rheostat.questions.parse import Names, parse_names, parse_pairs
from rheostat.questions.parse_numbers import parse_bound, parse_numbers
from rheostat.simulation.serving.order_gain import SAID, Gains, order_gains, verdict
from rheostat.simulation.serving.replica import Replica

if TYPE_CHECKING:  # the compiler is loaded by who serves requests, not by `plan` and `fit`
    from rheostat.simulation.serving.deployment import Deployment
    from rheostat.simulation.serving.serve import Served

ORDERS = ("fcfs", "shortest-prompt", "cost-oracle")
STEP_S = (8e-3, 20e-6, 22e-9, 22e-6)


@dataclass(frozen=True, kw_only=True, repr=False)
class ServedOrders(Answer):
    """A trace, served under several orders.

    Parameters
    ----------
    requests : JobTable
        Those that a cache can hold.
    refused : int
        How many it cannot.
    within_s : float
        The bound for 99 of 100 answers; infinite without one.
    served : mapping of str to Served
        By order.
    gains : mapping
        Each order's figures over those of first come, first served, with the spread over runs with
        other arrivals.
    """

    schema: ClassVar[str] = "rheostat.llm-simulate/1"
    requests: JobTable
    refused: int
    within_s: float
    served: Mapping[str, Served]
    gains: Gains

    def report(self) -> Report:
        """Whether an order helps, and figures by order."""
        gains = {p: {SAID[q]: r.change for q, r in own.items()} for p, own in self.gains.items()}
        return serving_report(self.facts(), gains, self.beside())

    def page_report(self) -> Report:
        """The same with first tokens, answers and who waits over time."""
        times = {order: moments(served) for order, served in self.served.items()}
        report = self.report()
        return replace(report, sections=[*report.sections, *over_time(times)])

    def facts(self) -> dict[str, Any]:
        """Figures by order."""
        return {
            "requests": len(self.requests),
            "refused": self.refused,
            "within_s": self.within_s if math.isfinite(self.within_s) else None,
            "policies": {p: s.summary() for p, s in self.served.items()},
            "beside_first_come": {p: {q: asdict(r) for q, r in own.items()}
                                  for p, own in self.gains.items()},
        }  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row an order."""
        figures = self.facts()["policies"]
        rows = tuple((p, *values.values()) for p, values in figures.items())
        return (Grid(("policy", *next(iter(figures.values()))), rows),)

    def beside(self) -> tuple[str, ...]:
        """Whether an order helps, and for how much of the time requests wait."""
        queued = max(f["queued_share"] for f in self.facts()["policies"].values())
        waits = f"requests wait in {100 * queued:.1f} % of the time"
        return (verdict(self.gains), waits) if self.gains else (waits,)


@question
def simulate(
    trace: inputs.Jobs,
    policies: Names = ORDERS,
    *,
    rate: float = 1.0,
    batch_cap: int = Replica.batch_cap,
    cache_tokens: int = Replica.cache_tokens,
    chunk: int = Replica.chunk,
    step_s: str | Sequence[float] = STEP_S,
    delay_s: float = 0.0,
    tool_delay_s: float = 0.0,
    power_w: str | Sequence[float] = (100.0, 600.0),
    power_cap_w: float = 0.0,
    ageing: float = 0.0,
    head_start_s: float = 0.0,
    patience_s: float = 0.0,
    within: str | float = "",
    replicas: int = 1,
    routing: str = "round-robin",
    prefix_cache_tokens: int = 0,
    prefill_replicas: int = 0,
    transfer_s: float = 0.0,
    hit_rate: float = 0.0,
    columns: Pairs = (),
) -> ServedOrders:
    """Serve a trace under several orders of those that wait, and say whether an order helps.

    Continuous batching with chunked prefill; a full cache puts requests back.

    Parameters
    ----------
    trace : JobTable or path
        Requests with ``submit_s``, ``prompt_tokens`` and ``output_tokens``.
    policies : str or sequence of str
        Orders: fcfs, shortest-prompt, cost-oracle, hrrn-oracle; with ``predicted_tokens`` in the
        trace also shortest-answer, cost and hrrn.  cost-oracle knows the lengths of the answers
        beforehand, which no server does.
    rate : float
        Play the trace so many times as fast.
    batch_cap, cache_tokens, chunk
        Requests that run at once, tokens of the cache, prompt tokens prefilled in a step.
    step_s : sequence of four float
        Seconds of a step: of itself, per running request, per token in a cache, per prefilled
        token.
    delay_s : float
        Seconds of an answer outside of steps.
    tool_delay_s : float
        Seconds by which first tokens of tool calls are seen later, where the trace says which
        answers call tools.
    power_w : sequence of two float
        Watts without and with a running step.
    power_cap_w : float
        Watts that a server may draw; 0 sets no cap.
    ageing, head_start_s, patience_s : float
        As those of `rheostat.simulation.serving.serve.serve`; 0 turns each off.
    within : str or float
        Bound for 99 of 100 answers, in seconds, or as ``"1.2x"``, times the p99 of first come,
        first served.
    replicas, routing, prefix_cache_tokens, prefill_replicas, transfer_s
        As those of `rheostat.simulation.serving.deployment.Deployment`.
    hit_rate : float
        Share of every prompt that a prefix cache holds, for traces that say nothing of it.
    columns : sequence of str or mapping
        Names in the file, as ``submit_s=arrived``.

    Returns
    -------
    ServedOrders
        With ``served``, by order.

    Raises
    ------
    DataError
        No request fits the cache, or an order is unknown.

    Examples
    --------
    >>> import rheostat as rh
    >>> trace = rh.table({"submit_s": [0.0, 0.1], "prompt_tokens": [900, 40],
    ...                   "output_tokens": [80, 5]})
    >>> answer = simulate(trace, "fcfs,shortest-prompt", batch_cap=1)
    >>> {order: round(served.summary()["mean_latency_s"], 2)
    ...  for order, served in answer.served.items()}
    {'fcfs': 0.63, 'shortest-prompt': 0.63}
    """
    from rheostat.simulation.serving.deployment import Deployment
    from rheostat.simulation.serving.serve import serve

    jobs = _requests(trace, columns, hit_rate, texts=prefix_cache_tokens > 0)
    orders = parse_names(policies)
    if not orders:
        raise DataError("--policies", ["expected names of orders, as fcfs,cost-oracle; got none"])
    if tool_delay_s and "tool_calls" not in jobs.columns:
        listener.note("the trace does not say which answers call tools (finish_reason): "
                      "--tool-delay is not used")  # fmt: skip
    jobs = jobs.with_columns([], submit_s=jobs.numpy("submit_s") / rate)
    jobs, refused = _that_fit(jobs, cache_tokens)
    times, watts = parse_numbers(step_s, 4, "--step"), parse_numbers(power_w, 2, "--power")
    replica = Replica(batch_cap, cache_tokens, chunk, *(*times, *watts, delay_s, tool_delay_s))
    replica = replica.capped(power_cap_w) if power_cap_w else replica
    place = Deployment(replicas, routing, prefix_cache_tokens, prefill_replicas, transfer_s)
    bound = _bound(within, jobs, replica, place)
    known = "predicted_tokens" in jobs.columns
    predicted = jobs.numpy("predicted_tokens") if known else None

    def served_so(requests: JobTable, policy: str) -> Served:
        return serve(
            requests, policy, replica, predicted=predicted, ageing=ageing,
            head_start_s=head_start_s, patience_s=patience_s or math.inf, within_s=bound,
            deployment=place,
        )  # fmt: skip

    served = {}
    for policy in orders:
        with listener.working(f"{policy}: {len(jobs):,} requests"):
            served[policy] = served_so(jobs, policy)
    with listener.working("the same requests at other moments"):
        gains = order_gains(jobs, orders, served_so)
    return ServedOrders(requests=jobs, refused=refused, within_s=bound, served=served, gains=gains)


def _requests(trace: inputs.Jobs, columns: Pairs, hit_rate: float, *, texts: bool) -> JobTable:
    from rheostat.simulation.serving.request_columns import with_hit_rate

    jobs = trace
    if not isinstance(jobs, JobTable):
        jobs = read_traffic(Path(jobs), columns=parse_pairs(columns, "--column") or None,
                            texts=texts)  # fmt: skip
        listener.notes(jobs.notes)
    if hit_rate and "cached_tokens" in jobs.columns:
        listener.note("the trace says what a prefix cache held: --hit-rate is not used")
        return jobs
    return with_hit_rate(jobs, hit_rate) if hit_rate else jobs


def _that_fit(jobs: JobTable, cache_tokens: int) -> tuple[JobTable, int]:
    """Requests that a cache can hold, and how many it cannot: those a server refuses."""
    tokens = jobs.numpy("prompt_tokens") + jobs.numpy("output_tokens")
    fits = tokens <= cache_tokens
    refused = int((~fits).sum())
    said = f"the largest needs {tokens.max():,.0f} tokens of a cache of {cache_tokens:,}"
    if refused == len(jobs):
        raise DataError("--cache-tokens", [f"no request fits: {said}"])
    if refused:
        all_of = f"{refused:,} of {len(jobs):,} requests are refused"
        listener.note(f"{all_of}, as a server would: {said}")
    return jobs.rows(fits.nonzero()[0]), refused


def _bound(within: str | float, jobs: JobTable, replica: Replica, place: Deployment) -> float:
    """Seconds: infinite without a bound, as a duration, or times the p99 of FCFS."""
    from rheostat.simulation.serving.serve import serve

    seconds, times = parse_bound(within)
    first_come = serve(jobs, "fcfs", replica, deployment=place).summary() if times else {}
    return times * first_come["p99_s"] if times else seconds
