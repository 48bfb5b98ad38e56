"""Columns of serving tables in the names of whoever wrote them, given ours.

``gpu``, ``num_gpus``, ``max_num_seqs``, ``itl_ms`` or ``watts_per_gpu`` are known; a plain
``batch_size`` is not, since it may be the batch that ran and not the most that may run.
"""

from __future__ import annotations

import re

import polars as pl

_TIME = r"(_(?P<unit>s|ms|us))?"
_LATENCY = r"(itl|tpot|inter_token_latency|time_per_output_token|time_between_tokens)"
_PER_S = r"(_?per_?s(ec(ond)?)?|_s|ps)"
THEIRS = {
    "app": r"model(_id|_name)?|served_model",
    "gpu_model": r"(gpu|accelerator|hardware|hw|chip)(_type|_name)?",
    "gpus": r"(num(ber_of)?_?|n_?)(gpus?|accelerators|chips)|gpu_count",
    "batch_cap": r"max_(num_seqs|batch(_size)?|concurrency|running_requests)|conc(urrency)?",
    "itl_s": rf"(p50_|median_|mean_|avg_)?{_LATENCY}{_TIME}",
    "tokens_per_s": rf"(output_|generated_|decode_)?(throughput_)?tok(en)?s?{_PER_S}"
                    r"|output_throughput",
    "energy_per_token_j": r"(j|joules?|energy)_per_(output_)?token(_j)?",
    "energy_per_request_j": r"(j|joules?|energy)_per_request(_j)?",
    "power_w": r"(avg_|mean_)?watts?|(avg_|mean_)power(_w)?",
    "power_w_gpu": r"(avg_|mean_)?(watts?|power(_w)?)_per_gpu(_w)?|gpu_power(_w)?",
}  # fmt: skip
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def in_our_names(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with our names in place of others'; a column that has one of ours stands.

    Parameters
    ----------
    frame : DataFrame
        As it was read.

    Returns
    -------
    DataFrame
        Times in seconds; power of one GPU made that of all where their number is there.

    Examples
    --------
    >>> theirs = pl.DataFrame({"GPU": ["H100"], "num_gpus": [2], "itl_ms": [9.0], "watts": [600]})
    >>> in_our_names(theirs).to_dicts()
    [{'gpu_model': 'H100', 'gpus': 2, 'itl_s': 0.009000000000000001, 'power_w': 600}]
    """
    for column in frame.columns:
        name = re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")
        for ours, pattern in THEIRS.items():
            match = re.fullmatch(pattern, name)
            if match is None or ours in frame.columns:
                continue
            frame = frame.rename({column: ours})
            unit = match.groupdict().get("unit")
            if unit and unit != "s":
                number = pl.col(ours).cast(pl.Float64, strict=False)
                frame = frame.with_columns((number * SECONDS[unit]).alias(ours))
    if "power_w_gpu" in frame.columns and "gpus" in frame.columns:
        one, count = (pl.col(c).cast(pl.Float64, strict=False) for c in ("power_w_gpu", "gpus"))
        frame = frame.with_columns(power_w=one * count).drop("power_w_gpu")
        if "energy_per_token_j" not in frame.columns and "tokens_per_s" in frame.columns:
            speed = pl.col("tokens_per_s").cast(pl.Float64, strict=False)
            frame = frame.with_columns(energy_per_token_j=pl.col("power_w") / speed)
    return frame


def our_names(columns: set[str]) -> set[str]:
    """Our names of what a table's columns are called.

    Parameters
    ----------
    columns : set of str
        Theirs.

    Returns
    -------
    set of str
        Ours, where they are known, and theirs.
    """
    empty = pl.DataFrame(schema=dict.fromkeys(sorted(columns), pl.String))
    return set(in_our_names(empty).columns)
