"""A model that no run is of, planned from its config.json and what other models took."""

from __future__ import annotations

from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.measurement.serving.model_config import ModelConfig
from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.recipes.energylens import PLACEMENT, fitting

UNKNOWN = (*QUANTITIES, "tokens_per_s")


def is_new(runs: JobTable, app: str) -> bool:
    """Whether no run is of this model."""
    return "app" in runs.columns and app not in runs.frame["app"].cast(pl.String).to_list()


def as_service(runs: JobTable, app: str, config: ModelConfig, workload: str = "") -> JobTable:
    """Rows of a model that was not run, one for each batch cap of its kind, nothing measured.

    Parameters
    ----------
    runs
        Measured configurations of other models.
    app
        Name of the new one.
    config
        Its parameters and precision.
    workload
        One of those in ``runs``; the most frequent where not said.

    Raises
    ------
    DataError
        No placement of a model of its kind (dense or mixture of experts) holds its weights, or the
        workload does not occur.
    """
    frame = runs.frame
    if "workload" in frame.columns:
        known = frame["workload"].cast(pl.String).drop_nulls()
        if workload and workload not in known.to_list():
            there = ", ".join(known.unique(maintain_order=True).to_list())
            raise DataError("workload", [f"no run of {workload!r}; there are {there}"])
        usual = known.value_counts(sort=True)["workload"].to_list()
        frame = frame.filter(pl.col("workload").cast(pl.String) == (workload or (usual or [""])[0]))
    alike = _of_its_kind(frame if len(frame) else runs.frame, config)
    facts: dict[str, Any] = {"app": app, "params": config.params,
                             "active_params": config.active_params,
                             "weight_precision": config.weight_precision}  # fmt: skip
    values = {k: pl.lit(v) for k, v in facts.items() if k in frame.columns or k == "app"}
    blank = {c: pl.lit(None, pl.Float64) for c in UNKNOWN if c in frame.columns}
    made = alike.with_columns(**values, **blank).unique("batch_cap", maintain_order=True)
    rows = JobTable(made, runs.schema)
    names = [c for c in PLACEMENT if c in made.columns]
    places = alike.select(names).unique(maintain_order=True).rows(named=True)
    fits = fitting(places, rows)
    if not fits:
        raise DataError("--model-config", [f"{config.params:.3g} parameters in "
                        f"{config.weight_precision} fit no placement of RUNS"])  # fmt: skip
    first = {k: pl.lit(v, made.schema[k]) for k, v in fits[0].items()}
    return JobTable(made.with_columns(**first), runs.schema, runs.notes)


def _of_its_kind(frame: pl.DataFrame, config: ModelConfig) -> pl.DataFrame:
    """Rows of dense models, or of mixtures; the most frequent architecture of these alone."""
    if "active_params" not in frame.columns:
        return frame
    size = pl.col("params").cast(pl.Float64)
    used = pl.col("active_params").cast(pl.Float64).fill_null(size)
    alike = frame.filter((used < size) == (config.active_params < config.params))
    alike = alike if len(alike) else frame
    if "architecture" not in alike.columns:
        return alike
    usual = alike["architecture"].value_counts(sort=True)["architecture"][0]
    return alike.filter(pl.col("architecture").eq_missing(pl.lit(usual)))
