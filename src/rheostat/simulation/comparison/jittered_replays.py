"""Does one policy beat another, or did it have luck?  The same trace with submissions moved a bit.

Schedules are chaotic: a job that comes a minute later may move the mean slowdown of a whole trace
by a third.  So two policies are compared on replays whose submissions are moved at random, each
replay the same for all; policies whose ratio changes sides between replays are not told apart.

    Symbol  Shape   Meaning
    x       (r, p)  mean bounded slowdown of each policy in each replay
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.simulation.comparison.paired_comparison import LEVEL, over_traces
from rheostat.simulation.result import Simulation
from rheostat.simulation.schedule_metrics import bounded_slowdown

MOVED_S = 120.0


def jittered(jobs: JobTable, seed: int) -> JobTable:
    """``jobs`` with each submission up to `MOVED_S` later, drawn with ``seed``.

    >>> from rheostat.core.vocabulary import table
    >>> moved = jittered(table({"submit_s": [0.0, 500.0]}), 1).numpy("submit_s")
    >>> bool(0 <= moved[0] <= 120 and 500 <= moved[1] <= 620)
    True
    """
    later = np.random.default_rng(seed).uniform(0.0, MOVED_S, len(jobs))
    submit = jobs.schema["submit_s"]
    return jobs.with_columns([submit], submit_s=jobs.numpy("submit_s") + later)


def replays(
    jobs: JobTable, run: Callable[[JobTable], Sequence[Simulation]], number: int, seed: int = 0
) -> dict[str, Any]:
    """Facts of ``number`` replays of all policies, which ``run`` simulates in their order.

    Of each policy the mean and the range of its mean bounded slowdown and longest wait; of all but
    the first the ratio to it (geometric mean, Student's t interval), and whether that is ``apart``
    from 1.
    """
    made = [run(jittered(jobs, child)) for child in range(seed + 1, seed + 1 + number)]
    slow = np.array([[_slowdown(r.jobs) for r in runs] for runs in made])
    longest = np.array([[r.jobs.numpy("wait_s").max() for r in runs] for runs in made])
    names = [r.policy.name for r in made[0]]
    summaries = {name: _summary(slow, longest, k) for k, name in enumerate(names)}
    return {"number": number, "moved_s": MOVED_S, "level": LEVEL, "policies": summaries}


def words(facts: dict[str, Any]) -> tuple[str, ...]:
    """A sentence for each policy but the first."""
    first, *others = facts["policies"]
    sentences = []
    for name in others:
        summary = facts["policies"][name]
        verdict = "" if summary["apart"] else ": they differ by less than that, neither is better"
        sentences.append(
            f"Over {facts['number']} replays with submissions moved by up to {MOVED_S:g} s, {name} "
            f"has {summary['ratio']:.3g} [{summary['low']:.3g}, {summary['high']:.3g}] times the "
            f"mean slowdown of {first}{verdict}."
        )
    return tuple(sentences)


def _summary(slow: np.ndarray, longest: np.ndarray, k: int) -> dict[str, Any]:
    ratio, low, high = over_traces(np.log(slow[:, k] / slow[:, 0]))
    return {
        "bounded_slowdown": {"mean": float(slow[:, k].mean()),
                             "least": float(slow[:, k].min()), "most": float(slow[:, k].max())},
        "max_wait_s": {"mean": float(longest[:, k].mean()),
                       "least": float(longest[:, k].min()), "most": float(longest[:, k].max())},
        "ratio": ratio, "low": low, "high": high, "apart": bool(low > 1 or high < 1),
    }  # fmt: skip


def _slowdown(jobs: JobTable) -> float:
    return float(bounded_slowdown(jobs.numpy("wait_s"), jobs.numpy("runtime_s")).mean())
