"""Iteration times under changes of stated kinds: ours beside the last one, the median and the mean.

    python benchmarks/network_changes.py [--json] [--seeds N] [--first SEED] [--hybrid]

Each scenario is a law from which 200 iteration times are drawn, with noise of 4 % on each, 1 % on
regular ones.  Of a neighbour there are marks, as in a log, and no telemetry.  Rows are those of
`network.py`, with the scenario as run; with --hybrid what a hand-over to forecasts saves of the
simulation, in place of errors, and by how much ours saves more than each of the others on the same
runs, with 95 % intervals by drawing runs anew.  Whatever of ours was chosen on such series was
chosen on seeds from 100 on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from network import every, savings, show

from rheostat.core.outcome import Array
from rheostat.measurement.network.folder import NetworkRun
from rheostat.measurement.network.network_jobs import NetworkJob
from rheostat.prediction.iteration_time.hand_over import MOST_ERROR
from rheostat.recipes.smart import OURS

ITERATIONS, USUAL_S, NOISE, QUIET = 200, 3e-3, 0.04, 0.01
CHANGE = (60, 140)
"""Iterations between which a neighbour begins or ends."""
DRAWS = 10_000
"""Of the runs, with replacement, for an interval."""
Law = Callable[[np.random.Generator, Array], tuple[Array, tuple[int, int] | None]]
"""From iteration numbers to what each takes, and the iterations within which a neighbour runs."""


def neighbour_starts(rng: np.random.Generator, at: Array) -> tuple[Array, tuple[int, int]]:
    """From a drawn iteration on all take 1.2 to 2 times as long."""
    begin = int(rng.integers(*CHANGE))
    return np.where(at < begin, 1.0, rng.uniform(1.2, 2.0)), (begin, len(at))


def neighbour_ends(rng: np.random.Generator, at: Array) -> tuple[Array, tuple[int, int]]:
    """Until a drawn iteration all take 1.2 to 2 times as long."""
    end = int(rng.integers(*CHANGE))
    return np.where(at < end, rng.uniform(1.2, 2.0), 1.0), (0, end)


def autocorrelated(rng: np.random.Generator, at: Array) -> Array:
    """The logarithm is 0.7 of the one before and noise of 4 %."""
    z = np.zeros(len(at))
    for i in range(1, len(at)):
        z[i] = 0.7 * z[i - 1] + rng.normal(0.0, 0.04)
    return np.exp(z)


def pattern(rng: np.random.Generator, at: Array) -> Array:
    """Each 5th to 15th iteration takes 1.2 to 1.8 times as long."""
    period = int(rng.integers(5, 16))
    return np.where(at % period == period - 1, rng.uniform(1.2, 1.8), 1.0)


def season(rng: np.random.Generator, at: Array, shortest: int, longest: int) -> Array:
    """Phases that differ by 15 % on average, as many as drawn."""
    return np.resize(np.exp(0.15 * rng.standard_normal(rng.integers(shortest, longest))), len(at))


def drift(rng: np.random.Generator, at: Array) -> Array:
    """Up or down by 30 to 70 % over the run, in the logarithm."""
    return np.exp(rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.7) * at / len(at))


def spikes(rng: np.random.Generator, at: Array) -> Array:
    """3 % of the iterations take 1.5 to 4 times as long."""
    return np.where(rng.random(len(at)) < 0.03, rng.uniform(1.5, 4.0, len(at)), 1.0)


LAWS: dict[str, Law] = {
    "steady": lambda rng, at: (np.ones(len(at)), None),
    "neighbour-starts": neighbour_starts,
    "neighbour-ends": neighbour_ends,
    "unseen-start": lambda rng, at: (neighbour_starts(rng, at)[0], None),
    "drift": lambda rng, at: (drift(rng, at), None),
    "periodic-noise": lambda rng, at: (
        1.0 + rng.uniform(0.1, 0.3) * np.sin(2 * np.pi * (at / rng.uniform(12.0, 60.0))), None),
    "bursts-of-noise": lambda rng, at: (
        1.0 + rng.uniform(0.2, 0.5) * (np.cumsum(rng.random(len(at)) < 1 / 25) % 2), None),
    "rare-spikes": lambda rng, at: (spikes(rng, at), None),
    "heavy-tails": lambda rng, at: (np.exp(0.03 * rng.standard_t(3, len(at))), None),
    "pattern": lambda rng, at: (pattern(rng, at), None),
    "random-walk": lambda rng, at: (np.exp(np.cumsum(rng.normal(0.0, 0.02, len(at)))), None),
    "autocorrelated": lambda rng, at: (autocorrelated(rng, at), None),
}  # fmt: skip
REGULAR: dict[str, Law] = {
    "regular": lambda rng, at: (season(rng, at, 4, 25), None),
    "regular-long": lambda rng, at: (season(rng, at, 31, 51), None),
    "regular-drift": lambda rng, at: (season(rng, at, 4, 25) * drift(rng, at), None),
}


def changing_run(name: str, seed: int) -> NetworkRun:
    """A run of one rank, and of its neighbour's where the law has one."""
    rng = np.random.default_rng([seed, *name.encode()])
    level, beside = {**LAWS, **REGULAR}[name](rng, np.arange(float(ITERATIONS)))
    noise = QUIET if name in REGULAR else NOISE
    times = USUAL_S * level * np.exp(rng.normal(0.0, noise, ITERATIONS))
    marks = USUAL_S + np.concatenate([[0.0], np.cumsum(times)])
    rows = [(i, 0, 0, 0, t) for i, t in enumerate(marks.tolist())]
    jobs = [NetworkJob(0, "app", (0,))]
    if beside is not None:
        step = USUAL_S * rng.uniform(0.5, 2.0)
        ran = np.arange(marks[beside[0]], marks[beside[1]], step).tolist()
        rows += [(i, 1, 1, 0, t) for i, t in enumerate(ran)]
        jobs.append(NetworkJob(1, "neighbour", (1,)))
    names = ("iteration", "terminal", "job", "rank", "time_s")
    return NetworkRun(name, pl.DataFrame(rows, schema=names, orient="row"), tuple(jobs))


def beside_ours(saved: list[dict[str, Any]]) -> Iterator[str]:
    """Ours against each of the others on the same runs: saved more, and ends within 1 %."""
    runs: dict[str, dict[tuple[str, int], tuple[float, float]]] = {}
    for row in saved:
        figures = (100.0 * row["saved"], 100.0 * (row["error"] <= MOST_ERROR))
        runs.setdefault(row["method"], {})[row["run"], row["seed"]] = figures
    drawn = np.random.default_rng(0).integers(0, len(runs[OURS]), (DRAWS, len(runs[OURS])))
    for name in (m for m in runs if m != OURS):
        more = np.array([np.subtract(runs[OURS][k], runs[name][k]) for k in runs[OURS]])
        low, high = np.percentile(more[drawn].mean(axis=1), [2.5, 97.5], axis=0)
        parts = [f"{m:.1f} [{a:.1f}, {b:.1f}]"
                 for m, a, b in zip(more.mean(axis=0), low, high, strict=True)]  # fmt: skip
        yield (f"ours less {name}: {parts[0]} points of the iterations saved, {parts[1]} points of "
               f"the runs within 1 %; saves more on {int((more[:, 0] > 0).sum())}, less on "
               f"{int((more[:, 0] < 0).sum())} of {len(more)}")  # fmt: skip


def main() -> None:
    """Rows of all laws and seeds."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--seeds", type=int, default=5, help="runs of each law")
    args.add_argument("--first", type=int, default=0, help="the first seed")
    args.add_argument("--hybrid", action="store_true", help="simulation saved, in place of errors")
    args.add_argument("--laws", nargs="+", default=[*LAWS], choices=[*LAWS, *REGULAR],
                      help="by default all but the regular ones")  # fmt: skip
    given = args.parse_args()
    rows: list[dict[str, Any]] = []
    saved: list[dict[str, Any]] = []
    for name in given.laws:
        for seed in range(given.first, given.first + given.seeds):
            run = changing_run(name, seed)
            if given.hybrid:
                saved += savings(run, [seed], "app")
            else:
                rows += every(run, seed, quick=True, only="app")
    if given.json:
        print(json.dumps({"hybrid": saved} if given.hybrid else {"rows": rows}))
    else:
        show(rows, saved)
        print("".join(f"{line}\n" for line in beside_ours(saved)) if saved else "", end="")


if __name__ == "__main__":
    main()
