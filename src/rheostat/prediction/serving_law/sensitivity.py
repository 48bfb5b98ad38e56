"""Which term of the law matters at which batch: how far 1 % more of each parameter moves it.

An elasticity is the derivative of a logarithm by a logarithm.  Of a time that is added to others
(the host's, the cache's, that of joining GPUs) it is its share of the step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.law import NAMES, jacobian
from rheostat.prediction.serving_law.predictor import ServingLaw

LEAST = 0.005
"""A parameter that nowhere moves anything by more than this is left out of the words."""


@dataclass(frozen=True)
class Sensitivity:
    """Elasticities at the placement that was measured most, at b batch caps.

    Parameters
    ----------
    placement
        Model, type and number of GPUs, in words.
    batch
        Batch caps, (b,).
    step_time, energy
        Of the time of a step and of the energy per token, by parameter, (b,) each.
    """

    placement: str
    batch: Array
    step_time: Mapping[str, Array]
    energy: Mapping[str, Array]

    def as_text(self) -> str:
        """A table: a row per parameter that matters somewhere."""
        head = "".join(f"{f'B={b:g}':>8}" for b in self.batch)
        lines = [
            f"{self.placement}: change in % for 1 % more of a parameter",
            f"{'':>10}{'time of a step t':>{8 * len(self.batch)}}  energy per token E",
            f"{'':>10}{head}  {head}",
        ]
        for name in NAMES:
            t, e = self.step_time[name], self.energy[name]
            if max(np.abs(t).max(), np.abs(e).max()) > LEAST:
                cells = ["".join(f"{v:8.2f}" for v in values) for values in (t, e)]
                lines.append(f"{name:>10}{cells[0]}  {cells[1]}")
        return "\n".join(lines)


def sensitivity(law: ServingLaw) -> Sensitivity | None:
    """Where the law was fitted to runs: at the least, a middle and the largest batch cap of most.

    Parameters
    ----------
    law
        Fitted; None comes back where it has seen no runs.
    """
    seen = law.seen_
    if not len(seen):
        return None
    places = list(zip(seen.app.tolist(), seen.gpu.tolist(), seen.gpus.tolist(), seen.pp.tolist(),
                      strict=True))  # fmt: skip
    most = Counter(places).most_common(1)[0][0]
    rows = np.array([i for i, p in enumerate(places) if p == most])
    low, high = float(seen.batch[rows].min()), float(seen.batch[rows].max())
    batch = np.unique([low, np.round(np.sqrt(low * high)), high])
    one = {f.name: np.repeat(getattr(seen, f.name)[rows[:1]], len(batch)) for f in fields(seen)}
    asked = Configurations(**{**one, "batch": batch})
    slopes = jacobian(law.log_parameters_of(asked), asked).reshape(3, len(batch), len(NAMES))
    app, gpu, gpus, _ = most
    said = f"{app} on {gpus:g} x {gpu}, the placement with most runs"
    return Sensitivity(
        said, batch, *({n: slopes[q, :, k] for k, n in enumerate(NAMES)} for q in (0, 1))
    )
