"""Settings that a front is better without: nothing tells of them, or every run there failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.explanation.number_words import setting_words
from rheostat.questions import listener

NAMED = 3


def only_rows(options: Front, rows: NDArray[np.int64]) -> Front:
    """The front of some of its settings."""
    repeats = None if options.repeats is None else options.repeats[rows]
    kept, outcome = options.alternatives.rows(rows), options.outcome.rows(rows)
    return replace(options, alternatives=kept, outcome=outcome, repeats=repeats)


def without_empty(options: Front, request: Mapping[str, Any]) -> Front:
    """The front without settings that nobody named and nothing tells of, but for the asked one."""
    settings = [options.setting(i) for i in range(len(options))]
    filled = ~options.outcome.abstained | np.array([s == dict(request) for s in settings])
    if filled.all() or not filled.any():
        return options
    empty = "; ".join(setting_words(settings[i]) for i in np.flatnonzero(~filled))
    listener.note(f"left out, as no run tells of them: {empty}; --knob asks for them")
    return only_rows(options, np.flatnonzero(filled))


def without_failed(options: Front, runs: JobTable | None, knobs: Sequence[str]) -> Front:
    """The front without forecasts of settings of which every run failed, where others are left.

    What a run that failed would have taken is no reason to run it so.
    """
    if runs is None or not set(knobs) <= set(runs.columns) or not runs.cut_off.any():
        return options
    ended = {tuple(row) for row in runs.frame.filter(~runs.cut_off).select(knobs).iter_rows()}
    tried = {tuple(row) for row in runs.frame.select(knobs).iter_rows()} - ended
    settings = [options.setting(i) for i in range(len(options))]
    failed = np.array([tuple(s[k] for k in knobs) in tried for s in settings])
    forecast = failed & ~options.outcome.abstained
    if not forecast.any() or (failed | options.outcome.abstained).all():
        return options
    places = np.flatnonzero(forecast)
    few = "; ".join(setting_words(settings[i]) for i in places[:NAMED])
    more = f" and {len(places) - NAMED} others" if len(places) > NAMED else ""
    listener.note(f"{few}{more}: no run there ended well, so no forecast of it is shown")
    return only_rows(options, np.flatnonzero(~forecast))
