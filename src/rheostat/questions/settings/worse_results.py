"""Settings that are not to be taken without a word: runs reached less there than at others.

A training that ends sooner with a worse accuracy did not do the same work as one that took longer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
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
WRONG = re.compile(
    r"((n|num|number)_(of_)?)?(errors|mismatch(es)?|failures|(failed|wrong)_\w+|incorrect\w*)"
)
"""Counts of what went wrong, of which none is best."""
WORSE = {LESS: 1.25, MORE: 1.05, ERROR: 100.0, WRONG: 1.0}
"""By what factor a result is worse than the best that none may take it for the same."""
MISSED, POINT = 1.25, 0.01
"""Of accuracies also by what factor more is missed of all, where that is a hundredth of all."""
SMALL = 1e-3
"""Errors up to that are none."""
NAMED = 3


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
        way = _way(name)
        if way is None or not ended[name].dtype.is_numeric():
            continue
        means = ended.drop_nulls(name).group_by(knobs).agg(pl.col(name).mean()).sort(name, *knobs)
        least = float(means[name][0]) if len(means) else -1.0
        if least < 0 or (least == 0 and way not in (ERROR, WRONG)):
            continue
        yield from _worse(means, name, setting, way)


def _way(name: str) -> re.Pattern[str] | None:
    """Which way a column is better, None where it says nothing of results."""
    heading = plain(name)
    if WRONG.fullmatch(heading):
        return WRONG
    if ERROR.search(heading):
        return ERROR
    return next((w for w in (LESS, MORE) if w.search(heading) and of_result(name)), None)


def _near(accuracy: float) -> float:
    """The least accuracy, of 1 or of 100, that may be taken for the same as the best one.

    >>> round(_near(0.9131), 4), round(_near(99.2), 1), _near(1250.0)
    (0.8914, 98.2, -inf)
    """
    whole = 1.0 if accuracy <= 1 else 100.0
    if accuracy > whole:
        return -math.inf  # a reward
    return accuracy - max((MISSED - 1) * (whole - accuracy), POINT * whole)


def _worse(
    means: pl.DataFrame, name: str, setting: Mapping[str, Any], way: re.Pattern[str]
) -> Iterator[str]:
    """The words of one column, whose means are in rising order."""
    knobs, factor, less = list(setting), WORSE[way], way is not MORE
    best = means.row(0 if less else -1, named=True)
    least = max(best[name] * factor, SMALL if way is ERROR else 0.0)
    far = (
        pl.col(name) > least if less else pl.col(name) < max(best[name] / factor, _near(best[name]))
    )
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
