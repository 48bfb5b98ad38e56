"""Tables of InferenceX (InferenceMAX before) and the like: one row per GPU type, split and load.

Columns are known by their names without what stands in brackets, in any of the spellings below;
the unit in brackets, (ms) or (s), is kept to.  Throughput and power are per GPU there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import rows_where
from rheostat.measurement.runs.mapping import stated
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.copies import APART, true, with_attention_copies, with_gpus
from rheostat.measurement.serving.frames import csv_frame
from rheostat.measurement.serving.model_size import with_params

NAMES = {
    "gpu_model": ("hw", "hardware", "gpu"),
    "app": ("model", "served_model"),
    "batch_cap": ("conc", "concurrency"),
    "tp": ("tp", "decode_tp"),
    "ep": ("ep", "decode_ep"),
    "pp": ("pp", "decode_pp"),
    "dp": ("dp",),
    "dp_attention": ("dp_attention", "dp_attn", "dp-attn", "decode_dp_attention"),
    "disaggregated": ("disagg", "is_disagg", "disaggregated"),
    "gpus": ("num_gpus", "gpus", "num_decode_gpu"),
    "weight_precision": ("precision",),
    "framework": ("framework", "engine"),
    "speculation": ("spec_method", "spec_decoding"),
    "prompt_tokens": ("isl", "input_len"),
    "output_tokens": ("osl", "output_len"),
    "itl_s": ("median_tpot", "median_itl", "tpot", "itl"),
    "tokens_per_s_gpu": ("output_tput_per_gpu",),
    "power_w_gpu": ("power_per_gpu", "measured_power_per_gpu", "avg_power_per_gpu"),
    "energy_per_token_j": ("j_per_output_token", "joules_per_output_token", "j/output_token"),
}
WORDS = ("gpu_model", "app", "weight_precision", "framework", "speculation", "dp_attention",
         "disaggregated")  # fmt: skip
NEEDED = ("gpu_model", "app", "batch_cap", "tp", "itl_s", "tokens_per_s_gpu")
NUMBERS = ("batch_cap", "tp", "itl_s", "tokens_per_s_gpu")
UNITS = {"ms": 1e-3, "s": 1.0, "sec": 1.0}


def plain(column: str) -> str:
    """A heading without brackets, in lower case.

    >>> plain("Median TPOT (ms)"), plain("Output TPUT per GPU (tok/s/gpu)")
    ('median_tpot', 'output_tput_per_gpu')
    """
    return re.sub(r"\s*\(.*\)", "", column).strip().lower().replace(" ", "_")


def is_inferencex(columns: set[str]) -> bool:
    """Whether a table with these columns is one of these."""
    return not [n for n in NEEDED if not _theirs(sorted(columns)).get(n)]


def read_inferencex(path: str | Path, *, columns: Mapping[str, str] | None = None) -> JobTable:
    """Measured serving configurations, one row each.

    Parameters
    ----------
    path : path
        CSV.
    columns : mapping, optional
        Values of all rows that it does not state, as ``{"params": "=70e9", "power_w": "=2400"}``.

    Returns
    -------
    JobTable
        SI units; throughput and power of the whole deployment.

    Raises
    ------
    DataError
        The file is no CSV or has not the columns, or no row has positive numbers in them.
    """
    frame = csv_frame(path, "table of InferenceX")
    theirs = _theirs(frame.columns)
    if missing := [f"{n} ({', '.join(NAMES[n])})" for n in NEEDED if n not in theirs]:
        raise DataError(str(path), [f"no table of InferenceX: {', '.join(missing)} missing"])
    if named := [f"{o}={t}" for o, t in (columns or {}).items() if not t.startswith("=")]:
        stating = f"its columns are known; --column states values, as power_w==2400, got {named[0]}"
        raise DataError(str(path), [stating])
    frame = frame.select(_column(ours, name) for ours, name in theirs.items())
    frame = frame.with_columns(**{ours: stated(text) for ours, text in (columns or {}).items()})
    good = pl.all_horizontal(pl.col(n).is_finite() & (pl.col(n) > 0) for n in NUMBERS)
    kept, notes = rows_where(frame, good, "a number is missing or not above 0")
    kept, apart = rows_where(kept, ~true(kept, "disaggregated"), APART)
    notes += apart
    if not len(kept):
        raise DataError(str(path), ["no row has a load, a split, a speed and a time above 0"])
    kept = with_gpus(with_attention_copies(kept, notes), notes)
    kept, said = _whole(_timed(kept, theirs["itl_s"]))
    made = with_params(kept).drop("disaggregated", strict=False)
    return table(made, COLUMNS, [*notes, *said])


def _theirs(columns: list[str]) -> dict[str, str]:
    """Our name to the first column that is called so."""
    known = {re.sub("_(w|watts?|j|joules?)$", "", plain(c)): c for c in reversed(columns)}
    known |= {plain(c): c for c in reversed(columns)}
    pairs = ((ours, next((known[n] for n in names if n in known), None))
             for ours, names in NAMES.items())  # fmt: skip
    return {ours: name for ours, name in pairs if name is not None}


def _column(ours: str, theirs: str) -> pl.Expr:
    if ours in WORDS:
        text = pl.col(theirs).cast(pl.String)
        return (text.str.to_lowercase() if ours == "weight_precision" else text).alias(ours)
    scale = 1.0
    if ours == "itl_s":
        scale = UNITS.get(_unit(theirs) or "s", 1.0)
    return (pl.col(theirs).cast(pl.Float64, strict=False) * scale).alias(ours)


def _unit(heading: str) -> str | None:
    """What a heading's brackets say."""
    unit = re.search(r"\((\w+)", heading)
    return unit[1] if unit else None


def _timed(frame: pl.DataFrame, heading: str) -> pl.DataFrame:
    """Times in seconds; of a heading without a unit in that which throughput and load say."""
    if _unit(heading) is not None:
        return frame
    running = pl.col("itl_s") * pl.col("tokens_per_s_gpu") * pl.col("gpus")
    ratio = running / pl.col("batch_cap")
    middle = frame.select(ratio.median()).item()
    scale = min((1.0, 1e-3, 1e-6), key=lambda s: abs(math.log(middle * s)))
    return frame.with_columns(pl.col("itl_s") * scale)


def _whole(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Throughput and power of all GPUs, and energy where there is power."""
    notes = []
    frame = frame.with_columns(tokens_per_s=pl.col("tokens_per_s_gpu") * pl.col("gpus"))
    if "power_w_gpu" in frame.columns:
        power = pl.col("power_w_gpu")
        power = pl.when(power > 0).then(power * pl.col("gpus"))
        frame = frame.with_columns(power_w=power)
    if "power_w" in frame.columns and "energy_per_token_j" not in frame.columns:
        frame = frame.with_columns(energy_per_token_j=pl.col("power_w") / pl.col("tokens_per_s"))
    if "energy_per_token_j" not in frame.columns:
        said = f"no power and no energy per token ({', '.join(NAMES['power_w_gpu'])})"
        stating = "state the watts of all GPUs by --column power_w==2400"
        notes.append(Note(f"{said}: the energy law cannot learn from it; {stating}"))
    return frame.drop("tokens_per_s_gpu", "power_w_gpu", strict=False), notes
