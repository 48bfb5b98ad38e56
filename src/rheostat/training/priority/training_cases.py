"""Cases to train on: stretches of a trace, each with what simple orders make of it.

Symbol   Shape  Meaning
x_o             what a schedule makes of objective o on a case; smaller is better
h_o             the least x_o of the simple orders under EASY on that case
loss            sum over objectives of weight times log(x_o / h_o); below 0 is better than all
beyond          log of the longest wait over a bound, which is a multiple of that under FCFS
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.errors import DataError
from rheostat.simulation.policies.dispatch import schedule
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.workload import Workload, users, workload

Array = np.ndarray
SIMPLE = ("easy", "sjf+easy", "saf+easy", "wfp3+easy", "unicef+easy", "f1+easy")
LEAST_SLOWDOWN = 2.0  # under EASY; below it there is no queue to order
IDLE_SHARE = 0.4  # of a busy processor's power that an idle one draws, where watts are not known


@dataclass(frozen=True)
class TrainingCase:
    """Jobs on a machine of ``size`` processors, their users, and the scores of the simple orders.

    ``longest_s`` is the longest wait under first come, first served with EASY.
    """

    load: Workload
    user: Array
    size: int
    name: str
    scores: Mapping[str, float]
    longest_s: float = np.inf

    @property
    def fingerprint(self) -> str:
        """Tells cases apart."""
        parts = (self.load.submit_s, self.load.run_s, self.load.procs, self.load.ask_s, self.user)
        content = b"".join(np.ascontiguousarray(p, float).tobytes() for p in parts)
        return hashlib.sha256(content + str(self.size).encode()).hexdigest()[:16]


def _slowdown(load: Workload, start: Array, size: int) -> float:
    return float(bounded_slowdown(start - load.submit_s, load.run_s).mean())


def _wait(load: Workload, start: Array, size: int) -> float:
    return float((start - load.submit_s).mean()) + 1.0


def _idle(load: Workload, start: Array, size: int) -> float:
    """Share of the machine that idles from the first submission to the last end."""
    span = float((start + load.run_s).max() - load.submit_s[0])
    return max(1.0 - float((load.run_s * load.procs).sum()) / (size * span), 1e-6)


def _energy(load: Workload, start: Array, size: int) -> float:
    """Energy relative to that of the jobs alone: idle processors draw, too."""
    idle = _idle(load, start, size)
    return 1.0 + IDLE_SHARE * idle / (1.0 - idle)


OBJECTIVES: dict[str, Callable[[Workload, Array, int], float]] = {
    "slowdown": _slowdown, "wait": _wait, "utilisation": _idle, "energy": _energy,
}  # fmt: skip


def cases(
    jobs: JobTable,
    machine: Machine | int,
    *,
    name: str = "",
    length: int = 2000,
    most: int = 6,
    until: float = 1.0,
) -> list[TrainingCase]:
    """Stretches of ``length`` jobs, evenly spread over the first ``until`` of the trace.

    At most ``most``, about as many as fit side by side, and only those in which jobs queue: mean
    bounded slowdown under EASY of 2.
    """
    place = machine if isinstance(machine, Machine) else Machine(machine)
    load = workload(jobs, place)
    who, end = users(jobs, load), int(len(load) * until)
    length = min(length, end)
    if length < 2:
        raise DataError(name or "trace", [f"expected jobs to learn from, got {end}"])
    most = max(min(most, round(end / length)), 1)
    begins = np.unique(np.linspace(0, end - length, 3 * most).astype(int))
    result = []
    for a in begins:
        part = slice(int(a), int(a) + length)
        case = _case(stretch(load, part), who[part], place.procs, f"{name}[{a}:{a + length}]")
        if case is not None:
            result.append(case)
    pick = np.linspace(0, len(result) - 1, min(most, len(result))).astype(int)
    return [result[k] for k in pick]


def stretch(load: Workload, part: slice) -> Workload:
    """Some consecutive jobs."""
    fields = (load.submit_s, load.run_s, load.procs, load.ask_s)
    submit, run, procs, ask = (np.ascontiguousarray(c[part]) for c in fields)
    return Workload(submit, run, procs, ask, np.arange(len(submit)), load.unasked, ())


def _case(load: Workload, user: Array, size: int, name: str) -> TrainingCase | None:
    scores, longest = dict.fromkeys(OBJECTIVES, np.inf), np.inf
    for simple in SIMPLE:
        start, _, _ = schedule(None, load, batch_policy(simple, overdue="extend"), size, load.ask_s)  # type: ignore[arg-type]
        for objective, score in OBJECTIVES.items():
            scores[objective] = min(scores[objective], score(load, start, size))
        if simple == "easy":
            longest = float((start - load.submit_s).max())
            if scores["slowdown"] < LEAST_SLOWDOWN:
                return None
    return TrainingCase(load, user, size, name, scores, longest)


def loss(case: TrainingCase, start: Array, weights: Mapping[str, float]) -> float:
    """How far a schedule is from the best simple order, on the log scale; 0 is as good."""
    return sum(
        w * float(np.log(OBJECTIVES[o](case.load, start, case.size) / case.scores[o]))
        for o, w in weights.items()
    )


def beyond(case: TrainingCase, start: Array, bound: float) -> float:
    """How far the longest wait is beyond ``bound`` times that of FCFS with EASY, log; 0 within."""
    wait = float((start - case.load.submit_s).max())
    return max(0.0, float(np.log(max(wait, 1.0) / max(bound * case.longest_s, 1.0))))
