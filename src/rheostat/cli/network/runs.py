"""``rheostat network read|fit|forecast``: what a simulated run holds, and its next iterations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option

Folder = Annotated[
    Path,
    argument(
        "Folder of a simulated run: an iteration log, and what there is of net.conf, "
        "wl.conf, alloc.conf and port telemetry. Or a file: a log of CODES, a log of training "
        "(step_time_ms=41 in its lines, or as Megatron-LM or nanoGPT write it), or a CSV of "
        "iteration times alone.",
        "FOLDER",
    ),
]
App = Annotated[list[str] | None, option("Only this application, as wl.conf names it. Repeatable.")]
Save = Annotated[Path | None, option("Keep the model in this file.", "--save", "-o", writable=True)]
Ahead = Annotated[int, option("Iterations ahead.", "--steps", min=1, max=30)]


@asks("network.read", o.shown, folder="run")
def read(folder: Folder) -> None:
    """Read a folder of what CODES wrote, check it, and say what is in it."""


@asks("network.forecast", o.drawn, folder="run")
def forecast(
    folder: Folder,
    app: App = None,
    steps: Ahead = 30,
) -> None:
    """Forecast the next iterations of each application, with intervals.

    The errors printed are of forecasts one iteration ahead over the newest 70 % of the run, each
    made before the iteration was shown.  Where the regime has changed, a line says to go back to
    simulation.
    """


@asks("network.fit", o.shown, folder="run", save="out")
def fit(folder: Folder, save: Save = None, app: App = None) -> None:
    """Learn the iteration times of a run, for `rheostat network serve --model`.

    Printed is the error one iteration ahead of ours and of the baselines, over the newest 70 %.
    """
