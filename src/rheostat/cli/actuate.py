"""``rheostat budget diff|apply|run|restore|slurm``: set the caps of a plan, and put them back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.decision.actuate.actuators import DeviceAddress
    from rheostat.decision.actuate.apply import CapChanges
    from rheostat.decision.actuate.device import Actuators

PlanFile = Annotated[Path, typer.Argument(help="A plan.", metavar="PLAN.json")]
CapJournal = Annotated[Path, typer.Option(help="What stood before, a line before every change.")]
Node = Annotated[
    str, typer.Option(help="This node's name in the plan.  [default: the host's name]")
]
Tree = Annotated[
    str, typer.Option(help="A folder with NODE/powercap and NODE/drm for each node, to rehearse.")
]
Rapl = Annotated[str, typer.Option(help="The powercap folder.")]
Gpu = Annotated[Literal["nvml", "amd", "none"], typer.Option(help="How GPU caps are set.")]
Settle = Annotated[
    float, typer.Option(min=0.0, max=3600.0, help="Seconds until a lowered cap holds.")
]
RAPL = "/sys/class/powercap"


def diff(
    file: PlanFile,
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = RAPL,
    gpu: Gpu = "nvml",
    json: o.Json = False,
) -> None:
    """Tell what applying PLAN.json would change here, from what stands now; change nothing."""
    todo, _, _ = _todo(file, node, tree, rapl, gpu)
    _tell_steps(todo, json, "rheostat.diff/1")


def apply(
    file: PlanFile,
    journal: CapJournal = Path("rheostat.journal"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, change nothing.")
    ] = False,
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
    json: o.Json = False,
) -> None:
    """Set the caps of PLAN.json: lower first, then raise; every change is journalled before."""
    from rheostat.cli.output import tell
    from rheostat.decision.actuate.apply import apply as run
    from rheostat.decision.actuate.apply import check
    from rheostat.decision.actuate.cap_journal import CapJournal as Book

    todo, panel, _ = _todo(file, node, tree, rapl, gpu)
    book = Book(journal)
    check(todo, panel, book)
    _tell_steps(todo, json, "rheostat.apply/1")
    if dry_run:
        tell("dry run: nothing was changed")
        return
    done = run(todo, panel, book, settle_s=settle)
    tell(f"{done} caps set; rheostat budget restore --journal {journal} puts them back")


def restore(
    journal: CapJournal = Path("rheostat.journal"),
    force: Annotated[
        bool, typer.Option(help="Also where somebody else has set a cap since.")
    ] = False,
    tree: Tree = "",
    rapl: Rapl = RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
) -> None:
    """Put back every cap that the journal names, as it stood before the first change."""
    from rheostat.cli.output import tell
    from rheostat.decision.actuate.apply import restore as run
    from rheostat.decision.actuate.cap_journal import CapJournal as Book
    from rheostat.decision.actuate.watchdog import panel_of
    from rheostat.errors import DataError

    book = Book(journal)
    back = run(book, panel_of(book, devices(tree, rapl, gpu)), force=force, settle_s=settle)
    tell(f"{back.places} caps put back")
    for place, watts in back.left.items():
        tell(f"note: {place} stands at {watts:g} W, set by somebody else: left (--force puts back)")
    if back.problems:
        raise DataError(str(journal), [*back.problems, "all others were put back"])


def run(
    file: PlanFile,
    command: Annotated[list[str], typer.Argument(help="What to run, after --.")],
    journal: CapJournal = Path("rheostat.journal"),
    node: Node = "",
    tree: Tree = "",
    rapl: Rapl = RAPL,
    gpu: Gpu = "nvml",
    settle: Settle = 1.0,
) -> None:
    """Run a command under the caps of PLAN.json; they are put back however this ends, kill -9 too.

    A second process waits for the end of this one and restores from the journal.
    """
    import subprocess

    from rheostat.cli.output import tell
    from rheostat.decision.actuate import watchdog as guard
    from rheostat.decision.actuate.apply import apply as set_caps
    from rheostat.decision.actuate.apply import check
    from rheostat.decision.actuate.cap_journal import CapJournal as Book
    from rheostat.errors import RheostatError

    todo, panel, where = _todo(file, node, tree, rapl, gpu)
    check(todo, panel, Book(journal))
    watcher = guard.start(journal, where, settle)
    try:
        done = set_caps(todo, panel, Book(journal), settle_s=settle)
        tell(f"{done} caps set")
        code = subprocess.run(command, check=False).returncode
    finally:
        _, _ = watcher.communicate()
    if watcher.returncode:
        hint = f"rheostat budget restore --journal {journal}"
        raise RheostatError(f"the caps could not all be put back: {hint} (the command: {code})")
    tell("caps put back")
    raise typer.Exit(code)


def slurm(
    file: PlanFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for prolog.sh and epilog.sh.",
            writable=True,
            file_okay=False,
        ),
    ] = Path("."),
    journals: Annotated[str, typer.Option(help="Folder on the nodes.")] = "/var/lib/rheostat",
    program: Annotated[
        str, typer.Option(help="The rheostat of the nodes: a name or an absolute path.")
    ] = "rheostat",
    gpu: Gpu = "nvml",
) -> None:
    """Write the Slurm prolog and epilog that apply PLAN.json on its nodes and put caps back."""
    import os

    from rheostat.cli.output import tell
    from rheostat.core.storage.files import replace_file
    from rheostat.decision.actuate.prolog import scripts
    from rheostat.decision.budget.cap_plan import read_plan

    read_plan(file)
    for name, text in scripts(os.path.realpath(file), journals, program, gpu).items():
        replace_file(out / name, os.fsencode(text))
        (out / name).chmod(0o755)
        tell(f"wrote {out / name}")


def devices(tree: str, rapl: str, gpu: str) -> DeviceAddress:
    """The devices that the options name."""
    from rheostat.core.storage.file_kinds import describe_file
    from rheostat.decision.actuate.actuators import DeviceAddress

    for flag, path in (("--tree", tree), ("--rapl", rapl)):
        if Path(path).is_file():
            problem = f"expected a folder, got {describe_file(path)}: {path}"
            raise typer.BadParameter(problem, param_hint=flag)
    return DeviceAddress(tree=tree, rapl=rapl, gpu=gpu)


def _todo(
    file: Path, node: str, tree: str, rapl: str, gpu: str
) -> tuple[CapChanges, Actuators, DeviceAddress]:
    """What a plan means here: all nodes of a tree, or this machine's own."""
    import socket

    from rheostat.decision.actuate.apply import steps
    from rheostat.decision.budget.cap_plan import read_plan
    from rheostat.errors import DataError

    nodes, plan_facts = read_plan(file)
    if node or not tree:
        name = node or socket.gethostname()
        mine = [n for n in nodes if n.node in (name, name.split(".", maxsplit=1)[0])]
        if not mine:
            hint = f"its nodes: {', '.join(n.node for n in nodes[:8])}; name one with --node"
            raise DataError(str(file), [f"the plan has no node {name}", hint])
        nodes = mine
    where = devices(tree, rapl, gpu)
    panel = where.panel(
        [n.node for n in nodes], {k for n in nodes for k in {**n.before, **n.after}}
    )
    todo = steps(nodes, panel)
    if todo.moved and plan_facts.get("caps_now") == "assumed":
        few = list(todo.moved.items())[:5]
        problems = [f"{place}: assumed {planned:g} W, found {w:g} W" for place, (planned, w) in few]
        hint = "plan again with --from device, or with the caps in --nodes"
        raise DataError(str(file), ["was planned for caps that were assumed", *problems, hint])
    return todo, panel, where


def _tell_steps(todo: CapChanges, json: bool, schema: str) -> None:
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.report import Grid, Report, Section

    rows: list[tuple[Any, ...]] = [
        (*s.place.split("|", 2), s.before_w, s.to_w) for s in (*todo.lower, *todo.higher)
    ]
    heads = ("node", "knob", "address", "now_w", "then_w")
    for name, (planned, standing) in list(todo.moved.items())[:8]:
        tell(f"note: {name}: the plan expected {planned:g} W, {standing:g} W stand there")
    if json:
        changes = [dict(zip(heads, row, strict=True)) for row in rows]
        put_json(schema, {"changes": changes, "not_as_planned": len(todo.moved)})
        return
    grid = Grid(heads, tuple(rows))
    put_report(Report("Caps to change, in this order", [Section("", grid=grid)]), grid)


COMMANDS = (diff, apply, restore, run, slurm)
