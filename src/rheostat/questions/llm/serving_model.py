"""A served model as its config.json says it: parameters and precision of its runs, and its cache.

Notation
--------
T  GPUs that a layer is split over    k  heads of keys and values    G  GPUs    B  batch cap
cache of a full batch = B (bytes of a request) max(1, T / k): heads that are shared are kept T / k
times, by each GPU that needs them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.model_config import ModelConfig
from rheostat.prediction.serving_law.configurations import Configurations

GUESSED_B = 131_072.0
"""Bytes of cache per token of a model of 8e9 parameters with grouped heads (Llama 3.1 8B); for
others in proportion to the root of the active parameters."""
DIFFERS, ANOTHER = 1.25, 3.0
"""Factor from which parameters in runs and by the config are noted to differ; are of two models."""
GUESS = Note(
    "the cache is guessed as Llama's, 128 KiB per token at 8e9 parameters, which may be off "
    "tenfold: --model-config takes the model's config.json"
)


def only_app(runs: JobTable) -> str:
    """The one language model of ``runs``; a `DataError` where there are several."""
    runs.require("app")
    names = runs.frame["app"].cast(pl.String).unique(maintain_order=True).to_list()
    if len(names) != 1:
        raise DataError("--model-config", [f"is of one model, and RUNS hold {len(names)}: choose "
                                           f"with --where app={names[0]}"])  # fmt: skip
    return str(names[0])


def of_known_size(runs: JobTable, app: str = "") -> JobTable:
    """Runs of models whose parameters are known, the others left out with a note.

    Raises
    ------
    DataError
        Those of ``app``, or of all models, are not known.
    """
    if not {"params", "app"} <= set(runs.columns):
        return runs
    params = runs.frame["params"].cast(pl.Float64, strict=False)
    known = (params.is_not_null() & params.is_not_nan()).fill_null(False).to_numpy()
    if known.all():
        return runs
    names = runs.frame["app"].cast(pl.String).fill_null("")
    unknown = names.filter(pl.Series(~known)).unique(maintain_order=True).to_list()
    said = f"how many parameters {', '.join(map(repr, unknown))} has is not known"
    if app in unknown or not known.any():
        raise DataError("params", [f"{said}: its config.json says it (--model-config), a column "
                                   "params of the runs, or for runs of one model "
                                   "--column params==70e9"])  # fmt: skip
    note = Note(f"{said}: its rows were left out; a column params states them",
                tuple(np.flatnonzero(~known)[:20].tolist()), int((~known).sum()),
                dropped=True)  # fmt: skip
    kept = runs.rows(np.flatnonzero(known))
    return JobTable(kept.frame, kept.schema, (*kept.notes, note))


def with_config(runs: JobTable, app: str, model: ModelConfig) -> JobTable:
    """Runs of ``app`` with the parameters of its config, and its precision where they say none.

    Parameters
    ----------
    runs
        Measured configurations; rows of other models stay as they are.
    app
        The model, as ``runs`` name it.
    model
        What its config says; guesses in it become notes, parameters in ``runs`` that differ too.
    """
    own = (pl.col("app").cast(pl.String) == app).fill_null(False)
    frame, notes = runs.frame, [Note(f"config.json: {said}") for said in model.notes]
    for name, value in (("params", model.params), ("active_params", model.active_params)):
        known = pl.col(name).cast(pl.Float64) if name in frame.columns else pl.lit(None, pl.Float64)
        said_so = frame.filter(own).select(known.alias(name))[name].drop_nulls().to_numpy()
        stated = float(np.median(said_so)) if len(said_so) else value
        apart = max(stated / value, value / stated)
        if apart > ANOTHER:
            why = f"is of another model than {app}: {name} {value:.3g}, in RUNS {stated:.3g}"
            raise DataError("--model-config", [why])
        if apart > DIFFERS:
            notes.append(Note(f"{name} of {app}: {stated:.3g} in RUNS, {value:.3g} by its "
                              "config.json, which is taken"))  # fmt: skip
        frame = frame.with_columns(pl.when(own).then(pl.lit(value)).otherwise(known).alias(name))
    name = "weight_precision"
    known = pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(None, pl.String)
    said = pl.when(own & known.is_null()).then(pl.lit(model.weight_precision)).otherwise(known)
    frame = frame.with_columns(said.alias(name))
    columns = [c for c in COLUMNS if c.name in frame.columns and c.name not in runs.schema]
    return JobTable(frame, runs.schema.with_columns(columns), (*runs.notes, *notes))


@dataclass(frozen=True)
class CacheSize:
    """What requests keep in memory: by the model's config, or guessed as Llama's.

    Parameters
    ----------
    model
        The config, where there is one.
    """

    model: ModelConfig | None = None

    def request_b(self, settings: JobTable, tokens: Array | float) -> Array:
        """Bytes of the cache of one request on all GPUs of each of n settings, mean over tokens.

        Parameters
        ----------
        settings
            n settings.
        tokens
            Of one request, or of m of them.

        Returns
        -------
        (n,)
        """
        at = Configurations.of(settings)
        if self.model is None:
            return np.asarray(np.mean(tokens) * GUESSED_B * np.sqrt(at.active / 8e9))
        return np.asarray(np.mean(self.model.request_b(tokens)) * self._copies(settings, at))

    def _copies(self, settings: JobTable, at: Configurations) -> Array:
        """How often the GPUs of each setting keep the same heads, (n,)."""
        assert self.model is not None
        split = at.gpus / at.pp
        if "tp" in settings.columns:
            known = settings.frame["tp"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
            split = np.where(np.isfinite(known), known, split)
        return np.maximum(1.0, split / self.model.kv_heads)

    def words(self, tokens: float) -> Note:
        """What a request of so many ``tokens`` keeps."""
        if self.model is None:
            return GUESS
        model, kept = self.model, float(self.model.request_b(tokens))
        said = f"a request of {tokens:.0f} tokens keeps {kept / 1e6:.4g} MB by the config.json"
        if model.window_tokens:
            said += f", {model.window_tokens} tokens of it in layers with a window"
        if tokens > model.context_tokens:
            said += f"; the model was made for {model.context_tokens:.0f} tokens"
        return Note(said)


AS_LLAMA = CacheSize()
