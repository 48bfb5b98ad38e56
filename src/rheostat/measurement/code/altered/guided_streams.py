"""The file that runs of a guided search share: streams of draws, and which run had which.

Its layout is that of ``Guided`` in ``runtimes/guided_data.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

NAME = "guided"
DRAWS, STREAMS, RUNS, NAMED = 4096, 1024, 1 << 14, 1024
GROUPS = 8
"""Inputs that take turns; a stream is changed for the input that it was kept of."""
DRAW = np.dtype([("value", "<u8"), ("greatest", "<u8"), ("inert", "<u8")])
HEAD = np.dtype([("streams", "<i4"), ("entries", "<i4"), ("named", "<i4"), ("drew", "<i4"),
                 ("sites", "<i4"), ("rest", "<i4")])  # fmt: skip
STREAM = np.dtype([(n, "<i4") for n in ("from", "count", "group", "shared")])
RECIPE = np.dtype([*((n, "<i4") for n in ("parent", "other", "named", "unchanged")),
                   ("seed", "<u8"), ("apart", "<u8")])  # fmt: skip
FIXED = np.dtype([
    ("head", HEAD), ("stream", STREAM, STREAMS), ("recipe", RECIPE, RUNS), ("name", "<u8", NAMED),
    ("chosen", "<i4", DRAWS), ("now", DRAW, DRAWS),
])  # fmt: skip
"""What is read of it; behind it come what is planned, kept streams and what was seen."""


def only(place: Path, runs: Sequence[int]) -> None:
    """Make these runs the first ones, for a program that shall have their streams alone.

    Parameters
    ----------
    place : Path
        The folder of the file.
    runs : sequence of int
        From 0.
    """
    whole, rest = _read(place)
    recipe = whole["recipe"]
    chosen = recipe[list(runs)]
    recipe[:] = 0
    recipe[: len(chosen)] = chosen
    (place / NAME).write_bytes(whole.tobytes() + rest)


def draws_of(place: Path) -> list[int]:
    """What the last run drew, without numbers of which it keeps a part alone.

    Parameters
    ----------
    place : Path
        The folder of the file.
    """
    whole, _ = _read(place)
    drawn = whole["now"][: int(whole["head"]["drew"])]
    return [int(v) for v in drawn["value"][drawn["inert"] == 0]]


def _read(place: Path) -> tuple[np.ndarray, bytes]:
    data = (place / NAME).read_bytes()
    return np.frombuffer(data[: FIXED.itemsize], FIXED).copy()[0], data[FIXED.itemsize :]
