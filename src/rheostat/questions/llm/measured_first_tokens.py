"""First tokens as runs measured them: how far the law's arithmetic is off, by model and GPU.

The law knows how fast steps are, and of prompts the arithmetic alone.  Where runs say how long the
first token took (`ttft_s` and `prompt_tokens`), the ratios of these to the law's own figure are
its error, and a setting's first token is the law's times a draw of such a ratio: of runs of the
same model and GPU, else of the GPU, else of all, `FEWEST` at least.

    log ratio of a new run = mean + t(n - 1) s sqrt(1 + 1 / n)        (Student, of n logarithms)

Where a batch is begun together, or requests come faster than they are served, the first token
waits for the prompts of others: where ratios rise with the batch, the mean is a line over its
logarithm.  Draws end at `TAIL`, as exponentials of Student's tails have no mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.law import token_s
from rheostat.prediction.serving_law.parameter_draws import parameter_draws

FEWEST = 3
TAIL = 0.02
STEADIER = 0.7
"""A line over the batch leaves so much of the spread, or is none."""
WIDEST = np.log(4.0)
"""The batches of runs differ by that factor at least, for a line."""
NEEDED = ("ttft_s", "prompt_tokens", "itl_s")


def measured_first_tokens(law: ServingLaw, runs: JobTable) -> pl.DataFrame:
    """``app``, ``gpu_model`` and the logarithm of measured over the law's own first token.

    Parameters
    ----------
    law : ServingLaw
        Fitted.
    runs : JobTable
        Those without a measured first token, prompt length or step are left out.

    Returns
    -------
    polars.DataFrame
        A row per run that says it; none where a column is missing.
    """
    if not set(NEEDED) <= set(runs.columns):
        schema = {"app": pl.String, "gpu_model": pl.String, "log": pl.Float64, "batch": pl.Float64}
        return pl.DataFrame(schema=schema)
    given = [runs.frame[c].cast(pl.Float64, strict=False).to_numpy() for c in NEEDED]
    known = np.flatnonzero(np.all([g > 0 for g in given], axis=0))
    some = runs.rows(known)
    first, prompt, step = (g[known] for g in given)
    own = step + prompt * first_token_s(law, some)
    log = np.log(first / own) if len(known) else np.zeros(0)
    names = some.frame.select(pl.col("app", "gpu_model").cast(pl.String))
    return names.with_columns(log=log, batch=_batch(some))


def first_token_s(law: ServingLaw, settings: JobTable) -> Array:
    """Seconds (n,) of one token of a prompt by the law, in the median."""
    at = Configurations.of(settings)
    if not len(settings):
        return np.zeros(0)
    compute = np.median(parameter_draws(law, "compute", at, law.n_draws), axis=0)
    return np.asarray(token_s(compute[None], at)[0])


def ratio_draws(
    measured: pl.DataFrame, settings: JobTable, draws: int, seed: int = 0
) -> tuple[Array, Array]:
    """(draws (draws, n) of measured over the law's own first token, runs behind each (n,)).

    NaN and 0 where too few runs measured it.
    """
    even = (np.arange(draws) + 0.5) / draws
    even = np.random.default_rng(seed).permutation(even)
    made = np.full((draws, len(settings)), np.nan)
    behind = np.zeros(len(settings), int)
    pairs = settings.frame.select(pl.col("app", "gpu_model").cast(pl.String)).rows()
    batches = _batch(settings)
    for k, (app, gpu) in enumerate(pairs):
        logs, ran = _of(measured, app, gpu)
        if len(logs) >= FEWEST:
            made[:, k] = np.exp(_predictive(logs, ran, batches[k], np.clip(even, TAIL, 1 - TAIL)))
            behind[k] = len(logs)
    return made, behind


def _batch(runs: JobTable) -> Array:
    """Logarithm of the batch (n,); NaN where it is not known."""
    if "batch_cap" not in runs.columns:
        return np.full(len(runs), np.nan)
    cap = runs.frame["batch_cap"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.log(np.where(cap > 0, cap, np.nan))


def _of(measured: pl.DataFrame, app: str, gpu: str) -> tuple[Array, Array]:
    """Logarithms of ratios and batches of the most alike runs of which there are enough."""
    model, device = pl.col("app") == app, pl.col("gpu_model") == gpu
    for alike in (model & device, device, pl.lit(value=True)):
        there = measured.filter(alike)
        if len(there) >= FEWEST:
            return there["log"].to_numpy(), there["batch"].to_numpy()
    return np.zeros(0), np.zeros(0)


def _predictive(logs: Array, ran: Array, batch: float, even: Array) -> Array:
    """Quantiles of the next logarithm at a batch, of ``logs`` at batches ``ran`` (logarithms).

    >>> even, ran = np.array([0.05, 0.95]), np.log([1, 4, 16, 64])
    >>> _predictive(np.log([2.0, 2.0, 2.0]), ran[:3], 0.0, even).round(3).tolist()
    [0.693, 0.693]
    >>> np.exp(_predictive(ran, ran, np.log(32), even)).round(6).tolist()
    [32.0, 32.0]
    """
    from scipy.special import stdtrit

    n, spread = len(logs), float(logs.std(ddof=1))
    if n > FEWEST and np.isfinite(ran).all() and np.isfinite(batch) and np.ptp(ran) >= WIDEST:
        away = ran - ran.mean()
        slope = float(away @ logs / (away @ away))
        left = logs - logs.mean() - slope * away
        steady = float(np.sqrt(left @ left / (n - 2)))
        if steady < STEADIER * spread:
            at = batch - ran.mean()
            wide = steady * np.sqrt(1 + 1 / n + at**2 / (away @ away))
            return np.asarray(logs.mean() + slope * at + stdtrit(n - 2, even) * wide)
    return np.asarray(logs.mean() + stdtrit(n - 1, even) * spread * np.sqrt(1 + 1 / n))


def words(behind: Sequence[int] | Array) -> str:
    """What a plan says of it."""
    runs = (
        f"{min(behind):,}" if min(behind) == max(behind) else f"{min(behind):,} to {max(behind):,}"
    )
    return f"first tokens: the law's own, corrected by the measured ones of {runs} runs"
