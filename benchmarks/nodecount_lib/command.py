"""Command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from .catalogue import QUICK, REPO, STANDARD, default_data, load_folder, select
from .methods import QUICK_METHODS, REGISTRY
from .pools import Pool
from .replay import Row
from .report import write
from .runner import Cache, execute, plan
from .stats import Scores
from .tables import show

SCHEMA = "rheostat.bench-nodecount/1"
FULL_SEEDS = 20
QUICK_SEEDS = 3
COMMAND = "python benchmarks/nodecount.py --write-docs"


def parser() -> argparse.ArgumentParser:
    """Options of ``benchmarks/nodecount.py``."""
    p = argparse.ArgumentParser(prog="nodecount.py", description=__doc__)
    p.add_argument(
        "--quick", action="store_true", help="4 pools, 3 seeds, under 3 minutes on 2 cores"
    )
    p.add_argument(
        "--json", action="store_true", help="print one JSON document with all rows on stdout"
    )
    p.add_argument(
        "--data", type=Path, help="folder with measured runs (CSV, searched recursively)"
    )
    p.add_argument("--methods", help="comma-separated names, or 'all'; default all, quick twelve")
    p.add_argument("--pools", help="comma-separated shell patterns of pool names, or 'all'")
    p.add_argument(
        "--seeds", type=int, help=f"number of seeds (default {FULL_SEEDS}, quick {QUICK_SEEDS})"
    )
    p.add_argument("--jobs", type=int, default=2, help="processes")
    p.add_argument(
        "--cache", type=Path, default=REPO / "out" / "bench-nodecount", help="folder of results"
    )
    p.add_argument("--no-cache", action="store_true", help="neither read nor keep results")
    p.add_argument("--write-docs", action="store_true", help="rewrite docs/benchmarks.md's section")
    p.add_argument("--cached-only", action="store_true", help="use finished runs, compute nothing")
    p.add_argument(
        "--list", action="store_true", help="say which pools and methods there are, and stop"
    )
    return p


def main(argv: list[str]) -> int:
    """Run the benchmark; 0 on success, 2 if there is nothing to run."""
    args = parser().parse_args(argv)
    console = Console(stderr=True)
    folder = args.data or default_data()
    every, notes = load_folder(folder)
    pools = _chosen(every, args)
    _say(console, folder, every, pools, notes)
    methods = _methods(args)
    unknown = [m for m in methods if m not in REGISTRY]
    if unknown or not pools:
        what = (
            f"unknown methods {unknown}, known: {', '.join(REGISTRY)}"
            if unknown
            else f"no pools in {folder}"
        )
        console.print(f"[red]{what}[/red]")
        return 2
    if args.list:
        console.print("methods: " + ", ".join(methods))
        return 0
    rows = _rows(args, methods, pools, every, console=console)
    if not rows:
        console.print("[red]nothing finished yet; run without --cached-only[/red]")
        return 2
    scores = Scores(rows)
    show(scores, console)
    if args.write_docs:
        said = [n for n in notes if "left out" in n or "kept" in n]
        write(scores, pools, command=COMMAND, docs=REPO / "docs", notes=said)
    if args.json:
        sys.stdout.write(json.dumps({"schema": SCHEMA, "rows": rows}) + "\n")
    return 0


def _rows(
    args: argparse.Namespace,
    methods: list[str],
    pools: list[Pool],
    every: list[Pool],
    *,
    console: Console,
) -> list[Row]:
    seeds = args.seeds or (QUICK_SEEDS if args.quick else FULL_SEEDS)
    cache = Cache(None if args.no_cache else args.cache)
    tasks = plan(methods, pools, seeds, every=every)
    if args.cached_only:
        tasks = cache.finished(tasks)
    return execute(tasks, cache, jobs=args.jobs, console=console)


def _methods(args: argparse.Namespace) -> list[str]:
    if args.methods and args.methods != "all":
        return args.methods.split(",")  # type: ignore[no-any-return]
    return QUICK_METHODS if args.quick and not args.methods else list(REGISTRY)


def _chosen(every: list[Pool], args: argparse.Namespace) -> list[Pool]:
    if args.pools:
        return select(every, ("*",) if args.pools == "all" else tuple(args.pools.split(",")))
    if args.data:
        return every[:: max(1, len(every) // 4)][:4] if args.quick else every
    return select(every, QUICK if args.quick else STANDARD)


def _say(
    console: Console, folder: Path, every: list[Pool], pools: list[Pool], notes: list[str]
) -> None:
    console.print(f"{folder}: {len(every)} pools recognised, {len(pools)} selected")
    for p in pools:
        console.print(
            f"  {p.name}: {p.n} settings of {' x '.join(p.knobs)} ({p.source})", highlight=False
        )
    for note in notes:
        console.print(f"  [dim]{note}[/dim]", highlight=False)
