"""The model of energy of `code verify`, fitted to RAPL and counters of SPEChpc on a node.

    python benchmarks/code_energy.py spechpc_likwid_runs.csv [--cluster A]

The file has a row a run of LIKWID's: power of package and DRAM, busy cores, instructions,
operations by width, bytes from memory.  Power is fitted by least squares of relative errors with
coefficients that are not negative, with all counts and with time alone; each code is also left out
once and told by the rest.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import nnls

COUNTED = ("socket_w", "core_w", "instruction_nj", "scalar_flop_nj", "vector_flop_nj", "byte_nj")
TIMED = COUNTED[:2]
MOST_STAGGERED = 1.05
"""The window of the meter over the time that cores were busy."""


def main() -> None:
    """Fit and print."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("path", type=Path, help="runs of SPEChpc on one node")
    args.add_argument("--cluster", default="A", help="A: Ice Lake, B: Sapphire Rapids")
    given = args.parse_args()
    runs = one_node(pl.read_csv(given.path, infer_schema_length=None), given.cluster)
    print(f"{len(runs)} runs of {runs['bench'].n_unique()} codes")
    for names in (COUNTED, TIMED):
        x, power_w = runs.select(names).to_numpy(), runs["power_w"].to_numpy()
        said = ", ".join(f"{n} {v:.3g}" for n, v in zip(names, fitted(x, power_w), strict=True))
        print(f"{said}; error {error(x, power_w, runs['bench'].to_numpy()):.1%} of a code left out")


def one_node(runs: pl.DataFrame, cluster: str) -> pl.DataFrame:
    """What each coefficient is multiplied by: counts in 1e9 a second."""
    busy = pl.col("procs") * pl.col("clock_MHz_mean") / 1e3
    as_numbers = pl.col("mem_bw_MBs", "avx_dp_mflops").cast(float, strict=False)
    return runs.with_columns(as_numbers).filter(
        pl.col("workload") == "tiny", pl.col("cluster") == cluster, pl.col("hosts") == 1,
        pl.col("procs") == pl.col("ranks_requested"),
        pl.col("rt_rdtsc_max") < MOST_STAGGERED * pl.col("rt_unhalted_max"),
    ).select(
        "bench", power_w=pl.col("power_pkg_W") + pl.col("power_dram_W"),
        socket_w=pl.col("sockets_with_energy").cast(float), core_w=pl.col("procs").cast(float),
        instruction_nj=busy / pl.col("cpi_mean"),
        scalar_flop_nj=(pl.col("dp_mflops") - pl.col("avx_dp_mflops")) / 1e3,
        vector_flop_nj=pl.col("avx_dp_mflops") / 1e3, byte_nj=pl.col("mem_bw_MBs") / 1e3,
    ).drop_nulls()  # fmt: skip


def fitted(x: NDArray[np.float64], power_w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients with the least relative errors."""
    return np.asarray(nnls(x / power_w[:, None], np.ones(len(power_w)))[0])


def error(x: NDArray[np.float64], power_w: NDArray[np.float64], codes: NDArray[np.str_]) -> float:
    """Mean relative error of each code's runs by the coefficients of all others."""
    apart = []
    for code in np.unique(codes):
        own = codes == code
        apart.append(np.abs(x[own] @ fitted(x[~own], power_w[~own]) / power_w[own] - 1))
    return float(np.concatenate(apart).mean())


if __name__ == "__main__":
    main()
