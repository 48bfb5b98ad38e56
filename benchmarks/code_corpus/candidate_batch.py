"""A batch of candidates that somebody wrote without having seen the checks: files and one list.

    [[candidates]]
    original = "dot.c"          # a source file or a manifest
    candidate = "dot_1.c"
    kind = "honest mistake"     # right, honest mistake, rare input or evasion
    why = "two critical sections of different names"

Paths are relative to the list.  What is right is written down before anything is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import read_toml
from rheostat.errors import DataError
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.manifest import load_pair
from rheostat.measurement.code.programs.program import Program

RIGHT = "right"
KINDS = (RIGHT, "honest mistake", "rare input", "evasion")
KEYS = ("original", "candidate", "kind", "why")


@dataclass(frozen=True)
class BatchCase:
    """A candidate with what is known of it: ``kind`` is one of `KINDS`, ``why`` says what is wrong.

    ``path`` is that of the original, which candidates share.
    """

    name: str
    path: Path
    kind: str
    why: str
    original: Program
    candidate: Program
    tolerance: Tolerance

    @property
    def is_right(self) -> bool:
        """Whether it has to be accepted."""
        return self.kind == RIGHT


def read_batch(path: str | Path) -> list[BatchCase]:
    """Candidates of a batch, read as `code verify` reads its two files.

    Parameters
    ----------
    path : str or Path
        A TOML file with ``[[candidates]]``.

    Returns
    -------
    list of BatchCase
        In the order of the file.

    Raises
    ------
    DataError
        With all problems of the list at once, or the problem of a file.
    """
    path = Path(path)
    entries = read_toml(path).get("candidates")
    if not isinstance(entries, list) or not entries:
        raise DataError(str(path), ["expected [[candidates]] with original, candidate, kind, why"])
    problems = [p for i, entry in enumerate(entries, 1) for p in _problems(entry, i)]
    if problems:
        raise DataError(str(path), problems)
    return [_case(path.parent, entry) for entry in entries]


def _problems(entry: Any, number: int) -> list[str]:
    where = f"candidate {number}"
    if not isinstance(entry, dict):
        return [f"{where}: expected a table, got {entry!r:.40}"]
    problems = [f"{where}: unknown key {k!r}; known: {', '.join(KEYS)}"
                for k in entry if k not in KEYS]  # fmt: skip
    problems += [f"{where}: expected a text {k}, got {entry.get(k)!r:.40}"
                 for k in KEYS[:3] if not isinstance(entry.get(k), str)]  # fmt: skip
    if entry.get("kind") not in KINDS:
        problems.append(
            f"{where}: kind: expected {', '.join(KINDS)}, got {entry.get('kind')!r:.40}"
        )
    return problems


def _case(folder: Path, entry: dict[str, Any]) -> BatchCase:
    path = folder / entry["original"]
    original, candidate, tolerance = load_pair(path, folder / entry["candidate"])
    return BatchCase(entry["candidate"], path, entry["kind"], str(entry.get("why", "")), original,
                     candidate, tolerance)  # fmt: skip
