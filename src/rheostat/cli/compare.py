"""``rheostat compare``: methods of forecasting side by side, or batch policies on many traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.simulate import Estimates, MachineSize, Overdue, Semantics, Ties

if TYPE_CHECKING:
    from rheostat.prediction.compare import Row


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
    machine: MachineSize = "",
    estimates: Estimates = "user",
    semantics: Semantics = "textbook",
    ties: Ties = "event",
    overdue: Overdue = "",
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
    if policies:
        from rheostat.cli.protocol import compare_policies

        if file is not None or not traces:
            raise typer.BadParameter("--policies takes its traces from --traces, and no FILE")
        how = {"estimates": estimates, "semantics": semantics, "ties": ties, "machine": machine}
        how["overdue"] = overdue
        compare_policies(
            policies, traces, heuristics=heuristics, fitted=fitted or (), max_wait=max_wait,
            seed=seed, processes=processes, dask=dask, slurm=slurm, workers=workers,
            memory=memory, results=results, html=html, figure=figure, json=json,
            split=1.0 - (0.5 if test_fraction is None else test_fraction), **how,
        )  # fmt: skip
        return
    if file is None:
        raise typer.BadParameter("Missing argument 'FILE', or --policies with --traces")
    _methods(
        file,
        kinds,
        1.0 - (0.2 if test_fraction is None else test_fraction),
        seed,
        html=html,
        figure=figure,
        form=form,
        mapped=mapped,
        json=json,
    )


def _methods(
    file: Path,
    kinds: str,
    split: float,
    seed: int,
    *,
    html: Path | None,
    figure: Path | None,
    form: str,
    mapped: Path | None,
    json: bool,
) -> None:
    from rheostat.cli.output import put_json, put_report, tell, working, write_files
    from rheostat.decision.backtest import divided
    from rheostat.explanation.narrate import explain
    from rheostat.prediction.baselines import baselines
    from rheostat.prediction.compare import compare as run
    from rheostat.questions import inputs
    from rheostat.questions.parse import parse_names
    from rheostat.recipes.nodecount import model, targets_in

    jobs = inputs.load(file, form, mapped)
    past, recent, _ = divided(jobs, split)
    targets = targets_in(jobs)
    trivial = baselines(targets, users="user" in jobs.columns)
    methods = {**trivial, **{k: model(k, jobs, seed=seed) for k in parse_names(kinds)}}
    with working(f"{len(methods)} methods learn from {len(past):,} jobs"):
        rows = run(methods, past, recent, targets=targets, seed=seed)
    report = explain(rows)
    if json:
        put_json("rheostat.compare/1", _steady(report.facts))
    else:
        put_report(report, report.sections[0].grid)
    for name, seconds in _times(rows).items():
        tell(f"{name}: learnt in {seconds:.1f} s")
    write_files(report, html, figure)


def _times(rows: list[Row]) -> dict[str, float]:
    return {r.method: r.fit_s for r in rows}


def _steady(facts: Any) -> dict[str, Any]:
    """The facts without times, so that the same seed gives the same bytes."""
    return {"rows": [{k: v for k, v in r.items() if k != "fit_s"} for r in facts["rows"]]}
