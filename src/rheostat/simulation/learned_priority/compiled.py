"""Compiled code of this folder, kept on disk under a name that changes with it and the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rheostat.simulation.engine import jit


def _folder() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]
    return str(Path(jit.FOLDER) / f"rank-{digest}")


FOLDER = _folder()


def native(function: Callable[..., Any], how: Callable[..., Any] = jit.compiled) -> Any:
    """As `rheostat.simulation.engine.jit.compiled`, but a change here leaves the engine's alone."""
    before = jit.FOLDER
    jit.FOLDER = FOLDER
    try:
        return how(function)
    finally:
        jit.FOLDER = before


def lent(function: Callable[..., Any]) -> Any:
    """As `rheostat.simulation.engine.jit.borrowed`: for functions that make and return no array."""
    return native(function, jit.borrowed)
