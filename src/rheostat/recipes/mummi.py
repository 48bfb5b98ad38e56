"""MuMMI: power and runtime from hardware counters, in a model that says what to optimise.

The chain (rank correlation, elimination by regression, principal components, linear model) models
runtime, node, processor and memory power; ten learners with tuned settings stand beside it.  The
mechanisms are `rheostat.prediction.counters`; here are names, defaults and the order of things.

References
----------
Wu, Taylor, Lan: Performance and energy improvement of parallel applications using MuMMI and ten
machine-learning methods, Concurrency and Computation 2023 (arXiv 2011.06655).  Read: the abstract.
Its counters, thresholds, settings and the names of its ten methods are not public; ours are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.core.jobs import JobTable, concat
from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.prediction.counters.counter_columns import (
    RUNNING,
    TARGETS,
    counters_of,
    ignored,
    run_codes,
    running_totals,
    runs_of,
    without_holes,
)
from rheostat.prediction.counters.counter_model import CounterModel
from rheostat.prediction.counters.learners import LEARNERS
from rheostat.prediction.counters.leave_application_out import (
    SPLITS,
    CounterMarks,
    compare_counters,
    with_target,
)
from rheostat.prediction.counters.leverage import WhatIf, leverage, what_if
from rheostat.prediction.counters.methods import METHODS
from rheostat.prediction.counters.power_law import missing_for_law

TEN = tuple(LEARNERS)
DEFAULT = ("mummi", "law")


def recording(files: Sequence[str | Path], form: str = "") -> JobTable:
    """One table of all files; columns that a file lacks are null there."""
    return concat([read(f, form or None) for f in files])


def targets_in(jobs: JobTable) -> tuple[str, ...]:
    """The quantities of the chain that the table has."""
    runs = runs_of(jobs)
    return tuple(t for t in TARGETS if t in runs.columns)


@dataclass(frozen=True)
class Usable:
    """A table with only what a model may look at; why columns and runs are not used."""

    jobs: JobTable
    ignored: dict[str, str]
    runs_left_out: int
    why: tuple[str, ...]


def usable(jobs: JobTable, by: str = "app") -> Usable:
    """Leave out runs that lack a counter which nearly all runs have, then what cannot be used."""
    totals = running_totals(jobs, by)
    runs = runs_of(jobs)
    there, why = without_holes(runs)
    jobs, runs = jobs.rows(there[run_codes(jobs)]), runs.rows(there)
    unused = {c: reason for c, reason in ignored(runs).items() if c != by}
    unused = dict.fromkeys(totals, RUNNING) | unused
    jobs = jobs.select([c for c in jobs.columns if c not in unused])
    if not counters_of(runs_of(jobs)):
        of = {reason: [c for c in unused if unused[c] == reason] for reason in unused.values()}
        reasons = [f"{', '.join(names)}: {reason}" for reason, names in of.items()]
        raise DataError("counters", ["no column that a model may learn from", *reasons])
    return Usable(jobs, unused, int((~there).sum()), tuple(why))


def fitted(
    jobs: JobTable, method: str, targets: Sequence[str], *, by: str = "app", seed: int = 0
) -> tuple[JobTable, CounterModel]:
    """The rows of runs that have every target, and a model that has learned from them."""
    for target in targets:
        jobs = with_target(jobs, target)[0]
    return jobs, CounterModel(method, targets, group_by=by, seed=seed).fit(jobs)


def study(
    jobs: JobTable,
    *,
    methods: Sequence[str] = DEFAULT,
    targets: Sequence[str] = (),
    splits: Sequence[str] = SPLITS,
    by: str = "app",
    changes: Mapping[str, float] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Scores of every method, and what counters the last method leans on, as plain facts."""
    seen = usable(jobs, by)
    jobs = seen.jobs
    wanted = tuple(targets) or targets_in(jobs)
    unknown = [t for t in wanted if t not in targets_in(jobs)]
    if unknown:
        there = ", ".join(targets_in(jobs)) or "none"
        raise DataError("--target", [f"{t} is not in this table: {there}" for t in unknown])
    missing = missing_for_law(jobs)
    kept = [m for m in methods if not (missing and m.startswith("law"))]
    if not kept:
        others = ", ".join(m for m in METHODS if not m.startswith("law"))
        raise DataError("law of power", [*missing, f"--methods that need no such count: {others}"])
    skipped = [m for m in methods if m not in kept]
    methods = kept
    scores = compare_counters(jobs, methods, wanted, splits=splits, group_by=by, seed=seed)
    powers = tuple(t for t in wanted if t != "runtime_s" or not methods[-1].startswith("law"))
    changes_at_caps: list[WhatIf] = []
    asked: list[WhatIf] = []
    if powers:
        some, model = fitted(jobs, methods[-1], powers, by=by, seed=seed)
        changes_at_caps = leverage(model, some, seed=seed)
        asked = what_if(model, some, changes, seed=seed) if changes else []
    return {
        "runs": len(runs_of(jobs)),
        "rows": len(jobs),
        "method_explained": methods[-1],
        "features": list(counters_of(runs_of(jobs))),
        "ignored": seen.ignored,
        "runs_left_out": {"runs": seen.runs_left_out, "why": list(seen.why)},
        "left_out": {m: "; ".join(missing) for m in skipped},
        "marks": [_marked(m) for m in scores],
        "leverage": [_what_if_facts(w) for w in changes_at_caps],
        "what_if": [_what_if_facts(w) for w in asked],
    }


def _marked(m: CounterMarks) -> dict[str, Any]:
    return {
        "method": m.method,
        "target": m.target,
        "split": m.split,
        "runs": m.runs,
        "applications": m.applications,
        "mape": list(m.mape),
        "worst_application": m.worst_application[0],
        "worst_mape": m.worst_application[1],
        "r2": m.r2,
        "coverage": m.coverage,
        "width": m.width,
    }


def _what_if_facts(w: WhatIf) -> dict[str, Any]:
    return {"target": w.target, "factors": dict(w.factors), "change": list(w.change)}
