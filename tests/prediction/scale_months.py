"""Months of a small made-up site, in memory or as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table

APPS, USERS = 30, 80
TRUE = np.random.default_rng(99)
WORK = TRUE.lognormal(7.0, 1.5, APPS)
SERIAL = TRUE.uniform(0.01, 0.2, APPS)
NODE_W = TRUE.uniform(60.0, 140.0, APPS)


def month(number: int, rows: int) -> JobTable:
    """Jobs whose runtime and power follow from app and nodes, times noise of 20 % and 5 %."""
    rng = np.random.default_rng([7, number])
    user = (USERS * rng.random(rows) ** 2).astype(int)
    app = (user * 7 + rng.integers(0, 3, rows)) % APPS
    nodes = 2 ** rng.integers(0, 9, rows)
    runtime = WORK[app] * (SERIAL[app] + (1 - SERIAL[app]) / nodes) * rng.lognormal(0, 0.2, rows)
    censored = rng.random(rows) < 0.03
    start = 30 * 86_400.0 * number
    return table(
        {
            "job_id": np.arange(rows) + rows * number,
            "user": [f"u{i}" for i in user],
            "app": [f"a{i}" for i in app],
            "nodes": nodes,
            "time_limit_s": np.ceil(runtime * rng.uniform(1, 5, rows) / 600) * 600,
            "submit_s": start + np.sort(rng.random(rows)) * 30 * 86_400,
            "runtime_s": np.where(censored, runtime / 2, runtime),
            "power_w": NODE_W[app] * nodes * rng.lognormal(0, 0.05, rows),
            "censored": censored,
        }
    )


def write_months(folder: Path, count: int, rows: int) -> list[Path]:
    """One file per month, in time order."""
    paths = [folder / f"{i:02d}.parquet" for i in range(count)]
    for i, path in enumerate(paths):
        month(i, rows).write_parquet(path)
    return paths
