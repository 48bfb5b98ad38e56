"""Lines, counters and orders of a proxy at their edges: small cases written out."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.decision.serving import dispatch_queue, upstream
from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.proxy_counters import Histogram, ProxyCounters
from rheostat.decision.serving.service_order import LEVELS, ServiceOrder
from rheostat.decision.serving.tenant_line import TenantLine
from rheostat.decision.serving.upstream import Upstream
from rheostat.decision.serving.vllm_scheduler import CostQueue
from rheostat.decision.serving.waiting_line import BoundLine, KeyLine, latest_begin
from rheostat.errors import DataError


class Place:
    """Stands for a future."""

    def __init__(self, *, left: bool = False) -> None:
        self.left = left

    def done(self) -> bool:
        return self.left


def test_those_who_left_stay_in_the_heap_until_they_are_most_of_it() -> None:
    line, places = KeyLine(), [Place() for _ in range(20)]
    for key, place in enumerate(places):
        line.push(float(key), place)
    for place in places[5:]:
        place.left = True
        line.drop(place)
    assert len(line._heap) == 20
    for _ in range(45):
        line.drop(places[-1])
    assert len(line._heap) == 20  # 60 have left: no more than half of 20 and 100
    line.drop(places[-1])
    assert len(line._heap) == 5
    line.drop(places[-1])
    assert (len(line._heap), line._left) == (5, 1)
    assert [line.pop() for _ in range(6)] == [*places[:5], None]


def test_of_equal_keys_who_came_first_is_next_and_who_left_is_passed_over() -> None:
    line, places = KeyLine(), [Place(left=i == 1) for i in range(4)]
    for key, place in zip((1.0, 0.5, 1.0, 0.9), places, strict=True):
        line.push(key, place)
    assert [line.pop() for _ in range(4)] == [places[3], places[0], places[2], None]
    assert not line.crowded("", 0)
    assert not BoundLine(1, 1).crowded("", 0)


def test_the_tenant_with_the_fewest_places_is_next_then_who_held_them_for_less_time() -> None:
    line, place = TenantLine(2, {"c": 1}), {}
    for tenant in "abc":
        for i in range(3):
            place[tenant, i] = Place()
            line.push(float(i), place[tenant, i], tenant)
    name = {p: k for k, p in place.items()}
    begun = [line.pop() for _ in range(5)]
    assert [name[p] for p in begun] == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1)]
    assert line.pop() is None  # c may hold one, the others two
    line.ended(begun[0], 5.0, answered=True)
    line.ended(begun[1], 3.0, answered=False)
    assert (line._held_s, dict(line.running)) == ({"a": 5.0, "b": 3.0, "c": 0.0},
                                                  {"a": 1, "b": 1, "c": 1})  # fmt: skip
    assert name[line.pop()] == ("b", 2)
    line.drop(place["a", 2])
    line.ended(begun[2], 1.0, answered=True)
    new = Place()
    line.push(0.0, new, "d")
    assert line._held_s["d"] == 1.0  # the least of those who are here
    assert [line.pop(), line.pop()] == [place["c", 1], new]
    assert [line.crowded("c", n) for n in (1, 2, 3)] == [True, True, False]
    assert not line.may_begin("b")


def test_a_server_that_failed_rests_and_the_one_with_the_fewest_is_asked(monkeypatch) -> None:
    now = [10.0]
    monkeypatch.setattr(dispatch_queue, "monotonic", lambda: now[0])
    queue = DispatchQueue(3, 2)
    assert (queue.most_waiting, queue.awake(), queue._free()) == (10_000, [0, 1, 2], 0)
    queue.running = [2, 1, 0]
    assert queue._free() == 2
    queue.rest(2, 5.0)
    assert (queue.awake(), queue._free()) == ([0, 1], 1)
    queue.running = [2, 2, 0]
    assert queue._free() is None
    queue.rest(0, 5.0)
    queue.rest(1, 5.0)
    assert (queue.awake(), queue._free()) == ([], 2)  # where all rest all are asked
    now[0] = 15.0
    assert queue.awake() == [0, 1, 2]


class Recording(KeyLine):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[float, bool]] = []

    def ended(self, place, held_s, *, answered) -> None:
        self.seen.append((held_s, answered))


def test_a_place_is_given_back_with_how_long_it_was_held_and_whether_it_was_answered(
    monkeypatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(dispatch_queue, "monotonic", lambda: now[0])
    asked: list[str] = []

    def key() -> float:
        asked.append("key")
        return 1.0

    async def broken(queue: DispatchQueue) -> None:
        async with queue.place(0.0):
            now[0] += 1.5
            raise ZeroDivisionError

    async def run() -> Recording:
        line = Recording()
        queue = DispatchQueue(1, 1, most_waiting=1, line=line)
        async with queue.place(key) as server:
            assert (server, asked, queue.running, queue.waiting) == (0, [], [1], 0)
            now[0] = 2.5
            waiting = asyncio.ensure_future(queue._given(key))
            await asyncio.sleep(0)
            assert (asked, queue.waiting) == (["key"], 1)
            with pytest.raises(QueueFullError):
                await queue._given(0.0)
        assert (await waiting).result() == 0
        queue._leave(0)
        with pytest.raises(ZeroDivisionError):
            await broken(queue)
        assert (queue.running, queue.waiting) == ([0], 0)
        none = DispatchQueue(1, 1, most_waiting=0)
        async with none.place(0.0):  # nobody has to wait
            with pytest.raises(QueueFullError):
                await none._given(0.0)
        return line

    assert asyncio.run(asyncio.wait_for(run(), 60)).seen == [(2.5, True), (1.5, False)]


def test_seconds_are_counted_at_every_edge_that_they_do_not_pass() -> None:
    seen = Histogram()
    for seconds in (0.01, 0.0101, 1.0, 100.0, 1000.0):
        seen.add(seconds)
    assert [seen[e] for e in (0.01, 0.1, 1.0, 10.0, 100.0, math.inf)] == [1, 2, 3, 3, 4, 5]
    assert seen.lines("wait_seconds")[2:] == [
        'rheostat_proxy_wait_seconds_bucket{le="0.01"} 1',
        'rheostat_proxy_wait_seconds_bucket{le="0.1"} 2',
        'rheostat_proxy_wait_seconds_bucket{le="1"} 3',
        'rheostat_proxy_wait_seconds_bucket{le="10"} 3',
        'rheostat_proxy_wait_seconds_bucket{le="100"} 4',
        'rheostat_proxy_wait_seconds_bucket{le="+Inf"} 5',
        "rheostat_proxy_wait_seconds_sum 1101.0201",
        "rheostat_proxy_wait_seconds_count 5",
    ]
    counters = ProxyCounters()
    counters.failures[1] += 3
    counters.prompt_tokens, counters.output_tokens = 7.0, 9.0
    said = counters.text({"drifts": 2.0}, {"running": 4.0}, [(True, 5), (False, 0)]).splitlines()
    for line in ('server_up{server="1"} 1', 'server_up{server="2"} 0',
                 'server_running{server="1"} 5', 'server_failures_total{server="2"} 3',
                 'server_failures_total{server="1"} 0', "prompt_tokens_total 7",
                 "output_tokens_total 9", "drifts_total 2", "running 4"):  # fmt: skip
        assert f"rheostat_proxy_{line}" in said
    assert not any("server_up" in line for line in counters.text({}, {}).splitlines())


def test_keys_are_arrivals_and_the_head_start_of_each_tenth_of_the_cost() -> None:
    learner = SimpleNamespace(quantiles=lambda prompt, levels: np.array([0.5, 20.0, 400.0]))
    order = ServiceOrder("shortest-prompt", 30.0)
    assert (order.batch_cap, order.tokens_per_character, order.learn) == (64, 0.25, True)
    assert order.key("x" * 400, 7.0) == pytest.approx(7.0 + 30.0 * 2)
    assert order.key("x" * 2, 7.0) == 7.0  # one token at least
    assert order.key("x", 7.0, prompt_tokens=1000.0) == pytest.approx(97.0)
    assert ServiceOrder("fcfs", 30.0).key("x" * 400, 7.0) == 7.0
    shortest = ServiceOrder("shortest-answer", 30.0, learner)
    assert shortest.answer_tokens("a").tolist() == [1.0, 20.0, 400.0]
    assert shortest.answer_tokens("a", 30.0).tolist() == [1.0, 20.0, 30.0]
    assert shortest.answer_tokens("a", 0.0).tolist() == [1.0, 1.0, 1.0]
    assert shortest.cost("a", 30.0, answers=3) == pytest.approx(51.0)
    asked = []
    times = SimpleNamespace(cost_s=lambda prompt, output, batch_cap: asked.append(
        (prompt, output.tolist(), batch_cap)) or np.array([1.0, 4.0]))  # fmt: skip
    cost = ServiceOrder("cost", 30.0, learner, times, batch_cap=9)
    assert cost.cost("abcd" * 5, answers=2) == 2.5
    assert asked == [(5.0, [2.0, 40.0, 800.0], 9)]
    free = SimpleNamespace(cost_s=lambda *_, batch_cap: np.zeros(2))
    assert ServiceOrder("cost", 30.0, learner, free).key("a", 1.0) == pytest.approx(1.0 - 270.0)
    assert pytest.approx(np.arange(1, 14, 2) / 14) == LEVELS
    assert ServiceOrder(head_start_s=0.0).head_start_s == 0.0
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(DataError, match="0 or more"):
            ServiceOrder(head_start_s=wrong)


def test_answers_say_what_a_character_is_and_are_learned_from_where_they_are_to() -> None:
    seen = []
    learner = SimpleNamespace(observe=lambda *given: seen.append(given) or True)
    for policy, learn, learned in (("cost", False, True), ("fcfs", False, False),
                                   ("fcfs", True, True), ("shortest-answer", False, True),
                                   ("shortest-prompt", False, False)):  # fmt: skip
        order = ServiceOrder(policy, learner=learner, learn=learn)
        assert order.answered("x" * 10, 5.0, 3.0) is learned
        assert order.tokens_per_character == pytest.approx(0.25 + 0.02 * 0.25)
        order.answered("x" * 10, None, 3.0)
        order.answered("", 5.0, 3.0)
        assert order.tokens_per_character == pytest.approx(0.255)
    assert seen[0] == ("x" * 10, 3.0)
    assert len(seen) == 9


def test_who_must_begin_by_when() -> None:
    """A hundredth of the bound is kept back; answering counts as five sixths of it at most."""
    assert latest_begin([1.0, 1.0], 60.0, [7.0, 51.0]) == pytest.approx([53.4, 10.4])


def test_a_bound_of_times_first_come_is_of_the_99th_percentile_or_the_request_s_own() -> None:
    line = BoundLine(2, 3, 50.0, 2.0, clock=lambda: 0.0)
    assert line.places == 6
    bounds = [line._bound(float(k)) for k in range(1, 102)]
    assert bounds[0] == 2.0
    assert bounds[99] == 200.0
    assert line._bound(0.0) == 2.0 * sorted([*range(1, 102), 0])[100]
    plain = BoundLine(2, 3, 50.0)
    assert (plain._bound(9.0), len(plain._newest)) == (50.0, 0)
    assert BoundLine(1, 1).bound_s == math.inf


def test_vllm_s_queue_is_walked_in_order_and_backwards() -> None:
    queue = CostQueue(lambda r: r.key)
    made = [SimpleNamespace(request_id=str(i), key=k) for i, k in enumerate((3.0, 1.0, 1.0, 2.0))]
    assert (bool(queue), queue.least_key()) == (False, math.inf)
    for request in made:
        queue.add_request(request)
    assert [r.request_id for r in queue] == ["1", "2", "3", "0"]
    assert [r.request_id for r in reversed(queue)] == ["0", "3", "2", "1"]
    assert (queue.least_key(), queue.peek_request() is made[1], len(queue)) == (1.0, True, 4)
    queue.remove_request(made[1])
    assert (queue.pop_request() is made[2], len(queue)) == (True, 2)


@pytest.mark.parametrize(("address", "named"), [
    ("http://gpu7", b"gpu7"), ("http://gpu7:80/v1/", b"gpu7"), ("https://gpu7:443", b"gpu7"),
    ("https://gpu7:80", b"gpu7:80"), ("http://[::1]:8000", b"[::1]:8000"),
])  # fmt: skip
def test_a_host_is_named_with_its_port_where_that_is_not_the_usual(address, named) -> None:
    assert Upstream.at(address).named == named


@pytest.mark.parametrize(("address", "header"), [
    ("http://me@gpu7", b"Basic bWU6"), ("http://:pw@gpu7", b"Basic OnB3"),
    ("http://a%3A:b@gpu7", b"Basic YTo6Yg=="), ("http://gpu7", b""),
])  # fmt: skip
def test_a_user_or_a_password_alone_is_a_header_too(address, header) -> None:
    assert Upstream.at(address).authorization == header


@pytest.mark.parametrize(("method", "body", "length"), [
    ("GET", b"", None), ("DELETE", b"abc", b"3"), ("POST", b"", b"0"), ("PUT", b"", b"0"),
    ("PATCH", b"", b"0"), ("HEAD", b"", None),
])  # fmt: skip
def test_what_may_have_a_body_says_how_long_it_is(method, body, length) -> None:
    pytest.importorskip("httpcore2", reason="extra proxy")
    server = Upstream.at("http://me:pw@gpu7:8000/tenant")
    client = [(b"x", b"1"), (b"authorization", b"theirs")]
    for timeout_s, connect_s in ((60.0, 5.0), (2.0, 2.0)):
        made = server.request(method, b"/v1/models", client, body, timeout_s)
        headers = dict(made.headers)
        assert headers.get(b"content-length") == length
        assert (headers[b"host"], headers[b"x"]) == (b"gpu7:8000", b"1")
        assert headers[b"authorization"] == b"Basic bWU6cHc="
        assert [v for k, v in made.headers if k == b"authorization"] == [b"Basic bWU6cHc="]
        assert made.url.target == b"/tenant/v1/models"
        assert made.extensions["timeout"] == {"connect": connect_s, "read": timeout_s,
                                              "write": timeout_s}  # fmt: skip
    plain = Upstream.at("http://gpu7:8000").request(method, b"/", client, body, 9.0)
    assert dict(plain.headers)[b"authorization"] == b"theirs"


def test_idle_connections_are_a_hundred_for_two_seconds(monkeypatch) -> None:
    made = {}
    pool = SimpleNamespace(AsyncConnectionPool=lambda **given: made.update(given),
                           default_ssl_context=lambda: "trusted")  # fmt: skip
    monkeypatch.setattr(upstream, "require", lambda *_, **__: pool)
    plain, secure = Upstream.at("http://a"), Upstream.at("https://b")
    for servers, context in (([plain], None), ([plain, secure], "trusted")):
        upstream.upstream_connections(servers)
        assert made["ssl_context"] == context
        assert (made["max_keepalive_connections"], made["keepalive_expiry"]) == (100, 2.0)
        assert made["max_connections"] is None
