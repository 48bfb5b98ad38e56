"""``rheostat budget``: share a power budget, and set, check and put back the caps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    import polars as pl

    from rheostat.decide.actuate.apply import Steps
    from rheostat.decide.actuate.device import Panel
    from rheostat.decide.actuate.panel import Where
    from rheostat.decide.budget.fleet import Fleet
    from rheostat.decide.budget.spend import Limits

budget = typer.Typer(
    help="Share a power budget: plan caps, compare, apply, put back.",
    no_args_is_help=True,
    add_completion=False,
)

PlanFile = Annotated[Path, typer.Argument(help="A plan.", metavar="PLAN.json")]
Journal = Annotated[Path, typer.Option(help="What stood before, a line before every change.")]
Node = Annotated[
    str, typer.Option(help="This node's name in the plan.  [default: the host's name]")
]
Tree = Annotated[
    str, typer.Option(help="A folder with NODE/powercap and NODE/drm for each node, to rehearse.")
]
Rapl = Annotated[str, typer.Option(help="The powercap folder.")]
Gpu = Annotated[str, typer.Option(help="nvml, amd or none: how GPU caps are set.")]
Count = Annotated[
    int, typer.Option(help="Without --nodes: how many; they run the applications in turn.")
]
Start = Annotated[
    str, typer.Option("--from", help="Caps now, as cpu_cap_w=140,gpu_cap_w=150; else the lowest.")
]
Settle = Annotated[float, typer.Option(help="Seconds until a lowered cap holds.")]
_RAPL = "/sys/class/powercap"


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
    objective: Annotated[
        str, typer.Option(help="mean, max-min, or energy (with --slowdown).")
    ] = "mean",
    risk: Annotated[
        float | None, typer.Option(help="Count only what is reached with this probability.")
    ] = None,
    slowdown: Annotated[
        float | None, typer.Option(help="No node may run longer than this times now, as 1.05.")
    ] = None,
    reclaim: Annotated[
        float | None,
        typer.Option(help="Take from donors only, down to their draw plus this margin in watts."),
    ] = None,
    hysteresis: Annotated[float, typer.Option(help="Gain below which caps are left alone.")] = 0.0,
    most_changes: Annotated[int | None, typer.Option(help="Change at most so many nodes.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the plan here.")] = None,
    html: o.Html = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Plan caps for every node from FILE, a table of runs under caps.

    FILE has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w; power_w or energy_j where measured.
    """
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, working, write_page
    from rheostat.decide.budget.menu import Wish
    from rheostat.decide.budget.plan import SCHEMA, facts
    from rheostat.decide.budget.spend import spend
    from rheostat.explain.budget import budget_grid, budget_report
    from rheostat.explain.json import document, plain

    bound = None if slowdown is None else _over_one(slowdown)
    wish = Wish(objective, risk, bound, hysteresis)
    fleet = _fleet(file, nodes, count, start, seed, form, mapped)
    tell_notes(fleet.notes)
    allowed = _limits(fleet, total, extra, limits, at)
    with working(f"planning {len(fleet):,} nodes"):
        spent = spend(fleet, allowed, wish, reclaim_w=reclaim, most_changes=most_changes)
        told = facts(spent)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(document(SCHEMA, told), encoding="utf-8")
        tell(f"wrote {out}")
    if json:
        put_json(SCHEMA, told)
    else:
        put_report(budget_report(plain(told)), budget_grid(plain(told)))
    if html is not None:
        write_page(budget_report(plain(told), full=True), html)


def _over_one(slowdown: float) -> float:
    if slowdown < 1:
        raise typer.BadParameter(f"--slowdown: expected 1 or more, as 1.05, got {slowdown}")
    return slowdown - 1.0


def _fleet(
    file: Path,
    nodes: Path | None,
    count: int,
    start: str,
    seed: int,
    form: str,
    mapped: Path | None,
) -> Fleet:
    from rheostat.recipes.ecoshift import made_fleet

    runs = o.load(file, form, mapped)
    given = _caps(start)
    table = None if nodes is None else _table(nodes)
    return made_fleet(runs, table, count=count, start=given, seed=seed)


def _table(path: Path) -> pl.DataFrame:
    import polars as pl

    from rheostat.errors import DataError

    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    except pl.exceptions.PolarsError as error:
        raise DataError(str(path), [f"not readable as a table of nodes: {error}"[:300]]) from error
    return frame


def _caps(text: str) -> dict[str, float]:
    from rheostat.errors import DataError

    found, problems = {}, []
    for part in o.names(text):
        name, _, value = part.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            problems.append(f"expected like cpu_cap_w=140,gpu_cap_w=150, got {part!r}")
    if problems:
        raise DataError("--from", problems)
    return found


def _limits(fleet: Fleet, total: str, extra: float | None, limits: Path | None, at: str) -> Limits:
    from rheostat.core.units import parse_duration, parse_quantity
    from rheostat.decide.budget.spend import Limits
    from rheostat.recipes.ecoshift import limits_file

    given = [total != "", extra is not None, limits is not None]
    if sum(given) != 1:
        raise typer.BadParameter("expected one of --budget, --extra and --limits")
    if limits is not None:
        return limits_file(limits, parse_duration(at))
    if extra is not None:
        return Limits(float(fleet.now_w.sum()) + extra * len(fleet))
    return Limits(parse_quantity(total, "W"))


@budget.command()
def follow(
    file: o.File,
    limits: Annotated[Path, typer.Option(help="TOML with a [site] total that changes with time.")],
    until: Annotated[str, typer.Option(help="How far to look.")] = "24h",
    lead: Annotated[float, typer.Option(help="Seconds before a fall at which caps go down.")] = 2.0,
    nodes: Annotated[Path | None, typer.Option(help="CSV of nodes, as for plan.")] = None,
    count: Count = 0,
    start: Start = "",
    hysteresis: Annotated[float, typer.Option(help="Gain below which caps are left alone.")] = 0.0,
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
    from rheostat.decide.budget.follow import follow as moments
    from rheostat.decide.budget.menu import Wish
    from rheostat.recipes.ecoshift import budget_series, limits_file

    fleet = _fleet(file, nodes, count, start, seed, form, mapped)
    tell_notes(fleet.notes)
    found = moments(
        fleet,
        budget_series(limits),
        Wish(change=hysteresis),
        end_s=parse_duration(until),
        lead_s=lead,
        limits=limits_file(limits),
    )
    heads = ("at_s", "budget_w", "caps_w", "nodes_changed", "mean_gain_by_change")
    rows = tuple(
        (m.at_s, m.budget_w, float(m.spent.after.now_w.sum()), len(m.spent.changed),
         float(m.spent.gain[0].mean()))
        for m in found
    )  # fmt: skip
    grid = Grid(heads, rows, ("s", "W", "W"))
    if json:
        put_json("rheostat.follow/1", {"moments": [dict(zip(heads, r, strict=True)) for r in rows]})
        return
    put_report(Report("A budget over time", [Section("", grid=grid)]), grid)


@budget.command()
def diff(
    file: PlanFile,
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = _RAPL,
    gpu: Gpu = "nvml",
    json: o.Json = False,
) -> None:
    """Tell what applying PLAN.json would change here, from what stands now; change nothing."""
    todo, _, _ = _todo(file, node, tree, rapl, gpu)
    _tell_steps(todo, json, "rheostat.diff/1")


@budget.command()
def apply(
    file: PlanFile,
    journal: Journal = Path("rheostat.journal"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, change nothing.")
    ] = False,
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = _RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
    json: o.Json = False,
) -> None:
    """Set the caps of PLAN.json: lower first, then raise; every change is journalled before."""
    from rheostat.cli.output import tell
    from rheostat.decide.actuate.apply import apply as run
    from rheostat.decide.actuate.journal import Journal as Book

    todo, panel, _ = _todo(file, node, tree, rapl, gpu)
    panel.check([s.place for s in (*todo.lower, *todo.higher)])
    _tell_steps(todo, json, "rheostat.apply/1")
    if dry_run:
        tell("dry run: nothing was changed")
        return
    done = run(todo, panel, Book(journal), settle_s=settle)
    tell(f"{done} caps set; rheostat budget restore --journal {journal} puts them back")


@budget.command()
def restore(
    journal: Journal = Path("rheostat.journal"),
    force: Annotated[
        bool, typer.Option(help="Also where somebody else has set a cap since.")
    ] = False,
    tree: Tree = "",
    rapl: Rapl = _RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
) -> None:
    """Put back every cap that the journal names, as it stood before the first change."""
    from rheostat.cli.output import tell
    from rheostat.decide.actuate.apply import restore as run
    from rheostat.decide.actuate.guard import panel_of
    from rheostat.decide.actuate.journal import Journal as Book

    book = Book(journal)
    back = run(book, panel_of(book, _where(tree, rapl, gpu)), force=force, settle_s=settle)
    tell(f"{back.places} caps put back")
    for place, watts in back.left.items():
        tell(f"note: {place} stands at {watts:g} W, set by somebody else: left (--force puts back)")


@budget.command()
def run(
    file: PlanFile,
    command: Annotated[list[str], typer.Argument(help="What to run, after --.")],
    journal: Journal = Path("rheostat.journal"),
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = _RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
) -> None:
    """Run a command under the caps of PLAN.json; they are put back however this ends, kill -9 too.

    A second process waits for the end of this one and restores from the journal.
    """
    import subprocess

    from rheostat.cli.output import tell
    from rheostat.decide.actuate import guard
    from rheostat.decide.actuate.apply import apply as set_caps
    from rheostat.decide.actuate.journal import Journal as Book

    todo, panel, where = _todo(file, node, tree, rapl, gpu)
    panel.check([s.place for s in (*todo.lower, *todo.higher)])
    watcher = guard.start(journal, where, settle)
    try:
        done = set_caps(todo, panel, Book(journal), settle_s=settle)
        tell(f"{done} caps set")
        code = subprocess.run(command, check=False).returncode
    finally:
        _, _ = watcher.communicate()
    tell("caps put back" if watcher.returncode == 0 else "the caps could not all be put back")
    raise typer.Exit(code or watcher.returncode)


@budget.command()
def slurm(
    file: PlanFile,
    out: Annotated[Path, typer.Option(help="Folder for prolog.sh and epilog.sh.")] = Path("."),
    journals: Annotated[str, typer.Option(help="Folder on the nodes.")] = "/var/lib/rheostat",
    program: Annotated[str, typer.Option(help="How nodes call rheostat.")] = "rheostat",
    gpu: Gpu = "nvml",
) -> None:
    """Write the Slurm prolog and epilog that apply PLAN.json on its nodes and put caps back."""
    from rheostat.cli.output import tell
    from rheostat.decide.actuate.slurm import scripts
    from rheostat.decide.budget.plan import read_plan

    read_plan(file)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in scripts(str(file.resolve()), journals, program, f"--gpu {gpu}").items():
        (out / name).write_text(text, encoding="utf-8")
        (out / name).chmod(0o755)
        tell(f"wrote {out / name}")


@budget.command()
def demo(
    out: Annotated[Path, typer.Argument(help="CSV to write.")] = Path("capped_runs.csv"),
    apps: Annotated[int, typer.Option(min=2, help="Applications.")] = 12,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each setting.")] = 1,
    noise: Annotated[float, typer.Option(min=0, help="Relative spread of a run.")] = 0.01,
    tree: Annotated[
        Path | None, typer.Option(help="Also a folder of caps as files, to rehearse apply.")
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Write a generated table of runs under CPU and GPU caps, for trying the others."""
    from rheostat.cli.output import tell
    from rheostat.decide.actuate.panel import write_tree
    from rheostat.measure.synthetic.capped import capped_runs
    from rheostat.recipes.ecoshift import dealt

    runs = capped_runs(apps, repeats=repeats, noise=noise, seed=seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    runs.frame.write_csv(out)
    tell(f"wrote {out}: {len(runs)} generated runs")
    if tree is not None:
        low = runs.frame["cpu_cap_w"].min(), runs.frame["gpu_cap_w"].min()
        for name in dealt(dict.fromkeys(runs.frame["app"].unique().sort()))["node"]:  # type: ignore[arg-type]
            write_tree(tree, name, cpu_w=low[0], gpu_w=low[1])
        tell(f"wrote {tree}: caps of {apps} nodes as files")


def _where(tree: str, rapl: str, gpu: str) -> Where:
    from rheostat.decide.actuate.panel import Where

    return Where(tree=tree, rapl=rapl, gpu=gpu)


def _todo(file: Path, node: str, tree: str, rapl: str, gpu: str) -> tuple[Steps, Panel, Where]:
    """What a plan means here: all nodes of a tree, or this machine's own."""
    import socket

    from rheostat.decide.actuate.apply import steps
    from rheostat.decide.budget.plan import read_plan
    from rheostat.errors import DataError

    nodes, _ = read_plan(file)
    if node or not tree:
        name = node or socket.gethostname()
        mine = [n for n in nodes if n.node in (name, name.split(".", maxsplit=1)[0])]
        if not mine:
            hint = f"its nodes: {', '.join(n.node for n in nodes[:8])}; name one with --node"
            raise DataError(str(file), [f"the plan has no node {name}", hint])
        nodes = mine
    where = _where(tree, rapl, gpu)
    panel = where.panel([n.node for n in nodes], {k for n in nodes for k in n.after})
    return steps(nodes, panel), panel, where


def _tell_steps(todo: Steps, json: bool, schema: str) -> None:
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.report import Grid, Report, Section

    rows: list[tuple[Any, ...]] = [
        (*s.place.split("|", 2), s.before_w, s.to_w) for s in (*todo.lower, *todo.higher)
    ]
    heads = ("node", "knob", "address", "now_w", "then_w")
    for name, (planned, found) in list(todo.moved.items())[:8]:
        tell(f"note: {name}: the plan expected {planned:g} W, {found:g} W stand there")
    if json:
        changes = [dict(zip(heads, row, strict=True)) for row in rows]
        put_json(schema, {"changes": changes, "not_as_planned": len(todo.moved)})
        return
    grid = Grid(heads, tuple(rows))
    put_report(Report("Caps to change, in this order", [Section("", grid=grid)]), grid)
