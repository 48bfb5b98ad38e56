"""An OpenAI-compatible front before one or several servers, which asks them in a chosen order.

A request waits here until a server has a place (``queue``), or is passed on at once with its key as
the ``priority`` that vLLM or SGLang order by.  Answers stream through as they come; their lengths
teach the order.  Every request gets one answer: the server's, or an error of ours that says why -
400, 413 or 415 for what is no request, 503 with Retry-After where the queue is full or no server
can be reached, 504 where one is silent.  An answer that a server breaks off has no end here either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any

from rheostat._optional import require
from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.proxy_counters import ProxyCounters
from rheostat.decision.serving.proxy_messages import (
    ORDERED,
    OURS,
    AskedAnswers,
    Passing,
    Receive,
    RefusedError,
    Send,
    parsed,
    passed_on,
    refuse,
    with_priority,
)
from rheostat.decision.serving.service_order import ServiceOrder

LOG = logging.getLogger("rheostat.proxy")
PRIORITY = {"vllm": 1e6, "sglang": -1e6}
"""What a key is multiplied by: vLLM takes the least first, SGLang the greatest."""
REST_S = 2.0


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
    client
        An ``httpx2.AsyncClient``, as `upstream_client` makes it.
    priority
        ``vllm`` or ``sglang`` where the server itself orders, else empty.
    timeout_s
        Longest silence of a server, and of a client that takes nothing of its answer.
    most_bytes
        Of a request's body.
    by_cost
        Keys are costs alone (s), for a queue that holds a bound.
    most_held_bytes
        Of the bodies of all requests that are here at once.
    """

    upstreams: Sequence[str]
    order: ServiceOrder
    queue: DispatchQueue
    client: Any
    priority: str = ""
    timeout_s: float = 600.0
    most_bytes: int = 10_000_000
    by_cost: bool = False
    most_held_bytes: int = 1_000_000_000

    def __post_init__(self) -> None:
        self.counters = ProxyCounters()
        self.held_bytes = 0
        self._fitting: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request, from its first byte to the last of its answer."""
        self.counters.received += 1
        outcome, body, send = "failed", bytearray(), self._patient(send)
        try:
            await self._read(receive, body)
            work = asyncio.ensure_future(self._served(scope, body, send))
            gone = asyncio.ensure_future(_disconnected(receive))
            try:
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                outcome = work.result() if work.done() else "left"
            finally:
                await _stop(work, gone)
        except RefusedError as error:
            outcome = error.outcome
            await refuse(send, error)
        except ClientLeftError:
            outcome = "left"
        finally:
            self.held_bytes -= len(body)
            self.counters.outcomes[outcome] += 1

    async def metrics(self) -> str:
        """Counts, queue and what the order has learned, as Prometheus reads them."""
        learner = self.order.learner
        return self.counters.text(
            {"answers_learned": learner.answers, "drifts": learner.drifts},
            {"waiting": self.queue.waiting, "running": sum(self.queue.running),
             "held_bytes": self.held_bytes, "length_error_ratio": learner.error_ratio},
        )  # fmt: skip

    async def _read(self, receive: Receive, body: bytearray) -> None:
        """Take the request's body in."""
        try:
            async with asyncio.timeout(self.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientLeftError
                    part = message.get("body", b"")
                    body += part
                    self.held_bytes += len(part)
                    self._check_size(len(body))
                    if not message.get("more_body"):
                        return
        except TimeoutError as error:
            raise RefusedError(408, "timeout", "the request did not end") from error

    def _check_size(self, size: int) -> None:
        if size > self.most_bytes:
            said = f"the body has more than {self.most_bytes} bytes"
            raise RefusedError(413, "request_too_large", said)
        if self.held_bytes > self.most_held_bytes:
            said = f"requests of {self.most_held_bytes} bytes are here already"
            raise RefusedError(503, "overloaded", said)

    def _patient(self, send: Send) -> Send:
        """To send no longer than the timeout: who takes nothing of an answer has left."""

        async def patient(message: dict[str, Any]) -> None:
            try:
                async with asyncio.timeout(self.timeout_s):
                    await send(message)
            except TimeoutError as error:
                raise ClientLeftError from error

        return patient

    async def _served(self, scope: dict[str, Any], body: bytearray, send: Send) -> str:
        """Wait for a place, ask, pass the answer on; what became of it."""
        if scope["method"] != "POST" or not scope["path"].endswith(ORDERED):
            return await self._passed(scope, body, send)
        coding = dict(scope["headers"]).get(b"content-encoding", b"identity").decode("latin-1")
        if coding != "identity":
            said = f"expected a body without Content-Encoding, got {coding}"
            raise RefusedError(415, "invalid_request_error", said)
        asked, began = parsed(body), monotonic()
        key = self._key(asked, began)
        if self.priority:
            body = with_priority(body, round(PRIORITY[self.priority] * key))
        unreachable: set[int] = set()
        while True:
            try:
                async with self.queue.place(key) as server:
                    self.counters.waited(monotonic() - began)
                    return await self._asked(server, scope, body, send, asked)
            except QueueFullError as error:
                said = f"{self.queue.waiting} requests wait already"
                raise RefusedError(503, "overloaded", said) from error
            except UnreachableError as error:
                unreachable.add(server)
                if len(unreachable) == len(self.upstreams) or not self.queue.awake():
                    raise RefusedError(503, "no_server", str(error), "failed") from error

    def _key(self, asked: AskedAnswers, arrival_s: float) -> float:
        size = (asked.most_tokens, asked.prompt_tokens, asked.answers)
        if self.by_cost:
            return self.order.cost(asked.prompt, *size)
        return self.order.key(asked.prompt, arrival_s, *size)

    async def _passed(self, scope: dict[str, Any], body: bytearray, send: Send) -> str:
        """Ask what takes no place, such as a list of models, of the first server that is there."""
        awake, said = self.queue.awake(), ""
        for server in sorted(range(len(self.upstreams)), key=lambda s: s not in awake):
            try:
                return await self._asked(server, scope, body, send, None)
            except UnreachableError as error:
                said = str(error)
        raise RefusedError(503, "no_server", said, "failed")

    async def _asked(
        self,
        server: int,
        scope: dict[str, Any],
        body: bytearray,
        send: Send,
        asked: AskedAnswers | None,
    ) -> str:
        """Ask one server; what became of it."""
        httpx = require("httpx2", extra="proxy")
        passing = Passing(send, at_once=asked is not None)
        try:
            answer = await self.client.send(self._request(server, scope, body), stream=True)
            try:
                await passing.all_of(answer)
            finally:
                await answer.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self.queue.rest(server, REST_S)
            raise UnreachableError(f"{self.upstreams[server]}: {error!r}") from error
        except httpx.TransportError as error:
            return await self._broken(server, error, passing)
        if asked and asked.prompt and answer.status_code == 200:
            self._learn(asked, passing)
        return "answered"

    def _request(self, server: int, scope: dict[str, Any], body: bytearray) -> Any:
        """As it came, but for what belongs to a connection; answers shall come as they are."""
        httpx = require("httpx2", extra="proxy")
        query = scope.get("query_string", b"").decode("latin-1")
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        url = self.upstreams[server].rstrip("/") + path + (f"?{query}" if query else "")
        headers = [*passed_on(scope["headers"], OURS), (b"accept-encoding", b"identity")]
        timeout = httpx.Timeout(self.timeout_s, connect=min(5.0, self.timeout_s), pool=None)
        try:
            return self.client.build_request(
                scope["method"], url, content=bytes(body), headers=headers, timeout=timeout
            )
        except httpx.InvalidURL as error:
            said = f"the address cannot be asked for: {error}"
            raise RefusedError(400, "invalid_request_error", said) from error

    async def _broken(self, server: int, error: Exception, passing: Passing) -> str:
        """The server fell silent or away: an error of ours, inside the stream if it has begun."""
        httpx = require("httpx2", extra="proxy")
        late = isinstance(error, httpx.TimeoutException)
        said = f"{self.upstreams[server]} {'was silent' if late else 'broke off'}: {error!r}"
        LOG.warning("%s", said)
        if not passing.started:
            kind = "timeout" if late else "server_failed"
            raise RefusedError(504 if late else 503, kind, said, "failed") from error
        await passing.broken(said)
        return "cut"

    def _learn(self, asked: AskedAnswers, passing: Passing) -> None:
        tokens, prompt_tokens = passing.length.output_tokens(), passing.length.prompt_tokens
        if tokens is None:
            return
        self.counters.output_tokens += tokens
        self.counters.prompt_tokens += prompt_tokens or 0.0
        learner = self.order.learner
        self.order.answered(asked.prompt, prompt_tokens, max(1.0, tokens / asked.answers))
        if learner.due and (self._fitting is None or self._fitting.done()):
            self._fitting = asyncio.ensure_future(asyncio.to_thread(learner.refit))


class UnreachableError(Exception):
    """No connection to a server: another may be asked."""


class ClientLeftError(Exception):
    """The client went, or takes nothing of its answer."""


def upstream_client(most_idle: int = 100, idle_s: float = 2.0) -> Any:
    """A client that adds nothing of its own: no headers, and no cookies of another's answer.

    Parameters
    ----------
    most_idle, idle_s
        Connections that are kept open without use, and for how long (s).

    Returns
    -------
    An ``httpx2.AsyncClient``; it trusts the system's certificates, or those of ``SSL_CERT_FILE``
    """
    httpx = require("httpx2", extra="proxy")
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=most_idle, keepalive_expiry=idle_s
    )
    client = httpx.AsyncClient(limits=limits, trust_env=False, verify=httpx.create_ssl_context())
    client.headers.clear()
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return client


def proxy_app(proxy: ServingProxy) -> Any:
    """The Starlette application: every path goes to the servers, ``/metrics`` is ours."""
    require("starlette", extra="proxy")
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def metrics(request: Request) -> Response:
        return Response(await proxy.metrics(), media_type="text/plain; version=0.0.4")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await proxy.client.aclose()

    return Starlette(
        routes=[Route("/metrics", metrics), Route("/{path:path}", proxy)], lifespan=lifespan
    )


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancel what still runs and wait until it has cleaned up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
