"""An OpenAI-compatible front before one or several servers, which asks them in a chosen order.

A request waits here until a server has a place (``queue``), or is passed on at once with its key as
the ``priority`` that vLLM or SGLang order by.  Answers stream through as they come; their lengths
teach the order.  Every request gets one answer: the server's, or an error of ours that says why -
413 or 400 for what is no request, 503 with Retry-After where the queue is full or no server can be
reached, 504 where one is silent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rheostat._optional import require
from rheostat.decision.serving.answer_length import AnswerLength
from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.proxy_counters import ProxyCounters
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.measurement.serving.requests import prompt_text

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
ORDERED = ("/v1/chat/completions", "/v1/completions")
HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"host",
       b"proxy-authorization", b"proxy-authenticate", b"content-length", b"accept-encoding",
       b"expect"}  # fmt: skip
"""Headers that belong to one connection, or that we set ourselves."""
PRIORITY = {"vllm": 1e6, "sglang": -1e6}
"""What a key is multiplied by: vLLM takes the least first, SGLang the greatest."""
REST_S = 2.0


class RefusedError(Exception):
    """A request that no server is asked: status, type and message."""

    def __init__(self, status: int, kind: str, message: str, outcome: str = "refused") -> None:
        super().__init__(message)
        self.status, self.kind, self.outcome = status, kind, outcome


@dataclass
class ServingProxy:
    """Takes requests, orders them, asks the servers and passes their answers on.

    Parameters
    ----------
    upstreams
        Addresses of the servers, without ``/v1``.
    order
        Keys of requests.
    queue
        Places at the servers.
    priority
        ``vllm`` or ``sglang`` where the server itself orders, else empty.
    timeout_s
        Longest silence of a server.
    most_bytes
        Of a request's body.
    by_cost
        Keys are costs alone (s), for a queue that holds a bound.
    client
        An ``httpx2.AsyncClient``.
    """

    upstreams: Sequence[str]
    order: ServiceOrder
    queue: DispatchQueue
    client: Any
    priority: str = ""
    timeout_s: float = 600.0
    most_bytes: int = 10_000_000
    by_cost: bool = False

    def __post_init__(self) -> None:
        self.counters = ProxyCounters()
        self._fitting: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request, from its first byte to the last of its answer."""
        self.counters.received += 1
        outcome = "failed"
        try:
            body = await self._body(receive)
            work = asyncio.ensure_future(self._served(scope, body, send))
            gone = asyncio.ensure_future(_disconnected(receive))
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                outcome = work.result() if work.done() else "left"
            finally:
                await _stop(work, gone)
        except RefusedError as error:
            outcome = error.outcome
            await _refuse(send, error)
        except ClientLeftError:
            outcome = "left"
        finally:
            self.counters.outcomes[outcome] += 1

    async def metrics(self) -> str:
        """Counts, queue and what the order has learned, as Prometheus reads them."""
        learner = self.order.learner
        return self.counters.text({
            "waiting": self.queue.waiting, "running": sum(self.queue.running),
            "answers_learned": learner.answers, "drifts": learner.drifts,
            "length_error_ratio": learner.error_ratio,
        })  # fmt: skip

    async def _body(self, receive: Receive) -> bytes:
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientLeftError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.most_bytes:
                        said = f"the body has more than {self.most_bytes} bytes"
                        raise RefusedError(413, "request_too_large", said)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError as error:
            raise RefusedError(408, "timeout", "the request did not end") from error

    async def _served(self, scope: dict[str, Any], body: bytes, send: Send) -> str:
        """Wait for a place, ask, pass the answer on; what became of it."""
        if scope["method"] != "POST" or scope["path"] not in ORDERED:
            return await self._passed(scope, body, send)
        prompt, most, given = _parsed(body)
        began = monotonic()
        key = self.order.cost(prompt, most) if self.by_cost else self.order.key(prompt, began, most)
        if self.priority:
            given["priority"] = round(PRIORITY[self.priority] * key)
            body = json.dumps(given).encode()
        unreachable: set[int] = set()
        while True:
            try:
                async with self.queue.place(key) as server:
                    self.counters.waited(monotonic() - began)
                    return await self._asked(server, scope, body, send, prompt)
            except QueueFullError as error:
                said = f"{self.queue.waiting} requests wait already"
                raise RefusedError(503, "overloaded", said) from error
            except UnreachableError as error:
                unreachable.add(server)
                if len(unreachable) == len(self.upstreams) or not self.queue.awake():
                    raise RefusedError(503, "no_server", str(error), "failed") from error

    async def _passed(self, scope: dict[str, Any], body: bytes, send: Send) -> str:
        """Ask what takes no place, such as a list of models, of the first server that is there."""
        said = ""
        for server in range(len(self.upstreams)):
            try:
                return await self._asked(server, scope, body, send, "")
            except UnreachableError as error:
                said = str(error)
        raise RefusedError(503, "no_server", said, "failed")

    async def _asked(
        self, server: int, scope: dict[str, Any], body: bytes, send: Send, prompt: str
    ) -> str:
        httpx = require("httpx2", extra="proxy")
        query = scope.get("query_string", b"").decode("latin-1")
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        url = self.upstreams[server].rstrip("/") + path + (f"?{query}" if query else "")
        headers = [(k, v) for k, v in scope["headers"] if k.lower() not in HOP]
        headers.append((b"accept-encoding", b"identity"))
        started = False
        try:
            request = self.client.build_request(
                scope["method"], url, content=body, headers=headers,
                timeout=httpx.Timeout(self.timeout_s, connect=min(5.0, self.timeout_s), pool=None),
            )  # fmt: skip
            answer = await self.client.send(request, stream=True)
            try:
                streamed = "event-stream" in answer.headers.get("content-type", "")
                whole = [b"".join([p async for p in answer.aiter_raw()])] if not streamed else None
                started = True
                await send(_head(answer))
                length = AnswerLength(streamed=streamed)
                async for part in answer.aiter_raw() if whole is None else _each(whole):
                    length.feed(part)
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                await answer.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self.queue.rest(server, REST_S)
            raise UnreachableError(f"{self.upstreams[server]}: {error!r}") from error
        except httpx.TransportError as error:
            return await self._broken(server, error, send, started=started)
        if prompt and answer.status_code == 200:
            self._learn(prompt, length)
        return "answered"

    async def _broken(self, server: int, error: Exception, send: Send, *, started: bool) -> str:
        """The server fell silent or away: an error of ours, inside the stream if it has begun."""
        httpx = require("httpx2", extra="proxy")
        late = isinstance(error, httpx.TimeoutException)
        said = f"{self.upstreams[server]} {'was silent' if late else 'broke off'}: {error!r}"
        if not started:
            kind = "timeout" if late else "server_failed"
            raise RefusedError(504 if late else 503, kind, said, "failed") from error
        document = json.dumps({"error": {"message": said, "type": "server_failed"}})
        event = f"data: {document}\n\n".encode()
        await send({"type": "http.response.body", "body": event, "more_body": False})
        return "cut"

    def _learn(self, prompt: str, length: AnswerLength) -> None:
        tokens = length.output_tokens()
        if tokens is None:
            return
        self.counters.output_tokens += tokens
        self.counters.prompt_tokens += length.prompt_tokens or 0.0
        learner = self.order.learner
        self.order.answered(prompt, length.prompt_tokens, tokens)
        if learner.due and (self._fitting is None or self._fitting.done()):
            self._fitting = asyncio.ensure_future(asyncio.to_thread(learner.refit))


class UnreachableError(Exception):
    """No connection to a server: another may be asked."""


class ClientLeftError(Exception):
    """The client went before its request had ended."""


def proxy_app(proxy: ServingProxy) -> Any:
    """The Starlette application: every path goes to the servers, ``/metrics`` is ours."""
    require("starlette", extra="proxy")
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(await proxy.metrics())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await proxy.client.aclose()

    return Starlette(
        routes=[Route("/metrics", metrics), Route("/{path:path}", proxy)], lifespan=lifespan
    )


def _parsed(body: bytes) -> tuple[str, float | None, dict[str, Any]]:
    """Prompt, where the answer is cut off, and the request itself."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "invalid_request_error", f"no JSON: {error}") from error
    if not isinstance(given, dict):
        raise RefusedError(400, "invalid_request_error", "expected a JSON object")
    most = given.get("max_completion_tokens") or given.get("max_tokens")
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most < sys.maxsize:
        most = None  # what is no length, or longer than any answer, cuts nothing off
    return prompt_text(given) or "", most, given


def _head(answer: Any) -> dict[str, Any]:
    headers = [(k.lower(), v) for k, v in answer.headers.raw if k.lower() not in HOP]
    return {"type": "http.response.start", "status": answer.status_code, "headers": headers}


async def _each(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancel what still runs and wait until it has cleaned up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _refuse(send: Send, error: RefusedError) -> None:
    document: Mapping[str, Any] = {"error": {"message": str(error), "type": error.kind}}
    headers = [(b"content-type", b"application/json")]
    if error.status == 503:
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})
