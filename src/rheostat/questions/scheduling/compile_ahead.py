"""Compile before machine code is needed: one small run of every kind, thrown away.

Numba compiles a function when it is first called with arguments of some types, and keeps the
machine code on disk (`rheostat.simulation.engine.jit`).  A first simulation therefore takes half a
minute of CPU time more than the next, unless the installation has run `compile_ahead`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any, ClassVar

from rheostat._machine_code import LOG, can_keep
from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.report import Report
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.simulation.engine.jit import FOLDER

PROCS = 8
POLICIES = ("fcfs", "wfp3+easy", "conservative", "sjf+easy+1.5x", "agent:ours")


@dataclass(frozen=True, kw_only=True, repr=False)
class CompiledAnswer(Answer):
    """What was compiled ahead.

    Parameters
    ----------
    functions : int
        That were not compiled yet.
    cpu_s : float
        CPU time that it took, seconds.
    folder : str or None
        Where the machine code lies; None where it is in memory alone.
    """

    schema: ClassVar[str] = "rheostat.compile/1"
    functions: int
    cpu_s: float
    folder: str | None

    def report(self) -> Report:
        """Nothing: a sentence was told when it was done."""
        return Report("", [])

    def facts(self) -> Mapping[str, Any]:
        """All of it."""
        return {"functions": self.functions, "cpu_s": self.cpu_s, "folder": self.folder}


@question
def compiled() -> CompiledAnswer:
    """Compile what is not compiled yet, so that the first use of the simulator need not.

    Returns
    -------
    CompiledAnswer
        With ``functions``, ``cpu_s`` and ``folder``.
    """
    begun = process_time()
    with _counting() as count, listener.rounds("compiling") as progress:
        compile_ahead(progress)
    spent, where = process_time() - begun, FOLDER if can_keep(FOLDER) else None
    listener.line(f"{count.functions} functions compiled in {spent:.0f} CPU-seconds, "
                  f"kept in {where or 'memory'}")  # fmt: skip
    return CompiledAnswer(functions=count.functions, cpu_s=spent, folder=where)


class _CompiledCount(logging.Handler):
    """Counts functions as they are compiled."""

    functions = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.functions += record.levelno < logging.WARNING


@contextmanager
def _counting() -> Iterator[_CompiledCount]:
    """Counts in place of whoever else hears of each function: the rounds say how far it is."""
    count, before, level = _CompiledCount(), LOG.handlers[:], LOG.level
    LOG.handlers[:] = [count]
    LOG.setLevel(logging.INFO)
    try:
        yield count
    finally:
        LOG.handlers[:] = before
        LOG.setLevel(level)


def compile_ahead(progress: Callable[[int, int, dict[str, Any]], None] | None = None) -> None:
    """Run every engine once; ``progress`` is told (done, of, what was compiled)."""
    every = _runs()
    for done, (what, run) in enumerate(every.items(), 1):
        run()
        if progress is not None:
            progress(done, len(every), {"compiled": what})


def _runs() -> dict[str, Callable[[], object]]:
    from rheostat.prediction.answer_length import length_learner
    from rheostat.questions.scheduling.policies import open_policy
    from rheostat.simulation.serving.serve import serve
    from rheostat.simulation.simulate import simulate_run
    from rheostat.training.distill.dagger import imitate

    jobs = _trace()
    plain = partial(simulate_run, jobs, machine=PROCS)
    runs: dict[str, Callable[[], object]] = {
        name: partial(plain, open_policy(name)) for name in POLICIES
    }
    runs["estimates from ended jobs"] = partial(plain, "easy", estimates="last2")
    site = Machine(PROCS, idle_w=1.0, busy_w=2.0, cap_w=Series((0.0,), (2.0 * PROCS,)))
    runs["sites and power caps"] = partial(simulate_run, jobs, "easy", site)
    asked = table({"submit_s": [0.0, 1.0], "prompt_tokens": [9, 9], "output_tokens": [2, 2]})
    runs["servers of language models"] = partial(serve, asked)
    runs["lengths of answers"] = length_learner.compile_ahead
    runs["explanations"] = partial(imitate, "wfp3", jobs, Machine(PROCS), depth=1, rounds=1)
    if find_spec("gymnasium"):
        runs["environments"] = partial(_play, jobs)
    return runs


def _trace(n: int = 40) -> JobTable:
    """Jobs that queue up, of two users; every number is made, none is drawn."""
    run_s = [float(60 + 37 * (i * i % 11)) for i in range(n)]
    return table(
        {
            "job_id": list(range(n)),
            "submit_s": [20.0 * i for i in range(n)],
            "runtime_s": run_s,
            "time_limit_s": [2 * r for r in run_s],
            "cores": [1 + i * 3 % PROCS for i in range(n)],
            "user": [f"u{i % 2}" for i in range(n)],
        }
    )


def _play(jobs: JobTable) -> None:
    import numpy as np

    from rheostat.training.env import VectorSchedulingEnv

    envs = VectorSchedulingEnv(jobs, PROCS, num_envs=2, window=4, episode_jobs=8)
    envs.reset(seed=0)
    envs.step(np.zeros(2, np.int64))
