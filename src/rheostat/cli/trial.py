"""``rheostat trial``: which jobs run at another setting, how many it takes, and what they told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

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
    from rheostat.cli.output import printed
    from rheostat.questions.trial import plan as ask

    with printed(json=json) as put:
        put(ask(file, share=share, knob=knob, largest=largest, accuracy=accuracy, past=past,
                seed=seed, format=form, columns=mapped, out=out))  # fmt: skip


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
    from rheostat.cli.output import printed
    from rheostat.questions.trial import read as ask

    with printed(json=json) as put:
        put(ask(file, trial=plan, knob=knob, seed=seed, format=form, columns=mapped))
