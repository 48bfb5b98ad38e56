"""The published student: a regression tree of the values an agent gives the jobs of its window.

The agent (`rheostat.training.rl`) plays, decision by decision; a tree learns its values from
three facts of each job, then plays itself while the agent says what it would have answered, and
learns again, five times.  Only *critical* decisions are learned from, those where more than three
jobs wait: in the others nearly any choice will do, and a tree that need not tell them is smaller.

References
----------
Li, Lan, Papka, "Interpretable modeling of deep reinforcement learning driven scheduling", MASCOTS
2023.  Their tree sees job size, job length and how busy the machine is; depths of 8, 10 and 12.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._threads import one_thread
from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.decision.policies.tree_priority import SITE
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.partitions import Progress
from rheostat.simulation.engine.env_layout import ASK, NEED, RUN, SUBMIT
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.training.distill.dagger import accounted
from rheostat.training.distill.decision_states import States, joined
from rheostat.training.distill.fidelity import certificate, loss
from rheostat.training.distill.fit_tree import best_tree, value_tree
from rheostat.training.distill.steps import Steps
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode

Array = np.ndarray
WAIT, REQUEST, PROCS, *_ = SITE
BUSY = TreeFeature("busy", "0 to 1", "share of the machine that is busy")
PUBLISHED = (PROCS, REQUEST, BUSY)
WITH_WAIT = (*PUBLISHED, WAIT)
CRITICAL = 3  # jobs waiting, or fewer: not learned from
ROUNDS = 5
MOST_ROWS = 200_000
LEARN = 0.8
WINDOW = "window"  # facts["plays"] of a tree of an agent's values


def facts_of(episode: Episode, features: Sequence[TreeFeature] = WITH_WAIT) -> Array:
    """Features of the jobs of the last view, (count, d)."""
    job = episode.trace.jobs[episode.shown]
    columns = {
        "procs": job[:, NEED],
        "request_s": job[:, ASK],
        "busy": np.full(len(job), 1.0 - episode.free / episode.trace.size),
        "wait_s": episode.now_s - job[:, SUBMIT],
    }
    return np.stack([columns[f.name] for f in features], axis=1)


def is_student(tree: PriorityTree) -> bool:
    """Does it choose among an agent's window, and is no order of a whole queue?"""
    return tree.facts.get("plays") == WINDOW


@dataclass
class Student:
    """A tree that plays the episodes of an agent with this ``setup``."""

    tree: PriorityTree
    setup: DrasConfig

    def play(self, trace: EpisodeTrace, *, seed: int = 0) -> Episode:
        """A whole jobset; nothing is drawn, whatever the seed."""
        episode = Episode(trace, self.setup)
        while not episode.over:
            episode.view()
            episode.choose(int(self.tree.predict(facts_of(episode, self.tree.features)).argmax()))
        return episode

    def to_facts(self) -> PriorityTree:
        """The tree, with what is needed to play it from its file."""
        return replace(
            self.tree, facts={**self.tree.facts, "plays": WINDOW, "setup": asdict(self.setup)}
        )

    @classmethod
    def of(cls, tree: PriorityTree) -> Student:
        """From a tree that was saved with its setup."""
        if not is_student(tree):
            raise DataError("tree", ["expected a tree of an agent's values, got one of an order"])
        setup = dict(tree.facts["setup"])
        return cls(tree, DrasConfig(**(setup | {"hidden": tuple(setup["hidden"])})))


def met(
    teacher: Any,
    trace: EpisodeTrace,
    student: Student | None = None,
    *,
    features: Sequence[TreeFeature] = PUBLISHED,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[States, Episode, dict[str, float]]:
    """(decisions with two jobs or more, the episode, seconds per decision of whoever answered).

    ``student`` plays, the ``teacher`` judges; without a student the teacher plays too.
    ``progress`` is called with (jobs started, jobs).
    """
    episode = Episode(teacher.fitting(trace), teacher.setup)
    x, values, crowd, spent = [], [], [], {"teacher_s": 0.0, "tree_s": 0.0}
    made = 0
    while not episode.over:
        progress(episode.started, len(trace))
        view = episode.view()
        if view.count == 1:  # nothing to choose
            episode.choose(0)
            continue
        seen = facts_of(episode, features)
        begin = time.process_time()
        answers = teacher.answers(view)
        middle = time.process_time()
        slot = (
            int(answers.argmax()) if student is None else int(student.tree.predict(seen).argmax())
        )
        spent["teacher_s"] += middle - begin
        spent["tree_s"] += time.process_time() - middle
        made += 1
        x.append(seen)
        values.append(answers)
        crowd.append(episode.waiting)
        episode.choose(slot)
    progress(len(trace), len(trace))
    if not x:
        raise DataError("decisions", ["expected a moment with two jobs to choose from, found none"])
    rows = np.array([len(part) for part in x], np.int64)
    first = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64)
    states = States(tuple(features), np.concatenate(x), first, rows, np.concatenate(values),
                    np.array(crowd, np.int64))  # fmt: skip
    return states, episode, {k: v / max(made, 1) for k, v in spent.items()}


@dataclass(frozen=True)
class ValueStates:
    """A student, what each round was like, and the decisions it was made of."""

    student: Student
    rounds: tuple[dict[str, float], ...]
    learned: States


def imitate_values(
    teacher: Any,
    trace: EpisodeTrace,
    *,
    depth: int = 10,
    critical: int | None = CRITICAL,
    rounds: int = ROUNDS,
    features: Sequence[TreeFeature] = PUBLISHED,
    ranked: bool = False,
    steps: Steps | None = None,
) -> ValueStates:
    """The published student of an agent, learned from ``trace``.

    Parameters
    ----------
    teacher
        An `Agent` of values ("dql"), or whatever has its ``setup``, ``fitting`` and ``answers``.
    trace
        A jobset; see `rheostat.training.env.episode_trace.trace`.
    depth
        Questions at most.
    critical
        Decisions in which more jobs wait are learned from; None: all decisions (plain DAgger).
    rounds
        DAgger's, at most five as published; the tree of the least mean slowdown is kept.
    features
        `PUBLISHED`, or `WITH_WAIT`, which adds the time waited.
    ranked
        Our own student: a tree of who goes first, decisions by what is at stake in them; a fifth of
        the decisions, the last of each round, chooses among trees.
    steps
        Progress within every stage, and a checkpoint of the stages that are done.
    """
    steps = steps or Steps()
    states, _ = _kept(steps, "teacher", f"the agent schedules {len(trace):,} jobs",
                      teacher, trace, None, features)  # fmt: skip
    parts, tried = [], []
    for number in range(rounds):
        stage = f"round {number + 1} of {rounds}"
        parts.append(states if critical is None else critical_only(states, critical))
        learned = _thinned(joined(parts))
        steps.say(f"{stage}: a tree is grown", 0, 1)
        tree = steps.tree(
            f"tree-{number}",
            lambda: _ranked(parts, depth) if ranked else value_tree(learned, depth),  # noqa: B023
        )
        student = Student(tree, teacher.setup)
        states, episode = _kept(steps, f"round-{number}", f"{stage}: the tree schedules",
                             teacher, trace, student, features)  # fmt: skip
        metrics = {**episode, "nodes": float(len(tree.left))}
        tried.append((metrics["mean_bounded_slowdown"], student, metrics))
        steps.say(f"{stage}: {len(tree.left):,} nodes, bounded slowdown "
                  f"{metrics['mean_bounded_slowdown']:.4g}", 1, 1)  # fmt: skip
    _, best, _ = min(tried, key=lambda t: t[0])
    best = replace(best, tree=accounted(best.tree, learned, dict(best.tree.facts)))
    return ValueStates(best, tuple(t[2] for t in tried), learned)


def _kept(
    steps: Steps,
    name: str,
    stage: str,
    teacher: Any,
    trace: EpisodeTrace,
    student: Student | None,
    features: Sequence[TreeFeature],
) -> tuple[States, dict[str, float]]:
    """(decisions met, facts of the whole episode), of which a checkpoint is kept."""

    def play() -> dict[str, Array]:
        states, episode, _ = met(teacher, trace, student, features=features,
                              progress=lambda done, of: steps.say(stage, done, of))  # fmt: skip
        arrays = {n: getattr(states, field) for n, field in STATE_ARRAYS.items()}
        return arrays | {f"told {k}": np.array(v) for k, v in episode.metrics().items()}

    result = steps.arrays(name, play)
    metrics = {
        k.removeprefix("told "): float(v) for k, v in result.items() if k.startswith("told ")
    }
    return States(tuple(features), *(result[n] for n in STATE_ARRAYS)), metrics


STATE_ARRAYS = {"x": "x", "first": "first", "rows": "rows", "worth": "value", "crowd": "crowd"}
"""Names in a checkpoint: fields of `States`."""


def critical_only(states: States, most: int) -> States:
    """The decisions in which more than ``most`` jobs wait."""
    critical = states.crowd > most
    if not critical.any():
        problem = f"expected decisions in which more than {most} jobs wait, found none"
        raise DataError("decisions", [problem, "learn from more jobs, or lower critical"])
    return states.only(critical)


def _ranked(parts: Sequence[States], depth: int) -> PriorityTree:
    split = [int(0.8 * len(part)) for part in parts]
    learn = [p.only(np.arange(n)) for p, n in zip(parts, split, strict=True)]
    hold = [p.only(np.arange(n, len(p))) for p, n in zip(parts, split, strict=True)]
    return best_tree(_thinned(joined(learn)), _thinned(joined(hold)), depth)


def _thinned(states: States) -> States:
    """Every so many decisions, where there are more than can be learned from."""
    every = -(-len(states.x) // MOST_ROWS)
    return states if every == 1 else states.only(np.arange(0, len(states), every))


def judged(
    teacher: Any,
    trace: EpisodeTrace,
    distilled: ValueStates,
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[str, Any]:
    """The student against its teacher on a jobset that it has not learned from.

    Loss of wait and slowdown as shares, that of slowdown with an interval, seconds per decision,
    and the certificate on the decisions that the student itself meets.  ``each`` has the bounded
    slowdown of every job, the student's and the teacher's.  ``progress`` is called with (jobs
    started, jobs), once for the teacher and once for the student.
    """
    student, features = distilled.student, distilled.student.tree.features
    own, episode, _ = met(teacher, trace, features=features,
                       progress=lambda done, of: progress(done, 2 * of))  # fmt: skip
    states, played, spent = met(teacher, trace, student, features=features,
                                progress=lambda done, of: progress(of + done, 2 * of))  # fmt: skip
    was, now = episode.metrics(), played.metrics()
    names = ("mean_wait_s", "mean_bounded_slowdown")
    mine, his = (slowdowns(g) for g in (played, episode))
    return {
        "each": (mine, his),
        "loss_between": loss(mine, his, trace.jobs[:, SUBMIT], seed=seed),
        "teacher": was,
        "student": now,
        "loss": {n: now[n] / was[n] - 1 if was[n] else float("nan") for n in names},
        **spent,
        "nodes": len(student.tree.left),
        "leaves": len(student.tree.leaves),
        "depth": student.tree.depth,
        "certificate": certificate(student.tree, states, learned=distilled.learned, seed=seed),
        "on_teachers_way": certificate(student.tree, own, learned=distilled.learned, seed=seed),
    }


def slowdowns(episode: Episode) -> Array:
    """Bounded slowdown of each job of an episode that is over, (n,)."""
    jobs = episode.trace.jobs
    return bounded_slowdown(episode.starts - jobs[:, SUBMIT], jobs[:, RUN])


@one_thread()
def imitate_agent(
    agent: Any,
    jobs: JobTable,
    machine: Machine,
    *,
    name: str = "agent",
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    **how: Any,
) -> PriorityTree:
    """A tree of an `Agent`'s values, our own student, from the first four fifths of ``jobs``.

    The certificate in its facts is of the rest.  ``progress``, ``checkpoint`` as in
    `rheostat.training.distill.dagger.imitate`.
    """
    cut = int(LEARN * len(jobs))
    learn, test = (
        prepare(jobs.rows(part), machine) for part in (np.arange(cut), np.arange(cut, len(jobs)))
    )
    asked: dict[str, Any] = {"features": WITH_WAIT, "ranked": True, "critical": None} | how
    steps = Steps(progress, checkpoint)
    distilled = imitate_values(agent, learn, steps=steps, **asked)
    judging = f"certificate: tree and agent schedule the {len(test):,} jobs not learned from"
    result = judged(agent, test, distilled, progress=lambda done, of: steps.say(judging, done, of))
    slow = {k: result[v]["mean_bounded_slowdown"] for k, v in
            (("tree", "student"), ("teacher", "teacher"))}  # fmt: skip
    facts = {"teacher": name, "certificate": result["certificate"], "slowdown": slow}
    facts["loss"] = result["loss_between"]
    tree = distilled.student.to_facts()
    steps.forget()
    return replace(tree, facts={**tree.facts, **facts})
