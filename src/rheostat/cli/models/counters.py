"""``rheostat counters``: power and runtime from hardware counters, and which counter matters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option, written

Files = Annotated[
    list[Path],
    argument("Counters of metered runs: pcm, perf stat, likwid, papi or a table.", "FILE..."),
]


@asks("counters", o.drawn, instead={"model": "predict_counters"}, by="group_by")
def counters(
    files: Files,
    methods: Annotated[
        str,
        option(
            "mummi, law, law+trees, ten (all learners) or learners by name: ridge, elastic, "
            "quadratic, pls, neighbours, vectors, tree, forest, extra, boosting. The last "
            "one is asked which counters matter."
        ),
    ] = "mummi,law",
    target: Annotated[
        str, option("runtime_s, power_w, package_power_w, dram_power_w.  [default: all there are]")
    ] = "",
    leave_out: Annotated[
        str, option("What the model is tested on: whole applications, runs at random, or both.")
    ] = "application,random",
    by: Annotated[str, option("Column that names the application.")] = "app",
    what_if: Annotated[
        list[str] | None,
        option("As llc_misses_per_s=0.8: what if. Repeatable.", metavar="COUNTER=FACTOR"),
    ] = None,
    predict: Annotated[
        Path | None, option("Also predict the runs of this file, metered or not.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None,
        written(
            "Save the model of the last method, fitted on all runs, for --model FILE.",
            "--save",
            "-o",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        option("Fit nothing: predict the runs of FILE with a saved model file.", metavar="MODEL"),
    ] = None,
    seed: o.Seed = 0,
    form: o.Form = "",
) -> None:
    """Model the power of runs from their counters; score it on applications it has not seen.

    The mean per power cap is always in the table: a method that does not beat it has learnt
    nothing.  Files of several intervals per run are best: power bends at a cap.

    With --model FILE need not be metered, and only its runs are predicted.
    """
    if model is not None and (predict or save or what_if):
        problem = "fits nothing: leave out --predict, --save and --what-if"
        raise typer.BadParameter(problem, param_hint="--model")
