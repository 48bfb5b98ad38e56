"""`simulate_site`: a trace on a machine that is more than a number of processors.

Tables become arrays for the general engine, and its logs become a table and an `Account` of energy.
With one partition and no further feature the starts are those of the plain engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.core.outcome import Outcome
from rheostat.decision.policies.batch_policy import BatchPolicy
from rheostat.errors import DataError
from rheostat.simulation.policies.dispatch import shared
from rheostat.simulation.result import Simulation
from rheostat.simulation.site.moldable import JobOptions, choices, unmatched
from rheostat.simulation.site.planning_estimates import asked_seconds, believed_watts, planned_watts
from rheostat.simulation.site.site_jobs import (
    arrays,
    parents,
    partitions,
    placed,
    possible,
    site_workload,
)
from rheostat.simulation.site.site_run import SiteProblem, run_engine
from rheostat.simulation.site.site_table import result
from rheostat.simulation.workload import Array, Estimates

if TYPE_CHECKING:
    from rheostat.simulation.site.sized_jobs import Advise


def simulate_site(
    jobs: JobTable,
    rule: BatchPolicy,
    machine: Machine,
    *,
    estimates: Estimates = "user",
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
) -> Simulation:
    """As `simulate_run`, with everything that a `Machine` can say.

    ``power_w`` is what planning under a cap believes a job draws: one number per row of ``jobs``,
    or an `Outcome` with ``power_w``.  Without it planning takes the column ``power_w``, measured
    after the fact, which makes the plan clairvoyant, and where there is none the machine's watts.
    ``alternatives`` makes jobs moldable, see `rheostat.simulation.site.moldable`; ``sized_by``
    chooses one of them at submission, see `rheostat.simulation.site.sized_jobs`.
    """
    if alternatives is not None:
        jobs.require("job_id")
    elif sized_by is not None:
        raise DataError("sized_by", ["expected alternatives to choose from"])
    load = placed(jobs, site_workload(jobs, machine), machine, alternatives)
    ways = choices(jobs, load, alternatives, machine.rules.kill == "limit")
    advice: tuple[Note, ...] = ()
    if alternatives is not None:
        advice = unmatched(jobs, alternatives)
        if sized_by is not None:
            ways, more = _advised(ways, jobs, alternatives, sized_by)
            advice += more
    part = partitions(jobs, machine)[load.row]
    believed = believed_watts(power_w, len(jobs))
    load, ways, part = possible(load, ways, part, machine, believed)
    asked, clairvoyant, blind = asked_seconds(estimates, jobs, load, ways)
    watts, seen = planned_watts(machine, load, ways, part, believed)
    parent, think, notes = parents(jobs, load, machine)
    array, limit = arrays(jobs, load, machine)
    site = SiteProblem(
        machine, load, ways, part,
        ways.run_s if rule.semantics == "cqsim" else asked, asked,
        watts, parent, think, array, limit,
        None if rule.order.factors is None else shared(jobs, load, rule, machine.procs),
    )  # fmt: skip
    simulated, cpu = run_engine(site, rule)
    table, energy = result(jobs, site, simulated, (*notes, *blind, *advice), alternatives)
    clairvoyant |= seen or rule.semantics == "cqsim"
    return Simulation(table, rule, machine, int(simulated.passes), cpu, clairvoyant, energy)


def _advised(
    ways: JobOptions, jobs: JobTable, alternatives: JobTable, by: Advise
) -> tuple[JobOptions, tuple[Note, ...]]:
    """Only the ways that the advice leaves, and what it predicts of them."""
    from rheostat.simulation.site.sized_jobs import sized

    advice = sized(jobs, alternatives, by)
    rigid, row = ways.row < 0, np.maximum(ways.row, 0)
    ways = replace(
        ways,
        expect_s=np.where(rigid, np.nan, advice.runtime_s[row]),
        expect_w=np.where(rigid, np.nan, advice.power_w[row]),
    )
    return ways.only(rigid | advice.keep[row]), advice.notes
