"""What is served: the files that whoever starts the service names, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServedFiles:
    """Files behind every answer.

    Parameters
    ----------
    log : Path
        A job log, or a folder that holds one.
    model : Path or None
        A saved model; without one questions learn from the log.
    machine : str
        Processors or a TOML file, as `Machine.load` takes; empty: as the log tells.
    knobs : tuple of str
        What may be turned.
    format : str
        Of the log; empty: guessed.
    """

    log: Path
    model: Path | None = None
    machine: str = ""
    knobs: tuple[str, ...] = ()
    format: str = ""

    def version(self) -> str:
        """A text that changes with any of the files."""
        files = [self.log, *([self.model] if self.model else [])]
        if self.machine and Path(self.machine).is_file():
            files.append(Path(self.machine))
        return ";".join(map(_stamp, files))


def _stamp(path: Path) -> str:
    """Inode, size and time of a file; of a folder those of the newest file in it."""
    if path.is_dir():
        inside = [p.stat() for p in path.rglob("*") if p.is_file()]
        if not inside:
            return "empty"
        return (
            f"{len(inside)}.{max(s.st_mtime_ns for s in inside)}.{sum(s.st_size for s in inside)}"
        )
    try:
        seen = path.stat()
    except OSError:
        return "gone"
    return f"{seen.st_ino}.{seen.st_size}.{seen.st_mtime_ns}"
