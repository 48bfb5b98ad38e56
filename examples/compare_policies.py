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

for policy in ("fcfs", "easy", "sjf+easy", "conservative"):
    told = rh.metrics(rh.simulate(trace, policy, 128), 128)
    print(f"{policy:<14} mean wait {told['wait_s']['mean']:>9,.0f} s, "
          f"longest {told['wait_s']['max']:>9,.0f} s")  # fmt: skip

first, filled = (rh.simulate(trace, p, 128).numpy("wait_s").mean() for p in ("fcfs", "easy"))
learned = rh.simulate(trace, "easy", 128, estimates=rh.QuantileBoosting(0.7))
print(f"easy, estimates learned on the way: {learned.numpy('wait_s').mean():,.0f} s")
assert filled < first
