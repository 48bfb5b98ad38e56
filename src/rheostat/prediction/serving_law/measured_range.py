"""Which configurations measurements say nothing of: the law does not answer for them.

Within a factor of what was measured the law's physics carries; a type of GPU that was never
measured has a host, kernels and a draw of its own.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import Note
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.serving_law.configurations import Configurations

Rows = NDArray[np.bool_]

REACH = {"batch": 2.0, "gpus": 2.0, "pp": 2.0, "params": 4.0, "active": 4.0, "prompt": 4.0,
         "output": 4.0}  # fmt: skip
"""Multiples of the largest and parts of the smallest measured number that are still answered."""
WORDS = {
    "batch": "batch cap", "gpus": "number of GPUs", "pp": "pipeline stages",
    "params": "parameters of the model", "active": "active parameters", "prompt": "prompt length",
    "output": "length of an answer",
}  # fmt: skip


def outside(
    seen: Configurations, asked: Configurations, known_gpus: Collection[str] = ()
) -> tuple[Rows, tuple[Note, ...]]:
    """Rows of ``asked`` without an answer, (m,), and a note for each reason.

    Parameters
    ----------
    seen
        What was measured; where that is nothing, the prior answers for everything.
    asked
        m configurations.
    known_gpus
        Further types of GPU that something is known of.
    """
    if not len(seen):
        return np.zeros(len(asked), dtype=bool), ()
    gpus = sorted({*seen.gpu.tolist(), *known_gpus})
    kinds = {accelerator(g) for g in gpus}
    never = np.array([accelerator(g) not in kinds for g in asked.gpu.tolist()], dtype=bool)
    said = (
        f"GPU type never measured (measured: {', '.join(gpus)}; --kernels with times of it helps)"
    )
    reasons: dict[str, Rows] = {said: never}
    for name, reach in REACH.items():
        numbers = getattr(seen, name)[np.isfinite(getattr(seen, name))]
        if len(numbers):
            low, high = float(numbers.min()), float(numbers.max())
            value = getattr(asked, name)
            said = f"{WORDS[name]} beyond {reach:g} times what was measured ({low:g} to {high:g})"
            reasons[said] = (value < low / reach) | (value > high * reach)
    notes = [
        Note(f"not answered: {said}", tuple(np.flatnonzero(rows)[:20].tolist()), int(rows.sum()))
        for said, rows in reasons.items()
        if rows.any()
    ]
    return np.any(list(reasons.values()), axis=0), tuple(notes)
