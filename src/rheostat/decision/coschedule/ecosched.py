"""EcoSched: pairs of jobs scored by predicted energy and by the GPUs they leave idle.

At every event all single jobs and, if nobody runs, all pairs that fit are scored: the mean
predicted excess energy plus a weight times the share of GPUs left idle.  The published results
come from a contextual bandit over these two numbers that begins as exactly this score and learns
very little.

Notation
--------
x = (mean of ne - 1, idle share)      w = idle watts of a GPU over mean busy watts of a GPU
score = x_1 + w x_2 + v block      block = share of the other jobs with no mode for what is left
bandit: A = 10 I + sum x x', b = -10 (1, w) + sum r x, theta = A^-1 b,
takes the largest theta'x + alpha sqrt(x' A^-1 x); r = -(energy / (busy watts x GPUs x T) + w x_2)

References
----------
Zheng, Papka, Lan: Towards energy efficient co-scheduling in HPC, arXiv 2604.17640 (2026); rules,
weights and ties as in the released code.  Li et al.: LinUCB, WWW 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.coschedule.gpu_profiles import Mode, PredictedProfile, Profiles, predict
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting, place
from rheostat.decision.coschedule.simple_policies import next_domain

PRIOR = 10.0


@dataclass(frozen=True)
class _Choice:
    """One mode of one waiting job, with its predicted excess energy and runtime."""

    job: Waiting
    mode: Mode
    excess: float
    slower: float


class EcoSched:
    """The published policy; ``anchor`` is the application its first action had to hold.

    Parameters
    ----------
    tolerance : a mode may be predicted at most this much slower than the best.
    bandit : the published policy; without, the plain score.
    metric : "ne" or "nedp".
    busy_w : mean watts of a busy GPU; None: over all modes of the profiles.
    by : predict from the "signal", as published, or from the profiled "runtime".
    """

    def __init__(  # noqa: PLR0913 - the published options, all but two by keyword
        self,
        profiles: Profiles,
        idle_w: float,
        *,
        tolerance: float = 0.14,
        bandit: bool = True,
        metric: str = "ne",
        by: str = "signal",
        alpha: float = 0.5,
        blocking: float = 0.0,
        anchor: str | None = None,
        tenants: int = 2,
        busy_w: float | None = None,
    ) -> None:
        self.name = "ecosched" if bandit else "ecosched-score"
        self.predicted: dict[str, PredictedProfile] = {
            app: predict(modes, by=by).within(tolerance) for app, modes in profiles.items()
        }
        every = [m.power_w / m.gpus for modes in profiles.values() for m in modes]
        self.busy_w = float(np.mean(every)) if busy_w is None else busy_w
        self.idle_weight = idle_w / self.busy_w
        self.bandit, self.metric, self.alpha = bandit, metric, alpha
        self.blocking, self.anchor, self.tenants = blocking, anchor, tenants
        self.A = PRIOR * np.eye(2)
        self.b = -PRIOR * np.array([1.0, self.idle_weight])
        self._last: Array | None = None

    @property
    def theta(self) -> Array:
        """What the bandit has learnt; begins at (-1, -idle weight)."""
        return np.asarray(np.linalg.solve(self.A, self.b), dtype=float)

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The best single job or pair that fits now."""
        room = self.tenants - len(state.tenants)
        if room <= 0 or not waiting:
            return ()
        actions = list(self._actions(waiting, len(state.free), room))
        if self.anchor is not None:
            held = [a for a in actions if any(c.job.app == self.anchor for c in a)]
            actions, self.anchor = held or actions, None
        if not actions:
            return ()
        best, x = self._best(actions, waiting, state)
        self._last = x
        score = float(x[0] + self.idle_weight * x[1])
        return _placed(best, state, score)

    def observe(self, energy_j: float, span_s: float, gpus: int) -> None:
        """What the GPUs of running jobs took until the next event: the bandit's reward."""
        if self._last is not None and span_s > 0:
            busy = energy_j / (self.busy_w * gpus * span_s)
            self.reward(-(busy + self.idle_weight * float(self._last[1])))

    def reward(self, r: float) -> None:
        """The reward of the last action; without a bandit nothing is learnt from it."""
        if self._last is None or not self.bandit:
            return
        x, self._last = self._last, None
        self.A = self.A + np.outer(x, x)
        self.b = self.b + r * x

    def _actions(
        self, waiting: Sequence[Waiting], free: int, room: int
    ) -> Iterator[tuple[_Choice, ...]]:
        """Single jobs and pairs that fit; jobs of one application stand for each other."""
        seen: dict[str, int] = {}
        few: list[_Choice] = []
        for job in waiting:  # two of an application are enough: a third would make the same pairs
            seen[job.app] = seen.get(job.app, 0) + 1
            if seen[job.app] <= 2:
                few += [c for c in self._choices(job) if c.mode.gpus <= free]
        yield from ((c,) for c in few)
        if room >= 2:
            for i, a in enumerate(few):
                for b in few[i + 1 :]:
                    if a.job is not b.job and a.mode.gpus + b.mode.gpus <= free:
                        yield a, b

    def _choices(self, job: Waiting) -> Iterator[_Choice]:
        profile = self.predicted[job.app]
        for mode, ne, nrt in zip(
            profile.modes, getattr(profile, self.metric), profile.nrt, strict=True
        ):
            yield _Choice(job, mode, float(ne) - 1, float(nrt) - 1)

    def _best(
        self, actions: list[tuple[_Choice, ...]], waiting: Sequence[Waiting], state: NodeState
    ) -> tuple[tuple[_Choice, ...], Array]:
        total, free = state.node.gpus, len(state.free)
        x = np.array(
            [[np.mean([c.excess for c in a]), (free - sum(c.mode.gpus for c in a)) / total]
             for a in actions]
        )  # fmt: skip
        if self.bandit:
            inverse = np.linalg.inv(self.A)
            bonus = self.alpha * np.sqrt(np.einsum("ij,jk,ik->i", x, inverse, x))
            score = -(x @ self.theta + bonus)
        else:
            score = x[:, 0] + self.idle_weight * x[:, 1]
        if self.blocking:
            score = score + self.blocking * np.array([self._block(a, waiting, free)
                                                      for a in actions])  # fmt: skip

        def order(i: int) -> tuple[object, ...]:
            a = actions[i]
            return (round(float(score[i]), 9), x[i, 1], float(np.mean([c.slower for c in a])),
                    -sum(c.mode.gpus for c in a), *(c.job.name for c in a))  # fmt: skip

        i = min(range(len(actions)), key=order)
        return actions[i], x[i]

    def _block(self, action: tuple[_Choice, ...], waiting: Sequence[Waiting], free: int) -> float:
        left = free - sum(c.mode.gpus for c in action)
        names = {c.job.name for c in action}
        others = [w for w in waiting if w.name not in names]
        none = sum(all(m.gpus > left for m in self.predicted[w.app].modes) for w in others)
        return none / len(others) if others else 0.0


def _placed(action: tuple[_Choice, ...], state: NodeState, score: float) -> tuple[Start, ...]:
    """Homes for one or two jobs: the larger first, the pair of homes with the least spill."""
    if len(action) == 1:
        domain = next_domain(state)
        mode = action[0].mode
        return (Start(action[0].job, mode, place(state, mode.gpus, domain)[0], domain, score),)
    large, small = sorted(action, key=lambda c: -c.mode.gpus)
    options = []
    several = permutations(range(len(state.node.domains)), 2)
    for home, other in list(several) or [(0, 0)]:
        first, spilled = place(state, large.mode.gpus, home)
        left = [g for g in state.free if g not in first]
        near = [g for g in state.node.domains[other] if g in left]
        second = tuple((near + [g for g in left if g not in near])[: small.mode.gpus])
        spilled += max(0, small.mode.gpus - len(near))
        options.append((spilled, home, other, first, second))
    _, home, other, first, second = min(options)
    return (
        Start(large.job, large.mode, first, home, score),
        Start(small.job, small.mode, second, other, score),
    )
