"""``rheostat simulate``: what a trace would have waited under other policies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.machine import Machine
    from rheostat.core.outcome import Outcome
    from rheostat.simulation.policy import Policy
    from rheostat.simulation.result import Simulation

Trace = Annotated[Path, typer.Argument(help="A job log: SWF, sacct, parquet, ...")]
MachineSize = Annotated[
    str, typer.Option(help="Processors, or a TOML file; the trace's header by default.")
]
Estimates = Annotated[
    str,
    typer.Option(
        help="What planning believes of run times: user, perfect, last2, boost, forest, xgboost, "
        "lightgbm, or the file of a saved model."
    ),
]
Semantics = Annotated[
    str, typer.Option(help="textbook, or cqsim: waiting jobs planned with their true run time.")
]
Ties = Annotated[
    str, typer.Option(help="One scheduling pass per event, or per time stamp (batch).")
]
Overdue = Annotated[
    str,
    typer.Option(
        metavar="past|now|extend",
        help="When a job that outlived its estimate is expected to end: in the past as estimated, "
        "now, or later, its estimate raised step by step; the same for all policies of a table.  "
        "[default: past; in compare, with learned estimates and beside agent:ours, extend]",
    ),
]

Guard = Annotated[
    str,
    typer.Option(
        metavar="1.5x",
        help="Keep the longest wait of every policy near so many times that of FCFS with EASY: "
        "jobs go first before theirs is longer.  A single policy: NAME+1.5x.",
    ),
]


def _tell_orders(asked: bool) -> None:
    """The orders with what they mean, and no simulation."""
    if not asked:
        return
    from rheostat.cli.output import put_report
    from rheostat.core.report import Grid, Report, Section
    from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS

    grid = Grid(
        ("order", "meaning"), tuple((o.name, o.meaning) for o in PRIORITY_FUNCTIONS.values())
    )
    put_report(Report("", (Section("orders", (), grid),)), grid)
    raise typer.Exit


def simulate(
    trace: Trace,
    machine: MachineSize = "",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="fcfs, easy, conservative, ORDER, ORDER+easy, ORDER+conservative, agent:FILE "
            "(agent:ours comes with rheostat) or your own, FILE.py:NAME.  ORDER is fcfs, sjf, "
            "ljf, saf, sqf, largest, lxf, wfp3, unicef, f1, f2, f3, f4, multifactor, "
            "multifactor:FILE or tree:FILE; rheostat simulate --orders says what each means.  "
            "Repeatable, the first is what the others are compared with.  [default: easy]"
        ),
    ] = None,
    estimates: Estimates = "user",
    semantics: Semantics = "textbook",
    ties: Ties = "event",
    overdue: Overdue = "",
    guard: Guard = "",
    replays: Annotated[
        int,
        typer.Option(
            min=0,
            max=1000,
            help="Also replay TRACE so many times, submissions moved by up to 120 s: do policies "
            "differ by more than that does?  At least 2.",
        ),
    ] = 0,
    alternatives: Annotated[
        Path | None,
        typer.Option(help="Moldable jobs: a CSV or parquet table of job_id, cores, runtime_s, ..."),
    ] = None,
    power_model: o.PowerModel = None,
    schedule: Annotated[
        Path | None,
        typer.Option(help="Write starts and ends here, as CSV.", writable=True, dir_okay=False),
    ] = None,
    orders: Annotated[
        bool,
        typer.Option(
            "--orders", help="Say what each ORDER means.", callback=_tell_orders, is_eager=True
        ),
    ] = False,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Run TRACE through batch policies and compare how long jobs wait.

    Sizes are processors asked for, else used.  Rows that no machine could run are noted and left
    out; nothing else is changed.  Differences from the first policy are paired, job by job; their
    intervals are drawn with --seed.
    """
    from rheostat.cli.output import on_terminal, put_json, put_report, tell, write_files
    from rheostat.explanation.schedule import flat_grid, schedule_report, schedule_text
    from rheostat.recipes.policies import open_policies
    from rheostat.simulation.jittered_replays import words
    from rheostat.simulation.log_machine import placed
    from rheostat.simulation.overdue import agreed, under
    from rheostat.simulation.policy import guarded, limit_of
    from rheostat.simulation.report_facts import facts as facts_of

    names = list(dict.fromkeys(policy or ["easy"]))
    how = {"estimates": estimates, "semantics": semantics, "ties": ties}
    policies = open_policies(names, "--policy", semantics=semantics, ties=ties)
    limit = limit_of(guard)
    policies = [guarded(policy, limit) for policy in policies]
    _tell_apart(policies)
    how["overdue"] = agreed(policies, overdue, estimates)
    policies = [under(policy, how["overdue"]) for policy in policies]
    if replays == 1:
        raise typer.BadParameter("--replays: expected 0, or at least 2 for an interval, got 1")
    jobs = _read(trace, form)
    site: dict[str, Any] = {}
    if alternatives is not None:
        site["alternatives"] = _alternatives(alternatives)
    if power_model is not None:
        site["power_w"] = _predicted(power_model, jobs)
    jobs, place = placed(jobs, machine)
    _check(policies, place, estimates, site)
    runs = run_all(jobs, policies, place, seed=seed, estimates=estimates, **site)
    for run in runs:
        _write(run, schedule, alone=len(runs) == 1)
    deep = json or bool(html or figure)
    facts = facts_of(str(trace), runs, how, read=jobs, seed=seed, deep=deep)
    near = (*_roomy(jobs, runs, facts), *_replayed(jobs, runs, facts))
    if replays:
        near += _jittered(jobs, policies, place, facts, replays, seed, estimates=estimates, **site)
    if html or figure:
        from rheostat.simulation.report_series import picture

        write_files(schedule_report(facts, picture(runs), near), html, figure)
    if json:
        put_json("rheostat.simulate/1", facts)
        return
    put_report(schedule_text(facts, near), flat_grid(facts))
    for line in words(facts["replays"]) if replays and not on_terminal() else ():
        tell(line)
    for note in facts["notes"]:
        if note["text"]:
            tell(f"note: {note['text']}")


def _read(trace: Path, form: str) -> JobTable:
    from rheostat.measurement.read import read

    return read(trace, format=form) if form else read(trace)


def _alternatives(path: Path) -> JobTable:
    from rheostat.simulation.moldable import read_alternatives

    return read_alternatives(path)


def _predicted(path: Path, jobs: JobTable) -> Outcome:
    """What the model says at submission."""
    from rheostat.core.jobs import Moment
    from rheostat.errors import DataError
    from rheostat.prediction.persist import PREDICTORS, load
    from rheostat.recipes.nodecount import prepared

    outcome: Outcome = load(path, PREDICTORS).predict(prepared(jobs).known_at(Moment.SUBMIT))
    if "power_w" not in outcome.names:
        problem = f"expected a model of power_w, got one of {', '.join(outcome.names)}"
        raise DataError(str(path), [problem])
    return outcome


def run_all(
    jobs: JobTable, policies: list[Policy], machine: Machine, **how: Any
) -> list[Simulation]:
    """One run per policy on the same machine."""
    from rheostat.cli.output import working
    from rheostat.simulation.simulate import simulate_run

    runs = []
    for policy in policies:
        with working(f"{policy.name}: {len(jobs):,} jobs"):
            runs.append(simulate_run(jobs, policy, machine, **how))
    return runs


def _tell_apart(policies: list[Policy]) -> None:
    """A `DataError` where two policies have one name."""
    from rheostat.errors import DataError

    names = [policy.name for policy in policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem = (
            "two policies are called so; a policy of a file has the name of the file: rename one"
        )
        raise DataError("--policy", [f"{name}: {problem}" for name in twice])


def _check(policies: list[Policy], machine: Machine, estimates: str, site: dict[str, Any]) -> None:
    """Every reason why one of the policies cannot run so, before the first runs."""
    from rheostat.errors import DataError
    from rheostat.simulation.policy import cannot

    problems = [
        f"{policy.name}: --{problem}"
        for policy in policies
        for problem in cannot(policy, machine, estimates, (name.split("_")[0] for name in site))
    ]
    if problems:
        raise DataError("simulate", problems)


def _roomy(jobs: JobTable, runs: list[Simulation], facts: dict[str, Any]) -> tuple[str, ...]:
    """Adds to the facts that nobody waits on so large a machine; the sentence."""
    from rheostat.simulation.log_machine import roomy_words

    said = roomy_words(jobs, runs)
    facts["nobody_waits"] = said or None
    return (said,) if said else ()


def _replayed(jobs: JobTable, runs: list[Simulation], facts: dict[str, Any]) -> tuple[str, ...]:
    """Adds ``logged`` and ``replay`` to the facts where the trace has waits; a sentence."""
    from rheostat.simulation.as_logged import logged_facts
    from rheostat.simulation.replay import replay

    base = runs[0]
    near = replay(jobs, base.jobs)
    facts["logged"] = logged_facts(jobs, runs)
    facts["replay"] = None if near is None else {"policy": base.policy.name, **near.facts()}
    if near is None:
        return ()
    depth = near.queue_correlation
    queue = "" if math.isnan(depth) else f", queue correlation {depth:.2f}"
    said = f"Against the waits logged, {base.policy.name} is {near.words} KS {near.ks:.2f}{queue}."
    return (said,)


def _jittered(
    jobs: JobTable, policies: list[Policy], machine: Machine, facts: dict[str, Any],
    number: int, seed: int, **how: Any,
) -> tuple[str, ...]:  # fmt: skip
    """Adds ``replays`` to the facts; a sentence for each policy but the first."""
    from rheostat.simulation.jittered_replays import replays, words

    facts["replays"] = replays(
        jobs, lambda moved: run_all(moved, policies, machine, seed=seed, **how), number, seed
    )
    return words(facts["replays"])


def _write(run: Simulation, path: Path | None, *, alone: bool) -> None:
    """Write CSV, whole seconds as whole numbers; several policies make several files."""
    if path is None:
        return
    import polars as pl

    from rheostat.cli.output import tell
    from rheostat.core.files import replacing
    from rheostat.simulation.workload import schedule_columns

    into = path if alone else path.with_stem(f"{path.stem}.{run.policy.name}")
    frame = schedule_columns(run.jobs.frame)
    whole = [c for c in ("submit_s", "start_s", "end_s") if (frame[c] == frame[c].round()).all()]
    with replacing(into) as draft:
        frame.with_columns(pl.col(c).cast(pl.Int64) for c in whole).write_csv(draft)
    tell(f"wrote {into}")
