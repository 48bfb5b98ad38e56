"""A setting for every job of a log, and what it would have changed last month."""

from __future__ import annotations

import rheostat as rh
from rheostat.measurement.synthetic import World

jobs = rh.prepared(World(seed=0).jobs(1500, seed=0))
past, recent = jobs.split_by_time(0.9)
nodes = rh.Knob("nodes", rh.powers_of_two(1, 64))
least_energy = rh.Weighted({"energy_j": 1})

model = rh.Surrogate("forest").fit(past)
advice = rh.decide(recent, model, nodes, least_energy, limits=rh.MaxSlowdown(1.2, "requested"))
print(rh.explain(advice))
assert sum(advice.counts().values()) == len(recent)

print(rh.explain(rh.backtest(jobs, rh.Surrogate("forest"), nodes, least_energy, split=0.9)))
