"""Did jobs that chance turned fail because of it?  A forecast knows only those that ended.

A quarter of the nodes may be too few for a problem's memory.  The runs that died are not learnt
from, those that fitted are, and their forecast would send the next job where others died.

Notation
--------
n  rows      A  applications      way : 0 fewer, 1 more than was asked for
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.prediction.effects.effect_coding import EffectCoding, Rows
from rheostat.prediction.effects.plausible import Mask

SURE = 0.01
"""Chance of as many failures among turned jobs as there are, if turning had no part in them."""
STOPPED = "TIME|DEADLINE|CANCEL|PREEMPT"
WAYS = ("fewer", "more")


def of(jobs: JobTable) -> JobTable:
    """Jobs that died of themselves, by their state: not those stopped by the clock or by a person.

    >>> from rheostat import table
    >>> states = ["OUT_OF_MEMORY", "TIMEOUT", "COMPLETED"]
    >>> cut = table({"job_id": [1, 2, 3], "state": states, "censored": [True, True, False]})
    >>> of(cut).frame["job_id"].to_list()
    [1]
    """
    if "state" not in jobs.columns:
        return jobs.rows(np.zeros(len(jobs), dtype=bool))
    state = jobs.frame["state"].cast(pl.String).fill_null("").str.to_uppercase()
    return jobs.rows(jobs.cut_off & ~state.str.contains(STOPPED).to_numpy())


def failing(failed: JobTable, ended: Rows, coding: EffectCoding) -> tuple[Mask, tuple[str, ...]]:
    """(A + 1, 2) ways in which turned jobs of an application failed, and a sentence for each way.

    Only ways in which more failed than chance would have it by the jobs that ran as they asked.
    """
    from scipy.stats import hypergeom

    ways, said = np.zeros((len(coding.apps) + 1, 2), dtype=bool), []
    lost = coding.rows(failed.known_at(Moment.SUBMIT).frame)
    away, back = _way(ended), _way(lost)
    for way, name in enumerate(WAYS):
        here = back == way
        k, n = int(here.sum()), int((away == way).sum() + here.sum())
        others, asked = int((back < 0).sum()), int((away < 0).sum() + (back < 0).sum())
        if not k or hypergeom.sf(k - 1, n + asked, k + others, n) >= SURE:
            continue
        ways[lost.app[here], way] = True
        where = ", ".join(a or "all" for a, f in zip(coding.apps, ways[:, way], strict=False) if f)
        said.append(
            f"{k:,} of {n:,} jobs that the trial ran at {name} {coding.knobs[0]} failed, and "
            f"{others:,} of {asked:,} that ran as they asked: no advice for {name} "
            f"{coding.knobs[0]} in {where}"
        )
    return ways, tuple(said)


def there(ways: Mask, rows: Rows) -> Mask:
    """(n,): rows at a setting in whose direction jobs of their application failed."""
    way = _way(rows)
    return np.asarray((way >= 0) & ways[rows.app, np.maximum(way, 0)])


def _way(rows: Rows) -> Array:
    """(n,): -1 as asked, 0 fewer, 1 more of the first knob."""
    turned = (rows.log_run - rows.log_asked)[:, 0]
    return np.asarray(np.where(turned == 0, -1, turned > 0), dtype=np.int64)
