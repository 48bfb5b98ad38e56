"""What people type, turned into values: knobs, rules, jobs, models; shared by all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import knob_options

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.outcome import Predictor

MOST_SEED = 2**31 - 1
"""All libraries take seeds up to here."""

File = Annotated[
    Path, typer.Argument(help="A job log or table of runs, any format read knows.", metavar="FILE")
]
Form = Annotated[str, typer.Option("--format", help="Format; guessed by default.")]
Map = Annotated[Path | None, typer.Option("--map", help="TOML column mapping for tables of runs.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Ours=theirs, as runtime_s=wall_s. Repeatable."),
]
Knobs = Annotated[
    list[str] | None,
    typer.Option(
        "--knob",
        help="What may be turned: nodes=1,2,4,8 or nodes=1..256 (powers of two) or "
        "cap_w=100..300/50 (steps of 50). Repeatable.  [default: nodes=1..256]",
    ),
]
Objectives = Annotated[str, typer.Option(help="Minimised quantities, comma-separated.")]
RuleText = Annotated[
    str,
    typer.Option(
        "--rule",
        help="knee, deadline=2h, power=15kW, energy=2MJ, node-hours=40, slowdown=1.2 or "
        "weighted=runtime_s:1,energy_j:1.",
    ),
]
Slowdown = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="At most so many per cent slower than each job asked for, with 80 % confidence.  "
        "[default: 10 without --rule]",
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(help="A limit to hold, as deadline=2h@0.9 (with 90 % confidence). Repeatable."),
]
Saved = Annotated[Path | None, typer.Option("--model", help="A model saved by rheostat fit.")]
Kind = Annotated[
    str,
    typer.Option(
        help="auto, within (compares settings within applications), law, forest, "
        "boosting, xgboost, lightgbm, tabnet or attention."
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of everything that draws.")]
Html = Annotated[
    Path | None, typer.Option(help="Also write an HTML report here.", writable=True, dir_okay=False)
]


def _can_be_drawn(figure: Path | None) -> Path | None:
    """Refuses a name of no known ending, and a figure without matplotlib, before work begins."""
    if figure is not None:
        from rheostat._optional import require
        from rheostat.explanation.figure import ending_of

        ending_of(figure)
        require("matplotlib", extra="figures")
    return figure


def two_to_draw(figure: Path | None, objectives: Sequence[str]) -> None:
    """Refuses, before the runs, a figure of a front that has not two objectives."""
    if figure is not None and len(objectives) != 2:
        what = f"{len(objectives)}: {', '.join(objectives)}"
        raise typer.BadParameter(f"a front is drawn of two --objectives, got {what}",
                                 param_hint="--figure")  # fmt: skip


Figure = Annotated[
    Path | None,
    typer.Option(
        help="Also write the picture here, for papers: .svg, .pdf or .png; further ones beside it.",
        writable=True,
        dir_okay=False,
        callback=_can_be_drawn,
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        help="Per what energy and power of serving runs are, as energy=J/request or power=W/gpu, "
        "where a column does not say. Repeatable.",
    ),
]
Where = Annotated[list[str] | None, typer.Option(help="Only rows with column=value. Repeatable.")]
By = Annotated[
    str, typer.Option(help="Columns that make runs the same application, as app,batch_size.")
]
Method = Annotated[
    str,
    typer.Option(
        help="auto, law, hypervolume, nehvi, parego, improvement, thompson, uncertain, "
        "nsga2, sobol or exhaustive."
    ),
]
Prior = Annotated[
    Path | None,
    typer.Option(help="Runs of other applications (column app) that teach the law method."),
]
TestFraction = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.99, help="Share of the newest jobs that is not learned from and tested on."
    ),
]
PowerModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="A saved model that predicts power, for jobs without measured watts and for planning "
        "under a cap.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

RUNTIME_ENERGY = "runtime_s,energy_j"


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names.

    >>> names("runtime_s, energy_j")
    ('runtime_s', 'energy_j')
    """
    return tuple(n.strip() for n in text.split(",") if n.strip())


def quantities(text: str) -> tuple[str, ...]:
    """What ``--objectives`` names, which is something.

    >>> quantities(" , ")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: --objectives: expected like runtime_s,energy_j, got ' , '
    """
    from rheostat.errors import DataError

    if wanted := names(text):
        return wanted
    raise DataError("--objectives", [f"expected like runtime_s,energy_j, got {text!r}"])


def pairs(flags: list[str] | None, flag: str) -> dict[str, str]:
    """``a=b`` flags as a mapping.

    >>> pairs(["runtime_s=wall_s"], "--column")
    {'runtime_s': 'wall_s'}
    """
    values = {}
    for text in flags or []:
        ours, equals, theirs = text.partition("=")
        if not equals or not ours or not theirs:
            raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=flag)
        values[ours.strip()] = theirs.strip()
    return values


def together(files: Sequence[Path], read: Callable[[Path], JobTable]) -> JobTable:
    """One table of all files; with several, a note says of which file it is."""
    import os
    from dataclasses import replace

    from rheostat.core.jobs import concat
    from rheostat.errors import DataError

    places = [os.path.realpath(f) for f in files]  # a loop of links is told when it is read
    if twice := [f for f, p in zip(files, places, strict=True) if places.count(p) > 1]:
        raise DataError(str(twice[0]), ["is there twice: its rows would count twice"])
    tables = [read(f) for f in files]
    if len(tables) == 1:
        return tables[0]
    for i, (file, table) in enumerate(zip(files, tables, strict=True)):
        notes = (replace(n, message=f"{file}: {n.message}") for n in table.notes)
        tables[i] = replace(table, notes=tuple(notes))
    return concat(tables)


def load(
    file: Path | Sequence[Path],
    form: str = "",
    mapped: Path | None = None,
    columns: list[str] | None = None,
    *,
    knobs: Sequence[str] = (),
    units: list[str] | None = None,
    otherwise: str = "runs",
) -> JobTable:
    """Read a file, or several into one table; what was odd goes to stderr.

    In a table of runs, columns that ``knobs`` names stay as they are in the file.  ``otherwise`` is
    the reader of tables that are of no other format.
    """
    from rheostat.cli.output import tell_notes, working
    from rheostat.measurement.read import guess_format, read
    from rheostat.recipes.nodecount import prepared

    options: dict[str, Any] = {"map": mapped} if mapped else {}
    options |= {"columns": pairs(columns, "--column")} if columns else {}
    options |= {"units": pairs(units, "--unit")} if units else {}
    files = [file] if isinstance(file, Path) else file
    if knobs and (form or guess_format(files[0])) == "runs":
        options["keep"] = knobs
    with working(f"reading {', '.join(map(str, files))}"):
        jobs = together(files, lambda f: read(f, form or _format(f, otherwise), options=options))
    tell_notes(jobs.notes)
    return prepared(jobs)


def _format(file: Path, otherwise: str) -> str:
    from rheostat.measurement.read import guess_format

    name = guess_format(file)
    return otherwise if name == "runs" else name


def condition(jobs: JobTable, text: str) -> tuple[str, str]:
    """Column and value of ``column=value``; the column by its name here or in the file.

    >>> from rheostat.core.vocabulary import table
    >>> condition(table({"app": ["lbm"]}), "app=lbm")
    ('app', 'lbm')
    """
    name, _, wanted = text.partition("=")
    if name not in jobs.columns:
        theirs = [c for c in jobs.columns if jobs.schema[c].meaning == f"from {name}"]
        name = theirs[0] if theirs else name
    jobs.require(name)
    return name, wanted


def rows_with(jobs: JobTable, text: str) -> list[int]:
    """The rows that hold one ``column=value``.

    >>> from rheostat.core.vocabulary import table
    >>> rows_with(table({"cap_w": [200.0, 1500.0]}), "cap_w=1.5kW")
    [1]
    """
    name, wanted = condition(jobs, text)
    amount = knob_options.value(wanted, knob_options.unit_of(name))
    values = jobs.frame[name].to_list()
    return [i for i, v in enumerate(values) if str(v) == wanted or v == amount]


def only(jobs: JobTable, where: list[str] | None) -> JobTable:
    """The rows that hold every ``column=value``; none at all is a `DataError`.

    >>> from rheostat.core.vocabulary import table
    >>> len(only(table({"gpus": [1, 2, 2], "app": ["a", "a", "b"]}), ["gpus=2", "app=a"]))
    1
    """
    from rheostat.errors import DataError

    for text in where or ():
        jobs = jobs.rows(rows_with(jobs, text))
    if where and not len(jobs):
        raise DataError("--where", [f"no row has {' and '.join(where)}"])
    return jobs


def capped(
    file: Path,
    where: list[str] | None,
    by: str,
    form: str = "",
    mapped: Path | None = None,
    columns: list[str] | None = None,
) -> JobTable:
    """Runs under caps: rows asked for, applications by their columns; mixed ones are noted."""
    from rheostat.cli.output import tell
    from rheostat.prediction.surface import mixed, named_by

    runs = only(load(file, form, mapped, columns), where)
    if by:
        runs = named_by(runs, names(by))
    odd = [c for c in mixed(runs) if c not in names(by)]
    if odd:
        tell(f"note: runs that differ in {', '.join(odd)} are taken as repeats: --where or --by")
    return runs


def fitted(
    jobs: JobTable,
    model: Path | None,
    kind: str,
    seed: int,
    knobs: tuple[str, ...] = ("nodes",),
    by: tuple[str, ...] | None = None,
) -> Predictor:
    """The saved model, or a new one that learns from ``jobs``; see `nodecount.model`."""
    from rheostat.cli.output import working
    from rheostat.prediction.persist import PREDICTORS, load
    from rheostat.recipes import nodecount

    if model is not None:
        saved: Predictor = load(model, PREDICTORS)
        return saved
    new = nodecount.model(kind, jobs, knobs=knobs, by=by, seed=seed)
    with working(f"learning from {len(jobs):,} jobs"):
        return new.fit(jobs)


def without_energy(columns: Iterable[str]) -> str:
    """Objectives that need no energy; node-hours need nodes.

    >>> without_energy(["nodes"]), without_energy(["cap_w"])
    ('runtime_s,node_hours', 'runtime_s')
    """
    return "runtime_s,node_hours" if "nodes" in columns else "runtime_s"


def countable(wanted: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse node-hours where nothing tells the nodes, before anything is run."""
    from rheostat.errors import DataError

    known = list(columns)
    if "node_hours" in wanted and not {"nodes", "node_hours"} & set(known):
        problem = f"node_hours needs a knob or column nodes; there are {', '.join(known)}"
        raise DataError("--objectives", [problem, f"try --objectives {without_energy(known)}"])


def judged(jobs: JobTable, objectives: str, *, model: bool = True) -> tuple[str, ...]:
    """The objectives, if the log can teach them; a log without power cannot teach energy.

    ``model`` tells whether the command takes a model that could.
    """
    from rheostat.errors import DataError
    from rheostat.recipes.nodecount import targets_in

    wanted, measured = quantities(objectives), targets_in(jobs)
    blind = [q for q in wanted if q in ("energy_j", "power_w", "edp_js") and len(measured) < 2]
    if blind:
        raise DataError(
            "--objectives",
            [
                f"no row of this log has power or energy, so {', '.join(blind)} cannot be learnt",
                f"try --objectives {without_energy(jobs.columns)}" + ", or give --model" * model,
            ],
        )
    return wanted


def rules(rule: str, within: list[str] | None, against: Any = None) -> tuple[Any, tuple[Any, ...]]:
    """The rule and the limits; a slowdown refers to ``against``."""
    from rheostat.tradeoff.parse_rule import parse_rule

    return parse_rule(rule, against), tuple(parse_rule(w, against) for w in within or ())
