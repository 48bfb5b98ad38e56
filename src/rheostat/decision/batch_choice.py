"""Choose one setting per job from a `BatchFronts`, and compare it with the request draw by draw.

Notation
--------
J  jobs      S  settings per job      d  draws      pick : (J,) place of the chosen setting
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.decision import Assignment, Because
from rheostat.core.front import Constraint, Rule, rule_words
from rheostat.core.outcome import GRADES, Array
from rheostat.decision.admissible import evidence
from rheostat.decision.batch_fronts import BatchFronts

QUANTITIES = ("runtime_s", "power_w", "energy_j")
Triple = tuple[Array, Array, Array]


@dataclass(frozen=True)
class BatchChoice:
    """The choice for J jobs: arrays (J,), NaN where there is nothing to say.

    ``advised[q]`` is (mean, low, high) at the chosen setting, ``requested[q]`` the mean at the
    requested one, ``change[q]`` the relative change (mean, low, high), ``sums[q]`` the draws of the
    totals (after, before), each (d, clusters), over jobs that have both.  Power is mean energy over
    mean runtime, so that the three agree.  ``grade`` is what the change rests on, a place in
    `GRADES`, -1 ungraded.  ``over[q]`` has the draws of how many advised jobs take more of q than a
    relative limit of q allows, and of how many are advised, each (d, clusters); limits that are
    none of runtime or energy are not counted.
    """

    pick: NDArray[np.int64]
    second: NDArray[np.int64]
    status: NDArray[np.str_]
    settings: Mapping[str, Sequence[Any]]
    support: Array
    compared: NDArray[np.bool_]
    advised: Mapping[str, Triple]
    requested: Mapping[str, Array]
    change: Mapping[str, Triple]
    sums: Mapping[str, tuple[Array, Array]]
    grade: NDArray[np.int64]
    over: Mapping[str, tuple[Array, Array]]

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is known of each choice."""
        return tuple(self.advised)

    @classmethod
    def joined(cls, parts: Sequence[BatchChoice]) -> BatchChoice:
        """Blocks of jobs one after the other; sums are added draw by draw."""
        first = parts[0]
        return cls(
            np.concatenate([p.pick for p in parts]),
            np.concatenate([p.second for p in parts]),
            np.concatenate([p.status for p in parts]),
            {k: [v for p in parts for v in p.settings[k]] for k in first.settings},
            np.concatenate([p.support for p in parts]),
            np.concatenate([p.compared for p in parts]),
            {q: _joined([p.advised[q] for p in parts]) for q in first.advised},
            {q: np.concatenate([p.requested[q] for p in parts]) for q in first.requested},
            {q: _joined([p.change[q] for p in parts]) for q in first.change},
            {q: _added([p.sums[q] for p in parts]) for q in first.sums},
            np.concatenate([p.grade for p in parts]),
            {q: _added([p.over[q] for p in parts]) for q in first.over},
        )


def _joined(parts: Sequence[Triple]) -> Triple:
    low, mid, high = (np.concatenate(column) for column in zip(*parts, strict=True))
    return low, mid, high


def _added(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    after, before = (_padded(column) for column in zip(*parts, strict=True))
    return after, before


def _padded(sums: Sequence[Array]) -> Array:
    """Sum of arrays (d, clusters) of which later ones may know more clusters."""
    most = max(s.shape[1] for s in sums)
    wide = [np.pad(s, ((0, 0), (0, most - s.shape[1]))) for s in sums]
    return np.asarray(np.sum(wide, axis=0))


def choose(
    many: BatchFronts,
    rule: Rule,
    limits: Sequence[Constraint],
    level: float,
    cluster: NDArray[np.int64] | None = None,
) -> BatchChoice:
    """The setting with the least score among those that hold every limit, for each job.

    Where there is none, or nothing is predicted, the request is kept and the status says why.
    ``cluster`` (J,) numbers the jobs' applications, over which totals are added separately.
    """
    cluster = np.zeros(len(many), dtype=np.int64) if cluster is None else cluster
    score = many.score(rule)
    missed = [many.excess(c) for c in limits]
    worst = np.max(missed, axis=0) if missed else np.full(score.shape, -np.inf)
    usable = np.isfinite(many.values).all(axis=2) & ~np.isnan(worst)
    allowed = usable & (worst <= 0) & np.isfinite(score)
    order = np.argsort(np.where(allowed, score, np.inf), axis=1, kind="stable")
    feasible = allowed.any(axis=1)
    pick = np.where(feasible, order[:, 0], many.requested)
    second = np.where(allowed.sum(axis=1) > 1, order[:, min(1, order.shape[1] - 1)], -1)
    status = np.select(
        [feasible & (pick == many.requested), feasible, usable.any(axis=1)],
        ["kept", "advised", "infeasible"],
        "abstained",
    )
    described = _described(many, pick, second, status, level, cluster)
    moved = status == "advised"
    over = {q: _over(many, q, pick, moved, limits, cluster) for q in ("runtime_s", "energy_j")}
    return replace(described, over={q: parts for q, parts in over.items() if parts is not None})


def _described(
    many: BatchFronts,
    pick: NDArray[np.int64],
    second: NDArray[np.int64],
    status: Any,
    level: float,
    cluster: NDArray[np.int64],
) -> BatchChoice:
    feasible = np.isin(status, ("advised", "kept"))
    rows = np.arange(len(many)) * many.size + pick
    frame = many.flat.alternatives.frame[rows]
    support = many.flat.outcome.support
    advised, requested, change, sums = {}, {}, {}, {}
    compared = np.zeros(len(many), dtype=bool)
    names = dict.fromkeys([*(o.name for o in many.flat.objectives), *QUANTITIES])
    for q in (n for n in names if _has(many, n)):
        draws = many.draws(q)
        after = _at(draws, pick)
        before = _at(draws, many.requested)
        both = np.isfinite(after).all(axis=0) & np.isfinite(before).all(axis=0) & feasible
        compared |= both
        advised[q] = _where(feasible, spread(after, level))
        requested[q] = before.mean(axis=0)
        change[q] = _where(both, _relative(after, before, level))
        sums[q] = _by_cluster(after, both, cluster), _by_cluster(before, both, cluster)
    _agreeing(advised, requested, change)
    held = np.full(len(many), np.nan) if support is None else np.asarray(support, float)[rows]
    settings = {c: frame[c].to_list() for c in frame.columns}
    weaker = evidence(many)
    grade = np.full(len(many), -1) if weaker is None else weaker[np.arange(len(many)), pick]
    return BatchChoice(
        pick,
        second,
        status,
        settings,
        held,
        compared,
        advised,
        requested,
        change,
        sums,
        grade,
        {},
    )


def _over(
    many: BatchFronts,
    quantity: str,
    pick: NDArray[np.int64],
    advised: NDArray[np.bool_],
    limits: Sequence[Any],
    cluster: NDArray[np.int64],
) -> tuple[Array, Array] | None:
    """Advised jobs that take more than a relative limit allows, and all advised, by cluster."""
    relative = [c for c in limits if hasattr(c, "factor") and c.quantity == quantity]
    if not relative:
        return None
    draws = many.draws(quantity)
    after = _at(draws, pick)
    missed = np.zeros(after.shape)
    for limit in relative:
        missed[after > limit.factor * _at(draws, many.base(limit.against))] = 1.0
    counted = np.ones(after.shape)
    return _by_cluster(missed, advised, cluster), _by_cluster(counted, advised, cluster)


def _by_cluster(draws: Array, here: NDArray[np.bool_], cluster: NDArray[np.int64]) -> Array:
    """Sums (d, clusters) of draws (d, J) over the jobs that are ``here``."""
    total = np.zeros((len(draws), int(cluster.max(initial=0)) + 1))
    for d, row in enumerate(draws):
        total[d] = np.bincount(cluster[here], row[here], minlength=total.shape[1])
    return total


def _agreeing(
    advised: dict[str, Triple], requested: dict[str, Array], change: dict[str, Triple]
) -> None:
    """Power as mean energy over mean runtime: the mean of watts does not give the mean joules."""
    if not set(QUANTITIES) <= set(advised):
        return
    _, low, high = advised["power_w"]
    after = advised["energy_j"][0] / advised["runtime_s"][0]
    requested["power_w"] = requested["energy_j"] / requested["runtime_s"]
    advised["power_w"] = after, np.fmin(low, after), np.fmax(high, after)
    _, low, high = change["power_w"]
    ratio = np.where(np.isfinite(low), after / requested["power_w"] - 1.0, np.nan)
    change["power_w"] = ratio, np.fmin(low, ratio), np.fmax(high, ratio)


def _has(many: BatchFronts, name: str) -> bool:
    return name in many.flat.outcome or any(name == o.name for o in many.flat.objectives)


def _at(draws: Array, place: NDArray[np.int64]) -> Array:
    """Draws (d, J) at each job's place."""
    return np.take_along_axis(draws, place[None, :, None], axis=2)[:, :, 0]


def _where(here: NDArray[np.bool_], triple: Triple) -> Triple:
    a, b, c = (np.where(here, t, np.nan) for t in triple)
    return a, b, c


def spread(draws: Array, level: float) -> Triple:
    """(mean, low, high) over draws (d, J); NaN where any draw is.

    >>> [v.tolist() for v in spread(np.array([[1.0, np.nan], [3.0, 2.0]]), 1.0)]
    [[2.0, nan], [1.0, nan], [3.0, nan]]
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return draws.mean(axis=0), low, high


def _relative(after: Array, before: Array, level: float) -> Triple:
    """Relative change of the means, with the interval of the draws' ratios."""
    _, low, high = spread(after / before - 1.0, level)
    return after.mean(axis=0) / before.mean(axis=0) - 1.0, low, high


def assignments(
    many: BatchFronts,
    chosen: BatchChoice,
    rule: Rule,
    limits: Sequence[Constraint],
    names: Sequence[str],
) -> list[Assignment]:
    """The reasons, as `Front.choose` gives them, of jobs for which a setting was found."""
    wanted = [o.name for o in many.flat.objectives]
    frame = many.flat.alternatives.frame
    ids = frame["job_id"][:: many.size].to_list() if "job_id" in frame.columns else None
    start = np.arange(len(many)) * many.size
    runner = frame.select(names)[start + np.maximum(chosen.second, 0)].rows(named=True)
    means = {q: many.flat.mean(q) for q in wanted}
    ratio = {q: m[start + chosen.pick] / m[start + chosen.second] for q, m in means.items()}
    said, limit_texts = rule_words(rule, many.flat.objectives), tuple(str(c) for c in limits)
    made = []
    for j in np.flatnonzero(np.isin(chosen.status, ("advised", "kept"))).tolist():
        alone = chosen.second[j] < 0
        because = Because(
            rule=said,
            numbers={q: tuple(float(v[j]) for v in chosen.advised[q]) for q in wanted},  # type: ignore[misc]
            limits=limit_texts,
            runner_up=None if alone else runner[j],
            compared={} if alone else {q: float(r[j]) for q, r in ratio.items()},
            support=None if np.isnan(chosen.support[j]) else float(chosen.support[j]),
            evidence=None if chosen.grade[j] < 0 else GRADES[chosen.grade[j]],
        )
        setting = {n: chosen.settings[n][j] for n in names}
        made.append(
            Assignment(None if ids is None else ids[j], setting, because, int(chosen.pick[j]))
        )
    return made
