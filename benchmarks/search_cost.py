"""What does it cost to ask which setting to measure next?

    python benchmarks/search_cost.py [--quick] [--json]

One ask of `rheostat search` after eight results, in a process of its own: CPU seconds for building
the model and asking, and the largest memory of the process, libraries included (0.4 GB before
anything is asked).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

Case = tuple[tuple[int, ...], int]
CASES: list[Case] = [
    ((16,), 0),
    ((18, 10), 0),
    ((18, 10), 200),
    ((50, 40), 0),
    ((50, 40), 200),
    ((40, 25, 20), 0),
    ((40, 25, 20), 200),
    ((3, 3, 3, 3, 3, 3, 3, 3, 3), 0),
    ((2, 2, 3, 3, 3, 3, 3, 2, 2, 2), 200),
    ((40, 50, 100), 200),
    ((0, 0, 0), 0),
    ((0,) * 10, 200),
]
"""Values of each knob (0: a range), and runs of other applications."""
QUICK = [CASES[i] for i in (0, 2, 4, 6)]
TOLD, APPLICATIONS = 8, 10


def measured(values: tuple[int, ...], prior_runs: int) -> dict[str, object]:
    """One row, in this process."""
    import resource
    import time

    import numpy as np

    from rheostat import Knob, Outcome, Space, table
    from rheostat.tradeoff.propose.proposer import proposer

    names = ["nodes", "cap_w", *(f"knob{i}" for i in range(2, len(values)))]
    space = Space(
        tuple(
            Knob(n, range(1, v + 1)) if v else Knob(n, low=1, high=64)
            for n, v in zip(names, values, strict=False)
        )
    )
    rng = np.random.default_rng(0)

    def cost(jobs, work=1000.0):  # type: ignore[no-untyped-def]
        x = [np.log(jobs.numpy(n)) for n in space.names]
        runtime = np.log(work) - 0.7 * x[0] + 0.05 * sum(v**2 for v in x)
        return Outcome(
            {"runtime_s": np.exp(runtime)[None], "power_w": np.exp(5 + 0.8 * x[0])[None]}
        )

    def some(count: int):  # type: ignore[no-untyped-def]
        return space.alternatives(None, space.sample(rng.random((count, len(values)))))

    prior = None
    if prior_runs:
        rows = some(prior_runs)
        work = np.repeat(rng.uniform(300, 3000, APPLICATIONS), prior_runs // APPLICATIONS)
        costs = cost(rows, work)
        data = {n: rows.numpy(n) for n in space.names}
        data |= {q: costs.mean(q) for q in ("runtime_s", "power_w")}
        app = np.repeat([f"a{i}" for i in range(APPLICATIONS)], prior_runs // APPLICATIONS)
        prior = table({"app": app, **data})
    asker = proposer("law", space, ("runtime_s", "energy_j"), prior=prior, budget=TOLD + 4)
    rows = some(TOLD)
    asker.tell(rows, cost(rows))
    proposer("law", Space((Knob("nodes", [1, 2]),)), ("runtime_s", "energy_j")).ask()  # imports
    started = time.process_time()
    asker.ask()
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    settings = math.prod(values) or "range"
    return {
        "settings": settings,
        "knobs": len(values),
        "prior_runs": prior_runs,
        "ask_cpu_s": round(seconds, 2),
        "peak_gb": round(peak, 2),
    }


def main() -> None:
    """Rows as JSON, or a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four of the twelve spaces")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        values, runs = json.loads(args.case)
        print(json.dumps(measured(tuple(values), runs)))
        return
    rows = []
    for case in QUICK if args.quick else CASES:
        command = [sys.executable, __file__, "--case", json.dumps(case)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout))
        print("  ".join(f"{k} {v}" for k, v in rows[-1].items()), file=sys.stderr)
    if args.json:
        print(json.dumps({"schema": "rheostat.bench-search-cost/1", "rows": rows}))


if __name__ == "__main__":
    main()
