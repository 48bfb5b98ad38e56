"""`check_proposer`: what every proposer owes the search loop, checked on yours.

Call it with a function that makes your proposer for a space and a seed.  Each promise below is a
function of its own, so that a failure names the promise that was broken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.core.dominance import hypervolume_2d
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.core.space import Knob, Space
from rheostat.tradeoff.propose.base import Proposer
from rheostat.tradeoff.propose.observations import keys
from rheostat.tradeoff.search import search

Make = Callable[[Space, int], Proposer]
_REFERENCE = (0.6, 0.6)  # a little more than one bowl is deep at the other's bottom, 0.5625


def check_proposer(
    make: Make,
    space: Space,
    *,
    budget: int = 10,
    seeds: int = 3,
    beats_random: bool = True,
) -> None:
    """Raise `AssertionError` naming the promise that ``make``'s proposers break.

    Parameters
    ----------
    make : callable(space, seed) -> Proposer
        With objectives ("runtime_s", "energy_j"), the default everywhere.
    space : Space
        Where to try it; any mixture of knobs and constraints.
    budget, seeds : int
        Of the comparison with random search, on a problem whose front is known.
    beats_random : bool
        False for proposers that do not look at results.
    """
    asks_inside(make, space)
    asks_no_duplicates(make, space)
    stops_when_exhausted(make, _corner(space))
    repeats_itself(make, space)
    forgets_the_order_of_telling(make, space)
    bears_missing_values(make, space)
    if beats_random:
        finds_more_than_chance(make, space, budget=budget, seeds=seeds)


def asks_inside(make: Make, space: Space) -> None:
    """Every asked row is a setting of the space, allowed, and no more rows than asked for."""
    proposer = make(space, 0)
    for n in (1, 3, 2, 1):
        asked = proposer.ask(n)
        assert len(asked) <= n, f"asked for {n} settings, got {len(asked)}"
        for row in asked.select(space.names).frame.rows(named=True):
            for knob in space.knobs:
                assert _holds(knob, row[knob.name]), (
                    f"{knob.name}={row[knob.name]!r} is not a value of {knob}"
                )
            assert space.allows(row), f"{row} is not allowed by the space's constraints"
        proposer.tell(asked, bowl(space, asked))


def asks_no_duplicates(make: Make, space: Space) -> None:
    """No setting twice: neither one that was told, nor one that is pending."""
    proposer = make(space, 1)
    seen: list[tuple[object, ...]] = []
    for turn in range(4):
        asked = [proposer.ask(2), proposer.ask(1)]
        for part in asked:
            seen += keys(space, part)
        assert len(seen) == len(set(seen)), f"asked twice: {_twice(seen)}"
        for part in asked[: 1 + turn % 2]:  # every other time the second stays pending
            proposer.tell(part, bowl(space, part))


def stops_when_exhausted(make: Make, space: Space) -> None:
    """All settings of a finite space are asked, each once, then none."""
    if not space.finite:
        return
    proposer = make(space, 2)
    total, got = len(space.settings()), 0
    for _ in range(total + 1):
        asked = proposer.ask(3)
        if not len(asked):
            break
        got += len(asked)
        proposer.tell(asked, bowl(space, asked))
    assert got == total, f"a space of {total} settings: {got} were asked"
    assert len(proposer.ask(1)) == 0, "went on asking when all settings were told"


def repeats_itself(make: Make, space: Space) -> None:
    """The same seed and the same results give the same questions."""
    traces = []
    for _ in range(2):
        proposer, trace = make(space, 7), []
        for n in (2, 2, 1):
            asked = proposer.ask(n)
            trace += keys(space, asked)
            proposer.tell(asked, bowl(space, asked))
        traces.append(trace)
    assert traces[0] == traces[1], f"same seed, different questions: {traces[0]} and {traces[1]}"


def forgets_the_order_of_telling(make: Make, space: Space) -> None:
    """Results in another order, one by one or together, give the same next question."""
    results = _chance(space, 5, seed=11)
    outcome = bowl(space, results)
    nexts = []
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 1, 3]):
        proposer = make(space, 3)
        for i in [i for i in order if i < len(results)]:
            proposer.tell(results.rows([i]), outcome.rows(np.array([i])))
        nexts.append(keys(space, proposer.ask(1)))
    proposer = make(space, 3)
    proposer.tell(results, outcome)
    nexts.append(keys(space, proposer.ask(1)))
    assert nexts[0] == nexts[1] == nexts[2], f"the order of telling changed the question: {nexts}"


def bears_missing_values(make: Make, space: Space) -> None:
    """A run that gave no value is not asked again, and does not stop the search."""
    proposer = make(space, 4)
    results = _chance(space, 4, seed=5)
    outcome = bowl(space, results)
    draws = {n: outcome[n].copy() for n in outcome.names}
    for values in draws.values():
        values[:, 0] = np.nan
    proposer.tell(results, Outcome(draws))
    left = len(space.settings()) - len(results) if space.finite else 3
    for _ in range(min(3, left)):
        asked = proposer.ask(1)
        assert len(asked) == 1, "one result without a value, and nothing more was asked"
        assert keys(space, asked)[0] not in keys(space, results), "asked a failed setting again"
        proposer.tell(asked, bowl(space, asked))
    if space.finite and left <= 3:
        assert len(proposer.ask(1)) == 0, "asked a failed setting again when all had results"


def finds_more_than_chance(
    make: Make, space: Space, *, budget: int, seeds: int, batch: int = 1
) -> None:
    """On average over seeds the measured front dominates more area than random settings do."""
    areas, chance = [], []
    for seed in range(seeds):
        front = search(make(space, seed), lambda jobs: bowl(space, jobs), budget, batch=batch)
        areas.append(_area(front.values))
        chance += [
            _area(_values(space, _chance(space, len(front), seed=100 * seed + i)))
            for i in range(20)
        ]
    assert np.mean(areas) > np.mean(chance), (
        f"hypervolume {np.mean(areas):.4f} after {budget} results, random {np.mean(chance):.4f}"
    )


def bowl(space: Space, jobs: JobTable) -> Outcome:
    """Two bowls with different bottoms: log runtime and log energy are squared distances.

    Their front is the line between the bottoms, known in closed form.
    """
    log_runtime, log_energy = np.log(_values(space, jobs)).T
    return Outcome(
        {"runtime_s": np.exp(log_runtime)[None], "power_w": np.exp(log_energy - log_runtime)[None]}
    )


def _values(space: Space, jobs: JobTable) -> np.ndarray:
    u = space.scale(jobs)
    far = np.sqrt(u.shape[1]) * 0.8
    values: np.ndarray = np.exp(
        np.column_stack([(((u - at) / far) ** 2).sum(axis=1) for at in (0.2, 0.8)])
    )
    return values


def _area(values: np.ndarray) -> float:
    return hypervolume_2d(np.log(values), _REFERENCE)


def _chance(space: Space, n: int, seed: int) -> JobTable:
    """``n`` different random settings, fewer where there are not as many."""
    rng = np.random.default_rng(seed)
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for _ in range(200):
        if len(rows) == n:
            break
        for s in space.sample(rng.random((n, len(space.knobs)))):
            if len(rows) < n:
                rows.setdefault(tuple(s.values()), s)
    return space.alternatives(None, list(rows.values()))


def _holds(knob: Knob, value: object) -> bool:
    return value in knob.values if knob.finite else knob.low <= float(value) <= knob.high  # type: ignore[arg-type]


def _twice(seen: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [s for s in dict.fromkeys(seen) if seen.count(s) > 1]


def _corner(space: Space) -> Space:
    """The first values of each knob: a space small enough to be used up."""
    most = 3 if len(space.knobs) < 3 else 2
    knobs = [
        Knob(k.name, k.values[:most]) if k.finite else Knob(k.name, [k.low, k.high])
        for k in space.knobs
    ]
    return Space(tuple(knobs), space.constraints)
