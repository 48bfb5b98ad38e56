"""What llama.cpp's benchmarks and Ollama write, in our names.

``llama-bench`` (CSV, JSON) has a row for prompts alone and one for answers alone, one request at a
time; ``llama-batched-bench`` (JSON lines) batches of equal requests; Ollama's API one request.
None knows the watts, which stand beside as the user's own column.
"""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import rows_where
from rheostat.measurement.serving.derived_times import number

BENCH = {"n_gen", "n_prompt", "avg_ts", "model_n_params"}
BATCHED = {"pl", "pp", "tg", "t_tg", "t"}
OLLAMA = {"eval_count", "eval_duration"}
QUANTISED = r"((?:I?Q[2-8]|MXFP4|BF16|F16|F32)(?:_[0-9A-Z_]+)?)"


def with_runner_names(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """A table with our names in place of theirs, where it is one of these.

    >>> theirs = {"pl": [4], "pp": [512], "tg": [100], "t_tg": [2.0], "t": [2.5]}
    >>> runs, _ = with_runner_names(pl.DataFrame(theirs))
    >>> runs.select("batch_cap", "prompt_tokens", "output_tokens", "itl_s", "tokens_per_s").row(0)
    (4, 512, 100, 0.02, 160.0)
    """
    there = set(frame.columns)
    if there >= BENCH:
        return _bench(frame)
    if there >= BATCHED:
        tokens, batch = number("tg"), number("pl")
        # pp are tokens of prompts here, no stages of a pipeline
        return _added(frame, ("pl", "pp", "tg"), batch_cap=pl.col("pl"), prompt_tokens=pl.col("pp"),
                      output_tokens=pl.col("tg"), itl_s=number("t_tg") / tokens,
                      tokens_per_s=batch * tokens / number("t")), []  # fmt: skip
    if there >= OLLAMA:
        return _ollama(frame), []
    return frame, []


def _ollama(frame: pl.DataFrame) -> pl.DataFrame:
    """One request; how many ran beside it, the user says as ``batch_cap``."""
    tokens, spent = number("eval_count"), number("eval_duration") / 1e9
    made = {"output_tokens": pl.col("eval_count"), "itl_s": spent / tokens}
    if "prompt_eval_count" in frame.columns:
        made["prompt_tokens"] = pl.col("prompt_eval_count")
    if "prompt_eval_duration" in frame.columns:
        spent = spent + number("prompt_eval_duration").fill_null(0.0) / 1e9
    if "batch_cap" in frame.columns:
        made["tokens_per_s"] = number("batch_cap") * tokens / spent
    return _added(frame, (), **made)


def _bench(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Answers alone: tokens per second of the others count prompts."""
    alone = (number("n_gen") > 0) & (number("n_prompt") == 0)
    kept, notes = rows_where(frame, alone, "tokens of prompts are timed, no answers alone")
    made = {"params": pl.col("model_n_params"), "output_tokens": pl.col("n_gen"),
            "tokens_per_s": pl.col("avg_ts"), "batch_cap": pl.lit(1), "itl_s": 1 / number("avg_ts"),
            }  # fmt: skip
    if "n_depth" in kept.columns:  # tokens that the cache held before
        made["prompt_tokens"] = pl.col("n_depth")
    if "gpu_info" in kept.columns:
        devices = pl.col("gpu_info").cast(pl.String)
        made |= {"gpu_model": devices.str.extract(r"^([^,]*)"),
                 "gpus": devices.str.count_matches(",") + 1}  # fmt: skip
    if "model_type" in kept.columns:
        kind = pl.col("model_type").cast(pl.String)
        made |= {"app": kind, "weight_precision": kind.str.extract(QUANTISED)}
    # so many tokens of a prompt are computed at once: no batch of requests
    return _added(kept, ("n_batch", "n_ubatch"), **made), notes


def _added(frame: pl.DataFrame, less: tuple[str, ...], **ours: pl.Expr) -> pl.DataFrame:
    """The frame with our columns but those that the user named, and without some of theirs."""
    new = {name: value for name, value in ours.items() if name not in frame.columns}
    return frame.with_columns(**new).drop(less, strict=False)
