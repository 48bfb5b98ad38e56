"""Does a learned order beat the best simple order on machines it has not seen?

    python benchmarks/learned.py [--quick] [--seeds 5] [--write-docs] [--ship]

Logs are split into two folds; an order is trained on the first half of each log of one fold and
judged on the whole logs of the other fold, several times with other seeds.
The yardstick is the *best* of the simple orders under EASY, chosen in hindsight for each log by its
mean bounded slowdown.  Trained orders, planning weights included, are the files A0.json to B4.json
of ``benchmarks/learned_orders`` (trained on fold A, B; seed) and are used again; delete them to
train anew.  ``--ship`` makes their mean the order that comes with the library.  Figures go to
``docs/benchmarks/learned.json``.  Logs are looked for in ``../shared/data/swf`` (or
``RHEOSTAT_DATA``); one that is not there is left out, with a word.
``--quick`` trains on generated sites alone, judges on generated sites, and keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from learned_lib.judge import Log, judge
from learned_lib.show import page
from learned_lib.timing import decision_times
from nodecount_lib.section import replace_section
from simulate import DATA, ROOT

from rheostat.measurement.read import read
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority, together
from rheostat.simulation.log_machine import machine_of
from rheostat.training.priority.evolve import train_rank
from rheostat.training.priority.generated_sites import generated_site
from rheostat.training.priority.training_cases import TrainingCase, cases

FOLDS = {  # name: (log, processors; 0: as its header says), ...
    "A": {"KTH-SP2": ("kth_sp2", 100), "CTC-SP2": ("ctc_sp2", 338),
          "Theta 2018": ("theta_2018_cqgym", 4360), "SDSC-DataStar": ("SDSC-DS-2004-2.1-cln", 0)},
    "B": {"SDSC-SP2": ("sdsc_sp2", 128), "HPC2N": ("hpc2n", 240),
          "LLNL-Atlas": ("LLNL-Atlas-2006-2.1-cln", 0)},
}  # fmt: skip
MODEL = {"Lublin 256 (model)": ("lublin_256", 256)}
KEPT = Path(__file__).parent / "learned_orders"
OUT = ROOT / "docs" / "benchmarks" / "learned.json"


def logs(named: Mapping[str, tuple[str, int]]) -> list[Log]:
    """Those that are there."""
    found = []
    for name, (stem, procs) in named.items():
        path = DATA / f"{stem}.swf.gz"
        if not path.is_file():
            print(f"left out: {name}, {path.name} is not there", file=sys.stderr)
            continue
        jobs = read(path)
        found.append(Log.of(name, jobs, machine_of(jobs, str(procs or ""))))
    return found


def lessons(given: Sequence[Log]) -> list[TrainingCase]:
    """What is learned from: long stretches of the first half of these logs."""
    found = []
    for log in given:
        found += cases(log.jobs, log.machine, name=log.name, length=14_000, most=2, until=0.5)
    return found


def trained(
    given: Sequence[TrainingCase], seed: int, generations: int, out: Path | None
) -> LearnedPriority:
    """One order; from its file where that is whole."""
    if out is not None and out.is_file():
        before = LearnedPriority.load(out)
        if len(before.trained["losses"]) >= generations:
            return before

    def progress(done: int, total: int, facts: dict[str, Any]) -> None:
        print(f"seed {seed}: generation {done} of {total}, best loss {facts['best']:.3f}",
              file=sys.stderr, flush=True)  # fmt: skip

    return train_rank(given, seed=seed, generations=generations, out=out, progress=progress)


def measure(seeds: int, generations: int) -> dict[str, Any]:
    """Train on one fold, judge on the other."""
    folds = {name: logs(named) for name, named in FOLDS.items()}
    others = logs(MODEL)
    rows = []
    rankers: dict[str, list[LearnedPriority]] = {}
    for name, given in folds.items():
        school = lessons(given)
        files = [KEPT / f"{name}{seed}.json" for seed in range(seeds)]
        rankers[name] = [trained(school, s, generations, f) for s, f in enumerate(files)]
    for name, tested in (("A", [*folds["B"], *others]), ("B", folds["A"])):
        rows += [judge(log, rankers[name], name) for log in tested]
    return facts_of(rows, rankers["A"] + rankers["B"], seeds, generations)


def quick() -> dict[str, Any]:
    """Small, to see that it runs."""
    jobs, procs = generated_site(0, 1500)
    ranker = train_rank(cases(jobs, procs, name="site 0", length=1500), generations=2)
    sites = [(f"site {s}", *generated_site(s, 800)) for s in (100, 101)]
    rows = [judge(Log.of(n, jobs, machine_of(jobs, str(p))), [ranker], "-") for n, jobs, p in sites]
    return facts_of(rows, [ranker], 1, 2)


def ship(seeds: int) -> None:
    """Make the mean of the trained orders the one that comes with the library."""
    files = [KEPT / f"{fold}{seed}.json" for fold in FOLDS for seed in range(seeds)]
    orders = [LearnedPriority.load(f) for f in files]
    told = {"mean of": len(orders), "logs": [name for fold in FOLDS.values() for name in fold]}
    replace(together(orders), trained=told).save(SHIPPED)


def facts_of(
    rows: list[dict[str, Any]], rankers: list[LearnedPriority], seeds: int, generations: int
) -> dict[str, Any]:
    """Everything that the tables show."""
    return {
        "schema": "rheostat.bench-learned/1", "seeds": seeds, "generations": generations,
        "logs": rows, "decisions": decision_times(rankers[0]),
        "weights": [list(r.weights) for r in rankers],
    }  # fmt: skip


def _without_draws(facts: Any) -> Any:
    """The same without what the intervals were drawn from, which is most of it."""
    if isinstance(facts, dict):
        return {k: _without_draws(v) for k, v in facts.items() if k != "log_draws"}
    return [_without_draws(v) for v in facts] if isinstance(facts, list) else facts


def main() -> None:
    """Train, judge, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--generations", type=int, default=20)
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--ship", action="store_true")
    args = parser.parse_args()
    facts = quick() if args.quick else measure(args.seeds, args.generations)
    lines = page(facts)
    print("\n".join(lines))
    where = Path(tempfile.mkdtemp()) / "learned.json" if args.quick else OUT
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(json.dumps(_without_draws(facts), indent=1, sort_keys=True) + "\n")
    if args.ship and not args.quick:
        ship(args.seeds)
    if args.write_docs and not args.quick:
        title = ["## Learned orders", "", "    python benchmarks/learned.py --write-docs", ""]
        replace_section(ROOT / "docs" / "benchmarks.md", "learned", title + lines)


if __name__ == "__main__":
    main()
