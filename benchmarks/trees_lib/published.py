"""The published student on the published traces: size, loss, time, and what was not told."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rheostat.simulation.comparison.protocol import HEURISTICS
from rheostat.simulation.engine.env_layout import SUBMIT
from rheostat.training.distill.fidelity import loss
from rheostat.training.distill.value_tree import WITH_WAIT, imitate_values, judged
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras import train
from rheostat.training.rl.jobsets import three_phases
from trees_lib.common import FILES, headline, trace
from trees_lib.irl import DEPTHS, JOBS, irl, teacher

RULES = ("fcfs", *HEURISTICS)
SEEDS = (0, 1, 2)
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
    name: str, keep: Callable[[dict[str, Any]], None], *, quick: bool = False,
    seeds: Sequence[int] = SEEDS, most: int | None = None, **changed: Any,
) -> None:  # fmt: skip
    """Train an agent per seed and its students, and judge all on the jobs that follow.

    ``keep`` is told what is known after each student.  ``most``: so many of `students`, the first;
    ``changed``: switches of the agent.
    """
    size, few = FILES[name][1], 10 if quick else 1
    jobs = trace(name, 0, (JOBS["train"] + JOBS["test"]) // few)
    cut = JOBS["train"] // few
    past, later = jobs.rows(np.arange(cut)), jobs.rows(np.arange(cut, len(jobs)))
    test = prepare(later, size)
    facts: dict[str, Any] = {
        "jobs": {"train": len(past), "test": len(later)},
        "rules": {rule: headline(later, rule, size) for rule in RULES},
        "agents": [],
        "students": {},
    }
    each: dict[str, list[Any]] = {}
    for seed in seeds:
        begin = time.process_time()
        weeks = (9, 9, 2) if quick else (9, 9, 82)
        agent = train(three_phases(past, size, weeks, seed=seed), teacher(**changed), seed=seed)
        spent = time.process_time() - begin
        facts["weights"] = sum(p.numel() for p in agent.network.parameters())
        print(name, "seed", seed, "trained in", spent, "CPU s", flush=True)
        for words, how in list(students(quick).items())[:most]:
            begin = time.process_time()
            found = judged(
                agent, test, imitate_values(agent, prepare(past, size), **how), seed=seed
            )
            each.setdefault(words, []).append(found.pop("each"))
            of = facts["students"].setdefault(words, {"seeds": []})
            of["seeds"].append(found | {"cpu_s": time.process_time() - begin})
            mine, his = (np.stack(v) for v in zip(*each[words], strict=True))
            of["loss"] = loss(mine, his, test.jobs[:, SUBMIT])
            print(name, words, found["nodes"], found["loss"], found["certificate"]["agreement"],
                  flush=True)  # fmt: skip
            facts["agents"][seed:] = [{"training_cpu_s": spent, **found["teacher"]}]
            keep(facts)
