"""A table of measured serving configurations, in our names or in common ones of others, as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, rows_where
from rheostat.measurement.runs.mapping import ColumnSource, load_mapping, stated
from rheostat.measurement.runs.reader import table_frame
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.copies import (
    APART,
    of_all_copies,
    true,
    with_attention_copies,
    with_gpus,
)
from rheostat.measurement.serving.derived_times import with_full_batches, with_times
from rheostat.measurement.serving.energy_names import energy_unit
from rheostat.measurement.serving.failed_requests import answered
from rheostat.measurement.serving.local_runners import with_runner_names
from rheostat.measurement.serving.model_size import with_params
from rheostat.measurement.serving.paired_lengths import with_lengths, with_splits
from rheostat.measurement.serving.serving_names import in_our_names, our_names, sent_by_clients
from rheostat.measurement.serving.stated_units import (
    POWER,
    odd_power,
    refuse_unknown,
    with_energy_per_token,
    with_watts_of_all,
)

NEEDED = {"gpu_model", "batch_cap"}
ODD_POWER = "energy per token times throughput is not the power, as it is in the other rows"
SPEEDS = {"tokens_per_s", "tokens_per_s_gpu", "tokens_per_s_all", "tokens_per_s_all_gpu",
          "itl_s", "itl_s_bare", "output_tokens"}  # fmt: skip
"""Words of serving: a ``batch_size`` beside one of them is no batch of a training."""


def is_serving(columns: set[str]) -> bool:
    """Whether these are the columns of such a table."""
    ours = our_names(columns)
    spent = any(energy_unit(c) for c in ours) or bool(ours & {*POWER, "power_w_gpu"})
    batch = "batch_cap" in ours or bool(ours & SPEEDS)
    return "gpu_model" in ours and batch and spent


def read_serving(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    map: str | Path | None = None,
    units: Mapping[str, str] | None = None,
    energy: bool = True,
) -> JobTable:
    """Configurations, one row each.

    Parameters
    ----------
    path : path
        CSV with at least ``gpu_model``, ``batch_cap`` and ``energy_per_token_j``, or energy per
        request with ``output_tokens``, or power with ``tokens_per_s``; in these or others' names.
    columns : mapping, optional
        Our name to the file's, where they differ; ``=H100`` is a value of all rows.
    map : path, optional
        The same as a TOML file with a table ``columns``, with sums and scales.
    units : mapping, optional
        Per what energy and power are, where the names do not say: ``{"energy": "J/request",
        "power": "W/gpu"}``.
    energy : bool
        Whether a table without energy, and without what it follows from, is refused.

    Returns
    -------
    JobTable
        A row per configuration; rows with an energy that is not above 0 J are left out and noted.

    Raises
    ------
    DataError
        The file is no CSV, a needed or mapped column is missing, or per what energy or power are
        is not said.
    """
    frame, read_in = table_frame(path)
    named = load_mapping(map).columns if map else {}
    constants = {o: t for o, t in (columns or {}).items() if t.startswith("=")}
    sources = {o: t for o, t in (columns or {}).items() if o not in constants}
    named = {**named, **{o: ColumnSource.of(o, t) for o, t in sources.items()}}
    absent = sorted({t for s in named.values() for t in s.columns} - set(frame.columns))
    if absent:
        raise DataError(str(path), [f"mapped column {c} is missing" for c in absent])
    frame = frame.with_columns(**{ours: source.values() for ours, source in named.items()})
    return of_frame(
        frame, str(path), constants=constants, units=units, noted=read_in, metered=energy
    )


def of_frame(
    frame: pl.DataFrame,
    name: str,
    *,
    constants: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    noted: Sequence[Note] = (),
    metered: bool = True,
) -> JobTable:
    """Configurations from a frame of any known headings.

    Parameters
    ----------
    frame : DataFrame
        A row per configuration.
    name : str
        Of the file, for errors.
    constants : mapping, optional
        Our name to ``=value`` of all rows.
    units : mapping, optional
        As `read_serving` takes them.
    noted : sequence of Note
        What was noticed before.
    metered : bool
        Whether a table without energy is refused.

    Raises
    ------
    DataError
        As `read_serving` does.
    """
    theirs = [c for c in frame.columns if c != ROW]
    frame, failed, problem = answered(frame, stated="failed" in (constants or {}))
    if problem is not None:
        raise DataError(name, [problem])
    made = {ours: stated(text) for ours, text in (constants or {}).items() if ours != "failed"}
    frame = frame.with_columns(**made)
    problems: list[str] = []
    derived: list[Note] = []
    frame, left_out = with_runner_names(with_watts_of_all(frame))
    named = with_splits(in_our_names(with_lengths(frame)))
    sent = sent_by_clients(frame.columns)
    frame = _in_our_units(named, units or {}, problems, derived, sent)
    needed = NEEDED | ({"energy_per_token_j"} if metered and not problems else set())
    if missing := sorted(needed - set(frame.columns)):
        advice = f"name a column: --column {missing[0]}=THEIRS, or a value of all rows: --column "
        advice += f"{missing[0]}==VALUE; it has {', '.join(theirs)}"
        said = f"no table of serving runs: {', '.join(missing)} missing ({advice[:400]})"
        problems.insert(0, said)
        if "energy_per_token_j" in missing:
            problems.append("energy_per_token_j follows from power_w and tokens_per_s, too: "
                            "--column power_w=THEIRS (or power_w==WATTS) "
                            "--column tokens_per_s=THEIRS")  # fmt: skip
        problems += [n.message for n in noted if n.message.startswith("left as text")]
    if problems:
        raise DataError(name, problems)
    energy, good = pl.col("energy_per_token_j"), pl.lit(value=True)
    if "energy_per_token_j" in frame.columns:
        frame = frame.with_columns(energy.cast(pl.Float64, strict=False))
        good = energy.is_finite() & (energy > 0)
    if "app" in frame.columns and not {"params", "active_params"} & set(frame.columns):
        sized = with_params(frame)
        frame = sized if sized["params"].is_not_null().any() else frame
    kept, notes = rows_where(frame, good, "energy per token is no number above 0")
    batch = pl.col("batch_cap").is_not_null()
    kept, silent = rows_where(kept, batch, "no batch is stated, nor throughput and time")
    kept, odd = rows_where(kept, pl.lit(~odd_power(kept)), ODD_POWER)
    kept, apart = rows_where(kept, ~true(kept, "disaggregated"), APART)
    kept, more = _of_this_world(kept)
    # GPUs are counted over all nodes, so that nobody later counts them by node
    kept = kept.drop(ROW, "nodes", "gpus_per_node", "disaggregated", strict=False)
    return table(
        kept, COLUMNS, [*noted, *failed, *left_out, *derived, *notes, *silent, *odd, *apart, *more]
    )


def _in_our_units(
    frame: pl.DataFrame,
    units: Mapping[str, str],
    problems: list[str],
    notes: list[Note],
    sent: str,
) -> pl.DataFrame:
    """GPUs, batch, times and energy per token from what the columns and the user say."""
    refuse_unknown(units, problems)
    if problems:
        return frame
    frame = with_gpus(with_attention_copies(frame, notes), notes)
    frame = of_all_copies(frame, units.get("batch"), problems, notes, sent)
    frame = with_times(frame, units, problems, notes)
    if not any(energy_unit(c) for c in frame.columns):  # it follows from watts and throughput
        frame = with_full_batches(frame, notes)
    return with_energy_per_token(frame, units, problems, notes)


PLAUSIBLE = {
    "gpus": (1, 1e6), "tp": (1, 1e6), "pp": (1, 1e6), "dp": (1, 1e6), "ep": (1, 1e6),
    "batch_cap": (1, 1e8), "params": (1e3, 1e16), "active_params": (1e3, 1e16),
    "itl_s": (1e-7, 1e5), "energy_per_token_j": (1e-9, 1e9),
    "prompt_tokens": (0, 1e9), "output_tokens": (0, 1e9),
}  # fmt: skip
"""What any deployment of a language model may have; beyond lies a mistake or a wrong unit."""


def _of_this_world(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows without a value that no deployment has, and what was left out by which column."""
    notes: list[Note] = []
    for name, (low, high) in PLAUSIBLE.items():
        if name in frame.columns and frame[name].dtype.is_numeric():
            value = pl.col(name)
            good = value.is_null() | value.is_between(low, high) & ~value.cast(float).is_nan()
            frame, said = rows_where(frame, good, f"{name} is not between {low:g} and {high:g}")
            notes += said
    return frame, notes
