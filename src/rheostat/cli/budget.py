"""``rheostat budget``: share a power budget, and set, check and put back the caps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import actuate
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.decision.budget.allocate_power import PowerLimits
    from rheostat.decision.budget.nodes import NodeFleet

budget = typer.Typer(
    help="Share a power budget: plan caps, compare, apply, put back.",
    no_args_is_help=True,
    add_completion=False,
)

Count = Annotated[
    int,
    typer.Option(
        min=0, max=1_000_000, help="Without --nodes: how many; they run the applications in turn."
    ),
]
Hysteresis = Annotated[float, typer.Option(min=0.0, help="Gain below which caps are left alone.")]
Start = Annotated[
    str,
    typer.Option(
        "--from",
        help="Caps now, where --nodes has none: cpu_cap_w=140,gpu_cap_w=150, or device (read here, "
        "see --tree, --rapl, --gpu), or lowest (assumed).  [default: lowest without --nodes]",
    ),
]


@budget.command()
def plan(
    file: o.File,
    total: Annotated[str, typer.Option("--budget", help="Watts of caps in all, as 12kW.")] = "",
    extra: Annotated[
        float | None, typer.Option(help="Instead: watts per node above the caps now.")
    ] = None,
    limits: Annotated[
        Path | None, typer.Option(help="Instead: TOML with [site] total and e.g. [rack] r1.")
    ] = None,
    at: Annotated[str, typer.Option(help="Moment of a total that changes with time.")] = "0",
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="CSV: node, app, caps now, weight, draws, rack, ...; default: one per app."
        ),
    ] = None,
    count: Count = 0,
    start: Start = "",
    tree: actuate.Tree = "",
    rapl: actuate.Rapl = actuate.RAPL,
    gpu: actuate.Gpu = "nvml",
    objective: Annotated[
        str, typer.Option(help="mean, max-min, or energy (with --slowdown).")
    ] = "mean",
    risk: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.9999, help="Count only what is reached with this probability."),
    ] = None,
    slowdown: Annotated[
        float | None,
        typer.Option(help="No node may run longer than this times now, as 1.05."),
    ] = None,
    reclaim: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Take only what devices do not draw, less this margin in watts."
        ),
    ] = None,
    hysteresis: Hysteresis = 0.0,
    most_changes: Annotated[
        int | None, typer.Option(min=0, max=10**9, help="Change at most so many nodes.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the plan here.", writable=True, dir_okay=False),
    ] = None,
    where: o.Where = None,
    by: o.By = "",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan caps for every node from FILE, a table of runs under caps.

    FILE has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w; power_w or energy_j where measured.
    """
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, working, write_files
    from rheostat.core.storage.files import replace_file
    from rheostat.decision.budget.allocate_power import allocate_power
    from rheostat.decision.budget.cap_plan import SCHEMA, facts
    from rheostat.decision.budget.node_options import BudgetObjective
    from rheostat.explanation.choices.budget import budget_grid, budget_report
    from rheostat.explanation.formats.json import document, plain
    from rheostat.questions import inputs

    bound = None if slowdown is None else _over_one(slowdown)
    objectives = BudgetObjective(objective, risk, bound, hysteresis)
    runs = inputs.capped(file, where, by, form, mapped)
    begin = _start(start, nodes, tree, rapl, gpu)
    fleet = _fleet(runs, nodes, count, begin, seed)
    tell_notes(fleet.notes)
    allowed = _limits(fleet, total, extra, limits, at)
    with working(f"planning {len(fleet):,} nodes"):
        spent = allocate_power(
            fleet, allowed, objectives, reclaim_w=reclaim, most_changes=most_changes
        )
        plan_facts = facts(spent)
    plan_facts["caps_now"] = "assumed" if begin == "lowest" else "known"
    if out is not None:
        replace_file(out, document(SCHEMA, plan_facts))
        tell(f"wrote {out}")
    if json:
        put_json(SCHEMA, plan_facts)
    else:
        put_report(budget_report(plain(plan_facts)), budget_grid(plain(plan_facts)))
    write_files(budget_report(plain(plan_facts), full=True), html, figure)


def _over_one(slowdown: float) -> float:
    if not slowdown >= 1:
        raise typer.BadParameter(f"--slowdown: expected 1 or more, as 1.05, got {slowdown}")
    return slowdown - 1.0


def _fleet(runs: JobTable, nodes: Path | None, count: int, start: Any, seed: int) -> NodeFleet:
    from rheostat.measurement.tables import read_table
    from rheostat.recipes.ecoshift import node_fleet

    table = None if nodes is None else read_table(nodes)
    return node_fleet(runs, table, count=count, start=start, seed=seed)


def _start(text: str, nodes: Path | None, tree: str, rapl: str, gpu: str) -> Any:
    """What ``--from`` means: watts by knob, "lowest", devices, or nothing where nodes have caps."""
    from rheostat.cli.output import tell

    if text == "device" or (tree and not text):
        return actuate.devices(tree, rapl, gpu)
    if text == "lowest" or (not text and nodes is None):
        tell("note: caps now are assumed to be the lowest: --from says what they are")
        return "lowest"
    return _caps(text) if text else None


def _caps(text: str) -> dict[str, float]:
    from rheostat.errors import DataError
    from rheostat.questions.parse import parse_names

    caps, problems = {}, []
    for part in parse_names(text):
        name, _, value = part.partition("=")
        try:
            caps[name.strip()] = float(value)
        except ValueError:
            caps[name.strip()] = -1.0
        if not 0 < caps[name.strip()] <= 1e6:
            problems.append(f"expected like cpu_cap_w=140,gpu_cap_w=150, got {part!r}")
    if problems:
        raise DataError("--from", problems)
    return caps


def _limits(
    fleet: NodeFleet, total: str, extra: float | None, limits: Path | None, at: str
) -> PowerLimits:
    from rheostat.core.units import parse_duration, parse_quantity
    from rheostat.decision.budget.allocate_power import PowerLimits
    from rheostat.recipes.ecoshift import limits_file

    given = [total != "", extra is not None, limits is not None]
    if sum(given) != 1:
        raise typer.BadParameter("expected one of --budget, --extra and --limits")
    if limits is not None:
        return limits_file(limits, parse_duration(at))
    if extra is not None:
        return PowerLimits(float(fleet.now_w.sum()) + extra * len(fleet))
    return PowerLimits(parse_quantity(total, "W"))


@budget.command()
def follow(
    file: o.File,
    limits: Annotated[Path, typer.Option(help="TOML with a [site] total that changes with time.")],
    until: Annotated[str, typer.Option(help="How far to look.")] = "24h",
    lead: Annotated[
        float, typer.Option(min=0.0, help="Seconds before a fall at which caps go down.")
    ] = 2.0,
    nodes: Annotated[Path | None, typer.Option(help="CSV of nodes, as for plan.")] = None,
    count: Count = 0,
    start: Start = "",
    tree: actuate.Tree = "",
    rapl: actuate.Rapl = actuate.RAPL,
    gpu: actuate.Gpu = "nvml",
    hysteresis: Hysteresis = 0.0,
    where: o.Where = None,
    by: o.By = "",
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan for a budget that changes with time: what happens when, each plan from the last.

    Caps go down before the budget falls and up after it has risen.
    """
    from rheostat.cli.output import put_json, put_report, tell_notes
    from rheostat.core.report import Grid, Report, Section
    from rheostat.core.units import parse_duration
    from rheostat.decision.budget.changing_budget import follow as moments
    from rheostat.decision.budget.node_options import BudgetObjective
    from rheostat.questions import inputs
    from rheostat.recipes.ecoshift import budget_series, limits_file

    runs = inputs.capped(file, where, by, form, mapped)
    fleet = _fleet(runs, nodes, count, _start(start, nodes, tree, rapl, gpu), seed)
    tell_notes(fleet.notes)
    plans = moments(
        fleet,
        budget_series(limits),
        BudgetObjective(change=hysteresis),
        end_s=parse_duration(until),
        lead_s=lead,
        limits=limits_file(limits),
    )
    heads = ("at_s", "budget_w", "caps_w", "nodes_changed", "mean_gain_by_change")
    rows = tuple(
        (m.at_s, m.budget_w, float(m.spent.after.now_w.sum()), len(m.spent.changed),
         float(m.spent.gain[0].mean()))
        for m in plans
    )  # fmt: skip
    grid = Grid(heads, rows, ("s", "W", "W"))
    if json:
        put_json("rheostat.follow/1", {"moments": [dict(zip(heads, r, strict=True)) for r in rows]})
        return
    put_report(Report("A budget over time", [Section("", grid=grid)]), grid)


@budget.command()
def demo(
    out: Annotated[
        Path, typer.Argument(help="CSV to write.", writable=True, dir_okay=False)
    ] = Path("capped_runs.csv"),
    apps: Annotated[int, typer.Option(min=2, max=10_000, help="Applications.")] = 12,
    repeats: Annotated[int, typer.Option(min=1, max=10_000, help="Runs of each setting.")] = 1,
    noise: Annotated[float, typer.Option(min=0, max=10, help="Relative spread of a run.")] = 0.01,
    tree: Annotated[
        Path | None,
        typer.Option(
            help="Also a folder of caps as files, to rehearse apply.",
            writable=True,
            file_okay=False,
        ),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Write a generated table of runs under CPU and GPU caps, for trying the others."""
    from rheostat.cli.output import tell
    from rheostat.core.storage.files import replacing
    from rheostat.decision.actuate.actuators import write_tree
    from rheostat.measurement.synthetic.capped_runs import capped_runs
    from rheostat.recipes.ecoshift import dealt

    runs = capped_runs(apps, repeats=repeats, noise=noise, seed=seed)
    with replacing(out) as draft:
        runs.frame.write_csv(draft)
    tell(f"wrote {out}: {len(runs)} generated runs")
    if tree is not None:
        low = [float(runs.numpy(name).min()) for name in ("cpu_cap_w", "gpu_cap_w")]
        for name in dealt(dict.fromkeys(runs.frame["app"].unique().sort()))["node"]:  # type: ignore[arg-type]
            write_tree(tree, name, cpu_w=low[0], gpu_w=low[1])
        tell(f"wrote {tree}: caps of {apps} nodes as files")


for _command in actuate.COMMANDS:
    budget.command()(_command)
