"""``rheostat coschedule``: which jobs share a node's GPUs, on how many each, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.options.declared import argument, option, written


@asks("coschedule", o.drawn, policy="policies")
def coschedule(
    profiles: Annotated[
        Path,
        argument(
            "Applications on 1, 2, ... GPUs: app, gpus, runtime_s, power_w (of all its GPUs).",
            "PROFILES",
        ),
    ],
    queue: Annotated[
        str,
        option(
            "Jobs as lbm,resnet50*3 or a file with app, job_id, submit_s.  [default: every "
            "application once]"
        ),
    ] = "",
    policy: Annotated[
        str,
        option(
            "Candidates, of packed, ecosched, ecosched-score, marble, sequential-fastest, "
            "sequential-most and list (the best plain list schedule): all are compared, the "
            "best is shown.  [default: all]"
        ),
    ] = "",
    objective: Annotated[
        str, option("What the best is: edp (energy times makespan), makespan or energy.")
    ] = "edp",
    where: Annotated[
        list[str] | None, option("Rows of PROFILES to take. Repeatable.", metavar="COLUMN=VALUE")
    ] = None,
    column: o.Columns = None,
    gpus: Annotated[int, option("GPUs of a node.", min=1, max=1024)] = 4,
    domains: Annotated[int, option("NUMA domains of a node.", min=1, max=1024)] = 2,
    idle: Annotated[str, option("Power of an idle GPU.")] = "60W",
    tenants: Annotated[int, option("Most jobs at once (packed, list).", min=1, max=1024)] = 4,
    interference: Annotated[
        float, option("Slowdown of a job per neighbour, 0.05 is 5 %.", min=0.0)
    ] = 0.05,
    nodes: Annotated[
        int, option("Nodes; with several, packed matches jobs to nodes.", min=1, max=10_000)
    ] = 1,
    exact: Annotated[
        bool, option("Also a schedule searched by OR-tools, for one node.", "--exact")
    ] = False,
    out: Annotated[
        Path | None, written("Write the best schedule here, as CSV.", "--out", "-o")
    ] = None,
    seed: o.Seed = 0,
) -> Values:
    """Pack jobs on the GPUs of a node and say what it takes in time and energy.

    Several policies plan the queue and the best plan in the objective is shown, beside the others.
    Runtimes are those profiled, slowed by neighbours; energy is that of the GPUs, idle ones
    included.  Nothing is started: the schedule is a plan.
    """
    from rheostat.questions.scheduling.coschedule import node_of

    return {"node": node_of(gpus, domains, idle)}
