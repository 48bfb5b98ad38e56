"""Two rewards, the same agent: what each has taught it."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.jobsets import weeks
from trees_lib.common import FILES, trace
from trees_lib.irl import teacher
from trees_lib.reward_audit import REWARDS, trained_by
from trees_lib.reward_audit import audit as audited

JOBS, LEARN = 6_000, 5_000
SEEDS = (0, 1)


def audit(*, quick: bool = False) -> dict[str, Any]:
    """Both rewards with a few seeds, on the jobs after those learned from."""
    name = "SDSC-SP2"
    size, few = FILES[name][1], 5 if quick else 1
    jobs, cut = trace(name, 0, JOBS // few), LEARN // few
    past = weeks(jobs.rows(np.arange(cut)), size)
    later = prepare(jobs.rows(np.arange(cut, len(jobs))), size)
    found: dict[str, Any] = {}
    for words, reward in REWARDS.items():
        found[words] = []
        for seed in SEEDS[: 1 if quick else None]:
            agent = trained_by(reward, past, teacher(), seed=seed)
            found[words].append(audited(agent, later))
            print(words, found[words][-1], flush=True)
    return found
