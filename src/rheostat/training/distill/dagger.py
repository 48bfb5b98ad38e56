"""Learn, try, be corrected, learn again: a tree that imitates an order of the waiting jobs.

The first tree sees what the teacher met.  It then schedules the trace itself; the teacher is asked
what it would have done at the decisions the tree met; a new tree learns from all of them.  After a
few rounds, of the trees that lose nothing against the teacher on the part learned from (or least,
if all do), the one that agrees with it most often is kept.

References
----------
Ross, Gordon, Bagnell, AISTATS 2011 (DAgger).  Bastani, Pu, Solar-Lezama, NeurIPS 2018 (VIPER).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.decision.policies.priority_functions import PriorityFunction
from rheostat.decision.policies.priority_functions import priority_function as order_of
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.decision.policies.tree_priority import SITE, is_site
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.partitions import Progress
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.workload import users
from rheostat.training.distill.decision_states import (
    FULL,
    DistillTrace,
    States,
    Teacher,
    joined,
    of_network,
    of_order,
    watched,
)
from rheostat.training.distill.fidelity import certificate, loss
from rheostat.training.distill.fit_tree import best_tree
from rheostat.training.distill.steps import Steps

Array = np.ndarray
SETS = {"site": SITE, "full": FULL}
LEARN = 0.8  # of the part learned from makes trees, the rest of it chooses
DEEPEST = 20


@dataclass(frozen=True)
class TrainingState:
    """Who teaches: ``score`` judges jobs, ``starts`` is the teacher's own schedule of a trial.

    ``facts`` are the teacher's guard and how it plans, which a tree that sees the queue shares.
    """

    name: str
    score: Teacher
    starts: Callable[[DistillTrace], Array]
    facts: Mapping[str, list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Any) -> TrainingState:
        """An order by name, a `BatchPolicy` with an order, or a `LearnedPolicy`.

        >>> TrainingState.of("sjf").name
        'sjf+easy'
        """
        if isinstance(spec, TrainingState):
            return spec
        if isinstance(spec, LearnedPolicy):
            return cls._learned(spec.name.rpartition(":")[2], spec.priority)
        rule = spec if isinstance(spec, BatchPolicy) else batch_policy(order_of(spec))
        if rule.order.factors is not None or (rule.order.tree and not is_site(rule.order.tree)):
            raise DataError(rule.name, ["expected an order with a formula as the teacher"])
        return cls(rule.name, of_order(rule.order), lambda trial: trial.starts(rule))

    @classmethod
    def _learned(cls, name: str, ranker: LearnedPriority) -> TrainingState:
        def starts(trial: DistillTrace) -> Array:
            user = users(trial.jobs, trial.load)
            return ranker.starts(trial.load, user, trial.size)[0]

        facts = {"trust": list(ranker.trust)} if ranker.trust else {}
        if np.isfinite(ranker.limit):
            facts["guard"] = [ranker.limit]
        return cls(name, of_network(np.array(ranker.weights)), starts, facts)


@dataclass(frozen=True)
class DistilledTree:
    """A tree, what each round was like, the decisions it was made of, and its own schedule."""

    tree: PriorityTree
    rounds: tuple[dict[str, float], ...]
    learned: States
    start: Array

    def against(self, trial: DistillTrace, teacher: TrainingState, since: float) -> dict[str, Any]:
        """Mean bounded slowdown of the jobs from ``since`` on, tree's and teacher's; the loss."""
        submit = trial.load.submit_s
        part = submit >= since
        own, his = (trial.slowdowns(s)[part] for s in (self.start, teacher.starts(trial)))
        slow = {"tree": float(own.mean()), "teacher": float(his.mean())}
        return {"slowdown": slow, "loss": loss(own, his, submit[part])}


@dataclass(frozen=True)
class DistillConfig:
    """How to imitate.

    Parameters
    ----------
    features
        "site": what any site knows of a job, so that the tree can be exported to it.  "full": the
        queue and the past as well.
    depth
        Questions on any way, at most.
    rounds
        Of learning; from the second on decisions of the tree itself are added.
    share
        Of the trace's jobs, earliest first, that is learned from; its last fifth chooses among
        trees, and the rest of the trace is for the certificate.
    decisions
        At most so many are drawn from each schedule.
    seed
        Of these draws.
    """

    features: str = "site"
    depth: int = 6
    rounds: int = 3
    share: float = 0.8
    decisions: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        whole = {"rounds": self.rounds, "decisions": self.decisions}
        problems = [
            f"{name}: expected a whole number above 0, got {value!r}"
            for name, value in whole.items()
            if not isinstance(value, int) or value < 1
        ]
        if self.features not in SETS:
            problems.append(f"features: expected {' or '.join(SETS)}, got {self.features!r}")
        if not (isinstance(self.depth, int) and 0 <= self.depth <= DEEPEST):
            problems.append(f"depth: expected 0 to {DEEPEST}, got {self.depth!r}")
        if not 0 < self.share < 1:
            problems.append(f"share: expected a share between 0 and 1, got {self.share!r}")
        if problems:
            raise DataError("imitation", problems)


def imitate(
    teacher: str | BatchPolicy | PriorityFunction | LearnedPolicy | TrainingState,
    jobs: JobTable,
    machine: Machine | int,
    *,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    **how: Any,
) -> DistilledTree:
    """A tree of few questions that schedules as ``teacher`` does.

    Parameters
    ----------
    teacher
        An order by name (``"wfp3"``), a `BatchPolicy`, a `LearnedPolicy`, or a `TrainingState`.
    jobs, machine
        The trace that both schedule.
    progress
        Called with (stage, done, of) within every stage.
    checkpoint
        A folder for the trees of rounds that are done: the same call goes on from them.  It is
        removed at the end.
    **how
        Fields of `DistillConfig`.  The tree's ``facts`` have a certificate and the loss, from the
        part of the trace that was not learned from.
    """
    resolved, steps = TrainingState.of(teacher), Steps(progress, checkpoint)
    asked, trial = DistillConfig(**how), DistillTrace.of(jobs, machine)
    steps.say(f"{resolved.name} schedules {len(trial.load):,} jobs", 0, 1)
    result = _rounds(resolved, trial, asked, steps)
    judging = "certificate: the tree is held against its teacher on the jobs not learned from"
    steps.say(judging, 0, 3)
    tree, whole, last = result.tree, result.learned, asked.rounds
    after = _watch(resolved, trial, asked, result.start, number=last, part=2)
    steps.say(judging, 1, 3)
    against = result.against(trial, resolved, _edges(trial, asked)[2])
    steps.say(judging, 2, 3)
    facts = {
        **tree.facts,
        "teacher": resolved.name,
        "procs": trial.size,
        "jobs": len(trial.load),
        "how": asdict(asked),
        "certificate": certificate(tree, after, learned=whole, seed=asked.seed),
        **against,
    }
    steps.say(judging, 3, 3)
    steps.forget()
    return replace(result, tree=accounted(tree, whole, facts))


def accounted(tree: PriorityTree, learned: States, facts: dict[str, Any]) -> PriorityTree:
    """The tree with how many jobs came through each node, and the values in each leaf."""
    leaf, value = tree.apply(learned.x), tree.predict(learned.x)
    support = np.bincount(leaf, minlength=len(tree.left))
    worths = {}
    for i in np.flatnonzero(support):
        low, middle, high = np.quantile(value[leaf == i], [0.05, 0.5, 0.95]).tolist()
        worths[str(i)] = [middle, low, high]
    for i in np.flatnonzero(tree.left >= 0)[::-1]:
        support[i] = support[tree.left[i]] + support[tree.right[i]]
    return replace(tree, support=support, facts={**facts, "worths": worths})


def _rounds(
    teacher: TrainingState, trial: DistillTrace, how: DistillConfig, steps: Steps
) -> DistilledTree:
    start = own = teacher.starts(trial)
    steps.say(f"{teacher.name} schedules {len(trial.load):,} jobs", 1, 1)
    until = _edges(trial, how)[2]
    learned, held, tried = [], [], []
    for number in range(how.rounds):
        stage = f"round {number + 1} of {how.rounds}"
        steps.say(f"{stage}: decisions to learn from", 0, 2)
        learned.append(_watch(teacher, trial, how, start, number=number, part=0))
        steps.say(f"{stage}: decisions to learn from", 1, 2)
        held.append(_watch(teacher, trial, how, start, number=number, part=1))
        tree = steps.tree(
            f"round-{number}",
            lambda stage=stage: best_tree(  # type: ignore[misc]
                joined(learned), joined(held), how.depth,
                progress=lambda done, of: steps.say(f"{stage}: trees are grown", done, of),
            ),
        )  # fmt: skip
        tree = replace(tree, facts=dict(teacher.facts))
        steps.say(f"{stage}: the tree schedules {len(trial.load):,} jobs", 0, 1)
        start = trial.starts(batch_policy(tree))
        alike = certificate(tree, held[-1])["agreement"]["mean"]
        metrics = {"slowdown": trial.slowdown(start, until=until), "agreement": alike}
        tried.append((metrics, tree, start))
        steps.say(f"{stage}: leaves {len(tree.leaves)}, agreement {100 * alike:.1f} %, "
                  f"bounded slowdown {metrics['slowdown']:.4g}", 1, 1)  # fmt: skip
    tree, start = _kept(tried, joined(held), trial.slowdown(own, until=until))
    return DistilledTree(tree, tuple(t[0] for t in tried), joined(learned), start)


def _edges(trial: DistillTrace, how: DistillConfig) -> tuple[float, ...]:
    """Moments that part learning, choosing and the certificate, s."""
    last = len(trial.load) - 1
    inner = [float(trial.load.submit_s[int(f * last)]) for f in (LEARN * how.share, how.share)]
    return (-np.inf, *inner, np.inf)


def _watch(
    teacher: TrainingState,
    trial: DistillTrace,
    how: DistillConfig,
    start: Array,
    *,
    number: int,
    part: int,
) -> States:
    edges = _edges(trial, how)
    most = how.decisions // (2 if part == 1 else 1)
    return watched(
        trial,
        start,
        teacher.score,
        features=SETS[how.features],
        most=max(most, 1),
        between=(edges[part], edges[part + 1]),
        seed=(how.seed, number, part),
    )


def _kept(tried: Sequence[Any], held: States, teacher: float) -> tuple[PriorityTree, Array]:
    """(the tree, its schedule) that agrees most of those no worse than the teacher."""
    bar = max(teacher, min(t[0]["slowdown"] for t in tried))
    best = held.best(held.value)
    fair = [t for t in tried if t[0]["slowdown"] <= bar]
    result = max(fair, key=lambda t: float((held.best(t[1].predict(held.x)) == best).mean()))
    return result[1], result[2]
