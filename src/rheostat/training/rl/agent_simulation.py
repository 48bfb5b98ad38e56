"""A trace run by a trained agent, as a `Simulation` beside those of the batch policies."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import BatchPolicy
from rheostat.decision.policies.priority_functions import priority_function
from rheostat.errors import DataError
from rheostat.simulation.dispatch import StartPlan
from rheostat.simulation.simulate import Simulation, account_of, run_table
from rheostat.simulation.workload import workload
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.agent_file import load

PREFIX = "agent:"


def simulate_agent(
    jobs: JobTable,
    agent: Any,
    machine: Machine | int,
    *,
    name: str = "agent",
    estimates: str = "user",
    seed: int = 0,
    progress: Callable[[int, int, dict[str, Any]], None] | None = None,
) -> Simulation:
    """Let ``agent`` schedule all of ``jobs``, from an empty machine, like any policy.

    An agent has ``play(trace, seed=)``, and takes ``progress`` there if it is given one; it returns
    ``starts``, ``told()`` and ``clairvoyant``.

    ``estimates`` are "user", or "perfect", which is clairvoyant.  ``seed`` is that of an agent that
    draws.  One pass is counted per decision.  On a machine with partitions or a cap agents cannot
    play.
    """
    place = machine if isinstance(machine, Machine) else Machine(machine)
    problems = [] if place.plain else ["an agent plays a plain machine: expected processors alone"]
    if estimates not in ("user", "perfect"):
        problems.append(f"estimates: with an agent expected user or perfect, got {estimates!r}")
    if problems:
        raise DataError(name, problems)
    load = workload(jobs, place)
    trace = prepare(jobs, place, estimates)
    begin = time.process_time()
    watched = {} if progress is None else {"progress": progress}
    played = agent.play(trace, seed=seed, **watched)
    spent = time.process_time() - begin
    asked = load.run_s if estimates == "perfect" else load.ask_s
    passes = int(played.told()["decisions"])
    plan = StartPlan(played.starts, asked, passes, spent, played.clairvoyant)
    told = run_table(jobs, load, plan)
    rule = BatchPolicy(priority_function("fcfs"), name=name)
    return Simulation(told, rule, place, passes, spent, played.clairvoyant, account_of(place, told))


def simulate_saved(jobs: JobTable, spec: str, machine: Machine | int, **options: Any) -> Simulation:
    """The same with ``agent:FILE``, as `rheostat train` wrote it; called agent: and its stem."""
    path = Path(spec.removeprefix(PREFIX))
    return simulate_agent(jobs, load(path), machine, name=f"{PREFIX}{path.stem}", **options)
