"""Which targets are reached, and which claims of the paper hold here?  Computed, never typed in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .stats import Estimate, Scores, bootstrap, difference, verdict


@dataclass(frozen=True, slots=True)
class Target:
    """One target: what was asked, what was measured, whether it is reached."""

    asked: str
    measured: str
    reached: bool


def targets(scores: Scores) -> list[Target]:
    """The four targets set beforehand."""
    return [
        _attainable_at_4(scores),
        _botorch_at_12(scores),
        _never_behind(scores),
        _half_regret(scores),
    ]


def _both(scores: Scores, metric: str, method: str, budget: int) -> Estimate:
    """Estimate over both pairs of objectives; a pool keeps its two halves together."""
    halves = [scores.of(metric, method, o, budget) for o in scores.objectives]
    return bootstrap(np.mean(halves, axis=0))


def _attainable_at_4(scores: Scores) -> Target:
    e = _both(scores, "hv_attainable", "ours", 4)
    each = ", ".join(
        f"{o}: {scores.mean('hv_attainable', 'ours', o, 4):.3f}" for o in scores.objectives
    )
    asked = "at 4 evaluations at least 0.97 of the attainable hypervolume on average"
    return Target(asked, f"{e.text()} ({each})", e.mean >= 0.97)


def _botorch_at_12(scores: Scores) -> Target:
    o = "runtime,energy"
    ours, theirs = (
        scores.of("hv_fraction", "ours", o, 4),
        scores.of("hv_fraction", "botorch", o, 12),
    )
    d = bootstrap(ours - theirs)
    m = [
        scores.mean("hv_fraction", method, o, budget)
        for method, budget in (("ours", 4), ("botorch", 12))
    ]
    asked = "on (runtime, energy), with 4 evaluations what BoTorch's GP reaches with 12"
    return Target(asked, f"{m[0]:.3f} against {m[1]:.3f}, difference {d.text()}", m[0] >= m[1])


def _never_behind(scores: Scores) -> Target:
    behind = []
    for o in scores.objectives:
        for b in scores.budgets[1:]:
            peer = scores.best_peer("hv_fraction", o, b)
            if (
                peer
                and verdict(
                    "hv_fraction", difference(scores, "hv_fraction", "ours", peer, cell=(o, b))
                )
                == "behind"
            ):
                behind.append(f"{o} @{b} ({peer})")
    asked = "never significantly below the best peer's hypervolume at any budget"
    return Target(
        asked, "behind at " + ", ".join(behind) if behind else "at no budget behind", not behind
    )


def _half_regret(scores: Scores) -> Target:
    parts, reached = [], True
    for o in scores.objectives:
        peer = scores.best_peer("regret", o, 2)
        if peer is None:
            continue
        ours, theirs = (scores.mean("regret", m, o, 2) for m in ("ours", peer))
        parts.append(f"{o}: {ours:.4f} against {theirs:.4f} ({peer}), ratio {ours / theirs:.2f}")
        reached &= ours <= 0.5 * theirs
    return Target(
        "decision regret at 2 evaluations at most half of the best peer's",
        "; ".join(parts),
        reached,
    )
