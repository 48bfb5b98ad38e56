"""`rheostat fetch WHAT`: download a public job log into the cache."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
    from rheostat.cli.output import put_json, tell
    from rheostat.measurement.fetch.download import fetch as get

    got = get(what, base_url=base_url or None, cache=cache, progress=_progress())
    known = {"archive": "checksum as the archive publishes it",
             "lock": "checksum as at the first download",
             "first use": "no checksum is published: recorded for next time"}  # fmt: skip
    tell(f"{got.format}, sha256 {got.sha256[:16]}..., {known[got.checked]}")
    if json:
        facts = {"what": what, "path": str(got.path), "url": got.url, "sha256": got.sha256,
                 "checked": got.checked, "format": got.format}  # fmt: skip
        put_json("rheostat.fetch/1", facts)
        return
    print(got.path)


def _progress() -> Callable[[int, int | None], None] | None:
    """A line on stderr that counts up; silent where stderr is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int | None) -> None:
        share = f" of {total / 1e6:,.0f}" if total else ""
        end = "\n" if total and done >= total else ""
        print(f"\r{done / 1e6:,.0f}{share} MB", end=end, file=sys.stderr, flush=True)

    return show
