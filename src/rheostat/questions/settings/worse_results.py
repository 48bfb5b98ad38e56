"""Settings that are not to be taken, or not without a word: runs failed there, or reached less.

A training that ends sooner with a worse accuracy did not do the same work as one that took longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from shlex import quote
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import VOCABULARY
from rheostat.explanation.number_words import setting_words
from rheostat.measurement.runs.diverged import of_result
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions import listener

LESS = re.compile(r"(^|_)(loss|losses|perplexity|ppl|nll|residuals?|resid|rmse|mse|mae)(_|$)")
MORE = re.compile(r"(^|_)(accuracy|acc|top_?[15]|reward)(_|$)")
ERROR = re.compile(
    r"(^|_)(rel(ative)?|abs(olute)?|max(imum)?|mean|avg|rms|l[12]|linf|force|numerical)_"
    r"(errors?|err|diff(erence)?|deviation)(_|$)"
)
WORSE = {LESS: 1.25, MORE: 1.05, ERROR: 100.0}
"""By what factor a result is worse than the best that none may take it for the same."""
SMALL = 1e-3
"""Errors up to that are none."""
NAMED = 3


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
    listener.note(f"{few}{more}: no run there ended well, so what is forecast of it is not taken")
    outcome = options.outcome
    draws = {q: np.where(failed, np.nan, values) for q, values in outcome.draws.items()}
    return replace(options, outcome=Outcome(draws, outcome.support, outcome.notes, outcome.grade))


def tell_worse(runs: JobTable, setting: Mapping[str, Any]) -> None:
    """Say where the setting that is taken reached a worse result than another one.

    One column says enough: accuracies are low where losses are high.
    """
    for said in islice(worse_results(runs, setting), 1):
        listener.note(said)


def worse_results(runs: JobTable, setting: Mapping[str, Any]) -> Iterator[str]:
    """What is worse at a setting than at the best one, by columns of losses and accuracies.

    >>> from rheostat import table
    >>> top = table({"batch_size": [64, 512], "runtime_s": [9.0, 5.0], "top1": [0.76, 0.62]})
    >>> [said.partition(":")[0] for said in worse_results(top, {"batch_size": 512})]
    ['batch size 512 has a top1 of 0.62, batch size 64 one of 0.76']
    """
    knobs = list(setting)
    if not set(knobs) <= set(runs.columns):
        return
    ended = runs.frame.filter(~runs.cut_off)
    for name in (c for c in runs.columns if c not in {*VOCABULARY, *knobs}):
        way = next((w for w in WORSE if w.search(plain(name))), None)
        if (
            way is None
            or (way is not ERROR and not of_result(name))
            or not ended[name].dtype.is_numeric()
        ):
            continue
        means = ended.drop_nulls(name).group_by(knobs).agg(pl.col(name).mean()).sort(name, *knobs)
        if means.is_empty() or not (means[name][0] > 0 or (way is ERROR and means[name][0] == 0)):
            continue
        yield from _worse(means, name, setting, way)


def _worse(
    means: pl.DataFrame, name: str, setting: Mapping[str, Any], way: re.Pattern[str]
) -> Iterator[str]:
    """The words of one column, whose means are in rising order."""
    knobs, factor, less = list(setting), WORSE[way], way is not MORE
    best = means.row(0 if less else -1, named=True)
    least = max(best[name] * factor, SMALL if way is ERROR else 0.0)
    far = pl.col(name) > least if less else pl.col(name) < best[name] / factor
    own = means.filter(far, *(pl.col(k) == v for k, v in setting.items()))
    if own.is_empty():
        return
    whose = setting_words({k: best[k] for k in knobs})
    said = f"{setting_words(setting)} has a {name} of {own[name][0]:.3g}, {whose} one of "
    said += f"{best[name]:.3g}: runs that do not reach the same result did not do the same work"
    good = means.filter(~far)
    if len(knobs) == 1 and len(good) > 1:
        values = ",".join(f"{v:.15g}" if isinstance(v, float) else str(v)
                          for v in good[knobs[0]].sort())  # fmt: skip
        said += f"; --knob {quote(f'{knobs[0]}={values}')} compares those that did"
    yield said
