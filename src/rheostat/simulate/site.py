"""`simulate_site`: a trace on a machine that is more than a number of processors.

Tables become arrays for the general engine, and its logs become a table and an `Account` of energy.
With one partition and no further feature the starts are those of the plain engines.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.core.outcome import Outcome
from rheostat.decide.queue.policy import Policy
from rheostat.errors import DataError
from rheostat.simulate.beliefs import asked_seconds, believed_watts, planned_watts
from rheostat.simulate.changes import capacity, demand, failures, resources
from rheostat.simulate.mold import (
    Choices,
    choices,
    counts,
    gpus_of,
    index_of,
    numbers,
)
from rheostat.simulate.run import Run
from rheostat.simulate.schedule import scores, shared, zero
from rheostat.simulate.site_table import result
from rheostat.simulate.workload import Array, Workload, workload

if TYPE_CHECKING:
    from rheostat.simulate.sized import Advise

KEPT, CUT = "kept, planned with the request", "ended at the limit"
DEPTH = {"none": 0, "easy": 1, "conservative": 2}


class Told(NamedTuple):
    """What the engine says: rows as `site_state` has them, and (n,) per job."""

    log: Array
    piece: Array
    eligible: Array
    again: Array
    passes: int


@dataclass(frozen=True)
class Site:
    """What the site engine is asked to do, as arrays; one per simulation."""

    machine: Machine
    load: Workload
    ways: Choices
    part: Array
    planned: Array
    booked: Array
    planned_w: Array
    parent: Array
    think: Array
    array: Array
    limit: Array
    share: Any = None


def simulate_site(
    jobs: JobTable,
    rule: Policy,
    machine: Machine,
    *,
    estimates: str | Array = "user",
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
) -> Run:
    """As `simulate_run`, with everything that a `Machine` can say.

    ``power_w`` is what planning under a cap believes a job draws: one number per row of ``jobs``,
    or an `Outcome` with ``power_w``.  Without it planning takes the column ``power_w``, measured
    after the fact, which makes the plan clairvoyant, and where there is none the machine's watts.
    ``alternatives`` makes jobs moldable, see `rheostat.simulate.mold`; ``sized_by`` chooses one of
    them at submission, see `rheostat.simulate.sized`.
    """
    if alternatives is not None:
        jobs.require("job_id")
    elif sized_by is not None:
        raise DataError("sized_by", ["expected alternatives to choose from"])
    load = _placed(jobs, _workload(jobs, machine), machine, alternatives)
    ways = choices(jobs, load, alternatives, machine.rules.kill == "limit")
    advice: tuple[Note, ...] = ()
    if alternatives is not None and sized_by is not None:
        ways, advice = _advised(ways, jobs, alternatives, sized_by)
    part = partitions(jobs, machine)[load.row]
    believed = believed_watts(power_w, len(jobs))
    load, ways, part = _possible(load, ways, part, machine, believed)
    asked, clairvoyant, blind = asked_seconds(estimates, jobs, load, ways)
    watts, seen = planned_watts(machine, load, ways, part, believed)
    parent, think, notes = _parents(jobs, load, machine)
    array, limit = _arrays(jobs, load, machine)
    site = Site(
        machine, load, ways, part,
        ways.run_s if rule.semantics == "cqsim" else asked, asked,
        watts, parent, think, array, limit,
        None if rule.order.factors is None else shared(jobs, load, rule, machine.procs),
    )  # fmt: skip
    told, cpu = _engine(site, rule)
    table, books = result(jobs, site, told, (*notes, *blind, *advice), alternatives)
    clairvoyant |= seen or rule.semantics == "cqsim"
    return Run(table, rule, machine, int(told.passes), cpu, clairvoyant, books)


def _advised(
    ways: Choices, jobs: JobTable, alternatives: JobTable, by: Advise
) -> tuple[Choices, tuple[Note, ...]]:
    """Only the ways that the advice leaves, and what it predicts of them."""
    from rheostat.simulate.sized import sized

    told = sized(jobs, alternatives, by)
    rigid, row = ways.row < 0, np.maximum(ways.row, 0)
    ways = replace(
        ways,
        expect_s=np.where(rigid, np.nan, told.runtime_s[row]),
        expect_w=np.where(rigid, np.nan, told.power_w[row]),
    )
    return ways.only(rigid | told.keep[row]), told.notes


def partitions(jobs: JobTable, machine: Machine) -> Array:
    """The partition of each row: the first if it names none, -1 if the site has no such one."""
    if (len(machine.parts) == 1 and not machine.parts[0].name) or "partition" not in jobs.schema:
        return np.zeros(len(jobs), np.int64)
    names = {p.name: k for k, p in enumerate(machine.parts)}
    asked = jobs.frame["partition"].to_list()
    return np.array([0 if a is None else names.get(str(a), -1) for a in asked], np.int64)


def _workload(jobs: JobTable, machine: Machine) -> Workload:
    """With notes that say what this site does."""
    load = workload(jobs, machine)
    if machine.rules.kill != "limit":
        return load
    notes = (replace(n, message=n.message.replace(KEPT, CUT)) for n in load.notes)
    return replace(load, notes=tuple(notes))


def _placed(jobs: JobTable, load: Workload, machine: Machine, other: JobTable | None) -> Workload:
    """Leave out what no partition takes."""
    part = partitions(jobs, machine)[load.row]
    sizes = np.array([p.procs for p in machine.parts])
    gpus = np.array([p.gpus for p in machine.parts])
    wanted = counts(jobs, "gpus")[load.row]
    free = np.zeros(len(load), bool)
    if other is not None:
        free = index_of(other.frame["job_id"], jobs.frame["job_id"][load.row]) >= 0
    some = gpus.any()
    load, kept = _without(load, part < 0, "names a partition that the machine has not")
    part, wanted, free = part[kept], wanted[kept], free[kept]
    small = ~free & (load.procs > sizes[part])
    load, kept = _without(load, small, "more processors than its partition has")
    part, wanted, free = part[kept], wanted[kept], free[kept]
    return _without(load, ~free & some & (wanted > gpus[part]), "more GPUs than its partition")[0]


def _without(load: Workload, bad: Array, why: str) -> tuple[Workload, Array]:
    """The workload less some jobs, with a note on them; and which are kept."""
    keep = ~bad
    if keep.all():
        return load, keep
    rows = load.row[bad]
    note = Note(f"{why}: left out", tuple(int(r) for r in rows[:10]), len(rows), True)
    if not keep.any():
        raise DataError("simulate", ["no row of the trace can run", note.message])
    fields = ("submit_s", "run_s", "procs", "ask_s", "row")
    cut = {f: getattr(load, f)[keep] for f in fields}
    return replace(load, **cut, notes=(*load.notes, note)), keep


def _possible(
    load: Workload, ways: Choices, part: Array, machine: Machine, believed: Array | None
) -> tuple[Workload, Choices, Array]:
    """Drop ways that no moment of the site allows, and then jobs without a way."""
    p = part[ways.job]
    ok = ways.procs <= np.array([q.procs for q in machine.parts])[p]
    gpus = np.array([q.gpus for q in machine.parts])
    ok &= (ways.gpus <= gpus[p]) | (not gpus.any())
    if machine.cap_w is not None:
        watts, _ = planned_watts(machine, load, ways, part, believed)
        need = demand(machine, p, ways.procs, gpus_of(machine, ways), watts)
        _, there = capacity(machine, load.submit_s[0], np.inf if not _repeats(machine) else
                               load.submit_s[0] + machine.cap_w.repeat_s)  # fmt: skip
        ok &= need <= there[:, resources(machine)[0, 2]].max()
    able = np.zeros(len(load), bool)
    able[ways.job[ok]] = True
    load, kept = _without(load, ~able, "needs more than the site ever has (size, GPUs or watts)")
    new = np.cumsum(kept) - 1
    ways = ways.only(ok)
    return load, replace(ways, job=new[ways.job]), part[kept]


def _repeats(machine: Machine) -> bool:
    return machine.cap_w is not None and machine.cap_w.repeat_s > 0


def _parents(
    jobs: JobTable, load: Workload, machine: Machine
) -> tuple[Array, Array, tuple[Note, ...]]:
    """(job each waits for or -1, think time in s, notes)."""
    n = len(load)
    none = np.full(n, -1)
    if not machine.rules.dependencies or "preceding_job" not in jobs.schema:
        return none, np.zeros(n), ()
    jobs.require("job_id")
    wanted = jobs.frame["preceding_job"][load.row]
    parent = index_of(jobs.frame["job_id"][load.row], wanted)
    think = np.nan_to_num(np.maximum(numbers(jobs, "think_s")[load.row], 0.0))
    lost = (parent < 0) & wanted.is_not_null().to_numpy()
    what = "preceding job is not in the trace: not waited for"
    notes = (
        (Note(what, tuple(map(int, load.row[lost][:10])), int(lost.sum())),) if lost.any() else ()
    )
    at = parent.copy()
    for _ in range(int(np.log2(n + 1)) + 1):  # jump twice as far each time: only a circle stays
        at = np.where(at >= 0, at[at], -1)
    if (at >= 0).any():
        rows = load.row[at >= 0][:5].tolist()
        raise DataError(
            "preceding_job", [f"rows {rows}: jobs that wait for each other in a circle"]
        )
    return parent, think, notes


def _arrays(jobs: JobTable, load: Workload, machine: Machine) -> tuple[Array, Array]:
    """(number of the job array or -1, how many tasks of each may run).

    The array is ``array_id``, or what stands before the underscore of a job_id like 123_4.
    """
    none = np.full(len(load), -1), np.zeros(1, np.int64)
    if not machine.rules.arrays or not {"array_id", "job_id"} & set(jobs.columns):
        return none
    if "array_id" in jobs.schema:
        names = jobs.frame["array_id"][load.row]
    else:
        names = jobs.frame["job_id"][load.row].cast(pl.String).str.extract(r"^(\d+)_\d+$")
    code = names.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    most = numbers(jobs, "array_limit")[load.row]
    most = np.where(most > 0, most, machine.rules.array_limit)
    limit = np.full(int(code.max()) + 2, np.iinfo(np.int64).max)
    has = (code >= 0) & (most > 0)
    np.minimum.at(limit, code[has], most[has].astype(np.int64))
    return code, limit


def _engine(site: Site, rule: Policy) -> tuple[Told, float]:
    """What the engine says, and the CPU seconds it took.

    Caps that repeat and random failures are laid out as far as the schedule reached, and further.
    """
    load, repeat = site.load, site.machine.cap_w.repeat_s if site.machine.cap_w else 0.0
    begin, longest = load.submit_s[0], max(site.ways.run_s.max(), site.planned.max())
    area = (site.ways.run_s * site.ways.procs).sum() / site.machine.procs
    span = max(load.submit_s[-1] - begin, area) * 1.5 + 4 * longest + 2 * repeat
    _run(site, rule, begin, begin, warm=True)
    while True:
        clock = time.process_time()
        told = _run(site, rule, begin, begin + span)
        spent = time.process_time() - clock
        last = told.log[:, 4].max(initial=begin)
        if last + longest + repeat <= begin + span or site.machine.plain:
            return told, spent
        span *= 2


def _run(site: Site, rule: Policy, begin: float, end: float, *, warm: bool = False) -> Told:
    from rheostat.simulate.engine import jit
    from rheostat.simulate.engine.share import Share, no_share
    from rheostat.simulate.engine.site import run_site
    from rheostat.simulate.engine.site_plan import Capacity
    from rheostat.simulate.engine.site_state import Jobs, Rule, Ways

    n = 0 if warm else len(site.load)
    parts = site.machine.parts
    fate = failures(site.machine, begin, end)
    fate = {k: v[: len(v) if n else 0] for k, v in fate.items()}
    fixed = rule.order.fixed
    jobs = Jobs(*_flat(_jobs(site, n, fate, _places(site, rule) if fixed and n else np.zeros(n))))
    ways = Ways(*_flat(_ways(site, n, fate)))
    doze = np.array([q.sleep_after_s for q in parts], float)
    wake = np.array([q.wake_s if np.isfinite(q.sleep_after_s) else 0.0 for q in parts], float)
    again = site.machine.rules.requeue
    bound = Rule(DEPTH[rule.backfill], not fixed, rule.ties == "batch",
                 rule.ends == "expected", doze, wake, again)  # fmt: skip
    plain = fixed or rule.order.factors is not None
    score = jit.compiled_score(zero if plain else rule.order.score)
    share = no_share() if warm or site.share is None else site.share
    count = len(fate["at"])
    room = n + min(n * (again + 1), int(fate["procs"].sum())) + count
    procs = np.array([q.procs for q in parts])
    steps = Capacity(*_flat(capacity(site.machine, begin, end)))
    return Told(*run_site(jobs, ways, steps, procs, score, bound, Share(*_flat(share)), room))


def _flat(arrays: Iterable[Array]) -> list[Array]:
    """Copies of one layout, so that there is one compiled engine."""
    return [np.array(a, order="C") for a in arrays]


def _jobs(site: Site, n: int, fate: dict[str, Array], rank: Array) -> list[Array]:
    """The fields of `site_state.Jobs` for the first n jobs."""
    child = np.argsort(site.parent, kind="stable")
    none = np.full(len(fate["at"]), -1)
    return [
        site.load.submit_s[:n],
        rank,
        np.concatenate([site.part[:n], fate["part"]]),
        np.searchsorted(site.ways.job, np.arange(n + 1)),
        site.parent[:n],
        site.think[:n],
        np.searchsorted(site.parent[child], np.arange(n + 1)),
        child,
        np.concatenate([site.array[:n], none]),
        site.limit,
        fate["at"],
        fate["hit"],
    ]


def _ways(site: Site, n: int, fate: dict[str, Array]) -> list[Array]:
    """The fields of `site_state.Ways`."""
    machine, ways = site.machine, site.ways
    need = np.column_stack([ways.procs, gpus_of(machine, ways), np.zeros(len(ways), np.int64)])
    if machine.cap_w is not None:
        need[:, 2] = demand(machine, site.part[ways.job], ways.procs, need[:, 1], site.planned_w)
    least, shortest = need[:0], site.planned[:0]
    if n:
        first = np.searchsorted(ways.job, np.arange(n))
        least = np.minimum.reduceat(need, first, axis=0)
        shortest = np.minimum.reduceat(site.planned, first)
    down = np.zeros((len(fate["at"]), 3), np.int64)
    down[:, 0] = fate["procs"]
    spans = (np.concatenate([v, fate["repair"]]) for v in (ways.run_s, site.planned, site.booked))
    return [*spans, np.concatenate([need, down]), resources(machine), least, shortest]


def _places(site: Site, rule: Policy) -> Array:
    """Each job's place in a fixed order, by the size and the estimate of its preferred way.

    Nobody shares a place: a job that a failure ended comes back to its own.
    """
    at = np.searchsorted(site.ways.job, np.arange(len(site.load)))
    load = replace(site.load, procs=site.ways.procs[at])
    place = np.empty(len(load))
    place[np.argsort(scores(rule, load, site.booked[at]), kind="stable")] = np.arange(len(load))
    return place
