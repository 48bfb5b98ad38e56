"""Who of those that wait for a place at a server is next: by key, or so that a bound is held.

`BoundLine` is the rule of `rheostat llm simulate --within`: the cheapest first as long as nobody
who waits would begin too late for it, else the cheapest of those that must begin before.  What a
request occupies is a place: one that is expected to hold it for d seconds takes d over the number
of places of what is there.  How long a place is held per second of cost is learned from answers.
"""

from __future__ import annotations

import heapq
from asyncio import Future
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

GIVEN_UP = 0.009
"""Of all that came, may be late, and only as many of the costliest are given up; what is kept back
of one in a hundred is for those that no estimate sees."""
SLOWER = 1.2
"""Than costs have it, servers may work off what waits."""
SPARE = 0.01
"""Of a bound: what estimates are off by."""
MOST = 5 / 6
"""Of a bound; what answering is taken to need at most, so that who cannot hold it is not let in
before all who can."""
FORGET = 0.98
SEEN = 10_000
"""So many of the newest requests say what first come, first served would be."""


def latest_begin(
    submit_s: ArrayLike, bound_s: float, answering_s: ArrayLike
) -> NDArray[np.float64]:
    """When requests have to begin to be answered within a bound.

    Parameters
    ----------
    submit_s, answering_s
        Moments at which they came (s), and what answering will take once begun (s), each (n,).
    bound_s
        From submission to the last token, s.

    Returns
    -------
    Moments (s), (n,)

    Examples
    --------
    >>> latest_begin([0.0, 5.0], 100.0, [9.0, 5000.0]).round(2).tolist()
    [90.0, 20.67]
    """
    needed_s = np.minimum(answering_s, MOST * bound_s)
    return np.asarray(np.asarray(submit_s) + (1.0 - SPARE) * bound_s - needed_s)


class WaitingLine(Protocol):
    """Those that wait."""

    def push(self, key: float, place: Future[int], tenant: str = "") -> None:
        """A request waits."""

    def pop(self) -> Future[int] | None:
        """Take the next one out; None where nobody waits."""

    def drop(self, place: Future[int]) -> None:
        """It waits no more."""

    def ended(self, place: Future[int], held_s: float, *, answered: bool) -> None:
        """A request gives its place back that it held so long, answered or broken off."""

    def crowded(self, tenant: str, most_waiting: int) -> bool:
        """Whether a tenant has as many waiting of these as it may."""


class KeyLine:
    """The least key first, of equal ones who came first.

    Examples
    --------
    >>> line = KeyLine()
    >>> line.pop() is None
    True
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Future[int]]] = []
        self._count = self._left = 0

    def push(self, key: float, place: Future[int], tenant: str = "") -> None:
        """A request waits."""
        self._count += 1
        heapq.heappush(self._heap, (key, self._count, place))

    def pop(self) -> Future[int] | None:
        """Take the next one out; None where nobody waits."""
        while self._heap:
            place = heapq.heappop(self._heap)[2]
            if not place.done():
                return place
        return None

    def drop(self, place: Future[int]) -> None:
        """It waits no more; its entry goes once such entries are most of the heap."""
        self._left += 1
        if 2 * self._left > len(self._heap) + 100:
            self._heap = [entry for entry in self._heap if not entry[2].done()]
            heapq.heapify(self._heap)
            self._left = 0

    def ended(self, place: Future[int], held_s: float, *, answered: bool) -> None:
        """Nothing is learned."""

    def crowded(self, tenant: str, most_waiting: int) -> bool:
        """All are one."""
        return False


class BoundLine:
    """99 of 100 answers within a bound, and otherwise the cheapest first; keys are costs (s).

    Parameters
    ----------
    servers, in_flight
        How many there are, and how many requests each runs at once.
    bound_s
        Within which answers shall come.
    times_fcfs
        If above 0, the bound is this times what first come, first served would need: the 99th
        percentile of its latencies so far, or the request's own where that is longer.
    clock
        Seconds.
    """

    def __init__(
        self, servers: int, in_flight: int, bound_s: float = np.inf, times_fcfs: float = 0.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:  # fmt: skip
        self.places, self.bound_s, self.times_fcfs = servers * in_flight, bound_s, times_fcfs
        self._clock = clock
        self._held_s, self._served_s = float(in_flight), 1.0
        self._latest: list[float] = []
        self._cost: list[float] = []
        self._place: list[Future[int]] = []
        self._given_up: list[tuple[float, float, int, Future[int]]] = []
        self._costliest: list[float] = []
        self._cost_due: dict[Future[int], tuple[float, float]] = {}  # until they end
        self._late: set[Future[int]] = set()  # given up, or begun too late
        self._came = self._answered_late = 0
        self._free_s = -np.inf
        self._newest: deque[float] = deque()
        self._sorted: list[float] = []

    def push(self, key: float, place: Future[int], tenant: str = "") -> None:
        """A request waits that costs so many seconds."""
        now, held_s = self._clock(), key * self._held_s / self._served_s
        self._free_s = max(now, self._free_s) + held_s / self.places
        bound_s = self._bound(self._free_s - now + held_s)
        latest = float(latest_begin(now, bound_s, held_s))
        at = bisect_right(self._latest, latest)
        self._latest.insert(at, latest)
        self._cost.insert(at, key)
        self._place.insert(at, place)
        self._cost_due[place] = key, now + bound_s
        heapq.heappush(self._costliest, key)
        if len(self._costliest) > 1 + GIVEN_UP * self._came:
            heapq.heappop(self._costliest)
        self._came += 1

    def _bound(self, fcfs_s: float) -> float:
        """Of a request that would take so long first come, first served."""
        if not self.times_fcfs:
            return self.bound_s
        self._newest.append(fcfs_s)
        insort(self._sorted, fcfs_s)
        if len(self._newest) > SEEN:
            del self._sorted[bisect_left(self._sorted, self._newest.popleft())]
        return self.times_fcfs * max(fcfs_s, self._sorted[int(0.99 * len(self._sorted))])

    def pop(self) -> Future[int] | None:
        """Take the next one out; None where nobody waits."""
        now = self._clock()
        while True:
            cost = np.array(self._cost) * SLOWER * self._held_s / self._served_s / self.places
            slack = np.array(self._latest) - (np.cumsum(cost) - cost)
            row = int(np.argmin(cost)) if len(cost) else -1
            least = cost[row] if row >= 0 else np.inf
            if self._given_up and self._given_up[0][0] < (self._cost[row] if row >= 0 else np.inf):
                row, least = -1, self._given_up[0][0] * SLOWER * self._held_s
                least /= self._served_s * self.places
            if row < 0 and not self._given_up:
                return None
            while True:
                tight = np.flatnonzero(slack < now + least)
                if not len(tight) or 0 <= row <= tight[0]:
                    return self._taken(row, now)
                ahead = cost[: tight[0] + 1]
                dear = int(np.argmax(ahead))
                if self._may_give_up(dear):
                    break
                row = int(np.argmin(ahead))
                least = cost[row]
            self._give_up(dear)

    def _may_give_up(self, row: int) -> bool:
        late = len(self._late) + self._answered_late
        return late < GIVEN_UP * self._came and self._cost[row] >= self._costliest[0]

    def _give_up(self, row: int) -> None:
        place = self._place[row]
        self._late.add(place)
        entry = (self._cost[row], self._latest[row], id(place), place)
        heapq.heappush(self._given_up, entry)
        self._forget(row)

    def _taken(self, row: int, now: float) -> Future[int]:
        if row < 0:
            _, latest, _, place = heapq.heappop(self._given_up)
        else:
            latest, place = self._latest[row], self._place[row]
            self._forget(row)
        if now > latest:
            self._late.add(place)
        else:
            self._late.discard(place)
        return place

    def _forget(self, row: int) -> None:
        for kept in (self._latest, self._cost, self._place):
            del kept[row]

    def drop(self, place: Future[int]) -> None:
        """It waits no more."""
        if place in self._place:
            self._forget(self._place.index(place))
        self._given_up = [entry for entry in self._given_up if entry[3] is not place]
        heapq.heapify(self._given_up)
        self._late.discard(place)
        del self._cost_due[place]

    def ended(self, place: Future[int], held_s: float, *, answered: bool) -> None:
        """Learn how long a place is held per second of cost, the newest answers most."""
        cost, due = self._cost_due.pop(place)
        self._late.discard(place)
        if not answered:
            return
        self._answered_late += self._clock() > due
        self._held_s = FORGET * self._held_s + held_s
        self._served_s = FORGET * self._served_s + cost

    def crowded(self, tenant: str, most_waiting: int) -> bool:
        """All are one."""
        return False
