"""Learning an order by trying: evolution strategies on the true objective.

What a site wants - low slowdowns - is no sum over decisions, has no gradient, and is cheap to
measure: the compiled simulator plays a thousand jobs in milliseconds.  So weights are drawn around
the best guess, played, and the guess moves towards those that did well (CMA-ES).  All weights of a
generation play the same cases, some of those given, drawn anew each generation.  Since each
generation sees other cases, its guess wanders: what is kept is the mean over the later half.

Searched together are the order, a unit of which is a feature's spread, and how far predicted run
times are trusted in planning, a unit of which is `TRUSTED`.  The guard is on; a longest wait of
more than `AIM` times that of FCFS with EASY on a case costs `DEAR` times as much as slowdowns that
are too high by as much.

A training is its seed and the losses that were found: the file keeps these.  It goes on by asking
for the same weights again and telling them the losses again, without playing; so a training that
was stopped ends with the same bytes as one that was not.

References
----------
Hansen, Ostermeier, "Completely derandomized self-adaptation in evolution strategies", Evolutionary
Computation 9, 2001.  Library: cma (Hansen, Akimoto, Baudis).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.errors import DataError
from rheostat.simulation.learned_priority.priority import LIMIT, LearnedPriority
from rheostat.simulation.learned_priority.queue_features import NAMES
from rheostat.simulation.learned_priority.scoring_network import LINEAR, SPREAD, length
from rheostat.training.priority.training_cases import OBJECTIVES, TrainingCase, beyond, loss

# shortest predicted first, with some regard for size and wait: what most simple orders agree on
BEGIN = {"brief": 0.7, "predicted": 1.0, "ask": 0.3, "share": 0.3, "wait": -1.0}
TRUST = (0.2, 1.0, 0.0, 0.0, 0.0, 0.4)  # predicted, the less the longer the head has waited
TRUSTED = np.array([0.5, 0.5, 0.4, 0.6, 0.45, 0.3])
SIGMA = 0.35
AT_ONCE = 10
AIM, DEAR = 1.4, 2.0
Progress = Callable[[int, int, dict[str, Any]], None]


def train_rank(
    given: Sequence[TrainingCase],
    *,
    objective: Mapping[str, float] | None = None,
    hidden: int = 0,
    generations: int = 30,
    limit: float = LIMIT,
    seed: int = 0,
    out: Path | None = None,
    progress: Progress | None = None,
) -> LearnedPriority:
    """The order found after so many generations; written to ``out`` after each.

    Parameters
    ----------
    given
        What to learn from, of any machines: `rheostat.training.priority.training_cases.cases`.
    objective
        Weights of "slowdown", "wait", "utilisation", "energy"; else slowdown alone.
    hidden
        Hidden units of the network; none is a weighted sum.
    generations
        Of about ten to sixteen networks each, more with ``hidden``.
    limit
        Of the guard, which is on while learning; ``math.inf`` learns without one.
    seed
        Of all draws.
    out
        If it is there it must have been begun in the same way; it is then gone on with.
    progress
        Called with (generations done, generations, facts of the last).
    """
    wanted = dict(objective or {"slowdown": 1.0})
    _check(given, wanted)
    how = {
        "objective": wanted, "hidden": hidden, "seed": seed,
        "limit": None if np.isinf(limit) else limit,
        "cases": [f"{c.name} {c.fingerprint}" for c in given],
    }  # fmt: skip
    losses = [] if out is None or not out.exists() else _losses(out, how)
    search = _search(hidden, seed)
    ranker, means = begun(hidden, limit), []
    for number in range(max(generations, len(losses))):
        asked = search.ask()
        known = number < len(losses)
        if not known:
            tried = [_ranker(w, limit) for w in asked]
            losses.append([_mean_loss(r, given, wanted, (seed, number)) for r in tried])
        search.tell(asked, losses[number])
        means.append(search.mean.copy())
        if known and number + 1 < len(losses):
            continue
        history = {**how, "losses": losses}
        weights = np.mean(means[len(means) // 2 :], axis=0)
        ranker = replace(_ranker(weights, limit), trained=history)
        if not known and out is not None:
            ranker.save(out)
        if not known and progress is not None:
            facts = {"best": min(losses[number]), "mean": float(np.mean(losses[number]))}
            progress(number + 1, generations, facts)
    return ranker


def _ranker(searched: np.ndarray, limit: float) -> LearnedPriority:
    """What a point of the search stands for; a linear network orders by `LINEAR` alone."""
    order, trust = np.split(searched, [len(searched) - len(TRUST)])
    if len(order) == LINEAR.sum():
        some, order = order, np.zeros(length(0))
        order[LINEAR] = some
    return LearnedPriority(tuple(map(float, order)), limit, tuple(map(float, trust * TRUSTED)))


def _check(given: Sequence[TrainingCase], wanted: Mapping[str, float]) -> None:
    problems = [] if given else ["expected at least one case in which jobs queue, got none"]
    problems += [
        f"objective: expected some of {', '.join(OBJECTIVES)}, got {name!r}"
        for name in wanted
        if name not in OBJECTIVES
    ]
    problems += [
        f"{n}: expected a weight of at least 0, got {w}" for n, w in wanted.items() if w < 0
    ]
    if wanted and not any(w > 0 for w in wanted.values()):
        problems.append("objective: expected a weight above 0")
    if problems:
        raise DataError("training", problems)


def _losses(out: Path, how: Mapping[str, Any]) -> list[list[float]]:
    """Losses of a training that was begun in the same way."""
    before = LearnedPriority.load(out)
    problems = [
        f"{name}: expected what it was begun with"
        for name, value in how.items()
        if before.trained.get(name) != value
    ]
    if problems:
        raise DataError(str(out), [*problems, "delete the file or name another to begin anew"])
    losses = [list(row) for row in before.trained.get("losses", ())]
    if len({len(row) for row in losses}) > 1:
        raise DataError(str(out), ["is damaged: generations of different sizes"])
    return losses


def begun(hidden: int = 0, limit: float = LIMIT) -> LearnedPriority:
    """The order that training begins with."""
    first = np.zeros(length(hidden))
    for name, weight in BEGIN.items():
        first[NAMES.index(name)] = weight * SPREAD[NAMES.index(name)]
    return LearnedPriority(tuple(map(float, first)), limit, TRUST)


def _search(hidden: int, seed: int) -> Any:
    cma = require("cma", extra="train")
    rng = np.random.default_rng(seed)
    first = np.array(begun(hidden).weights)
    first = first if hidden else first[LINEAR]
    first = np.concatenate([first, np.array(TRUST) / TRUSTED])
    settings = {
        "verbose": -9, "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape),
        "CMA_diagonal": hidden > 0, "maxiter": np.inf,
    }  # fmt: skip
    return cma.CMAEvolutionStrategy(first, SIGMA, settings)


def _mean_loss(
    ranker: LearnedPriority,
    given: Sequence[TrainingCase],
    wanted: Mapping[str, float],
    drawn: tuple[int, int],
) -> float:
    rng = np.random.default_rng(drawn)
    pick = rng.choice(len(given), size=min(AT_ONCE, len(given)), replace=False)
    result = []
    for k in pick:
        start = ranker.starts(given[k].load, given[k].user, given[k].size)[0]
        over = 0.0 if np.isinf(ranker.limit) else beyond(given[k], start, AIM)
        result.append(loss(given[k], start, wanted) + DEAR * over)
    return float(np.mean(result))
