"""The corpus of right and wrong programs through the ladder of verification.

    python benchmarks/code_verify.py [--quick] [--json] [--stages]
    python benchmarks/code_verify.py --fresh BATCH.toml [--json] [--stages]

Every wrong candidate has to be rejected, or left undecided, by the rung that names what is wrong
with it, every right one accepted.  --quick takes a seeded sample that has each kind of mistake,
--only those with a text in their names.  The last line is the time that the sandbox adds to a run.

--fresh judges candidates that somebody else wrote (`code_corpus/candidate_batch.py`:
how they are listed) and prints how many of each kind are judged rightly at the first try, with 95 %
intervals of Wilson.  Such a batch tells something once: what was mended for it is fresh no more.

--stages prints where the CPU seconds of these verdicts went: each kind of build and who asks for
runs, a candidate's mean, from this process's start and children (`code_corpus/stages.py`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from code_corpus import CorpusCase, corpus
from code_corpus.candidate_batch import KINDS, BatchCase, read_batch
from code_corpus.stages import Stages, counted
from scipy.stats import binomtest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.verdict import NOT_AVAILABLE, RUNGS

PAIRS, STARTS = 3, 15
UNTIMED = tuple(r for r in RUNGS if r != "energy")  # energy rejects nothing


def main() -> None:
    """Verify the corpus and print rows."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="a sample with every kind of mistake")
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--fresh", type=Path, metavar="FILE", help="a batch that somebody else wrote")
    args.add_argument("--seed", type=int, default=0)
    args.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    args.add_argument("--stages", action="store_true", help="where the CPU seconds went")
    given = args.parse_args()
    with counted() as stages:
        count = fresh(given) if given.fresh else of_corpus(given)
    if given.stages:
        show_stages(stages, count)


def of_corpus(given: argparse.Namespace) -> int:
    """Verify the corpus; how many candidates it has."""
    cases = sample(corpus(), given.seed) if given.quick else corpus()
    cases = [c for c in cases if given.only in c.name]
    rows = []
    for row in verified(cases, given.seed):
        rows.append(row)
        print(f"{len(rows)}/{len(cases)} {row['verdict']} by {row['named_by']} "
              f"(expected {row['expected']}): {row['name']}", file=sys.stderr)  # fmt: skip
    whole = {"rows": rows, "summary": summary(rows), "sandbox_overhead_s": overhead_s()}
    print(json.dumps(whole)) if given.json else show(whole)
    return len(rows)


def sample(cases: list[CorpusCase], seed: int) -> list[CorpusCase]:
    """Two of each kind of mistake and of each kernel's right ones."""
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[CorpusCase]] = {}
    for case in cases:
        groups.setdefault((case.kind, case.kernel if case.is_right else ""), []).append(case)
    chosen = {c.name for g in groups.values() for c in rng.sample(g, min(2, len(g)))}
    return [c for c in cases if c.name in chosen]


def verified(cases: list[CorpusCase], seed: int) -> Iterator[dict[str, Any]]:
    """One row per candidate; those of a kernel share its reference."""
    by_kernel = sorted(cases, key=lambda c: c.kernel)
    for _, group in itertools.groupby(by_kernel, key=lambda c: c.kernel):
        some = list(group)
        with verifier(some[0].original, seed=seed, options=RungOptions(pairs=PAIRS)) as one:
            for case in some:
                began = time.perf_counter()
                verdict = one.verify(case.candidate, rungs=UNTIMED)
                yield {
                    "name": case.name, "kind": case.kind, "expected": case.rung or "accepted",
                    "verdict": verdict.state, "named_by": verdict.named_by or None,
                    "reason": verdict.why[:300],
                    "not_available": [e.rung for e in verdict.evidence if e.state == NOT_AVAILABLE],
                    "seconds": time.perf_counter() - began,
                }  # fmt: skip


def fresh(given: argparse.Namespace) -> int:
    """Judge a batch by the whole ladder and print its rates; how many candidates it has."""
    cases, rows = read_batch(given.fresh), []
    for row in judged(cases, given.seed):
        rows.append(row)
        print(f"{len(rows)}/{len(cases)} {row['verdict']:9s} {row['kind']:15s} {row['name']}: "
              f"{row['reason']}", file=sys.stderr)  # fmt: skip
    rates = first_try(rows)
    if given.json:
        print(json.dumps({"rows": rows, "first_try": rates}))
        return len(rows)
    for row in rows:
        if not row["as_known"]:
            print(f"{row['name']} ({row['kind']}): {row['verdict']}; known: {row['why']}")
    for rate in rates:
        print(f"{rate['kind']:16s} {rate['right']} of {rate['candidates']} as known "
              f"[{rate['low']:.2f}, {rate['high']:.2f}], {rate['cpu_s']:.1f} CPU-s")  # fmt: skip
    return len(rows)


def judged(cases: list[BatchCase], seed: int) -> Iterator[dict[str, Any]]:
    """One row per candidate of a batch; those of an original share its reference."""
    by_original = sorted(cases, key=lambda c: c.path)
    for _, group in itertools.groupby(by_original, key=lambda c: c.path):
        some = list(group)
        options = RungOptions(pairs=PAIRS)
        with verifier(some[0].original, tolerance=some[0].tolerance, seed=seed,
                      options=options) as one:  # fmt: skip
            for case in some:
                began = _cpu_s()
                verdict = one.verify(case.candidate, rungs=UNTIMED)
                yield {
                    "name": case.name, "kind": case.kind, "why": case.why,
                    "verdict": verdict.state, "rejected_by": verdict.rejected_by or None,
                    "as_known": (verdict.state == "accepted") is case.is_right,
                    "reason": verdict.why[:300],
                    "cpu_s": _cpu_s() - began,
                }  # fmt: skip


def first_try(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each kind how many verdicts are as known: right accepted, wrong not accepted."""
    rates = []
    for kind in KINDS:
        some = [r for r in rows if r["kind"] == kind]
        if some:
            good = sum(r["as_known"] for r in some)
            ends = binomtest(good, len(some)).proportion_ci(0.95, method="wilson")
            rates.append({
                "kind": kind, "candidates": len(some), "right": good,
                "low": round(float(ends.low), 4), "high": round(float(ends.high), 4),
                "undecided": sum(r["verdict"] == "undecided" for r in some),
                "cpu_s": statistics.mean(r["cpu_s"] for r in some),
            })  # fmt: skip
    return rates


def _cpu_s() -> float:
    """CPU seconds of this process and of those that it has run."""
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def show_stages(stages: Stages, count: int) -> None:
    """CPU seconds and starts of each stage, the dearest first; a candidate's mean."""
    each = max(count, 1)
    print(f"{sum(stages.cpu_s.values()) / each:8.2f} {sum(stages.starts.values()) / each:6.1f} "
          "CPU-s and starts a candidate, of which", file=sys.stderr)  # fmt: skip
    for row in (*stages.parts(), *stages.rows()):
        print(f"{row['cpu_s'] / each:8.2f} {row['starts'] / each:6.1f} {row['stage']}",
              file=sys.stderr)  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Counts of what went right and wrong."""
    right = [r for r in rows if r["expected"] == "accepted"]
    wrong = [r for r in rows if r["expected"] != "accepted"]
    return {
        "right": len(right),
        "false_rejects": sum(r["verdict"] != "accepted" for r in right),
        "wrong": len(wrong),
        "false_accepts": sum(r["verdict"] == "accepted" for r in wrong),
        "undecided": sum(r["verdict"] == "undecided" for r in rows),
        "by_another_rung": sum(r["named_by"] not in (None, r["expected"]) for r in wrong),
    }


def overhead_s() -> float:
    """Seconds that the sandbox takes to run nothing, median."""
    walls = sandbox()
    with workspace() as folder:
        return statistics.median(walls.run(["true"], folder).wall_s for _ in range(STARTS))


def show(whole: dict[str, Any]) -> None:
    """What did not go as it should, and the counts."""
    for row in whole["rows"]:
        got = row["named_by"] or row["verdict"]
        if got != row["expected"]:
            print(f"{row['name']}: expected {row['expected']}, got {got}: {row['reason']}")
    for name, value in whole["summary"].items():
        print(f"{name:16s} {value}")
    print(f"sandbox overhead {1e3 * whole['sandbox_overhead_s']:.0f} ms a run")


if __name__ == "__main__":
    main()
