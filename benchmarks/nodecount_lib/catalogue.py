"""Find the pools below a folder: known layouts first, any other CSV by guessing its columns."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from .known import known_loader
from .pools import QUANTITIES, Pool

REPO = Path(__file__).resolve().parents[2]
STANDARD = ("spechpc-*", "lulesh/*", "zeus-v100/*", "zeus-a40/*", "v100-capclock/*")
"""Default selection; of the four GPU types of Zeus two are run, an old and a new one, to bound the
cost."""
QUICK = (
    "spechpc-B/lbm",
    "spechpc-B/soma",
    "zeus-v100/imagenet",
    "v100-capclock/matmul_compute_bound",
)
MIN_SETTINGS = 6


def default_data() -> Path:
    """Folder of the measured tables; the environment variable RHEOSTAT_DATA moves its parent."""
    root = os.environ.get("RHEOSTAT_DATA")
    return (Path(root) if root else REPO.parent / "shared" / "data") / "runs"


def read_csv(path: Path) -> pl.DataFrame:
    """The CSV as a frame, numbers inferred from all rows; the header says what separates columns.

    A decimal comma is one where semicolons separate.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        head = [file.readline() for _ in range(50)]
    separator = max(",;\t", key=head[0].count)
    return pl.read_csv(
        path,
        separator=separator,
        decimal_comma=separator == ";" and any(re.search(r"\d,\d", line) for line in head[1:]),
        infer_schema_length=None,
        ignore_errors=False,
        truncate_ragged_lines=True,
    )


def load_file(path: Path) -> tuple[list[Pool], list[str]]:
    """Pools of one CSV and notes on what was left out."""
    from .guess import guess_pools

    try:
        frame = read_csv(path)
    except (PolarsError, OSError, UnicodeDecodeError) as error:
        return [], [f"{path.name}: not readable as CSV ({str(error).splitlines()[0]})"]
    loader = known_loader(frame.columns)
    return loader(frame, path) if loader else guess_pools(frame, path)


def load_folder(folder: Path) -> tuple[list[Pool], list[str]]:
    """All usable pools below `folder`, and notes; a pool seen twice is kept once."""
    pools: dict[str, Pool] = {}
    notes: list[str] = []
    seen: set[str] = set()
    for path in sorted(folder.rglob("*.csv")):
        found, said = load_file(path)
        notes += said
        for pool in found:
            why = unusable(pool)
            if why or pool.digest in seen or pool.name in pools:
                reason = why or "already read from another table"
                notes.append(f"{path.name}: pool {pool.name} left out, {reason}")
                continue
            seen.add(pool.digest)
            pools[pool.name] = pool
    return list(pools.values()), notes


def unusable(pool: Pool) -> str | None:
    """Why a pool cannot be scored, or None."""
    if pool.n < MIN_SETTINGS:
        return f"only {pool.n} settings"
    spread = pool.log_y.max(axis=0) - pool.log_y.min(axis=0)
    flat = [name for name, s in zip(QUANTITIES, spread, strict=True) if s < 1e-9]
    return f"{' and '.join(flat)} constant" if flat else None


def select(pools: list[Pool], patterns: tuple[str, ...]) -> list[Pool]:
    """Pools whose name matches any of the shell patterns, in catalogue order."""
    return [p for p in pools if any(fnmatch.fnmatch(p.name, pattern) for pattern in patterns)]
