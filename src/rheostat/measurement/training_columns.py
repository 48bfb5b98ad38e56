"""The words of training runs: columns of a table with a row per measured configuration."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.vocabulary import table
from rheostat.measurement.checks import rows_where

_S, _E = Moment.SUBMIT, Moment.END
COLUMNS = (
    Column("device", "", _S, "accelerator or processor that trains"),
    Column("app", "", _S, "network, or kind of network or layer"),
    Column("image_px", "", _S, "edge of a square image in pixels"),
    Column("batch_size", "", _S, "samples of one step"),
    Column("classes", "", _S, "outputs of the network"),
    Column("samples", "", _S, "samples of one pass over the data"),
    Column("optimizer", "", _S, "optimizer; none where nothing is trained"),
    Column("activation", "", _S, "function behind the layer"),
    Column("precision_bits", "", _S, "bits of a number"),
    Column("epochs", "", _S, "passes over the data"),
    Column("params", "", _S, "parameters of the network"),
    Column("input_size", "", _S, "features, pixels or tokens of one sample"),
    Column("width", "", _S, "features of a hidden layer"),
    Column("depth", "", _S, "hidden layers or blocks"),
    Column("heads", "", _S, "attention heads"),
    Column("channels_in", "", _S, "channels of the input"),
    Column("channels_out", "", _S, "channels of the output"),
    Column("kernel_px", "", _S, "edge of the kernel in pixels"),
    Column("stride", "", _S, "stride of the kernel"),
    Column("padding", "", _S, "whether the input is padded to its own size"),
    Column("use_bias", "", _S, "whether a bias is added"),
    Column("gpu_index", "", _S, "which GPU of the machine"),
    Column("instance", "", _S, "type of the cloud machine"),
    Column("flops", "", _S, "floating-point operations of one step, by the compiler"),
    Column("bytes_accessed", "", _S, "bytes read and written in one step, by the compiler"),
    Column("transcendentals", "", _S, "transcendental operations of one step, by the compiler"),
    Column("graph", "", _S, "file with the graph of operations, and #row in it"),
    Column("experiment", "", _S, "repetition of the same runs"),
    Column("runtime_s", "s", _E, "one training step"),
    Column("runtime_min_s", "s", _E, "the fastest of the repeated steps"),
    Column("runtime_max_s", "s", _E, "the slowest of the repeated steps"),
    Column("runtime_std_s", "s", _E, "standard deviation of the repeated steps"),
    Column("wall_s", "s", _E, "one training step by the clock, other processes included"),
    Column("epoch_s", "s", _E, "one pass over the data"),
    Column("memory_peak_b", "B", _E, "arguments, results and temporary arrays of one step"),
)


def training_table(frame: pl.DataFrame, notes: Sequence[Note] = ()) -> JobTable:
    """The rows whose step took a time above 0; the others are noted."""
    good = pl.col("runtime_s").is_finite() & (pl.col("runtime_s") > 0)
    kept, said = rows_where(frame, good, "runtime is no number above 0")
    return table(kept, COLUMNS, [*notes, *said])


def number(name: str, scale: float = 1.0) -> pl.Expr:
    """A column of theirs as float64, null where it is no number."""
    return pl.col(name).cast(pl.Float64, strict=False) * scale
