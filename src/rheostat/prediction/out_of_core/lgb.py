"""LightGBM over chunks on disk: see `boost` for the idea and the notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.prediction.out_of_core.binned_file import Spool
from rheostat.prediction.out_of_core.binning import BINS, Codes
from rheostat.prediction.out_of_core.boosters import After, BoostRun, Settings, Vector
from rheostat.prediction.saved_models.tree_checks import check_lightgbm


class LightGBM:
    """LightGBM's trees over a ``Dataset`` built from sequences on disk."""

    @staticmethod
    def parameters(settings: Settings) -> dict[str, Any]:
        """As `XGBoost.parameters`; leaves are grown best first, up to a full tree of the depth."""
        return {
            "objective": "regression",
            "boost_from_average": False,
            "num_leaves": min(2**settings.depth - 1, 255),
            "max_depth": settings.depth,
            "learning_rate": settings.learning_rate,
            "max_bin": BINS + 1,
            "min_data_in_bin": 1,
            "min_data_in_leaf": settings.min_rows,
            "num_threads": settings.threads,
            "seed": settings.seed,
            "deterministic": True,
            "force_row_wise": True,
            "feature_pre_filter": False,
            "verbose": -1,
        }

    def bin(self, spool: Spool, settings: Settings) -> Any:
        """Two passes: the codes there are, from a sample of rows, then one byte per value."""
        lgb = require("lightgbm", extra="trees")
        data = lgb.Dataset(
            _sequences(lgb, spool),
            label=np.zeros(spool.rows, dtype=np.float32),
            params=self.parameters(settings),
        )
        return data.construct()

    def train(self, binned: Any, y: Vector, w: Vector, *, run: BoostRun) -> tuple[bytes, ...]:
        """A further stage learns what the stages before it left over."""
        lgb = require("lightgbm", extra="trees")
        start = np.zeros(len(y))
        if run.stages:
            predict = self.load(run.stages)
            start = np.concatenate([predict(x) for x in run.spool.matrices()]).astype(float)
        binned.set_label(y)
        binned.set_weight(w)
        binned.set_init_score(start)
        booster = lgb.train(
            self.parameters(run.settings),
            binned,
            run.settings.rounds - self.rounds(run.stages),
            callbacks=[_lgb_callback(run.after)],
        )
        return (*run.stages, booster.model_to_string().encode())

    def load(self, stages: Sequence[bytes]) -> Callable[[Codes], Vector]:
        """The sum of the stages."""
        lgb = require("lightgbm", extra="trees")
        boosters = [_loaded(lgb, s) for s in stages]
        return lambda x: np.sum([b.predict(x) for b in boosters], axis=0).astype(np.float32)

    def rounds(self, stages: Sequence[bytes]) -> int:
        """Trees grown so far, over all stages."""
        lgb = require("lightgbm", extra="trees")
        return sum(int(lgb.Booster(model_str=s.decode()).current_iteration()) for s in stages)


def _loaded(lgb: Any, stage: bytes) -> Any:
    check_lightgbm(stage.decode())
    return lgb.Booster(model_str=stage.decode())


def _sequences(lgb: Any, spool: Spool) -> list[Any]:
    latest: dict[int, NDArray[np.float64]] = {}

    def chunk(number: int) -> NDArray[np.float64]:
        if number not in latest:
            latest.clear()  # one chunk in memory at a time: rows are asked for in order
            latest[number] = spool.matrix(number).astype(np.float64)
        return latest[number]

    class Chunk(lgb.Sequence):  # type: ignore[misc]
        """One chunk on disk, indexable."""

        batch_size = 65_536

        def __init__(self, number: int) -> None:
            self.number = number

        def __getitem__(self, index: Any) -> NDArray[np.float64]:
            return np.asarray(chunk(self.number)[index])

        def __len__(self) -> int:
            return spool.sizes[self.number]

    return [Chunk(i) for i in range(len(spool.sizes))]


def _lgb_callback(after: After) -> Callable[[Any], None]:
    def tell(env: Any) -> None:
        after(env.iteration - env.begin_iteration + 1, lambda: env.model.model_to_string().encode())

    return tell
