"""Files beside the modules here: runtimes that are built into programs, headers, small kernels."""

from __future__ import annotations

from importlib.resources import files


def bundled(*path: str) -> str:
    """Text of a file in this folder.

    >>> bundled("runtimes", "lock_sets.c")[:2]
    '/*'
    """
    return files("rheostat.measurement.code").joinpath(*path).read_text(encoding="utf-8")
