"""`Machine`: what exists.  Its size, and the watts of a processor idle and busy where known."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rheostat.errors import DataError


@dataclass(frozen=True)
class Machine:
    """``procs`` processors that any job may use; watts are those of one processor, NaN unknown.

    >>> Machine.load("128").procs
    128
    >>> Machine(0)
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: machine: procs: expected a whole number above 0, got 0
    """

    procs: int
    name: str = ""
    idle_w: float = float("nan")
    busy_w: float = float("nan")

    def __post_init__(self) -> None:
        problems = []
        if isinstance(self.procs, bool) or not isinstance(self.procs, int) or self.procs < 1:
            problems.append(f"procs: expected a whole number above 0, got {self.procs!r}")
        problems += [
            f"{name}: expected watts of at least 0, got {getattr(self, name)!r}"
            for name in ("idle_w", "busy_w")
            if not isinstance(getattr(self, name), (int, float)) or getattr(self, name) < 0
        ]
        if problems:
            raise DataError("machine", problems)

    @classmethod
    def load(cls, source: str | Path) -> Machine:
        """A number of processors, or a TOML file with this class's fields."""
        if str(source).isdigit():
            return cls(int(str(source)))
        path = Path(source)
        if not path.is_file():
            raise DataError(
                f"machine {source}", ["expected a number of processors or a TOML file, found none"]
            )
        try:
            return cls.from_mapping(tomllib.loads(path.read_text(encoding="utf-8")), str(source))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DataError(f"machine {source}", [f"not TOML: {error}"]) from error

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any], source: str = "machine") -> Machine:
        """From plain values; every name that is not a field is told."""
        known = [f.name for f in fields(cls)]
        odd = [k for k in facts if k not in known]
        if odd or "procs" not in facts:
            problems = [f"{k} is not known; known: {', '.join(known)}" for k in odd]
            problems += ["procs is missing"] if "procs" not in facts else []
            raise DataError(source, problems)
        return cls(**facts)
