"""XGBoost over chunks on disk: see `boost` for the idea and the notation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.prediction.out_of_core.binned_file import Spool
from rheostat.prediction.out_of_core.binning import Codes
from rheostat.prediction.out_of_core.boosters import After, BoostRun, Settings, Vector
from rheostat.prediction.saved_models.tree_checks import check_xgboost

MAX_BIN = 256
"""As many as there are codes: the library's own cuts separate all of them."""


class XGBoost:
    """XGBoost's hist trees over a ``QuantileDMatrix``, or one on disk."""

    @staticmethod
    def parameters(settings: Settings) -> dict[str, Any]:
        """Squared error on centred log targets, hence a base score of 0."""
        return {
            "tree_method": "hist",
            "objective": "reg:squarederror",
            "base_score": 0.0,
            "max_depth": settings.depth,
            "eta": settings.learning_rate,
            "max_bin": MAX_BIN,
            "min_child_weight": settings.min_rows,
            "nthread": settings.threads,
            "seed": settings.seed,
        }

    def bin(self, spool: Spool, settings: Settings) -> Any:
        """One byte per value in memory (and again by column), or on disk where that is too much."""
        xgb = require("xgboost", extra="trees")
        width = spool.matrix(0).shape[1]
        too_large = 3 * spool.rows * width > settings.memory_b / 2
        cache = str(spool.folder / "bins") if too_large else None
        chunks = _chunk_iterator(xgb, spool, cache)
        matrix = xgb.ExtMemQuantileDMatrix if too_large else xgb.QuantileDMatrix
        return matrix(chunks, max_bin=MAX_BIN, nthread=settings.threads or None)

    def train(self, binned: Any, y: Vector, w: Vector, *, run: BoostRun) -> tuple[bytes, ...]:
        """Continue from the last checkpoint; the trees are the same as without the interruption."""
        xgb = require("xgboost", extra="trees")
        binned.set_label(y)
        binned.set_weight(w)
        before = _xgb_load(xgb, run.stages[-1]) if run.stages else None
        booster = xgb.train(
            self.parameters(run.settings),
            binned,
            run.settings.rounds - self.rounds(run.stages),
            xgb_model=before,
            callbacks=[_xgb_callback(xgb, run.after)],
        )
        return (bytes(booster.save_raw("ubj")),)

    def load(self, stages: Sequence[bytes]) -> Callable[[Codes], Vector]:
        """Prediction in place."""
        booster = _xgb_load(require("xgboost", extra="trees"), stages[-1])
        return lambda x: np.asarray(booster.inplace_predict(x.astype(np.float32)), dtype=np.float32)

    def rounds(self, stages: Sequence[bytes]) -> int:
        """Trees grown so far."""
        if not stages:
            return 0
        return int(_xgb_load(require("xgboost", extra="trees"), stages[-1]).num_boosted_rounds())


def _xgb_load(xgb: Any, model: bytes) -> Any:
    booster = xgb.Booster()
    booster.load_model(bytearray(model))
    check_xgboost(json.loads(booster.save_raw("json")), booster.num_features())
    return booster


def _chunk_iterator(xgb: Any, spool: Spool, cache: str | None) -> Any:
    class Chunks(xgb.DataIter):  # type: ignore[misc]
        """Hands XGBoost one chunk after the other, as often as it wants."""

        def __init__(self) -> None:
            self.at = 0
            super().__init__(cache_prefix=cache)

        def next(self, input_data: Callable[..., None]) -> bool:
            if self.at == len(spool.sizes):
                return False
            input_data(data=spool.matrix(self.at))
            self.at += 1
            return True

        def reset(self) -> None:
            self.at = 0

    return Chunks()


def _xgb_callback(xgb: Any, after: After) -> Any:
    class Tell(xgb.callback.TrainingCallback):  # type: ignore[misc]
        """Passes each round on."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            after(epoch + 1, lambda: bytes(model.save_raw("ubj")))
            return False

    return Tell()
