"""ML.ENERGY leaderboard tables, V2 and V3: measured energy, latency and batch of served models.

Source: github.com/ml-energy/leaderboard (V3) and leaderboard-v2.  Energy is of all GPUs of the
deployment; V2 has none per token, which is then energy per request over the mean output.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.frames import csv_frame
from rheostat.measurement.serving.model_size import params_of

V3 = {"model_id": "app", "task": "workload", "gpu_model": "gpu_model", "num_gpus": "gpus",
      "tensor_parallel": "tp", "expert_parallel": "ep", "data_parallel": "dp",
      "max_num_seqs": "batch_cap", "weight_precision": "weight_precision",
      "architecture": "architecture", "avg_batch_size": "batch_mean",
      "avg_output_len": "output_tokens", "avg_power_watts": "power_w",
      "energy_per_request_joules": "energy_per_request_j",
      "energy_per_token_joules": "energy_per_token_j",
      "output_throughput_tokens_per_sec": "tokens_per_s"}  # fmt: skip
V2 = {"Model": "app", "task": "workload", "GPU": "gpu_model", "TP": "tp", "PP": "pp",
      "Max BS (reqs)": "batch_cap", "Avg BS (reqs)": "batch_mean",
      "Avg Output Tokens": "output_tokens", "Energy/req (J)": "energy_per_request_j",
      "Avg TPOT (s)": "itl_s", "Token tput (tok/s)": "tokens_per_s"}  # fmt: skip
MEASURED = [replace(c, known=Moment.END) if c.name == "output_tokens" else c for c in COLUMNS]
"""Answers end where their model ends them: their mean length is known after the run alone."""


def is_mlenergy(columns: set[str]) -> bool:
    """Whether these are the columns of a leaderboard table."""
    return set(V3) <= columns or set(V2) <= columns


def read_mlenergy(path: str | Path) -> JobTable:
    """Measured serving configurations, one row each, with the house's names and units.

    Parameters
    ----------
    path : path
        CSV of the benchmark, version 2 or 3.

    Returns
    -------
    JobTable
        A row per configuration, SI units.

    Raises
    ------
    DataError
        The file is no CSV, or neither version's table.
    """
    frame = csv_frame(path, "table of ML.ENERGY")
    if set(V3) <= set(frame.columns):
        return _v3(frame)
    if set(V2) <= set(frame.columns):
        return _v2(frame)
    missing = sorted(set(V3) - set(frame.columns))
    raise DataError(str(path), [f"no ML.ENERGY table: {', '.join(missing)} missing"])


def _v3(frame: pl.DataFrame) -> JobTable:
    made = frame.select(
        pl.col(list(V3)).name.map(V3.__getitem__),
        params=pl.col("total_params_billions") * 1e9,
        active_params=pl.col("activated_params_billions") * 1e9,
        itl_s=pl.col("median_itl_ms") / 1e3,
    )
    return table(made, MEASURED)


def _v2(frame: pl.DataFrame) -> JobTable:
    size = pl.col("params_B") * 1e9
    named = [params_of(str(name)) for name in frame["Model"]]
    mixture = pl.Series([every != used for every, used in named], dtype=pl.Boolean)
    params, active = (
        pl.when(mixture).then(pl.Series([s[k] for s in named], dtype=pl.Float64)).otherwise(size)
        for k in (0, 1)
    )
    made = frame.select(
        pl.col(list(V2)).name.map(V2.__getitem__),
        gpus=pl.col("TP") * pl.col("PP"),
        params=params,
        active_params=active,
        energy_per_token_j=pl.col("Energy/req (J)") / pl.col("Avg Output Tokens"),
    ).with_columns(power_w=pl.col("energy_per_token_j") * pl.col("tokens_per_s"))
    silent = made["output_tokens"].null_count()
    said = "rows without output tokens have no energy per token"
    return table(made, MEASURED, [Note(said, count=silent)] if silent else [])
