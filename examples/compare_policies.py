"""What jobs wait under other batch policies: a trace, four policies, the planning estimates."""

from __future__ import annotations

import numpy as np

import rheostat as rh

rng, n = np.random.default_rng(0), 2000
runtime_s = np.ceil(rng.lognormal(6.5, 1.5, n))
trace = rh.table(
    {
        "job_id": np.arange(n),
        "user": rng.integers(0, 40, n).astype(str),
        "submit_s": np.cumsum(rng.exponential(320.0, n)),
        "cores": 2 ** rng.integers(0, 7, n),
        "runtime_s": runtime_s,
        "time_limit_s": np.ceil(runtime_s * rng.uniform(1.0, 20.0, n) / 600) * 600,
    }
)

answer = rh.simulate(trace, ("fcfs", "easy", "sjf+easy", "conservative"), 128)
print(answer)
for policy, schedule in answer.schedules.items():
    print(f"{policy:<14} longest wait {rh.metrics(schedule, 128)['wait_s']['max']:>9,.0f} s")

learned = rh.simulate(trace, "easy", 128, estimates=rh.QuantileBoosting(0.7)).schedule
print(f"easy, estimates learned on the way: {learned.numpy('wait_s').mean():,.0f} s")
assert answer.schedules["easy"].numpy("wait_s").mean() < answer.schedule.numpy("wait_s").mean()
