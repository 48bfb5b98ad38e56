"""How many GPUs a deployment has, and how many requests all its copies may run."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.serving.derived_times import number

SPLITS = ("tp", "pp", "dp")


def with_gpus(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """The frame with ``gpus``: where not stated, what its splits need, and said so.

    >>> with_gpus(pl.DataFrame({"tp": [4], "pp": [2]}), [])["gpus"].to_list()
    [8.0]
    """
    splits = [s for s in SPLITS if s in frame.columns]
    if "gpus" in frame.columns or "tp" not in splits:
        return frame
    product = pl.lit(1.0)
    for split in splits:
        product = product * number(split).fill_null(1.0)
    said = f"the number of GPUs is not stated: taken to be {' x '.join(splits)}"
    notes.append(Note(said))
    return frame.with_columns(gpus=product)


def of_all_copies(
    frame: pl.DataFrame, unit: str | None, problems: list[str], notes: list[Note]
) -> pl.DataFrame:
    """The batch cap of all copies, which some engines state for each of them.

    Parameters
    ----------
    frame
        Columns by our names.
    unit
        ``requests/replica`` or ``requests/deployment``, where it was stated.
    problems, notes
        What has to be stated, and what is taken for what, is added here.
    """
    if "batch_size" in frame.columns and "batch_cap" not in frame.columns:
        frame = frame.rename({"batch_size": "batch_cap"})
        notes.append(Note("batch_size is taken as the requests that run at once"))
    if not {"dp", "batch_cap"} <= set(frame.columns):
        return frame
    copies = number("dp").fill_null(1.0)
    if not frame.select((copies > 1).any()).item() or unit == "requests/deployment":
        return frame
    if unit is None:
        problems.append("batch_cap: of each copy (vLLM's max_num_seqs) or of all (dp is above 1)? "
                        "state it: --unit batch=requests/replica or "
                        "--unit batch=requests/deployment")  # fmt: skip
        return frame
    return frame.with_columns(batch_cap=number("batch_cap") * copies)
