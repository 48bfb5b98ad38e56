"""Reports as JSON: one document, no NaN, numpy turned into plain numbers, stable bytes.

JSON has no NaN; a value that is missing is ``null``.  Floats keep nine significant digits, which is
more than any prediction here is worth and hides the last bits in which machines differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from json import dumps
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """``value`` as something `json` writes: missing is None, numbers are Python's.

    >>> plain({"a": np.float64("nan"), "b": (np.int64(2), 0.1 + 0.2)})
    {'a': None, 'b': [2, 0.3]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def document(schema: str, facts: Mapping[str, Any]) -> str:
    """One JSON document with its schema's name first, as text with a final newline."""
    return written({"schema": schema, **plain(facts)})


def written(plain_document: Mapping[str, Any]) -> str:
    """A document of plain values as text with a final newline."""
    return dumps(plain_document, indent=2, allow_nan=False) + "\n"
