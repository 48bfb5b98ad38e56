"""A type of GPU that was never measured, answered from its data sheet: why `llm plan` abstains.

    python benchmarks/serving_gpus.py [--seeds N]

Of each source of `serving_sources` one type of GPU is left out in turn.  The law is fitted to 60
random rows of the others (or all, where there are fewer) and asked for the type that was left out:
median error, and what 90 % intervals hold, of energy per token and of the time between tokens.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import energylens
import numpy as np
import serving_sources
from rich.console import Console
from rich.table import Table

from rheostat.core.jobs import JobTable
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.predictor import NOISE

ROWS, FEWEST = 60, 10
TARGETS = ("energy_per_token_j", "itl_s")


def main() -> None:
    """Print a row for each type of GPU and quantity."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--seeds", type=int, default=4)
    seeds = args.parse_args().seeds
    said = Table("source", "without", "quantity", "rows", "median error", "90 % hold")
    for name, runs in sources().items():
        for cells in left_out(runs, seeds):
            said.add_row(name, *cells)
    Console(width=120).print(said)


def sources() -> dict[str, JobTable]:
    """Those with two types of GPU or more."""
    root = energylens.ROOT / "llm"
    return {
        "mlenergy-v3": energylens.loaded(), "mlenergy-v2": energylens.with_pipelines(),
        "argonne": serving_sources.argonne_power(root), "wilkins": serving_sources.wilkins(root),
    }  # fmt: skip


def left_out(runs: JobTable, seeds: int) -> Iterator[tuple[str, ...]]:
    """Cells of each type of GPU that enough rows are left without."""
    every = Configurations.of(runs)
    for gpu in np.unique(every.gpu):
        rest, held = np.flatnonzero(every.gpu != gpu), np.flatnonzero(every.gpu == gpu)
        if len(rest) < FEWEST:
            continue
        laws = []
        for seed in range(seeds):
            few = np.random.default_rng(seed).choice(rest, min(ROWS, len(rest)), replace=False)
            laws.append(ServingLaw().fit(runs.rows(np.sort(few))))
        for target in TARGETS:
            off, inside = [], []
            for law in laws:
                mean, spread = law.posterior(every.of_rows(held), [target])
                error = np.abs(mean - np.log(runs.numpy(target)[held]))
                deviation = np.sqrt(np.diag(spread) + NOISE**2)
                off.append(np.median(np.expm1(error)))
                inside.append(np.mean(error <= serving_sources.Z90 * deviation))
            yield (str(gpu), target, str(len(held)), f"{100 * np.mean(off):.0f} %",
                   f"{100 * np.mean(inside):.0f} %")  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
