"""``rheostat caps``: how slow under caps that nobody tried, and which to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option, written


@asks("caps", o.table, o.drawn, tried="runs", by="group_by")
def caps(
    known: Annotated[Path, argument("Runs of known applications under caps.", "KNOWN")],
    app: Annotated[str, option("The application asked about.")],
    tried: Annotated[
        Path | None, option("Its few runs; by default those that KNOWN has of it.")
    ] = None,
    loss: Annotated[float, option("Share of speed that may be lost.", min=0, max=0.9)] = 0.05,
    risk: Annotated[
        float, option("Probability with which the bound must hold.", min=0.5, max=0.999)
    ] = 0.9,
    out: Annotated[
        Path | None,
        written("Write what is believed as runs (CSV), for rheostat budget plan.", "--out", "-o"),
    ] = None,
    where: o.Where = None,
    by: o.By = "",
    knob: Annotated[
        list[str] | None,
        option(
            "Caps to predict that the known applications did not run, as cap_w=100..250/5 or "
            "gpu_cap_w=155,165. Repeatable.",
            "--knob",
        ),
    ] = None,
) -> None:
    """Say from a few runs how slow an application gets under caps, what to keep, what to try next.

    KNOWN has app, runtime_s and cpu_cap_w, gpu_cap_w or cap_w, several applications at the same
    settings; gpus or nodes too where their number varies. The first run of a new application is at
    the highest caps; the others are asked for in turn. Beside the answer stand a line between the
    same runs, bilinear interpolation of the corners, and a Gaussian process's lower bound.
    """
