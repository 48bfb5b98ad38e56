"""The nearest that a site's own priority comes to a policy: weights for ``slurm.conf``.

Slurm orders its queue by a sum of factors with weights of the site's choice.  Which weights put
first whom the policy would?  In each of its decisions the first job is drawn with odds
exp(priority); the weights, none below 0, for which that is likeliest are a convex problem.  How
much is lost is counted on later decisions: Slurm has no factor for the time asked for, so an order
that lives by it cannot be kept.

    Symbol  Shape   Meaning
    f       (r, 4)  factors of waiting jobs, 0 to 1: age, n / P, 1 - n / P, fairshare
    theta   (4,)    weights; of the two for size the larger stays, less the other
    u       (k, U)  processor-seconds of each user at k decisions, half forgotten every half-life

References
----------
Slurm, "Multifactor Priority Plugin" (slurm.schedmd.com/priority_multifactor.html).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import BatchPolicy
from rheostat.decision.policies.multifactor import DAY_S, Multifactor
from rheostat.prediction.out_of_core.partitions import Progress, silent
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.workload import users
from rheostat.training.distill.dagger import TrainingState
from rheostat.training.distill.decision_states import DistillTrace, States, watched
from rheostat.training.distill.fidelity import agreement

Array = np.ndarray
AGES_S = (DAY_S, 7 * DAY_S, 30 * DAY_S)
HALF_LIFE_S = 7 * DAY_S
LARGEST = 10_000  # weights are whole numbers up to it
HELD = 1e-6


@dataclass(frozen=True)
class Weights:
    """The nearest weights, and the share of later decisions whose first job they put first."""

    teacher: str
    priority: Multifactor
    agreement: dict[str, Any]
    chance: float
    decisions: int

    @property
    def words(self) -> str:
        """In a sentence."""
        low, high = (f"{100 * self.agreement[k]:.1f}" for k in ("low", "high"))
        return (
            f"priority/multifactor puts first whom {self.teacher} would in "
            f"{100 * self.agreement['mean']:.1f} % [{low} {high}] of {self.decisions:,} later "
            f"decisions; drawing lots would in {100 * self.chance:.0f} %"
        )


def weights_of(
    teacher: str | BatchPolicy | LearnedPolicy | TrainingState,
    jobs: JobTable,
    machine: Machine | int,
    *,
    decisions: int = 3000,
    share: float = 0.8,
    seed: int = 0,
    progress: Progress = silent,
) -> Weights:
    """Weights fitted to the teacher's decisions on the first ``share`` of the jobs."""
    resolved = TrainingState.of(teacher)
    trial = DistillTrace.of(jobs, machine)
    progress(f"{resolved.name} schedules {len(trial.load):,} jobs", 0, 1)
    start = resolved.starts(trial)
    cut = float(trial.load.submit_s[int(share * (len(trial.load) - 1))])
    learn, test = (
        watched(trial, start, resolved.score, between=between, most=decisions, seed=seed)
        for between in ((-np.inf, cut), (cut, np.inf))
    )
    fits = []
    for done, age in enumerate(AGES_S):
        progress("weights are fitted for each longest age", done, len(AGES_S))
        fits.append(_fitted(learn, factors(trial, start, learn, age)))
    progress("weights are held against later decisions", 0, 1)
    best = int(np.argmin([loss for loss, _ in fits]))
    theta, age = fits[best][1], AGES_S[best]
    result = _priority(theta, age)
    value = factors(trial, start, test, age) @ _theta(result)
    return Weights(resolved.name, result, agreement(test, value, seed=seed),
                   float((1 / test.rows).mean()), len(test))  # fmt: skip


def factors(trial: DistillTrace, start: Array, states: States, max_age_s: float) -> Array:
    """(r, 4): age, share of the machine, the rest of it, fairshare."""
    assert states.asked is not None
    assert states.job is not None
    now, s, _, n = states.asked.T
    size = n / trial.size
    age = np.minimum((now - s) / max_age_s, 1.0)
    return np.stack([age, size, 1.0 - size, _fairshare(trial, start, states)], axis=1)


def _fairshare(trial: DistillTrace, start: Array, states: States) -> Array:
    """2^(-(u / U) / x) of each row's user, all shares alike: as the engines have it."""
    load, user = trial.load, users(trial.jobs, trial.load)
    part = 1.0 / (int(user.max()) + 1)
    decay = np.log(2.0) / HALF_LIFE_S
    since = load.submit_s[0]
    begin, end = start - since, start - since + load.run_s
    result = np.ones(len(states.x))
    for k in range(len(states)):
        rows = slice(states.first[k], states.first[k] + states.rows[k])
        now = states.asked[states.first[k], 0]  # type: ignore[index]
        ran = np.flatnonzero(begin < now)
        last = np.minimum(end[ran], now)
        spent = np.exp(-decay * (now - last)) - np.exp(-decay * (now - begin[ran]))
        use = np.bincount(user[ran], load.procs[ran] * spent / decay, int(user.max()) + 1)
        total = use.sum()
        taken = use[user[states.job[rows]]] / total if total > 0 else 0.0  # type: ignore[index]
        result[rows] = 2.0 ** (-taken / part)
    return result


def _fitted(states: States, f: Array) -> tuple[float, Array]:
    """(loss, weights of at least 0) that make the teacher's first choices likeliest."""
    from scipy.optimize import minimize

    top = states.best(states.value)

    def loss(theta: Array) -> tuple[float, Array]:
        value = f @ theta
        most = np.maximum.reduceat(value, states.first)
        odds = np.exp(value - np.repeat(most, states.rows))
        sums = np.add.reduceat(odds, states.first)
        total = float((most + np.log(sums) - value[top]).sum())
        grad = (odds / np.repeat(sums, states.rows)) @ f - f[top].sum(axis=0)
        n = len(states)
        return total / n + 0.5 * HELD * float(theta @ theta), grad / n + HELD * theta

    bounds = [(0.0, None)] * f.shape[1]
    done = minimize(loss, np.ones(f.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(done.fun), np.asarray(done.x)


def _priority(theta: Array, max_age_s: float) -> Multifactor:
    age, big, small, fair = (float(t) for t in theta)
    parts = np.array([age, abs(big - small), fair])
    scale = LARGEST / max(float(parts.max()), 1e-12)
    whole = np.round(parts * scale)
    return Multifactor(
        age=float(whole[0]), size=float(whole[1]), fairshare=float(whole[2]), max_age_s=max_age_s,
        half_life_s=HALF_LIFE_S, favour_small=small > big,
    )  # fmt: skip


def _theta(priority: Multifactor) -> Array:
    size = (0.0, priority.size) if priority.favour_small else (priority.size, 0.0)
    return np.array([priority.age, *size, priority.fairshare])


def slurm_lines(weights: Weights) -> str:
    """Lines of a ``slurm.conf``, which ``--policy multifactor:FILE.conf+easy`` reads back."""
    p = weights.priority
    lines = [
        f"# Nearest to {weights.teacher}: {weights.words}.",
        "PriorityType=priority/multifactor",
        f"PriorityWeightAge={p.age:.0f}",
        f"PriorityWeightJobSize={p.size:.0f}",
        f"PriorityWeightFairshare={p.fairshare:.0f}",
        f"PriorityMaxAge={p.max_age_s / DAY_S:.0f}-0",
        f"PriorityDecayHalfLife={p.half_life_s / DAY_S:.0f}-0",
        f"PriorityFavorSmall={'YES' if p.favour_small else 'NO'}",
    ]
    return "\n".join(lines) + "\n"
