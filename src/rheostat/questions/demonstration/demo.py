"""The whole job on a generated log whose truth is known: what a stranger sees first.

A site's log is generated, a model learns from the first four fifths of it and is marked on the
last fifth; one of the last jobs gets its front, a choice and the reasons; because the log is
generated, what the choice would really have cost can be looked up, and so can how much of the true
front a few measurements would have found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.decision import Assignment
from rheostat.core.dominance import hypervolume_2d
from rheostat.core.front import Front
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array, Predictor
from rheostat.core.space import Knob, Space
from rheostat.decision.accuracy import Accuracy, accuracy
from rheostat.decision.batch_choice import choose
from rheostat.decision.batch_fronts import stack
from rheostat.decision.decide import Advice, decide
from rheostat.measurement.synthetic.world import World
from rheostat.prediction.importance import Importance, permutation_importance
from rheostat.recipes import nodecount
from rheostat.tradeoff import all_settings
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.many_fronts import fronts
from rheostat.tradeoff.propose.lookahead import REFERENCE, plan, scaled
from rheostat.tradeoff.rules import Knee

RANDOM_ORDERS = 200
SURE = 0.9


@dataclass(frozen=True)
class Race:
    """Share of the true front's hypervolume after 1, 2, ... measurements, each (evaluations,)."""

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
    kind: str


def demonstrate(seed: int = 0, n_jobs: int = 2000, kind: str = "auto") -> Demo:
    """Generate, learn, check, trade off, choose, compare with the truth, race a search."""
    world = World(seed)
    jobs = nodecount.prepared(world.jobs(n_jobs))
    past, recent = jobs.split_by_time(0.8)
    kind = nodecount.kind_of(kind, past)
    model = nodecount.model(kind, past, seed=seed).fit(past)
    asked = recent.known_at(Moment.SUBMIT)
    checked = accuracy(model.predict(asked), recent, nodecount.TARGETS)
    advice = decide(asked, model, nodecount.knob(), Knee())
    job = asked.rows([telling(asked, model)])
    nodes = int(job.frame["nodes"][0])
    knob = Knob("nodes", {*nodecount.knob().values, nodes})
    front = all_settings.front(job, model, knob, nodecount.OBJECTIVES)
    choice = front.choose(Knee(), limits=Deadline(float(job.frame["time_limit_s"][0]), SURE))
    truth = Front(front.alternatives, world.truth(front.alternatives), front.objectives)
    raced = race(front, truth, seed)
    return Demo(
        jobs, len(past), checked, job, front, choice, truth, raced, advice, model, kind
    )  # fmt: skip


def telling(asked: JobTable, model: Predictor) -> int:
    """The row whose forecast is surest among jobs for which there is something to decide.

    Something to decide: at least four settings worth considering, and a knee that saves a tenth of
    the energy or more for at most half as much time again.  Chosen by the forecasts alone, before
    the truth is looked at.
    """
    many = stack(asked, model, Space.of(nodecount.knob()), nodecount.OBJECTIVES)
    chosen = choose(many, Knee(), (), 0.9)
    slower, saved = chosen.change["runtime_s"][0], chosen.change["energy_j"][0]
    rich = np.isfinite(saved) & (fronts(many.values).sum(axis=1) >= 4)
    fair = rich & (slower > 0) & (slower <= 0.5) & (saved <= -0.1)
    _, low, high = chosen.advised["runtime_s"]
    candidates = next((c for c in (fair, rich, np.isfinite(saved)) if c.any()), rich)
    return int(np.argmin(np.where(candidates, high / low, np.inf)))


def leaning(demo: Demo) -> Importance | None:
    """Which columns the runtime forecast leans on, on jobs it has not learnt from."""
    if not hasattr(demo.model, "predict_log"):
        return None
    _, recent = demo.jobs.split_by_time(0.8)
    return permutation_importance(demo.model, recent, "runtime_s", repeats=2)  # type: ignore[arg-type]


def race(front: Front, truth: Front, seed: int) -> Race:
    """Measure node counts one by one: those the forecasts recommend together, or any.

    Judged as `plan` plans: on logarithms, the reference a tenth beyond the worst of all settings.
    """
    known = np.flatnonzero(np.isfinite(front.values).all(axis=1))
    draws = [np.log(front.draws(o.name)[:, known]) for o in front.objectives]
    planned = known[plan(scaled(np.stack(draws, axis=2)), [], len(known))]
    true = scaled(np.log(truth.values)[None])[0]
    reference = REFERENCE.tolist()
    best = hypervolume_2d(true, reference)

    def share(order: Sequence[int]) -> list[float]:
        seen = true[list(order)]
        return [hypervolume_2d(seen[: k + 1], reference) / best for k in range(len(seen))]

    rng = np.random.default_rng(seed)
    drawn = [share(rng.permutation(known).tolist()) for _ in range(RANDOM_ORDERS)]
    return Race(np.array(share(planned.tolist())), np.mean(drawn, axis=0))
