"""What tests of edges share: a front by hand, a grid with its costs, models that know."""

from __future__ import annotations

import math

import numpy as np

from rheostat import Front, Knob, Outcome, Space, table
from rheostat.tradeoff.propose.modelled import Modelled

NAN, INF = math.nan, math.inf


def front(objectives=("runtime_s", "energy_j"), **draws) -> Front:
    made = {k: np.atleast_2d(np.asarray(v, float)) for k, v in draws.items()}
    n = next(iter(made.values())).shape[1]
    return Front(table({"nodes": [2**i for i in range(n)]}), Outcome(made), objectives)


GRID = Space((Knob("nodes", [1, 2, 4, 8]), Knob("mode", ["a", "b"])))


def costs(jobs) -> Outcome:
    n = jobs.numpy("nodes")[None, :]
    slow = np.where(jobs.frame["mode"].to_numpy() == "b", 2.0, 1.0)
    return Outcome({"runtime_s": slow * (1 + 9 / n), "power_w": 10.0 * n})


class Told(Modelled):
    """Asks in the order of runtimes that it is told; notes what it saw."""

    def score(self, view, rng):
        self.view_ = view
        return -view.y[:, : view.candidates, 0].mean(axis=0)


class Law:
    def fit(self, jobs):
        self.shown = jobs
        return self

    def predict(self, jobs):
        return costs(jobs)


RANGE = Knob("cap_w", low=100.0, high=400.0)
