"""Code of a user that is run: whose line is it, and what it takes for its command line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIBRARIES = ("site-packages", "<frozen", str(Path(__file__).parents[2]))

VALUES_NEEDED = ("DynamicOutputShapeException", "DataDependentOutputException",
                 "GuardOnDataDependentSymNode")  # fmt: skip
"""Errors of PyTorch where a size or a choice depends on values, which nothing computes here."""


def is_own(file: str) -> bool:
    """Whether a file is the user's, and no library's."""
    return not any(place in file for place in LIBRARIES)


def own_line(error: BaseException) -> str:
    """Where it was raised: the last line of the user's own, of a library where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    at = ([f for f in frames if is_own(f.filename)] or frames)[-1]
    return f"{at.filename}, line {at.lineno}"


@contextmanager
def no_options(file: str) -> Iterator[None]:
    """Code that reads its own command line finds it empty: its defaults hold."""
    before = sys.argv
    sys.argv = [file]
    try:
        yield
    finally:
        sys.argv = before
