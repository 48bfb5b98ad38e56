"""A model that came from a file and fails where a sound one answers: the file is named, not a line.

The contents of a file are checked when it is read, but that its parts fit together shows where they
meet: an array that is a row short, a category without a number.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rheostat.errors import ModelFileError, RheostatError

F = TypeVar("F", bound=Callable[..., Any])
_SOURCES: dict[int, tuple[weakref.ref[Any], str]] = {}
"""File of each model that came from one, by its identity; gone when the model is."""


def remember(model: Any, path: str | Path) -> None:
    """Keep the file that a model came from, for as long as there is the model."""
    key = id(model)
    _SOURCES[key] = weakref.ref(model, lambda _: _SOURCES.pop(key, None)), str(path)


def blames_its_file(method: F) -> F:
    """A method of a model: what it stumbles over is a `ModelFileError` if a file made the model.

    Errors on purpose pass, and so does every error of a model that was fitted here.
    """

    @functools.wraps(method)
    def asked_of_file(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except Exception as error:
            kept, path = _SOURCES.get(id(self), (None, ""))
            ours = isinstance(error, (RheostatError, OSError))
            if (
                kept is None
                or kept() is not self
                or (ours and not isinstance(error, ModelFileError))
            ):
                raise
            problem = f"cannot answer ({error!r:.300}): its contents do not fit together"
            raise ModelFileError(path, [problem, "make the model anew"]) from error

    return asked_of_file  # type: ignore[return-value]
