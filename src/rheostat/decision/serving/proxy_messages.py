"""HTTP messages of the serving proxy: what a request asks for, which headers go on, refusals."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from rheostat.decision.serving.answer_length import AnswerLength
from rheostat.measurement.serving.prompt_text import prompt_text

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Headers = Iterable[tuple[bytes, bytes]]
MESSAGES = "/v1/messages"
ORDERED = ("/completions", "/responses", MESSAGES)
"""How paths end that are ordered, under any prefix: chats, texts and responses of OpenAI's API,
and Anthropic's messages, which have no priority."""
CUT_OFF = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Names of the number of tokens after which an answer is cut off."""
HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade",
       b"proxy-authorization", b"proxy-authenticate", b"proxy-connection"}  # fmt: skip
"""Headers that belong to one connection."""
OURS = {b"host", b"content-length", b"accept-encoding", b"expect"}
"""Headers of a request that we set ourselves."""
MOST_HELD = 50_000_000
"""Bytes of an answer that are held until it has ended; a longer one is sent as it comes."""
AT_ONCE = 4
"""Parts that are sent before others have their turn: whether the client is still there is noticed
between turns, and asyncio logs each further part that is written to a lost connection."""
NO_CONTENT = 204
LINE = 65536
"""Bytes of a line that is waited for."""


class RefusedError(Exception):
    """A request that no server is asked: status, type and message."""

    def __init__(
        self, status: int, kind: str, message: str, outcome: str = "refused", *, close: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.outcome, self.close = status, kind, outcome, close


class NoAnswerError(Exception):
    """What a server sent is no answer to a request."""


def request_id() -> str:
    """Sixteen letters by which a client's error is found in the log."""
    return secrets.token_hex(8)


@dataclass(frozen=True)
class AskedAnswers:
    """What a request asks for.

    Parameters
    ----------
    prompt
        Its text; empty where there is none, as of token numbers.
    most_tokens
        Where each answer is cut off.
    prompt_tokens
        Where the prompt is token numbers.
    answers
        How many it asks for: ``n`` of each of its prompts.
    """

    prompt: str = ""
    most_tokens: float | None = None
    prompt_tokens: float | None = None
    answers: int = 1


def parsed(body: bytearray) -> AskedAnswers:
    r"""What a request asks for; a `RefusedError` where it is no JSON object in UTF-8.

    >>> parsed(bytearray(b'{"prompt": ["Hi", "Bye"], "n": 2, "max_tokens": 5}'))
    AskedAnswers(prompt='Hi\nBye', most_tokens=5, prompt_tokens=None, answers=4)
    """
    try:
        given = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        said = f"expected a JSON object in UTF-8, got {error}"
        raise RefusedError(400, "invalid_request_error", said) from error
    if not isinstance(given, dict):
        said = f"expected a JSON object, got {type(given).__name__}"
        raise RefusedError(400, "invalid_request_error", said)
    most = next((given[name] for name in CUT_OFF if given.get(name)), None)
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most < sys.maxsize:
        most = None  # what is no length, or longer than any answer, cuts nothing off
    tokens, prompts = _listed(given.get("prompt"))
    n = given.get("n")
    each = n if isinstance(n, int) and 1 <= n <= 1000 else 1
    return AskedAnswers(prompt_text(given) or "", most, tokens, each * prompts)


def _listed(prompt: Any) -> tuple[float | None, int]:
    """Token numbers and prompts of a list: texts, token numbers, or lists of these."""
    if not isinstance(prompt, list) or not prompt:
        return None, 1
    if isinstance(prompt[0], list):
        return float(sum(len(p) for p in prompt if isinstance(p, list))), len(prompt)
    return (None, len(prompt)) if isinstance(prompt[0], str) else (float(len(prompt)), 1)


def with_priority(body: bytearray, priority: int) -> bytearray:
    """The JSON object with a priority at its end; of equal names the last one counts.

    Nothing else of the request changes, neither numbers nor the order of its names.

    >>> bytes(with_priority(bytearray(b'{"prompt": "Hi"}'), 3))
    b'{"prompt": "Hi","priority": 3}'
    """
    inner = body.rstrip()[:-1].rstrip()
    comma = b"" if inner.endswith(b"{") else b","
    return inner + comma + b'"priority": %d}' % priority


def passed_on(headers: Headers, but: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Headers without those of one connection, those that ``Connection`` names, and some others."""
    headers = [(k.lower(), v) for k, v in headers]
    named = {t.strip().lower() for k, v in headers if k == b"connection" for t in v.split(b",")}
    return [(k, v) for k, v in headers if k not in HOP and k not in named and k not in but]


@dataclass
class Passing:
    """An answer on its way from a server to the client; of a stream of events whole lines.

    Parameters
    ----------
    send
        Takes the messages for the client.
    at_once
        Whether an answer that is no stream of events is sent once all of it is there, so that
        nothing is sent of one that breaks off.
    first_s
        When the first part of the answer was sent.
    """

    send: Send
    at_once: bool
    started: bool = False
    streamed: bool = False
    first_s: float | None = None
    length: AnswerLength = field(default_factory=lambda: AnswerLength(streamed=False))
    _rest: bytes = b""
    _sent: int = 0

    async def all_of(self, answer: Any) -> None:
        """Send everything that the server sends."""
        if not 200 <= answer.status < 600:
            raise NoAnswerError(f"status {answer.status}")
        kind = next((v for k, v in answer.headers if k.lower() == b"content-type"), b"")
        self.streamed = b"event-stream" in kind
        self.length = AnswerLength(streamed=self.streamed)
        held = bytearray()
        if not self.at_once or self.streamed:
            await self._begin(answer)
        async for part in answer.aiter_stream():
            if self.started:
                await self._part(part)
            else:
                held += part
                if len(held) > MOST_HELD:
                    await self._begin(answer)
                    await self._part(bytes(held))
        if not self.started:
            await self._begin(answer)
            await self._part(bytes(held))
        await self.send({"type": "http.response.body", "body": self._rest, "more_body": False})

    async def broken(self, said: str) -> None:
        """The server broke off: an event says so; the answer itself is left without its end."""
        if self.streamed:
            document = json.dumps({"error": {"message": said, "type": "server_failed"}})
            event = f"\ndata: {document}\n\n".encode()  # ends the event before it
            await self.send({"type": "http.response.body", "body": event, "more_body": True})

    async def _begin(self, answer: Any) -> None:
        self.started = True
        without = self.streamed or answer.status == NO_CONTENT  # neither has a length
        headers = passed_on(answer.headers, {b"content-length"} if without else ())
        await self.send(
            {"type": "http.response.start", "status": answer.status, "headers": headers}
        )

    async def _part(self, part: bytes) -> None:
        if self.at_once:
            self.length.feed(part)
        if self.streamed and len(self._rest) < LINE:
            lines, end, self._rest = (self._rest + part).rpartition(b"\n")
            part = lines + end
        else:
            part, self._rest = self._rest + part, b""
        if part:
            self.first_s = monotonic() if self.first_s is None else self.first_s
            self._sent += 1
            await self.send({"type": "http.response.body", "body": part, "more_body": True})
            if self._sent % AT_ONCE == 0:
                await asyncio.sleep(0)


async def refuse(send: Send, error: RefusedError) -> None:
    """Send an error of ours."""
    document: Mapping[str, Any] = {"error": {"message": str(error), "type": error.kind}}
    body = json.dumps(document).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if error.status == 503:
        headers.append((b"retry-after", b"2"))
    if error.close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
