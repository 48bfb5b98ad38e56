"""Where do the numbers of a trace wait that does not fit in memory?

On disk, coded once, in chunks of plain ``.npy`` files that are read one at a time.  Boosters pass
over the rows several times (to find bins, then to fill them), and reading chunks of numbers is much
cheaper than reading and coding the trace again.  A finished spool carries a key of what it was made
from, so that an interrupted fit finds it and goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheostat.core.storage.files import replace_file
from rheostat.prediction.out_of_core.binning import Codes
from rheostat.prediction.out_of_core.category_counts import with_folds
from rheostat.prediction.out_of_core.coding import Coding
from rheostat.prediction.out_of_core.memory_plan import Matrix, MemoryPlan, log_targets
from rheostat.prediction.out_of_core.partitions import Part, Progress, silent

MANIFEST = "spool.json"


@dataclass(frozen=True)
class Spool:
    """Chunks of (matrix, log targets) in ``folder``; ``sizes`` are their rows."""

    folder: Path
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self.sizes)

    def matrix(self, chunk: int) -> Codes:
        """(rows of the chunk, k)."""
        loaded: Codes = np.load(self.folder / f"{chunk:06d}.x.npy", allow_pickle=False)
        return loaded

    def matrices(self) -> Iterator[Codes]:
        """Chunk after chunk."""
        return (self.matrix(i) for i in range(len(self.sizes)))

    def targets(self) -> Matrix:
        """(rows, t) of all chunks: four bytes per row and target, held in memory."""
        chunks = range(len(self.sizes))
        files = (self.folder / f"{i:06d}.y.npy" for i in chunks)
        return np.concatenate([np.load(f, allow_pickle=False) for f in files])


def key_of(plan: MemoryPlan, parts: Sequence[Part], *others: object) -> str:
    """A digest of what a spool or fit is made from: files (size, change time), rows, columns."""
    facts = [_facts(plan, p) for p in parts]
    text = json.dumps([facts, repr(plan), [repr(o) for o in others]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _facts(plan: MemoryPlan, part: Part) -> list[object]:
    if part.table is not None:
        rows = part.table.frame.select(plan.columns).hash_rows(0)
        return [int(rows.sum() or 0), len(rows), part.start, part.stop]
    stat = os.stat(part.path)
    return [os.path.abspath(part.path), stat.st_size, stat.st_mtime_ns, part.start, part.stop]


def find_spool(folder: Path, key: str) -> Spool | None:
    """The finished spool in ``folder`` if it was made from the same data."""
    try:
        facts = json.loads((folder / MANIFEST).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Spool(folder, tuple(facts["sizes"])) if facts.get("key") == key else None


def write_spool(
    folder: Path, key: str, coding: Coding, parts: Sequence[Part], progress: Progress = silent
) -> Spool:
    """Code every row of ``parts`` to ``folder``; the manifest comes last, when all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes: list[int] = []
    for done, part in enumerate(parts):
        progress("code", done, len(parts))
        for x, y in coded(coding, part):
            _save(folder / f"{len(sizes):06d}.x.npy", x)
            _save(folder / f"{len(sizes):06d}.y.npy", y)
            sizes.append(len(x))
    progress("code", len(parts), len(parts))
    replace_file(folder / MANIFEST, json.dumps({"key": key, "sizes": sizes}).encode())
    return Spool(folder, tuple(sizes))


def coded(coding: Coding, part: Part) -> Iterator[tuple[Codes, Matrix]]:
    """Codes and log targets of the training rows of a part, batch by batch."""
    for batch, fold in with_folds(part.batches(coding.plan.columns)):
        yield coding.matrix(batch, fold), log_targets(coding.plan, batch)


def _save(path: Path, values: Codes | Matrix) -> None:
    np.save(path, values, allow_pickle=False)
