"""Generated measurements and requests of served language models, with the law that made them.

Five made-up models on A100, H100 and B200.  A step reads the weights once and the cache of each
request, joins the GPUs, and waits for the host; watts rise with the batch.  Lengths of answers
follow from what a prompt asks for, not from how long it is.

Notation
--------
P  parameters      G  GPUs      B  batch cap      m, w  memory bandwidth (bytes/s), watts of a GPU
t = 0.004 + 2 P / (0.7 m G) + 2e7 B sqrt(P / 1e9) / (m G) + 0.0005 log2 G
E = G w (0.25 + 0.6 min(1, (B / 256)^0.5)) t / B
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

GPUS = {"A100": (2.04e12, 400.0), "H100": (3.35e12, 700.0), "B200": (8.0e12, 1000.0)}
"""Bytes per second of memory, and watts."""
BILLIONS = (1, 3, 8, 32, 70)
BATCHES = (8, 16, 32, 64, 128, 256, 512)
MEASURED = 0.6
NOISE = 0.03
"""Of the configurations that fit; the others are left to a law."""
TASKS = (
    ("Answer yes or no: is {} related to {}?", 3.0),
    ("Name one word for {} and {}.", 4.0),
    ("Translate into French: {} and {}.", 18.0),
    ("Summarise in two sentences what {} has to do with {}.", 50.0),
    ("List ten facts on {} and {}.", 160.0),
    ("Explain step by step how {} leads to {}.", 320.0),
    ("Write a long story in which {} meets {}.", 900.0),
)
"""What is asked for, and the median tokens of its answer."""
WORDS = ("copper", "rivers", "taxes", "winter", "music", "engines", "bread", "satellites", "chess",
         "granite", "vaccines", "harbours", "bees", "glass", "maps", "turbines")  # fmt: skip


def serving_runs(*, seed: int = 0) -> pl.DataFrame:
    """Measured configurations, a row each; noise is 3 %.

    >>> runs = serving_runs()
    >>> len(runs), runs["gpu_model"].unique().sort().to_list()
    (229, ['A100', 'B200', 'H100'])
    """
    rng = np.random.default_rng(seed)
    rows = [
        {"app": f"m{billions}", "params": billions * 1e9, "gpu_model": gpu, "gpus": gpus,
         "batch_cap": batch, "itl_s": itl_s * rng.lognormal(0.0, NOISE),
         "energy_per_token_j": energy_j * rng.lognormal(0.0, NOISE)}
        for billions in BILLIONS for gpu in GPUS for gpus in (1, 2, 4, 8)
        if 2 * billions <= 70 * gpus
        for batch in BATCHES if rng.random() < MEASURED
        for itl_s, energy_j in [true_cost(billions * 1e9, gpu, gpus, batch)]
    ]  # fmt: skip
    return pl.DataFrame(rows).with_columns(pl.col("itl_s", "energy_per_token_j").round_sig_figs(4))


def true_cost(params: float, gpu: str, gpus: int, batch: int) -> tuple[float, float]:
    """Time between tokens (s) and energy per token (J), without noise."""
    bandwidth, rated_w = GPUS[gpu]
    cache_s = 2e7 * batch * (params / 1e9) ** 0.5 / (bandwidth * gpus)
    itl_s = 0.004 + 2 * params / (0.7 * bandwidth * gpus) + cache_s + 0.0005 * np.log2(gpus)
    power_w = gpus * rated_w * (0.25 + 0.6 * min(1.0, (batch / 256) ** 0.5))
    return float(itl_s), float(power_w * itl_s / batch)


def request_log(count: int = 1500, *, seed: int = 0) -> list[dict[str, Any]]:
    """Answered requests in the style of OpenAI's API, with when they came; every minute a burst.

    >>> first = request_log(2)[0]
    >>> sorted(first), sorted(first["usage"])
    (['messages', 'submit_s', 'usage'], ['completion_tokens', 'prompt_tokens'])
    """
    rng = np.random.default_rng(seed)
    at_s, rows = 0.0, []
    for _ in range(count):
        at_s += rng.exponential(1 / 30 if at_s % 60 < 20 else 1 / 8)
        task, median = TASKS[rng.integers(len(TASKS))]
        context = " ".join(rng.choice(WORDS, rng.integers(0, 150)))
        prompt = f"{context} {task.format(*rng.choice(WORDS, 2))}".strip()
        usage = {"prompt_tokens": round(1.3 * len(prompt.split())) + 4,
                 "completion_tokens": max(1, round(median * rng.lognormal(0.0, 0.5)))}  # fmt: skip
        rows.append({"submit_s": round(at_s, 3), "usage": usage,
                     "messages": [{"role": "user", "content": prompt}]})  # fmt: skip
    return rows
