"""What was there before: a line on disk before every change, so that kill -9 loses nothing.

The journal is a file of JSON lines.  A line is written and synced before the cap it names is
changed; a line cut short by a kill therefore names a cap that was not changed yet.  The first line
of an address is what stood there when rheostat first touched it, and that is what is restored.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from rheostat.errors import DataError

SCHEMA = "rheostat.journal/1"


@dataclass(frozen=True)
class Entry:
    """At ``place`` stood ``before_w``; ``to_w`` was to be written next."""

    place: str
    before_w: float
    to_w: float


class Journal:
    """A journal file; opened for each line, so nothing is held in memory that a kill could lose."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def write(self, entry: Entry) -> None:
        """Append and sync one line; the first also writes the header and syncs the folder."""
        new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not new:
            self._mend()
        with self.path.open("a", encoding="utf-8") as file:
            if new:
                file.write(json.dumps({"schema": SCHEMA}) + "\n")
            file.write(json.dumps([entry.place, entry.before_w, entry.to_w]) + "\n")
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

    def entries(self) -> list[Entry]:
        """All whole lines; a damaged one in the middle is a `DataError`, a torn last one is not."""
        if not self.path.is_file():
            raise DataError(str(self.path), ["there is no journal here: nothing to restore"])
        lines = self.path.read_text(encoding="utf-8").split("\n")
        found, problems = [], []
        for number, line in enumerate(lines[:-1], 1):
            try:
                given = json.loads(line)
                if number == 1 and isinstance(given, dict) and given.get("schema") == SCHEMA:
                    continue
                place, before, to = given
                found.append(Entry(str(place), float(before), float(to)))
            except (ValueError, TypeError):
                problems.append(f"line {number}: expected [place, before, to], got {line[:60]!r}")
        if problems:
            raise DataError(str(self.path), problems)
        return found

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
