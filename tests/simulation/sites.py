"""Small sites and traces at random, with any mix of features, and checks that hold for all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.machine import Failure, Machine, Partition, Rules, Window
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.simulation.timeline import steps

LINKS = (
    Column("preceding_job", "", Moment.SUBMIT, "job waited for"),
    Column("think_s", "s", Moment.SUBMIT, "and for how long after its end"),
    Column("array_id", "", Moment.SUBMIT, "array the job is a task of"),
    Column("array_limit", "", Moment.SUBMIT, "how many of its tasks may run"),
)


@dataclass(frozen=True)
class Case:
    """A trace, a site and a policy."""

    jobs: JobTable
    machine: Machine
    policy: str
    alternatives: JobTable | None


POLICIES = ("easy", "fcfs", "conservative", "sjf+easy", "lxf+easy", "saf+conservative")


def case(seed: int, *features: str, n: int = 14, span: int = 40) -> Case:
    """One of ``features`` each: partitions gpus cap sleep windows failures links limit ways."""
    rng = np.random.default_rng(seed)
    parts = _partitions(rng, features)
    machine = Machine(sum(p.procs for p in parts), partitions=parts, rules=_rules(rng, features))
    jobs = _trace(rng, machine, features, n, span)
    if "windows" in features:
        machine = replace(machine, maintenance=_windows(rng, machine, span))
    if "failures" in features:
        machine = replace(machine, failures=_failures(rng, machine, span))
    if "cap" in features:
        machine = replace(machine, cap_w=_cap(rng, machine, span))
    other = _ways(rng, jobs, machine) if "ways" in features else None
    return Case(jobs, machine, str(rng.choice(POLICIES)), other)


FEATURES = ("partitions", "gpus", "cap", "sleep", "windows", "failures", "links", "limit", "ways")


def any_case(seed: int, **size: int) -> Case:
    """A case with each feature in half of all cases."""
    on = np.random.default_rng([seed, 7]).random(len(FEATURES)) < 0.5
    return case(seed, *(f for f, o in zip(FEATURES, on, strict=True) if o), **size)


def _partitions(rng, features):
    made = []
    for k in range(int(rng.integers(2, 4)) if "partitions" in features else 1):
        facts = {"idle_w": 50.0, "busy_w": float(rng.integers(60, 200))}
        if "gpus" in features and (k == 0 or rng.random() < 0.5):
            facts |= {"gpus": int(rng.integers(1, 5)), "gpu_idle_w": 30.0, "gpu_busy_w": 250.0}
        if "sleep" in features:
            facts |= {"sleep_after_s": float(rng.integers(0, 6)), "sleep_w": 5.0,
                      "wake_s": float(rng.integers(0, 4)), "wake_w": 80.0}  # fmt: skip
        made.append(Partition(int(rng.integers(2, 9)), f"p{k}", **facts))
    return tuple(made)


def _rules(rng, features):
    on = "links" in features
    kill = "limit" if "limit" in features else "never"
    return Rules(kill=kill, dependencies=on, arrays=on, requeue=int(rng.integers(0, 3)))


def _trace(rng, machine, features, n, span):
    part = rng.integers(0, len(machine.parts), n)
    most = np.array([p.procs for p in machine.parts])[part]
    cards = np.array([p.gpus for p in machine.parts])[part]
    run = rng.integers(0, 12, n).astype(float)
    data = {
        "job_id": np.arange(1, n + 1),
        "submit_s": np.sort(rng.integers(0, span, n)).astype(float),
        "runtime_s": run,
        "cores": rng.integers(1, most + 1),
        "gpus": rng.integers(0, cards + 1),
        "time_limit_s": np.maximum(1.0, run + rng.integers(-3, 6, n)),
        "partition": [machine.parts[k].name for k in part],
    }
    data["power_w"] = data["cores"] * rng.integers(40, 220, n) + 200.0 * data["gpus"]
    if "links" in features:
        before = np.where(rng.random(n) < 0.4, rng.integers(0, np.arange(n) + 1), 0)
        data["preceding_job"] = pl.Series(before).replace(0, None)
        data["think_s"] = rng.integers(0, 4, n).astype(float)
        data["array_id"] = pl.Series(rng.integers(0, 4, n)).replace(0, None)
        data["array_limit"] = np.full(n, 2)
    return table(data, LINKS)


def _windows(rng, machine, span):
    begin = rng.integers(0, 2 * span, 2).astype(float)
    names = [p.name for p in machine.parts]
    return tuple(
        Window(b, b + float(rng.integers(1, 9)), str(rng.choice(["", *names])), int(k))
        for b, k in zip(begin, rng.integers(0, 3, 2), strict=True)
    )


def _failures(rng, machine, span):
    names = [p.name for p in machine.parts]
    return tuple(
        Failure(float(at), float(rng.integers(9)), str(rng.choice(names)), int(rng.integers(1, 3)))
        for at in np.sort(rng.integers(0, span, 5))
    )


def _cap(rng, machine, span):
    idle = sum(p.procs * p.idle_w + p.gpus * p.gpu_idle_w for p in machine.parts)
    above = rng.integers(50, 150 * machine.procs, 2)
    kind = rng.integers(3)
    if kind == 0:
        return Series.of(float(idle + above[0]))
    at = (0.0, float(rng.integers(1, span)))
    return Series(at, tuple(float(idle + a) for a in above), float(span) if kind == 2 else 0.0)


def _ways(rng, jobs, machine):
    """One to three alternatives for half of the jobs: larger is faster."""
    rows = []
    for j in np.flatnonzero(rng.random(len(jobs)) < 0.5):
        for size in rng.permutation(4)[: rng.integers(1, 4)] + 1:
            run = float(np.ceil(12 / size))
            rows.append((j + 1, int(size), run, run + float(rng.integers(0, 3)), 90.0 * size))
    names = ("job_id", "cores", "runtime_s", "time_limit_s", "power_w")
    return (
        table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))) if rows else None
    )


def use(run, part: int, of: str) -> tuple[np.ndarray, np.ndarray]:
    """(moments, how many ``of`` "procs" or "gpus" are taken from each on) in a partition."""
    runs = run.account.runs
    here = runs.part == part
    begin, end = runs.alloc_s[here], runs.end_s[here]
    return steps(begin, end, getattr(runs, of)[here].astype(float))
