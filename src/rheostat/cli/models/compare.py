"""``rheostat compare``: methods of forecasting side by side, or batch policies on many traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options import batch as b
from rheostat.cli.options import workers as w
from rheostat.cli.options.declared import argument, option


@asks(
    "compare", b.planned, w.on_workers, o.table, o.drawn, instead={"policies": "compare_policies"}
)
def compare(
    file: Annotated[
        Path | None, argument("A job log or table of runs, any format read knows.", "FILE")
    ] = None,
    kinds: Annotated[
        str, option("Methods: forest, boosting, xgboost, lightgbm, tabnet, attention, law.")
    ] = "forest,xgboost,lightgbm",
    test_fraction: Annotated[
        float | None,
        option(
            "Share of the newest jobs that is not learned from and tested on.  [default: "
            "0.2, for policies 0.5]",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    seed: o.Seed = 0,
    policies: Annotated[
        str,
        option(
            "Compare batch policies instead (simulate --policy's, files too), on --traces.",
            metavar="A,B,...",
        ),
    ] = "",
    traces: Annotated[
        list[Path] | None, option("Folder of traces, or one trace. Repeatable.", metavar="DIR")
    ] = None,
    fitted: Annotated[
        list[str] | None,
        option(
            "Traces a policy was fitted or tuned on, or all; it is judged on the others.",
            metavar="POLICY=TRACE,...",
        ),
    ] = None,
    heuristics: Annotated[
        str, option("What the best is taken from.  [default: ten orders under EASY]")
    ] = "",
    max_wait: Annotated[
        float, option("Limit of the longest wait, times FCFS with EASY.", min=1.0)
    ] = 1.5,
    machine: b.MachineSize = "",
    processes: Annotated[int, option("0: one per core.", min=0, max=1024)] = 0,
    results: Annotated[
        Path | None, option("Finished runs, kept here; done ones are not done again.")
    ] = None,
    replays: Annotated[
        int, option("Replays of each trace with submissions moved.", min=0, max=100)
    ] = 0,
) -> None:
    """Compare forecasting methods on the newest jobs of FILE, or batch --policies on --traces.

    Methods learn from the same past and are judged on the same recent jobs, beside what is guessed
    without a model: mean and median of all runs, the user's last two, the user's most similar ones.

    Policies are run over whole traces and held against the best simple order under EASY: over all
    jobs, over the newest --test-fraction of them, and on the machines they were not --fitted on.
    A claim is printed only where no gate fails.
    """
    if policies and (file is not None or not traces):
        raise typer.BadParameter("--policies takes its traces from --traces, and no FILE")
    if file is None and not policies:
        raise typer.BadParameter("Missing argument 'FILE', or --policies with --traces")
