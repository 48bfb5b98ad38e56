"""``rheostat coschedule``: which jobs share a node's GPUs, on how many each, and when."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.decision.coschedule.constraint_programme import Optimum


def coschedule(
    profiles: Annotated[
        Path,
        typer.Argument(
            help="Applications on 1, 2, ... GPUs: app, gpus, runtime_s, power_w (of all its GPUs).",
            metavar="PROFILES",
        ),
    ],
    queue: Annotated[
        str,
        typer.Option(
            help="Jobs as lbm,resnet50*3 or a file with app, job_id, submit_s.  [default: every "
            "application once]"
        ),
    ] = "",
    policy: Annotated[
        str,
        typer.Option(
            help="Candidates, of packed, ecosched, ecosched-score, marble, sequential-fastest and "
            "sequential-most: all are compared, the best is shown.  [default: all]"
        ),
    ] = "",
    objective: Annotated[
        str, typer.Option(help="What the best is: edp (energy times makespan), makespan or energy.")
    ] = "edp",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Rows of PROFILES to take. Repeatable."),
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, max=1024, help="GPUs of a node.")] = 4,
    domains: Annotated[int, typer.Option(min=1, max=1024, help="NUMA domains of a node.")] = 2,
    idle: Annotated[str, typer.Option(help="Power of an idle GPU.")] = "60W",
    tenants: Annotated[int, typer.Option(min=1, max=1024, help="Most jobs at once (packed).")] = 4,
    interference: Annotated[
        float, typer.Option(min=0.0, help="Slowdown of a job per neighbour, 0.05 is 5 %.")
    ] = 0.05,
    nodes: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="Nodes; with several, packed matches jobs to nodes."),
    ] = 1,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also a schedule searched by OR-tools, for one node.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the best schedule here, as CSV.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Pack jobs on the GPUs of a node and say what it takes in time and energy.

    Several policies plan the queue and the best plan in the objective is shown, beside the others.
    Runtimes are those profiled, slowed by neighbours; energy is that of the GPUs, idle ones
    included.  Nothing is started: the schedule is a plan.
    """
    from rheostat.cli.output import put_json, put_report, tell, working, write_files
    from rheostat.core.files import replacing
    from rheostat.core.units import parse_quantity
    from rheostat.decision.coschedule.gpu_profiles import has_signals
    from rheostat.decision.coschedule.queue_files import read_profiles, read_queue
    from rheostat.explanation.coschedule import coschedule_report, jobs_grid, policies_grid
    from rheostat.questions.parse import parse_names
    from rheostat.recipes.ecosched import POLICIES, coschedule_facts
    from rheostat.recipes.ecosched import coschedule as compare

    if exact and nodes > 1:
        raise typer.BadParameter(f"--exact plans one node, got --nodes {nodes}")
    if not interference <= 100:
        raise typer.BadParameter(
            f"--interference: expected a share such as 0.05, got {interference}"
        )
    known = read_profiles(profiles, _pairs(where or []))
    jobs, idle_w = read_queue(queue, known), parse_quantity(idle, "W")
    node, tenants = _node(gpus, domains, idle_w), min(tenants, gpus)
    _must_fit(jobs, known, gpus)
    candidates = parse_names(policy) or POLICIES
    if any(c.startswith("ecosched") for c in candidates) and not has_signals(
        {j.app: known[j.app] for j in jobs}
    ):
        tell("note: no dram_active, fp_active or sm_clock for every mode: "
             "ecosched is given the profiled runtimes")  # fmt: skip
    with working(f"{len(jobs)} jobs"):
        best = _exact(jobs, known, node, tenants, objective, seed) if exact else None
        runs = compare(jobs, known, node, candidates=candidates, objective=objective, nodes=nodes,
                       plans=[best.plan(tenants)] if best else (), tenants=tenants,
                       crowd=interference, seed=seed)  # fmt: skip
    how = {"idle_w": node.idle_w, "crowd": interference, "objective": objective}
    facts = coschedule_facts(runs, node.gpus, nodes, how)
    if best:
        facts["exact"] = {"makespan_s": best.makespan_s, "energy_j": best.energy_j,
                          "edp_js": best.makespan_s * best.energy_j, "bound": best.bound,
                          "proven": best.proven}  # fmt: skip
    if out is not None:
        with replacing(out) as draft:
            runs[0].jobs.frame.write_csv(draft)
        tell(f"wrote {out}")
    report = coschedule_report(facts)
    if json:
        put_json("rheostat.coschedule/1", facts)
    else:
        put_report(report, policies_grid(facts), jobs_grid(facts))
    write_files(report, html, figure)


def _pairs(flags: list[str]) -> dict[str, str]:
    bad = [f for f in flags if "=" not in f]
    if bad:
        raise typer.BadParameter(f"expected COLUMN=VALUE, got {bad[0]!r}", param_hint="--where")
    return dict(f.split("=", 1) for f in flags)


def _node(gpus: int, domains: int, idle_w: float) -> Any:
    from rheostat.decision.coschedule.shared_node import Node

    if domains > gpus:
        raise typer.BadParameter(f"at most one domain per GPU, got {domains} for {gpus}")
    if not idle_w <= 1e5:
        raise typer.BadParameter(f"--idle: expected watts of one GPU, got {idle_w:g} W")
    edges = [round(k * gpus / domains) for k in range(domains + 1)]
    return Node(tuple(tuple(range(a, b)) for a, b in pairwise(edges)), idle_w)


def _must_fit(jobs: Any, known: Any, gpus: int) -> None:
    from rheostat.errors import Infeasible

    large = sorted({j.app for j in jobs if all(m.gpus > gpus for m in known[j.app])})
    if large:
        raise Infeasible(f"{', '.join(large)}: no mode fits on {gpus} GPUs", -1)


def _exact(jobs: Any, known: Any, node: Any, tenants: int, objective: str, seed: int) -> Optimum:
    from rheostat.decision.coschedule.constraint_programme import optimum
    from rheostat.decision.coschedule.expected_schedule import NodeSite

    least = "makespan" if objective == "makespan" else "energy"
    site = NodeSite(node.gpus, tenants, node.idle_w)
    return optimum(jobs, known, site, minimise=least, seed=seed)
