"""What OpenCL's library compiled on a program's first run, as each later run finds it.

To compile kernels takes fifteen times as long as to start a program.  The folder is the program's
to write, so it must not carry anything from one run to the next: each run has a copy of what the
first one left, which is then thrown away.  What the first run left may be hostile: links, pipes and
deep trees are not copied, and then nothing is kept.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.sandbox import give_away

MOST_B, MOST_FILES, DEEPEST = 2**26, 2000, 12
"""Of what is kept; PoCL leaves some ten files a kernel, six folders down."""


@dataclass
class KernelCache:
    """Compiled kernels by program.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    """

    folder: Path
    first: dict[str, Path] = field(default_factory=dict)

    @contextmanager
    def of_run(self, program: Program) -> Iterator[Path | None]:
        """A folder for one run, whatever the host was built by; None without OpenCL.

        What is made of a program, as with other data, has the same kernels.
        """
        text = program.made_of or program.text
        kept = self.first.get(text)
        if kept is None and program.language != "opencl":
            yield None
            return
        place = Path(tempfile.mkdtemp(prefix="kernels", dir=self.folder))
        if kept is not None:
            shutil.copytree(kept, place, dirs_exist_ok=True)
        for path in (place, *place.rglob("*")):
            give_away(path)
        try:
            yield place
        finally:
            if kept is None and _is_plain(place):
                self.first[text] = place
            else:
                _remove(place)

    def discard(self, kept: Collection[str]) -> None:
        """Forget all programs but those with one of these texts."""
        for text in set(self.first) - set(kept):
            _remove(self.first.pop(text))


def _is_plain(place: Path) -> bool:
    """Whether there is something, files and folders alone, and no more than a library leaves."""
    listing = ["find", str(place), "-mindepth", "1", "-printf", "%y %d %s\\n"]
    said = subprocess.run(listing, capture_output=True, text=True, check=False)
    rows = [line.split() for line in said.stdout.splitlines()]
    return (
        said.returncode == 0
        and 0 < len(rows) <= MOST_FILES
        and all(kind in "fd" and int(depth) <= DEEPEST for kind, depth, _ in rows)
        and sum(int(size) for _, _, size in rows) <= MOST_B
    )


def _remove(place: Path) -> None:
    """By a program that goes down any depth and follows no link."""
    subprocess.run(["rm", "-rf", "--", str(place)], check=False, capture_output=True)
