"""``rheostat counters``: power and runtime from hardware counters, and which counter matters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Counters of metered runs: pcm, perf stat, likwid, papi or a table.", metavar="FILE..."
    ),
]


def counters(
    files: Files,
    methods: Annotated[
        str,
        typer.Option(
            help="mummi, law, law+trees, ten (all learners) or learners by name: ridge, elastic, "
            "quadratic, pls, neighbours, vectors, tree, forest, extra, boosting. The last one is "
            "asked which counters matter."
        ),
    ] = "mummi,law",
    target: Annotated[
        str,
        typer.Option(
            help="runtime_s, power_w, package_power_w, dram_power_w.  [default: all there are]"
        ),
    ] = "",
    leave_out: Annotated[
        str,
        typer.Option(
            help="What the model is tested on: whole applications, runs at random, or both."
        ),
    ] = "application,random",
    by: Annotated[str, typer.Option(help="Column that names the application.")] = "app",
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COUNTER=FACTOR", help="As llc_misses_per_s=0.8: what if. Repeatable."
        ),
    ] = None,
    predict: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also predict the runs of this file, metered or not."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            "-o",
            help="Save the model of the last method, fitted on all runs, for --model FILE.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Fit nothing: predict the runs of FILE with a saved model file."
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Model the power of runs from their counters; score it on applications it has not seen.

    The mean per power cap is always in the table: a method that does not beat it has learnt
    nothing.  Files of several intervals per run are best: power bends at a cap.

    With --model FILE need not be metered, and only its runs are predicted.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.models.counters import counters as ask
    from rheostat.questions.models.counters import predict_counters

    if model is not None and (predict or save or what_if):
        problem = "fits nothing: leave out --predict, --save and --what-if"
        raise typer.BadParameter(problem, param_hint="--model")
    with printed(json=json, html=html, figure=figure) as put:
        if model is not None:
            put(predict_counters(files, model, format=form))
            return
        put(ask(files, methods=methods, target=target, leave_out=leave_out, group_by=by,
                what_if=what_if or (), predict=predict, save=save, seed=seed,
                format=form))  # fmt: skip
