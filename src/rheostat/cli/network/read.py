"""``rheostat network read``: what is in a simulated run."""

from __future__ import annotations

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.network import run_options as r


@asks("network.read", folder="run")
def read(folder: r.Folder, json: o.Json = False) -> None:
    """Read a folder of what CODES wrote, check it, and say what is in it."""
