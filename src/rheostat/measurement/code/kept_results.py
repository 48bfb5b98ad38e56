"""What builds and runs of an original gave, kept for its next candidate by what went into them.

Kept is what only the original decides: its builds, its outputs on an input, its marks.  The name
of each result holds the files, the command, the input, the compilers, this machine and this
package's own text, so that nothing is taken for what it is not.  Runs of candidates are never
kept, nor those that are timed.  The folder is this user's alone and no sandbox sees it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from rheostat.core.storage.private_folder import private_folder
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import give_away
from rheostat.measurement.code.toolchain import PACKAGES, tool

MOST_ORIGINALS = 32
"""Of which results are kept; those that were not used for the longest time go first."""
MOST_OURS = 512
"""Results of this package's own programs."""
MOST_B = 2**26
"""Of the files of one result."""
RESULT, FILES = "run.json", "files"


@dataclass
class KeptResults:
    """Results for one original, or of this package's own programs.

    Without a folder every one is made anew.
    ``reused`` and ``made`` count them; ``asked`` how often each was asked for: a second run of the
    same is another result.
    """

    folder: Path | None = None
    why_not: str = ""
    reused: int = 0
    made: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, original: Program, sandbox: str) -> KeptResults:
        """Those of an original in this user's cache, if nobody else can write there."""
        return cls._at((sorted(original.files.items()), original.language, original.build,
                        original.run, original.flags, sandbox))  # fmt: skip

    @classmethod
    def ours(cls, sandbox: str) -> KeptResults:
        """Those of programs that are this package's own: what it loads before others, empty ones.

        More than `MOST_OURS`, as by many flags, are forgotten together.
        """
        kept = cls._at(("this package's own", sandbox))
        if kept.folder and sum(1 for _ in kept.folder.iterdir()) > MOST_OURS:
            shutil.rmtree(kept.folder, ignore_errors=True)
            return cls._at(("this package's own", sandbox))
        return kept

    @classmethod
    def _at(cls, what: tuple[object, ...]) -> KeptResults:
        """Those whose folder's name says what they are of, and what made them."""
        try:
            place = private_folder(user_cache_path("rheostat") / "code" / _digest((*what, tools())))
            os.utime(place)
        except OSError as error:
            return cls(why_not=str(error))
        _pruned(place.parent)
        return cls(place)

    def result(
        self, what: object, made: Callable[[], SandboxRun], left: Path | None = None
    ) -> SandboxRun:
        """What ``made`` gives, or gave when the same was asked for as often before.

        Parameters
        ----------
        what : object
            Everything the result hangs on, but for what lies in ``left``; its repr is its name.
        made : callable
            Makes it; what was stopped by a limit is not kept.
        left : Path, optional
            A folder that it writes to: its files are part of the result.
        """
        if self.folder is None:
            return made()
        name = _digest((what, _content(left)))
        self.asked[name] += 1
        place = self.folder / f"{name}.{self.asked[name]}"
        known = _read(place, left)
        if known is not None:
            self.reused += 1
            return known
        self.made += 1
        run = made()
        if not run.stopped:
            with suppress(OSError):  # a full disk keeps nobody from a verdict
                _write(place, run, left)
        return run

    @property
    def words(self) -> str:
        """What the verdict says of it; empty where nothing is to be said."""
        if self.why_not:
            return f"results of the original are not kept: {self.why_not}"
        if not self.reused:
            return ""
        return (f"{self.reused} of {self.reused + self.made} builds and runs of the original are "
                "from an earlier verdict on the same text, flags, inputs and tools")  # fmt: skip


OWN = (".py", ".c", ".h", ".cl")


@cache
def tools() -> str:
    """Compilers, libraries, processor and this package's text, as one name."""
    paths = [*(tool(name) for name in PACKAGES), "/etc/ld.so.cache"]
    own = sorted(p for p in Path(__file__).parent.rglob("*") if p.suffix in OWN)
    cpu = Path("/proc/cpuinfo")
    flags = [x for x in cpu.read_text().splitlines() if x.startswith(("model name", "flags"))][:2]
    said = [_stat(p) for p in paths], [p.read_bytes() for p in own], tuple(os.uname())[2:], flags
    return _digest(said)


def _stat(path: str) -> tuple[object, ...]:
    real = os.path.realpath(path)
    with suppress(OSError):
        known = os.stat(real)
        return real, known.st_size, known.st_mtime_ns
    return real, None


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _files(folder: Path) -> Iterator[Path]:
    return (p for p in sorted(folder.rglob("*")) if p.is_file())


def _content(folder: Path | None) -> list[tuple[str, str]]:
    """Names of a folder's files and what is in them."""
    if folder is None:
        return []
    return [(str(p.relative_to(folder)), hashlib.sha256(p.read_bytes()).hexdigest())
            for p in _files(folder) if not p.is_symlink()]  # fmt: skip


def _read(place: Path, left: Path | None) -> SandboxRun | None:
    """A result with its files put where they belong; None where there is none that is whole."""
    try:
        run = SandboxRun(**json.loads((place / RESULT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if left is not None:
        shutil.copytree(place / FILES, left, dirs_exist_ok=True)
        for path in left.rglob("*"):
            give_away(path)
    return run


def _write(place: Path, run: SandboxRun, left: Path | None) -> None:
    """Keep a result whole or not at all; none whose files are links or much."""
    every = [] if left is None else list(left.rglob("*"))
    plain = all(not p.is_symlink() and (p.is_file() or p.is_dir()) for p in every)
    if not plain or sum(p.stat().st_size for p in every) > MOST_B:
        return
    draft = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        if left is not None:
            shutil.copytree(left, draft / FILES)
        (draft / RESULT).write_text(json.dumps(asdict(run)), encoding="utf-8")
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _pruned(folder: Path) -> None:
    """Remove what was not used for the longest time."""
    with suppress(OSError):  # another process may do the same
        places = sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime)
        for place in places[: -MOST_ORIGINALS or None]:
            shutil.rmtree(place, ignore_errors=True)
