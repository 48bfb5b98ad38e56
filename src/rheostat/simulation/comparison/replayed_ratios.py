"""How much of a ratio between policies is chance?  The same traces with submissions moved a little.

A job that comes a minute later may move the mean slowdown of a whole trace by a third
(`jittered_replays`).  So each trace is run several times, as it is and with submissions moved, and
a policy is held against the simple order that is best over all of these, replay by replay.

    Symbol  Shape   Meaning
    x       (r, p)  mean bounded slowdown of each policy in each replay of one trace
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.simulation.comparison.jittered_replays import MOVED_S
from rheostat.simulation.comparison.paired_comparison import over_traces
from rheostat.simulation.comparison.sweep import Task, trace_name

Slowdowns = Mapping[str, Mapping[str, np.ndarray]]


def slowdowns(results: Mapping[Task, Mapping[str, Any]]) -> Slowdowns:
    """By trace and policy the mean bounded slowdown of each replay, (r,)."""
    means: dict[str, dict[str, list[float]]] = {}
    for task in sorted(results, key=lambda t: t.replay):
        of = means.setdefault(trace_name(task.trace), {}).setdefault(task.policy, [])
        of.append(results[task]["whole"]["bounded_slowdown"]["mean"])
    return {t: {p: np.array(x) for p, x in of.items()} for t, of in means.items()}


def replayed_ratio(
    policy: str, slow: Slowdowns, heuristics: Sequence[str], traces: Collection[str], level: float
) -> dict[str, Any] | None:
    """Ratio to the best simple order, over replays of each trace and over traces; None over none.

    ``apart`` is whether the interval over the replays of a trace is on one side of 1.
    """
    if not traces:
        return None
    by_trace, means = {}, []
    for name in traces:
        logs = {h: np.log(slow[name][h]) for h in heuristics}
        best = min(heuristics, key=lambda h: (logs[h].mean(), h))
        logarithms = np.log(slow[name][policy]) - logs[best]
        ratio, low, high = over_traces(logarithms, level)
        apart = bool(low > 1 or high < 1)
        by_trace[name] = {"best": best, "ratio": ratio, "low": low, "high": high, "apart": apart}
        means.append(logarithms.mean())
    ratio, low, high = over_traces(np.array(means), level)
    number = len(next(iter(slow.values()))[policy]) - 1
    return {"number": number, "moved_s": MOVED_S, "ratio": ratio, "low": low, "high": high,
            "by_trace": by_trace}  # fmt: skip
