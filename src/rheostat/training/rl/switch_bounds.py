"""What numbers a switch of an agent may have: a problem in words for each that is beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_WIDTH = 10_000
"""Of a layer, and of the window: two such layers have 10^8 weights."""
STEP_SIZES = (1e-12, 1e3)
"""Of Adam."""
MOST = 1_000_000
"""Of whatever else is counted."""


def whole(values: Mapping[str, Any], most: int) -> list[str]:
    """Problems of counts.

    >>> whole({"window": 32, "parts": 2.5, "episodes": 10**9}, 10_000)
    ['parts: expected a whole number from 1 to 10,000, got 2.5', \
'episodes: expected a whole number from 1 to 10,000, got 1000000000']
    """
    return [
        f"{name}: expected a whole number from 1 to {most:,}, got {value!r:.40}"
        for name, value in values.items()
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most
    ]


def real(values: Mapping[str, Any], least: float, most: float) -> list[str]:
    """Problems of numbers with a fraction; NaN and infinity are beyond any bound.

    >>> real({"gamma": 0.9, "explore": float("nan"), "lr": "fast"}, 0, 1)
    ['explore: expected a number from 0 to 1, got nan', \
"lr: expected a number from 0 to 1, got 'fast'"]
    """
    return [
        f"{name}: expected a number from {least:g} to {most:g}, got {value!r:.40}"
        for name, value in values.items()
        if not isinstance(value, (int, float)) or not least <= value <= most
    ]


def widths(hidden: Any) -> list[str]:
    """Problems of the widths of two layers.

    >>> widths((64, 32)), widths(64)
    ([], ['hidden: expected two widths, got 64'])
    """
    if not isinstance(hidden, tuple) or len(hidden) != 2:
        return [f"hidden: expected two widths, got {hidden!r:.40}"]
    return whole({f"hidden[{i}]": width for i, width in enumerate(hidden)}, MOST_WIDTH)
