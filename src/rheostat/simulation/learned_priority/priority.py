"""A learned priority: a file of a few kB that orders any queue on any machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.storage.archive import Archive
from rheostat.errors import DataError
from rheostat.prediction.saved_models.persist import load, save
from rheostat.simulation.learned_priority.planning_weights import TERMS
from rheostat.simulation.learned_priority.queue_features import NAMES
from rheostat.simulation.learned_priority.scoring_network import length
from rheostat.simulation.learned_priority.two_level_guard import constants_learned
from rheostat.simulation.workload import Workload

LIMIT, AGEING = 1.5, 2.0
SHIPPED = Path(__file__).with_name("ours.json")


@dataclass(frozen=True)
class LearnedPriority:
    """An order, how it plans, and how it is guarded.

    Parameters
    ----------
    weights
        Of the score, `rheostat.simulation.learned_priority.scoring_network`.
    limit
        Of the guard: the longest wait aimed at, in longest waits of first come, first served under
        EASY; ``math.inf`` is no guard.
    trust
        Weights of `rheostat.simulation.learned_priority.planning_weights`; none plans with
        requests, as textbook EASY does.
    ageing
        What a wait as long as the longest usual one is worth to a job, in the score.
    history
        False plans as if no job had ended, an ablation.
    trained
        On what, how.
    """

    weights: tuple[float, ...]
    limit: float = LIMIT
    trust: tuple[float, ...] = ()
    ageing: float = AGEING
    history: bool = True
    trained: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = [length(h) for h in range(65)]
        problems = []
        if len(self.weights) not in sizes:
            problems.append(
                f"weights: expected {sizes[0]}, {sizes[1]}, ..., got {len(self.weights)}"
            )
        for name in ("weights", "trust", "ageing"):
            if not np.isfinite(getattr(self, name)).all():
                problems.append(f"{name}: expected finite numbers")
        if len(self.trust) not in (0, len(TERMS)):
            problems.append(f"trust: expected none or {len(TERMS)}, got {len(self.trust)}")
        if not self.limit > 0:
            problems.append(f"limit: expected a number above 0, got {self.limit!r}")
        if problems:
            raise DataError("learned order", problems)

    def starts(
        self, load: Workload, user: np.ndarray, size: int, *, clairvoyant: bool = False,
        batch: bool = False, overdue: str = "extend",
    ) -> tuple[np.ndarray, int]:  # fmt: skip
        """(start of each job, s, (n,); scheduling passes), from an empty machine under EASY.

        ``clairvoyant`` plans waiting jobs with true run times, as CQSim does, and trusts nothing
        predicted; the order never knows them.  ``overdue`` jobs are given longer estimates
        ("extend"), or expected in the "past" or "now".
        """
        from rheostat.decision.policies.batch_policy import OVERDUE
        from rheostat.simulation.learned_priority.queue_features import table
        from rheostat.simulation.learned_priority.rescoring_engine import no_simple_order, play
        from rheostat.simulation.learned_priority.scoring_network import network

        known = table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
        planned = load.run_s if clairvoyant else load.ask_s
        jobs = (load.submit_s, load.run_s, load.procs, planned, load.ask_s)
        how = (size, True, batch, self.history, OVERDUE.index(overdue))
        rules = self.rules(planning=not clairvoyant)
        weights, no_order = np.array(self.weights), no_simple_order()
        start, passes, _, _ = play(known, jobs, network(), weights, rules, *no_order, how)
        return start, int(passes)

    def rules(self, *, planning: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """``rules`` of `rheostat.simulation.learned_priority.rescoring_engine.play`."""
        trust = self.trust if planning else ()
        return np.array(trust, float), constants_learned(self.limit, self.ageing)

    def save(self, path: Path) -> None:
        """Write the file: the old one or the new, never half."""
        save(self, path)

    @classmethod
    def load(cls, path: Path | str) -> LearnedPriority:
        """A file written by `save`."""
        made: LearnedPriority = load(path, ["learned-priority"])
        return made

    def to_archive(self) -> Archive:
        """All of it as JSON values."""
        facts = {"features": list(NAMES), **asdict(self)}
        facts["limit"] = None if np.isinf(self.limit) else self.limit
        return Archive("", 0, facts)

    @classmethod
    def from_archive(cls, archive: Archive) -> LearnedPriority:
        """What `to_archive` gave."""
        facts = archive.contents
        if facts["features"] != list(NAMES):
            raise DataError("features", ["it was trained on other features: train it anew"])
        weights, trust = (tuple(map(float, facts[k])) for k in ("weights", "trust"))
        limit = np.inf if facts["limit"] is None else float(facts["limit"])
        if "ageing" not in facts:  # a file of the guard before, whose limits meant something else
            limit = limit if np.isinf(limit) else LIMIT
        ageing = float(facts.get("ageing", AGEING))
        return cls(weights, limit, trust, ageing, bool(facts["history"]), dict(facts["trained"]))


def together(rankers: Sequence[LearnedPriority]) -> LearnedPriority:
    """The order that several trainings agree on: the mean of their weights, each of length one.

    So are the means of their trust and of their guards.  Only of weighted sums: hidden units of two
    trainings are not the same units.
    """
    if not rankers or any(len(r.weights) != length(0) for r in rankers):
        raise DataError("learned orders", ["expected some without hidden units"])
    if len({len(r.trust) for r in rankers}) > 1:
        raise DataError("learned orders", ["expected all to plan with requests, or none"])
    weights = np.array([r.weights for r in rankers])
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    mean = [
        tuple(map(float, np.mean(rows, axis=0))) for rows in (weights, [r.trust for r in rankers])
    ]
    limit, ageing = (float(np.mean([getattr(r, k) for r in rankers])) for k in ("limit", "ageing"))
    return replace(rankers[0], weights=mean[0], trust=mean[1], limit=limit, ageing=ageing)
