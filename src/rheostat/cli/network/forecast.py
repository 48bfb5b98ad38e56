"""``rheostat network forecast``: the next iterations of applications."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.network import run_options as r


@asks("network.forecast", folder="run")
def forecast(
    folder: r.Folder,
    app: r.App = None,
    steps: r.Ahead = 30,
    html: o.Html = None,
    figure: o.Figure = None,
    json: o.Json = False,
) -> None:
    """Forecast the next iterations of each application, with intervals.

    The errors printed are of forecasts one iteration ahead over the newest 70 % of the run, each
    made before the iteration was shown.  Where the regime has changed, a line says to go back to
    simulation.
    """
