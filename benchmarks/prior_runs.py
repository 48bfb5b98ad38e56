"""Do runs of other applications help where there are three objectives, or a knob that is a name?

    python benchmarks/prior_runs.py                 # 2 seeds, 3 pools a source
    python benchmarks/prior_runs.py --seeds 1 --sources spechpc
    python benchmarks/prior_runs.py --kinks --first 10 --seeds 2     # generated tables

The search is run with the other applications' runs and without, on the same pools and seeds, and
its share of the hypervolume that all settings together have is compared: runtime, power and energy
at once on the pools of ``sources.py``, and runtime with energy on pools of two machines joined,
where the machine is a knob of two names.  ``--kinks`` asks what other applications cost that all
have a kink elsewhere (``nodecount_lib/kinks.py``); a seed there is twelve new pairs of tables.
Intervals are of the mean difference over pools.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")  # tiny matrices: a second thread only spins

import argparse  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

import moocore  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from nodecount_lib import kinks  # noqa: E402
from nodecount_lib.catalogue import default_data  # noqa: E402
from nodecount_lib.metric import REFERENCE  # noqa: E402
from nodecount_lib.pools import Pool, prior_of  # noqa: E402
from nodecount_lib.sources import drawn, load  # noqa: E402
from nodecount_lib.stats import bootstrap  # noqa: E402

from rheostat.core.outcome import Outcome  # noqa: E402
from rheostat.core.space import Knob, Space  # noqa: E402
from rheostat.core.vocabulary import table  # noqa: E402
from rheostat.tradeoff.propose.law_guided import LawGuided  # noqa: E402

QUANTITIES = ("runtime_s", "power_w", "energy_j")
BUDGETS = (2, 4, 8)
THREE, NAMED = QUANTITIES, ("runtime_s", "energy_j")
POWER = ("runtime_s", "power_w")


@dataclass(frozen=True)
class Case:
    """Rows of one application with its knobs and quantities, and those of the others."""

    name: str
    rows: pl.DataFrame
    others: pl.DataFrame
    knobs: tuple[str, ...]
    objectives: tuple[str, ...]


def main() -> int:
    """Print one row per question and budget; the differences are paired."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--pools", type=int, default=3, help="pools of each source")
    parser.add_argument("--most", type=int, default=32, help="settings of a pool at most")
    parser.add_argument("--sources", help="comma-separated names; default all")
    parser.add_argument("--kinks", action="store_true", help="generated tables, of kinks alone")
    parser.add_argument("--first", type=int, default=0, help="first seed of generated tables")
    args = parser.parse_args()
    if args.kinks:
        seeds = range(args.first, args.first + args.seeds)
        for wanted in (NAMED, POWER):
            made = [c for s in seeds for c in elsewhere(s, wanted)]
            compare(f"a kink elsewhere: {', '.join(wanted)}", made, [0])
        return 0
    by = load(default_data().parent, lambda said: print(said, file=sys.stderr))
    by = {s: p for s, p in by.items() if s in (args.sources or ",".join(by)).split(",")}
    compare("three objectives", list(three(by, args.pools, args.most)), range(args.seeds))
    compare("two machines as a knob", list(named(by.get("spechpc", []))), range(args.seeds))
    return 0


def compare(question: str, asked: Sequence[Case], seeds: Sequence[int]) -> None:
    """A table of the shares with the others' runs and without."""
    head = "| question | evaluations | without | with | gained | pools |"
    print(f"{head}\n|---|---|---|---|---|---|" if asked else f"{question}: no pools")
    for budget in BUDGETS if asked else ():
        shares = [
            [[share(c, prior, budget, s) for s in seeds] for c in asked] for prior in (False, True)
        ]
        gained = bootstrap(np.array(shares[1]) - np.array(shares[0]))
        means = " | ".join(f"{np.mean(v):.3f}" for v in shares)
        print(f"| {question} | {budget} | {means} | {gained.text()} | {len(asked)} |", flush=True)


def elsewhere(seed: int, wanted: tuple[str, ...]) -> Iterator[Case]:
    """Generated applications, and past ones whose kink is not theirs."""
    for name, rows, others in kinks.pairs(seed):
        yield Case(name, rows, others, (kinks.knob_of(name.split()[0]),), wanted)


def three(by: dict[str, list[Pool]], count: int, most: int) -> Iterator[Case]:
    """Pools that have other applications on their machine."""
    for source, pools in by.items():
        for pool in [p for p in drawn(pools, count) if p.n <= most]:
            if others := prior_of(pool, pools):
                yield Case(f"{source} {pool.name}", frame(pool), frames(others), pool.knobs, THREE)


def named(pools: Sequence[Pool]) -> Iterator[Case]:
    """Applications of SPEChpc that ran on both machines, with the machine as a knob."""
    apps = sorted({p.app for p in pools if sum(q.app == p.app for q in pools) > 1})
    whole = {a: pl.concat([frame(p, p.family) for p in pools if p.app == a]) for a in apps}
    for app in apps:
        rest = [f for a, f in whole.items() if a != app]
        if rest:
            yield Case(app, whole[app], pl.concat(rest), ("nodes", "machine"), NAMED)


def frame(pool: Pool, machine: str = "") -> pl.DataFrame:
    """A pool's settings and what they cost."""
    costs = dict(zip(QUANTITIES, np.exp(pool.log_y).T, strict=True))
    knobs = dict(zip(pool.knobs, pool.settings.T, strict=True))
    return pl.DataFrame(knobs | costs).with_columns(app=pl.lit(pool.app), machine=pl.lit(machine))


def frames(pools: Sequence[Pool]) -> pl.DataFrame:
    """The runs of several pools."""
    return pl.concat([frame(p) for p in pools])


def share(case: Case, prior: bool, budget: int, seed: int) -> float:
    """Hypervolume of what the search measured over that of all settings."""
    keys = case.rows.select(case.knobs).rows()
    place = {key: i for i, key in enumerate(keys)}
    knobs = [Knob(k, case.rows[k].unique(maintain_order=True).to_list()) for k in case.knobs]
    space = Space(tuple(knobs), (lambda s: tuple(s.values()) in place,))
    past = table(case.others.to_dict(as_series=False)) if prior else None
    asker = LawGuided(space, case.objectives, prior=past, budget=budget, seed=seed)
    seen = []
    for _ in range(budget):
        asked = asker.ask(1).select(case.knobs)
        seen.append(place[asked.frame.row(0)])
        row = case.rows[seen[-1]]
        drawn = {q: row[q].to_numpy()[None] for q in ("runtime_s", "power_w")}
        asker.tell(asked, Outcome(drawn))
    y = np.log(case.rows.select(case.objectives).to_numpy())
    y = (y - y.min(axis=0)) / np.ptp(y, axis=0)
    area = [moocore.hypervolume(f, ref=[REFERENCE] * y.shape[1]) for f in (y[seen], y)]
    return float(area[0] / area[1])


if __name__ == "__main__":
    raise SystemExit(main())
