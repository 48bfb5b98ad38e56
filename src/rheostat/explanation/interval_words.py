"""In words, what is known of how often the intervals of a law of serving hold."""

from __future__ import annotations

import numpy as np

from rheostat.core.units import plain_name
from rheostat.errors import DataError
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.left_out_models import left_out_models
from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.prediction.serving_law.part_weights import FEWEST

LEAST_HELD = 0.8
"""90 % intervals that hold less of what was left out than this are taken for no limit."""


def interval_words(law: ServingLaw) -> list[str]:
    """A sentence for each quantity; one where too few groups of runs were there to know."""
    evidence = law.evidence_
    if evidence is None:
        return []
    if evidence.groups < FEWEST:
        said = f"how often they hold here is not known from {evidence.groups} groups of runs"
        wide = f"as other tables ask, they are {evidence.width[0]:.2g} times as wide as the law's"
        return [
            f"90 % intervals: {said} (models, placements, lengths), {FEWEST} are needed; {wide}"
        ]
    each = zip(QUANTITIES, evidence.share, evidence.width, evidence.held, strict=True)
    return [
        f"90 % intervals of {plain_name(q)} held {100 * before:.0f} % of {evidence.groups} "
        f"groups of runs that were left out; made {width:.2f} times as wide they hold "
        f"{100 * after:.0f} %" + _parts(share)
        for q, share, width, (before, after) in each
        if np.isfinite(after)
    ]


def _parts(share: float) -> str:
    """How much of the answer is not the law's."""
    return f" (of the answer {100 * share:.0f} % is the learned part's)" if share >= 0.005 else ""


def new_model_words(law: ServingLaw, app: str) -> str:
    """How far to believe what is said of a model that no run is of."""
    matched = left_out_models(law)
    said = f"{app} is in no run: all is predicted from its config and other models"
    each = [
        f"{plain_name(q)} was off by {100 * of.median_error:.0f} % in the median, 90 % "
        f"intervals held {100 * of.held:.0f} %"
        for q, of in matched.items()
        if q != "power_w"
    ]
    if not each:
        return f"{said}, which are too few to say how well"
    count = max(of.models for of in matched.values())
    return f"{said}; of {count} models, each left out in turn, {'; '.join(each)}"


def refuse_unheld(law: ServingLaw, quantity: str, confidence: float) -> None:
    """Refuse a limit with a confidence where intervals do not hold what was left out."""
    evidence = law.evidence_
    if confidence <= 0.5 or evidence is None or quantity not in QUANTITIES:
        return
    held = evidence.held[QUANTITIES.index(quantity), 1]
    if held < LEAST_HELD:
        raise DataError(quantity, [
            f"@{confidence:g}: 90 % intervals held {100 * held:.0f} % of the runs that were left "
            "out; leave the confidence away, or measure more placements and lengths"])  # fmt: skip
