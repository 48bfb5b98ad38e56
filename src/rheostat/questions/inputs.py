"""What questions are asked of: tables and models, read, and cut to the rows that are meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, concat
from rheostat.core.machine import Machine
from rheostat.core.outcome import Predictor
from rheostat.core.vocabulary import VOCABULARY, table
from rheostat.decision.trials.found_trial import with_found_trial
from rheostat.decision.trials.trial_size import with_trial as joined
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.mapping import headings_meant, present, states_alone
from rheostat.measurement.runs.named_otherwise import words_by_ours
from rheostat.measurement.runs.reader import table_frame
from rheostat.measurement.tables import read_table
from rheostat.prediction.features.unused_columns import unused_columns
from rheostat.prediction.saved_models.persist import PREDICTORS
from rheostat.prediction.saved_models.persist import load as load_model
from rheostat.questions import listener
from rheostat.questions.parse import (
    Names,
    parse_names,
    parse_objectives,
    parse_pairs,
    parse_value,
    unit_of,
)
from rheostat.questions.settings import lacking
from rheostat.recipes import nodecount
from rheostat.simulation.log_machine import placed

Jobs = JobTable | Path | str
Model = Predictor | Path | str
Place = Machine | Path | str | int | None
"""A machine, its processors, or its TOML file; None is the machine of the log."""
UNUSED = (
    "not used, though it goes with the run time: {}, which counts as known at the end; if it is "
    "known at submission: {} (fit, front, decide), or [known] of --map"
)


def paths(files: Path | str | Sequence[Path | str]) -> list[Path]:
    """One file or several as paths.

    >>> [str(p) for p in paths("runs.csv")], len(paths(["a.csv", "b.csv"]))
    (['runs.csv'], 2)
    """
    return [Path(f) for f in ([files] if isinstance(files, (str, Path)) else files)]


def load(
    file: Path | Sequence[Path],
    form: str = "",
    mapped: Path | None = None,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    *,
    knobs: Sequence[str] = (),
    known: Sequence[str] = (),
    units: Iterable[str] | Mapping[str, str] | None = None,
    otherwise: str = "runs",
    measured: bool = True,
) -> JobTable:
    """Read a file, or several into one table; what was odd is noted.

    In a table of runs, columns that ``knobs`` names stay as they are in the file.  ``otherwise`` is
    the reader of tables that are of no other format.  What is not ``measured`` is to be forecast.
    """
    options: dict[str, Any] = {"map": mapped} if mapped else {}
    options |= {"columns": parse_pairs(columns, "--column")} if columns else {}
    options |= {"known": parse_pairs(known, "--known")} if known else {}
    options |= {"units": parse_pairs(units, "--unit")} if units else {}
    files = [file] if isinstance(file, Path) else file
    if (knobs or not measured) and (form or guess_format(files[0])) == "runs":
        options |= {"keep": knobs, "measured": measured}
    return nodecount.prepared(_read_all(files, form, otherwise, options))


def _read_all(
    files: Sequence[Path], form: str, otherwise: str, options: Mapping[str, Any]
) -> JobTable:
    own = _own_columns(files, options)
    with listener.working(f"reading {', '.join(map(str, files))}"):
        jobs = together(files, lambda f: read(f, form or _format(f, otherwise), options=own(f)))
    listener.notes(jobs.notes)
    return jobs


def _own_columns(
    files: Sequence[Path], options: Mapping[str, Any]
) -> Callable[[Path], Mapping[str, Any]]:
    """The options for each of several files: of columns that any has, those that it has itself."""
    named = options.get("columns")
    if len(files) == 1 or not named or states_alone(named):
        return lambda _: options
    headings = {f: table_frame(f)[0].columns for f in files}
    held = {f: _present(named, own) for f, own in headings.items()}
    nowhere = {o: t for o, t in named.items() if not any(o in own for own in held.values())}
    return lambda file: {**options, "columns": held[file] | nowhere}


def _present(named: Mapping[str, str], headings: Sequence[str]) -> dict[str, str]:
    """Pairs whose columns a table has; a value of all rows it has always."""
    stated = {ours: text for ours, text in named.items() if text.startswith("=")}
    return stated | present({o: t for o, t in named.items() if o not in stated}, headings)


def opened(
    jobs: Jobs,
    form: str = "",
    mapped: Path | None = None,
    knobs: Sequence[str] = (),
    columns: Iterable[str] | None = None,
    known: Sequence[str] = (),
    *,
    measured: bool = True,
) -> JobTable:
    """A table to learn from or, where not ``measured``, to forecast; amounts per node.

    A file is read.
    """
    if isinstance(jobs, JobTable):
        return nodecount.prepared(jobs)
    path = Path(jobs)
    return load(path, form, mapped, columns, knobs=knobs, known=known, measured=measured)


def beside(
    jobs: Jobs, renamed: Iterable[str], knobs: Sequence[str], known: Sequence[str] = ()
) -> JobTable:
    """Another table to learn from; of the columns ``renamed`` in the first, those that it has.

    A value of all rows is that of rows here, too, unless a column says so itself.
    """
    if renamed and not isinstance(jobs, JobTable) and guess_format(jobs) in ("runs", "sacct"):
        headings = table_frame(jobs)[0].columns
        own = {*headings, *map(guess_name, headings)}
        pairs = _present(parse_pairs(renamed, "--column"), headings)
        pairs = {o: t for o, t in pairs.items() if not (t.startswith("=") and o in own)}
        return load(Path(jobs), columns=pairs, knobs=knobs, known=known)
    return opened(jobs, knobs=knobs, known=known)


def as_logged(jobs: Jobs) -> JobTable:
    """A table as it is, processors and GPUs of whole jobs included; a file is read.

    Power is energy over run time where only these are known.

    >>> as_logged(table({"energy_j": [6e3, 9e3], "runtime_s": [20.0, 0.0]})).numpy("power_w")
    array([300.,  nan])
    """
    log = jobs if isinstance(jobs, JobTable) else _read_all([Path(jobs)], "", "runs", {})
    if not {"energy_j", "runtime_s"} <= set(log.columns):
        return log
    given = [pl.col("power_w")] if "power_w" in log.columns else []
    mean = pl.col("energy_j") / pl.when(pl.col("runtime_s") > 0).then("runtime_s")
    power = log.frame.select(pl.coalesce(*given, mean)).to_series()
    return log.with_columns([VOCABULARY["power_w"]], power_w=power)


def machine_of(jobs: JobTable, given: Place) -> Machine:
    """The machine that is given, else that of the log; noted where that is a proposal.

    >>> machine_of(table({"nodes": [1]}), 64).procs
    64
    """
    if isinstance(given, Machine):
        return given
    noted, machine = placed(jobs, "" if given is None else str(given))
    listener.notes(noted.notes[len(jobs.notes) :])
    return machine


def together(files: Sequence[Path], read_one: Callable[[Path], JobTable]) -> JobTable:
    """One table of all files; with several, a note says of which file it is."""
    places = [os.path.realpath(f) for f in files]  # a loop of links is told when it is read
    if twice := [f for f, p in zip(files, places, strict=True) if places.count(p) > 1]:
        raise DataError(str(twice[0]), ["is there twice: its rows would count twice"])
    tables = [read_one(f) for f in files]
    if len(tables) == 1:
        return tables[0]
    for i, (file, one) in enumerate(zip(files, tables, strict=True)):
        noticed = (replace(n, message=f"{file}: {n.message}") for n in one.notes)
        tables[i] = replace(one, notes=tuple(noticed))
    return concat(tables)


def _format(file: Path, otherwise: str) -> str:
    name = guess_format(file)
    return otherwise if name == "runs" else name


def condition(jobs: JobTable, text: str) -> tuple[str, str]:
    """Column and value of ``column=value``; the column by its name here or in the file.

    >>> condition(table({"app": ["lbm"]}), "app=lbm")
    ('app', 'lbm')
    """
    name, _, wanted = text.partition("=")
    if name not in jobs.columns:
        theirs = [c for c in jobs.columns if jobs.schema[c].meaning == f"from {name}"]
        said = [*headings_meant([name], jobs.columns), *words_by_ours(jobs, name)]
        name, *_ = [*theirs, *said, name]
    jobs.require(name)
    return name, wanted


def rows_with(jobs: JobTable, text: str) -> list[int]:
    """The rows that hold one ``column=value``.

    >>> rows_with(table({"cap_w": [200.0, 1500.0]}), "cap_w=1.5kW")
    [1]
    >>> rows_with(table({"remark": ["cold cache", None]}), "remark=")
    [1]
    """
    name, wanted = condition(jobs, text)
    if not wanted:
        return jobs.frame[name].is_null().arg_true().to_list()
    amount = parse_value(wanted, unit_of(name))
    values = jobs.frame[name].to_list()
    return [i for i, v in enumerate(values) if str(v) == wanted or v == amount]


def only(jobs: JobTable, where: Sequence[str] | None, option: str = "--where") -> JobTable:
    """The rows that hold every ``column=value``; none at all is a `DataError` on the option.

    >>> len(only(table({"gpus": [1, 2, 2], "app": ["a", "a", "b"]}), ["gpus=2", "app=a"]))
    1
    """
    for k, text in enumerate(where or (), 1):
        kept = jobs.rows(rows_with(jobs, text))
        if not len(kept):
            name, every = condition(jobs, text)[0], " and ".join((where or ())[:k])
            there = jobs.frame[name].drop_nulls().unique(maintain_order=True).cast(pl.String)
            first = ", ".join(there[:6]) + ", ..." * (len(there) > 6)
            raise DataError(option, [f"no row has {every}; {name} is {first or 'not known'}"])
        jobs = kept
    return jobs


def with_trial(log: JobTable, plan: Jobs | None, knobs: Sequence[str]) -> JobTable:
    """The log with what the jobs of a trial had asked for, by its plan, else where one is found."""
    before = len(log.notes)
    if plan is None:
        for knob in knobs:
            log = with_found_trial(log, knob)
        listener.notes(log.notes[before:])
        return log
    planned = plan if isinstance(plan, JobTable) else table(read_table(Path(plan)).to_dict())
    turned = [k for k in knobs if f"{k}_requested" in planned.columns] or list(knobs[:1])
    for knob in turned:
        log = joined(log, planned, knob)
    listener.notes(log.notes[before:])
    return log


def fitted(
    jobs: JobTable,
    model: Model | None,
    kind: str,
    seed: int,
    knobs: Sequence[str] = ("nodes",),
    by: Sequence[str] | None = None,
) -> Predictor:
    """The model that is given or saved, or a new one that learns from ``jobs``."""
    if isinstance(model, (str, Path)):
        saved: Predictor = load_model(Path(model), PREDICTORS)
        return saved
    if model is not None:
        return model
    if unused := unused_columns(jobs):
        each = " ".join(f"--known {lacking.their_name(jobs, c)}=submit" for c in unused)
        listener.note(UNUSED.format(", ".join(unused), each))
    new = nodecount.model(kind, jobs, knobs=tuple(knobs), by=by, seed=seed)
    with listener.working(f"learning from {len(jobs):,} jobs"):
        return new.fit(jobs)


def countable(wanted: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse node-hours where nothing tells the nodes, before anything is run."""
    known = list(columns)
    if "node_hours" in wanted and not {"nodes", "node_hours"} & set(known):
        problem = f"node_hours needs a knob or column nodes; there are {', '.join(known)}"
        raise DataError(
            "--objectives", [problem, f"try --objectives {lacking.without_energy(known)}"]
        )


def usual_objectives(log: JobTable, model: Model | None = None) -> tuple[str, ...]:
    """What advice is given for where nobody said: energy, node-hours where a log has none.

    >>> usual_objectives(table({"nodes": [1], "runtime_s": [60.0]}))
    ('runtime_s', 'node_hours')
    """
    measured = nodecount.targets_in(log)
    if model is not None or len(measured) > 1:
        return ("runtime_s", "energy_j")
    if measured and "runtime_s" not in measured:
        return judged(log, ("runtime_s", "energy_j"))
    usual = parse_names(lacking.without_energy(log.columns))
    listener.note(f"no row has power or energy: advice is for {' and '.join(usual)}")
    return usual


def judged(
    jobs: JobTable, objectives: Names, *, model: bool = True, own: JobTable | None = None
) -> tuple[str, ...]:
    """The objectives, if the log can teach them; a log without power cannot teach energy.

    ``model`` tells whether the question takes a model that could; of a table's columns, those that
    the ``own`` rows fill are proposed.
    """
    wanted, measured = parse_objectives(objectives), nodecount.targets_in(jobs)
    needed = POWER_NEEDED if "runtime_s" in measured else TIME_NEEDED
    blind = [q for q in wanted if q in needed and len(measured) < 2]
    if blind:
        raise DataError(
            f"asked for {', '.join(wanted)}",
            [
                f"{lacking.missing(measured)}, so {', '.join(blind)} cannot be learnt",
                *lacking.perhaps(own or jobs, measured),
                *lacking.instead(own or jobs, measured, model=model),
            ],
        )
    return wanted


POWER_NEEDED = ("energy_j", "power_w", "edp_js")
TIME_NEEDED = ("runtime_s", "node_hours", "edp_js", "ed2p_js2")
"""Objectives that a log without power, and one without run times, cannot teach."""
