"""The proxy message by message, with a client that answers as it is told; no server listens."""

from __future__ import annotations

import asyncio
import json
import re
from inspect import signature
from types import SimpleNamespace

import pytest

from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.proxy import ServingProxy
from rheostat.decision.serving.proxy_counters import ProxyCounters
from rheostat.decision.serving.proxy_messages import (
    AT_ONCE,
    AskedAnswers,
    Passing,
    RefusedError,
    parsed,
    passed_on,
)
from rheostat.decision.serving.request_target import ambiguous_end
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.upstream import Upstream
from rheostat.questions.serving_proxy import proxy as proxy_command

httpcore = pytest.importorskip("httpcore2", reason="the extra proxy is not installed")

CHAT = "/v1/chat/completions"
USAGE = {"usage": {"prompt_tokens": 4, "completion_tokens": 7}}


class Client:
    """Answers with these parts; a part that is an error is raised."""

    def __init__(self, *parts, status=200, kind="application/json", error=None):
        self.parts, self.status, self.kind, self.error = parts, status, kind, error
        self.asked, self.closed = [], 0

    async def handle_async_request(self, request):
        host, port = request.url.host.decode(), request.url.port
        content = b"".join([part async for part in request.stream])
        self.asked.append(SimpleNamespace(
            method=request.method.decode(), url=(host, port, request.url.target.decode()),
            content=content, headers=request.headers,
            timeout=request.extensions["timeout"]))  # fmt: skip
        if self.error is not None:
            raise self.error

        async def aiter_stream():
            for part in self.parts:
                if isinstance(part, Exception):
                    raise part
                yield part

        async def aclose():
            self.closed += 1

        head = [(b"Content-Type", self.kind.encode()), (b"X-Mine", b"1"),
                (b"Content-Length", b"9"), (b"Connection", b"close")]  # fmt: skip
        return SimpleNamespace(headers=head, status=self.status, aiter_stream=aiter_stream,
                               aclose=aclose)  # fmt: skip


def proxy(client, servers=("http://a/",), **more) -> ServingProxy:
    there = [Upstream.at(server) for server in servers]
    return ServingProxy(there, ServiceOrder(), DispatchQueue(len(servers), 1), client, **more)


def asked(front, body=b"", *, path=CHAT, query=b"", pieces=1, gone=False, method="POST", more=()):
    """The messages that the proxy sends for one request."""
    size = -(-len(body) // pieces)
    given = [{"type": "http.request", "body": body[i * size : (i + 1) * size],
              "more_body": i < pieces - 1} for i in range(pieces)]  # fmt: skip
    if gone:
        given[-1] = {"type": "http.disconnect"}
    sent = []

    async def receive():
        if given:
            return given.pop(0)
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    scope = {"path": path, "method": method, "query_string": query,
             "headers": [(b"Authorization", b"key"), (b"Host", b"us"), (b"Expect", b"x"),
                         (b"Accept-Encoding", b"gzip"), *more]}  # fmt: skip
    asyncio.run(asyncio.wait_for(front(scope, receive, send), 60.0))
    return sent


def request(text="hello", **more) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}], **more}).encode()


def test_a_request_is_passed_on_without_the_headers_of_a_connection() -> None:
    client = Client(json.dumps(USAGE).encode()[:10], json.dumps(USAGE).encode()[10:])
    front = proxy(client, timeout_s=30.0)
    sent = asked(front, request(), query=b"a=1&b=%20", pieces=3)
    (made,) = client.asked
    assert (made.method, made.url, made.content) == (
        "POST", ("a", 80, f"{CHAT}?a=1&b=%20"), request())  # fmt: skip
    assert made.headers == [
        (b"host", b"a"), (b"accept-encoding", b"identity"),
        (b"content-length", b"%d" % len(request())), (b"authorization", b"key")]  # fmt: skip
    assert made.timeout == {"connect": 5.0, "read": 30.0, "write": 30.0}
    assert sent == [
        {"type": "http.response.start", "status": 200,
         "headers": [(b"content-type", b"application/json"), (b"x-mine", b"1"),
                     (b"content-length", b"9")]},
        {"type": "http.response.body", "body": json.dumps(USAGE).encode(), "more_body": True},
        {"type": "http.response.body", "body": b"", "more_body": False}]  # fmt: skip
    counters = front.counters
    assert (counters.received, dict(counters.outcomes)) == (1, {"answered": 1})
    assert (counters.prompt_tokens, counters.output_tokens) == (4.0, 7.0)
    assert counters.waits[float("inf")] == 1
    assert front.order.learner.answers == 1
    assert client.closed == 1
    brief = Client(b"{}")
    asked(proxy(brief, timeout_s=2.0), request())
    assert brief.asked[0].timeout == {"connect": 2.0, "read": 2.0, "write": 2.0}
    assert brief.asked[0].url == ("a", 80, CHAT)


def test_other_paths_are_passed_on_unread_and_teach_nothing() -> None:
    client = Client(json.dumps(USAGE).encode())
    front = proxy(client)
    asked(front, b"{", path="/v1/models", method="GET")
    assert [x.content for x in client.asked] == [b"{"]
    assert (front.order.learner.answers, front.counters.output_tokens) == (0, 0.0)
    assert front.counters.waits[float("inf")] == 0


@pytest.mark.parametrize(("more", "answers"), [
    ({"status": 500}, 0), ({}, 1), ({"kind": "text/event-stream; charset=utf-8"}, 0),
])  # fmt: skip
def test_only_good_answers_of_a_known_length_teach(more, answers) -> None:
    front = proxy(Client(json.dumps(USAGE).encode(), **more))
    asked(front, request())
    assert front.order.learner.answers == answers
    assert front.counters.output_tokens == 7.0 * answers
    asked(front, b"{}")
    assert front.order.learner.answers == answers  # no prompt, nothing to learn


def test_a_stream_is_passed_on_piece_by_piece() -> None:
    event = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'
    front = proxy(Client(event, event, kind="text/event-stream"))
    sent = asked(front, request())
    assert [m["body"] for m in sent[1:]] == [event, event, b""]
    assert [m["more_body"] for m in sent[1:]] == [True, True, False]
    assert (b"content-length", b"9") not in sent[0]["headers"]
    assert front.counters.output_tokens == 2.0


@pytest.mark.parametrize(("priority", "factor"), [("vllm", 1e6), ("sglang", -1e6)])
def test_the_key_is_the_priority_of_servers_that_order(priority, factor, monkeypatch) -> None:
    client = Client(b"{}")
    front = proxy(client, priority=priority)
    seen = []
    monkeypatch.setattr(front.order, "key", lambda *a: seen.append(a) or 12.3456789)
    asked(front, request("hi", max_tokens=3))
    body = json.loads(client.asked[0].content)
    assert body == json.loads(request("hi", max_tokens=3)) | {
        "priority": round(12.3456789 * factor)
    }
    ((prompt, _, most, *_),) = seen
    assert ("hi" in prompt, most) == (True, 3)


def refusal(front, body=None, **how):
    start, rest = asked(front, request() if body is None else body, **how)
    return start, json.loads(rest["body"])["error"]


@pytest.mark.parametrize(("error", "status", "kind", "said"), [
    (httpcore.ReadTimeout("slow"), 504, "timeout", "server 1 of 1 was silent"),
    (httpcore.RemoteProtocolError("bad"), 503, "server_failed", "server 1 of 1 broke off"),
    (httpcore.ConnectError("none"), 503, "no_server", "server 1 of 1 cannot be reached"),
])  # fmt: skip
def test_a_server_without_an_answer_is_an_error_with_its_number_and_an_id(
    error, status, kind, said, caplog
) -> None:
    """Where the server is and what was wrong stand in the log alone, the password nowhere."""
    front = proxy(Client(error=error), ("http://me:secret@hidden.host:9/",))
    start, document = refusal(front)
    assert (start["status"], document["type"]) == (status, kind)
    told = re.fullmatch(rf"{said} \(request ([0-9a-f]{{16}})\)", document["message"])
    assert told
    (line,) = caplog.messages
    assert f"request {told[1]}: server 1 (http://hidden.host:9)" in line
    assert repr(error) in line
    assert "secret" not in line
    first, (name, size), *last = start["headers"]
    assert first == (b"content-type", b"application/json")
    assert (name, int(size)) == (b"content-length", len(json.dumps({"error": document})))
    assert last == [(b"retry-after", b"2")] * (status == 503)
    assert dict(front.counters.outcomes) == {"failed": 1}
    assert front.queue.running == [0]


def test_an_answer_that_breaks_off_has_an_error_inside_and_no_end() -> None:
    parts = (b"data: {}\n\n", b'data: {"cho', httpcore.ReadError("http://hidden.host"))
    front = proxy(Client(*parts, kind="text/event-stream"))
    _, whole, last = asked(front, request())
    assert whole["body"] == parts[0]
    assert last["more_body"] is True
    said = json.loads(last["body"].removeprefix(b"\ndata: "))["error"]
    assert said["type"] == "server_failed"
    assert re.fullmatch(r"server 1 of 1 broke off \(request [0-9a-f]{16}\)", said["message"])
    assert last["body"].endswith(b"}\n\n")
    assert dict(front.counters.outcomes) == {"cut": 1}
    whole = proxy(Client(b"{", httpcore.ReadError("gone")))
    assert refusal(whole)[0]["status"] == 503  # nothing had been sent yet


def test_a_server_that_cannot_be_reached_rests_and_the_others_are_asked() -> None:
    client = Client(error=httpcore.ConnectError("none"))
    front = proxy(client, ("http://a", "http://b"))
    start, _ = refusal(front)
    assert [x.url for x in client.asked] == [("a", 80, CHAT), ("b", 80, CHAT)]
    assert start["status"] == 503
    assert front.queue.awake() == []


def test_bodies_have_a_length_an_end_and_a_sender() -> None:
    body = request()
    assert asked(proxy(Client(b"{}"), most_bytes=len(body)), body)[0]["status"] == 200
    front = proxy(Client(b"{}"), most_bytes=len(body) - 1)
    start, document = refusal(front, body, pieces=2)
    assert (start["status"], document["type"]) == (413, "request_too_large")
    assert document["message"] == f"the body has more than {len(body) - 1} bytes"
    assert dict(front.counters.outcomes) == {"refused": 1}
    gone = proxy(Client(b"{}"))
    assert asked(gone, body, pieces=2, gone=True) == []
    assert dict(gone.counters.outcomes) == {"left": 1}
    slow = proxy(Client(b"{}"), timeout_s=0.01)

    async def never():
        await asyncio.sleep(3600)

    with pytest.raises(RefusedError) as caught:
        asyncio.run(slow._read(never, bytearray()))
    assert (caught.value.status, caught.value.kind) == (408, "timeout")
    full = proxy(Client(b"{}"))
    full.queue.most_waiting, full.queue.running = 0, [1]
    start, document = refusal(full)
    assert (start["status"], document["message"]) == (503, "0 requests wait already")


@pytest.mark.parametrize(("given", "most"), [
    ({"max_tokens": 5}, 5), ({"max_tokens": 9, "max_completion_tokens": 5}, 5), ({}, None),
    ({"max_tokens": True}, None), ({"max_tokens": 0}, None), ({"max_tokens": "5"}, None),
    ({"max_tokens": 10**400}, None), ({"max_tokens": 0.5}, 0.5), ({"max_tokens": -1}, None),
])  # fmt: skip
def test_where_an_answer_is_cut_off(given, most) -> None:
    assert parsed(bytearray(json.dumps(given).encode())).most_tokens == most


@pytest.mark.parametrize(("n", "answers"), [
    (1, 1), (1000, 1000), (1001, 1), (0, 1), (-1, 1), ("2", 1), (None, 1),
])  # fmt: skip
def test_a_prompt_has_up_to_a_thousand_answers(n, answers) -> None:
    assert parsed(bytearray(json.dumps({"prompt": "Hi", "n": n}).encode())).answers == answers


@pytest.mark.parametrize(("parts", "turns"), [
    (AT_ONCE - 1, 0), (AT_ONCE, 1), (3 * AT_ONCE, 3),
])  # fmt: skip
def test_others_have_a_turn_after_so_many_parts_of_a_stream_that_is_all_there(parts, turns) -> None:
    async def run() -> int:
        counted, sent = 0, []

        async def others() -> None:
            nonlocal counted
            while True:
                await asyncio.sleep(0)
                counted += 1

        async def send(message) -> None:
            sent.append(message)

        beside = asyncio.ensure_future(others())
        await asyncio.sleep(0)

        async def aiter_stream():
            for _ in range(parts):
                yield b"data: {}\n\n"

        answer = SimpleNamespace(
            status=200, headers=[(b"content-type", b"text/event-stream")], aiter_stream=aiter_stream
        )
        await Passing(send, at_once=False).all_of(answer)
        beside.cancel()
        assert len(sent) == parts + 2
        return counted

    assert asyncio.run(run()) == turns


def test_a_line_of_a_stream_is_waited_for_up_to_64_kib() -> None:
    sent = []

    async def send(message):
        sent.append(len(message["body"]))

    async def run():
        passing = Passing(send, at_once=False, streamed=True)
        for length, expected in ((65_535, []), (1, []), (1, [65_537])):
            await passing._part(b"x" * length)
            assert sent == expected

    asyncio.run(run())


def test_the_proxy_alone_has_the_limits_of_the_command() -> None:
    asked_of = signature(proxy_command).parameters
    for made, own, name in ((ServingProxy, "timeout_s", "timeout_s"),
                            (ServingProxy, "most_bytes", "body_limit_b"),
                            (DispatchQueue, "most_waiting", "waiting"),
                            (ServiceOrder, "head_start_s", "head_start_s")):  # fmt: skip
        assert signature(made).parameters[own].default == asked_of[name].default


def test_metrics_are_what_prometheus_reads() -> None:
    front = proxy(Client(json.dumps(USAGE).encode()))
    asked(front, request())
    lines = asyncio.run(front.metrics()).splitlines()
    for line in ('rheostat_proxy_requests_total{outcome="answered"} 1',
                 'rheostat_proxy_requests_total{outcome="left"} 0',
                 "rheostat_proxy_prompt_tokens_total 4", "rheostat_proxy_output_tokens_total 7",
                 'rheostat_proxy_wait_seconds_bucket{le="100"} 1',
                 'rheostat_proxy_wait_seconds_bucket{le="+Inf"} 1',
                 "rheostat_proxy_wait_seconds_count 1", "rheostat_proxy_waiting 0",
                 "rheostat_proxy_first_part_seconds_count 1",
                 "rheostat_proxy_answer_seconds_count 1",
                 "rheostat_proxy_running 0", "rheostat_proxy_answers_learned_total 1",
                 "rheostat_proxy_drifts_total 0",
                 "# TYPE rheostat_proxy_waiting gauge"):  # fmt: skip
        assert line in lines
    counters = ProxyCounters()
    for seconds in (0.01, 1.5):
        counters.waited(seconds)
    assert [counters.waits[e] for e in (0.01, 1.0, 10.0, float("inf"))] == [1, 1, 2, 2]
    assert counters.waits.total_s == 1.51


def test_places_go_to_the_least_key_at_the_server_with_the_fewest() -> None:
    async def run():
        queue, given = DispatchQueue(2, 2, most_waiting=3), []

        async def job(key):
            async with queue.place(key) as server:
                given.append((key, server))
                await hold.wait()

        hold = asyncio.Event()
        first = [asyncio.ensure_future(job(k)) for k in (5.0, 4.0, 3.0, 2.0)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [s for _, s in given] == [0, 1, 0, 1]
        assert queue.running == [2, 2]
        late = [asyncio.ensure_future(job(k)) for k in (9.0, 7.0, 8.0)]
        await asyncio.sleep(0)
        assert queue.waiting == 3
        with pytest.raises(QueueFullError):
            await queue._given(1.0)
        late[1].cancel()
        await asyncio.gather(late[1], return_exceptions=True)
        assert queue.waiting == 2
        hold.set()
        await asyncio.gather(*first, late[0], late[2])
        assert [k for k, _ in given[4:]] == [8.0, 9.0]
        assert (queue.running, queue.waiting) == ([0, 0], 0)
        queue.rest(0, 60.0)
        assert queue.awake() == [1]
        assert [(await queue._given(1.0)).result() for _ in range(2)] == [1, 1]
        queue.rest(1, 60.0)
        assert (await queue._given(1.0)).result() == 0  # all rest: then one of them

    asyncio.run(run())


def test_the_headers_of_one_connection_go_no_further() -> None:
    """Those of RFC 9110 7.6.1 and 11.7, whatever their case, and those that Connection names."""
    hop = ["Connection", "Keep-Alive", "Transfer-Encoding", "TE", "Trailer", "Upgrade",
           "Proxy-Authorization", "Proxy-Authenticate", "Proxy-Connection"]  # fmt: skip
    headers = [(name.encode(), b"X-Mine, close") for name in hop]
    kept = [(b"authorization", b"key"), (b"x-other", b"2")]
    assert passed_on([*headers, (b"X-MINE", b"1"), *kept]) == kept


@pytest.mark.parametrize(("names", "version", "ambiguous"), [
    ((b"Transfer-Encoding",), "1.0", True), ((b"Transfer-Encoding",), "1.1", False),
    ((b"transfer-encoding", b"Content-Length"), "1.1", True), ((b"Content-Length",), "1.0", False),
    ((), "1.0", False),
])  # fmt: skip
def test_where_a_request_ends_is_ambiguous_with_two_lengths_or_chunks_of_http_1_0(
    names, version, ambiguous
) -> None:
    assert ambiguous_end([(name, b"x") for name in names], version) is ambiguous


def test_lengths_are_fitted_anew_one_fit_at_a_time(monkeypatch) -> None:
    fits = []
    monkeypatch.setattr("rheostat.decision.serving.proxy.fitted", lambda: "model")
    learner = SimpleNamespace(due=True, begin=tuple, take=fits.append)
    known = []
    order = SimpleNamespace(learner=learner, answered=lambda *given: known.append(given))
    answer = SimpleNamespace(length=SimpleNamespace(output_tokens=lambda: 6.0, prompt_tokens=None))
    asked_for = AskedAnswers("hi", None, None, 4)

    async def run() -> None:
        front = proxy(Client())
        front.order = order
        for count in (1, 2, 3):
            front._learn(asked_for, answer)
            first = front._fitting
            front._learn(asked_for, answer)
            assert front._fitting is first  # the one that runs
            await first
            assert len(fits) == count
        learner.due = False
        front._learn(asked_for, answer)
        assert front._fitting is first
        assert (front.counters.output_tokens, front.counters.prompt_tokens) == (42.0, 0.0)

    asyncio.run(run())
    assert fits == ["model"] * 3
    assert known == [("hi", None, 1.5)] * 7
