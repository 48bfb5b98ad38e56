"""Bytes to and from a server over asyncio's own transports, as httpcore2 asks for them.

Its own streams go through anyio, which takes several turns of the loop and a timer for each part;
a front that passes on streams of small events spends a fifth of its time there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import httpcore2

TOGETHER = 65536
"""Bytes that are sent together, as head and body of a request, or held before reading pauses."""

NEXT_S = 0.25
"""So long one address of a name is tried alone."""


class UpstreamStream(asyncio.Protocol):
    """One connection.

    What is written is held until it is much or an answer is read.
    """

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._came = bytearray()
        self._held = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._full = False
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep it until it is read."""
        self._came += data
        if len(self._came) > TOGETHER:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The server ended it."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes or goes."""
        self._ended, self._full = True, False
        self._error = exc
        self._wake()

    def pause_writing(self) -> None:
        """The server takes no more."""
        self._full = True

    def resume_writing(self) -> None:
        """The server takes more."""
        self._full = False
        self._wake()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What came, so many bytes at most; empty where the connection has ended."""
        self._send_held()
        await self._until(lambda: bool(self._came) or self._ended, timeout, httpcore2.ReadTimeout)
        if self._error and not self._came:
            raise httpcore2.ReadError(str(self._error))
        data = bytes(self._came[:max_bytes])
        del self._came[:max_bytes]
        if not self._ended and len(self._came) <= TOGETHER:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Hand it to the connection, which may hold it."""
        self._held += buffer
        if len(self._held) > TOGETHER:
            self._send_held()
            await self._until(lambda: not self._full, timeout, httpcore2.WriteTimeout)
        if self._ended:
            raise httpcore2.WriteError(str(self._error or "the server closed the connection"))

    async def aclose(self) -> None:
        """End it; what was not sent is not waited for."""
        self._transport.close()
        asyncio.get_running_loop().call_soon(self._transport.abort)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> UpstreamStream:
        """Encrypt what follows."""
        loop = asyncio.get_running_loop()
        secured = loop.start_tls(self._transport, self, ssl_context,
                                 server_hostname=server_hostname)  # fmt: skip
        try:
            transport = await _connected(secured, timeout)
        except BaseException:
            await self.aclose()
            raise
        assert transport is not None
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        """Whether something came unasked, or what TLS agreed on."""
        if info == "is_readable":
            return bool(self._came) or self._ended
        return self._transport.get_extra_info(info)

    def _send_held(self) -> None:
        if self._held and not self._ended:
            self._transport.write(bytes(self._held))
        self._held.clear()

    async def _until(
        self, ready: Callable[[], bool], timeout_s: float | None, late: type[Exception]
    ) -> None:
        """Wait until that holds; no timer where it does."""
        while not ready():
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = None
            if timeout_s is not None:
                timer = loop.call_later(timeout_s, _fail, self._waiter, late("silent"))
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class UpstreamNetwork(httpcore2.AsyncNetworkBackend):  # type: ignore[misc]
    """Connections of httpcore2 that are `UpstreamStream`s."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> UpstreamStream:
        """To a server."""
        several = None if ":" in host or host.replace(".", "").isdigit() else NEXT_S
        loop = asyncio.get_running_loop()
        connecting = loop.create_connection(UpstreamStream, host, port,
                                            happy_eyeballs_delay=several)  # fmt: skip
        stream: UpstreamStream = (await _connected(connecting, timeout))[1]
        return stream

    async def sleep(self, seconds: float) -> None:
        """Between attempts."""
        await asyncio.sleep(seconds)


async def _connected(connecting: Any, timeout_s: float | None) -> Any:
    try:
        async with asyncio.timeout(timeout_s):
            return await connecting
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout(str(error)) from error
    except OSError as error:  # ssl.SSLError among them
        raise httpcore2.ConnectError(str(error)) from error


def _fail(waiter: asyncio.Future[None], error: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(error)
