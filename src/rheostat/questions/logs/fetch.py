"""`fetch`: a public job log, downloaded into the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Report
from rheostat.measurement.fetch.download import Fetched
from rheostat.measurement.fetch.download import fetch as get
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question

KNOWN = {"archive": "checksum as the archive publishes it",
         "lock": "checksum as at the first download",
         "first use": "no checksum is published: recorded for next time"}  # fmt: skip


@dataclass(frozen=True, kw_only=True, repr=False)
class FetchAnswer(Answer):
    """A file in the cache, and how its checksum is known.

    Parameters
    ----------
    what : str
        Which log.
    file : Fetched
        Its path, sum and format.
    """

    schema: ClassVar[str] = "rheostat.fetch/1"
    what: str
    file: Fetched

    def report(self) -> Report:
        """Nothing but the text."""
        return Report("", [])

    def facts(self) -> dict[str, Any]:
        """Where the file is, and where it came from."""
        got = self.file
        return {"what": self.what, "path": str(got.path), "url": got.url, "sha256": got.sha256,
                "checked": got.checked, "format": got.format}  # fmt: skip

    def text(self) -> str:
        """The path."""
        return f"{self.file.path}\n"


@question
def fetch(what: str, *, base_url: str = "", cache: Path | str | None = None) -> FetchAnswer:
    """Download a public log with checksum and resume.

    Parameters
    ----------
    what : str
        pm100, adastra, fdata:YY_MM or swf:NAME.
    base_url : str
        Another server of the same layout.
    cache : path, optional
        Folder instead of the user's cache.

    Returns
    -------
    FetchAnswer
        With ``file.path``.

    Raises
    ------
    FetchError
        The server refuses, the connection stays cut, or the checksum differs.
    """
    with listener.received() as progress:
        got = get(what, base_url=base_url or None, cache=cache, progress=progress)
    listener.line(f"{got.format}, sha256 {got.sha256[:16]}..., {KNOWN[got.checked]}")
    return FetchAnswer(what=what, file=got)
