"""``rheostat trial``: which jobs run at another setting, how many it takes, and what they told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.decision.trial_size import TrialSize

trial = typer.Typer(
    help="A small randomised trial, to learn what settings do: plan it, read its result.",
    no_args_is_help=True,
    add_completion=False,
)

Turned = Annotated[str, typer.Option(help="The setting that is turned.")]


@trial.command()
def plan(
    file: o.File,
    share: Annotated[
        float, typer.Option(min=0.0, max=0.5, help="Expected share of jobs that take part.")
    ] = 0.05,
    knob: Turned = "nodes",
    largest: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Largest setting that exists.")
    ] = 256,
    accuracy: Annotated[
        float, typer.Option(min=0.001, help="How well the exponent of runtime is to be known.")
    ] = 0.05,
    past: Annotated[
        Path | None, typer.Option(help="Log that tells how runtimes vary.  [default: FILE]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", writable=True, help="Write the plan as CSV.")
    ] = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Name the jobs of FILE to run at a quarter or four times their setting; how many are needed.

    Who takes part is drawn by chance, larger jobs more often. Run them so and give the log and the
    plan to `rheostat decide LOG --trial PLAN.csv`.
    """
    from dataclasses import asdict

    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.core.files import replace_file
    from rheostat.core.report import Grid, Report, Section
    from rheostat.decision.trial import plan_trial
    from rheostat.decision.trial_size import trial_size
    from rheostat.questions import inputs

    jobs = inputs.load(file, form, mapped)
    planned = plan_trial(jobs, share, knob, high=largest, seed=seed)
    size = trial_size(planned, inputs.load(past) if past else jobs, accuracy)
    frame = planned.table.frame
    part = frame.filter(frame["takes_part"])
    if out is not None:
        replace_file(out, frame.write_csv().encode())
        tell(f"wrote {out}")
    said = (f"{planned.taking_part:,} of {len(frame):,} jobs take part.", *_size_words(size))
    grid = Grid(tuple(part.columns), tuple(part.rows()))
    if json:
        facts = {"share": share, "knob": knob, "taking_part": planned.taking_part}
        put_json("rheostat.trial/2", {**facts, "size": asdict(size), "jobs": part.to_dicts()})
        return
    put_report(Report("", [Section("trial", said, grid)]), grid)
    for sentence in said:
        tell(sentence)


def _size_words(size: TrialSize) -> tuple[str, ...]:
    from rheostat.decision.trial_size import APART

    basis = "as in the past runs" if size.measured else "assumed: no past runs are given"
    needed = (
        f"{size.needed:,} jobs are needed to know the exponent of runtime, averaged over them, to "
        f"±{size.accuracy:g} (90 %), if runtimes at equal requests vary by {size.spread:.2f} in "
        f"logarithm ({basis}) and exponents by {APART:g}."
    )
    if size.expected >= size.needed:
        return (needed, f"As planned it will be known to ±{size.reached:.2f}.")
    if not size.expected:
        return (needed,)
    more = f"--share {size.share:.2g}" if size.share <= 0.5 else "a longer trial"
    return (needed, f"As planned ±{size.reached:.2f}: {more} reaches it.")


@trial.command()
def read(
    file: o.File,
    plan: Annotated[
        Path | None,
        typer.Option(help="The plan; not needed where FILE has the column KNOB_requested."),
    ] = None,
    knob: Turned = "nodes",
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Say what the trial's jobs in the log FILE told, beside what the log alone would say.

    `rheostat decide FILE --trial PLAN.csv` uses both together; the exponent that its forecasts have
    for these jobs stands beside.
    """
    from dataclasses import asdict

    from rheostat.cli.output import put_json, put_report
    from rheostat.core.report import Report, Section
    from rheostat.decision.trial_size import trial_result
    from rheostat.errors import DataError
    from rheostat.questions import advice, inputs

    log = inputs.with_trial(inputs.load(file, form, mapped), plan, (knob,))
    kind = advice.advice_method("auto", log, None)
    model = inputs.fitted(log, None, kind, seed, (knob,)) if kind == "within" else None
    result = trial_result(log, knob, model)
    if result is None:
        raise DataError("trial read", ["expected jobs of two applications that ran at another "
                                       f"{knob} than asked for; got fewer"])  # fmt: skip
    if json:
        put_json("rheostat.trial-read/1", {**asdict(result), "agrees": result.agrees})
        return
    trial_says, log_says, forecast_says = (
        "nothing" if v is None else "{:.2f} [{:.2f}, {:.2f}]".format(*v)
        for v in (result.by_trial, result.by_log, result.by_forecast)
    )
    said = (
        f"{result.turned:,} jobs of {result.applications:,} applications ran at other {knob} than "
        "asked for.",
        f"Exponent of runtime in {knob}: {trial_says} by the trial, averaged over these jobs.",
        f"The requests of the log alone would say {log_says}.",
        f"What is advised rests on {forecast_says} for these jobs"
        + (": both agree." if result.agrees else ": the two disagree, and nothing is advised."),
    )
    put_report(Report("", [Section("trial", said)]))
