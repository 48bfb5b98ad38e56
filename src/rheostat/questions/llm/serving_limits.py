"""Time to the first token and memory of serving configurations, so that a plan can limit them.

Notation
--------
B  batch cap    G  GPUs    p  tokens of a prompt    c  tokens of a running request
first token = p 2 A / (G F compute) + one step: of a request that finds a place at once; compute is
    the law's, no measurement, so that measured rows have intervals of it, too; corrected where
    runs measured first tokens (`measured_first_tokens`)
memory = (bytes of all weights + B cache of a request of c tokens) / (G bytes of a GPU)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.accelerators import accelerators
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import token_s
from rheostat.prediction.serving_law.measured_range import REACH
from rheostat.prediction.serving_law.parameter_draws import parameter_draws
from rheostat.questions.llm.measured_first_tokens import measured_first_tokens, ratio_draws, words
from rheostat.questions.llm.serving_model import AS_LLAMA, GUESS, CacheSize

TTFT, MEMORY = "ttft_s", "memory_share"


def with_limits(
    front: Front, law: ServingLaw, prompt_tokens: float = 0.0, context_tokens: float = 0.0,
    cache: CacheSize = AS_LLAMA, runs: JobTable | None = None,
) -> Front:  # fmt: skip
    """The front with draws of the first token's time and of the memory's share.

    Parameters
    ----------
    front, law
        Settings, and the fitted law that knows how fast prompts are computed.
    prompt_tokens
        Of a request; 0 leaves the first token out.
    context_tokens
        Prompt and answer of a running request, at most; 0 leaves the memory out.
    cache
        What a request keeps; noted.
    runs
        Of which some may have measured first tokens: these correct the law's own; noted.
    """
    at, draws = Configurations.of(front.alternatives), dict(front.outcome.draws)
    notes = front.outcome.notes
    if prompt_tokens:
        again = -(-law.n_draws // len(draws["itl_s"]))  # of a table that is all measured it is one
        draws = {q: np.tile(v, (again, 1)) for q, v in draws.items()}
        compute = parameter_draws(law, "compute", at, len(draws["itl_s"]))
        draws[TTFT] = draws["itl_s"] + prompt_tokens * token_s(compute, at)
        if runs is not None:
            draws[TTFT], said = _corrected(draws[TTFT], law, runs, front.alternatives)
            notes += said
    if context_tokens:
        share = memory_share(
            front.alternatives, cache.request_b(front.alternatives, context_tokens)
        )
        draws[MEMORY] = np.tile(share, (len(draws["itl_s"]), 1))
        notes += (cache.words(context_tokens),)
    return replace(front, outcome=replace(front.outcome, draws=draws, notes=notes))


def _corrected(
    first_s: Array, law: ServingLaw, runs: JobTable, settings: JobTable
) -> tuple[Array, tuple[Note, ...]]:
    """First tokens times draws of what was measured over the law's own, where runs say it."""
    measured = measured_first_tokens(law, runs)
    ratio, behind = ratio_draws(measured, settings, len(first_s), law.seed)
    if not behind.any():
        return first_s, ()
    middle = np.median(first_s, axis=0)
    said = Note(words(behind[behind > 0]), (), int((behind > 0).sum()))
    return np.where(behind > 0, middle * ratio, first_s), (said,)


def refuse_beyond_measured(
    runs: JobTable, prompt_tokens: float = 0.0, context_tokens: float = 0.0,
    output_tokens: float = 0.0,
) -> None:  # fmt: skip
    """Refuse requests far longer than those of all ``runs``; runs that do not say are taken as is.

    A step reads the cache of every request: what short ones measured says nothing of long ones.
    """
    lengths = {c: _numbers(runs, c) for c in ("prompt_tokens", "output_tokens")}
    asked = {
        "--prompt-tokens": (prompt_tokens, lengths["prompt_tokens"]),
        "--output-tokens": (output_tokens, lengths["output_tokens"]),
        "--context-tokens": (context_tokens, np.sum([np.nan_to_num(v) for v in lengths.values()],
                                                    axis=0)),
    }  # fmt: skip
    reach = REACH["prompt"]
    problems = [
        f"{option}: {value:g} is beyond {reach:g} times the longest that was measured "
        f"({np.nanmax(known):.0f}); measure a configuration under such requests"
        for option, (value, known) in asked.items()
        if (known > 0).any() and value > reach * np.nanmax(known)
    ]
    if problems:
        raise DataError("llm plan", problems)


def _numbers(runs: JobTable, column: str) -> Array:
    if column not in runs.columns:
        return np.full(len(runs), np.nan)
    values = runs.frame[column].cast(pl.Float64, strict=False).fill_null(np.nan)
    return np.asarray(values.to_numpy(), dtype=float)


def overfull(settings: JobTable, row: int, cache: CacheSize) -> tuple[Note, ...]:
    """A note where a full batch of requests as long as planned has no place in the memory."""
    one = settings.rows(np.array([row]))
    tokens = float(np.sum([_numbers(one, c) for c in ("prompt_tokens", "output_tokens")]))
    if not np.isfinite(tokens):
        return ()
    share = float(memory_share(one, cache.request_b(one, tokens))[0])
    if share <= 1:
        return ()
    said = f"a full batch of requests of {tokens:,.0f} tokens needs {share:.2g} times the memory"
    guessed = "" if cache.model else f" ({GUESS.message})"
    return (Note(f"{said}: fewer would run at once, so that time and energy are others; "
                 f"--context-tokens {tokens:.0f} leaves such settings out{guessed}"),)  # fmt: skip


def memory_share(settings: JobTable, request_b: Array) -> Array:
    """Share of the GPUs' memory that weights and the caches of a full batch take, (n,)."""
    at = Configurations.of(settings)
    room_b = at.gpus * np.array([a.memory_b for a in accelerators(at.gpu.tolist())])
    return np.asarray((at.copies * at.params * at.weight_b + at.batch * request_b) / room_b)
