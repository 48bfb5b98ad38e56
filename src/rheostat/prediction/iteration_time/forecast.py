"""What forecasters of iteration times are handed, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rheostat.core.outcome import Array

HORIZON = 30
"""Iterations ahead for which an answer is given, as many as CODES's director may ask for."""


@dataclass(frozen=True)
class Neighbour:
    """Another application on the same network, as it is known at one moment.

    Parameters
    ----------
    name
        Its name.
    since_s
        Time since its last iteration mark.
    usual_s
        Its median iteration so far; 0 before it has one.
    running
        Whether it runs: it has begun and has not ended.
    traffic_share
        Its share of the traffic of all ports in the windows before, 0 to 1; NaN without telemetry.
    """

    name: str
    since_s: float
    usual_s: float
    running: bool
    traffic_share: float = np.nan


@dataclass(frozen=True)
class Surroundings:
    """What is known around an application when its next iteration begins; nothing later.

    Parameters
    ----------
    neighbours
        The other applications, in the same order at every moment.
    ports
        Numbers about the ports that it uses in the last windows that had ended, as many at every
        moment; empty without telemetry.
    """

    neighbours: tuple[Neighbour, ...] = ()
    ports: Array = field(default_factory=lambda: np.zeros(0))


NOTHING = Surroundings()
"""Where nothing is known but the iteration times themselves."""


@dataclass(frozen=True, eq=False)
class IterationForecast:
    """Seconds of the next iterations.

    Parameters
    ----------
    time_s, low_s, high_s
        Forecast and the ends of its interval for 1, 2, ... iterations ahead; ends are NaN before
        enough errors were seen.
    simulate
        The regime has changed: go back to simulation until this is false again.
    reason
        Why, in words; empty otherwise.
    """

    time_s: Array
    low_s: Array
    high_s: Array
    simulate: bool = False
    reason: str = ""


class Forecaster(Protocol):
    """Answers first, then sees; `observe` gets the surroundings in which the iteration began."""

    def forecast(self, steps: int, around: Surroundings = NOTHING) -> IterationForecast:
        """The next ``steps`` iterations."""

    def observe(self, time_s: float, around: Surroundings = NOTHING) -> None:
        """An iteration took so long."""

    def skip(self, steps: int) -> None:
        """So many iterations went by that nobody saw."""


@dataclass(frozen=True, eq=False)
class PortsNow:
    """What the ports of a network show at a moment.

    Parameters
    ----------
    shares
        Of the traffic, by application.
    numbers
        About ports, as many at every moment.
    silent
        Applications that have sent nothing for longer than ever before.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    numbers: Array = field(default_factory=lambda: np.zeros(0))
    silent: frozenset[str] = frozenset()


class Telemetry(Protocol):
    """Gives what ports show; nothing later than asked for."""

    def at(self, moment_s: float) -> PortsNow:
        """What they show until a moment."""
