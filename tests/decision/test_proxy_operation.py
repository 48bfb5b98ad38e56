"""The proxy as a site runs it: cookies, streams, hostile bodies, stuck clients, metrics, a stop."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import starmap
from pathlib import Path

import pytest

from rheostat.decision.serving.proxy_messages import parsed, with_priority
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.errors import DataError
from rheostat.prediction.answer_length.length_learner import ApartFit, fitted
from rheostat.questions.serving_proxy import listening_socket, serve_proxy, serving_proxy
from tests.decision.test_proxy_messages import CHAT, USAGE, Client, asked, proxy, refusal, request

pytest.importorskip("uvicorn", reason="the extra proxy is not installed")


def test_what_the_client_adds_goes_on_and_nothing_of_another_answer() -> None:
    """Cookies are those of who asks; ``Connection`` names what ends here."""
    client = Client(b"{}")
    asked(proxy(client), request(), more=[
        (b"connection", b"keep-alive, X-Hop"), (b"x-hop", b"1"), (b"te", b"trailers"),
        (b"cookie", b"mine=2"), (b"x-id", b"7")])  # fmt: skip
    size = b"%d" % len(request())
    assert sorted(client.asked[0].headers) == [
        (b"accept-encoding", b"identity"), (b"authorization", b"key"), (b"content-length", size),
        (b"cookie", b"mine=2"), (b"host", b"a"), (b"x-id", b"7")]  # fmt: skip


def test_streams_of_events_are_passed_on_byte_for_byte_in_whole_lines() -> None:
    given = (b'data: {"choices": [{"delta": {"content": "H\xc3\xa9"}}]}\r\n\r\n: ping\n\n'
             b'data: {"choices": [], "usage": {"completion_tokens": 5}}\n\n'
             b"data: [DONE]\n\nend")  # fmt: skip
    for size in (1, 7, len(given)):
        parts = [given[i : i + size] for i in range(0, len(given), size)]
        front = proxy(Client(*parts, kind="text/event-stream"))
        sent = [m["body"] for m in asked(front, request(stream=True))[1:]]
        assert b"".join(sent) == given
        assert all(part.endswith(b"\n") for part in sent[:-1])
        assert front.counters.output_tokens == 5.0
    long = proxy(Client(b"x" * 70_000, b"y", b"z\n", kind="text/event-stream"))
    assert [len(m["body"]) for m in asked(long, request())[1:]] == [70_001, 2, 0]


@pytest.mark.parametrize(("path", "ordered"), [
    ("/v1/completions", True), ("/chat/completions", True), ("/v1/embeddings", False),
    ("/openai/deployments/m/chat/completions", True), ("/api/chat", False),
])  # fmt: skip
def test_chats_and_texts_are_ordered_under_any_prefix_and_others_stream_through(
    path, ordered
) -> None:
    front = proxy(Client(b"[1,", b"2]"))
    sent = asked(front, request(), path=path)
    assert [m["body"] for m in sent[1:-1]] == ([b"[1,2]"] if ordered else [b"[1,", b"2]"])
    assert (b"content-length", b"9") in sent[0]["headers"]
    assert front.counters.waits[float("inf")] == ordered


def test_other_paths_ask_a_server_that_does_not_rest() -> None:
    client = Client(b"{}")
    front = proxy(client, ("http://a", "http://b"))
    front.queue.rest(0, 60.0)
    asked(front, path="/v1/models", method="GET")
    assert [x.url for x in client.asked] == [("b", 80, "/v1/models")]


@pytest.mark.parametrize(("given", "said"), [
    ({"prompt": "a"}, (None, 1)), ({"prompt": ["a", "b"], "n": 3}, (None, 6)),
    ({"prompt": [5, 6, 7]}, (3.0, 1)), ({"prompt": [[5, 6], [7]], "n": 2}, (3.0, 4)),
    ({"prompt": []}, (None, 1)), ({"prompt": "a", "n": 10**9}, (None, 1)),
    ({"prompt": "a", "n": "2"}, (None, 1)),
])  # fmt: skip
def test_how_many_answers_are_asked_for(given, said) -> None:
    asked_for = parsed(bytearray(json.dumps(given).encode()))
    assert (asked_for.prompt_tokens, asked_for.answers) == said


def test_several_answers_cost_more_and_teach_the_length_of_one() -> None:
    front = proxy(Client(json.dumps(USAGE).encode()))
    seen = []
    front.order.answered = lambda prompt, size, tokens: seen.append(tokens)
    asked(front, request(n=2))
    assert seen == [3.5]
    one, two = (front._key(parsed(bytearray(request(n=n))), 0.0) for n in (1, 2))
    assert two > one
    fcfs = ServiceOrder("fcfs")
    assert fcfs.key("a", 5.0) == fcfs.key("a", 5.0, answers=9)


@pytest.mark.parametrize("body", [
    b'{"prompt": "a", "temperature": 1e400, "priority": 3}', b"{}", b" {\n} \n",
    b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b'{"prompt": "\\ud800 {"}',
])  # fmt: skip
def test_a_priority_changes_nothing_else(body) -> None:
    made = with_priority(bytearray(body), -7)
    assert made.startswith(body.rstrip()[:-1].rstrip())
    assert json.loads(made) == json.loads(body) | {"priority": -7}


@pytest.mark.parametrize(("body", "more", "status"), [
    (b"\x1f\x8b", [(b"content-encoding", b"gzip")], 415), (b"{}", [], 200),
    (b"{}", [(b"content-encoding", b"identity")], 200), ('{"a": 1}'.encode("utf-16"), [], 400),
    (b"[" * 100_000, [], 400), (b'{"n": ' + b"9" * 5000 + b"}", [], 400), (b"", [], 400),
])  # fmt: skip
def test_what_is_no_json_in_utf8_is_refused(body, more, status) -> None:
    sent = asked(proxy(Client(b"{}")), body, more=more)
    assert sent[0]["status"] == status


def test_who_takes_nothing_of_an_answer_loses_the_place() -> None:
    front = proxy(Client(b"data: {}\n\n", kind="text/event-stream"), timeout_s=0.05)

    async def send(message):
        if message["type"].endswith("body"):
            await asyncio.sleep(3600)

    given = [{"type": "http.request", "body": request()}]

    async def receive():
        return given.pop() if given else await asyncio.sleep(3600)

    scope = {"path": CHAT, "method": "POST", "headers": []}
    asyncio.run(asyncio.wait_for(front(scope, receive, send), 60.0))
    assert dict(front.counters.outcomes) == {"left": 1}
    assert (front.queue.running, front.held_bytes) == ([0], 0)


def test_a_burst_of_events_lets_others_have_their_turn() -> None:
    """Else nobody would notice within it that the client has left, and asyncio log each part."""
    front, turns, seen = proxy(Client(*[b"data: {}\n\n"] * 50, kind="text/event-stream")), [0], []

    async def others():
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def send(message):
        seen.append(turns[0])

    async def receive():
        return given.pop() if given else await asyncio.sleep(3600)

    async def run():
        task = asyncio.ensure_future(others())
        await asyncio.wait_for(front(scope, receive, send), 60.0)
        task.cancel()

    given = [{"type": "http.request", "body": request()}]
    scope = {"path": CHAT, "method": "POST", "headers": []}
    asyncio.run(run())
    assert len(seen) == 52
    assert max(Counter(seen).values()) <= 6  # four parts, and the begin or the end


def test_requests_that_are_here_have_so_many_bytes_at_most() -> None:
    front = proxy(Client(b"{}"), most_held_bytes=300)
    assert asked(front, request())[0]["status"] == 200
    assert front.held_bytes == 0
    front.held_bytes = 290
    start, document = refusal(front)
    assert (start["status"], document["type"]) == (503, "overloaded")
    assert front.held_bytes == 290


def test_metrics_hold_prometheus_rules() -> None:
    """Help and type before the values of each name, no name twice, totals of what only grows."""
    front = proxy(Client(json.dumps(USAGE).encode()))
    asked(front, request())
    front.order.learner.answers = 12_345_678
    kinds, values, helped = {}, {}, set()
    for line in asyncio.run(front.metrics()).splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert name not in (kinds if what == "TYPE" else helped)
            helped.add(name) if what == "HELP" else kinds.setdefault(name, rest)
            continue
        full, value = line.rsplit(" ", 1)
        assert full not in values
        values[full] = float(value)
        bare = full.split("{")[0]
        base = next(b for b in (bare, bare.rsplit("_", 1)[0]) if b in kinds)
        assert base in helped
        assert (kinds[base] == "counter") == bare.endswith("_total")
    assert values["rheostat_proxy_answers_learned_total"] == 12_345_678
    buckets = [v for k, v in values.items() if "_bucket" in k]
    assert buckets == sorted(buckets)
    assert buckets[-1] == values["rheostat_proxy_wait_seconds_count"]


def test_it_listens_at_addresses_of_both_kinds() -> None:
    with listening_socket("127.0.0.1", 0) as four:
        assert four.family == socket.AF_INET
        with pytest.raises(DataError, match="cannot listen at 127"):
            listening_socket("127.0.0.1", four.getsockname()[1])
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with listening_socket("::1", 0) as six:
        assert six.getsockname()[0] == "::1"


def test_a_stop_from_outside_lets_it_end_in_order() -> None:
    """SIGTERM, as service managers send it: `_run` returns, so that what was learned is kept."""
    front = serving_proxy(["http://127.0.0.1:9"], "", ServiceOrder(), 1, 1, 9.0, 999)
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("killed"))
    try:
        timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGTERM])
        timer.start()
        serve_proxy(front, "127.0.0.1", 0, 60.0)
        timer.join()
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == []


def test_lengths_are_learned_in_a_process_that_ends_and_failing_is_said(monkeypatch, caplog):
    """What is learned elsewhere says what is learned here; the order goes on where it cannot be."""
    answers = [(f"say {'yes' if i % 2 else 'all'} {i}", 2.0 + 90.0 * (i % 2)) for i in range(60)]
    here, apart = (learn(answers) for learn in (fitted, ApartFit().fitted))
    prompts = ["say yes 9", "say all 8"]
    assert apart.quantiles(prompts, [0.2, 0.8]).tolist() == here.quantiles(
        prompts, [0.2, 0.8]).tolist()  # fmt: skip
    front = proxy(Client(b"{}"))
    for text, length in answers:
        front.order.answered(text, None, length)
    monkeypatch.setattr("rheostat.decision.serving.proxy.fitted", lambda *_: Path("/no").stat())
    asyncio.run(front._refit())
    assert "lengths of answers were not learned: FileNotFoundError" in caplog.text
    assert front.order.learner.model is None


ENDLESS = starmap(time.sleep, [(3600.0,)])
"""Answers that are never all there, as a fit that takes long."""
KILLED = """
import threading, time
from itertools import starmap
from rheostat.prediction.answer_length.length_learner import ApartFit

fit = ApartFit()
threading.Thread(target=fit.fitted, args=(starmap(time.sleep, [(3600.0,)]),), daemon=True).start()
while fit._process is None:
    time.sleep(0.01)
print("learning", flush=True)
time.sleep(3600.0)
"""


def test_a_fit_ends_when_it_is_to(caplog) -> None:
    front = proxy(Client(b"{}"), learn_apart=True)
    front.order.learner.begin = lambda: (ENDLESS, "")

    async def run() -> None:
        front._fitting = asyncio.ensure_future(front._refit())
        while front._apart._process is None:
            await asyncio.sleep(0.01)
        front.stop_learning()
        await front._fitting

    asyncio.run(run())
    assert caplog.text == ""
    assert front.order.learner.model is None


def test_a_fit_ends_with_who_was_killed() -> None:
    """What learns holds the output of who started it: that ends when both have."""
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as started:
        assert started.stdout.readline() == b"learning\n"
        started.kill()
        assert started.communicate(timeout=120) == (b"", None)


def test_policies_that_ask_for_no_lengths_learn_none_unless_they_are_kept() -> None:
    for learn in (True, False):
        order = ServiceOrder("fcfs", learn=learn)
        order.answered("a", 1.0, 5.0)
        assert order.learner.answers == learn
        assert order.tokens_per_character > 0.25  # costs nothing


def test_the_proxy_begins_without_what_learns() -> None:
    """What reads tables and what learns is loaded when there is something to learn from."""
    code = (
        "import sys, rheostat.cli.llm.proxy, rheostat.questions.serving_proxy\n"
        "print([m for m in ('polars', 'scipy', 'numba', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
