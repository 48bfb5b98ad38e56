"""What came of a trace whose jobs were started one decision after the other."""

from __future__ import annotations

import numpy as np

from rheostat.training.env.batch import Batch


class PlayedTrace:
    """A trace that is scheduled, or has been.

    Parameters
    ----------
    batch : Batch
        Its one episode, recorded.
    clairvoyant : bool
        Whether some jobs are planned with their true run times.
    """

    def __init__(self, batch: Batch, clairvoyant: bool) -> None:
        self._batch, self.clairvoyant = batch, clairvoyant

    @property
    def starts(self) -> np.ndarray:
        """Start of each job of the trace, s; NaN where it has not started."""
        starts: np.ndarray = self._batch.starts[0].copy()
        return starts

    def metrics(self) -> dict[str, float]:
        """Waits and slowdowns of the jobs started so far."""
        names = ("mean_wait_s", "mean_bounded_slowdown", "max_wait_s", "decisions")
        facts = self._batch.metrics()
        return {name: facts[name][0].item() for name in names}
