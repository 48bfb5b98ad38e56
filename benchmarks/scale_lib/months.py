"""Months of one generated Fugaku-like site, in F-DATA's columns, one parquet file each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from published_logs.fugaku import write_fdata

from rheostat.core.jobs import JobTable
from rheostat.measurement.job_logs.fdata import read_fdata
from rheostat.measurement.synthetic.world import World

MONTHS = 38
"""F-DATA runs from March 2021 to April 2024."""
LARGEST = 800_000
"""Rows of a month at most, about what F-DATA's fullest has: more rows are more months."""
BYTES_PER_ROW = 260
"""On disk, measured: 183 of the parquet files without embedding, 1 per coded number, and room."""


def site(rows_per_month: int, seed: int) -> World:
    """2,000 users, 300 applications, all that Fugaku could be asked for up to 256 nodes."""
    return World(
        seed=seed,
        n_apps=300,
        n_users=2000,
        work_scale=0.1,
        jobs_per_day=rows_per_month / 30,
    )


def sizes(rows: int, months: int) -> list[int]:
    """Rows of each month, nearly equal, ``rows`` in all."""
    return [rows * (i + 1) // months - rows * i // months for i in range(months)]


def generate(
    folder: Path, rows: int, seed: int, told: Callable[[int, int], None], months: int = 0
) -> list[Path]:
    """Write the months that are not there yet; a month is renamed to its name when whole."""
    folder.mkdir(parents=True, exist_ok=True)
    months = months or max(MONTHS, -(-rows // LARGEST))
    world, paths = site(rows // months, seed), []
    for i, n in enumerate(sizes(rows, months)):
        path = folder / f"{21 + (i + 2) // 12:02d}_{(i + 2) % 12 + 1:02d}.parquet"
        if not path.exists():
            draft = path.with_suffix(".part")
            write_fdata(draft, n, world=world, month=i, embedding=False)
            draft.rename(path)
        paths.append(path)
        told(i + 1, months)
    return paths


def room(folder: Path, rows: int) -> None:
    """Stop before the disk is full rather than after."""
    folder.mkdir(parents=True, exist_ok=True)
    free, needed = shutil.disk_usage(folder).free, rows * BYTES_PER_ROW
    if free < needed:
        raise SystemExit(
            f"{folder}: {needed / 1e9:.0f} GB needed for {rows:,} rows, {free / 1e9:.0f} GB free; "
            "give another --folder or fewer --rows"
        )


def read_month(path: str, columns: Sequence[str] | None) -> Iterator[JobTable]:
    """A month as one batch."""
    jobs = read_fdata(path)
    yield jobs if columns is None else jobs.select(list(columns))
