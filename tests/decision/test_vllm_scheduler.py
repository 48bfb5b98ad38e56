"""The scheduler for vLLM, before a stand-in of the interface that vLLM documents.

What the stand-in has is what vLLM 0.2x has: requests with ``request_id``, ``prompt_token_ids``,
``num_prompt_tokens``, ``max_tokens`` and ``arrival_time``; queues with these methods, one of those
that wait and one of those that were skipped (for a grammar, say), and which of the two is next;
outputs with ``request_id``, ``new_token_ids`` and ``finish_reason``, in groups by client; requests
that are given up through ``finish_requests``; an asynchronous scheduler made from the plain one.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from types import ModuleType, SimpleNamespace

import pytest

from rheostat.decision.serving import vllm_scheduler
from rheostat.decision.serving.vllm_scheduler import CostQueue
from rheostat.errors import DataError

QUEUE = ("add_request", "pop_request", "peek_request", "prepend_request", "prepend_requests",
         "remove_request", "remove_requests", "__bool__", "__len__", "__iter__")  # fmt: skip


class Fcfs(deque):
    """vLLM's queue by default."""

    def add_request(self, request):
        self.append(request)

    def pop_request(self):
        return self.popleft()

    def peek_request(self):
        return self[0]

    def prepend_request(self, request):
        self.appendleft(request)

    def prepend_requests(self, requests):
        self.extendleft(requests)

    def remove_requests(self, requests):
        kept = [r for r in self if r not in requests]
        self.clear()
        self.extend(kept)


class OldScheduler:
    """An earlier vLLM: one request at a time, two tokens a step, no queue of those skipped."""

    def __init__(self, config):
        self.config = config
        self.requests = {}
        self.waiting = Fcfs()
        self.running = []

    def add_request(self, request):
        self.requests[request.request_id] = request
        self.waiting.add_request(request)

    def schedule(self):
        if not self.running and self.waiting:
            self.running.append(self.waiting.pop_request())

    def update_from_output(self, ended):
        if not self.running:
            return {}
        request = self.running[0]
        done = request.request_id in ended
        if done:
            self.running.clear()
        output = SimpleNamespace(request_id=request.request_id, new_token_ids=[1, 2],
                                 finish_reason="stop" if done else None)  # fmt: skip
        return {0: SimpleNamespace(outputs=[output])}

    def finish_requests(self, request_ids, finished_status):
        ids = list(self.requests) if request_ids is None else request_ids
        gone = [self.requests.pop(i) for i in ([ids] if isinstance(ids, str) else ids)]
        self.running = [r for r in self.running if r not in gone]
        self.waiting.remove_requests(gone)
        return [(r.request_id, finished_status) for r in gone]


class Scheduler(OldScheduler):
    """Puts aside what waits for a grammar, and asks which queue is next."""

    def __init__(self, config):
        super().__init__(config)
        self.skipped_waiting = Fcfs()

    def add_request(self, request):
        self.requests[request.request_id] = request
        (self.skipped_waiting if request.blocked else self.waiting).add_request(request)

    def _select_waiting_queue_for_scheduling(self):
        return self.skipped_waiting or self.waiting or None

    def schedule(self):
        skipped = Fcfs()
        while not self.running and (self.waiting or self.skipped_waiting):
            queue = self._select_waiting_queue_for_scheduling()
            request = queue.peek_request()
            queue.pop_request()
            if request.blocked:
                skipped.prepend_request(request)
            else:
                self.running.append(request)
        self.skipped_waiting.prepend_requests(skipped)

    def finish_requests(self, request_ids, finished_status):
        known = dict(self.requests)
        gone = super().finish_requests(request_ids, finished_status)
        self.skipped_waiting.remove_requests([known[i] for i, _ in gone])
        return gone


class HoldingScheduler(OldScheduler):
    """vLLM 0.32: who holds blocks of the cache goes first; who is blocked is among the others."""

    def __init__(self, config):
        super().__init__(config)
        self.kv_holding_waiting = Fcfs()
        self.deferred_waiting = set()

    def add_request(self, request):
        self.requests[request.request_id] = request
        holds = getattr(request, "holds_blocks", False)
        (self.kv_holding_waiting if holds else self.waiting).add_request(request)

    def schedule(self):
        skipped = {"kv_holding_waiting": Fcfs(), "waiting": Fcfs()}
        while not self.running:
            name = "kv_holding_waiting" if self.kv_holding_waiting else "waiting"
            queue = getattr(self, name)
            if not queue:
                break
            request = queue.peek_request()
            queue.pop_request()
            if request.blocked:
                self.deferred_waiting.add(request.request_id)
                skipped[name].appendleft(request)
            else:
                self.deferred_waiting.discard(request.request_id)
                self.running.append(request)
        for name, requests in skipped.items():
            getattr(self, name).prepend_requests(requests)


class AsyncScheduler(Scheduler):
    """What vLLM asks a scheduler of one's own to be made from."""


@pytest.fixture(params=["CostScheduler", "AsyncCostScheduler", "old", "holding"])
def made(monkeypatch, request):
    plain = {"old": OldScheduler, "holding": HoldingScheduler}.get(request.param, Scheduler)
    for place, name, base in (("scheduler", "Scheduler", plain),
                              ("async_scheduler", "AsyncScheduler", AsyncScheduler)):  # fmt: skip
        module = f"vllm.v1.core.sched.{place}"
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
        setattr(sys.modules[module], name, base)
    name = request.param if request.param.endswith("Scheduler") else "CostScheduler"
    yield getattr(vllm_scheduler, name)
    vars(vllm_scheduler).pop(name, None)


def request(name, tokens, at=0.0, most=100, *, blocked=False):
    return SimpleNamespace(request_id=name, prompt_token_ids=list(range(tokens)), blocked=blocked,
                           num_prompt_tokens=tokens, max_tokens=most, arrival_time=at)  # fmt: skip


def test_vllm_is_not_imported_here_and_other_names_are_not_there():
    assert "vllm" not in sys.modules
    with pytest.raises(AttributeError):
        vllm_scheduler.Nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="vllm"):
        vllm_scheduler.AsyncCostScheduler  # noqa: B018


def test_the_cheapest_is_scheduled_first_and_what_is_put_back_keeps_its_key(made):
    s = made("config")
    assert (s.config, isinstance(s, OldScheduler)) == ("config", True)
    for name, tokens in (("long", 5000), ("short", 10), ("middle", 500)):
        s.add_request(request(name, tokens))
    assert [r.request_id for r in s.waiting] == ["short", "middle", "long"]
    s.schedule()
    first = s.running.pop()
    assert first.request_id == "short"
    s.waiting.prepend_request(first)
    assert s.waiting.peek_request() is first
    s.waiting.remove_request(first)
    assert [r.request_id for r in reversed(s.waiting)] == ["long", "middle"]
    assert len(s.waiting) == 2


def test_a_long_request_is_not_overtaken_by_what_comes_much_later(made, monkeypatch):
    monkeypatch.setenv("RHEOSTAT_VLLM_HEAD_START", "60")
    s = made("config")
    s.add_request(request("long", 5000, at=0.0))
    s.add_request(request("short", 10, at=5.0))
    s.add_request(request("late", 10, at=1e4))
    assert [r.request_id for r in s.waiting] == ["short", "long", "late"]


def test_answers_that_end_are_learned_from_and_forgotten(made):
    s = made("config")
    for i in range(50):
        s.add_request(request(str(i), 5 + i))
        s.schedule()
        s.update_from_output(set())
        s.update_from_output({str(i)})
    learner = s.cost_order.learner
    assert learner.answers == 50
    deadline = time.monotonic() + 30
    while learner.model is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert learner.model is not None
    assert learner.model.lengths_.tolist() == [4.0] * len(learner.model.lengths_)
    assert s._started == {}


def test_the_queue_has_what_vllms_has_and_raises_as_it_does():
    queue = CostQueue(lambda r: r.num_prompt_tokens)
    assert all(callable(getattr(queue, name)) for name in QUEUE)
    assert not queue
    for take in (queue.pop_request, queue.peek_request):
        with pytest.raises(IndexError):
            take()
    other = CostQueue(lambda r: 0.0)
    other.add_request(request("x", 3))
    queue.prepend_requests(other)
    assert queue.pop_request().request_id == "x"


def test_variables_that_are_no_numbers_are_refused(made, monkeypatch):
    monkeypatch.setenv("RHEOSTAT_VLLM_STEP", "fast")
    with pytest.raises(DataError, match="expected numbers"):
        made("config")


def test_of_a_long_prompt_the_beginning_and_the_end_are_words():
    for short in (5, 128):
        assert vllm_scheduler._words(range(short)).split() == [str(i) for i in range(short)]
    words = vllm_scheduler._words(range(129)).split()
    assert words == [str(i) for i in (*range(64), *range(65, 129))]


def test_a_request_that_is_given_up_is_forgotten_and_teaches_nothing(made):
    s = made("config")
    for name in ("w", "x", "y", "z"):
        s.add_request(request(name, 5))
    s._over("nobody")
    s.schedule()
    s.update_from_output(set())  # w has run for a step
    assert s.finish_requests("w", "aborted") == [("w", "aborted")]
    s.finish_requests(iter(["x"]), "aborted")  # what can be read once, as vLLM hands it over
    assert (sorted(s._started), [r.request_id for r in s.waiting]) == (["y", "z"], ["y", "z"])
    s.finish_requests(None, "aborted")
    assert (s._started, len(s.waiting), s.cost_order.learner.answers) == ({}, 0, 0)
    s._over("y")
    assert s.cost_order.learner.answers == 0


def test_what_waits_for_a_grammar_is_ordered_too_and_holds_up_nobody(made):
    s = made("config")
    if type(s).__mro__[2] is OldScheduler:
        pytest.skip("an earlier vLLM, without requests that are skipped")
    blocked = [request(n, size, blocked=True) for n, size in (("far", 4000), ("near", 20))]
    for r in (*blocked, request("middle", 300), request("short", 10)):
        s.add_request(r)
    s.schedule()
    assert [r.request_id for r in s.running] == ["short"]
    for r in blocked:
        r.blocked = False
    order = []
    while s.running:
        order += [r.request_id for r in s.running]
        s.update_from_output(set(order))
        s.schedule()
    assert order == ["short", "near", "middle", "far"]
    assert s.cost_order.learner.answers == 4
    assert s._started == {}


def test_who_holds_blocks_of_the_cache_goes_first_in_vllms_own_order(made):
    s = made("config")
    if not hasattr(s, "kv_holding_waiting"):
        pytest.skip("an earlier vLLM, which has no such queue")
    held = [request("held long", 4000), request("held short", 10)]
    for r in held:
        r.holds_blocks = True
    for r in (request("shortest", 5), *held):
        s.add_request(r)
    order = []
    for _ in range(3):
        s.schedule()
        order += [r.request_id for r in s.running]
        s.update_from_output(set(order))
    assert order == ["held long", "held short", "shortest"]


def test_a_vllm_whose_queues_are_not_known_is_refused(monkeypatch):
    class Later(OldScheduler):
        def __init__(self, config):
            super().__init__(config)
            self.lanes_waiting = Fcfs()

    module = ModuleType("vllm.v1.core.sched.scheduler")
    module.Scheduler = Later
    monkeypatch.setitem(sys.modules, module.__name__, module)
    try:
        with pytest.raises(DataError, match=r"lanes_waiting, waiting.*--priority vllm"):
            vllm_scheduler.CostScheduler("config")
    finally:
        vars(vllm_scheduler).pop("CostScheduler", None)
