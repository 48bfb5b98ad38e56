"""The whole job on a generated log whose truth is known: what a stranger sees first.

A site's log is generated, a model learns from the first four fifths of it and is marked on the
last fifth; one of the last jobs gets its front, a choice and the reasons; because the log is
generated, what the choice would really have cost can be looked up; and a search that measures
instead of forecasting shows how few runs it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.decision import Assignment
from rheostat.core.front import Front, hypervolume_2d
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Predictor
from rheostat.core.space import Knob, Space
from rheostat.decide.accuracy import Accuracy, accuracy
from rheostat.decide.advise import Advice, advise
from rheostat.decide.chosen import choose
from rheostat.decide.stack import stack
from rheostat.measure.synthetic.world import World
from rheostat.recipes import nodecount
from rheostat.tradeoff.exhaustive import tradeoff
from rheostat.tradeoff.many import fronts
from rheostat.tradeoff.propose import ExpectedHypervolume
from rheostat.tradeoff.rules import Deadline, Knee
from rheostat.tradeoff.search import search

RANDOM_ORDERS = 200
SURE = 0.9
SEARCHES = 1
MEASURED = 6


@dataclass(frozen=True)
class Race:
    """Share of the true front's area found after 1, 2, ... measurements, each (evaluations,)."""

    searched: Array
    random: Array


@dataclass(frozen=True)
class Demo:
    """Everything the demonstration found."""

    jobs: JobTable
    learnt: int
    accuracy: dict[str, Accuracy]
    job: JobTable
    front: Front
    choice: Assignment
    truth: Front
    race: Race
    advice: Advice
    model: Predictor


def demonstrate(seed: int = 0, n_jobs: int = 2000, kind: str = "auto") -> Demo:
    """Generate, learn, check, trade off, choose, compare with the truth, race a search."""
    world = World(seed)
    jobs = nodecount.prepared(world.jobs(n_jobs))
    past, recent = jobs.split_by_time(0.8)
    model = nodecount.model(kind, seed=seed).fit(past)
    asked = recent.known_at(Moment.SUBMIT)
    checked = accuracy(model.predict(asked), recent, nodecount.TARGETS)
    advice = advise(asked, model, nodecount.knob(), Knee())
    job = asked.rows([telling(asked, model)])
    nodes = int(job.frame["nodes"][0])
    knob = Knob("nodes", {*nodecount.knob().values, nodes})
    front = tradeoff(job, model, knob, nodecount.OBJECTIVES)
    choice = front.choose(Knee(), within=Deadline(float(job.frame["time_limit_s"][0]), SURE))
    truth = Front(front.alternatives, world.truth(front.alternatives), front.objectives)
    return Demo(
        jobs, len(past), checked, job, front, choice, truth, race(truth, job, seed), advice, model
    )


def telling(asked: JobTable, model: Predictor) -> int:
    """The row with the largest predicted energy saving among jobs with a rich front.

    Rich: at least four settings worth considering, the knee slower than the request by at most a
    half.  It is chosen by the forecasts alone, before the truth is looked at.
    """
    many = stack(asked, model, Space.of(nodecount.knob()), nodecount.OBJECTIVES)
    chosen = choose(many, Knee(), (), 0.9)
    rich = fronts(many.values).sum(axis=1) >= 4
    slower, saved = chosen.change["runtime_s"][0], chosen.change["energy_j"][0]
    fair = rich & (slower > 0) & (slower <= 0.5) & np.isfinite(saved)
    if not fair.any():
        fair = np.isfinite(saved)
    return int(np.argmin(np.where(fair, saved, np.inf)))


def race(truth: Front, job: JobTable, seed: int) -> Race:
    """Measure node counts one by one, chosen by expected hypervolume or at random."""
    reference = 1.1 * np.nanmax(truth.values, axis=0)
    best = hypervolume_2d(truth.values, reference)
    place = {tuple(truth.setting(i, ["nodes"]).values()): i for i in range(len(truth))}
    knob = Knob("nodes", [n for (n,) in place])

    def measure(rows: JobTable) -> Any:
        return truth.outcome.rows(np.array([place[(n,)] for n in rows.frame["nodes"]]))

    def share(order: Sequence[int]) -> list[float]:
        seen = truth.values[list(order)]
        return [hypervolume_2d(seen[: k + 1], reference) / best for k in range(len(seen))]

    found = []
    for s in range(SEARCHES):
        proposer = ExpectedHypervolume(knob, nodecount.OBJECTIVES, job=job, seed=seed + s)
        told = search(proposer, measure, min(MEASURED, len(truth)))
        found.append(share([place[(n,)] for n in told.alternatives.frame["nodes"]]))
    rng = np.random.default_rng(seed)
    drawn = [share(rng.permutation(len(truth))[:MEASURED].tolist()) for _ in range(RANDOM_ORDERS)]
    return Race(np.mean(found, axis=0), np.mean(drawn, axis=0))
