"""What stands before every request: its host, its sender, its rate, its size, its time.

Plain ASGI, so that a request that is refused costs next to nothing and nothing of it is parsed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from rheostat.decision.serving.request_target import is_this_machine
from rheostat.service.access import EVERYBODY, TokenAccess, allowed

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
MOST_CLIENTS = 10_000
CLOSED = ("/api/", "/metrics")
"""Paths that need a token where there are tokens; the page itself holds no data."""
HEADERS = [
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; "
     b"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
     b"frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]  # fmt: skip


class Refused(Exception):
    """A request that goes no further: a status and a sentence."""

    def __init__(
        self, status: int, words: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self.status, self.words, self.headers = status, words, headers
        super().__init__(words)


class RateLimit:
    """So many requests a second of each client, as many more at once."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, now: float) -> bool:
        """Whether this request may pass.

        >>> limit = RateLimit(2.0)
        >>> [limit.take("a", t) for t in (0.0, 0.0, 0.0, 0.5)], limit.take("b", 0.0)
        ([True, True, False, True], True)
        """
        left, before = self._left.pop(client, (self.rate, now))
        left = min(self.rate, left + (now - before) * self.rate)
        passes = left >= 1.0
        self._left[client] = (left - 1.0 if passes else left, now)
        if len(self._left) > MOST_CLIENTS:
            self._left.popitem(last=False)
        return passes


class RequestGuard:
    """Lets on what may pass to ``app``, with the client's `TokenAccess` in the request's state.

    Parameters
    ----------
    app : ASGI application
        Behind the guard.
    hosts : sequence of str or None
        Further names of this machine that ``Host`` may have; None: every host.
    tokens : sequence of TokenAccess
        Who may ask; none: everybody.
    rate : float
        Requests per second of a client.
    most_bytes : int
        Of a request.
    timeout_s : float
        For a request to be here as a whole.
    refused : callable
        Counts a status that was sent without the application.
    """

    def __init__(
        self, app: Application, *, hosts: Sequence[str] | None, tokens: Sequence[TokenAccess] = (),
        rate: float = 1000.0, most_bytes: int = 1_000_000, timeout_s: float = 10.0,
        refused: Callable[[int], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.app, self.hosts, self.tokens = app, hosts, tuple(tokens)
        self.limit, self.most_bytes, self.timeout_s = RateLimit(rate), most_bytes, timeout_s
        self.refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        guarded = _with_headers(send)
        try:
            scope.setdefault("state", {})["access"] = self._access(scope)
            body = await self._body(scope, receive)
        except Refused as no:
            self.refused(no.status)
            await _send(guarded, no)
            return
        await self.app(scope, _again(body, receive), guarded)

    def _access(self, scope: Scope) -> TokenAccess:
        """Host, origin, token and rate of a request."""
        headers = _headers(scope)
        if self.hosts is not None and not is_this_machine(headers.get(b"host", b""), self.hosts):
            raise Refused(421, "expected a Host that names this machine")
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            raise Refused(403, "expected no request by another site's page")
        origin = headers.get(b"origin")
        site = (origin or b"").rpartition(b"//")[2]
        if origin is not None and self.hosts is not None and not is_this_machine(site, self.hosts):
            raise Refused(403, "expected an Origin that names this machine")
        access = EVERYBODY
        client = (scope.get("client") or ("",))[0]
        if self.tokens and scope["path"].startswith(CLOSED):
            kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            known = allowed(token.strip(), self.tokens) if kind.lower() == "bearer" else None
            if known is None:
                self._slow(f"refused {client}")
                raise Refused(401, "expected a token: Authorization: Bearer TOKEN",
                              [(b"www-authenticate", b"Bearer")])  # fmt: skip
            access, client = known, known.digest
        self._slow(client)
        return access

    def _slow(self, client: str) -> None:
        if not self.limit.take(client, time.monotonic()):
            raise Refused(429, f"expected at most {self.limit.rate:g} requests a second",
                          [(b"retry-after", b"1")])  # fmt: skip

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """All of a request, within its size and its time."""
        headers = _headers(scope)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > self.most_bytes:
            raise Refused(413, f"expected at most {self.most_bytes:,} bytes")
        if scope["method"] == "POST":
            kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refused(415, "expected Content-Type: application/json")
        try:
            return await asyncio.wait_for(self._read(receive), self.timeout_s)
        except TimeoutError:
            raise Refused(408, f"expected the request within {self.timeout_s:g} s") from None

    async def _read(self, receive: Receive) -> bytes:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.most_bytes:
                raise Refused(413, f"expected at most {self.most_bytes:,} bytes")
            if not message.get("more_body"):
                return b"".join(parts)


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return {name.lower(): value for name, value in scope["headers"]}


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives the request that was read, then what comes after it: the client's leaving."""
    sent = False

    async def read() -> MutableMapping[str, Any]:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


def _with_headers(send: Send) -> Send:
    async def headed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = [*message.get("headers", []), *HEADERS]
            if not any(name == b"cache-control" for name, _ in there):
                there.append((b"cache-control", b"no-store"))
            message = {**message, "headers": there}
        await send(message)

    return headed


async def _send(send: Send, no: Refused) -> None:
    body = json.dumps({"error": no.words}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close"), *no.headers,
               (b"content-length", str(len(body)).encode())]  # fmt: skip
    await send({"type": "http.response.start", "status": no.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
