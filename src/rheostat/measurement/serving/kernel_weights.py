"""What a GPU reaches when it multiplies by weights: products of layers, and experts.

Few rows of input (m <= 16) read the weights once each and show the memory's rate; many (m >= 4096)
the arithmetic's.  Of a mixture of experts, `tokens` tokens with ``topk`` of ``num_experts`` experts
each touch a share 1 - (1 - topk / num_experts)^tokens of the weights, where all are as likely.
Power of short kernels is read from two levels by turns, so medians are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.measurement.serving.kernel_files import WEIGHT_B, by_format, kernel_frame, median

LARGE = (50e6, 800e6)
"""Bytes of weights of the products looked at: a layer's, neither in caches nor of a vocabulary."""
FEW, MANY, TINY = 16, 4096, 1e6
TOKENS = (9, 256)
"""Tokens of a step that touch many experts and give none of them much to compute."""
GATED = 3.0
"""Matrices of an expert: gate, up and down."""


@dataclass(frozen=True)
class WeightRates:
    """Rates of products with weights of one width; what was not measured is NaN.

    ``source`` says which engine and format; ``idle_w`` is the power beside the shortest kernels.
    """

    source: str
    memory_b_per_s: float
    flop_per_s: float = float("nan")
    idle_w: float = float("nan")
    moving_w: float = float("nan")
    computing_w: float = float("nan")


def read_products(files: Sequence[Path], notes: list[str]) -> dict[str, dict[int, WeightRates]]:
    """Rates of matrix products of each device, by the bits of a weight."""
    made: dict[str, dict[int, WeightRates]] = {}
    frame = kernel_frame(files, ("gemm_dtype", "m", "n", "k"), notes)
    for device, bits, source, rows in by_format(frame, "gemm_dtype"):
        weights = rows["n"] * rows["k"]
        large = rows.filter((weights * WEIGHT_B[bits]).is_between(*LARGE))
        few, many = large.filter(pl.col("m") <= FEW), large.filter(pl.col("m") >= MANY)
        if not len(few) or not len(many):
            continue
        tiny = rows.filter(weights < TINY, rows["m"] <= FEW)["power"].drop_nulls()
        idle = tiny.quantile(0.1)
        made.setdefault(device, {})[bits] = WeightRates(
            source,
            median(few["n"] * few["k"] * WEIGHT_B[bits] / few["seconds"]),
            median(2.0 * many["m"] * many["n"] * many["k"] / many["seconds"]),
            float("nan") if idle is None else float(idle),
            median(few["power"]), median(many["power"]),
        )  # fmt: skip
    return made


def read_experts(files: Sequence[Path], notes: list[str]) -> dict[str, dict[int, WeightRates]]:
    """Rate at which the experts that tokens touch are read, of each device, by bits of a weight."""
    made: dict[str, dict[int, WeightRates]] = {}
    shape = ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size",
             "moe_ep_size")  # fmt: skip
    frame = kernel_frame(files, ("moe_dtype", *shape), notes)
    frame = frame.filter(pl.col("num_tokens").is_between(*TOKENS))
    expert = GATED * pl.col("hidden_size") * pl.col("inter_size") / pl.col("moe_tp_size")
    touched = 1.0 - (1.0 - pl.col("topk") / pl.col("num_experts")).pow(pl.col("num_tokens"))
    frame = frame.with_columns(
        read=expert * pl.col("num_experts") / pl.col("moe_ep_size") * touched
    )
    for device, bits, source, rows in by_format(frame, "moe_dtype"):
        fastest = rows.group_by(*shape).agg(pl.col("seconds").min(), pl.col("read").first())
        large = fastest.filter(pl.col("read") * WEIGHT_B[bits] >= LARGE[0])
        if len(large):
            rate = median(large["read"] * WEIGHT_B[bits] / large["seconds"])
            made.setdefault(device, {})[bits] = WeightRates(source, rate)
    return made
