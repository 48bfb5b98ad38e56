"""``rheostat network read``: what is in a simulated run."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.network import run_options as r


def read(folder: r.Folder, json: o.Json = False) -> None:
    """Read a folder of what CODES wrote, check it, and say what is in it."""
    from rheostat.cli.output import printed
    from rheostat.questions.network import read as ask

    with printed(json=json) as put:
        put(ask(folder))
