"""``rheostat network forecast``: the next iterations of applications."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.network import run_options as r


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
    from rheostat.cli.output import printed
    from rheostat.questions.network import forecast as ask

    with printed(json=json, html=html, figure=figure) as put:
        put(ask(folder, app or (), steps=steps))
