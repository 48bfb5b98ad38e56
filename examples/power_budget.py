"""Share 2.4 kW over six nodes: which caps, what it gains, and what the next watt would buy."""

from __future__ import annotations

import rheostat as rh
from rheostat.measurement.synthetic.capped_runs import capped_runs

runs = capped_runs(6, repeats=2, noise=0.01, seed=0)
fleet = rh.node_fleet(runs, start="lowest", seed=0)
extra_w = 300.0
plan = rh.allocate_power(fleet, fleet.now_w.sum() + extra_w)
for name, before, after in zip(fleet.names, fleet.now_w, plan.after.now_w, strict=True):
    print(f"{name}: {before:.0f} W -> {after:.0f} W")
print(
    f"mean gain in speed {plan.gain[0].mean():.1%}, of one watt more {plan.price[0]:.2%} of a node"
)
assert plan.after.now_w.sum() <= fleet.now_w.sum() + extra_w
assert plan.gain[0].mean() > 0
