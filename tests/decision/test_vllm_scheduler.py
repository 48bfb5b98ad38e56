"""The scheduler for vLLM, before a stand-in of the interface that vLLM documents.

What the stand-in has is what vLLM 0.2x has: requests with ``request_id``, ``prompt_token_ids``,
``num_prompt_tokens``, ``max_tokens`` and ``arrival_time``; a queue with these methods; outputs with
``request_id``, ``new_token_ids`` and ``finish_reason``, in groups by client.
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


class Scheduler:
    """Runs one request at a time, two tokens a step; FCFS as vLLM's is by default."""

    def __init__(self, config):
        self.config = config
        self.waiting = deque()
        self.running = []

    def add_request(self, request):
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


@pytest.fixture
def made(monkeypatch):
    module = ModuleType("vllm.v1.core.sched.scheduler")
    module.Scheduler = Scheduler
    monkeypatch.setitem(sys.modules, "vllm.v1.core.sched.scheduler", module)
    yield vllm_scheduler.CostScheduler
    vars(vllm_scheduler).pop("CostScheduler", None)


def request(name, tokens, at=0.0, most=100):
    return SimpleNamespace(request_id=name, prompt_token_ids=list(range(tokens)),
                           num_prompt_tokens=tokens, max_tokens=most, arrival_time=at)  # fmt: skip


def test_vllm_is_not_imported_here_and_other_names_are_not_there():
    assert "vllm" not in sys.modules
    with pytest.raises(AttributeError):
        vllm_scheduler.Nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="vllm"):
        vllm_scheduler.AsyncCostScheduler  # noqa: B018


def test_the_cheapest_is_scheduled_first_and_what_is_put_back_keeps_its_key(made):
    s = made("config")
    assert (s.config, isinstance(s, Scheduler)) == ("config", True)
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
    assert s._answers == {}
    assert s.waiting._keys == {}


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
    assert vllm_scheduler._words(range(128)).split() == [str(i) for i in range(128)]
    words = vllm_scheduler._words(range(129)).split()
    assert words == [str(i) for i in (*range(64), *range(65, 129))]


def test_a_request_without_an_answer_is_forgotten_and_teaches_nothing(made):
    s = made("config")
    s.add_request(request("x", 5))
    s.add_request(request("y", 5))
    s._over("x")
    s._over("nobody")
    assert (s.cost_order.learner.answers, list(s._answers), list(s.waiting._keys)) == (
        0, ["y"], ["y"])  # fmt: skip
    s.schedule()
    s.running = [request("y", 5)]
    s.update_from_output(set())
    s.update_from_output({"y"})
    assert s.cost_order.learner.answers == 1
    assert s._answers == {}
