"""`fetch`: download a public job log once, check it, and keep it in the user's cache.

A checksum comes from the first of: the lock file in the cache (what was trusted before), the
record page of the archive (Zenodo lists MD5 sums), nothing.  In the last case its SHA-256 is
written to the lock file: trust on first use, and said so.  Whatever is known of it, the file is of
the format that it claims to be, and is there to its end.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import read_json, replace_file
from rheostat.errors import DataError, FetchError
from rheostat.measurement.fetch.resume import Progress, Resuming
from rheostat.measurement.fetch.sources import ArchiveSource, locate
from rheostat.measurement.fetch.whole import why_not_whole
from rheostat.measurement.read import guess_format

LOCK = "fetched.json"


@dataclass(frozen=True)
class Fetched:
    """A file in the cache, where it came from, its sum, and how the sum is known.

    ``checked`` is "archive" (the archive publishes the sum), "lock" (as at the first download) or
    "first use" (nothing to compare with: recorded now).
    """

    path: Path
    url: str
    sha256: str
    checked: str
    format: str


def fetch(
    what: str,
    *,
    base_url: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    attempts: int = 3,
) -> Fetched:
    """Download ``pm100``, ``adastra``, ``fdata:YY_MM`` or ``swf:NAME`` unless it is there already.

    Parameters
    ----------
    what
        Which log.
    base_url
        Another server with the same layout, such as a mirror.
    cache
        Folder; by default the user's cache directory (XDG_CACHE_HOME is honoured).
    progress
        Called with (bytes so far, bytes in all or None).
    attempts
        How often a cut connection is resumed before giving up; what arrived is kept.

    Raises
    ------
    FetchError
        The server refuses, the connection stays cut, the checksum differs, or the file is not what
        it should be.
    """
    source = locate(what, base_url)
    folder = Path(cache) if cache else default_cache()
    folder.mkdir(parents=True, exist_ok=True)
    lock = _load(folder / LOCK)
    known, checked = _known(source, lock)
    part = folder / f"{source.file}.part"
    downloader = Resuming(part, progress or (lambda done, total: None), attempts)
    path = _retrieve(source, folder, known, downloader)
    try:
        _must_be(path, source)
    except FetchError:
        if lock.pop(source.file, None):
            _keep(folder, lock)
        raise
    digest = _sha256(path)
    lock[source.file] = {"url": source.url, "sha256": digest, "bytes": path.stat().st_size}
    _keep(folder, lock)
    return Fetched(path, source.url, digest, checked, source.format)


def default_cache() -> Path:
    """The user's cache directory for rheostat."""
    from platformdirs import user_cache_path

    return Path(user_cache_path("rheostat")) / "data"


def _known(source: ArchiveSource, lock: dict[str, Any]) -> tuple[str | None, str]:
    """(hash for pooch or None, where it is known from)."""
    entry = lock.get(source.file)
    if entry and entry["url"] == source.url:
        return f"sha256:{entry['sha256']}", "lock"
    listed = _listed(source)
    return (listed, "archive") if listed else (None, "first use")


def _listed(source: ArchiveSource) -> str | None:
    """The checksum on the archive's record page, as ``md5:...``; None where there is none."""
    if not source.record:
        return None
    import requests

    try:
        reply = requests.get(source.record, timeout=30)
        reply.raise_for_status()
        files = reply.json().get("files", [])
    except (requests.RequestException, ValueError):
        return None  # the download itself will say what is wrong with the server
    sums = {f.get("key"): f.get("checksum") for f in files if isinstance(f, dict)}
    return sums.get(source.file)


def _retrieve(source: ArchiveSource, folder: Path, known: str | None, downloader: Resuming) -> Path:
    import pooch

    pooch.get_logger().setLevel(logging.ERROR)
    try:
        got = pooch.retrieve(
            source.url, known_hash=known, fname=source.file, path=folder, downloader=downloader
        )
    except ValueError as error:
        raise FetchError(f"{source.url}: wrong checksum, nothing was kept: {error}") from error
    return Path(got)


def _must_be(path: Path, source: ArchiveSource) -> None:
    """The file is whole and of the format it claims; one that is not is removed."""
    try:
        guessed = guess_format(path)
    except DataError as error:
        path.unlink()
        raise FetchError(f"{source.url}: is not a {source.format} file: {error}") from error
    if guessed != source.format:
        path.unlink()
        raise FetchError(f"{source.url}: looks like {guessed}, expected {source.format}")
    if why := why_not_whole(path):
        path.unlink()
        raise FetchError(f"{source.url}: {why}; nothing is kept: run the same command again")


def _keep(folder: Path, lock: dict[str, Any]) -> None:
    replace_file(folder / LOCK, json.dumps(lock, indent=1, sort_keys=True) + "\n")


def _load(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    message = f"{path} is damaged: delete it to trust the files anew"
    try:
        facts = read_json(path)
    except DataError as error:
        raise FetchError(message) from error
    if not isinstance(facts, dict) or any(set(e) < {"url", "sha256"} for e in facts.values()):
        raise FetchError(message)
    return facts


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
