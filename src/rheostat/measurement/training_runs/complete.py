"""What a table of training runs says in other words: the step from the pass, bits from their names.

Nothing is invented: a step that cannot be computed is an error that says what is missing, memory
without a unit is left out and noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.units import parse_quantity
from rheostat.errors import DataError
from rheostat.measurement.training_columns import COLUMNS

BATCH_HERE, RATE, FIT = "batch_per_gpu", "samples_per_s", "fit_s"
"""What tables have instead: the batch of each GPU, throughput, the time of the whole training."""
OURS = {c.name: c for c in COLUMNS}
NAMED_BITS = {"amp": 16, "mixed": 16, "half": 16, "true": 16, "single": 32, "full": 32, "false": 32,
              "double": 64}  # fmt: skip
BYTES_FROM = 1e6
"""Memory without a unit is in bytes from here: less is no training step, more MiB no device."""
_STEPS = (pl.col("samples") / pl.col("batch_size")).ceil()
STEP_FROM: tuple[tuple[str, tuple[str, ...], pl.Expr], ...] = (
    (RATE, ("batch_size",), pl.col("batch_size") / pl.col(RATE)),
    ("epoch_s", ("samples", "batch_size"), pl.col("epoch_s") / _STEPS),
    (FIT, ("samples", "batch_size", "epochs"), pl.col(FIT) / (pl.col("epochs") * _STEPS)),
)
"""What tells the time of a step, what it needs beside, and how."""


def completed(
    jobs: JobTable, taken: Mapping[str, Mapping[str, Any]], *, batch_of_each: bool = False
) -> JobTable:
    """The runs with the words that models know.

    Parameters
    ----------
    jobs : JobTable
        Under our names, with text as it stood.
    taken : mapping
        Ours to theirs, for messages.
    batch_of_each : bool
        Whether ``batch_size`` is that of each GPU.

    Returns
    -------
    JobTable
        ``precision_bits``, ``image_px`` and ``memory_peak_b`` as numbers, ``batch_size`` of all
        GPUs, ``runtime_s`` of one step where that follows from what is there, ``device`` always.

    Raises
    ------
    DataError
        Throughput, passes or the whole training are there, but not what makes them steps.
    """
    jobs = _numbers(jobs, taken)
    if batch_of_each and "gpus" in jobs.columns:
        whole = pl.col("batch_size") * pl.col("gpus").fill_null(1)
        jobs = jobs.with_columns([], batch_size=whole).noted(
            Note("batch_size is that of all GPUs: what each had, times gpus")
        )
    jobs = _step_time(jobs, taken)
    if "device" not in jobs.columns and "app" in jobs.columns:
        jobs = jobs.with_columns([OURS["device"]], device="unnamed").noted(
            Note("no column says the device: all runs count as of one, device=unnamed")
        )
    return jobs.select([c for c in jobs.columns if c not in (RATE, FIT)])


def bits_of(text: str) -> int | None:
    """Bits of a number by the name of its type; None for what is none.

    >>> [bits_of(t) for t in ("bf16", "FP32", "AMP", "mixed", "true", "float64", "x")]
    [16, 32, 16, 16, 16, 64, None]
    """
    number = re.search(r"\d+", text)
    return int(number[0]) if number else NAMED_BITS.get(text.strip().lower())


def bytes_of(text: str) -> float | None:
    """Bytes in ``11 GiB`` or ``6.1GB``; None for what is no amount.

    >>> bytes_of("11GiB") == 11 * 2**30, bytes_of("6.1 GB"), bytes_of("OOM")
    (True, 6100000000.0, None)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT])iB?\s*", text)
    if match:
        return float(match[1]) * 2.0 ** (10 * (1 + "KMGT".index(match[2])))
    try:
        return parse_quantity(text, "B") if re.search(r"[A-Za-z]\s*$", text) else None
    except DataError:
        return None


def _pixels(text: str) -> int | None:
    """The edge in ``224x224`` or ``3x224x224``."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    return max(numbers, default=None) if len(set(numbers) - {1, 3}) == 1 else None


def _numbers(jobs: JobTable, taken: Mapping[str, Mapping[str, Any]]) -> JobTable:
    """Text as the numbers it stands for; what is none is null and noted."""
    readers: dict[str, Callable[[str], float | None]] = {
        "precision_bits": bits_of, "memory_peak_b": bytes_of, "image_px": _pixels,
    }  # fmt: skip
    for name in (n for n in readers if n in jobs.columns):
        cells = jobs.frame[name]
        if not cells.dtype.is_numeric():
            text = cells.cast(pl.String)
            values = [None if c is None else readers[name](c) for c in text]
            kind = pl.Float64 if name == "memory_peak_b" else pl.Int64
            jobs = jobs.with_columns([OURS[name]], **{name: pl.Series(name, values, kind)})
            lost = [i for i, (c, v) in enumerate(zip(text, values, strict=True)) if c and v is None]
            if lost:
                said = f"{name}: {text[lost[0]]!r} is not understood, null"
                jobs = jobs.noted(Note(said, tuple(lost[:20]), len(lost)))
        elif name == "memory_peak_b" and (cells.drop_nulls() < BYTES_FROM).any():
            theirs = taken.get(name, {}).get("from", name)
            jobs = jobs.select([c for c in jobs.columns if c != name]).noted(
                Note(f"{theirs} is not learned from: its unit is not known; "
                     "expected a name such as memory_gib, or cells such as 11 GiB")
            )  # fmt: skip
    return jobs


def _step_time(jobs: JobTable, taken: Mapping[str, Mapping[str, Any]]) -> JobTable:
    """``runtime_s`` of one step, from the first of `STEP_FROM` that is there."""
    if "runtime_s" in jobs.columns:
        return jobs
    for source, needs, step in (s for s in STEP_FROM if s[0] in jobs.columns):
        theirs = taken.get(source, {}).get("from", source)
        if lacking := [n for n in needs if n not in jobs.columns]:
            problem = f"the time of a step follows from {theirs} with {', '.join(needs)}"
            expected = f"expected columns {', '.join(lacking)} too, or the time of a step"
            raise DataError("training runs", [f"{problem}; {expected}: --column runtime_s=NAME"])
        jobs = jobs.with_columns([OURS["runtime_s"]], runtime_s=step)
        return jobs.noted(Note(f"runtime_s of a step is made from {', '.join((theirs, *needs))}"))
    return jobs
