"""How do gradient-boosted trees learn from a matrix that never is in memory as a whole?

Trees need no exact values: each column was cut into bins, and one byte per value is kept.  The
libraries take the bins from chunks given one after another (XGBoost's ``DataIter``
[Chen2016]_, LightGBM's ``Sequence`` [Ke2017]_); here each is driven by the chunks on disk, tells
how far it is after every round, and leaves a checkpoint every few rounds.

Notation
--------
n  rows      r  rounds (trees)      y : (n,) centred log target      w : (n,) 1 to learn, 0 not

References
----------
.. [Chen2016] Chen, Guestrin: XGBoost, a scalable tree boosting system. KDD 2016.
.. [Ke2017] Ke et al.: LightGBM, a highly efficient gradient boosting decision tree. NIPS 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.out_of_core.binned_file import Spool
from rheostat.prediction.out_of_core.binning import Codes

Vector = NDArray[np.float32]
After = Callable[[int, Callable[[], bytes]], None]
"""Called after each round of a training call with its number and a maker of the model's bytes."""


@dataclass(frozen=True)
class Settings:
    """How the trees are grown, and what a process may use.

    ``threads`` 0 leaves the number to OMP_NUM_THREADS; ``memory_b`` is what one process may hold:
    XGBoost's bins go to disk where they would not fit in half of it.
    """

    rounds: int = 200
    depth: int = 8
    learning_rate: float = 0.1
    min_rows: int = 20
    keep_levels: int = 200_000
    checkpoint_every: int = 25
    threads: int = 0
    memory_b: float = 8e9
    seed: int = 0


class Engine(Protocol):
    """A boosting library; models are bytes in its own format, and a model may have stages."""

    def bin(self, spool: Spool, settings: Settings) -> Any:
        """The binned matrix of all chunks, labels to come."""
        ...

    def train(self, binned: Any, y: Vector, w: Vector, *, run: BoostRun) -> tuple[bytes, ...]:
        """Grow trees from the stages in ``run`` to ``run.settings.rounds``; the stages then."""
        ...

    def load(self, stages: Sequence[bytes]) -> Callable[[Codes], Vector]:
        """What predicts (n,) from a matrix (n, k)."""
        ...

    def rounds(self, stages: Sequence[bytes]) -> int:
        """Trees grown so far."""
        ...


@dataclass(frozen=True)
class BoostRun:
    """One training: how, from which stages, with what on disk, and whom to tell."""

    settings: Settings
    spool: Spool
    stages: tuple[bytes, ...] = ()
    after: After = lambda _round, _model: None
