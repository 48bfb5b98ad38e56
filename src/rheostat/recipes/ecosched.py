"""EcoSched: which jobs share a node's GPUs, on how many each; as released, and ours beside it.

The mechanisms are `rheostat.decide.coschedule` (policies) and `rheostat.simulate.node` (what comes
of them); here are the authors' settings, policies by name and the readers of profiles and queues.

References
----------
Zheng, Papka, Lan: Towards energy efficient co-scheduling in HPC, arXiv 2604.17640 (2026); settings
are those of the logs released with the code (EcoPack).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.files import ordinary_file
from rheostat.core.vocabulary import table
from rheostat.decide.coschedule.baselines import Marble, Sequential
from rheostat.decide.coschedule.ecosched import EcoSched
from rheostat.decide.coschedule.node import CoPolicy, Waiting
from rheostat.decide.coschedule.packed import Packed
from rheostat.decide.coschedule.profile import Profiles, profiles_of
from rheostat.errors import DataError

POLICIES = ("packed", "ecosched", "ecosched-score", "marble", "sequential-fastest",
            "sequential-most")  # fmt: skip
IDLE_W = {"V100": 43.0, "A100": 53.0, "H100": 70.0}
TOLERANCE = {"V100": 0.2, "A100": 0.2, "H100": 0.14}
ANCHOR = "pot3d"
"""The first action of the released policy had to hold this application."""

NAMES = {
    "gpu_count": "gpus", "total_gpu_power_w": "power_w", "dram_active_sum": "dram_active",
    "fp_active_sum": "fp_active", "sm_clock_sum_mhz": "sm_clock",
}  # fmt: skip


def make_policy(name: str, profiles: Profiles, idle_w: float, **options: Any) -> CoPolicy:
    """A policy by name; ``options`` are its own (tolerance, anchor, tenants, crowd, seed, ...)."""
    if name == "packed":
        return Packed(profiles, idle_w, **options)
    if name.startswith("ecosched"):
        return EcoSched(profiles, idle_w, bandit=name == "ecosched", **options)
    if name == "marble":
        return Marble(profiles, **options)
    if name.startswith("sequential-") and name.split("-")[1] in ("most", "fastest"):
        return Sequential(profiles, name.split("-")[1], **options)
    raise DataError("--policy", [f"expected one of {', '.join(POLICIES)}, got {name!r}"])


def read_profiles(path: str | Path, where: dict[str, str] | None = None) -> Profiles:
    """Profiles from a CSV or parquet file, rows limited to ``where`` (column = value).

    Wanted are app, gpus (or gpu_count), runtime_s and power_w, the watts of all its GPUs.
    """
    frame = _frame(path)
    missing = [c for c in where or {} if c not in frame.columns]
    if missing:
        raise DataError(str(path), [f"column {c} is missing" for c in missing])
    for column, value in (where or {}).items():
        frame = frame.filter(pl.col(column).cast(pl.String) == value)
    if not frame.height:
        raise DataError(str(path), [f"no row has {where}"])
    frame = frame.rename({k: v for k, v in NAMES.items() if k in frame.columns
                          and v not in frame.columns})  # fmt: skip
    _one_machine(path, frame)
    keep = ("app", "gpus", "runtime_s", "power_w", "cap_w", "dram_active", "fp_active", "sm_clock")
    return profiles_of(table(frame.select([c for c in keep if c in frame.columns])))


def _one_machine(path: str | Path, frame: pl.DataFrame) -> None:
    """Raise where the same mode stands there for several machines: their mean would be of none."""
    key = [c for c in ("app", "gpus", "cap_w") if c in frame.columns]
    if not {"app", "gpus"} <= set(key):
        return
    names = [c for c, t in frame.schema.items() if t == pl.String and c not in key]
    mixed = frame.group_by(key).agg(pl.col(names).n_unique())
    odd = [c for c in names if int(mixed[c].max() or 0) > 1]  # type: ignore[arg-type]
    if odd:
        told = [f"--where {c}=... is needed: {', '.join(sorted(map(str, frame[c].unique())))}"
                for c in odd]  # fmt: skip
        raise DataError(str(path), told)


def queue_of(text: str, profiles: Profiles) -> list[Waiting]:
    """A queue from names with counts, ``resnet50*3,lbm``, or a file with app and submit_s.

    >>> [w.name for w in queue_of("a*2,b", {"a": (), "b": ()})]
    ['a#1', 'a#2', 'b']
    """
    if Path(text).is_file():
        frame = _frame(text)
        rows = frame.rows(named=True)
        queue = [Waiting(str(r.get("job_id") or f"{r['app']}#{i + 1}"), str(r["app"]),
                         float(r.get("submit_s") or 0.0)) for i, r in enumerate(rows)]  # fmt: skip
    else:
        queue = []
        for part in [p.strip() for p in text.split(",") if p.strip()] or sorted(profiles):
            app, _, count = part.partition("*")
            n = int(count) if count.isdigit() else 1
            queue += [Waiting(app if n == 1 else f"{app}#{k + 1}", app) for k in range(n)]
    unknown = sorted({w.app for w in queue} - set(profiles))
    if unknown:
        there = ", ".join(sorted(profiles))
        raise DataError("queue", [f"{a} has no profile; there are {there}" for a in unknown])
    return queue


def _frame(path: str | Path) -> pl.DataFrame:
    path = ordinary_file(path)
    if path.suffix == ".parquet":
        return pl.read_parquet(path)
    return pl.read_csv(path, infer_schema_length=None)


def gain(better: Sequence[float], worse: Sequence[float]) -> tuple[float, float, float]:
    """Percent less (energy, makespan, their product) of one outcome against another.

    >>> [round(v, 1) for v in gain((90.0, 50.0), (100.0, 100.0))]
    [10.0, 50.0, 55.0]
    """
    e, m = better[0] / worse[0], better[1] / worse[1]
    return 100 * (1 - e), 100 * (1 - m), 100 * (1 - e * m)
