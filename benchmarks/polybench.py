"""`code search` on PolyBench/C: which kernels are shared among threads, and how fast they are then.

    python benchmarks/polybench.py PATH [--only gemm,lu] [--folder polybench-search] [--json]

PATH holds PolyBench/C 4.2.1, which is not edited.  Each kernel becomes a manifest of its own two
files and those of ``utilities`` in --folder, and is one search, `code search MANIFEST --to openmp`,
at PolyBench's SMALL sizes, arrays printed and compared.  Variants are tried until one is accepted
that shares a loop of the kernel's own function, with its loops in their order and, where others
promise more, in another, or --budget ends; a killed search goes on.

Only the kernel is then timed, between PolyBench's own marks, where it takes long enough (`TIMED`,
else LARGE), in turns: the original, the variant, and the programs that gcc
(`-ftree-parallelize-loops`) and Polly share among as many threads with the same flags.  Two clocks:
the wall's, and CPU seconds of the busiest thread, which a loaded machine does not change; it leaves
out waiting.  Arrays are added up instead of printed, and the sums compared.  Handed out is by the
search's rule, by the second clock: what is right there, too, and faster by more than noise, of two
within noise a compiler's, else the original.  Where no loop is shared, the row names the
dependences that stand against it.  The last lines are the geometric mean of the time of the better
of gcc and Polly over that of what is handed out, by each clock.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import rheostat as rh
from rheostat.errors import Infeasible, RheostatError
from rheostat.measurement.code.costs.paired_times import FASTER, paired_times
from rheostat.measurement.code.parsing.compare_output import Tolerance, differences
from rheostat.measurement.code.programs.manifest import write_manifest
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.toolchain import CLANG, GCC, family_of
from rheostat.measurement.code.workbench import Workbench
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.compilers import COMPILERS, shared_by_compilers
from rheostat.tradeoff.variants.dependence import CONFLICT, dependence
from rheostat.tradeoff.variants.loop_distribution import in_another_order

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
"""Variants with the original's order of loops, with another, and with another and one thread."""
CLOCKS = ("wall", "busiest thread")
KERNEL = re.compile(r"(?m)^kernel (\S+) (\S+)\n")
LEAST = 0.03
RUNGS = "parse,compile,calls,sanitizers,output,races,threads,work"


def main() -> None:
    """Search from each kernel and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("path", type=Path, help="where PolyBench/C lies")
    args.add_argument("--only", default="", help="kernels, comma-separated")
    args.add_argument("--folder", type=Path, default=Path("polybench-search"))
    args.add_argument("--budget", type=int, default=4, help="variants of each search")
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--timed", action=argparse.BooleanOptionalAction, default=True,
                      help="time the variant and others' programs")  # fmt: skip
    args.add_argument("--turns", type=int, default=7, help="timed runs of each program")
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    rows = []
    for name, program in kernels(given.path, given.only.split(",") if given.only else ()):
        rows.append(row := searched(name, program, given))
        print(json.dumps(row), file=sys.stderr, flush=True)
    print(json.dumps({"rows": rows})) if given.json else show(rows)


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


def searched(name: str, program: Program, given: argparse.Namespace) -> dict[str, Any]:
    """One row: what the search came to, and how fast others' programs are."""
    folder = given.folder / name
    write_manifest(program, folder / "program.json")
    row: dict[str, Any] = {"kernel": name, "against": reasons(program, name)}
    answer, exchanged = None, dict(zip(OURS[2:], (v.text for v in in_another_order(program)),
                                       strict=False))  # fmt: skip
    step = 1 + len(exchanged)  # each call asks the chains in turn, the original's order first
    for budget in range(step, given.budget + 1, step):
        try:
            answer = rh.code.search(folder / "program.json", to="openmp", budget=budget,
                                    threads=given.threads, rungs=RUNGS, folder=folder / "search",
                                    seed=0)  # fmt: skip
        except Infeasible as error:
            answer = error.answer
        except RheostatError as error:
            return row | {"outcome": f"{error}"[:300]}
        accepted = [r for r in answer.rows if r["verdict"] == "accepted"]
        tried = {OURS[not r["change"].startswith("line")]: t for r in reversed(accepted)
                 if shares_hot(t := _text(folder / "search", r), name)}  # fmt: skip
        if len(tried) == 1 + len(exchanged) or len(answer.rows) < budget:
            break
    row |= {"tried": len(answer.rows), "accepted": len(accepted),
            "rejected_by": [r["rejected_by"] for r in answer.rows if r["rejected_by"]],
            "cpu_s": round(answer.cost["cpu_s"])}  # fmt: skip
    row["hot_loop_shared"] = bool(tried)
    if accepted and not tried:
        tried = {OURS[0]: _text(folder / "search", accepted[0])}
    return row | (timed(name, program, tried | exchanged, given) if given.timed else {})


def timed(
    name: str, program: Program, texts: Mapping[str, str], given: argparse.Namespace
) -> dict[str, Any]:
    """Times of the variants and of gcc's and Polly's programs over the original's."""
    flags = _sized(TIMED.get(name, "-DLARGE_DATASET"))
    own = ("-DPOLYBENCH_TIME", "-include", "summed.h")
    whole = replace(program, files={**program.files, "summed.h": SUMMED},
                    flags=(*flags[:-1], *own, flags[-1]))  # fmt: skip
    every = {"original": whole} | {
        v.proposer: replace(whole, flags=v.flags) for v in shared_by_compilers(whole, given.threads)
    }
    for key, text in texts.items():
        files = {**whole.files, f"{name}.c": text}
        every[key] = replace(whole, files=files, language=("openmp", "serial")[key == OURS[2]])
    runs = in_turns(every, given)
    row: dict[str, Any] = {"kernel_s": statistics.median(w for w, _ in runs["original"])}
    gain = []
    for key in (k for k in (*COMPILERS, *OURS) if k in runs):
        for clock, said in enumerate(CLOCKS):
            pairs = [[run[clock] for run in runs[k]] for k in ("original", key)]
            times = paired_times(*map(np.array, pairs), minimum_effect=LEAST)
            ends = (times.ratio, times.low, times.high)
            row.setdefault(key, {})[said] = [round(x, 3) for x in ends]
        if times.change == FASTER:
            gain.append((key, times))
    best, least = "original", None
    for key, times in gain:
        if least is None or (times.ratio < least.ratio and times.high < least.ratio):
            best, least = key, times
    row["handed_out"] = best
    return row | {f"over_compilers ({c})": over_compilers(row, c) for c in CLOCKS}


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
            built = dict(reversed(built.items()))
    return runs


def over_compilers(row: Mapping[str, Any], clock: str) -> float:
    """Time of the better of the compilers' programs over that of what is handed out."""
    theirs = [row[c][clock][0] for c in COMPILERS if row.get(c)]
    ours = row[row["handed_out"]][clock][0] if row["handed_out"] != "original" else 1.0
    return round(min(theirs, default=math.nan) / ours, 3)


def without_compilers(row: Mapping[str, Any], clock: str) -> float:
    """The same for the fastest of our variants, or the original where that is faster."""
    theirs = [row[c][clock][0] for c in COMPILERS if row.get(c)]
    ours = [row[k][clock][0] for k in OURS if row.get(k)]
    return min(theirs, default=math.nan) / min([*ours, 1.0])


def _text(folder: Path, row: Mapping[str, Any]) -> str:
    kept = json.loads((folder / "variants" / f"{row['variant']}.json").read_text())
    return str(kept["text"])


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


def show(rows: list[dict[str, Any]]) -> None:
    """The rows as a table, and their sum."""
    table = Table(
        "kernel", "hot loop", *OURS, *COMPILERS, "handed out", "against", title="PolyBench"
    )
    for r in rows:
        table.add_row(r["kernel"], "shared" if r.get("hot_loop_shared") else "not",
                      *(_interval(r, c) for c in (*OURS, *COMPILERS)),
                      r.get("handed_out", ""),
                      re.sub(r"\s+", " ", "; ".join(r["against"]))[:90])  # fmt: skip
    Console().print(table)
    shared = sum(bool(r.get("hot_loop_shared")) for r in rows)
    print(f"{shared} of {len(rows)} with a hot loop shared; "
          f"{sum(r.get('handed_out', 'original') != 'original' for r in rows)} handed out "
          "that are faster than the original")  # fmt: skip
    alone = [without_compilers(r, CLOCKS[1]) for r in rows]
    if alone := [m for m in alone if math.isfinite(m)]:
        print(
            f"Without the compilers' programs, {CLOCKS[1]}: {statistics.geometric_mean(alone):.2f}"
        )
    for clock in CLOCKS:
        means = [r.get(f"over_compilers ({clock})", math.nan) for r in rows]
        if means := [m for m in means if math.isfinite(m)]:
            print(f"Over the better of gcc and Polly, {clock}: "
                  f"{statistics.geometric_mean(means):.2f} times as fast, geometric mean of "
                  f"{len(means)}")  # fmt: skip


def _interval(row: Mapping[str, Any], key: str) -> str:
    values = row.get(key, {}).get(CLOCKS[1])
    return "{:.2f} [{:.2f}, {:.2f}]".format(*values) if values else ""


if __name__ == "__main__":
    main()
