"""A constant power cap for policies that know a number of processors and nothing else.

Of a machine of N processors and D watts above what they draw idle, a job with n processors and d
watts takes the larger of n / N and d / D.  While shares add up to one at most, so do processors and
watts.  Where jobs that are short of one run beside jobs that are short of the other, a share stays
unused that a scheduler of both resources could give away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheostat.core.machine import Machine
from rheostat.core.outcome import Outcome
from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.site.capacity_changes import capacity, demand
from rheostat.simulation.site.moldable import choices
from rheostat.simulation.site.planning_estimates import believed_watts, planned_watts
from rheostat.simulation.site.site_jobs import possible
from rheostat.simulation.workload import Array, Workload

MOST_PARTS = 2**52
"""Of a machine, so that sums of shares are exact in floating point."""


def in_shares(
    problem: SchedulingProblem, power_w: Array | Outcome | None
) -> tuple[SchedulingProblem, Workload, bool]:
    """The problem in shares of a capped machine, its jobs as they are, was measured power used?

    A job's processors are then its share, counted in parts of the machine.

    >>> import rheostat as rh
    >>> from rheostat.core.series import Series
    >>> from rheostat.simulation.workload import workload
    >>> site = rh.Machine(4, idle_w=50.0, busy_w=150.0, cap_w=Series.of(400.0))  # 200 W above idle
    >>> jobs = rh.table({"submit_s": [0.0, 0.0], "runtime_s": [9.0, 9.0], "cores": [1, 3]})
    >>> watts = np.array([150.0, 160.0])  # 100 W above idle; 10
    >>> made, load, _ = in_shares(SchedulingProblem(jobs, workload(jobs, site), site), watts)
    >>> (made.load.procs / made.machine.procs).tolist(), load.procs.tolist()
    ([0.5, 0.75], [1, 3])
    """
    machine, jobs, load = problem.machine, problem.jobs, problem.load
    part, believed = np.zeros(len(load), np.int64), believed_watts(power_w, len(jobs))
    ways = replace(choices(jobs, load, None, kill=False), gpus=part)
    load, ways, part = possible(load, ways, part, machine, believed)
    watts, measured = planned_watts(machine, load, ways, part, believed)
    need = demand(machine, part, load.procs, part, watts)
    begin = load.submit_s[0]
    room = int(capacity(machine, begin, begin)[1][0, -1])
    unit = machine.procs * room // MOST_PARTS + 1  # of microwatts; 1 but for the largest sites
    room, need = max(room // unit, 1), -(-need // unit)
    shared = replace(load, procs=np.maximum(load.procs * room, need * machine.procs))
    return replace(problem, load=shared, machine=Machine(machine.procs * room)), load, measured
