"""Compile before machine code is needed: one small run of every kind, thrown away.

Numba compiles a function when it is first called with arguments of some types, and keeps the
machine code on disk (`rheostat.simulation.engine.jit`).  A first simulation therefore takes half a
minute of CPU time more than the next, unless the installation has run `compile_ahead`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.vocabulary import table

PROCS = 8
POLICIES = ("fcfs", "wfp3+easy", "conservative", "sjf+easy+1.5x", "agent:ours")


def compile_ahead(progress: Callable[[int, int, dict[str, Any]], None] | None = None) -> None:
    """Run every engine once; ``progress`` is told (done, of, what was compiled)."""
    every = _runs()
    for done, (what, run) in enumerate(every.items(), 1):
        run()
        if progress is not None:
            progress(done, len(every), {"compiled": what})


def _runs() -> dict[str, Callable[[], object]]:
    from rheostat.prediction.answer_length import length_learner
    from rheostat.questions.policies import open_policy
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
