"""The published student on the published traces: size, loss, time, and what was not told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rheostat.recipes.irl import DEPTHS, JOBS, irl, teacher
from rheostat.simulate.env.rules import trace as prepare
from rheostat.simulate.imitate.values import WITH_WAIT, imitate_values, judged
from rheostat.simulate.learn.jobsets import three_phases
from rheostat.simulate.learn.train import train
from trees_lib.common import FILES, headline, trace

RULES = ("fcfs", "easy", "sjf+easy", "wfp3+easy")
PLAIN = {"critical": None}


def students(quick: bool) -> dict[str, dict[str, Any]]:
    """What is compared: the published settings, without critical decisions, other depths, ours."""
    own = irl(faithful=False)["depth"]
    found = {
        "critical, depth 10": irl(),
        f"ours, depth {own}": irl(depth=own, ranked=True, features=WITH_WAIT, rounds=3, **PLAIN),
        "all decisions, depth 10": irl(**PLAIN),
        **{f"critical, depth {d}": irl(depth=d) for d in DEPTHS if d != 10},
    }
    return {k: v | {"rounds": 1} for k, v in list(found.items())[:2]} if quick else found


def published(
    name: str, keep: Callable[[dict[str, Any]], None], *, quick: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Train the agent, its students, and judge all on the jobs that follow; ``keep`` each."""
    size, few = FILES[name][1], 10 if quick else 1
    jobs = trace(name, 0, (JOBS["train"] + JOBS["test"]) // few)
    cut = JOBS["train"] // few
    past, later = jobs.rows(np.arange(cut)), jobs.rows(np.arange(cut, len(jobs)))
    begin = time.process_time()
    weeks = (9, 9, 2) if quick else (9, 9, 82)
    agent = train(three_phases(past, size, weeks, seed=seed), teacher(), seed=seed)
    spent = time.process_time() - begin
    learn, test = prepare(past, size), prepare(later, size)
    facts: dict[str, Any] = {
        "jobs": {"train": len(past), "test": len(later)},
        "training_cpu_s": spent,
        "rules": {rule: headline(later, rule, size) for rule in RULES},
        "weights": sum(p.numel() for p in agent.network.parameters()),
        "students": {},
    }
    for words, how in students(quick).items():
        begin = time.process_time()
        found = judged(agent, test, imitate_values(agent, learn, **how), seed=seed)
        facts["students"][words] = found | {"cpu_s": time.process_time() - begin}
        keep(facts)
        print(name, words, found["nodes"], found["loss"], found["certificate"]["agreement"],
              flush=True)  # fmt: skip
    return facts
