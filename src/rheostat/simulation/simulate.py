"""A trace, a policy and a machine become a table of starts and ends.

The result is a `JobTable` like the trace, so whatever reads a trace reads a simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.outcome import Array, Outcome
from rheostat.decision.policies.batch_policy import BatchPolicy
from rheostat.errors import DataError
from rheostat.simulation.log_machine import placed
from rheostat.simulation.policies.policy import Policy, SchedulingProblem, as_policy, cannot
from rheostat.simulation.result import Simulation, account_of, run_table
from rheostat.simulation.site.cap_shares import in_shares
from rheostat.simulation.site.simulate_site import simulate_site
from rheostat.simulation.workload import Estimates, workload

if TYPE_CHECKING:
    from rheostat.simulation.site.sized_jobs import Advise


def simulate_run(  # noqa: PLR0913 - what is known of jobs and site, all but three by keyword
    jobs: JobTable,
    policy: str | Policy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    estimates: Estimates = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
    seed: int = 0,
) -> Simulation:
    """`rheostat.simulate` with what the engine did; parameters and errors are the same.

    ``policy`` is a `Policy`, or what `rheostat.decision.policies.batch_policy` makes one of; names
    of files are those of `rheostat.questions.scheduling.policies.open_policy`.  A machine with
    more than processors, or ``alternatives``, ``sized_by`` or ``power_w``, go to
    `rheostat.simulation.site.simulate_site`.

    Returns
    -------
    Simulation
        The schedule and what it took; where any watts are known, with an ``account`` of energy.
    """
    if machine is None:
        jobs, machine = placed(jobs)
    elif not isinstance(machine, Machine):
        machine = Machine(machine)
    rule = as_policy(policy, backfill=backfill, semantics=semantics, ties=ties, overdue=overdue)
    given = {"alternatives": alternatives, "sized_by": sized_by, "power_w": power_w}
    site: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    problems = cannot(rule, machine, estimates, site)
    if problems:
        raise DataError(rule.name, problems)
    if isinstance(rule, BatchPolicy) and (site or not machine.plain):
        return simulate_site(jobs, rule, machine, estimates=estimates, **site)
    load = workload(jobs, machine)
    problem, seen = SchedulingProblem(jobs, load, machine, estimates, seed), False
    if machine.capped_alone:
        problem, load, seen = in_shares(problem, power_w)
    plan = rule.plan(problem)
    ran = run_table(jobs, load, plan)
    account, clairvoyant = account_of(machine, ran), plan.clairvoyant or seen
    return Simulation(ran, rule, machine, plan.passes, plan.cpu_s, clairvoyant, account)
