"""vLLM's own scheduler, with its waiting requests in the order of what answers will cost.

    vllm serve MODEL --scheduler-cls rheostat.decision.serving.vllm_scheduler.AsyncCostScheduler

`AsyncCostScheduler` schedules a step while the one before it runs.  Newer vLLM does so by default
and asks it of classes given to it: one made from its plain `Scheduler` loses that, and much latency
(vLLM's pull request 43724).  `CostScheduler` is for ``--no-async-scheduling``.  Both are made from
vLLM's classes when they are first asked for; vLLM is not imported before.

Used of vLLM are ``Scheduler.waiting`` and, where it is there, ``skipped_waiting`` (`RequestQueue`:
requests that wait for a grammar, a cache from elsewhere or an adapter), which of the two is next,
and what its `SchedulerInterface` documents: ``add_request``, ``update_from_output`` and
``finish_requests``.  vLLM 0.32 has ``kv_holding_waiting`` instead: requests that hold blocks of the
cache, which go before all others in vLLM's order.  A vLLM with other queues is refused.

A scheduler sees token numbers, not text: they are the words that lengths are learned from, so a
model of `rheostat llm rank` is of no use here, and the first answers are served by their prompts
alone.

The variables RHEOSTAT_VLLM_POLICY, RHEOSTAT_VLLM_HEAD_START and RHEOSTAT_VLLM_STEP set what the
options of `rheostat llm proxy` of these names set.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from threading import Thread
from typing import Any

from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.errors import DataError
from rheostat.prediction.answer_length.length_learner import compile_ahead
from rheostat.prediction.answer_length.service_cost import StepTimes

PLACES = {
    "CostScheduler": ("vllm.v1.core.sched.scheduler", "Scheduler"),
    "AsyncCostScheduler": ("vllm.v1.core.sched.async_scheduler", "AsyncScheduler"),
}
QUEUES = ("waiting", "skipped_waiting")
KNOWN = ({"waiting"}, {"waiting", "skipped_waiting"}, {"waiting", "kv_holding_waiting"})
"""Queues of a scheduler of vLLM, by version: to 0.1x, of 0.2x, from 0.32 on."""
FIRST = 64
"""Tokens of a prompt that lengths are learned from, at its beginning and as many at its end."""


class CostQueue:
    """Waiting requests by key; the methods are those of vLLM's ``RequestQueue``.

    Parameters
    ----------
    key
        Of a request; it has to be the same whenever it is asked for.
    """

    def __init__(self, key: Callable[[Any], float]) -> None:
        self._key = key
        self._heap: list[tuple[float, int, Any]] = []
        self._count = 0

    def add_request(self, request: Any) -> None:
        """Sort a request in."""
        self._count += 1
        heapq.heappush(self._heap, (self._key(request), self._count, request))

    def pop_request(self) -> Any:
        """Take the next one out."""
        if not self._heap:
            raise IndexError("pop from an empty queue")
        return heapq.heappop(self._heap)[2]

    def peek_request(self) -> Any:
        """The next one."""
        if not self._heap:
            raise IndexError("peek from an empty queue")
        return self._heap[0][2]

    def prepend_request(self, request: Any) -> None:
        """Put back a request that ran or could not start: it goes where its key says."""
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[Any]) -> None:
        """Put several back."""
        for request in list(requests):
            self.add_request(request)

    def remove_request(self, request: Any) -> None:
        """Take one out."""
        self.remove_requests([request])

    def remove_requests(self, requests: Iterable[Any]) -> None:
        """Take several out."""
        gone = {r.request_id for r in requests}
        self._heap = [entry for entry in self._heap if entry[2].request_id not in gone]
        heapq.heapify(self._heap)

    def least_key(self) -> float:
        """Of the next one; infinite where there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Any]:
        return (entry[2] for entry in sorted(self._heap, key=lambda e: e[:2]))

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])


@dataclass
class StartedRequest:
    """A request that is not over: its place in the order, and what is learned from it."""

    key: float
    words: str
    prompt_tokens: float
    tokens: int = 0


class CostScheduling:
    """What is put before vLLM's class: the queues, and the lengths of answers that end."""

    waiting: Any
    skipped_waiting: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _refuse_unknown(self)
        self.cost_order = _order_of_environment()
        compile_ahead()
        self._started: dict[str, StartedRequest] = {}
        self._fitting: Thread | None = None
        for name in QUEUES:
            if hasattr(self, name):
                queue = CostQueue(self._cost_key)
                queue.prepend_requests(getattr(self, name))
                setattr(self, name, queue)

    def _select_waiting_queue_for_scheduling(self) -> CostQueue | None:
        """Of requests that wait and those skipped before, the queue whose first one is next."""
        queues = [q for q in (self.waiting, self.skipped_waiting) if q]
        return min(queues, key=CostQueue.least_key, default=None)

    def update_from_output(self, *args: Any, **options: Any) -> Any:
        """As vLLM does it; answers that ended are learned from."""
        outputs = super().update_from_output(*args, **options)  # type: ignore[misc]
        groups = outputs.values() if isinstance(outputs, dict) else [outputs]
        for output in (o for group in groups for o in group.outputs):
            if output.request_id in self._started:
                self._started[output.request_id].tokens += len(output.new_token_ids)
            if output.finish_reason is not None:
                self._over(output.request_id)
        return outputs

    def finish_requests(self, request_ids: Any, *args: Any, **options: Any) -> Any:
        """As vLLM does it; requests that a client gave up teach nothing and are forgotten."""
        if request_ids is None:
            gone = list(self._started)
        else:
            gone = [request_ids] if isinstance(request_ids, str) else list(request_ids)
            request_ids = gone
        try:
            return super().finish_requests(request_ids, *args, **options)  # type: ignore[misc]
        finally:
            for request_id in gone:
                self._started.pop(request_id, None)

    def _cost_key(self, request: Any) -> float:
        """Set once, so that a request that is put back keeps its place."""
        started = self._started.get(request.request_id)
        if started is None:
            words = _words(request.prompt_token_ids or ())
            prompt = float(request.num_prompt_tokens)
            key = self.cost_order.key(words, request.arrival_time, request.max_tokens, prompt)
            started = self._started[request.request_id] = StartedRequest(key, words, prompt)
        return started.key

    def _over(self, request_id: str) -> None:
        over = self._started.pop(request_id, None)
        if over is None or not over.tokens:
            return
        self.cost_order.answered(over.words, over.prompt_tokens, float(over.tokens))
        learner = self.cost_order.learner
        if learner.due and (self._fitting is None or not self._fitting.is_alive()):
            self._fitting = Thread(target=learner.refit, daemon=True)
            self._fitting.start()


def __getattr__(name: str) -> type:
    """The schedulers, made from vLLM's when they are asked for."""
    if name not in PLACES:
        raise AttributeError(name)
    module, base = PLACES[name]
    made = type(name, (CostScheduling, getattr(import_module(module), base)), {})
    made.__module__ = __name__
    globals()[name] = made
    return made


def _refuse_unknown(scheduler: object) -> None:
    """A vLLM that keeps waiting requests elsewhere would not be ordered, without a word."""
    matched = {n for n, v in vars(scheduler).items() if hasattr(v, "prepend_request")}
    if matched not in KNOWN:
        raise DataError("vLLM", [
            f"its scheduler has the queues {', '.join(sorted(matched)) or 'none'}, which "
            "rheostat.decision.serving.vllm_scheduler does not know (run in vLLM 0.32): leave "
            "--scheduler-cls out and take rheostat llm proxy --priority vllm"])  # fmt: skip


def _words(tokens: Any) -> str:
    """Token numbers as words; of a long prompt its beginning and its end."""
    ids = list(tokens)
    return " ".join(map(str, ids if len(ids) <= 2 * FIRST else ids[:FIRST] + ids[-FIRST:]))


def _order_of_environment() -> ServiceOrder:
    """Policy, ageing and step times from variables."""
    given = {n: os.environ.get(f"RHEOSTAT_VLLM_{n}", "") for n in ("POLICY", "HEAD_START", "STEP")}
    try:
        times = [float(x) for x in given["STEP"].split(",")] if given["STEP"] else []
        head_start_s = float(given["HEAD_START"] or 100.0)
        return ServiceOrder(given["POLICY"] or "cost", head_start_s, times=StepTimes(*times))
    except (ValueError, TypeError) as error:
        raise DataError("RHEOSTAT_VLLM_*", [f"expected numbers, got {given}"]) from error
