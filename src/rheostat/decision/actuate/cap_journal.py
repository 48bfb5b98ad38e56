"""What was there before: a line on disk before every change, so that kill -9 loses nothing.

The journal is a file of JSON lines.  A line is written and synced before the cap it names is
changed; a line cut short by a kill therefore names a cap that was not changed yet.  The first line
of an address is what stood there when rheostat first touched it, and that is what is restored.
Every line carries a checksum: one that is damaged is told and left out, the others count.
"""

from __future__ import annotations

import errno
import json
import math
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import named_errors, ordinary_file, parse_json
from rheostat.errors import DataError

SCHEMA = "rheostat.journal/2"
_HEAD = json.dumps({"schema": SCHEMA})


@dataclass(frozen=True)
class CapEntry:
    """At ``place`` stood ``before_w``; ``to_w`` was to be written next."""

    place: str
    before_w: float
    to_w: float

    def line(self) -> str:
        """As a line of a journal.

        >>> CapEntry.of(CapEntry("n1|gpu_cap_w|gpu0", 250.0, 200.0).line()).before_w
        250.0
        """
        values = [self.place, float(self.before_w), float(self.to_w)]
        return json.dumps([*values, zlib.crc32(json.dumps(values).encode())])

    @classmethod
    def of(cls, line: str) -> CapEntry:
        """From a line of a journal; a `ValueError` says what is wrong with it."""
        match parse_json(line):
            case [str(place), float(before), float(to), int(check)]:
                if check != zlib.crc32(json.dumps([place, before, to]).encode()):
                    raise ValueError("is not what was written: its checksum differs")
                if place.count("|") < 2 or not (math.isfinite(before) and math.isfinite(to)):
                    raise ValueError("expected node|knob|address and watts")
                return cls(place, before, to)
        raise ValueError("expected [place, before, to, checksum]")


class CapJournal:
    """A journal file; opened for each line, so nothing is held in memory that a kill could lose."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def check(self) -> None:
        """Raise unless a journal can begin at this path or go on: asked before a cap is changed.

        Raises
        ------
        DataError
            The file is no journal, or has damaged lines, from which nothing could be restored.
        OSError
            No file can be made there.
        """
        try:
            self.path.lstat()
        except FileNotFoundError:
            folder = next(p for p in self.path.absolute().parents if p.exists())
            if not os.access(folder, os.W_OK):
                raise PermissionError(
                    errno.EACCES, os.strerror(errno.EACCES), str(folder)
                ) from None
            return
        begun = ordinary_file(self.path, new=True).read_bytes()[: len(_HEAD) + 1]
        if not f"{_HEAD}\n".encode().startswith(begun):
            raise other_kind(self.path, "a journal of caps")
        if problems := self.entries()[1]:
            hint = "restore from it first (rheostat budget restore), or name another file"
            raise DataError(str(self.path), [*problems, hint])

    def write(self, entry: CapEntry) -> None:
        """Append and sync one line; the first also writes the header and syncs the folder."""
        new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not new:
            self._mend()
        with named_errors(self.path), self.path.open("a", encoding="utf-8") as file:
            if new:
                file.write(_HEAD + "\n")
            file.write(entry.line() + "\n")
            file.flush()
            os.fsync(file.fileno())
        if new:
            _sync_folder(self.path.parent)

    def _mend(self) -> None:
        """Cut off a line that a kill left unfinished."""
        with self.path.open("rb+") as file:
            whole = file.read()
            end = whole.rfind(b"\n") + 1
            if end < len(whole):
                file.truncate(end)

    def entries(self) -> tuple[list[CapEntry], list[str]]:
        """Whole lines, and what is wrong with the damaged ones; a torn last line is neither."""
        if not self.path.exists():
            raise DataError(str(self.path), ["there is no journal here: nothing to restore"])
        empty = self.path.is_file() and not self.path.stat().st_size  # killed before the first line
        content = b"" if empty else ordinary_file(self.path).read_bytes()
        lines = content.split(b"\n")[:-1]
        valid, problems = [], []
        for number, line in enumerate(lines, 1):
            if line == _HEAD.encode():
                continue
            try:
                valid.append(CapEntry.of(line.decode("utf-8")))
            except ValueError as error:
                problems.append(f"line {number}: {error}"[:200])
        if not valid and not _HEAD.encode().startswith(content[: len(_HEAD)]):
            raise other_kind(self.path, "a journal of caps")
        return valid, problems

    def close(self) -> Path:
        """Everything is restored: keep the journal under a name that says so."""
        kept = self.path.with_name(self.path.name + ".restored")
        os.replace(self.path, kept)
        _sync_folder(self.path.parent)
        return kept


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
