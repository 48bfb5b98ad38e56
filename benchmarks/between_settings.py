"""Do intervals of settings that were not measured hold, between settings that were?

    python benchmarks/between_settings.py [--seeds 30] [--first 200] [--two]

An application is measured twice on each of five node counts of 1 to 64, with 1 % of noise, and
`rheostat.front` is asked for the two between.  Run times follow laws that the model has no form of
but one (a serial part): a floor, communication that grows, a kink where data begin to fit into a
cache.  Power per node falls as nodes idle.  Coverage is of the printed 90 % intervals; width is how
far the upper end is above the lower one, in the median.

With ``--two`` the clock is a knob as well: one run at 55 to 100 % of six node counts by three
clocks, and every setting of ten by six is asked for.  ``apart`` is how many times as wide one
interval is as its neighbour's (in logarithm; the ratio that one pair in a hundred exceeds).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

import rheostat as rh

Array = np.ndarray
Law = Callable[[Array], Array]
NODES = (1, 2, 4, 8, 16, 32, 64)
BETWEEN = 2
NOISE = 0.01
GRID = {
    "nodes": np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32.0]),
    "freq_ghz": np.array([1.2, 1.4, 1.6, 1.8, 2.1, 2.4]),
}
RUN = ((1, 2, 4, 8, 16, 32), (1.2, 1.6, 2.4))
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


def judged_two(law: str, seed: int) -> dict[str, tuple[Array, Array]]:
    """(do intervals hold, their logarithmic width) on `GRID`, NaN where a setting was run."""
    rng = np.random.default_rng([seed, list(LAWS).index(law)])
    nodes, clock = (v.ravel() for v in np.meshgrid(*GRID.values(), indexing="ij"))
    bound = rng.uniform(0.2, 0.9)
    runtime = LAWS[law](rng)(nodes) * (1 - bound + bound * 2.4 / clock)
    power = nodes * (rng.uniform(100, 250) + rng.uniform(50, 200) * (clock / 2.4) ** 2)
    true = {"runtime_s": runtime, "energy_j": runtime * power}
    lattice = np.flatnonzero(np.isin(nodes, RUN[0]) & np.isin(clock, RUN[1]))
    ran = rng.choice(lattice, round(rng.choice([0.55, 0.8, 1.0]) * len(lattice)), replace=False)
    noise = np.exp(rng.normal(0, NOISE, (2, len(ran))))
    cost = {"runtime_s": runtime[ran] * noise[0], "energy_j": true["energy_j"][ran] * noise.prod(0)}
    runs = rh.table({"nodes": nodes[ran].astype(int), "freq_ghz": clock[ran], **cost})
    knobs = [f"{k}={','.join(f'{v:g}' for v in values)}" for k, values in GRID.items()]
    front = rh.front(runs, knobs=knobs).front
    rows = zip(*(front.alternatives.frame[k].to_list() for k in GRID), strict=True)
    place = {row: i for i, row in enumerate(rows)}
    result = {}
    for quantity in QUANTITIES:
        low, high = (np.asarray(end) for end in front.outcome.interval(quantity))
        held, width = np.full((2, len(nodes)), np.nan)
        for k in set(range(len(nodes))) - set(ran.tolist()):
            i = place[(int(nodes[k]), float(clock[k]))]
            if np.isfinite(low[i]):
                held[k] = low[i] <= true[quantity][k] <= high[i]
                width[k] = np.log(high[i] / low[i])
        shape = [len(values) for values in GRID.values()]
        result[quantity] = held.reshape(shape), width.reshape(shape)
    return result


def page_two(results: Mapping[str, list[dict[str, tuple[Array, Array]]]]) -> list[str]:
    """Markdown: a row per law."""
    heads = "law | settings | run time held | energy held | width, run time | width, energy | apart"
    lines = [f"| {heads} |", "|---|---|---|---|---|---|---|"]
    for law, every in results.items():
        cells = {q: np.stack([one[q] for one in every]) for q in QUANTITIES}  # (table, 2, n, c)
        held = [f"{np.nanmean(v[:, 0]):.0%}" for v in cells.values()]
        width = [f"{np.exp(np.nanmedian(v[:, 1])) - 1:.0%}" for v in cells.values()]
        logs = np.log(np.stack(list(cells.values()))[:, :, 1])
        apart = np.concatenate([np.abs(np.diff(logs, axis=a)).ravel() for a in (2, 3)])
        ratio = np.exp(np.nanquantile(apart, 0.99))
        count = np.isfinite(cells["runtime_s"][:, 1]).sum()
        lines.append(f"| {law} | {count} | {' | '.join(held + width)} | {ratio:.1f} |")
    return lines


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
    parser.add_argument("--two", action="store_true", help="nodes and clock")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    if args.two:
        print("\n".join(page_two({law: [judged_two(law, s) for s in seeds] for law in LAWS})))
    else:
        print("\n".join(page({law: [judged(law, s) for s in seeds] for law in LAWS})))


if __name__ == "__main__":
    main()
