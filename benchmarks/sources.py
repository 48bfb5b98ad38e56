"""Is the search ahead of BoTorch on tables it was not built with?  Leave one source out.

    python benchmarks/sources.py --quick            # 3 pools a source, 2 seeds
    python benchmarks/sources.py                    # 6 pools a source, 3 seeds
    python benchmarks/sources.py --json --methods ours,botorch --cache DIR   # kept outside

Pools come from every measured table at hand and are grouped by who published them
(nodecount_lib/sources.py).  Where several variants of a method are given, each source is judged by
the variant that is best on all other sources, so that nothing is chosen on the source it is judged
on.  Runs are cached per (method, pool, seed) in out/, so that a killed run goes on where it was;
BoTorch's do not depend on our code and are run once.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")  # tiny matrices: a second thread only spins

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nodecount_lib.catalogue import REPO, default_data  # noqa: E402
from nodecount_lib.methods import REGISTRY  # noqa: E402
from nodecount_lib.pools import prior_of  # noqa: E402
from nodecount_lib.replay import Case  # noqa: E402
from nodecount_lib.runner import Cache, Task, execute  # noqa: E402
from nodecount_lib.sources import drawn, load  # noqa: E402
from nodecount_lib.sources_table import differences, left_out, lines  # noqa: E402
from rich.console import Console  # noqa: E402

BUDGETS = (1, 2, 4, 8, 12)
SCHEMA = "rheostat.bench-sources/1"


def main() -> int:
    """Run what is not cached, print the table; 2 for a method that is not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 pools a source and 2 seeds")
    parser.add_argument("--pools", type=int, help="pools of each source (6; quick 3)")
    parser.add_argument("--seeds", type=int, help="seeds (3; quick 2)")
    parser.add_argument("--most", type=int, help="leave out pools of more settings than this")
    parser.add_argument("--sources", help="comma-separated names; default all")
    parser.add_argument("--methods", default="ours,botorch", help="comma-separated names")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cache", type=Path, default=REPO / "out" / "bench-sources")
    parser.add_argument("--json", action="store_true", help="all rows as one JSON document")
    args = parser.parse_args()
    console = Console(stderr=True)
    methods = args.methods.split(",")
    if unknown := [m for m in methods if m not in REGISTRY]:
        console.print(f"unknown methods {unknown}, known: {', '.join(REGISTRY)}")
        return 2
    tasks, source_of = _tasks(args, methods, console)
    rows = execute(tasks, Cache(args.cache), jobs=args.jobs, console=console)
    rows = [row | {"source": source_of[row["pool"]]} for row in rows]
    summary = left_out(rows, methods)
    for line in (*lines(summary, methods), "", *differences(rows, methods)):
        print(line, file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print(json.dumps({"schema": SCHEMA, "summary": summary, "rows": rows}))
    return 0


def _tasks(
    args: argparse.Namespace, methods: list[str], console: Console
) -> tuple[list[Task], dict[str, str]]:
    """Seed by seed, so that what is finished when it is killed is balanced over pools."""
    by = load(default_data().parent, console.print)
    wanted = args.sources.split(",") if args.sources else list(by)
    count = args.pools or (3 if args.quick else 6)
    seeds = args.seeds or (2 if args.quick else 3)
    most = args.most or max(p.n for s in wanted for p in by[s])
    chosen = {s: [p for p in drawn(by[s], count) if p.n <= most] for s in wanted}
    cases = [Case(p, prior_of(p, by[s])) for s, pools in chosen.items() for p in pools]
    tasks = [Task(m, c, s, BUDGETS) for s in range(seeds) for c in cases for m in methods]
    return tasks, {p.name: s for s, pools in chosen.items() for p in pools}


if __name__ == "__main__":
    raise SystemExit(main())
