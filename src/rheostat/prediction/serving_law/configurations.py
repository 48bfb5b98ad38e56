"""Serving configurations as arrays: what a law reads of each row, with what it may leave out."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment
from rheostat.errors import DataError
from rheostat.prediction.accelerators import accelerators

Array = NDArray[np.float64]

NEEDED = ("gpu_model", "gpus", "batch_cap", "params", "app")
RATES = ("memory_b_per_s", "flop_per_s", "power_w", "link_b_per_s")
BYTES = {"bfloat16": 2.0, "float16": 2.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0,
         "mxfp4": 0.53125, "nvfp4": 0.5625, "fp4": 0.5, "int4": 0.5, "float32": 4.0, "fp32": 4.0,
         "none": 2.0, "w8a8": 1.0, "w8a16": 1.0, "awq": 0.53125, "gptq": 0.53125,
         "w4a16": 0.53125, "nf4": 0.5, "q2": 0.4, "q3": 0.49, "q4": 0.6, "q5": 0.71, "q6": 0.82,
         "q8": 1.0625}  # fmt: skip
"""Bytes of one weight; the block formats carry their scales (8 bits per 32, or per 16 weights), as
those of 4 bits in groups of 128 do, of which AWQ and GPTQ are; none is no quantisation.  ``q2`` to
``q8`` are llama.cpp's, at the size of their middle variant."""
LLAMA_CPP = re.compile(r"i?q([2-68])_[0-9a-z_]+([ -]+(small|medium|large))?")
METHODS = re.compile(
    r"(awq|gptq|nf4|bnb_nf4|w4a16)([_-]?(marlin|int4|4[_-]?bits?))?|(u?int4|4[_-]?bits?|int4[_-](awq|gptq))"
    r"|(?P<eight>(gptq|awq)[_-](int8|8[_-]?bits?)|w8a8|w8a16|8[_-]?bits?|fp8[_-]?e4m3)"
)
"""Names of methods and of widths; AWQ and GPTQ are 4 bits unless they say 8."""


@dataclass(frozen=True)
class Configurations:
    """Rows of a table of serving runs; every array is (n,).

    ``prompt`` and ``output``, tokens of a prompt and of its answer, are NaN where they were not
    said before the run.  ``kind`` is the architecture, told apart by whether a token uses a part of
    the parameters.
    """

    gpus: Array
    pp: Array
    ep: Array
    dp: Array
    batch: Array
    cap_w: Array
    prompt: Array
    output: Array
    params: Array
    active: Array
    weight_b: Array
    memory_b_per_s: Array
    flop_per_s: Array
    power_w: Array
    link_b_per_s: Array
    gpu: NDArray[np.str_]
    app: NDArray[np.str_]
    workload: NDArray[np.str_]
    kind: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.gpus)

    def of_rows(self, rows: NDArray[Any]) -> Configurations:
        """Some of the rows."""
        return Configurations(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    @property
    def split(self) -> Array:
        """GPUs that a layer of one copy is split over, (n,)."""
        return self.gpus / (self.pp * self.dp)

    @property
    def experts_split(self) -> Array:
        """GPUs that the experts are split over, which several copies may share, (n,)."""
        together = np.clip(self.ep, self.split, self.gpus / self.pp)
        return np.where(self.active < self.params, together, self.split)

    @property
    def copies(self) -> Array:
        """How often the weights are held, (n,); of a mixture the experts, which are most of it."""
        return self.gpus / (self.pp * self.experts_split)

    @staticmethod
    def of(jobs: JobTable) -> Configurations:
        """Read ``jobs``; every problem of every column in one `DataError`."""
        jobs.require(*NEEDED)
        frame = jobs.frame
        devices = accelerators(frame["gpu_model"].cast(pl.String).to_list())
        problems: list[str] = []
        numbers = {c: _positive(frame, c, problems) for c in ("gpus", "batch_cap", "params")}
        ones = np.ones(len(frame))
        pp, ep = (_positive(frame, c, problems, ones) for c in ("pp", "ep"))
        dp = _positive(frame, "dp", problems, _copies(frame, numbers["gpus"] / pp, ep))
        dp = np.clip(dp, 1.0, numbers["gpus"] / pp)
        rated = np.array([d.power_w for d in devices], dtype=float)
        cap_w = np.minimum(_positive(frame, "power_cap_w", problems, rated), rated)
        unstated = np.full(len(frame), np.nan)
        prompt, output = (
            _positive(frame, c, problems, unstated) if _known(jobs, c) else unstated
            for c in ("prompt_tokens", "output_tokens")
        )
        active = _positive(frame, "active_params", problems, numbers["params"])
        width = _width(frame, problems)
        if problems:
            raise DataError("serving configurations", problems)

        def names(column: str) -> NDArray[np.str_]:
            kept = column in frame.columns
            values = frame[column].cast(pl.String).fill_null("").to_list() if kept else None
            return np.array(values if values is not None else [""] * len(frame), dtype=np.str_)

        rates = {f: np.array([getattr(d, f) for d in devices], dtype=float) for f in RATES}
        mixture = np.where(active < numbers["params"], "mixture", "")
        return Configurations(
            numbers["gpus"], pp, ep, dp, numbers["batch_cap"], cap_w, prompt, output,
            numbers["params"], np.minimum(active, numbers["params"]), width, **rates,
            gpu=names("gpu_model"), app=names("app"), workload=names("workload"),
            kind=np.strings.add(names("architecture"), mixture),
        )  # fmt: skip


def _known(jobs: JobTable, column: str) -> bool:
    """Whether the column is there and says what was set before the run."""
    return column in jobs.columns and jobs.schema[column].known <= Moment.SUBMIT


def _copies(frame: pl.DataFrame, gpus: Array, ep: Array) -> Array:
    """Copies of the model where none are stated: GPUs that neither layers nor experts need."""
    if "tp" not in frame.columns:
        return np.ones(len(frame))
    tp = frame["tp"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    copies = gpus / np.where(np.isfinite(tp) & (tp > 0), tp, gpus)
    return np.where((ep <= 1) & (copies % 1 == 0), copies, 1.0)


def _positive(
    frame: pl.DataFrame, column: str, problems: list[str], missing: Array | None = None
) -> Array:
    """The column as positive numbers; where it is absent or null, ``missing``."""
    n = len(frame)
    if column not in frame.columns:
        return np.ones(n) if missing is None else missing
    values = frame[column].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    if missing is not None:
        values = np.where(np.isnan(values), missing, values)
    blank = np.isnan(values) if missing is not None else np.zeros(n, dtype=bool)
    odd = np.flatnonzero(~(np.isfinite(values) & (values > 0)) & ~blank)
    if len(odd):
        problems.append(f"{column}: expected numbers above 0, got {values[odd[0]]} in row {odd[0]}")
    return np.asarray(values, dtype=float)


def precision_of(text: str) -> str:
    """The format by its name in `BYTES`, where the text is one or names a method; else the text.

    >>> [precision_of(t) for t in ("BF16", "awq", "AWQ-INT4", "gptq_marlin", "gptq-int8", "q17")]
    ['bf16', 'awq', 'awq', 'gptq', 'int8', 'q17']
    >>> [precision_of(t) for t in ("torch.bfloat16", "Q4_K_M", "q8_0", "IQ3_XXS", "Q4_K - Medium")]
    ['bfloat16', 'q4', 'q8', 'q3', 'q4']
    """
    said = text.strip().lower().removeprefix("torch.")
    if (own := LLAMA_CPP.fullmatch(said)) is not None:
        return f"q{own[1]}"
    if said in BYTES or (match := METHODS.fullmatch(said)) is None:
        return said
    if match["eight"]:
        return "int8"
    return next((method for method in ("awq", "gptq") if method in said), "int4")


def _width(frame: pl.DataFrame, problems: list[str]) -> Array:
    """Bytes per weight; 2 where nothing is said."""
    if "weight_precision" not in frame.columns:
        return np.full(len(frame), 2.0)
    texts = frame["weight_precision"].cast(pl.String).fill_null("bfloat16")
    said = [precision_of(t) for t in texts]
    unknown = sorted(set(said) - set(BYTES))
    if unknown:
        problems.append(
            f"weight_precision: expected one of {', '.join(BYTES)}, got {', '.join(unknown)}"
        )
    return np.array([BYTES.get(s, 2.0) for s in said])
