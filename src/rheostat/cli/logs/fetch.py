"""`rheostat fetch WHAT`: download a public job log into the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fetch(
    what: Annotated[
        str, typer.Argument(help="pm100, adastra, fdata:YY_MM or swf:NAME.", metavar="WHAT")
    ],
    base_url: Annotated[str, typer.Option(help="Another server of the same layout.")] = "",
    cache: Annotated[
        Path | None, typer.Option(help="Folder instead of the user's cache.", file_okay=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Download a public log with checksum and resume; prints the path of the file."""
    from rheostat.cli.output import printed
    from rheostat.questions.logs.fetch import fetch as ask

    with printed(json=json) as put:
        put(ask(what, base_url=base_url, cache=cache))
