"""A measured table with gaps: does `front` take a setting as good as the best measured one?

    python benchmarks/gaps.py [--quick] [--json]

Cells of one application are hidden; its other cells and all other applications of the family stay.
`rheostat.front` fills the gaps with the command line's model, and the least energy-delay product,
energy or runtime is taken.  Regret is the logarithm of what the taken setting costs (as
measured, hidden or not) over the best of all cells.  Three ways to take one: by the expected value
of every setting, the best measured row alone, and `Front.choose`.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nodecount_lib.catalogue import default_data  # noqa: E402
from nodecount_lib.pools import Pool, prior_of  # noqa: E402
from nodecount_lib.sources import drawn, load  # noqa: E402

import rheostat as rh  # noqa: E402
from rheostat.core.front import Front  # noqa: E402
from rheostat.prediction.scaling_law import LawGP  # noqa: E402
from rheostat.tradeoff.all_settings import front as one_front  # noqa: E402
from rheostat.tradeoff.rules import Weighted  # noqa: E402

KEPT = (0.25, 0.5, 0.75, 0.9)
RULES = {
    "edp": Weighted({"runtime_s": 1, "energy_j": 1}),
    "energy": Weighted({"energy_j": 1}),
    "runtime": Weighted({"runtime_s": 1}),
}
COST = {"edp": (1.0, 0.0, 1.0), "energy": (0.0, 0.0, 1.0), "runtime": (1.0, 0.0, 0.0)}


def main() -> None:
    """Rows as JSON, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 pools a source and 1 seed")
    parser.add_argument("--json", action="store_true", help="all rows as one JSON document")
    args = parser.parse_args()
    by = load(default_data().parent, lambda text: print(text, file=sys.stderr))
    rows = [
        row | {"source": source}
        for source, pools in by.items()
        for pool in drawn(pools, 2 if args.quick else 6)
        for seed in range(1 if args.quick else 2)
        for kept in KEPT
        for row in judged(pool, prior_of(pool, pools), kept, seed)
    ]
    ways = ("expected", "measured", "choose")
    print("| kept | rule | " + " | ".join(f"{w}: mean, worst" for w in ways) + " | gaps taken |")
    print("|---|---|" + "---|" * 4)
    for kept in KEPT:
        for rule in RULES:
            here = [r for r in rows if (r["kept"], r["rule"]) == (kept, rule)]
            said = [f"{_mean(here, w):.3f}, {max(r[w] for r in here):.2f}" for w in ways]
            taken = sum(r["gap"] for r in here)
            print(f"| {kept:.0%} | {rule} | {' | '.join(said)} | {taken} of {len(here)} |")
    if args.json:
        print(json.dumps({"schema": "rheostat.bench-gaps/1", "rows": rows}))


def _mean(rows: list[dict[str, object]], way: str) -> float:
    return float(np.mean([r[way] for r in rows]))  # type: ignore[misc]


def judged(pool: Pool, others: list[Pool], kept: float, seed: int) -> list[dict[str, object]]:
    """Regret of each way and rule, a share of the pool's cells being measured."""
    rng = np.random.default_rng([seed, int(100 * kept)])
    held = np.sort(rng.permutation(pool.n)[: max(3, round(kept * pool.n))])
    own = _table([(pool, held)])
    runs = _table([(pool, held), *((p, np.arange(p.n)) for p in others)])
    model = LawGP(pool.knobs, seed=seed).fit(runs)
    settings = [dict(zip(pool.knobs, s, strict=True)) for s in pool.settings.tolist()]
    knobs = [rh.Knob(k, np.unique(pool.settings[:, j]).tolist()) for j, k in enumerate(pool.knobs)]
    front = one_front(own.rows([0]).select(["app"]), model, knobs, settings=settings, runs=own)
    rows = []
    for name, rule in RULES.items():
        cost = pool.log_y @ np.array(COST[name])
        best = held[np.argmin(cost[held])]
        taken = front.choose(rule).index
        everywhere = _plain(front).choose(rule).index
        regrets = {"expected": everywhere, "measured": best, "choose": taken}
        row = {w: float(cost[i] - cost.min()) for w, i in regrets.items()}
        gap = {"pool": pool.name, "rule": name, "kept": kept, "seed": seed}
        rows.append(gap | row | {"gap": int(taken not in held)})
    return rows


def _plain(front: Front) -> Front:
    """The front as if nothing told measured settings apart."""
    return replace(front, repeats=None)


def _table(parts: list[tuple[Pool, np.ndarray]]) -> rh.JobTable:
    """Runs of pools at some of their settings."""
    first = parts[0][0]
    columns = {k: np.concatenate([p.settings[at, j] for p, at in parts])
               for j, k in enumerate(first.knobs)}  # fmt: skip
    app = np.concatenate([np.repeat(p.app, len(at)) for p, at in parts])
    y = np.exp(np.concatenate([p.log_y[at] for p, at in parts]))
    return rh.table({"app": app, **columns, "runtime_s": y[:, 0], "power_w": y[:, 1]})


if __name__ == "__main__":
    main()
