"""Laws that past jobs teach, beside laws that never heard of them, in case past jobs mislead.

Past jobs can agree on what does not hold here: a kink of another machine lies elsewhere.  Runs on
this side of it tell nothing of the other, and they speak for the laws that know this side best.  So
a fixed share of the draws comes from laws that this job's own runs alone have taught, however well
the others explain these runs.

References
----------
Hesterberg: Weighted average importance sampling and defensive mixture distributions (1995).
"""

from __future__ import annotations

import numpy as np

from rheostat.prediction.scaling_law.coordinates import Array
from rheostat.prediction.scaling_law.ensemble import Index, LawEnsemble
from rheostat.prediction.scaling_law.structures import Structure

SHARE = 0.15
"""Of the draws, from laws without past jobs."""


class DefensiveEnsemble:
    """A `LawEnsemble` that past jobs teach and, in a share of the draws, one that they do not.

    Parameters
    ----------
    informed : LawEnsemble
    alone : LawEnsemble, optional
        Over the same settings; None where there are no past jobs.
    """

    def __init__(self, informed: LawEnsemble, alone: LawEnsemble | None = None) -> None:
        self.informed, self.alone = informed, alone

    @property
    def structures(self) -> list[Structure]:
        """Of the informed laws."""
        return self.informed.structures

    @property
    def measured(self) -> list[int]:
        """Settings that were measured."""
        return self.informed.measured

    @property
    def logs(self) -> list[tuple[float, float]]:
        """Log runtime and log power measured there."""
        return self.informed.logs

    @property
    def noise(self) -> list[tuple[float, float]]:
        """Variances with which they were measured."""
        return self.informed.noise

    def tell(
        self,
        index: int,
        log_runtime: float,
        log_power: float,
        noise: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Take a measurement at setting ``index``."""
        for model in self._parts():
            model.tell(index, log_runtime, log_power, noise)

    def copy(self) -> DefensiveEnsemble:
        """The same belief, to be told more without changing this one."""
        return DefensiveEnsemble(*(model.copy() for model in self._parts()))

    def without(self, place: int) -> DefensiveEnsemble:
        """The belief without the measurement at ``place`` among those taken."""
        return DefensiveEnsemble(*(model.without(place) for model in self._parts()))

    def draws(self, count: int, at: Index | None = None) -> tuple[Array, Array]:
        """Joint draws of log runtime and log power, each (count, n); see `LawEnsemble.draws`."""
        if self.alone is None:
            return self.informed.draws(count, at)
        own = round(SHARE * count)
        both = self.informed.draws(count - own, at), self.alone.draws(own, at)
        return np.concatenate([x[0] for x in both]), np.concatenate([x[1] for x in both])

    def marginals(self) -> tuple[Array, Array]:
        """Mean and standard deviation (3, N) at each setting; see `LawEnsemble.marginals`."""
        mean, spread = self.informed.marginals()
        if self.alone is None:
            return mean, spread
        other, wide = self.alone.marginals()
        middle = (1 - SHARE) * mean + SHARE * other
        second = (1 - SHARE) * (mean**2 + spread**2) + SHARE * (other**2 + wide**2)
        return middle, np.sqrt(np.maximum(second - middle**2, 0.0))

    def _parts(self) -> list[LawEnsemble]:
        return [self.informed] if self.alone is None else [self.informed, self.alone]
