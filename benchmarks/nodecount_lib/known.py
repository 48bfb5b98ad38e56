"""Loaders for the measured tables whose columns are documented by their publishers.

Each loader recognises its table by the header, not by the file name, and states what it leaves out.
SPEChpc: RRZE-HPC/PMBS23-AD.  LULESH: RRZE-HPC/LULESH-AD.  Zeus: ml-energy/zeus (NSDI'23 trace).
V100 cap x clock: denisa-c/gridpilot.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from .noise import of_repeats
from .pools import Pool, make_pool

Loaded = tuple[list[Pool], list[str]]
CORES_PER_NODE = {"A": 72, "B": 104}
MIN_NODE_COUNTS = 16
"""A code counts as complete on a cluster if it was run at this many node counts or more."""


def _columns(frame: pl.DataFrame, *names: str) -> np.ndarray:
    return frame.select(pl.col(n).cast(pl.Float64) for n in names).to_numpy()


def load_spechpc(frame: pl.DataFrame, path: Path) -> Loaded:
    """SPEChpc 2021 small suite over node counts, two clusters.

    Full nodes only.  Runtime is the longest unhalted time of any rank (fixed clock, busy waiting),
    because the RDTSC window includes the staggered start-up; power (package + DRAM) is the repeat
    whose window is least stretched by it.
    """
    full = pl.col("procs") == pl.col("hosts") * pl.col("cluster").replace_strict(CORES_PER_NODE)
    frame = frame.with_columns(skew=pl.col("rt_rdtsc_max") / pl.col("rt_unhalted_max"))
    kept = frame.filter(
        (pl.col("workload") == "small") & full & pl.col("power_pkg_W").is_not_null()
    )
    pools: list[Pool] = []
    notes: list[str] = []
    for (cluster, bench), runs in sorted(kept.group_by("cluster", "bench")):
        best = runs.sort("skew").unique("hosts", keep="first")
        if len(best) < MIN_NODE_COUNTS:
            notes.append(
                f"{path.name}: {bench} on {cluster} left out, only {len(best)} node counts"
            )
            continue
        repeats = [_of_spechpc(r) for _, r in runs.sort("hosts").group_by("hosts")]
        pools.append(
            make_pool(
                f"spechpc-{cluster}/{bench}",
                f"spechpc-{cluster}",
                str(bench),
                knobs=("nodes",),
                settings=_columns(best, "hosts"),
                y=_of_spechpc(best),
                source=path.name,
                repeats=of_repeats([np.log(r) for r in repeats]),
            )
        )
    return pools, notes


def _of_spechpc(runs: pl.DataFrame) -> np.ndarray:
    """Runtime, power of package and DRAM, energy of each run."""
    runtime, pkg, dram = _columns(runs, "rt_unhalted_max", "power_pkg_W", "power_dram_W").T
    return np.stack([runtime, pkg + dram, runtime * (pkg + dram)], axis=1)


def load_lulesh(frame: pl.DataFrame, path: Path) -> Loaded:
    """LULESH, threads x core frequency; the sweeps over problem size are not settings of one
    job."""
    pools: list[Pool] = []
    notes: list[str] = []
    for (dataset, size), runs in sorted(frame.group_by("dataset", "size")):
        if runs["core_freq_GHz"].n_unique() < 2:
            notes.append(f"{path.name}: {dataset} size {size} left out, one core frequency only")
            continue
        runtime, power = _columns(runs, "wall_s", "total_power_W").T
        pools.append(
            make_pool(
                f"lulesh/{dataset}-{size}",
                "lulesh",
                "lulesh",
                knobs=("threads", "core_freq_ghz"),
                settings=_columns(runs, "threads", "core_freq_GHz"),
                y=np.stack([runtime, power, runtime * power], axis=1),
                source=path.name,
            )
        )
    return pools, notes


def load_zeus(frame: pl.DataFrame, path: Path) -> Loaded:
    """DNN training, batch size x power limit, one pool per network and GPU type.

    Runtime and energy are per epoch.  Where a network was run with several optimizers the one
    measured on most GPU types is kept (adadelta for CIFAR-100): another optimizer's runs of the
    same network would otherwise stand among the 'other applications'.
    """
    gpu = path.stem.removeprefix("summary_power_")
    pools: list[Pool] = []
    notes: list[str] = []
    for (dataset, network), runs in sorted(frame.group_by("dataset", "network")):
        optimizer = sorted(set(runs["optimizer"]))[0]
        dropped = sorted(set(runs["optimizer"]) - {optimizer})
        if dropped:
            notes.append(
                f"{path.name}: {dataset} with {', '.join(dropped)} left out, kept {optimizer}"
            )
        kept = runs.filter(pl.col("optimizer") == optimizer)
        runtime, power = _columns(kept, "time_per_epoch", "average_power").T
        pools.append(
            make_pool(
                f"zeus-{gpu}/{dataset}",
                f"zeus-{gpu}",
                f"{dataset}-{network}",
                knobs=("batch_size", "power_limit_w"),
                settings=_columns(kept, "batch_size", "power_limit"),
                y=np.stack([runtime, power, runtime * power], axis=1),
                source=path.name,
            )
        )
    return pools, notes


def load_capclock(frame: pl.DataFrame, path: Path) -> Loaded:
    """Three kernels on a V100, power cap x SM clock; runtime and energy are per iteration."""
    pools: list[Pool] = []
    for (workload,), runs in sorted(frame.group_by("workload")):
        rate, power = _columns(runs, "iters_per_s", "power_mean_w").T
        pools.append(
            make_pool(
                f"v100-capclock/{workload}",
                "v100-capclock",
                str(workload),
                knobs=("cap_w", "clock_mhz"),
                settings=_columns(runs, "pcap_w", "sm_target_mhz"),
                y=np.stack([1 / rate, power, power / rate], axis=1),
                source=path.name,
            )
        )
    return pools, []


LAYOUTS: list[tuple[set[str], Callable[[pl.DataFrame, Path], Loaded]]] = [
    ({"rt_unhalted_max", "rt_rdtsc_max", "power_pkg_W", "hosts", "procs", "bench"}, load_spechpc),
    ({"core_freq_GHz", "threads", "wall_s", "total_power_W", "dataset", "size"}, load_lulesh),
    ({"dataset", "network", "batch_size", "optimizer", "power_limit", "average_power"}, load_zeus),
    ({"workload", "pcap_w", "sm_target_mhz", "iters_per_s", "power_mean_w", "run"}, load_capclock),
]


def known_loader(columns: list[str]) -> Callable[[pl.DataFrame, Path], Loaded] | None:
    """The loader whose header this is, or None."""
    return next((load for need, load in LAYOUTS if need <= set(columns)), None)
