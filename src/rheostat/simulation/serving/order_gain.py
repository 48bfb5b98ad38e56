"""Whether an order of the waiting requests helps, beyond what differs from run to run.

The same requests come again with other gaps between them: blocks of the recorded gaps are drawn
anew and made as long in all, so that bursts last as long and the load is the same.  Each order
serves the same arrivals, and its ratio to first come, first served is taken run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.simulation.serving.replica import Array

if TYPE_CHECKING:
    from rheostat.simulation.serving.serve import Served

FIRST_COME = "fcfs"
REPLAYS, BLOCKS, LEVEL = 20, 20, 0.9
FEWEST, MOST = 4, 4_000_000
"""Runs at least, and requests of all runs together from which on there are fewer runs."""
LEAST = 0.02
"""A difference below this is none that anybody would change an order for."""
SAID = {
    "mean_latency_s": "mean latency",
    "p99_s": "its 99th percentile",
    "ttft_p99_s": "first tokens' 99th percentile",
}


@dataclass(frozen=True)
class Ratio:
    """To first come, first served: as the requests came, and its 90 % interval over replays.

    >>> Ratio(0.8, 0.7, 0.9).sign, Ratio(0.8, 0.7, 1.1).sign, Ratio(1.2, 1.1, 1.3).sign
    (-1, 0, 1)
    >>> print(Ratio(0.38, 0.36, 0.37))
    -62 % as they came (-64 to -63 % with other arrivals)
    """

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """-1 where surely less, 1 where surely more, 0 where the runs differ by as much."""
        return int(self.low > 1 + LEAST) - int(self.high < 1 - LEAST)

    @property
    def change(self) -> tuple[float, float, float]:
        """The relative change with its interval: 0 where nothing changes."""
        return self.value - 1, self.low - 1, self.high - 1

    def __str__(self) -> str:
        value, low, high = (100 * x for x in self.change)
        if self.low <= self.value <= self.high:
            return f"{value:+.0f} % [{low:+.0f}, {high:+.0f}]"
        return f"{value:+.0f} % as they came ({low:+.0f} to {high:+.0f} % with other arrivals)"


Gains = Mapping[str, Mapping[str, Ratio]]
"""By order and by quantity of `SAID`."""


def order_gains(
    requests: JobTable, policies: Sequence[str], served: Callable[[JobTable, str], Served], *,
    replays: int = REPLAYS, seed: int = 0,
) -> Gains:  # fmt: skip
    """Ratios of each order but first come, first served.

    Parameters
    ----------
    requests
        A trace, in order of submission.
    policies
        Names of orders.
    served
        Serves requests under an order; only their moments of submission change from run to run.
    replays
        Runs with other arrivals, fewer of long traces (`MOST`).
    seed
        Of the arrivals.
    """
    names = [p for p in policies if p != FIRST_COME]
    if not names:
        return {}
    rng = np.random.default_rng(seed)
    replays = max(FEWEST, min(replays, MOST // (len(requests) * len(names))))
    runs = [requests, *(_again(requests, rng) for _ in range(replays))]
    ratios: dict[str, dict[str, list[float]]] = {p: {q: [] for q in SAID} for p in names}
    for run in runs:
        plain = served(run, FIRST_COME).summary()
        for policy in names:
            made = served(run, policy).summary()
            for q in SAID:
                ratios[policy][q].append(made[q] / plain[q])
    return {p: {q: _ratio(values) for q, values in own.items()} for p, own in ratios.items()}


def verdict(gains: Gains) -> str:
    """Whether an order helps, in one sentence; what it costs stands beside what it gains.

    >>> print(verdict({"cost": {"mean_latency_s": Ratio(0.8, 0.7, 0.9), "p99_s": Ratio(2, 1.5, 3),
    ...                         "ttft_p99_s": Ratio(1, 0.9, 1.1)}}))
    an order can help: cost has mean latency -20 % [-30, -10], but its 99th percentile +100 % [+50,
    +200], beside first come, first served
    """
    best = min(gains, key=lambda p: min(r.value for r in gains[p].values() if r.sign < 0)
               if any(r.sign < 0 for r in gains[p].values()) else np.inf, default="")  # fmt: skip
    less = [f"{SAID[q]} {r}" for q, r in gains.get(best, {}).items() if r.sign < 0]
    more = [f"{SAID[q]} {r}" for q, r in gains.get(best, {}).items() if r.sign > 0]
    if not less:
        return (
            "no order is better than first come, first served by more than runs with other "
            f"arrivals differ ({LEVEL:.0%} intervals, {100 * LEAST:.0f} % or more)"
        )
    said = f"an order can help: {best} has {', '.join(less)}"
    said += f", but {', '.join(more)}" if more else ""
    return f"{said}, beside first come, first served"


def _again(requests: JobTable, rng: np.random.Generator) -> JobTable:
    """The same requests after gaps of blocks drawn anew, as long in all."""
    submit = requests.numpy("submit_s")
    gaps = np.diff(submit)
    if not len(gaps) or gaps.sum() <= 0:
        return requests
    length = max(1, len(gaps) // BLOCKS)
    starts = rng.integers(0, len(gaps), -(-len(gaps) // length))
    drawn = gaps[(starts[:, None] + np.arange(length)).ravel()[: len(gaps)] % len(gaps)]
    scale = gaps.sum() / drawn.sum() if drawn.sum() > 0 else 0.0
    moments = submit[0] + np.concatenate([[0.0], np.cumsum(drawn * scale)])
    return requests.with_columns([], submit_s=moments)


def _ratio(values: Sequence[float]) -> Ratio:
    own: Array = np.asarray(values[1:] or values, dtype=float)
    low, high = np.quantile(own, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Ratio(float(values[0]), float(low), float(high))
