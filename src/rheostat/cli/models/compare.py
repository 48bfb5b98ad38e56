"""``rheostat compare``: methods of forecasting side by side, or batch policies on many traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.options import batch as b


def compare(
    file: Annotated[
        Path | None,
        typer.Argument(help="A job log or table of runs, any format read knows.", metavar="FILE"),
    ] = None,
    kinds: Annotated[
        str,
        typer.Option(help="Methods: forest, boosting, xgboost, lightgbm, tabnet, attention, law."),
    ] = "forest,xgboost,lightgbm",
    test_fraction: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Share of the newest jobs that is not learned from and tested on.  "
            "[default: 0.2, for policies 0.5]",
        ),
    ] = None,
    seed: o.Seed = 0,
    policies: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Compare batch policies instead (simulate --policy's, files too), on --traces.",
        ),
    ] = "",
    traces: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Folder of traces, or one trace. Repeatable."),
    ] = None,
    fitted: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY=TRACE,...",
            help="Traces a policy was fitted or tuned on, or all; it is judged on the others.",
        ),
    ] = None,
    heuristics: Annotated[
        str, typer.Option(help="What the best is taken from.  [default: ten orders under EASY]")
    ] = "",
    max_wait: Annotated[
        float, typer.Option(min=1.0, help="Limit of the longest wait, times FCFS with EASY.")
    ] = 1.5,
    machine: b.MachineSize = "",
    estimates: b.Estimates = "user",
    semantics: b.Semantics = "textbook",
    ties: b.Ties = "event",
    overdue: b.Overdue = "",
    processes: Annotated[int, typer.Option(min=0, max=1024, help="0: one per core.")] = 0,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on Dask workers: tcp://host:8786, or local."),
    ] = None,
    slurm: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="Run on Dask workers submitted to Slurm.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=10_000, help="Workers to start (local, Slurm).")
    ] = 2,
    memory: Annotated[str, typer.Option(help="Memory of one started worker.")] = "2GB",
    results: Annotated[
        Path | None, typer.Option(help="Finished runs, kept here; done ones are not done again.")
    ] = None,
    replays: Annotated[
        int, typer.Option(min=0, max=100, help="Replays of each trace with submissions moved.")
    ] = 0,
    html: o.Html = None,
    figure: o.Figure = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Compare forecasting methods on the newest jobs of FILE, or batch --policies on --traces.

    Methods learn from the same past and are judged on the same recent jobs, beside what is guessed
    without a model: mean and median of all runs, the user's last two, the user's most similar ones.

    Policies are run over whole traces and held against the best simple order under EASY: over all
    jobs, over the newest --test-fraction of them, and on the machines they were not --fitted on.
    A claim is printed only where no gate fails.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.models.compare import compare as of_methods
    from rheostat.questions.scheduling.compare_policies import compare_policies as of_policies
    from rheostat.questions.workers import workers_of

    if policies and (file is not None or not traces):
        raise typer.BadParameter("--policies takes its traces from --traces, and no FILE")
    if file is None and not policies:
        raise typer.BadParameter("Missing argument 'FILE', or --policies with --traces")
    share = {} if test_fraction is None else {"test_fraction": test_fraction}
    with printed(json=json, html=html, figure=figure) as put:
        if file is not None:
            put(of_methods(file, methods=kinds, seed=seed, format=form, columns=mapped, **share))
            return
        put(of_policies(policies, traces or (), heuristics=heuristics, fitted=fitted or (),
                        max_wait=max_wait, machine=machine, estimates=estimates,
                        semantics=semantics, ties=ties, overdue=overdue, processes=processes,
                        workers=workers_of(dask, slurm, workers, memory), results=results,
                        replays=replays, seed=seed, **share))  # fmt: skip
