"""`Sending`: messages to a client, and since when the last one has been on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from time import monotonic
from typing import Any

from rheostat.decision.serving.proxy_messages import Send


class Sending:
    """Sends; who takes nothing of a message for too long is noticed by one timer per request.

    Parameters
    ----------
    send
        Takes the messages for the client.
    most_s
        So long may one take.
    """

    def __init__(self, send: Send, most_s: float) -> None:
        self._send, self._most_s = send, most_s
        self._since: float | None = None

    async def __call__(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self._since = monotonic()
        try:
            await self._send(message)
        finally:
            self._since = None

    async def watched(self, tasks: Collection[asyncio.Future[Any]]) -> None:
        """Wait for the first of these to end, or until a message has taken too long."""
        left_s = self._most_s
        while left_s > 0:
            done, _ = await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            waited_s = 0.0 if self._since is None else monotonic() - self._since
            left_s = self._most_s - waited_s
