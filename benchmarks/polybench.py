"""What `code search` tries first on PolyBench/C: how fast it is, and what is right of it.

    python benchmarks/polybench.py PATH [--only gemm,lu] [--folder polybench-search] [--json]

PATH holds PolyBench/C 4.2.1, which is not edited.  Of each kernel the first variant of each chain
of a search is timed: pragmas alone, loops in another order with pragmas and on one thread, and each
schedule of its nests.  Only the kernel is timed, between PolyBench's own marks, where it takes long
enough (`TIMED`, else LARGE), in turns with the original and the programs that gcc
(`-ftree-parallelize-loops`) and Polly share among as many threads with the same flags.  Two clocks:
the wall's, which needs free cores, and with --loaded CPU seconds of the busiest thread, which a
loaded machine does not change; it leaves out waiting.  Arrays are added up instead of printed, and
what comes to other sums is left out.  Times lie in --folder and are taken once; --timed-only ends
there.

Then, as a search does, what is faster than the original by more than noise is verified at SMALL
sizes, arrays printed, the fastest first, until one is accepted.  Handed out is that, or a
compiler's program where it is not slower by more than noise, else the original.  Where no loop is
shared, the row names the dependences that stand against it.  The last lines are geometric means of
the time of the better of gcc and Polly over that of the rewriting, and over that of what is handed
out, with intervals by drawing kernels anew.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.measurement.code.costs.paired_times import FASTER, paired_times
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.parsing.compare_output import Tolerance, differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.toolchain import CLANG, GCC, family_of
from rheostat.measurement.code.workbench import Workbench
from rheostat.questions.code.code_search import searched_chains
from rheostat.questions.code.variant_store import VariantStore
from rheostat.tradeoff.variants.affine_schedules import scheduled
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.compilers import COMPILERS, shared_by_compilers
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.loop_distribution import in_another_order
from rheostat.tradeoff.variants.subscripts import CONFLICT

FLAGS = ("-O3", "-I.", "-DPOLYBENCH_DUMP_ARRAYS", "-DPOLYBENCH_USE_C99_PROTO",
         "-DPOLYBENCH_USE_RESTRICT", "-lm")  # fmt: skip
TIMED = {
    "2mm": "-DNI=500 -DNJ=500 -DNK=500 -DNL=500", "3mm":
    "-DNI=400 -DNJ=400 -DNK=400 -DNL=400 -DNM=400", "adi": "-DTSTEPS=10 -DN=400",
    "cholesky": "-DN=800", "correlation": "-DM=500 -DN=500", "covariance": "-DM=500 -DN=500",
    "deriche": "-DW=2000 -DH=1000", "doitgen": "-DNQ=100 -DNR=100 -DNP=120", "fdtd-2d":
    "-DTMAX=100 -DNX=600 -DNY=600", "floyd-warshall": "-DN=500", "gemm":
    "-DNI=700 -DNJ=700 -DNK=700", "gramschmidt": "-DM=500 -DN=400", "heat-3d":
    "-DTSTEPS=40 -DN=100", "jacobi-1d": "-DTSTEPS=500 -DN=400000", "jacobi-2d":
    "-DTSTEPS=100 -DN=800", "lu": "-DN=600", "ludcmp": "-DN=600", "nussinov": "-DN=500",
    "seidel-2d": "-DTSTEPS=20 -DN=600", "symm": "-DM=500 -DN=500", "syr2k": "-DM=500 -DN=500",
    "syrk": "-DM=600 -DN=600", "trmm": "-DM=500 -DN=600",
}  # fmt: skip
"""Sizes where LARGE takes more than half a second."""
SUMMED = r"""/* Arrays are added up where they would be printed, and clocks are asked of threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#define MOST 256
static __attribute__((unused)) int summed(FILE *out, const char *format, ...) {
  static double sum;
  static long count;
  va_list values;
  va_start(values, format);
  if (*format == '%')
    sum += (1 + count++ % 7) * (format[1] == 'd' ? va_arg(values, int) : va_arg(values, double));
  else if (strstr(format, "==END"))
    fprintf(out, "%.9g of %ld\n", sum, count);
  va_end(values);
  return 0;
}
static __attribute__((unused)) double seconds_of(clockid_t clock) {
  struct timespec now;
  return clock_gettime(clock, &now) ? 0 : now.tv_sec + 1e-9 * now.tv_nsec;
}
/* The first call keeps what each thread has used, the second prints the most since then. */
static __attribute__((unused)) int since(struct timeval *unused) {
  static double before[MOST], wall;
  static long known[MOST], threads, calls;
  double most = 0, now = seconds_of(CLOCK_MONOTONIC);
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *one; (one = readdir(tasks));) {
    long id = atol(one->d_name), k = 0;
    if (!id) continue;
    double used = seconds_of((clockid_t)((~(unsigned)id << 3) | 6));
    while (k < threads && known[k] != id) k++;
    if (!calls && k < MOST) {
      known[threads] = id;
      before[threads++] = used;
      continue;
    }
    if (k < threads) used -= before[k];
    if (used > most) most = used;
  }
  closedir(tasks);
  if (calls++) printf("kernel %.6f %.6f\n", now - wall, most);
  wall = seconds_of(CLOCK_MONOTONIC);
  return 0 * (unused == 0);
}
#define fprintf summed
#define gettimeofday(value, zone) since(value)
"""
OURS = ("search", "reordered", "exchanged")
"""Variants with the original's order of loops, with another, and with another and one thread.

Schedules go by their own words.
"""
CLOCKS = ("wall", "busiest thread")
KERNEL = re.compile(r"(?m)^kernel (\S+) (\S+)\n")
LEAST = 0.03
SLOW = 4
"""A program that takes so many times the original's is timed once."""
RUNGS = ("parse", "compile", "calls", "sanitizers", "output", "races", "threads", "work")


def main() -> None:
    """Time, verify and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("path", type=Path, help="where PolyBench/C lies")
    args.add_argument("--only", default="", help="kernels, comma-separated")
    args.add_argument("--folder", type=Path, default=Path("polybench-search"))
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--turns", type=int, default=7, help="timed runs of each program")
    args.add_argument("--loaded", action="store_true", help="go by the busiest thread's clock")
    args.add_argument("--timed-only", action="store_true", help="verify nothing")
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, program in kernels(given.path, given.only.split(",") if given.only else ()):
        texts = dict(variants(name, program))
        runs = kept_runs(name, program, texts, given)
        if not given.timed_only:
            rows.append(row := judged(name, program, texts, runs, given))
            print(json.dumps(row), file=sys.stderr, flush=True)
    if rows:
        print(json.dumps({"rows": rows})) if given.json else show(rows, given)


def kernels(path: Path, only: Any = ()) -> Iterator[tuple[str, Program]]:
    """Every kernel as a program, by name."""
    common = {n: (path / "utilities" / n).read_text() for n in ("polybench.c", "polybench.h")}
    lying = {p.stem: p for p in path.rglob("*.c") if p.stem == p.parent.name}
    for name in only or sorted(lying):
        source = lying[name]
        own = {p.name: p.read_text() for p in (source, source.with_suffix(".h"))}
        yield name, Program({**own, **common}, "serial", flags=_sized("-DSMALL_DATASET"),
                            inputs=ProgramInputs(), name=name)  # fmt: skip


def _sized(sizes: str) -> tuple[str, ...]:
    return (FLAGS[0], *sizes.split(), *FLAGS[1:])


def variants(name: str, program: Program) -> Iterator[tuple[str, str]]:
    """The first variant of each chain of a search, and each schedule."""
    others = "\n".join(t for n, t in program.files.items() if n != f"{name}.c")
    with tempfile.TemporaryDirectory() as folder:
        store = VariantStore(Path(folder), program, {"seed": 0})
        chains = searched_chains(program, "openmp", "runtime_s")(store)[:-1]
        for key, chain in zip(OURS[:2], chains, strict=False):
            if (first := next(chain, None)) is not None:
                yield key, first.text
    yield from ((OURS[2], v.text) for v in in_another_order(program))
    yield from ((v.change, v.text) for v in
                scheduled(program.files[f"{name}.c"], program.flags, headers=others))  # fmt: skip


def kept_runs(
    name: str, program: Program, texts: Mapping[str, str], given: argparse.Namespace
) -> dict[str, list[list[float]]]:
    """Seconds of each program by both clocks, from the folder where they lie there."""
    path = given.folder / f"{name}.json"
    if not path.exists():
        flags = _sized(TIMED.get(name, "-DLARGE_DATASET"))
        own = ("-DPOLYBENCH_TIME", "-include", "summed.h")
        whole = replace(program, files={**program.files, "summed.h": SUMMED},
                        flags=(*flags[:-1], *own, flags[-1]))  # fmt: skip
        theirs = shared_by_compilers(whole, given.threads)
        every = {"original": whole} | {v.proposer: replace(whole, flags=v.flags) for v in theirs}
        every |= {key: rewritten(whole, name, key, text) for key, text in texts.items()}
        path.write_text(json.dumps(in_turns(every, given)))
    return dict(json.loads(path.read_text()))


def rewritten(program: Program, name: str, key: str, text: str) -> Program:
    """A program with a variant's text."""
    return replace(program, files={**program.files, f"{name}.c": text},
                   language=("openmp", "serial")[key == OURS[2]])  # fmt: skip


def judged(
    name: str, program: Program, texts: Mapping[str, str],
    runs: Mapping[str, list[list[float]]], given: argparse.Namespace,
) -> dict[str, Any]:  # fmt: skip
    """A row: times over the original's, what was verified, and what is handed out."""
    clock = CLOCKS[given.loaded]
    row: dict[str, Any] = {"kernel": name, "against": reasons(program, name), "times": {}}
    row["kernel_s"] = statistics.median(wall for wall, _ in runs["original"])
    gains = {}
    for key in (k for k in runs if k != "original"):
        taken = [[r[given.loaded] for r in runs[k]][: len(runs[key])] for k in ("original", key)]
        times = paired_times(*map(np.array, taken), minimum_effect=LEAST)
        row["times"][key] = [round(x, 3) for x in (times.ratio, times.low, times.high)]
        if times.change == FASTER:
            gains[key] = times
    ours = sorted((k for k in gains if k in texts), key=lambda k: gains[k].ratio)
    row["rejected"] = {}
    with verifier(program, seed=0) as made:
        for key in ours:
            verdict = made.verify(rewritten(program, name, key, texts[key]), rungs=RUNGS)
            if verdict.accepted:
                row["ours"] = key
                break
            row["rejected"][key] = verdict.rejected_by or verdict.reason
    best = "original"
    for key in (*COMPILERS, row.get("ours", "original")):
        if key in gains and (best == "original" or gains[key].high < gains[best].ratio):
            best = key
    shared = "ours" in row and shares_hot(texts[row["ours"]], name)
    return row | {"handed_out": best, "clock": clock, "hot_loop_shared": shared}


def in_turns(
    every: Mapping[str, Program], given: argparse.Namespace
) -> dict[str, list[tuple[float, ...]]]:
    """Seconds of each program's kernel by both clocks; a program whose sums differ is left out."""
    runs: dict[str, list[tuple[float, ...]]] = {}
    with workspace() as folder:
        bench = Workbench(sandbox(), folder, reads_stderr=True)
        built = {k: bench.build(p, CLANG if family_of(p.flags) == "clang" else GCC)
                 for k, p in every.items()}  # fmt: skip
        expected = ""
        for _ in range(given.turns):
            for key in list(built):
                run = bench.run(built[key], ProgramInput(), threads=given.threads)
                said = KERNEL.search(run.stdout)
                output = KERNEL.sub("", run.stdout)
                expected = expected or output
                if not said or differences(output, expected, Tolerance(relative=1e-6)):
                    print(f"{key}: left out: {run.ending}: {output[:200]}", file=sys.stderr)
                    del built[key]
                    runs.pop(key, None)
                    continue
                runs.setdefault(key, []).append((float(said[1]), float(said[2])))
                if runs[key][0][0] > SLOW * runs["original"][0][0]:
                    del built[key]  # one run says so
            built = dict(reversed(built.items()))
    return runs


def over_compilers(row: Mapping[str, Any], key: str) -> float:
    """Time of the better of the compilers' programs over that of one of a row's."""
    theirs = [row["times"][c][0] for c in COMPILERS if c in row["times"]]
    return min(theirs, default=math.nan) / (row["times"][key][0] if key in row["times"] else 1.0)


def shares_hot(text: str, name: str) -> bool:
    """Whether a pragma stands in the kernel's own function."""
    start = text.find(f"kernel_{name.replace('-', '_')}")
    return "#pragma omp parallel" in text[start : text.find("int main", start)]


def reasons(program: Program, name: str) -> list[str]:
    """What stands against each loop of the kernel's function; a loop without is left out."""
    source = CSource(program.files[f"{name}.c"], headers=program.files[f"{name}.h"])
    own = [x for x in source.loops if x.function == f"kernel_{name.replace('-', '_')}"]
    every = [(x, dependence(source, x)) for x in own]
    return [f"{x.variable} (line {x.line}): {d.reasons[0]}" for x, d in every
            if d.level == CONFLICT]  # fmt: skip


def show(rows: list[dict[str, Any]], given: argparse.Namespace) -> None:
    """The rows as a table, and their means."""
    table = Table("kernel", *COMPILERS, "rewriting", "which", "handed out", "against",
                  title=f"PolyBench, time over the original's, {CLOCKS[given.loaded]}")  # fmt: skip
    for r in rows:
        table.add_row(r["kernel"], *(_interval(r, k) for k in (*COMPILERS, r.get("ours", ""))),
                      r.get("ours", ""), r["handed_out"],
                      re.sub(r"\s+", " ", "; ".join(r["against"]))[:60])  # fmt: skip
    Console(width=180).print(table)
    shared = sum(r["hot_loop_shared"] for r in rows)
    better = sum(r["handed_out"] != "original" for r in rows)
    print(f"{shared} of {len(rows)} with a hot loop shared; {better} handed out that are faster")
    for said, keys in (
        ("Rewriting or original", [r.get("ours", "original") for r in rows]),
        ("Handed out", [r["handed_out"] for r in rows]),
    ):
        gains = np.log([over_compilers(r, k) for r, k in zip(rows, keys, strict=True)])
        rng = np.random.default_rng(0)
        means = rng.choice(gains[np.isfinite(gains)], (4000, len(gains))).mean(axis=1)
        low, high = np.exp(np.quantile(means, (0.025, 0.975)))
        print(f"{said}, over the better of gcc and Polly: {np.exp(np.nanmean(gains)):.2f} "
              f"[{low:.2f}, {high:.2f}] times as fast")  # fmt: skip


def _interval(row: Mapping[str, Any], key: str) -> str:
    values = row["times"].get(key)
    return "{:.2f} [{:.2f}, {:.2f}]".format(*values) if values else ""


if __name__ == "__main__":
    main()
