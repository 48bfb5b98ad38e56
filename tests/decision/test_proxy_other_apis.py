"""OpenAI's responses and Anthropic's messages through the proxy, what it counts, and a retry."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from rheostat.decision.serving.answer_length import AnswerLength
from rheostat.decision.serving.proxy_messages import AskedAnswers, parsed
from rheostat.decision.serving.upstream import Upstream, answered, upstream_connections
from tests.decision.test_proxy_messages import Client, asked, proxy

httpcore = pytest.importorskip("httpcore2", reason="the extra proxy is not installed")

RESPONSE = {"instructions": "Be kind.", "max_output_tokens": 30, "input": [
    {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    {"type": "function_call_output", "output": "42"}]}  # fmt: skip
MESSAGE = {"system": [{"type": "text", "text": "Be kind."}], "max_tokens": 30,
           "messages": [{"role": "user", "content": "Hi"}]}  # fmt: skip


def test_what_a_response_or_a_message_asks_for():
    made = [parsed(bytearray(json.dumps(given).encode())) for given in (RESPONSE, MESSAGE)]
    assert made == [AskedAnswers("Hi\nBe kind.\x1e42", 30), AskedAnswers("Hi\nBe kind.", 30)]
    text = bytearray(b'{"input": "Hi", "instructions": "Be kind."}')
    assert parsed(text) == AskedAnswers("Hi\nBe kind.")


USAGE = {"input_tokens": 4, "output_tokens": 7}
DONE = {"type": "response.completed", "response": {"usage": USAGE}}
STREAMS = {
    "/v1/responses": [{"type": "response.output_text.delta", "delta": "a"}, DONE],
    "/v1/messages": [
        {"type": "message_start", "message": {"usage": {
            "input_tokens": 1, "cache_read_input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"text": "a"}},
        {"type": "message_delta", "usage": {"output_tokens": 7}}],
}  # fmt: skip


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("streamed", [True, False])
def test_they_wait_their_turn_and_their_answers_are_learned_from(path, streamed):
    events = "".join(f"event: x\ndata: {json.dumps(e)}\n\n" for e in STREAMS[path]).encode()
    whole = json.dumps({"usage": USAGE}).encode()
    client = Client(events if streamed else whole,
                    kind="text/event-stream" if streamed else "application/json")  # fmt: skip
    front = proxy(client, priority="vllm")
    given = RESPONSE if path == "/v1/responses" else MESSAGE
    sent = asked(front, json.dumps(given).encode(), path=path)
    assert sent[0]["status"] == 200
    counters = front.counters
    assert (counters.prompt_tokens, counters.output_tokens) == (4.0, 7.0)
    assert [h[float("inf")] for h in (counters.waits, counters.firsts, counters.wholes)] == [1] * 3
    assert front.order.learner.answers == 1
    said = json.loads(client.asked[0].content)
    assert ("priority" in said) == (path == "/v1/responses")  # Anthropic's API has none


def test_pieces_are_counted_where_no_usage_is_stated():
    for path, events in STREAMS.items():
        length = AnswerLength(streamed=True)
        pieces = [e for e in events if "delta" in e]
        length.feed(b"".join(b"data: %s\n" % json.dumps(e).encode() for e in pieces))
        assert length.output_tokens() == 1.0, path


def test_metrics_say_how_each_server_is():
    front = proxy(Client(error=httpcore.ConnectError()), servers=("http://a/", "http://b/"))
    asked(front, json.dumps(MESSAGE).encode(), path="/v1/messages")
    text = asyncio.run(front.metrics())
    for server in (1, 2):
        assert f'rheostat_proxy_server_up{{server="{server}"}} 0' in text
        assert f'rheostat_proxy_server_failures_total{{server="{server}"}} 1' in text
        assert f'rheostat_proxy_server_running{{server="{server}"}} 0' in text
    assert "rheostat_proxy_answer_seconds_count 0" in text


@pytest.mark.parametrize(("reused", "tries"), [(True, 3), (False, 1)])
def test_a_connection_that_ended_while_nobody_used_it_is_made_anew_once(reused, tries):
    """The server ends its first connection at the second request, or at the first."""
    came, tasks = [], []

    async def serve(reader, writer):
        tasks.append(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                came.append(1)
                if len(came) == 1 + reused:
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        at = Upstream.at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            async with server, upstream_connections([at]) as client:
                for _ in range(1 + reused):
                    asks = at.request("POST", b"/v1/messages", [], b"", 9.0)
                    answer = await answered(client, asks)
                    await answer.aread()
                    await answer.aclose()
        finally:
            await asyncio.gather(*tasks)
        return answer.status

    if reused:
        assert asyncio.run(main()) == 200
    else:
        with pytest.raises(httpcore.RemoteProtocolError):
            asyncio.run(main())
    assert len(came) == tries
