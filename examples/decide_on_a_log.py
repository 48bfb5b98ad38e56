"""A setting for every job of a log, and what it would have changed last month."""

from __future__ import annotations

import rheostat as rh
from rheostat.measurement.synthetic import World

jobs = rh.prepared(World(seed=0).jobs(1500, seed=0))
past, recent = jobs.split_by_time(0.9)

model = rh.Surrogate("forest").fit(past)
answer = rh.decide(recent, model=model, knobs="nodes=1..64", slowdown=20)
print(answer)
assert sum(answer.advice.counts().values()) == len(recent)

print(rh.backtest(jobs, knobs="nodes=1..64", slowdown=20, method="forest", test_fraction=0.1))
