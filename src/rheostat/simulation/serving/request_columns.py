"""What a table says of requests beside their lengths: what a cache held, who called tools."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.errors import DataError
from rheostat.simulation.serving.replica import Array

Flags = NDArray[np.bool_]
HELD = Column("cached_tokens", "", Moment.END, "tokens of the request that a prefix cache held")


def cached_tokens(requests: JobTable) -> Array | None:
    """Tokens of each prompt that a prefix cache was seen to hold, (n,); None where not said."""
    if "cached_tokens" not in requests.columns:
        return None
    held = requests.numpy("cached_tokens").astype(float)
    return np.asarray(np.maximum(np.nan_to_num(held), 0.0))


def with_hit_rate(requests: JobTable, rate: float) -> JobTable:
    """The same with ``cached_tokens``: this share of every prompt, in whole tokens.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> with_hit_rate(table({"prompt_tokens": [100, 7]}), 0.3).numpy("cached_tokens").tolist()
    [30.0, 2.0]
    """
    held = held_tokens(requests.numpy("prompt_tokens").astype(float), rate)
    return requests.with_columns([HELD], cached_tokens=held)


def held_tokens(prompt: Array, rate: float) -> Array:
    """This share of every prompt, in whole tokens; a `DataError` where it is no share."""
    if not 0.0 <= rate <= 1.0:
        raise DataError("--hit-rate", [f"expected a share from 0 to 1, got {rate:g}"])
    return np.asarray(np.floor(rate * prompt))


def tool_calls(requests: JobTable) -> Flags | None:
    """Whether each answer calls a tool, (n,); None where not said."""
    if "tool_calls" not in requests.columns:
        return None
    return requests.frame["tool_calls"].cast(bool, strict=False).fill_null(False).to_numpy()


def shown_first(first: Array, end: Array, calls: Flags | None, delay_s: float) -> Array:
    """When clients see first tokens: those of tool calls so much later, at the end at the latest.

    >>> shown_first(np.array([1.0, 1.0, 1.0]), np.array([9.0, 9.0, 1.5]),
    ...             np.array([False, True, True]), 2.0).tolist()
    [1.0, 3.0, 1.5]
    """
    if calls is None or not delay_s:
        return first
    return np.where(calls, np.minimum(first + delay_s, end), first)
