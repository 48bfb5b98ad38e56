"""Files beside the modules here: runtimes that are built into programs, headers, small kernels."""

from __future__ import annotations

import re
from importlib.resources import files

INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def bundled(*path: str) -> str:
    """Text of a file in this folder.

    >>> bundled("runtimes", "lock_sets.c")[:2]
    '/*'
    """
    return files("rheostat.measurement.code").joinpath(*path).read_text(encoding="utf-8")


def with_included(name: str) -> dict[str, str]:
    """A runtime's text by its name, and those of the files beside it that it includes.

    >>> sorted(with_included("lock_sets.c"))
    ['late_stores.h', 'lock_sets.c']
    """
    text = bundled("runtimes", name)
    parts = (with_included(part) for part in INCLUDED.findall(text))
    return {name: text} | {file: t for part in parts for file, t in part.items()}
