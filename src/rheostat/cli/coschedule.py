"""``rheostat coschedule``: which jobs share a node's GPUs, on how many each, and when."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.report import Chart, Grid, Report
    from rheostat.simulate.node.run import NodeRun


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
            help="packed, ecosched, ecosched-score, marble, sequential-fastest or "
            "sequential-most; the first is shown, all are compared."
        ),
    ] = "packed,marble",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Rows of PROFILES to take. Repeatable."),
    ] = None,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of a node.")] = 4,
    domains: Annotated[int, typer.Option(min=1, help="NUMA domains of a node.")] = 2,
    idle: Annotated[str, typer.Option(help="Power of an idle GPU.")] = "60W",
    tenants: Annotated[int, typer.Option(min=1, help="Most jobs at once (packed).")] = 4,
    crowd: Annotated[
        float, typer.Option(min=0.0, help="Slowdown of a job per neighbour, 0.05 is 5 %.")
    ] = 0.05,
    nodes: Annotated[
        int, typer.Option(min=1, help="Nodes; with several, packed matches jobs to nodes.")
    ] = 1,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also the best schedule known beforehand (OR-tools).")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the first policy's schedule here, as CSV.")
    ] = None,
    html: o.Html = None,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Pack jobs on the GPUs of a node and say what it takes in time and energy.

    Runtimes are those profiled, slowed by neighbours; energy is that of the GPUs, idle ones
    included.  Nothing is started: the schedule is a plan.
    """  # fmt: skip
    from rheostat.cli.output import put_json, put_report, tell, working, write_page
    from rheostat.core.files import replacing
    from rheostat.core.units import parse_quantity
    from rheostat.recipes.ecosched import queue_of, read_profiles

    known = read_profiles(profiles, _pairs(where or []))
    jobs, idle_w = queue_of(queue, known), parse_quantity(idle, "W")
    node = _node(gpus, domains, idle_w)
    _must_fit(jobs, known, gpus)
    how = {"tenants": tenants, "crowd": crowd, "seed": seed}
    with working(f"{len(jobs)} jobs"):
        runs = [_run(name, jobs, known, node, nodes, how) for name in o.names(policy)]
    facts = _facts(runs, node, nodes, crowd)
    if exact:
        facts["exact"] = _exact(jobs, known, node, tenants, seed)
    if out is not None:
        with replacing(out) as draft:
            runs[0].jobs.frame.write_csv(draft)
        tell(f"wrote {out}")
    report = _report(facts)
    if json:
        put_json("rheostat.coschedule/1", facts)
    else:
        put_report(report, _schedule(facts))
    if html is not None:
        write_page(report, html)


def _pairs(flags: list[str]) -> dict[str, str]:
    bad = [f for f in flags if "=" not in f]
    if bad:
        raise typer.BadParameter(f"expected COLUMN=VALUE, got {bad[0]!r}", param_hint="--where")
    return dict(f.split("=", 1) for f in flags)


def _node(gpus: int, domains: int, idle_w: float) -> Any:
    from rheostat.decide.coschedule.node import Node

    if domains > gpus:
        raise typer.BadParameter(f"at most one domain per GPU, got {domains} for {gpus}")
    edges = [round(k * gpus / domains) for k in range(domains + 1)]
    return Node(tuple(tuple(range(a, b)) for a, b in pairwise(edges)), idle_w)


def _must_fit(jobs: Any, known: Any, gpus: int) -> None:
    from rheostat.errors import Infeasible

    large = sorted({j.app for j in jobs if all(m.gpus > gpus for m in known[j.app])})
    if large:
        raise Infeasible(f"{', '.join(large)}: no mode fits on {gpus} GPUs", -1)


def _run(name: str, jobs: Any, known: Any, node: Any, nodes: int, how: dict[str, Any]) -> NodeRun:
    from rheostat.decide.coschedule.cluster import Matched
    from rheostat.recipes.ecosched import make_policy
    from rheostat.simulate.node.run import run_queue
    from rheostat.simulate.node.truth import Truth

    truth = Truth(crowd=how["crowd"])
    fitting = {a: tuple(m for m in ms if m.gpus <= node.gpus) for a, ms in known.items()}
    fitting = {a: ms for a, ms in fitting.items() if ms}
    if name == "packed" and nodes > 1:
        options = {k: how[k] for k in ("tenants", "crowd")}
        many = Matched(fitting, node.idle_w, **options)
        return run_queue(jobs, None, node, truth, nodes=nodes, chooser=many.choose, name=name)
    options = how if name == "packed" else {}
    made = make_policy(name, fitting, node.idle_w, **options)
    return run_queue(jobs, made, node, truth, nodes=nodes)


def _exact(jobs: Any, known: Any, node: Any, tenants: int, seed: int) -> dict[str, Any]:
    from rheostat.decide.coschedule.exact import optimum
    from rheostat.decide.coschedule.plan import Site

    best = optimum(jobs, known, Site(node.gpus, tenants, node.idle_w), seed=seed)
    return {"makespan_s": best.makespan_s, "energy_j": best.energy_j,
            "edp_js": best.makespan_s * best.energy_j, "bound": best.bound,
            "proven": best.proven}  # fmt: skip


def _facts(runs: list[NodeRun], node: Any, nodes: int, crowd: float) -> dict[str, Any]:
    told = [
        {"policy": r.policy, "makespan_s": r.makespan_s, "energy_j": r.energy_j,
         "edp_js": r.edp_js, "mean_wait_s": float((r.jobs.numpy("start_s")
                                                   - r.jobs.numpy("submit_s")).mean())}
        for r in runs
    ]  # fmt: skip
    columns = ["job_id", "app", "node", "gpus", "gpu_ids", "submit_s", "start_s", "end_s",
               "energy_j"]  # fmt: skip
    rows = runs[0].jobs.frame.select(columns).to_dicts()
    return {"node_gpus": node.gpus, "nodes": nodes, "idle_w": node.idle_w, "crowd": crowd,
            "policies": told, "schedule": rows}  # fmt: skip


def _schedule(facts: dict[str, Any]) -> Grid:
    from rheostat.core.report import Grid

    heads = ("job", "node", "GPUs", "start", "end", "energy")
    rows = tuple((r["job_id"], r["node"], r["gpu_ids"], round(r["start_s"], 3),
                  round(r["end_s"], 3), round(r["energy_j"], 1))
                 for r in facts["schedule"])  # fmt: skip
    return Grid(heads, rows, ("", "", "", "s", "s", "J"))


def _bars(facts: dict[str, Any]) -> Chart:
    """A bar per job and GPU; the darker, the more power the job draws per GPU."""
    from rheostat.core.report import Chart

    bars = [
        (r["end_s"] - r["start_s"], r["start_s"], facts["node_gpus"] * r["node"] + int(g),
         r["energy_j"] / (r["end_s"] - r["start_s"]) / r["gpus"], r["job_id"])
        for r in facts["schedule"]
        for g in r["gpu_ids"].split()
    ]  # fmt: skip
    seconds, base, y, watts, names = zip(*bars, strict=True)
    series = {
        "x": list(seconds), "base": list(base), "y": list(y), "width": [0.9] * len(bars),
        "shade": list(watts), "shades": [min(watts), max(watts)],
        "hover": [f"{n}: {w:.0f} W per GPU" for n, w in zip(names, watts, strict=True)],
        "bottom": -0.5, "top": facts["node_gpus"] * facts["nodes"] - 0.5,
    }  # fmt: skip
    return Chart("gantt", (series,), ("seconds", "GPU, node after node"))


def _report(facts: dict[str, Any]) -> Report:
    from rheostat.core.report import Grid, Report, Section

    heads = ("policy", "makespan", "energy", "EDP", "mean wait")
    rows = [(p["policy"], p["makespan_s"], p["energy_j"], p["edp_js"], p["mean_wait_s"])
            for p in facts["policies"]]  # fmt: skip
    if "exact" in facts:
        e = facts["exact"]
        name = "best known beforehand" + ("" if e["proven"] else " (not proven)")
        rows.append((name, e["makespan_s"], e["energy_j"], e["edp_js"], float("nan")))
    grid = Grid(heads, tuple(rows), ("", "s", "J", "J s", "s"))
    said = (f"Simulated from profiles on {facts['nodes']} node(s) of {facts['node_gpus']} GPUs; "
            f"each neighbour slows a job by {100 * facts['crowd']:g} %.",)  # fmt: skip
    first = facts["policies"][0]["policy"]
    plan = Section(f"schedule of {first}", (), _schedule(facts), _bars(facts))
    return Report("Jobs on shared GPUs", (Section("policies", said, grid), plan), facts)
