"""An OpenAI-compatible front before one or several servers, which asks them in a chosen order.

A request waits here until a server has a place (``queue``), or is passed on at once with its key as
the ``priority`` that vLLM or SGLang order by.  Answers stream through as they come; their lengths
teach the order.  Every request gets one answer: the server's, or an error of ours that says why -
400, 403, 413 or 415 for what is no request, 503 with Retry-After where the queue is full or no
server can be reached, 504 where one is silent.  An answer that a server breaks off has no end here
either.  Errors name a server by its number and have an id, under which the log says more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from rheostat._optional import require
from rheostat.decision.serving.dispatch_queue import DispatchQueue, QueueFullError
from rheostat.decision.serving.proxy_counters import ProxyCounters
from rheostat.decision.serving.proxy_messages import (
    MESSAGES,
    ORDERED,
    OURS,
    AskedAnswers,
    NoAnswerError,
    Passing,
    Receive,
    RefusedError,
    Send,
    parsed,
    passed_on,
    refuse,
    request_id,
    with_priority,
)
from rheostat.decision.serving.request_target import (
    HOST,
    ambiguous_end,
    checked_target,
    is_this_machine,
)
from rheostat.decision.serving.sending import Sending
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.tenant_line import KEYS, tenant_of
from rheostat.decision.serving.upstream import Upstream, answered, sent_more
from rheostat.errors import RheostatError
from rheostat.prediction.answer_length.length_learner import ApartFit, fitted

LOG = logging.getLogger("rheostat.proxy")
PRIORITY = {"vllm": 1e6, "sglang": -1e6}
"""What a key is multiplied by: vLLM takes the least first, SGLang the greatest."""
REST_S = 2.0
METRICS = "/metrics"


@dataclass
class ServingProxy:
    """Takes requests, orders them, asks the servers and passes their answers on; an ASGI app.

    Parameters
    ----------
    upstreams
        The servers.
    order
        Keys of requests.
    queue
        Places at the servers.
    client
        Connections to them, as `upstream_connections` makes them.
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
    learn_apart
        Learn lengths in another process, which ends when it has, and takes its libraries and
        memory with it; in a thread of this one if False.
    hosts
        What ``Host`` may name beside this machine; None where it may name anything.
    tenant_headers
        The first of these that a request has says whose it is.
    """

    upstreams: Sequence[Upstream]
    order: ServiceOrder
    queue: DispatchQueue
    client: Any
    priority: str = ""
    timeout_s: float = 600.0
    most_bytes: int = 10_000_000
    by_cost: bool = False
    most_held_bytes: int = 1_000_000_000
    hosts: Collection[str] | None = None
    learn_apart: bool = False
    tenant_headers: Sequence[str] = KEYS

    def __post_init__(self) -> None:
        self.counters = ProxyCounters()
        self.held_bytes = 0
        self._fitting: asyncio.Task[None] | None = None
        self._apart = ApartFit()

    def stop_learning(self) -> None:
        """End a fit that runs in another process; what was learned before stays."""
        self._apart.stop()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request, from its first byte to the last of its answer; ``/metrics`` is ours."""
        if scope["path"] == METRICS and self._may_ask(scope):
            await self._metrics(send)
            return
        self.counters.received += 1
        outcome, body, sending = "failed", bytearray(), Sending(send, self.timeout_s)
        try:
            target = self._target(scope)
            await self._read(receive, body)
            work = asyncio.ensure_future(self._served(scope, target, body, sending))
            gone = asyncio.ensure_future(_disconnected(receive))
            try:
                await sending.watched({work, gone})
                outcome = work.result() if work.done() else "left"
            finally:
                await _stop(work, gone)
        except RefusedError as error:
            outcome = error.outcome
            with suppress(TimeoutError):
                async with asyncio.timeout(self.timeout_s):
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
            [(s in self.queue.awake(), running) for s, running in enumerate(self.queue.running)],
        )  # fmt: skip

    async def _metrics(self, send: Send) -> None:
        body = (await self.metrics()).encode()
        headers = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8"),
                   (b"content-length", b"%d" % len(body))]  # fmt: skip
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _may_ask(self, scope: dict[str, Any]) -> bool:
        return self.hosts is None or is_this_machine(_host(scope), self.hosts)

    def _target(self, scope: dict[str, Any]) -> bytes:
        """Path and query to ask a server for; refused before a body is read."""
        if ambiguous_end(scope["headers"], scope.get("http_version", "1.1")):
            said = "expected a Content-Length or a Transfer-Encoding of HTTP/1.1, not both"
            raise RefusedError(400, "invalid_request_error", said, close=True)
        if not self._may_ask(scope):
            status = 403 if HOST.fullmatch(_host(scope)) else 400
            said = "expected a Host of this machine, or one of --allowed-host"
            raise RefusedError(status, "invalid_request_error", said)
        path = scope.get("raw_path") or scope["path"].encode()
        try:
            return checked_target(path, scope.get("query_string", b""))
        except ValueError as error:
            raise RefusedError(400, "invalid_request_error", str(error)) from error

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

    async def _served(
        self, scope: dict[str, Any], target: bytes, body: bytearray, send: Send
    ) -> str:
        """Wait for a place, ask, pass the answer on; what became of it."""
        if scope["method"] != "POST" or not scope["path"].endswith(ORDERED):
            return await self._passed(scope, target, body, send)
        coding = dict(scope["headers"]).get(b"content-encoding", b"identity").decode("latin-1")
        if coding != "identity":
            said = f"expected a body without Content-Encoding, got {coding}"
            raise RefusedError(415, "invalid_request_error", said)
        asked, began = parsed(body), monotonic()
        find = partial(self._key, asked, began)
        key = find() if self.by_cost or self.priority else None  # else only where it has to wait
        if key is not None and self.priority and not scope["path"].endswith(MESSAGES):
            body = with_priority(body, round(PRIORITY[self.priority] * key))
        tenant = tenant_of(scope["headers"], self.tenant_headers)
        unreachable: set[int] = set()
        while True:
            try:
                async with self.queue.place(find if key is None else key, tenant) as server:
                    self.counters.waited(monotonic() - began)
                    request = self._request(server, scope, target, body)
                    return await self._asked(server, request, send, asked, began)
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

    async def _passed(
        self, scope: dict[str, Any], target: bytes, body: bytearray, send: Send
    ) -> str:
        """Ask what takes no place, such as a list of models, of the first server that is there."""
        awake, said = self.queue.awake(), ""
        for server in sorted(range(len(self.upstreams)), key=lambda s: s not in awake):
            try:
                request = self._request(server, scope, target, body)
                return await self._asked(server, request, send, None)
            except UnreachableError as error:
                said = str(error)
        raise RefusedError(503, "no_server", said, "failed")

    def _request(self, server: int, scope: dict[str, Any], target: bytes, body: bytearray) -> Any:
        """As it came, but for what belongs to a connection; answers shall come as they are."""
        headers = passed_on(scope["headers"], OURS)
        return self.upstreams[server].request(
            scope["method"], target, headers, bytes(body), self.timeout_s
        )

    async def _asked(
        self, server: int, request: Any, send: Send, asked: AskedAnswers | None, began: float = 0.0
    ) -> str:
        """Ask one server; what became of it."""
        httpcore = require("httpcore2", extra="proxy")
        passing = Passing(send, at_once=asked is not None)
        try:
            answer = await answered(self.client, request)
            try:
                await passing.all_of(answer)
                if sent_more(answer):
                    LOG.warning("server %d (%s) sent more than its answer: its connection is "
                                "closed", server + 1, self.upstreams[server])  # fmt: skip
            finally:
                await answer.aclose()
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            self.queue.rest(server, REST_S)
            self.counters.failures[server] += 1
            raise UnreachableError(self._said(server, "cannot be reached", error)) from error
        except (NoAnswerError, httpcore.TimeoutException, httpcore.NetworkError,
                httpcore.ProtocolError) as error:  # fmt: skip
            return await self._broken(server, error, passing)
        if asked and answer.status == 200:
            ended = monotonic()
            self.counters.firsts.add((passing.first_s or ended) - began)
            self.counters.wholes.add(ended - began)
        if asked and asked.prompt and answer.status == 200:
            self._learn(asked, passing)
        return "answered"

    def _said(self, server: int, what: str, error: Exception) -> str:
        """What a client is told of a server: its number, and an id by which the log says more."""
        name = request_id()
        LOG.warning("request %s: server %d (%s) %s: %r", name, server + 1, self.upstreams[server],
                    what, error)  # fmt: skip
        return f"server {server + 1} of {len(self.upstreams)} {what} (request {name})"

    async def _broken(self, server: int, error: Exception, passing: Passing) -> str:
        """The server fell silent or away: an error of ours, inside the stream if it has begun."""
        httpcore = require("httpcore2", extra="proxy")
        self.counters.failures[server] += 1
        late = isinstance(error, httpcore.TimeoutException)
        said = self._said(server, "was silent" if late else "broke off", error)
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
            self._fitting = asyncio.ensure_future(self._refit())

    async def _refit(self) -> None:
        """Learn lengths anew; where that fails, the order goes on with what it knows."""
        learner = self.order.learner
        try:
            learn = self._apart.fitted if self.learn_apart else fitted
            learner.take(await asyncio.to_thread(learn, *learner.begin()))
        except (OSError, MemoryError, RheostatError) as error:
            if self._apart.stopped:
                return
            LOG.warning("lengths of answers were not learned: %r", error)


class UnreachableError(Exception):
    """No connection to a server: another may be asked."""


class ClientLeftError(Exception):
    """The client went before its request had ended."""


def _host(scope: dict[str, Any]) -> bytes:
    host: bytes = dict(scope["headers"]).get(b"host", b"localhost")
    return host


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancel what still runs and wait until it has cleaned up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
