"""``rheostat network fit``: learn the iteration times of a run."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.network import run_options as r


def fit(folder: r.Folder, save: r.Save = None, app: r.App = None, json: o.Json = False) -> None:
    """Learn the iteration times of a run, for `rheostat network serve --model`.

    Printed is the error one iteration ahead of ours and of the baselines, over the newest 70 %.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.network import fit as ask

    with printed(json=json) as put:
        put(ask(folder, app or (), out=save))
