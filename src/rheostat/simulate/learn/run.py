"""A trace run by a trained agent, as a `Run` beside those of the batch policies."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decide.queue.orders import order
from rheostat.decide.queue.policy import Policy
from rheostat.errors import DataError
from rheostat.simulate.env.rules import trace as prepare
from rheostat.simulate.learn.store import load
from rheostat.simulate.run import Run, account_of, run_table
from rheostat.simulate.schedule import Plan
from rheostat.simulate.workload import workload

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
) -> Run:
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
    plan = Plan(played.starts, asked, passes, spent, played.clairvoyant)
    told = run_table(jobs, load, plan)
    rule = Policy(order("fcfs"), name=name)
    return Run(told, rule, place, passes, spent, played.clairvoyant, account_of(place, told))


def simulate_saved(jobs: JobTable, spec: str, machine: Machine | int, **options: Any) -> Run:
    """The same with ``agent:FILE``, as `rheostat train` wrote it; called agent: and its stem."""
    path = Path(spec.removeprefix(PREFIX))
    return simulate_agent(jobs, load(path), machine, name=f"{PREFIX}{path.stem}", **options)
