"""What has a reward taught?  Train an agent by it, and ask a tree what the agent looks at.

An agent does what it is rewarded for, which need not be what was meant.  Slowdown was meant, and
the sum of (w + t) / t over the waiting jobs says so in full; but most of that sum is waiting that
has been done already, whatever is chosen next.  The published audit found that an agent rewarded by
it learns to serve first who came first, and that one rewarded by the sum of 1 / t, what each second
of waiting adds, learns to look at run times.

    Symbol  Unit  Meaning
    w       s     time waited by a waiting job
    t       s     its true run time, at least 10 s: hindsight, in the reward alone

References
----------
Li, Lan, Papka, "Interpretable modeling of deep reinforcement learning driven scheduling", MASCOTS
2023 (reward audit).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.simulation.engine.env_layout import RUN, SUBMIT
from rheostat.simulation.schedule_metrics import BOUND_S
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.fit_tree import value_tree
from rheostat.training.distill.value_tree import WITH_WAIT, met
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode

Array = np.ndarray
Reward = Callable[[Array, Array], float]


def per_second(w: Array, t: Array) -> float:
    """The reward that works: - sum of 1 / t."""
    return -float((1.0 / t).sum())


def so_far(w: Array, t: Array) -> float:
    """The reward that does not: - sum of (w + t) / t."""
    return -float(((w + t) / t).sum())


REWARDS: dict[str, Reward] = {"1 / t": per_second, "(w + t) / t": so_far}


def trained_by(
    reward: Reward, jobsets: Sequence[EpisodeTrace], setup: DrasConfig, *, seed: int = 0
) -> Any:
    """An agent that learned from ``jobsets``, rewarded by ``reward`` after each decision."""
    from rheostat.training.rl.agent import Agent
    from rheostat.training.rl.dras import UpdateStep, _optimiser, update

    agent = Agent(setup, jobsets[0].size, seed=seed)
    adam = _optimiser(agent, {})
    for number, trace in enumerate(jobsets):
        rng = np.random.default_rng([seed, number])
        episode, steps = Episode(trace, setup), []
        since = 0
        while not episode.over:
            view = episode.view()
            slot = agent.pick(view, rng, explore=agent.explore)
            _, starts = episode.choose(slot)
            if starts:
                agent.explore = max(agent.explore * setup.explore_factor, setup.explore_least)
            steps.append(UpdateStep(view, slot, reward(*waiting(episode))))
            if episode.event - since >= setup.instances:
                update(agent, adam, steps)
                steps, since = [], episode.event
        if steps:
            update(agent, adam, steps)
    return agent


def waiting(episode: Episode) -> tuple[Array, Array]:
    """(w, t) of the jobs that wait now, s."""
    jobs, starts = episode.trace.jobs, episode.starts
    here = np.flatnonzero((jobs[:, SUBMIT] <= episode.now_s) & np.isnan(starts))
    return episode.now_s - jobs[here, SUBMIT], np.maximum(jobs[here, RUN], BOUND_S)


HABITS = {"first come": ("wait_s", 1.0), "shortest request": ("request_s", -1.0),
          "fewest processors": ("procs", -1.0)}  # fmt: skip


def habits(states: States) -> dict[str, float]:
    """Share of decisions in which the teacher's first choice is that of a simple rule."""
    own = states.best(states.value)
    names = [f.name for f in states.features]
    found = {
        words: float((states.best(sign * states.x[:, names.index(name)]) == own).mean())
        for words, (name, sign) in HABITS.items()
    }
    return found | {"lots": float((1 / states.rows).mean())}


def looks_at(tree: PriorityTree, states: States) -> dict[str, float]:
    """How much of the error that its questions take away each feature takes away; sum 1."""
    node = np.zeros(len(states.x), np.int64)
    gain = np.zeros(len(tree.features))
    for i in np.flatnonzero(tree.left >= 0):
        rows = np.flatnonzero(node == i)
        goes = states.x[rows, tree.feature[i]] <= tree.threshold[i]
        node[rows] = np.where(goes, tree.left[i], tree.right[i])
        y = states.value[rows]
        gain[tree.feature[i]] += _error(y) - _error(y[goes]) - _error(y[~goes])
    total = gain.sum() or 1.0
    return {f.name: float(g / total) for f, g in zip(tree.features, gain, strict=True)}


def _error(y: Array) -> float:
    return float(((y - y.mean()) ** 2).sum()) if len(y) else 0.0


def audit(agent: Any, trace: EpisodeTrace, *, depth: int = 4) -> dict[str, Any]:
    """Performance on ``trace``, habits, and what trees of the agent's values look at.

    One tree is of the values, as published; the other of what a job's value has more than the mean
    of its decision, which is all that puts it first.
    """
    states, episode, _ = met(agent, trace, features=WITH_WAIT)
    mean = np.add.reduceat(states.value, states.first) / states.rows
    within = replace(states, value=states.value - np.repeat(mean, states.rows))
    told: dict[str, Any] = {**episode.metrics(), "habits": habits(states)}
    for words, part in (("values", states), ("within", within)):
        tree = value_tree(part, depth)
        told[f"looks_at_{words}"] = looks_at(tree, part)
        told[f"first_question_{words}"] = (
            tree.features[int(tree.feature[0])].name if tree.left[0] >= 0 else ""
        )
    return told
