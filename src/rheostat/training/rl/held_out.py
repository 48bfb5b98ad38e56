"""An agent on the jobs it has not learned from, beside first come, first served with EASY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheostat.simulation.report_facts import facts
from rheostat.simulation.simulate import simulate_run
from rheostat.training.rl.agent_policy import AgentPolicy
from rheostat.training.rl.curriculum import Curriculum, TrainingResult
from rheostat.training.rl.objective import judged

UNJUDGED: dict[str, Any] = {"held_out": None, "objective_ratio": None, "held_out_jobs": 0}
Progress = Callable[[int, int, dict[str, Any]], None]


def held_out(
    course: Curriculum, learned: TrainingResult, trace: str, *, progress: Progress | None = None
) -> dict[str, Any]:
    """``held_out`` as `report_facts`, ``objective_ratio``, ``held_out_jobs``; or None.

    The ratio is the agent's objective over that of FCFS with EASY.  ``progress`` is called with
    (jobs that the agent has started, jobs, nothing).
    """
    if course.unseen is None or course.check is None:
        return UNJUDGED
    estimates = course.estimates
    easy = simulate_run(course.unseen, "easy", course.machine, estimates=estimates)
    policy = AgentPolicy(learned.agent, course.agent, progress)
    ours = simulate_run(
        course.unseen, policy, course.machine, estimates=estimates, seed=course.seed
    )
    how = {"estimates": estimates}
    report = facts(trace, [easy, ours], how, read=course.unseen, seed=course.seed, deep=False)
    order = np.argsort(ours.jobs.numpy("submit_s"), kind="stable")
    starts = ours.jobs.numpy("start_s")[order]
    asked = course.objective or learned.setup["reward"]
    ratio = judged(asked, course.check, starts, course.machine)
    return {"held_out": report, "objective_ratio": ratio, "held_out_jobs": len(order)}
