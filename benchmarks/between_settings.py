"""Do intervals of settings that were not measured hold, between settings that were?

    python benchmarks/between_settings.py [--seeds 30] [--first 200]

An application is measured twice on each of five node counts of 1 to 64, with 1 % of noise, and
`rheostat.front` is asked for the two between.  Run times follow laws that the model has no form of
but one (a serial part): a floor, communication that grows, a kink where data begin to fit into a
cache.  Power per node falls as nodes idle.  Coverage is of the printed 90 % intervals; width is how
far the upper end is above the lower one, in the median.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

import numpy as np

import rheostat as rh

Array = np.ndarray
Law = Callable[[Array], Array]
NODES = (1, 2, 4, 8, 16, 32, 64)
BETWEEN = 2
NOISE = 0.01
QUANTITIES = ("runtime_s", "energy_j")


def floor(rng: np.random.Generator) -> Law:
    """What nodes divide, and what stays."""
    work, least, power = rng.uniform(2000, 8000), rng.uniform(50, 400), rng.uniform(0.8, 1)
    return lambda n: work / n**power + least


def serial_part(rng: np.random.Generator) -> Law:
    """Amdahl's law."""
    work, serial = rng.uniform(2000, 8000), 10 ** rng.uniform(-3, -1)
    return lambda n: work * (serial + (1 - serial) / n)


def communication(rng: np.random.Generator) -> Law:
    """Amdahl's law, and messages that grow with the nodes."""
    work, serial = rng.uniform(2000, 8000), rng.uniform(0.002, 0.03)
    cost, power = rng.uniform(1, 6), rng.uniform(0.9, 1.3)
    return lambda n: work * (serial + (1 - serial) / n) + cost * n**power


def kink(rng: np.random.Generator) -> Law:
    """Amdahl's law, slower by a factor below some number of nodes."""
    work, place = rng.uniform(2000, 8000), 2 ** rng.uniform(1.2, 4.8)
    slower, serial = rng.uniform(0.3, 1.0), rng.uniform(0.002, 0.03)
    return lambda n: work * (1 + slower * (n < place)) * (serial + (1 - serial) / n)


LAWS = {"floor": floor, "serial part": serial_part, "communication": communication, "kink": kink}


def truth(law: str, rng: np.random.Generator) -> dict[str, Array]:
    """Run time (s) and energy (J) on each of `NODES`."""
    nodes = np.array(NODES, float)
    runtime = LAWS[law](rng)(nodes)
    idle, busy = rng.uniform(120, 250), rng.uniform(100, 250)
    use = np.clip(runtime[0] / (nodes * runtime), 0.02, 1.2)
    return {"runtime_s": runtime, "energy_j": runtime * nodes * (idle + busy * use)}


def judged(law: str, seed: int) -> dict[str, list[tuple[bool, float]]]:
    """(does the interval hold, its width) of each setting between, by quantity."""
    rng = np.random.default_rng([seed, list(LAWS).index(law)])
    true = truth(law, rng)
    between = set(rng.choice(np.arange(1, 6), BETWEEN, replace=False))
    rows = [k for k in range(len(NODES)) if k not in between for _ in range(2)]
    noisy = {q: v[rows] * np.exp(rng.normal(0, NOISE, len(rows))) for q, v in true.items()}
    runs = rh.table({"nodes": np.array(NODES)[rows], **noisy})
    front = rh.front(runs, knobs=f"nodes={','.join(map(str, NODES))}").front
    place = {n: k for k, n in enumerate(front.alternatives.frame["nodes"].to_list())}
    result = {}
    for quantity in QUANTITIES:
        low, high = (np.asarray(end) for end in front.outcome.interval(quantity))
        at = [(k, place[NODES[k]]) for k in sorted(between)]
        result[quantity] = [
            (bool(low[i] <= true[quantity][k] <= high[i]), float(high[i] / low[i] - 1))
            for k, i in at
        ]
    return result


def page(results: Mapping[str, list[dict[str, list[tuple[bool, float]]]]]) -> list[str]:
    """Markdown: a row per law."""
    lines = ["| law | settings | run time held | energy held | width, run time | width, energy |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for law, every in results.items():
        of = {q: [pair for one in every for pair in one[q]] for q in QUANTITIES}
        held = [f"{np.mean([h for h, _ in of[q]]):.0%}" for q in QUANTITIES]
        width = [f"{np.median([w for _, w in of[q]]):.0%}" for q in QUANTITIES]
        lines.append(f"| {law} | {len(of['runtime_s'])} | {' | '.join(held + width)} |")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first", type=int, default=200)
    args = parser.parse_args()
    results = {}
    for law in LAWS:
        print(law, file=sys.stderr, flush=True)
        results[law] = [judged(law, args.first + k) for k in range(args.seeds)]
    print("\n".join(page(results)))


if __name__ == "__main__":
    main()
