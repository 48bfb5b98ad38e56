"""The arrays of many episodes, and the one call that steps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.simulation.engine.env_core import step_all
from rheostat.simulation.engine.env_layout import (
    DECISIONS,
    FEATURES,
    HELD,
    LONGEST,
    NOW,
    PHASE,
    POINTS,
    REAL_COLUMNS,
    SELECT,
    SLOWDOWNS,
    STARTED,
    TOTALS,
    WAITING,
    WAITS,
    WATTS,
    WHOLE_COLUMNS,
)
from rheostat.simulation.engine.sorted_blocks import blocks
from rheostat.training.env.episode_trace import EpisodeRules, EpisodeTrace
from rheostat.training.env.rewards import REWARDS


class Batch:
    """``count`` episodes over one trace; ``views``, ``masks``, ``rewards``, ``ended`` are outputs.

    All are written in place at each call; ``starts`` (count, n) only where ``record`` asks for it.
    ``states`` are the core's arrays, to be read by those who encode an observation of their own.
    """

    def __init__(
        self, trace: EpisodeTrace, rules: EpisodeRules, count: int, *, record: bool
    ) -> None:
        self.trace, self.rules, self.count = trace, rules, count
        whole = np.zeros((count, WHOLE_COLUMNS), np.int64)
        window = np.zeros((count, rules.window), np.int64)
        lists = np.empty((2, count, *blocks(trace.most_running).shape))
        kept = len(trace) if record or rules.recorded else 0
        self.starts = np.full((count, kept), np.nan)
        self.whole, self.real = whole, np.zeros((count, REAL_COLUMNS))
        self.views = np.zeros((count, width(rules.window)), np.float32)
        self.masks = np.zeros((count, rules.window + 1), bool)
        self.rewards, self.ended = np.zeros(count), np.zeros((count, 2), bool)
        self._none = np.full(count, -1)
        self.states = (whole, self.real, window, lists[0], lists[1], self.starts)
        self._outs = (self.views, self.masks, self.rewards, self.ended)
        trace.bill.check(dict(zip(REWARDS, rules.weights, strict=True)), trace.jobs[:, WATTS])
        given = (trace.jobs, trace.low, rules.of(trace.size), rules.weights)
        self._given = (*given, trace.bill.core(), self.states)

    def step(self, actions: np.ndarray, first: np.ndarray | None = None) -> None:
        """Act; where ``first`` is not -1 begin an episode at that job instead."""
        step_all(*self._given, actions, self._none if first is None else first, self._outs)

    def metrics(self) -> dict[str, Any]:
        """What is known of the episodes besides the observation, (count,) each."""
        started = np.maximum(self.real[:, STARTED], 1)
        return {
            "time_s": self.real[:, NOW].copy(),
            "backfill": (self.whole[:, HELD] >= 0) & (self.whole[:, PHASE] > SELECT),
            "waiting": self.whole[:, WAITING].copy(),
            "started": self.real[:, STARTED].astype(np.int64),
            "decisions": self.whole[:, DECISIONS].copy(),
            "mean_wait_s": self.real[:, WAITS] / started,
            "mean_bounded_slowdown": self.real[:, SLOWDOWNS] / started,
            "max_wait_s": self.real[:, LONGEST].copy(),
        }


def width(window: int) -> int:
    """Numbers in an observation."""
    return FEATURES * window + POINTS + TOTALS


def split(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of (jobs (..., w, 8), free profile (..., 16), the rest (..., 16)).

    >>> jobs, profile, rest = split(np.zeros((64, 432), np.float32))
    >>> jobs.shape, profile.shape, rest.shape
    ((64, 50, 8), (64, 16), (64, 16))
    """
    behind = POINTS + TOTALS
    lead = observation.shape[:-1]
    jobs = observation[..., :-behind].reshape(*lead, -1, FEATURES)
    return jobs, observation[..., -behind:-TOTALS], observation[..., -TOTALS:]
