"""``rheostat network fit``: learn the iteration times of a run."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.network import run_options as r


@asks("network.fit", folder="run", save="out")
def fit(folder: r.Folder, save: r.Save = None, app: r.App = None, json: o.Json = False) -> None:
    """Learn the iteration times of a run, for `rheostat network serve --model`.

    Printed is the error one iteration ahead of ours and of the baselines, over the newest 70 %.
    """
