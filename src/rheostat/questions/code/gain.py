"""What a variant has to gain to be taken; what does not is not verified to the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rheostat.measurement.code.ladder import Gain
from rheostat.measurement.code.verdict import Evidence
from rheostat.questions.code.variant_store import figures_of, gains, is_less, relative

MEASURED_BY = {"runtime_s": ("time",), "energy_j": ("time", "energy")}
"""The rungs that tell whether a variant gains."""
NOT_LESS = "it gains nothing on the original, so that it would not be taken"
NOT_BEST = (
    "it is not ahead of what is accepted by more than the noise, so that it would not be taken"
)


def gain_on(best: dict[str, Any] | None, objective: str) -> Gain:
    """What a variant has to gain: on the original, and on the best that is accepted.

    Parameters
    ----------
    best : dict or None
        Figures of that one, as a row.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    Gain
        For a verifier.
    """

    def why_none(evidence: Sequence[Evidence]) -> str:
        row = {"figures": figures_of({"rungs": [asdict(e) for e in evidence]})}
        if not gains(row, objective):
            return NOT_LESS
        return "" if best is None or is_less(row, best, objective) else NOT_BEST

    return Gain(MEASURED_BY[objective], why_none)


def to_beat(best: dict[str, Any] | None, objective: str) -> float:
    """Share of the original's time above which a variant is of no use; none where energy counts.

    >>> to_beat(None, "runtime_s"), to_beat(None, "energy_j")
    (1.0, inf)
    """
    if objective != "runtime_s":
        return math.inf
    return 1.0 if best is None else relative(best, objective)
