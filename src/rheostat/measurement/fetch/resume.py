"""A downloader for pooch that continues where a cut connection stopped (HTTP Range, RFC 9110).

What has arrived lies in ``NAME.part`` beside the file and survives the process; the next attempt
asks for the rest.  The server's ETag is kept with it, so that pieces of two versions of a file are
never joined.  A server that tells no length may stop anywhere: what came is then read to its end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import named_errors
from rheostat.errors import FetchError
from rheostat.measurement.fetch.whole import why_not_whole

CHUNK = 1 << 20
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Resuming:
    """Called by pooch with (url, output file, pooch); keeps pieces in ``part``."""

    part: Path
    progress: Progress = lambda done, total: None
    attempts: int = 3
    timeout_s: float = 60.0

    def __call__(self, url: str, output_file: str | Path, pooch: Any = None) -> None:
        """Download ``url`` completely to ``output_file`` or raise `FetchError`."""
        import requests
        import urllib3
        from requests.exceptions import InvalidSchema, InvalidURL

        why = ""
        for _ in range(self.attempts):
            try:
                if not (left := self._continue(url)):
                    shutil.move(self.part, output_file)
                    self._tag.unlink(missing_ok=True)
                    return
                why = f": {left}"
            except requests.HTTPError as error:
                code = error.response.status_code if error.response is not None else "an error"
                raise FetchError(f"{url}: the server answered {code}") from error
            except (InvalidSchema, InvalidURL) as error:
                problem = f"{url}: leads to an address that is not asked: {error}"
                raise FetchError(problem) from error
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                why = f": {type(error).__name__}"
        raise FetchError(
            f"{url}: the connection was cut after {self._have:,} bytes{why}; "
            f"they are kept, run the same command again to go on"
        )

    @property
    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    @property
    def _tag(self) -> Path:
        return self.part.with_name(self.part.name + ".etag")

    def _continue(self, url: str) -> str:
        """Get what is missing; why the file is still not complete, or nothing."""
        import requests

        have = self._have
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if self._tag.exists():
                headers["If-Range"] = self._tag.read_text()
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout_s) as reply:
            if reply.status_code == requests.codes.requested_range_not_satisfiable:
                self.part.unlink()  # there is more of it than the server has: another file
                return "the server has less than what came before"
            reply.raise_for_status()
            resumed = reply.status_code == requests.codes.partial_content
            length = reply.headers.get("Content-Length")
            total = int(length) + (have if resumed else 0) if length else None
            if tag := reply.headers.get("ETag"):
                self._tag.write_text(tag)
            self._save(reply, "ab" if resumed else "wb", total)
        if total is None:
            return why_not_whole(self.part)
        return "" if self._have == total else f"{total:,} were promised"

    def _save(self, reply: Any, mode: str, total: int | None) -> None:
        with self.part.open(mode) as file:
            # read1 hands over what has arrived; iter_content loses the last piece of a cut reply
            while piece := reply.raw.read1(CHUNK):
                with named_errors(self.part):
                    file.write(piece)
                self.progress(file.tell(), total)
