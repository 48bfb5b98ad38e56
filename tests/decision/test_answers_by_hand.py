"""Answers on their way through a proxy: what is held, what a refusal says, what may be here."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from rheostat.decision.serving import proxy_messages, waiting_line
from rheostat.decision.serving.answer_length import AnswerLength
from rheostat.decision.serving.dispatch_queue import DispatchQueue
from rheostat.decision.serving.proxy import ServingProxy
from rheostat.decision.serving.proxy_messages import (
    NoAnswerError,
    Passing,
    RefusedError,
    parsed,
    refuse,
    request_id,
)
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.waiting_line import BoundLine


def passed(parts, *, status=200, kind=b"application/json", at_once=True, **headers):
    """Messages that the client gets of an answer, and what is known of it."""
    sent = []

    async def stream():
        for part in parts:
            yield part

    async def send(message) -> None:
        sent.append(message)

    given = [(b"Content-Type", kind), (b"content-length", b"9")]
    answer = SimpleNamespace(status=status, headers=given, aiter_stream=stream)
    passing = Passing(send, at_once=at_once)
    asyncio.run(passing.all_of(answer))
    return sent, passing


def bodies(sent):
    return [(m["body"], m["more_body"]) for m in sent[1:]]


def test_an_answer_is_held_until_it_is_whole_or_longer_than_is_held(monkeypatch) -> None:
    monkeypatch.setattr(proxy_messages, "MOST_HELD", 10)
    end = (b"", False)
    sent, _ = passed([b"1234", b"567890"])
    assert bodies(sent) == [(b"1234567890", True), end]
    sent, _ = passed([b"1234", b"5678901", b"x", b"y"])
    assert bodies(sent) == [(b"12345678901", True), (b"x", True), (b"y", True), end]
    sent, _ = passed([b"12", b"34"], at_once=False)
    assert bodies(sent) == [(b"12", True), (b"34", True), end]
    sent, passing = passed([])
    assert (bodies(sent), passing.first_s) == ([end], None)


def test_of_a_stream_whole_lines_are_sent_and_the_rest_at_its_end() -> None:
    sent, passing = passed([b"data: 1\nda", b"ta: 2", b"\n\nx"], kind=b"text/event-stream; a=b")
    assert bodies(sent) == [(b"data: 1\n", True), (b"data: 2\n\n", True), (b"x", False)]
    assert sent[0]["headers"] == [(b"content-type", b"text/event-stream; a=b")]
    assert passing.streamed
    plain, _ = passed([b"x"], status=204)
    assert plain[0]["headers"] == [(b"content-type", b"application/json")]
    whole, _ = passed([b"x"])
    assert whole[0]["headers"][1:] == [(b"content-length", b"9")]


def test_the_first_part_is_when_it_was_sent(monkeypatch) -> None:
    now = iter([3.0, 9.0])
    monkeypatch.setattr(proxy_messages, "monotonic", lambda: next(now))
    _, passing = passed([b"a", b"b", b"c"], at_once=False)
    assert passing.first_s == 3.0
    assert passing.length.output_tokens() is None  # nothing was fed of what is not ordered


@pytest.mark.parametrize(("status", "answer"), [(199, False), (200, True), (599, True),
                                                (600, False)])  # fmt: skip
def test_an_answer_has_a_status_of_two_to_five_hundred(status, answer) -> None:
    if answer:
        assert passed([b"x"], status=status)[0][0]["status"] == status
        return
    with pytest.raises(NoAnswerError, match=str(status)):
        passed([b"x"], status=status)


def test_a_stream_that_broke_off_says_so_in_an_event_and_another_answer_nothing() -> None:
    sent = []

    async def send(message) -> None:
        sent.append(message)

    asyncio.run(Passing(send, at_once=True).broken("gone"))
    assert sent == []
    asyncio.run(Passing(send, at_once=True, streamed=True).broken("gone"))
    (event,) = sent
    start, end = b"\ndata: ", b"\n\n"
    assert event["body"].startswith(start)
    assert event["body"].endswith(end)
    assert event["more_body"]
    document = json.loads(event["body"][len(start) : -len(end)])
    assert document == {"error": {"message": "gone", "type": "server_failed"}}


@pytest.mark.parametrize(("status", "close", "more"), [
    (503, False, [(b"retry-after", b"2")]), (400, True, [(b"connection", b"close")]),
    (502, False, []), (504, False, []),
])  # fmt: skip
def test_a_refusal_says_when_to_ask_again_and_whether_the_connection_ends(
    status, close, more
) -> None:
    sent = []

    async def send(message) -> None:
        sent.append(message)

    asyncio.run(refuse(send, RefusedError(status, "kind", "said", close=close)))
    start, body = sent
    assert start["status"] == status
    assert start["headers"] == [(b"content-type", b"application/json"),
                                (b"content-length", b"%d" % len(body["body"])), *more]  # fmt: skip
    assert json.loads(body["body"]) == {"error": {"message": "said", "type": "kind"}}


def test_an_id_has_sixteen_letters_and_is_another_each_time() -> None:
    assert len(request_id()) == 16
    assert request_id() != request_id()


@pytest.mark.parametrize(("prompt", "tokens", "answers"), [
    ("Hi", None, 2), (["a", "b", "c"], None, 6), ([1, 2, 3], 3.0, 2), ([[1, 2], [3]], 3.0, 4),
    ([], None, 2), ([[1, 2], "x"], 2.0, 4),
])  # fmt: skip
def test_a_prompt_is_texts_or_token_numbers(prompt, tokens, answers) -> None:
    made = parsed(bytearray(json.dumps({"prompt": prompt, "n": 2}).encode()))
    assert (made.prompt_tokens, made.answers) == (tokens, answers)


def front(**more) -> ServingProxy:
    return ServingProxy([], ServiceOrder("fcfs"), DispatchQueue(1, 1), None, **more)


def test_bodies_may_be_so_long_and_all_together_too() -> None:
    made = front(most_bytes=10, most_held_bytes=30)
    made.held_bytes = 30
    made._check_size(10)
    with pytest.raises(RefusedError, match="more than 10 bytes") as said:
        made._check_size(11)
    assert said.value.status == 413
    made.held_bytes = 31
    with pytest.raises(RefusedError, match="30 bytes are here") as said:
        made._check_size(1)
    assert (said.value.status, said.value.kind) == (503, "overloaded")
    plain = front()
    assert (plain.most_held_bytes, plain.by_cost, plain.learn_apart) == (10**9, False, False)


def test_tokens_are_counted_as_stated_or_by_pieces() -> None:
    def length(document, *, streamed=False):
        answer = AnswerLength(streamed=streamed)
        answer.feed(document if streamed else json.dumps(document).encode())
        return answer.output_tokens(), answer.prompt_tokens

    assert length({"usage": {"completion_tokens": 7, "prompt_tokens": 4}}) == (7.0, 4.0)
    assert length({"usage": {"output_tokens": 7, "input_tokens": 4, "cache_read_input_tokens": 2,
                             "cache_creation_input_tokens": 1}}) == (7.0, 7.0)  # fmt: skip
    assert length({"usage": {"completion_tokens": 0, "prompt_tokens": True}}) == (None, None)
    assert length({"usage": {"cache_read_input_tokens": 2}}) == (None, None)
    assert length([1]) == (None, None)
    events = [{"choices": [{"delta": {"content": "a"}}, {"delta": {}}]},
              {"choices": [{"text": "b"}]},
              {"choices": [{"delta": {"reasoning": "c"}}, {"delta": {"tool_calls": [1]}}, 5]},
              {"type": "content_block_delta"}, {"type": "response.output_text.delta"},
              {"type": "message_stop"}, {"choices": [{"text": ""}]}]  # fmt: skip
    text = b"".join(b"data: " + json.dumps(e).encode() + b"\n" for e in events) + b"data: [DONE]\n"
    assert length(text, streamed=True) == (6.0, None)
    assert length(b"event: x\ndata: oops\n" + text, streamed=True) == (6.0, None)
    assert length(b"data: [DONE]\n", streamed=True) == (None, None)


def test_who_was_given_up_and_leaves_is_never_next() -> None:
    line, places = BoundLine(1, 1, 50.0, clock=lambda: 0.0), [Place() for _ in range(3)]
    line._cost_due = dict.fromkeys(places, (1.0, 1.0))
    line._given_up = [(float(i), 0.0, i, place) for i, place in enumerate(places)]
    line.drop(places[0])
    assert [line.pop(), line.pop(), line.pop()] == [places[1], places[2], None]
    assert list(line._cost_due) == places[1:]


class Place:
    """Stands for a future."""


def test_who_need_not_begin_before_is_overtaken_up_to_the_last_moment(monkeypatch) -> None:
    """The cheaper one takes 0.6 s: the other may begin 0.6 s from now, and not a moment before."""
    for latest, first in ((0.6, 1), (0.5999, 0)):
        begins = iter([latest, 99.0])
        monkeypatch.setattr(waiting_line, "latest_begin", lambda *_, b=begins: next(b))
        line, places = BoundLine(1, 1, 50.0, clock=lambda: 0.0), [Place(), Place()]
        line.push(4.0, places[0])
        line.push(0.5, places[1])
        line._came = 0  # nobody may be given up
        assert line.pop() is places[first]


@pytest.mark.parametrize(("host", "delay"), [
    ("gpu7", 0.25), ("gpu7.local", 0.25), ("10.0.0.7", None), ("::1", None),
])  # fmt: skip
def test_of_a_name_several_addresses_are_tried_a_quarter_of_a_second_apart(host, delay) -> None:
    pytest.importorskip("httpcore2", reason="extra proxy")
    from rheostat.decision.serving.upstream_stream import UpstreamNetwork

    seen = []

    async def run():
        async def connection(made, host, port, happy_eyeballs_delay):
            seen.append((host, port, happy_eyeballs_delay))
            return None, "stream"

        asyncio.get_running_loop().create_connection = connection
        return await UpstreamNetwork().connect_tcp(host, 8000, 5.0)

    assert asyncio.run(run()) == "stream"
    assert seen == [(host, 8000, delay)]
