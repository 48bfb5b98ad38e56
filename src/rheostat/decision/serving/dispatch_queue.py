"""`DispatchQueue`: requests wait here for a place at a server, in an order of the line's choice.

Each server runs so many requests at once.  Leaving the block of `DispatchQueue.place`, however that
happens, gives the place to the next, and a request that no longer wants one leaves the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

from rheostat.decision.serving.tenant_line import TenantLine
from rheostat.decision.serving.waiting_line import KeyLine, WaitingLine


class QueueFullError(Exception):
    """As many requests wait as may."""


class DispatchQueue:
    """Places at servers, given out one by one.

    Parameters
    ----------
    servers
        How many there are.
    in_flight
        Requests that each runs at once, at most.
    most_waiting
        Requests that wait, at most; a further one is a `QueueFullError`.
    line
        Who is next; the least key if None.
    """

    def __init__(
        self, servers: int, in_flight: int, most_waiting: int = 10_000,
        line: WaitingLine | None = None,
    ) -> None:  # fmt: skip
        self.running = [0] * servers
        self.waiting = 0
        self.in_flight = in_flight
        self.most_waiting = most_waiting
        self._resting = [0.0] * servers
        self._line = line or KeyLine()

    @asynccontextmanager
    async def place(self, key: float | Callable[[], float], tenant: str = "") -> AsyncIterator[int]:
        """Wait for a place; the number of the server.

        A key that takes time to find may be a function, for lines that know requests by it only
        while they wait: it is asked where the request has to.
        """
        future = await self._given(key, tenant)
        server, began, answered = future.result(), monotonic(), False
        try:
            yield server
            answered = True
        finally:
            self._line.ended(future, monotonic() - began, answered=answered)
            self._leave(server)

    def rest(self, server: int, seconds: float) -> None:
        """Give this server nothing for a while if there is another: it has just failed."""
        self._resting[server] = monotonic() + seconds

    def awake(self) -> list[int]:
        """The servers that do not rest."""
        now = monotonic()
        return [s for s, until in enumerate(self._resting) if until <= now]

    async def _given(
        self, key: float | Callable[[], float], tenant: str = ""
    ) -> asyncio.Future[int]:
        at_once = self._free() is not None and not self.waiting
        full = self.waiting >= self.most_waiting or self._line.crowded(tenant, self.most_waiting)
        if full and not at_once:
            raise QueueFullError
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if callable(key):
            key = 0.0 if at_once and self._may_begin(tenant) else key()
        self._line.push(key, future, tenant)
        self.waiting += 1
        self._next()
        try:
            await future
        except asyncio.CancelledError:
            if future.cancelled():
                self.waiting -= 1
                self._line.drop(future)
            else:  # the place came in the same moment
                self._line.ended(future, 0.0, answered=False)
                self._leave(future.result())
            raise
        return future

    def _may_begin(self, tenant: str) -> bool:
        return not isinstance(self._line, TenantLine) or self._line.may_begin(tenant)

    def _leave(self, server: int) -> None:
        self.running[server] -= 1
        self._next()

    def _next(self) -> None:
        """Hand free places to those that wait."""
        while (server := self._free()) is not None and (future := self._line.pop()) is not None:
            self.running[server] += 1
            self.waiting -= 1
            future.set_result(server)

    def _free(self) -> int | None:
        """The server with the fewest requests that can take one more."""
        able = self.awake() or range(len(self.running))
        free = (s for s in able if self.running[s] < self.in_flight)
        return min(free, key=self.running.__getitem__, default=None)
