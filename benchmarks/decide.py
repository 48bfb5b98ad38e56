"""How long does advice for a whole queue take, once the model is fitted?

    python benchmarks/decide.py [--jobs 10000] [--kind forest] [--json]

A generated log teaches a model; then every job of a queue is advised over 16 settings, the knee
within its own limit.  Time covers prediction, rules, savings with intervals and reasons.
"""

from __future__ import annotations

import argparse
import json
import platform
import time

import numpy as np

from rheostat.core.jobs import Moment
from rheostat.core.space import Knob
from rheostat.decision.decide import decide
from rheostat.measurement.synthetic.world import World
from rheostat.recipes.nodecount import model, prepared
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.rules import Knee

NODES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)


def measure(n_jobs: int, kind: str, seed: int) -> dict[str, object]:
    """Seconds to advise ``n_jobs`` jobs, best of three."""
    world = World(seed)
    past = prepared(world.jobs(4000))
    fitted = model(kind, past, seed=seed).fit(past)
    queue = prepared(world.jobs(n_jobs, seed=1)).known_at(Moment.SUBMIT)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        advice = decide(queue, fitted, Knob("nodes", NODES), Knee(), Deadline("24h", 0.9))
        seconds.append(time.perf_counter() - began)
    return {
        "schema": "rheostat.bench-advise/1",
        "jobs": n_jobs,
        "settings": len(NODES),
        "kind": kind,
        "seed": seed,
        "seconds": round(float(np.min(seconds)), 2),
        "counts": advice.counts(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--kind", default="forest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    facts = measure(args.jobs, args.kind, args.seed)
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        print("{jobs:,} jobs x {settings} settings advised in {seconds} s ({kind})".format(**facts))


if __name__ == "__main__":
    main()
