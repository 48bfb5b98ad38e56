"""`code search` on PolyBench/C: which kernels are shared among threads, and how fast they are then.

    python benchmarks/polybench.py PATH [--only gemm,lu] [--folder polybench-search] [--json]

PATH holds PolyBench/C 4.2.1, which is not edited.  Each kernel becomes a manifest of its own two
files and those of ``utilities`` in --folder, and is one search, `code search MANIFEST --to openmp`,
at PolyBench's SMALL sizes, arrays printed and compared.  Variants are tried until one is accepted
that shares a loop of the kernel's own function, or --budget ends; a killed search goes on.

The variant is then timed where a run takes long enough (LARGE, or `TIMED`; arrays are added up, as
to print them takes ten times as long as most kernels), in turns with the original, and so are the
programs that gcc (`-ftree-parallelize-loops`) and Polly share among as many threads with the same
flags, as `code search` does where it times.  Handed out is by its rule: what is right there, too,
and faster by more than noise, of two within noise a compiler's, else the original.  Where no loop
is shared, the row names the dependences that stand against it.  The last
line is the geometric mean of the time of the better of gcc and Polly over that of what is handed
out.
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

from rich.console import Console
from rich.table import Table

import rheostat as rh
from rheostat.errors import Infeasible, RheostatError
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.manifest import write_manifest
from rheostat.measurement.code.paired_times import FASTER
from rheostat.measurement.code.program import Program
from rheostat.measurement.code.program_inputs import ProgramInputs
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.compilers import COMPILERS, shared_by_compilers
from rheostat.tradeoff.variants.dependence import CONFLICT, dependence

FLAGS = ("-O3", "-I.", "-DPOLYBENCH_DUMP_ARRAYS", "-DPOLYBENCH_USE_C99_PROTO",
         "-DPOLYBENCH_USE_RESTRICT", "-lm")  # fmt: skip
TIMED = {
    "adi": "-DTSTEPS=30 -DN=600", "cholesky": "-DN=1000", "fdtd-2d": "-DTMAX=100 -DNX=600 -DNY=800",
    "floyd-warshall": "-DN=700", "heat-3d": "-DTSTEPS=50 -DN=120", "jacobi-1d":
    "-DTSTEPS=500 -DN=400000", "jacobi-2d": "-DTSTEPS=100 -DN=1000", "lu": "-DN=1000",
    "ludcmp": "-DN=1000", "nussinov": "-DN=800", "seidel-2d": "-DTSTEPS=40 -DN=1000",
}  # fmt: skip
"""Sizes where LARGE takes more than a few seconds."""
SUMMED = """/* Arrays are added up where they would be printed: that takes longer than kernels. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static __attribute__((unused)) int summed(FILE *out, const char *format, ...) {
  static double sum;
  static long count;
  va_list values;
  va_start(values, format);
  if (*format == '%')
    sum += (1 + count++ % 7) * (format[1] == 'd' ? va_arg(values, int) : va_arg(values, double));
  else if (strstr(format, "==END"))
    fprintf(out, "%.9g of %ld\\n", sum, count);
  va_end(values);
  return 0;
}
#define fprintf summed
"""
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
    answer = None
    for budget in range(1, given.budget + 1):
        try:
            answer = rh.code.search(folder / "program.json", to="openmp", budget=budget,
                                    threads=given.threads, rungs=RUNGS, folder=folder / "search",
                                    seed=0)  # fmt: skip
        except Infeasible as error:
            answer = error.answer
        except RheostatError as error:
            return row | {"outcome": f"{error}"[:300]}
        texts = [_text(folder / "search", r) for r in answer.rows if r["verdict"] == "accepted"]
        if any(shares_hot(t, name) for t in texts) or len(answer.rows) < budget:
            break
    row |= {"tried": len(answer.rows), "accepted": len(texts),
            "rejected_by": [r["rejected_by"] for r in answer.rows if r["rejected_by"]],
            "cpu_s": round(answer.cost["cpu_s"])}  # fmt: skip
    best = next((t for t in texts if shares_hot(t, name)), next(iter(texts), None))
    row["hot_loop_shared"] = best is not None and shares_hot(best, name)
    return row | (timed(name, program, best, given.threads) if given.timed else {})


def timed(name: str, program: Program, best: str | None, threads: int) -> dict[str, Any]:
    """Times of the variant and of gcc's and Polly's programs over the original's."""
    flags = _sized(TIMED.get(name, "-DLARGE_DATASET"))
    whole = replace(program, files={**program.files, "summed.h": SUMMED},
                    flags=(*flags[:-1], "-include", "summed.h", flags[-1]))  # fmt: skip
    every = {v.proposer: replace(whole, flags=v.flags)
             for v in shared_by_compilers(whole, threads)}  # fmt: skip
    if best is not None:
        files = {**whole.files, f"{name}.c": best}
        every["search"] = replace(whole, files=files, language="openmp")
    options = RungOptions(timing_threads=threads, most_pairs=14)
    row: dict[str, Any] = {}
    gains: dict[str, list[float]] = {}
    with verifier(whole, seed=0, options=options) as one:
        for key, other in every.items():
            verdict = one.verify(other, rungs=("output", "time"))
            numbers = verdict.rung("time").numbers
            row[key] = [round(numbers[k], 3) for k in ("runtime_ratio", "low", "high")
                        if k in numbers]  # fmt: skip
            if verdict.accepted and numbers["change"] == FASTER:
                gains[key] = row[key]
            if key == "search":
                row["change"] = numbers.get("change", verdict.rejected_by)
    best = ""
    for key, (ratio, _, high) in gains.items():
        if not best or (ratio < gains[best][0] and high < gains[best][0]):
            best = key
    row["handed_out"] = best or "original"
    return row | {"over_compilers": over_compilers(row)}


def over_compilers(row: Mapping[str, Any]) -> float:
    """Time of the better of the compilers' programs over that of what is handed out."""
    theirs = [row[c][0] for c in COMPILERS if row.get(c)]
    ours = row[row["handed_out"]][0] if row["handed_out"] != "original" else 1.0
    return round(min(theirs, default=math.nan) / ours, 3)


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
        "kernel", "hot loop", "search", *COMPILERS, "handed out", "against", title="PolyBench"
    )
    for r in rows:
        table.add_row(r["kernel"], "shared" if r.get("hot_loop_shared") else "not",
                      _interval(r, "search"), *(_interval(r, c) for c in COMPILERS),
                      r.get("handed_out", ""),
                      re.sub(r"\s+", " ", "; ".join(r["against"]))[:90])  # fmt: skip
    Console().print(table)
    shared = sum(bool(r.get("hot_loop_shared")) for r in rows)
    print(f"{shared} of {len(rows)} with a hot loop shared; "
          f"{sum(r.get('handed_out', 'original') != 'original' for r in rows)} handed out "
          "that are faster than the original")  # fmt: skip
    if means := [m for r in rows if math.isfinite(m := r.get("over_compilers", math.nan))]:
        print(f"Over the better of gcc and Polly: {statistics.geometric_mean(means):.2f} times "
              f"as fast, geometric mean of {len(means)}")  # fmt: skip


def _interval(row: Mapping[str, Any], key: str) -> str:
    values = row.get(key)
    return "{:.2f} [{:.2f}, {:.2f}]".format(*values) if values else ""


if __name__ == "__main__":
    main()
