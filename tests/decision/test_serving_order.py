"""Keys of requests and lengths of answers, in closed form."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rheostat.decision.serving import answer_length
from rheostat.decision.serving.answer_length import AnswerLength
from rheostat.decision.serving.service_order import LEVELS, ServiceOrder
from rheostat.errors import DataError


@pytest.mark.parametrize(("prompt", "tokens", "key"), [
    ("a" * 400, None, 7 + 60 * 2.0),  # four characters are a token until answers say otherwise
    ("a", None, 7.0),  # no less than one
    ("a", 1000.0, 7 + 60 * 3.0),
    ("a", 1e-12, 7 - 60 * 9.0),  # every request costs something
])  # fmt: skip
def test_a_tenth_of_the_cost_outweighs_the_head_start(prompt, tokens, key) -> None:
    order = ServiceOrder("shortest-prompt", head_start_s=60.0)
    assert order.key(prompt, 7.0, prompt_tokens=tokens) == pytest.approx(key)
    assert ServiceOrder("fcfs").key(prompt, 7.0, prompt_tokens=tokens) == 7.0
    assert ServiceOrder(head_start_s=0.0).key(prompt, 7.0) == 7.0


def test_expected_answers_lie_between_one_token_and_where_the_server_cuts() -> None:
    order = ServiceOrder()
    assert np.mean(LEVELS) == pytest.approx(0.5)
    assert len(order.answer_tokens("x")) == len(LEVELS) == 7
    assert order.answer_tokens("x", 5.0).max() == 5.0
    assert order.answer_tokens("x", 0.2).tolist() == [1.0] * 7
    longer = [ServiceOrder("shortest-answer").key("x", 0.0, most) for most in (2.0, 20.0)]
    assert longer[0] == pytest.approx(100 * np.log10(2.0))
    assert longer[0] < longer[1]


@pytest.mark.parametrize(("policy", "learn", "learned"), [
    ("fcfs", False, 0), ("shortest-prompt", False, 0), ("fcfs", True, 1), ("cost", False, 1),
])  # fmt: skip
def test_lengths_are_learned_where_the_policy_or_the_user_asks_for_them(
    policy, learn, learned
) -> None:
    order = ServiceOrder(policy=policy, learn=learn)
    assert order.answered("how are you?", 4.0, 7.0) is False  # one answer shows no change
    assert order.learner.answers == learned


def test_answers_say_how_many_tokens_a_character_is() -> None:
    order = ServiceOrder()
    order.answered("abcd" * 25, None, 3.0)
    assert order.tokens_per_character == 0.25
    order.answered("abcd" * 25, 50.0, 3.0)
    assert order.tokens_per_character == pytest.approx(0.25 + 0.02 * (0.5 - 0.25))


@pytest.mark.parametrize("wrong", [{"policy": "longest"}, {"head_start_s": -1.0},
                                   {"head_start_s": np.inf}, {"head_start_s": np.nan}])  # fmt: skip
def test_an_order_that_is_none_is_refused(wrong) -> None:
    with pytest.raises(DataError, match=r"expected one of cost|expected 0 or more"):
        ServiceOrder(**wrong)


def length(*parts: bytes, streamed: bool) -> tuple[float | None, float | None]:
    answer = AnswerLength(streamed=streamed)
    for part in parts:
        answer.feed(part)
    return answer.output_tokens(), answer.prompt_tokens


def event(choice, **more) -> bytes:
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n"


PIECE, END = {"delta": {"content": "x"}}, {"delta": {}, "finish_reason": "stop"}


@pytest.mark.parametrize(("parts", "tokens"), [
    ([event(PIECE), event(PIECE), event(END)], (2.0, None)),
    ([event({"text": "x"}), event({"text": ""})], (1.0, None)),
    ([event({"delta": {"reasoning_content": "hm", "content": None}}),
      event({"delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}),
      event({"delta": {"role": "assistant", "content": ""}})], (2.0, None)),
    ([event(PIECE), event(END, usage={"completion_tokens": 9, "prompt_tokens": 4})], (9.0, 4.0)),
    ([event(PIECE), event(END, usage={"completion_tokens": True, "prompt_tokens": 0})],
     (1.0, None)),
    ([event(PIECE), event(PIECE), event(END, usage={"completion_tokens": 1, "prompt_tokens": 1})],
     (1.0, 1.0)),
    ([b"data: [1]\n", b"data: {\n", b": ping\n", event("no")], (None, None)),
    ([event(PIECE)[:9], event(PIECE)[9:]], (1.0, None)),
])  # fmt: skip
def test_a_stream_has_as_many_tokens_as_stated_or_as_pieces(parts, tokens) -> None:
    assert length(*parts, streamed=True) == tokens


def test_a_long_stream_is_read_in_pieces_and_one_event_of_nonsense_is_left_out() -> None:
    many = [event(PIECE)] * 3000  # some 150 kB
    answer = AnswerLength(streamed=True)
    for part in [*many, b"data: {nonsense\n", *many]:
        answer.feed(part)
        assert len(answer._rest) <= answer_length.TOGETHER + len(part)
    assert answer.output_tokens() == 6000.0


def test_a_document_has_the_tokens_that_it_states() -> None:
    usage = {"completion_tokens": 7, "prompt_tokens": 3}
    for text in ("x", "x" * answer_length.TOGETHER):  # of several lines, so no event of a stream
        whole = json.dumps({"usage": usage, "choices": [{"text": text}]}, indent=1).encode()
        assert length(whole[:20], whole[20:], streamed=False) == (7.0, 3.0)
    assert length(b'{"choices": [{"text": "x"}]}', streamed=False) == (None, None)


@pytest.mark.parametrize(("most_bytes", "tokens"), [(33, 5.0), (32, None)])
def test_an_answer_beyond_all_measure_is_not_kept(most_bytes, tokens, monkeypatch) -> None:
    monkeypatch.setattr(answer_length, "LONGEST", most_bytes)
    assert length(b'{"usage":{"completion_tokens":5}}', streamed=False)[0] == tokens
