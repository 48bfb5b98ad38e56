"""The proxy before scripted servers on 127.0.0.1: order, streams, failures, each request once."""

from __future__ import annotations

import asyncio
import contextlib
import cProfile
import json
import os
import pstats
import re
import socket
from collections import Counter

import pytest

from rheostat.decision.serving.dispatch_queue import DispatchQueue
from rheostat.decision.serving.proxy import ServingProxy
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.upstream import Upstream, upstream_connections
from rheostat.decision.serving.waiting_line import BoundLine
from rheostat.questions.serving_proxy import IDLE_S, serve_proxy, serving_proxy

httpx = pytest.importorskip("httpx2", reason="no client to ask with is installed")
httpcore = pytest.importorskip("httpcore2", reason="the extra proxy is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra proxy is not installed")
CHAT = "/v1/chat/completions"


class Script:
    """A server that does what the prompt says: ``answer 5``, ``die``, ``wait 1``, ``fail``."""

    def __init__(self):
        self.begun, self.bodies, self.ended = [], [], 0
        self.hold = asyncio.Event()
        self.hold.set()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        given = json.loads(body) if body else {"messages": [{"content": "answer 1"}]}
        self.bodies.append(given)
        word, number = [*given["messages"][0]["content"].split(), "1"][:2]
        self.begun.append(f"{word} {number}")
        await self.hold.wait()
        if word == "wait":
            await asyncio.sleep(float(number))
        if word == "fail":
            await self.reply(send, 500, b'{"error": "no"}')
        elif given.get("stream") or word == "die":
            await self.stream(send, int(number), dies=word == "die")
        else:
            usage = {"prompt_tokens": 9, "completion_tokens": int(float(number))}
            await self.reply(send, 200, json.dumps({"usage": usage}).encode())
        self.ended += 1

    async def reply(self, send, status, body):
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async def stream(self, send, count, *, dies):
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for i in range(count):
            piece = json.dumps({"choices": [{"delta": {"content": f"w{i} "}}]})
            part = f"data: {piece}\n\n".encode()
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(0)
        if dies:
            raise ConnectionError
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


class Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):
        yield


@contextlib.asynccontextmanager
async def listening(app):
    """The address of an application that is served."""
    made = socket.create_server(("127.0.0.1", 0))
    server = Quiet(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_keep_alive=75))
    task = asyncio.ensure_future(server.serve(sockets=[made]))
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{made.getsockname()[1]}"
    finally:
        server.should_exit, server.force_exit = True, True
        await task


@contextlib.asynccontextmanager
async def front(*upstreams, in_flight=1, most_waiting=1000, order=None, line=None, **options):
    """A proxy that listens, and a client of it."""
    servers = [Upstream.at(address) for address in upstreams]
    async with upstream_connections(servers) as out:
        queue = DispatchQueue(len(upstreams), in_flight, most_waiting, line)
        proxy = ServingProxy(servers, order or ServiceOrder(), queue, out, **options)
        async with listening(proxy) as url:
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(
                base_url=url, trust_env=False, timeout=600, limits=limits
            ) as client:
                yield proxy, client


def ask(client, text, **more):
    return client.post(CHAT, json={"messages": [{"role": "user", "content": text}], **more})


async def until(condition):
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("did not come about")


@pytest.mark.parametrize(("policy", "first"), [("cost", "answer 3"), ("fcfs", "answer 900")])
def test_those_that_wait_are_asked_for_in_the_order_of_their_cost(policy, first):
    async def run():
        script = Script()
        async with listening(script) as url, front(url, order=ServiceOrder(policy)) as (p, client):
            script.hold.clear()
            jobs = [asyncio.ensure_future(ask(client, "answer 1"))]
            await until(lambda: script.begun)
            for i, tokens in enumerate((900, 500, 3)):
                jobs.append(asyncio.ensure_future(ask(client, f"answer {tokens}",
                                                      max_tokens=tokens)))  # fmt: skip
                await until(lambda i=i: p.queue.waiting == i + 1)
            script.hold.set()
            answers = await asyncio.gather(*jobs)
            assert {a.status_code for a in answers} == {200}
            assert script.begun[1] == first
            assert p.queue.running == [0]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("bound_s", "begun"), [(1e4, ["3", "60", "900"]), (1e-3, ["900", "60", "3"])]
)
def test_within_a_bound_the_cheapest_go_first_only_as_long_as_nobody_is_late(bound_s, begun):
    """Where one of the first answers was late, nobody is given up: who came first goes first."""

    async def run():
        script, line = Script(), BoundLine(1, 1, bound_s)
        async with (
            listening(script) as url,
            front(url, order=ServiceOrder(), line=line, by_cost=True) as (p, client),
        ):
            script.hold.clear()
            jobs = [asyncio.ensure_future(ask(client, "answer 1"))]
            await until(lambda: script.begun)
            for i, tokens in enumerate((900, 60, 3)):
                jobs.append(asyncio.ensure_future(ask(client, f"answer {tokens}",
                                                      max_tokens=tokens)))  # fmt: skip
                await until(lambda i=i: p.queue.waiting == i + 1)
            script.hold.set()
            answers = await asyncio.gather(*jobs)
            assert {a.status_code for a in answers} == {200}
            assert script.begun[1:] == [f"answer {n}" for n in begun]
            assert p.queue.running == [0]

    asyncio.run(run())


def test_a_stream_comes_piece_by_piece_and_its_pieces_are_counted():
    async def run():
        script = Script()
        async with listening(script) as url, front(url) as (p, client):
            body = {"messages": [{"content": "answer 7"}], "stream": True}
            async with client.stream("POST", CHAT, json=body) as answer:
                pieces = [line async for line in answer.aiter_lines() if line]
            assert answer.headers["content-type"] == "text/event-stream"
            assert len(pieces) == 8
            assert pieces[-1] == "data: [DONE]"
            await until(lambda: p.counters.outcomes["answered"] == 1)
            assert p.counters.output_tokens == 7
            metrics = (await client.get("/metrics")).text
            assert 'requests_total{outcome="answered"} 1' in metrics
            assert re.search(r"^rheostat_proxy_output_tokens_total 7$", metrics, re.MULTILINE)
            assert (await client.get("/v1/models")).status_code == 200  # passed on as it is

    asyncio.run(run())


async def each_once(count):
    """Servers that die, are silent or answer 500, clients that leave: what became of requests."""
    one, two = Script(), Script()
    dead = "http://127.0.0.1:9"
    kinds = ["answer 2", "answer 5", "fail 0", "die 3", "wait 60", "leave 1"]
    async with listening(one) as a, listening(two) as b, front(
        a, b, dead, in_flight=4, timeout_s=2.0
    ) as (p, client):  # fmt: skip
        at_once = asyncio.Semaphore(30)  # more would keep this one process from its time limits

        async def one_of(i):
            kind = kinds[0] if i % 10 else kinds[1 + i // 10 % 5]
            async with at_once:
                if kind.startswith("leave"):
                    body = {"messages": [{"content": "wait 0.2"}]}
                    brief = httpx.Timeout(30, read=0.1)
                    with contextlib.suppress(httpx.TimeoutException):
                        return (await client.post(CHAT, json=body, timeout=brief)).status_code
                    return "left"
                try:
                    answer = await ask(client, kind, stream=kind == "answer 5")
                except httpx.RemoteProtocolError:
                    return "cut"
                return answer.status_code

        seen = Counter(await asyncio.gather(*(one_of(i) for i in range(count))))
        await until(lambda: sum(p.counters.outcomes.values()) == p.counters.received)
        return p, seen


@pytest.mark.parametrize(
    "count",
    [
        300,
        pytest.param(
            10_000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)], id="ten thousand"
        ),
    ],
)
def test_each_of_many_requests_is_answered_or_refused_once_whatever_fails(count):
    if count > 1000 and not os.environ.get("RHEOSTAT_FUZZ"):
        pytest.skip("a minute of CPU time: RHEOSTAT_FUZZ=1 runs it")
    p, seen = asyncio.run(each_once(count))
    done = p.counters.outcomes
    print(count, dict(seen), dict(done))
    assert p.counters.received == sum(done.values()) == count
    assert p.queue.running == [0, 0, 0]
    assert p.queue.waiting == 0
    assert set(seen) <= {200, 500, 503, 504, "cut", "left"}  # 503: no connection in time
    assert min(seen[504], seen["cut"], seen[500], seen["left"]) > 0
    answers = {"answered": seen[200] + seen[500], "failed": seen[503] + seen[504],
               "cut": seen["cut"]}  # fmt: skip
    late = {what: done[what] - number for what, number in answers.items()}
    assert min(late.values()) >= 0  # each was sent by the proxy, or is of a client that had left
    assert sum(late.values()) == seen["left"] - done["left"]


def test_work_per_request_hardly_grows_with_the_requests_at_once(monkeypatch):
    monkeypatch.setattr("rheostat.decision.serving.upstream.CONNECT_S", 600.0)

    async def calls_per_request(count):
        script = Script()
        async with (
            listening(script) as url,
            front(url, in_flight=count, order=ServiceOrder("fcfs")) as (p, client),
        ):
            profile = cProfile.Profile()
            profile.enable()
            for _ in range(2):  # the second time on connections that are open
                script.hold.clear()
                jobs = [asyncio.ensure_future(ask(client, "answer 1")) for _ in range(count)]
                await until(lambda: p.queue.running == [count])
                script.hold.set()
                assert {a.status_code for a in await asyncio.gather(*jobs)} == {200}
            profile.disable()
        return pstats.Stats(profile).total_calls / (2 * count)

    few, many = (asyncio.run(calls_per_request(count)) for count in (5, 50))
    print(few, many)
    assert many < 2 * few


def test_a_request_that_a_lost_server_did_not_take_waits_for_another(monkeypatch):
    monkeypatch.setattr("rheostat.decision.serving.proxy.REST_S", 0.02)

    async def run():
        script, order = Script(), ServiceOrder("fcfs")
        async with listening(script) as url, front("http://127.0.0.1:9", url, order=order) as (
            p, client,
        ):  # fmt: skip
            script.hold.clear()
            jobs = []
            for i in range(3):  # a later one has those that wait sent there again
                jobs.append(asyncio.ensure_future(ask(client, "answer 1")))
                await until(lambda: p.queue.running == [0, 1])
                await until(lambda i=i: p.queue.waiting == i)
                await asyncio.sleep(0.05)
            assert not any(job.done() for job in jobs)
            script.hold.set()
            assert [a.status_code for a in await asyncio.gather(*jobs)] == [200] * 3

    asyncio.run(run())


def test_idle_connections_end_on_the_side_that_asks(monkeypatch):
    assert uvicorn.Config("").timeout_keep_alive > IDLE_S
    kept = []

    async def serve(self, sockets):
        kept.append(self.config.timeout_keep_alive)
        for made in sockets:
            made.close()

    async def connections(pause_s):
        ports, script = set(), Script()

        async def app(scope, receive, send):
            ports.add(scope["client"][1])
            await script(scope, receive, send)

        async with listening(app) as url:
            front = serving_proxy([url], "", ServiceOrder(), 1, 1, 9.0, 999)
            async with front.client as client:
                for pause in (pause_s, 0.0):
                    await (await client.request("GET", url)).aread()
                    await asyncio.sleep(pause)
        return len(ports)

    monkeypatch.setattr("rheostat.questions.serving_proxy.IDLE_S", 0.1)
    assert [asyncio.run(connections(pause_s)) for pause_s in (0.0, 0.2)] == [1, 2]
    monkeypatch.setattr(uvicorn.Server, "serve", serve)
    front = serving_proxy(["http://127.0.0.1:9"], "", ServiceOrder(), 1, 1, 9.0, 999)
    serve_proxy(front, "127.0.0.1", 0, 0.0)
    assert kept[0] > httpx.Limits().keepalive_expiry


def test_the_key_is_handed_to_servers_that_order_themselves():
    async def run(priority):
        script = Script()
        async with listening(script) as url, front(url, priority=priority, in_flight=10**9) as (
            _, client,
        ):  # fmt: skip
            await ask(client, "answer 1", max_tokens=900)
            await ask(client, "answer 1", max_tokens=2)
        return [b["priority"] for b in script.bodies]

    long, short = asyncio.run(run("vllm"))
    assert isinstance(long, int)
    assert short < long
    long, short = asyncio.run(run("sglang"))
    assert short > long


def test_what_cannot_be_asked_is_refused_with_a_reason():
    async def run():
        script = Script()
        async with listening(script) as url, front(
            url, most_waiting=1, most_bytes=200, timeout_s=1.0
        ) as (p, client):  # fmt: skip
            for body, status in ((b"{", 400), (b"[1]", 400), (b"x" * 300, 413), (b"\xff", 400)):
                answer = await client.post(CHAT, content=body)
                assert answer.status_code == status
                assert answer.json()["error"]["message"]
            script.hold.clear()
            jobs = [asyncio.ensure_future(ask(client, "answer 1")) for _ in range(2)]
            await until(lambda: p.queue.waiting == 1)
            full = await ask(client, "answer 1")
            assert (full.status_code, full.headers["retry-after"]) == (503, "2")
            script.hold.set()
            assert [j.status_code for j in await asyncio.gather(*jobs)] == [200, 200]
            silent = await ask(client, "wait 30")
            assert silent.status_code == 504
        async with front("http://127.0.0.1:9") as (p, client):
            lost = await ask(client, "answer 1")
            assert (lost.status_code, lost.headers["retry-after"]) == (503, "2")
            assert p.counters.outcomes["failed"] == 1

    asyncio.run(run())


def test_what_takes_no_place_is_passed_on_as_it_came_to_a_server_that_is_there():
    """A list of models, a browser's question before a POST, names with a slash in them."""
    seen = []

    async def app(scope, receive, send):
        seen.append((scope["method"], scope["raw_path"], scope["query_string"]))
        await Script().reply(send, 200, b"{}")

    async def run():
        async with listening(app) as url, front("http://127.0.0.1:9", url) as (_, client):
            for method, path in (("GET", "/v1/models/a%2Fb%3Fc?x=%20"), ("OPTIONS", CHAT)):
                assert (await client.request(method, path)).status_code == 200
        async with front("http://127.0.0.1:9") as (p, client):
            lost = await client.get("/v1/models")
            assert (lost.status_code, lost.headers["retry-after"]) == (503, "2")
            assert "server 1 of 1 cannot be reached" in lost.json()["error"]["message"]
            assert p.counters.outcomes["failed"] == 1

    asyncio.run(run())
    assert seen == [("GET", b"/v1/models/a%2Fb%3Fc", b"x=%20"), ("OPTIONS", CHAT.encode(), b"")]


def test_a_server_that_does_not_take_the_connection_is_no_silent_one():
    class Deaf(httpcore.AsyncConnectionPool):
        async def handle_async_request(self, request):
            if request.url.port == 9:
                raise httpcore.ConnectTimeout("nobody there")
            return await super().handle_async_request(request)

    async def run():
        async with (
            listening(Script()) as url, Deaf() as out,
            front("http://127.0.0.1:9", url) as (proxy, client),
        ):  # fmt: skip
            proxy.client = out
            return await ask(client, "answer 1")

    assert asyncio.run(run()).status_code == 200


def test_who_leaves_while_waiting_is_not_asked_for():
    async def run():
        script = Script()
        async with listening(script) as url, front(url) as (p, client):
            script.hold.clear()
            first = asyncio.ensure_future(ask(client, "answer 1"))
            await until(lambda: script.begun)
            with contextlib.suppress(httpx.TimeoutException):
                await client.post(CHAT, json={"messages": [{"content": "answer 99"}]}, timeout=0.05)
            await until(lambda: p.counters.outcomes["left"] == 1)
            assert p.queue.waiting == 0
            script.hold.set()
            assert (await first).status_code == 200
            assert script.begun == ["answer 1"]

    asyncio.run(run())


def test_lengths_are_learned_from_the_answers_that_pass():
    async def run():
        script = Script()
        async with listening(script) as url, front(url, in_flight=8) as (p, client):
            for i in range(60):
                await ask(client, f"answer {3 if i % 2 else 400} "
                                  f"{'shortly please' if i % 2 else 'at length'}")  # fmt: skip
            await until(lambda: p.order.learner.model is not None)
            brief, long = (p.order.answer_tokens(f"answer {w}").mean() for w in ("shortly please",
                                                                         "at length"))  # fmt: skip
            assert 5 * brief < long

    asyncio.run(run())
