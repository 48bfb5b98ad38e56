"""vLLM's own scheduler, with its waiting requests in the order of what answers will cost.

    vllm serve MODEL --scheduler-cls rheostat.decision.serving.vllm_scheduler.CostScheduler

`CostScheduler` and `AsyncCostScheduler` are made from vLLM's classes when they are first asked for;
vLLM is not imported before.  Used of vLLM are ``Scheduler.waiting`` (its `RequestQueue`), and what
its `SchedulerInterface` documents: ``add_request`` and ``update_from_output``.  A scheduler sees
token numbers, not text: they are the words that lengths are learned from, so a model of `rheostat
llm rank` is of no use here, and the first answers are served by their prompts alone.

The variables RHEOSTAT_VLLM_POLICY, RHEOSTAT_VLLM_HEAD_START and RHEOSTAT_VLLM_STEP set what the
options of `rheostat llm proxy` of these names set.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from threading import Thread
from typing import Any

from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.errors import DataError
from rheostat.prediction.length_learner import compile_ahead
from rheostat.prediction.service_cost import StepTimes

PLACES = {
    "CostScheduler": ("vllm.v1.core.sched.scheduler", "Scheduler"),
    "AsyncCostScheduler": ("vllm.v1.core.sched.async_scheduler", "AsyncScheduler"),
}
FIRST = 64
"""Tokens of a prompt that lengths are learned from, at its beginning and as many at its end."""


class CostQueue:
    """Waiting requests by key; the methods are those of vLLM's ``RequestQueue``.

    Parameters
    ----------
    key
        Of a request; asked once per request, so that one that was put back keeps its place.
    """

    def __init__(self, key: Callable[[Any], float]) -> None:
        self._key = key
        self._keys: dict[str, float] = {}
        self._heap: list[tuple[float, int, Any]] = []
        self._count = 0

    def add_request(self, request: Any) -> None:
        """Sort a request in."""
        if request.request_id not in self._keys:
            self._keys[request.request_id] = self._key(request)
        self._count += 1
        heapq.heappush(self._heap, (self._keys[request.request_id], self._count, request))

    def pop_request(self) -> Any:
        """Take the next one out; its key is kept in case it is put back."""
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

    def forget(self, request_id: str) -> None:
        """A request is over: its key is not needed again."""
        self._keys.pop(request_id, None)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Any]:
        return (entry[2] for entry in sorted(self._heap, key=lambda e: e[:2]))

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])


class CostScheduling:
    """What is put before vLLM's class: the queue, and the lengths of answers that end."""

    waiting: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cost_order = _order_of_environment()
        compile_ahead()
        before, self.waiting = list(self.waiting), CostQueue(self._cost_key)
        for request in before:
            self.waiting.add_request(request)
        self._answers: dict[str, list[Any]] = {}  # words, tokens of the prompt, of the answer
        self._fitting: Thread | None = None

    def update_from_output(self, *args: Any, **options: Any) -> Any:
        """As vLLM does it; answers that ended are learned from."""
        outputs = super().update_from_output(*args, **options)  # type: ignore[misc]
        groups = outputs.values() if isinstance(outputs, dict) else [outputs]
        for output in (o for group in groups for o in group.outputs):
            answer = self._answers.get(output.request_id)
            if answer is not None:
                answer[2] += len(output.new_token_ids)
            if output.finish_reason is not None:
                self._over(output.request_id)
        return outputs

    def _cost_key(self, request: Any) -> float:
        words = _words(request.prompt_token_ids or ())
        prompt = float(request.num_prompt_tokens)
        self._answers[request.request_id] = [words, prompt, 0]
        return self.cost_order.key(words, request.arrival_time, request.max_tokens, prompt)

    def _over(self, request_id: str) -> None:
        self.waiting.forget(request_id)
        words, prompt, tokens = self._answers.pop(request_id, ("", 0.0, 0))
        if not tokens:
            return
        self.cost_order.answered(words, prompt, float(tokens))
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
