"""A fleet in emulation: caps that take time to hold, idle nodes that draw, writes that fail.

What may a fleet draw at a moment?  Each place at most the largest cap that stood there within the
last ``lag_s`` seconds: a device that was just lowered may still draw what it was allowed before,
and one that is idle may wake at any time.  The sum of these is the worst case; if it stays below
the budget at every moment, so does any real draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.decision.actuate.device import Actuators, Write, split


@dataclass
class EmulatedNodes:
    """Caps of many nodes over time; ``fails(n)`` tells whether the n-th write fails.

    >>> r = EmulatedNodes({"a|cap_w|x": 100.0, "b|cap_w|x": 50.0}, lag_s=1.0)
    >>> r.panel().put("a|cap_w|x", 60.0); r.worst_w()
    150.0
    >>> r.sleep(1.0); r.worst_w()
    110.0
    """

    caps: dict[str, float]
    lag_s: float = 1.0
    fails: Callable[[int], bool] = lambda _: False
    now_s: float = 0.0
    writes: int = 0
    past: list[tuple[float, str, float]] = field(default_factory=list)
    seen: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.look()

    def worst_w(self) -> float:
        """The most that may be drawn now."""
        most = dict(self.caps)
        for until_s, place, watts in self.past:
            if until_s > self.now_s + 1e-9:
                most[place] = max(most[place], watts)
        return float(sum(most.values()))

    def look(self) -> None:
        """Note the worst case of this moment in ``seen``: (seconds, watts)."""
        self.seen.append((self.now_s, self.worst_w()))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds
        self.look()

    def set(self, place: str, watts: float) -> None:
        """One write; an `OSError` if it is one that fails."""
        self.writes += 1
        if self.fails(self.writes):
            raise OSError(f"{place}: write {self.writes} failed")
        self.past.append((self.now_s + self.lag_s, place, self.caps[place]))
        self.caps[place] = watts
        self.look()

    def panel(self) -> Actuators:
        """The places as devices of nodes."""
        devices: dict[str, dict[str, _Place]] = {}
        for place in self.caps:
            node, knob, _ = split(place)
            devices.setdefault(node, {})[knob] = _Place(self, place)
        return Actuators(devices)


@dataclass(frozen=True)
class _Place:
    rehearsal: EmulatedNodes
    place: str

    def writes(self, watts: float) -> list[Write]:
        return [Write(split(self.place)[2], watts)]

    def standing(self) -> list[float]:
        return [self.rehearsal.caps[self.place]]

    def get(self, address: str) -> float:
        return self.rehearsal.caps[self.place]

    def put(self, address: str, watts: float) -> None:
        self.rehearsal.set(self.place, watts)

    def refusals(self, writes: Sequence[Write]) -> list[str]:
        return []


def rehearsal(nodes: Mapping[str, Mapping[str, float]], **how: object) -> EmulatedNodes:
    """A rehearsal of nodes with the caps they have now, by knob."""
    caps = {f"{n}|{k}|emulated": float(w) for n, own in nodes.items() for k, w in own.items()}
    return EmulatedNodes(caps, **how)  # type: ignore[arg-type]
