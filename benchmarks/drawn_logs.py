"""A log whose settings chance drew: is a setting forecast as its runs took, and how surely?

    python benchmarks/drawn_logs.py [--seed 7]

Four applications, 900 jobs at nodes that chance drew, 300 later ones.  Of each law: the mean error
of the logarithm of an application's mean run time at each node count, the share of later jobs
inside their 90 % interval at the setting they ran at, and the share of their true changes from the
setting asked for that lie inside the change's 90 % interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.vocabulary import table
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.features.requested_settings import DRAWN

NODES = np.array([1, 2, 4, 8, 16, 32])
WORK = np.array([1.0, 0.6, 2.0, 1.4])
LEARNT, LATER, NOISE = 900, 300, 0.05
Law = Callable[[np.ndarray, np.ndarray], np.ndarray]
LAWS: dict[str, Law] = {
    "floor": lambda n, s: s * 3000 / n + 200,
    "communication": lambda n, s: s * 3000 / n + 25 * n**0.9,
    "kink": lambda n, s: s * 3000 / n * np.where(n >= 8 / s**0.3, 0.7, 1.0),
    "stairs": lambda n, s: np.ceil(12 * s / n) * 300 + 50,
    "serial part": lambda n, s: 3000 * s * (0.05 + 0.95 / n),
}


def jobs_of(columns: dict[str, np.ndarray], rows: np.ndarray) -> JobTable:
    """Jobs of one user, all at nodes that chance drew."""
    made = table({"user": ["u"] * len(rows), **{k: v[rows] for k, v in columns.items()}})
    drawn = Column(DRAWN, "", Moment.SUBMIT, "by chance")
    return made.with_columns([drawn], **{DRAWN: [True] * len(rows)})


def judged(law: Law, spread: float, seed: int) -> tuple[float, float, float]:
    """Error at settings, coverage of jobs and of their changes; sizes differ by ``spread``."""
    rng, n = np.random.default_rng(seed), LEARNT + LATER
    app = rng.integers(0, len(WORK), n)
    size = WORK[app] * np.exp(spread * rng.standard_normal(n))
    nodes, asked = NODES[rng.integers(0, 6, n)], NODES[rng.integers(1, 4, n)]
    seconds = law(nodes, size) * np.exp(NOISE * rng.standard_normal(n))
    known = {"job_id": np.arange(n), "app": np.array([f"a{a}" for a in app]), "nodes": nodes,
             "nodes_requested": asked, "submit_s": 600.0 * np.arange(n)}  # fmt: skip
    past, later = np.arange(LEARNT), np.arange(LEARNT, n)
    measured = {"runtime_s": seconds, "power_w": 300.0 * nodes}
    model = WithinApplication(("nodes",)).fit(jobs_of(known | measured, past))
    there = model.predict(jobs_of(known, later))
    low, high = there.interval("runtime_s")
    held = (seconds[later] >= low) & (seconds[later] <= high)
    home = model.predict(jobs_of(known | {"nodes": asked}, later))["runtime_s"]
    low, high = np.quantile(there["runtime_s"] / home, [0.05, 0.95], axis=0)
    change = law(nodes[later], size[later]) / law(asked[later], size[later])
    inside = ((change >= low) & (change <= high))[nodes[later] != asked[later]]
    errors = []
    for k, work in enumerate(WORK):
        sizes = work * np.exp(spread * rng.standard_normal(4000))
        one = np.full(len(NODES), np.flatnonzero(app == k)[0])
        settings = {name: v[one] for name, v in known.items()} | {"nodes": NODES}
        mean = model.predict(jobs_of(settings, np.arange(len(NODES)))).mean("runtime_s")
        truth = [law(np.full(4000, m), sizes).mean() for m in NODES]
        errors += np.abs(np.log(mean / truth)).tolist()
    return float(np.mean(errors)), float(held.mean()), float(inside.mean())


def main() -> None:
    """A row for each law, with jobs of one size and of several."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    seed = parser.parse_args().seed
    print("| law | sizes differ by | error at a setting | jobs covered | changes covered |")
    print("|---|---|---|---|---|")
    for name, law in LAWS.items():
        for spread in (0.0, 0.4):
            error, jobs, change = judged(law, spread, seed)
            print(f"| {name} | {spread} | {error:.3f} | {jobs:.2f} | {change:.2f} |")


if __name__ == "__main__":
    main()
