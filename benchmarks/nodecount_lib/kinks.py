"""Generated pairs of tables: past applications have a kink where this one has none, or elsewhere.

Three laws of known truth: communication that grows from some nodes on, a problem that fits caches
from some nodes on, and clocks above which memory is the limit.  Noise of runtime and power is 1 %.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from .pools import Array

NODES = np.array([1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32], dtype=float)
CLOCKS = np.arange(600.0, 2000.0, 100.0)
NEVER = 9999.0
PAIRS = {
    "communication": ((4, 14), (14, 4), (6, NEVER), (NEVER, 6)),
    "caches": ((4, 14), (14, 4), (6, NEVER), (NEVER, 6)),
    "clocks": ((900, 1500), (1500, 900), (1000, NEVER), (NEVER, 1000)),
}
"""Where the kink of past applications is, and where this application's is."""
PAST, NOISE = 6, 0.01


def knob_of(law: str) -> str:
    """What is turned."""
    return "clock_mhz" if law == "clocks" else "nodes"


def pairs(seed: int) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Name, runs of the application in question, runs of the past ones."""
    for number, (law, kinks) in enumerate(PAIRS.items()):
        for place, (past, here) in enumerate(kinks):
            rng = np.random.default_rng([seed, number, place])
            others = [_runs(law, past, f"past {i}", rng) for i in range(PAST)]
            yield f"{law} {past:g} {here:g}", _runs(law, here, "here", rng), pl.concat(others)


def _runs(law: str, kink: float, app: str, rng: np.random.Generator) -> pl.DataFrame:
    x = CLOCKS if law == "clocks" else NODES
    runtime, power = _clocks(x, kink, rng) if law == "clocks" else _nodes(law, x, kink, rng)
    runtime, power = np.stack([runtime, power]) * np.exp(NOISE * rng.normal(size=(2, len(x))))
    costs = {"runtime_s": runtime, "power_w": power, "energy_j": runtime * power}
    return pl.DataFrame({knob_of(law): x, **costs}).with_columns(app=pl.lit(app))


def _nodes(law: str, x: Array, kink: float, rng: np.random.Generator) -> tuple[Array, Array]:
    power = rng.uniform(300, 600) * x ** rng.uniform(0.93, 1.0)
    work = rng.uniform(200, 3000)
    if law == "caches":
        fits = np.where(x >= kink, rng.uniform(1.5, 2.2), 1.0)
        return work / x ** rng.uniform(0.75, 0.9) / fits, power
    serial = rng.uniform(0.005, 0.05)
    runtime = work * (serial + (1 - serial) / x ** rng.uniform(0.85, 1.0))
    return runtime * np.maximum(x / kink, 1.0) ** rng.uniform(0.7, 1.3), power


def _clocks(x: Array, kink: float, rng: np.random.Generator) -> tuple[Array, Array]:
    runtime = rng.uniform(2e4, 2e5) / np.minimum(x, kink) ** rng.uniform(0.85, 1.0)
    power = rng.uniform(60, 110) + rng.uniform(120, 220) * (x / 1900) ** rng.uniform(2, 3)
    return runtime, power
