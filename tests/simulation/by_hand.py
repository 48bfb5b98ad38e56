"""A site's energy, cost and cap, processor by processor, from who held what and what failed.

Neither the engine nor its account is used, only the runs (when their processors were taken, when
they began and ended, what they drew), the machine and its failures.  ``idle`` is since when each
idle processor idles; whoever needs some takes those that idled least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rheostat.core.machine import Machine, Partition
from rheostat.simulation.power import RunIntervals

J_PER_KWH = 3.6e6
Piece = tuple[str, float, float, float]
"""What draws, from when, until when, watts."""


class Run(NamedTuple):
    """A run, or processors under repair (no ``watts``)."""

    procs: int
    gpus: int
    alloc_s: float
    end_s: float
    woken: int = 0
    watts: float | None = None
    killed: bool = False


class Sums(NamedTuple):
    """What the account should have, and when each run should begin, by its place in the table."""

    energy_j: dict[str, float]
    cost: float
    peak_w: float
    cap_exceeded_s: float
    cap_excess_w: float
    start_s: dict[int, float]


def summed(machine: Machine, runs: RunIntervals, begin: float) -> Sums:
    """From the first submission, ``begin``, to the last end; failures at different moments."""
    end, pieces, start = float(runs.end_s.max()), [], {}
    for k, part in enumerate(machine.parts):
        mine = {
            int(i): Run(*(x[i].item() for x in (runs.procs, runs.gpus, runs.alloc_s, runs.end_s,
                                                runs.woken, runs.watts, runs.killed)))
            for i in (runs.part == k).nonzero()[0]
        }  # fmt: skip
        away = {-1 - i: r for i, r in enumerate(repairs(machine, part))}
        pieces += _of_part(part, mine | away, begin, end, start)
    cut = [(what, max(a, begin), min(b, end), w) for what, a, b, w in pieces]
    return _sums(machine, [p for p in cut if p[2] > p[1]], start)


def repairs(machine: Machine, part: Partition) -> list[Run]:
    """When which processors were away; what is down already does not fail again."""
    made: list[Run] = []
    for f in sorted(machine.failures, key=lambda f: f.at_s):
        if f.partition in ("", part.name):
            up = part.procs - sum(r.procs for r in made if f.at_s < r.end_s)
            made.append(Run(min(f.procs, up), 0, f.at_s, f.at_s + f.repair_s))
    return made


def _of_part(
    part: Partition, runs: dict[int, Run], begin: float, end: float, start: dict[int, float]
) -> Iterator[Piece]:
    """What a partition draws; fills in ``start``."""
    idle, taken = [begin] * part.procs, set()
    for moment, i in _moments(runs):
        run = runs[i]
        if i in taken:
            idle += [max(moment, begin)] * run.procs
            continue
        taken.add(i)
        idle.sort()
        assert len(idle) >= run.procs, "more processors are held than there are"
        since = [idle.pop() for _ in range(run.procs)]
        for s in since:
            yield from _idled(part, s, moment)
        if run.watts is None:
            continue
        woken = sum(s + part.sleep_after_s <= moment for s in since)
        start[i] = moment + (part.wake_s if woken else 0.0)
        ready = min(start[i], run.end_s)  # a failure may come first
        yield "wake", moment, ready, woken * part.wake_w + (run.procs - woken) * part.idle_w
        yield "lost" if run.killed else "jobs", ready, run.end_s, run.watts
        yield "idle_gpus", ready, run.end_s, -run.gpus * part.gpu_idle_w
    for s in idle:
        yield from _idled(part, s, end)
    yield "idle_gpus", begin, end, part.gpus * part.gpu_idle_w


def _moments(runs: dict[int, Run]) -> list[tuple[float, int]]:
    """When processors are taken and given back: at one moment ends, failures, then jobs.

    Of jobs that begin at one moment those come first who got processors that were awake.
    """
    events = []
    for i, r in runs.items():
        rank = 1 if r.watts is None else 2 + (r.woken > 0) + (r.woken == r.procs)
        events.append((r.alloc_s, rank, i))
        events.append((r.end_s, 0 if r.end_s > r.alloc_s else rank, i))
    return [(moment, i) for moment, _, i in sorted(events, key=lambda e: e[:2])]


def _idled(part: Partition, since: float, until: float) -> Iterator[Piece]:
    falls = min(since + part.sleep_after_s, until)
    yield "idle", since, falls, part.idle_w
    yield "sleep", falls, until, part.sleep_w


def _sums(machine: Machine, pieces: list[Piece], start: dict[int, float]) -> Sums:
    """Energy by what draws; cost, peak and excess over the cap between any two changes."""
    energy: Counter[str] = Counter()
    for what, a, b, watts in pieces:
        energy[what] += watts * (b - a)
    moments = {t for _, a, b, _ in pieces for t in (a, b)}
    for series in (machine.cap_w, machine.tariff_per_kwh):
        moments |= set(series.changes(min(moments), max(moments)).tolist())
    edges = sorted(moments)
    cost = peak = over_s = over_w = 0.0
    for a, b in pairwise(edges):
        drawn = sum(w for _, x, y, w in pieces if x <= a < y)
        peak, cost = max(peak, drawn), cost + drawn * machine.tariff_per_kwh.at(a) * (b - a)
        excess = drawn - machine.cap_w.at(a)
        if excess > 1e-6:
            over_s, over_w = over_s + b - a, max(over_w, excess)
    return Sums(dict(energy), cost / J_PER_KWH, peak, over_s, over_w, start)
