"""How many GPUs a deployment has, and how many requests all its copies may run."""

from __future__ import annotations

import math

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.serving.derived_times import number, with_times

SPLITS = ("tp", "pp", "dp")
COUNT = r"^\s*(\d{1,4})\s*[xX\u00d7*]\s*(\S.*)$"
APART = "prompts are computed on GPUs of their own (disaggregated), which the law does not know"


def with_attention_copies(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """The frame with ``tp`` of one copy and ``dp``, where copies of the attention share experts.

    SGLang's and TensorRT-LLM's ``tp`` is of all copies: a column says that the attention is data
    parallel, or ``tp`` x ``pp`` alone are all GPUs beside a ``dp`` above 1.

    >>> made = pl.DataFrame({"tp": [8, 8], "ep": [1, 8], "dp_attention": ["true", "false"]})
    >>> with_attention_copies(made, []).select("tp", "dp", "ep").rows()
    [(1.0, 8.0, 8.0), (8.0, 1.0, 8.0)]
    >>> made = pl.DataFrame({"gpus": [8, 8], "tp": [8, 4], "dp": [2, 2], "ep": [8, 8]})
    >>> with_attention_copies(made, []).select("tp", "dp").rows()
    [(4.0, 2.0), (4.0, 2.0)]
    """
    there = set(frame.columns)
    if "tp" not in there or not {"dp", "dp_attention"} & there:
        return frame
    tp, pp, dp, ep = (
        (number(s) if s in there else pl.lit(None, pl.Float64)).fill_null(1.0)
        for s in ("tp", "pp", "dp", "ep")
    )
    said = true(frame, "dp_attention")
    dp = pl.when(said & (dp == 1)).then(tp).otherwise(dp)
    gpus = number("gpus") if "gpus" in there else pl.when(said).then(tp * pp)
    shared = (dp > 1) & (tp * pp == gpus) & (tp % dp == 0)
    counted = frame.select(shared.fill_null(value=False).sum()).item()
    if not counted:
        return frame.drop("dp_attention", strict=False)
    notes.append(Note("the attention is data parallel and tp is of all copies, as SGLang counts: "
                      "tp is taken by copy, dp as the copies, experts as split over all of them",
                      count=counted))  # fmt: skip
    return frame.with_columns(
        tp=pl.when(shared).then(tp / dp).otherwise(tp), dp=dp,
        ep=pl.when(shared & (ep == 1)).then(tp).otherwise(ep),
    ).drop("dp_attention", strict=False)  # fmt: skip


def true(frame: pl.DataFrame, column: str) -> pl.Expr:
    """Where a column says yes; nowhere without it."""
    if column not in frame.columns:
        return pl.lit(value=False)
    words = pl.col(column).cast(pl.String).str.strip_chars().str.to_lowercase()
    return words.is_in(["true", "yes", "y", "on", "enabled", "1", "1.0"]).fill_null(value=False)


def with_gpus(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """The frame with ``gpus``: where not stated, of what else is there, and said so.

    These are the GPUs of its nodes, a number at their type (``8x H100``), or what its splits need.

    >>> with_gpus(pl.DataFrame({"tp": [4], "pp": [2]}), [])["gpus"].to_list()
    [8.0]
    >>> with_gpus(pl.DataFrame({"gpu_model": ["8x H100", "L4"]}), []).rows()
    [('H100', 8.0), ('L4', 1.0)]
    """
    frame, counted = _counted(frame)
    if "gpus" in frame.columns:
        return frame
    if {"nodes", "gpus_per_node"} <= set(frame.columns):
        product, words = number("nodes") * number("gpus_per_node"), "nodes x gpus_per_node"
    elif counted:
        product, words = number("_counted").fill_null(1.0), "what stands before the type of GPU"
    elif "tp" in frame.columns:
        splits = [s for s in SPLITS if s in frame.columns]
        product, words = pl.lit(1.0), " x ".join(splits)
        for split in splits:
            product = product * number(split).fill_null(1.0)
    else:
        return frame
    notes.append(Note(f"the number of GPUs is not stated: taken to be {words}"))
    return frame.with_columns(gpus=product).drop("_counted", strict=False)


def _counted(frame: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """Types of GPU without the number before them, which stands apart where there is one."""
    if "gpu_model" not in frame.columns or "gpus" in frame.columns:
        return frame, False
    parts = frame["gpu_model"].cast(pl.String).str.extract_groups(COUNT).struct
    if parts.field("1").is_null().all():
        return frame, False
    named = pl.coalesce(parts.field("2"), frame["gpu_model"].cast(pl.String), eager=True)
    return frame.with_columns(gpu_model=named, _counted=parts.field("1").cast(pl.Float64)), True


def of_all_copies(
    frame: pl.DataFrame, unit: str | None, problems: list[str], notes: list[Note], sent: str = ""
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
    sent
        The heading of the batch cap, where that is what clients sent at once.
    """
    frame, unit = _batch(frame, unit, notes)
    if {"concurrency", "batch_cap"} <= set(frame.columns):
        return _of_clients(frame, unit, notes)
    if not {"dp", "batch_cap"} <= set(frame.columns):
        return frame
    copies = number("dp").fill_null(1.0)
    if not frame.select((copies > 1).any()).item() or unit == "requests/deployment":
        return frame
    unit = unit or _unit_by_throughput(frame, notes)
    if unit is None and sent:
        notes.append(Note(f"{sent} is taken as the requests of all copies, as clients send them"))
        unit = "requests/deployment"
    if unit == "requests/deployment":
        return frame
    if unit is None:
        problems.append("batch_cap: of each copy (vLLM's max_num_seqs) or of all (dp is above 1)? "
                        "state it: --unit batch=requests/replica or "
                        "--unit batch=requests/deployment")  # fmt: skip
        return frame
    return frame.with_columns(batch_cap=number("batch_cap") * copies)


def _batch(
    frame: pl.DataFrame, unit: str | None, notes: list[Note]
) -> tuple[pl.DataFrame, str | None]:
    """The frame with ``batch_cap``, and of which copies it is where the heading says so.

    >>> _batch(pl.DataFrame({"batch_cap_all": [64]}), None, [])[1]
    'requests/deployment'
    """
    if "batch_cap" in frame.columns:
        return frame, unit
    for end, said in (("_all", "requests/deployment"), ("_each", "requests/replica")):
        if f"batch_cap{end}" in frame.columns:
            return frame.rename({f"batch_cap{end}": "batch_cap"}), said
    if "batch_size" in frame.columns:
        frame = frame.rename({"batch_size": "batch_cap"})
        notes.append(Note("batch_size is taken as the requests that run at once"))
    return frame, unit


def _of_clients(frame: pl.DataFrame, unit: str | None, notes: list[Note]) -> pl.DataFrame:
    """What ran where a server's cap stands beside its clients' concurrency: the smaller of both.

    >>> sweep = pl.DataFrame({"batch_cap": [256, 64], "concurrency": [16, 128], "dp": [1, 1]})
    >>> _of_clients(sweep, None, [])["batch_cap"].to_list()
    [16.0, 64.0]
    """
    copies = number("dp").fill_null(1.0) if "dp" in frame.columns else pl.lit(1.0)
    cap = number("batch_cap") * (1.0 if unit == "requests/deployment" else copies)
    sent = number("concurrency")
    fewer = frame.select((sent < cap).fill_null(value=False).sum()).item()
    if fewer:
        said = "as many requests ran as clients sent at once, fewer than the server takes: "
        notes.append(Note(said + "batch_cap is the smaller of both, row by row", count=fewer))
    return frame.with_columns(batch_cap=pl.min_horizontal(cap, sent)).drop("concurrency")


FULL = 1.3
"""Factor within which the requests that ran are those that may run."""


def _unit_by_throughput(frame: pl.DataFrame, notes: list[Note]) -> str | None:
    """Of what the batch cap is, where single copies ran full batches, and several did as well.

    The requests that ran are tokens per second times the time between tokens.
    """
    running = with_times(frame.drop("batch_cap"), {}, [], [])
    if "batch_cap" not in running.columns:
        return None
    over = frame.with_columns(
        _copies=number("dp").fill_null(1.0), _over=running["batch_cap"] / number("batch_cap")
    ).select("_copies", log=pl.col("_over").log())
    several = pl.col("_copies") > 1
    one, all_, each = over.select(
        one=pl.col("log").filter(~several).abs().median(),
        all=pl.col("log").filter(several).abs().median(),
        each=(pl.col("log") - pl.col("_copies").log()).filter(several).abs().median(),
    ).row(0)
    if one is None or one > math.log(FULL) or None in (all_, each):
        return None
    if min(all_, each) > math.log(FULL):
        return None
    unit = "requests/replica" if each < all_ else "requests/deployment"
    notes.append(Note(f"batch_cap is taken to be {unit}, as throughput and the time between tokens "
                      "say"))  # fmt: skip
    return unit
