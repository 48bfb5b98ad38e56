"""What tests of readers share: a text in a file, and all problems of an error, word by word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheostat.errors import DataError


def written(path: Path, text: str) -> Path:
    """The path, with this text in it."""
    path.write_text(text)
    return path


def refused(call: Callable[..., Any], *problems: str) -> None:
    """The call raises a `DataError` with exactly these problems."""
    with pytest.raises(DataError) as error:
        call()
    assert list(error.value.problems) == list(problems)
