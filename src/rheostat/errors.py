"""One tree of errors; each says what was expected, what came and what to do, and carries data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheostat._extras import install_command

LONGEST, MOST = 1000, 20
"""Letters of one problem and number of problems that a message spells out; the error has all."""


class RheostatError(Exception):
    """The root: catch this to catch everything this library raises on purpose."""


class DataError(RheostatError):
    """A table or file is not what it should be; ``problems`` lists everything found at once.

    >>> raise DataError("jobs.csv", ["column runtime_s is missing", "row 3: nodes is -1"])
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: jobs.csv: column runtime_s is missing; row 3: nodes is -1
    """

    def __init__(self, where: str, problems: Sequence[str] = ()) -> None:
        self.where = where
        self.problems = tuple(problems)
        said = [p if len(p) <= LONGEST else f"{p[:LONGEST]} ..." for p in self.problems[:MOST]]
        if len(self.problems) > MOST:
            said.append(f"and {len(self.problems) - MOST} more")
        super().__init__(f"{where}: {'; '.join(said)}" if said else where)


class QuestionError(DataError):
    """What was asked is incomplete or contradicts itself, whatever the table holds."""


class LeakError(DataError):
    """A model asked at one moment was handed columns that become known later."""

    def __init__(self, asked_at: str, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        super().__init__(
            f"a model asked at {asked_at} may not see later-known columns",
            [f"{c} is known later" for c in self.columns]
            + ["drop them with jobs.known_at(...) or name only earlier columns in features="],
        )


class NotFitted(RheostatError):
    """``predict`` was called before ``fit``."""

    def __init__(self, thing: object) -> None:
        super().__init__(f"{type(thing).__name__} is not fitted: call .fit(jobs) first")


class Infeasible(RheostatError):
    """No setting meets the constraints; ``nearest`` is the row that misses them least.

    ``answer`` is what a question could answer nevertheless: the settings without a choice.
    """

    def __init__(self, message: str, nearest: int, answer: Any = None) -> None:
        self.nearest, self.answer = nearest, answer
        super().__init__(message)


class MissingExtra(RheostatError, ImportError):
    """An optional library is not installed; the message is the command that installs it."""

    def __init__(self, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{module} is not installed: {install_command(extra)}")


class MeterUnavailable(RheostatError):
    """A meter cannot measure on this machine; the message says why and what would help."""


class FileKindError(DataError):
    """A file is of another kind than was expected; the message names both kinds."""


class ModelFileError(FileKindError):
    """A saved model is damaged, foreign, or of a version that this release does not read."""


class CommandError(RheostatError):
    """A program cannot be started; ``status`` is what a shell says then, 126 or 127."""

    def __init__(self, program: str, cause: OSError) -> None:
        self.status = 127 if isinstance(cause, FileNotFoundError) else 126
        super().__init__(f"{program}: {cause.strerror}")


class FetchError(RheostatError):
    """A download failed; what was received so far is kept and resumed next time."""


class NotPermitted(RheostatError):
    """Caps cannot be set here; nothing was changed.  ``problems`` lists every reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("caps cannot be set: " + "; ".join(self.problems))
