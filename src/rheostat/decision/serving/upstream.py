"""Servers that a proxy asks: where they are, and the connections to them.

User and password of an address go into a header of what is asked and are printed nowhere.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from rheostat._optional import require
from rheostat.decision.serving.request_target import checked_target

CONNECT_S = 5.0
"""A server that has not taken a connection by then is asked for nothing."""
AT_ONCE_S = 1.0
"""A server that takes longer to end a connection had begun to work."""
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Upstream:
    """A server.

    Examples
    --------
    >>> server = Upstream.at("http://me:secret@gpu7:8000/tenant/v1")
    >>> server, str(server)
    (Upstream(scheme='http', host='gpu7', port=8000, prefix='/tenant'), 'http://gpu7:8000/tenant')
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    authorization: bytes = field(default=b"", repr=False)

    @classmethod
    def at(cls, address: str) -> Upstream:
        """The server at ``http://HOST:PORT``; ValueError, without the password, where none is."""
        try:
            parts = urlsplit(address)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
            prefix = parts.path.rstrip("/").removesuffix("/v1")
            checked_target(prefix.encode("ascii") or b"/")
        except ValueError:
            host = ""
        bare = address.split() == [address] and not {"?", "#", "\\"} & {*address}
        if not (host and bare and parts.scheme in PORTS and port != 0):
            shown = re.sub(r"(//)?[^/]*@", r"\1***@", address)
            raise ValueError(f"expected http://HOST:PORT, got {shown!r}")
        return cls(parts.scheme, host, port or PORTS[parts.scheme], prefix,
                   _basic(parts.username, parts.password))  # fmt: skip

    def __str__(self) -> str:
        return f"{self.scheme}://{self.named.decode()}{self.prefix}"

    @property
    def named(self) -> bytes:
        """Its ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{host}{port}".encode()

    def request(
        self,
        method: str,
        target: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: bytes,
        timeout_s: float,
    ) -> Any:
        """A request to this server and no other; ``target`` is what `checked_target` let pass."""
        httpcore = require("httpcore2", extra="proxy")
        where = httpcore.URL(scheme=self.scheme, host=self.host, port=self.port,
                             target=self.prefix.encode() + target)  # fmt: skip
        kept = [(k, v) for k, v in headers if not (self.authorization and k == b"authorization")]
        ours = [(b"host", self.named), (b"accept-encoding", b"identity")]
        if self.authorization:
            ours.append((b"authorization", self.authorization))
        if body or method in ("POST", "PUT", "PATCH"):
            ours.append((b"content-length", b"%d" % len(body)))
        silence = {"connect": min(CONNECT_S, timeout_s), "read": timeout_s, "write": timeout_s}
        return httpcore.Request(method, where, headers=[*ours, *kept], content=body,
                                extensions={"timeout": silence})  # fmt: skip


async def answered(client: Any, request: Any) -> Any:
    """The answer to a request, which is sent anew once where a connection in no use had ended.

    A server may close such a connection at the moment the request goes out: nothing comes back
    then, at once, over a connection that was not made for it.
    """
    httpcore = require("httpcore2", extra="proxy")
    steps, began = set(), monotonic()

    async def trace(name: str, info: Any) -> None:
        steps.add(name.partition(".")[0])

    request.extensions = {**request.extensions, "trace": trace}
    try:
        return await client.handle_async_request(request)
    except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
        if "http11" not in steps or "connection" in steps or monotonic() - began > AT_ONCE_S:
            raise
        return await client.handle_async_request(request)


def sent_more(answer: Any) -> bool:
    """Whether a server sent more than the answer that was read; its connection then ends with it.

    httpcore keeps such bytes and would take them for the answer to whoever asks next.
    """
    httpcore = require("httpcore2", extra="proxy")
    if not isinstance(answer, httpcore.Response):
        return False
    # httpcore shows neither; h11's own word for "nothing more goes over this" closes it behind us
    state = answer.stream._stream._connection._h11_state
    more = bool(state.trailing_data[0])
    if more:
        state.send_failed()
    return more


def _basic(user: str | None, password: str | None) -> bytes:
    if user is None and password is None:
        return b""
    given = unquote_to_bytes(user or "") + b":" + unquote_to_bytes(password or "")
    return b"Basic " + b64encode(given)


def upstream_connections(
    upstreams: Sequence[Upstream], most_idle: int = 100, idle_s: float = 2.0
) -> Any:
    """Connections to servers; a request goes out with nothing added to it, no cookie either.

    Parameters
    ----------
    upstreams
        Servers; where one has https, certificates are read once.
    most_idle, idle_s
        Connections that are kept open without use, and for how long (s).

    Returns
    -------
    An ``httpcore2.AsyncConnectionPool``; it trusts the system's certificates, or those of
    ``SSL_CERT_FILE``
    """
    httpcore = require("httpcore2", extra="proxy")
    from rheostat.decision.serving.upstream_stream import UpstreamNetwork

    secure = any(upstream.scheme == "https" for upstream in upstreams)
    return httpcore.AsyncConnectionPool(
        ssl_context=httpcore.default_ssl_context() if secure else None,
        max_connections=None, max_keepalive_connections=most_idle, keepalive_expiry=idle_s,
        network_backend=UpstreamNetwork(),
    )  # fmt: skip
