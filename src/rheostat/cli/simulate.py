"""``rheostat simulate``: what a trace would have waited under other policies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.machine import Machine
    from rheostat.core.report import Grid
    from rheostat.simulate.run import Run


def simulate(
    trace: Annotated[Path, typer.Argument(help="A job log: SWF, sacct, parquet, ...")],
    machine: Annotated[
        str, typer.Option(help="Processors, or a TOML file; the trace's header by default.")
    ] = "",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="fcfs, easy, conservative, ORDER, ORDER+easy or ORDER+conservative; "
            "repeatable, the first is what the others are compared with.  [default: easy]"
        ),
    ] = None,
    estimates: Annotated[str, typer.Option(help="What planning believes: user, perfect.")] = "user",
    semantics: Annotated[
        str, typer.Option(help="textbook, or cqsim: waiting jobs planned with their true run time.")
    ] = "textbook",
    ties: Annotated[
        str, typer.Option(help="One scheduling pass per event, or per time stamp (batch).")
    ] = "event",
    schedule: Annotated[
        Path | None, typer.Option(help="Write starts and ends here, as CSV.")
    ] = None,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Run TRACE through batch policies and compare what jobs wait.

    Sizes are processors asked for, else used.  Rows that no machine could run are noted and left
    out; nothing else is changed.
    """
    from rheostat.cli.output import put_json, put_report, tell_notes, working
    from rheostat.core.report import Report, Section
    from rheostat.decide.queue.policy import policy as made
    from rheostat.measure.reading import read
    from rheostat.simulate.run import simulate_run

    rules = [made(p, semantics=semantics, ties=ties) for p in policy or ["easy"]]
    jobs = read(trace, format=form) if form else read(trace)
    place = _machine(machine, jobs)
    runs = []
    for rule in rules:
        with working(f"{rule.name}: {len(jobs):,} jobs"):
            runs.append(simulate_run(jobs, rule, place, estimates=estimates))
    for run in runs:
        _write(run, schedule, alone=len(runs) == 1)
    if json:
        put_json("rheostat.simulate/1", _facts(trace, runs))
        return
    grid = _grid(runs)
    put_report(Report("", [Section("simulate", _lines(trace, runs), grid)]), grid)
    tell_notes(runs[0].jobs.notes)


def _machine(text: str, jobs: JobTable) -> Machine:
    from rheostat.core.machine import Machine
    from rheostat.errors import DataError

    if text:
        return Machine.load(text)
    for note in jobs.notes:
        if not note.message.startswith("header "):
            continue
        told = dict(p.split(": ", 1) for p in note.message[7:].split("; ") if ": " in p)
        for key in ("MaxProcs", "MaxNodes"):
            size = told.get(key, "").split(" ")[0]
            if size.isdigit() and int(size) > 0:
                return Machine(int(size), name=told.get("Computer", ""))
    raise DataError("machine", ["the trace does not say its size: pass --machine PROCESSORS"])


def _facts(trace: Path, runs: list[Run]) -> dict[str, Any]:
    from rheostat.simulate.metrics import metrics

    spent = sum(r.cpu_s for r in runs)
    return {
        "trace": str(trace),
        "machine": {"name": runs[0].machine.name, "procs": runs[0].machine.procs},
        "engine": {
            "jobs_per_cpu_s": sum(len(r.jobs) for r in runs) / spent if spent else None,
            "cpu_s": spent,
            "process_cpu_s": time.process_time(),
            "clairvoyant": any(r.clairvoyant for r in runs),
        },
        "policies": {
            r.policy.name: {
                "clairvoyant": r.clairvoyant,
                "passes": r.passes,
                **metrics(r.jobs, r.machine.procs),
            }
            for r in runs
        },
        "notes": [{"message": n.message, "rows": n.count} for n in runs[0].jobs.notes],
    }


def _grid(runs: list[Run]) -> Grid:
    from rheostat.core.report import Grid
    from rheostat.simulate.metrics import metrics

    rows = []
    for r in runs:
        m: Any = metrics(r.jobs, r.machine.procs)
        wait, slow = m["wait_s"], m["bounded_slowdown"]
        rows.append(
            [r.policy.name, wait["mean"], wait["p95"], wait["max"], slow["mean"], slow["p95"],
             m["utilisation"]]
        )  # fmt: skip
    heads = ("policy", "wait", "p95 wait", "max wait", "slowdown", "p95 slowdown", "used")
    return Grid(heads, tuple(map(tuple, rows)), ("", "s", "s", "s", "", "", "share"))


def _lines(trace: Path, runs: list[Run]) -> tuple[str, ...]:
    first = runs[0]
    told = [f"{trace.name}: {len(first.jobs):,} jobs on {first.machine.procs:,} processors."]
    seen = [r.policy.name for r in runs if r.clairvoyant]
    told.append(
        f"Clairvoyant: {', '.join(seen)} planned with run times no site knows."
        if seen
        else "Planned with what was known at submission only."
    )
    return tuple(told)


def _write(run: Run, path: Path | None, *, alone: bool) -> None:
    """Write CSV, whole seconds as whole numbers; several policies make several files."""
    if path is None:
        return
    import polars as pl

    from rheostat.cli.output import tell
    from rheostat.simulate.workload import schedule_columns

    into = path if alone else path.with_stem(f"{path.stem}.{run.policy.name}")
    frame = schedule_columns(run.jobs.frame)
    whole = [c for c in ("submit_s", "start_s", "end_s") if (frame[c] == frame[c].round()).all()]
    into.parent.mkdir(parents=True, exist_ok=True)
    frame.with_columns(pl.col(c).cast(pl.Int64) for c in whole).write_csv(into)
    tell(f"wrote {into}")
