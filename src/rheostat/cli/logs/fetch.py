"""`rheostat fetch WHAT`: download a public job log into the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("fetch", o.shown)
def fetch(
    what: Annotated[str, argument("pm100, adastra, fdata:YY_MM or swf:NAME.", "WHAT")],
    base_url: Annotated[str, option("Another server of the same layout.")] = "",
    cache: Annotated[
        Path | None, option("Folder instead of the user's cache.", file_okay=False)
    ] = None,
) -> None:
    """Download a public log with checksum and resume; prints the path of the file."""
