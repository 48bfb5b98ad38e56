"""Many policies on many traces: one task each, done here, on all cores or on a cluster.

A task is a file, a policy and how to plan; its result is a handful of sums, so that it may travel
and be kept.  Results are the same wherever a task ran and in whatever order: nothing is shared but
the file.  Each finished task is a line of a results file, and a sweep that was interrupted, or lost
a worker, does only what is not there yet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable
from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import (
    code_digest,
    file_digest,
    named_errors,
    seal,
    text_digest,
    unsealed,
)
from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.errors import DataError, RheostatError
from rheostat.prediction.out_of_core.dask_cluster import Workers, connect, delivered
from rheostat.simulation.log_machine import placed
from rheostat.simulation.policies.overdue import under
from rheostat.simulation.policies.policy import Policy
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run

Progress = Callable[[str, float, float], None]
RETRIES = 3
ENGINES = ("fixed", "moving", "guarded")
_LOCKS: dict[str, Any] = {}  # of engines that this process has not loaded yet
Made = Generator[tuple["Task", dict[str, Any]], None, None]
KINDS = (".swf", ".swf.gz", ".parquet")
Opener = Callable[..., Policy]
Runner = Callable[["Task"], dict[str, Any]]
HINT = "the same command with --results FILE goes on from what was finished"


@dataclass(frozen=True)
class Task:
    """One policy on one trace; ``digest`` is of the bytes of the trace and of further files.

    In a ``replay`` above 0 submissions are moved, drawn with that seed.
    """

    trace: str
    policy: str
    machine: str = ""
    estimates: str = "user"
    semantics: str = "textbook"
    ties: str = "event"
    overdue: str = "extend"
    split: float = 0.5
    digest: str = ""
    replay: int = 0

    @property
    def key(self) -> str:
        """What the result depends on, and nothing else: not where the file lies."""
        parts = asdict(self) | {"trace": Path(self.trace).name, "code": _code()}
        return json.dumps(parts, sort_keys=True)


@cache
def _code() -> str:
    """Digest of what reads, orders and simulates: another release does its own runs."""
    return code_digest("measurement", "decision/policies", "simulation", "training")


def trace_name(path: str | Path) -> str:
    """What a trace is called: its file's name without the ending of its kind.

    >>> trace_name("swf/kth_sp2.swf.gz"), trace_name("SDSC-SP2-1998-4.2-cln.swf")
    ('kth_sp2', 'SDSC-SP2-1998-4.2-cln')
    >>> trace_name("SDSC-SP2-1998-4.2-cln")
    'SDSC-SP2-1998-4.2-cln'
    """
    name = Path(path).name
    endings = [kind for kind in KINDS if name.lower().endswith(kind)]
    return name[: len(name) - max(map(len, endings), default=0)]


def policy_name(text: str) -> str:
    """Small letters, but for the name of a file of weights.

    >>> policy_name(" SJF+Easy"), policy_name("multifactor:Site.conf+easy")
    ('sjf+easy', 'multifactor:Site.conf+easy')
    """
    name = text.strip()
    return name if ":" in name else name.lower()


def trace_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files among ``paths``, and the traces (.swf, .swf.gz, .parquet) in the folders."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.name.endswith(KINDS))
            if not inside:
                raise DataError(str(path), [f"has no file that ends with {', '.join(KINDS)}"])
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise DataError(str(path), ["is neither a file nor a folder"])
    files = list(dict.fromkeys(files))
    names = [trace_name(p) for p in files]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError("traces", [f"{n}: two files of this name" for n in twice])
    return files


def tasks_of(
    traces: Sequence[Path], policies: Sequence[str], machine: str = "", replays: int = 0, **how: Any
) -> list[Task]:
    """Every policy on every trace and its replays, the largest file first.

    ``how`` are further fields of `Task`.
    """
    order = sorted(traces, key=lambda p: (-p.stat().st_size, p.name))
    bytes_of = {p: file_digest(p) for p in order}
    names = list(dict.fromkeys(policies))
    files = {name: _files(name, machine, how.get("estimates", "")) for name in names}
    return [
        Task(
            str(p.absolute()),
            name,
            machine,
            digest=text_digest(bytes_of[p], files[name]),
            replay=replay,
            **how,
        )
        for p in order
        for replay in range(replays + 1)
        for name in names
    ]


def _files(policy: str, machine: str, estimates: str) -> str:
    """What is in the files that an option names: of a policy, a machine, a model."""
    first, _, named = policy.partition(":")
    paths = map(Path, (policy, first, named.partition("+")[0], machine, estimates))
    return "".join(file_digest(p) for p in paths if p.is_file())


def perform(task: Task, open_policy: Opener = batch_policy) -> dict[str, Any]:
    """Simulate and sum up: metrics, and sums over blocks of time, of all jobs and of later ones."""
    try:
        return _performed(task, open_policy)
    except DataError as error:
        raise DataError(f"{trace_name(task.trace)}, {task.policy}", [str(error)]) from error


def _performed(task: Task, open_policy: Opener) -> dict[str, Any]:
    from rheostat.simulation.comparison.as_logged import logged_facts
    from rheostat.simulation.comparison.jittered_replays import jittered
    from rheostat.simulation.note_numbers import noted

    jobs = _trace(task.trace)
    opened = open_policy(task.policy, semantics=task.semantics, ties=task.ties)
    policy = under(opened, task.overdue)
    if isinstance(policy, BatchPolicy):
        _ready(policy)
    jobs, machine = placed(jobs, task.machine)
    if task.replay:
        jobs = jittered(jobs, task.replay)
    run = simulate_run(jobs, policy, machine, estimates=task.estimates)
    known = task.semantics == "cqsim" or task.estimates == "perfect"
    return {
        "clairvoyant": run.clairvoyant,
        "clairvoyant_share": 1.0 if known else _unasked(run),
        "procs": run.machine.procs,
        "whole": _summed(run.jobs, run.machine.procs),
        "later": _summed(_later(run.jobs, task), run.machine.procs),
        "logged": logged_facts(jobs, [run]),
        "cpu_s": run.cpu_s,
        "notes": [n["text"] for n in noted(jobs, [run]) if n["text"]],
    }


def _ready(rule: BatchPolicy) -> None:
    """One process compiles an engine while the others wait, and then take it from disk."""
    from rheostat.core.vocabulary import table

    kind = rule.backfill if rule.backfill == "conservative" else ENGINES[not rule.order.fixed]
    kind = kind if rule.guard is None else ENGINES[-1]
    if kind in _LOCKS:
        one = table({"submit_s": [0.0], "runtime_s": [1.0], "cores": [1], "time_limit_s": [1.0]})
        with _LOCKS.pop(kind):
            simulate_run(one, rule, 1)


def _share(locks: dict[str, Any]) -> None:
    _LOCKS.update(locks)


@lru_cache(maxsize=1)
def _trace(path: str) -> JobTable:
    """The last trace stays in memory: a worker is given its policies one after the other."""
    from rheostat.measurement.read import read

    return read(path)


def _unasked(run: Simulation) -> float:
    """Share of the jobs planned with their true run time because none was asked for."""
    clairvoyant = (n.count for n in run.jobs.notes if n.message.startswith("no requested run time"))
    return sum(clairvoyant) / len(run.jobs)


def later(jobs: JobTable, split: float) -> JobTable:
    """The jobs submitted after the first ``split`` of them; the machine is busy as they begin."""
    submit = jobs.numpy("submit_s")
    edge = np.quantile(submit, split) if split > 0 else -np.inf
    return jobs.rows(submit > edge)


def _later(jobs: JobTable, task: Task) -> JobTable:
    after = later(jobs, task.split)
    if not len(after):
        submit = jobs.numpy("submit_s")
        problem = (
            f"expected jobs submitted after the first {task.split:.0%} of them, got none (the last "
            f"submission is that of {(submit == submit.max()).sum():,} of {len(jobs):,} jobs): "
            "give --test-fraction 1, which judges all of them, or a longer trace"
        )
        raise DataError("--test-fraction", [problem])
    return after


def _summed(jobs: JobTable, procs: int) -> dict[str, Any]:
    """Metrics; of blocks of time the number of jobs and the sums of wait and slowdown.

    Of blocks of jobs the longest wait.
    """
    from rheostat.simulation.comparison.paired_comparison import (
        block_sums,
        blocks,
        longest_by_block,
    )
    from rheostat.simulation.schedule_metrics import bounded_slowdown, metrics

    wait = jobs.numpy("wait_s")
    slow = bounded_slowdown(wait, jobs.numpy("runtime_s"))
    submit = jobs.numpy("submit_s")
    count, sums = block_sums(blocks(submit)[0], wait, slow)
    longest = longest_by_block(wait[np.argsort(submit, kind="stable")])
    return metrics(jobs, procs) | {
        "blocks": {"jobs": count.tolist(), "wait_s": sums[:, 0].tolist(),
                   "bounded_slowdown": sums[:, 1].tolist(), "longest_wait_s": longest.tolist()},
    }  # fmt: skip


def sweep(
    tasks: Sequence[Task],
    *,
    open_policy: Opener = batch_policy,
    processes: int = 1,
    workers: Workers | None = None,
    results: Path | None = None,
    progress: Progress | None = None,
) -> dict[Task, dict[str, Any]]:
    """The result of every task, in the order of the tasks.

    ``open_policy`` makes a policy of its name, where it runs; several processes need a function of
    a module, such as `rheostat.questions.scheduling.policies.open_policy`.  Done in this process
    (``processes=1``), in several, or on the Dask ``workers``; what ``results`` holds already is not
    done again, and what is new is added to it.
    """
    done = {} if results is None else finished(results)
    todo = [t for t in tasks if t.key not in done]
    tell = progress or (lambda _stage, _done, _total: None)
    tell("simulate", len(tasks) - len(todo), len(tasks))
    run = partial(perform, open_policy=open_policy)
    with _kept(results) as keep, _means(todo, run, processes, workers) as made:
        for i, (task, result) in enumerate(made, 1):
            done[task.key] = json.loads(json.dumps(result))
            keep(task, result)
            tell("simulate", len(tasks) - len(todo) + i, len(tasks))
    return {t: done[t.key] for t in tasks}


@contextmanager
def _kept(path: Path | None) -> Iterator[Callable[[Task, dict[str, Any]], None]]:
    """Appends a line for each result, on disk before the next task is taken."""
    if path is None:
        yield lambda _task, _result: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.is_file() and read_bytes(path, new=True)[-1:] not in (b"", b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" if torn else "")

        def keep(task: Task, result: dict[str, Any]) -> None:
            with named_errors(path):
                file.write(json.dumps(seal({"key": task.key, "result": result})) + "\n")
                file.flush()
                os.fsync(file.fileno())

        yield keep


def finished(path: Path) -> dict[str, dict[str, Any]]:
    """Results by key; a line that was cut off or damaged is passed over, and its run done again.

    A file that has lines, but no result among them, is somebody else's: a `DataError`.
    """
    if not os.path.lexists(path):
        return {}
    results, lines = {}, read_bytes(path, new=True).splitlines()
    for line in lines:
        try:
            entry = unsealed(json.loads(line), path)
            results[entry["key"]] = entry["result"]
        except (ValueError, RecursionError, KeyError, TypeError, DataError):
            continue
    if len(lines) > 1 and not results:
        raise other_kind(path, "the results of an earlier compare --results")
    return results


def _means(
    tasks: Sequence[Task], run: Runner, processes: int, workers: Workers | None
) -> AbstractContextManager[Made]:
    if workers is not None and tasks:
        return _on_dask(tasks, run, workers)
    if processes > 1 and len(tasks) > 1:
        return closing(_on_cores(tasks, run, processes))
    return nullcontext((t, run(t)) for t in tasks)


def _on_cores(tasks: Sequence[Task], run: Runner, processes: int) -> Made:
    """Processes of this machine; where one is killed, new ones do what is left."""
    from concurrent.futures.process import BrokenProcessPool

    left, lost = dict.fromkeys(tasks), 0
    while left:
        before = len(left)
        try:
            for task, result in _in_pool(list(left), run, processes):
                del left[task]
                yield task, result
        except BrokenProcessPool as error:
            lost = lost + 1 if len(left) == before else 0
            if lost == RETRIES:
                raise RheostatError(f"worker processes end (out of memory?); {HINT}") from error


def _in_pool(tasks: Sequence[Task], run: Runner, processes: int) -> Made:
    """Started anew, not forked: polars' threads do not survive a fork."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    spawn = get_context("spawn")
    locks = {kind: spawn.Lock() for kind in (*ENGINES, "conservative")}
    pool = ProcessPoolExecutor(min(processes, len(tasks)), spawn, _share, (locks,))
    try:
        futures = {pool.submit(run, t): t for t in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _on_dask(tasks: Sequence[Task], run: Runner, workers: Workers) -> Iterator[Made]:
    """Workers elsewhere; what a lost worker had not delivered is done again by another."""
    distributed = require("distributed", extra="cluster")
    with connect(workers) as client:
        futures = {client.submit(run, t, pure=False, retries=RETRIES): t for t in tasks}
        yield ((futures[f], delivered(f)) for f in distributed.as_completed(list(futures)))
