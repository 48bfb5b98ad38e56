"""A connection on which a request begins in time: who opens many and says nothing is let go."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""For the head of a request to be here as a whole; its body has a time of its own."""


class TimedConnection(H11Protocol):  # type: ignore[misc]
    """HTTP/1.1 as uvicorn speaks it, without connections that wait for a request for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The first request is waited for."""
        super().connection_made(transport)
        self._wait(HEAD_S)

    def handle_events(self) -> None:
        """A request that has begun to be answered is no longer waited for."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """The next request is waited for."""
        super().on_response_complete()
        if self.cycle is None or self.cycle.response_complete:
            self._wait(max(HEAD_S, self.timeout_keep_alive))

    def send_400_response(self, msg: str) -> None:
        """The request is answered so: whoever works on its head has nobody to answer."""
        super().send_400_response(msg)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self, most_s: float) -> None:
        self._wait_no_more()
        self._late = self.loop.call_later(most_s, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = None
