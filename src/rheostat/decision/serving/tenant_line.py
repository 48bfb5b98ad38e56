"""Who is next where tenants share servers: nobody's flood keeps the others waiting."""

from __future__ import annotations

from asyncio import Future
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rheostat.decision.serving.waiting_line import KeyLine

KEYS = ("authorization", "x-api-key")
"""Headers that tell tenants apart where none is named: the keys of OpenAI's and Anthropic's API."""


def tenant_of(headers: Iterable[tuple[bytes, bytes]], names: Iterable[str] = KEYS) -> str:
    """The value of the first of these headers that a request has, or nothing.

    >>> tenant_of([(b"host", b"a"), (b"x-api-key", b"k1")])
    'k1'
    """
    given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    return next((given[name] for name in names if name in given), "")


@dataclass
class TenantLine:
    """The next place goes to the tenant that holds the fewest; of its requests, the least key.

    Of tenants that hold as many, the one that has held places for less time is next.  Who comes (or
    comes back) begins with the least time of those who are here, so that no absence is saved up.

    Parameters
    ----------
    limit
        Places that one tenant holds at once, at most.
    limits
        The same of single tenants.

    Examples
    --------
    >>> import asyncio
    >>> loop = asyncio.new_event_loop()
    >>> a, b, c = (loop.create_future() for _ in range(3))
    >>> line = TenantLine(limit=2)
    >>> line.push(1.0, a, "one"), line.push(2.0, b, "one"), line.push(9.0, c, "other")
    (None, None, None)
    >>> [[a, b, c].index(line.pop()) for _ in range(3)]
    [0, 2, 1]
    >>> loop.close()
    """

    limit: int
    limits: Mapping[str, int] = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)
    running: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, KeyLine] = field(default_factory=dict)
    _held_s: dict[str, float] = field(default_factory=dict)
    _tenant: dict[Future[int], str] = field(default_factory=dict)

    def push(self, key: float, place: Future[int], tenant: str = "") -> None:
        """A request waits."""
        if tenant not in self._lines:
            self._lines[tenant] = KeyLine()
            self._held_s[tenant] = min(self._held_s.values(), default=0.0)
        self._lines[tenant].push(key, place)
        self._tenant[place] = tenant
        self.waiting[tenant] += 1

    def pop(self) -> Future[int] | None:
        """Take the next one out; None where nobody waits who may begin."""
        able = [t for t, n in self.waiting.items() if n and self.may_begin(t)]
        for tenant in sorted(able, key=lambda t: (self.running[t], self._held_s[t])):
            place = self._lines[tenant].pop()
            if place is not None:  # else all of its clients have just left
                self.waiting[tenant] -= 1
                self.running[tenant] += 1
                return place
        return None

    def drop(self, place: Future[int]) -> None:
        """It waits no more."""
        tenant = self._tenant.pop(place)
        self._lines[tenant].drop(place)
        self.waiting[tenant] -= 1
        self._forget(tenant)

    def ended(self, place: Future[int], held_s: float, *, answered: bool) -> None:
        """Its tenant holds one place less and has held one for so long, answered or not."""
        tenant = self._tenant.pop(place)
        self.running[tenant] -= 1
        self._held_s[tenant] += held_s
        self._forget(tenant)

    def crowded(self, tenant: str, most_waiting: int) -> bool:
        """Whether it fills half of what may wait: the rest is kept for others."""
        return 2 * self.waiting[tenant] >= most_waiting

    def may_begin(self, tenant: str) -> bool:
        """Whether it may hold one more."""
        return self.running[tenant] < self.limits.get(tenant, self.limit)

    def _forget(self, tenant: str) -> None:
        """Who has nothing here takes no memory."""
        if not self.waiting[tenant] and not self.running[tenant]:
            for kept in (self.waiting, self.running, self._lines, self._held_s):
                del kept[tenant]
