"""Code variants without a model on the suite's kernels: verified, how fast, how much energy.

    python benchmarks/code.py [--quick] [--json] [--only heat,dot]

For each kernel two tasks.  `serial->openmp`: a search from the serial program; ``ratio`` is the
time of the OpenMP written by hand over that of the search's, at 2 threads, above 1 where the search
is faster (identical machine code: 1).  `serial->serial`: a search from the naive version, where
there is one; ``energy_reduction`` is the share of the original's energy that the variant saves,
which is energy-reduction@1 of a search that gives one answer.  A task without an accepted variant
has verified false, no ratio and an energy reduction of 0.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.kernel_suite import SuiteKernel, suite_kernels
from rheostat.measurement.code.paired_times import in_turns
from rheostat.measurement.code.program import Program
from rheostat.measurement.code.sandbox import sandbox, workspace
from rheostat.measurement.code.toolchain import BINARY, GCC
from rheostat.measurement.code.workbench import Workbench
from rheostat.recipes.code_search import SearchSettings, search_code, searched_chains
from rheostat.recipes.variant_store import relative

KEYS = ("task", "direction", "proposer", "seed", "verified", "corrections", "ratio",
        "energy_reduction", "energy_kind", "seconds", "tokens")  # fmt: skip
THREADS = 2
NO_SLOWER = 0.9


def main() -> None:
    """Run the tasks and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="fewer variants and timed pairs")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--only", default="", help="kernels, comma-separated")
    args.add_argument("--seed", type=int, default=1)
    given = args.parse_args()
    chosen = [
        k for k in suite_kernels().values() if not given.only or k.name in given.only.split(",")
    ]
    rows = []
    for row in every(chosen, given.seed, quick=given.quick):
        rows.append(row)
        print(f"{len(rows)}: {row['task']} {row['direction']}", file=sys.stderr)
    print(json.dumps({"rows": rows})) if given.json else show(rows)


def every(kernels: list[SuiteKernel], seed: int, *, quick: bool) -> Iterator[dict[str, Any]]:
    """The rows, kernel by kernel."""
    budget, pairs = (2, 3) if quick else (8, 9)
    for kernel in kernels:
        kernel = shorter(kernel) if quick else kernel  # noqa: PLW2901
        yield translated(kernel, seed, budget, pairs)
        if "naive" in kernel.versions:
            yield refactored(kernel, seed, budget + 1)


def shorter(kernel: SuiteKernel) -> SuiteKernel:
    """The kernel with a quarter of its steps."""
    low, high = kernel.steps
    return replace(kernel, steps=(low, max(low + 1, high // 4)))


def searched(
    program: Program, to: str, goal: str, seed: int, budget: int, pairs: int
) -> tuple[tuple[list[Any], Any, Program | None], float]:
    """A search in a folder of its own: all rows, the best and its program; its seconds."""
    options = RungOptions(pairs=pairs, timing_threads=THREADS)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = SearchSettings(budget, options=options, seed=seed)
        result = search_code(program, searched_chains(program, to, goal), folder, settings)
        rows = result.rows  # read before the folder is gone
        best = result.best(goal)
        program_of = None if best is None else result.store.program(best["variant"])
    return (rows, best, program_of), time.perf_counter() - began


def translated(kernel: SuiteKernel, seed: int, budget: int, pairs: int) -> dict[str, Any]:
    """serial->openmp against the OpenMP written by hand."""
    (rows, best, program), seconds = searched(
        kernel.program("serial"), "openmp", "runtime_s", seed, budget, pairs
    )
    ratio = math.nan if best is None else hand_over(kernel, program, seed, pairs)
    return row(kernel, "serial->openmp", seed, rows, best, ratio, seconds)


def refactored(kernel: SuiteKernel, seed: int, budget: int) -> dict[str, Any]:
    """The naive version with less energy."""
    (rows, best, _), seconds = searched(
        kernel.program("naive"), "", "energy_j", seed, budget, pairs=3
    )
    ratio = math.nan if best is None else 1.0 / relative(best, "runtime_s")
    return row(kernel, "serial->serial", seed, rows, best, ratio, seconds)


def row(
    kernel: SuiteKernel,
    direction: str,
    seed: int,
    rows: Any,
    best: Any,
    ratio: float,
    seconds: float,
) -> dict[str, Any]:
    """As the keys say; corrections are variants that were rejected before the first accepted."""
    verdicts = [r["verdict"] for r in rows]
    first = verdicts.index("accepted") if "accepted" in verdicts else len(verdicts)
    energy = 1.0 if best is None else relative(best, "energy_j")
    values = (
        kernel.name, direction, "search", seed, best is not None, first, _number(ratio),
        _number(1.0 - energy), "not measured" if best is None else best["figures"]["energy_kind"],
        round(seconds, 2), 0,
    )  # fmt: skip
    return dict(zip(KEYS, values, strict=True))


def _number(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def hand_over(kernel: SuiteKernel, program: Program, seed: int, pairs: int) -> float:
    """Time of the OpenMP written by hand over that of another program, at the largest sizes."""
    by_hand = kernel.program("openmp")
    with workspace() as folder:
        bench = Workbench(sandbox(), folder)
        built = [bench.build(p, GCC) for p in (by_hand, program)]
        if len({code(b.folder / BINARY) for b in built}) == 1:
            return 1.0
        sizes = {"n": str(kernel.n[1]), "steps": str(kernel.steps[1]), "seed": str(seed)}
        given = kernel.inputs.written(sizes)

        def seconds(which: int) -> float:
            return bench.run(built[which], given, threads=THREADS).wall_s

        ours, theirs = in_turns(partial(seconds, 0), partial(seconds, 1), pairs)
    return float(np.min(ours) / np.min(theirs))  # the least of each: other work only adds


def code(path: Path) -> str:
    """A hash of a program."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def show(rows: list[dict[str, Any]]) -> None:
    """A table, and what the rows come to."""
    table = Table(*KEYS)
    for r in rows:
        table.add_row(*(str(r[k]) for k in KEYS))
    Console().print(table)
    shared = [r for r in rows if r["direction"] == "serial->openmp"]
    naive = [r for r in rows if r["direction"] == "serial->serial"]
    if shared:
        good = [r for r in shared if r["verified"] and (r["ratio"] or 0) >= NO_SLOWER]
        print(f"serial->openmp: {sum(r['verified'] for r in shared)} of {len(shared)} verified, "
              f"{len(good)} of them no more than 10 % slower than by hand")  # fmt: skip
    if naive:
        mean = np.mean([r["energy_reduction"] or 0.0 for r in naive])
        print(f"serial->serial: energy-reduction@1 {100 * mean:.1f} % (modelled), "
              f"{sum(r['verified'] for r in naive)} of {len(naive)} verified")  # fmt: skip


if __name__ == "__main__":
    main()
