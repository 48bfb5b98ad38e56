"""Settings whose only run is unlike those of the settings beside it: not taken without a repeat.

A run that ended at once did not do its work, and a reading in another unit is no saving.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.explanation.number_words import setting_words
from rheostat.questions import listener
from rheostat.questions.settings.knob_columns import MACHINE
from rheostat.questions.settings.left_out import only_rows
from rheostat.questions.settings.warm_up import all_count

FEWEST = 3
"""Settings of one knob that show how run times and powers go with it."""
FASTER, FASTER_AT_END, POWER = 3.0, 10.0, 5.0
"""A run is odd by that factor beyond both settings beside it, and beyond what the knob explains.

At the end of the settings a problem may fit into memory at last.
"""
NAMED = 2


@dataclass(frozen=True)
class Run:
    """The only run of a setting: its knob's value, seconds and watts (NaN unknown)."""

    knob: float
    seconds: float
    watts: float
    alone: bool


def without_odd(options: Front, runs: JobTable | None, knobs: Sequence[str]) -> Front:
    """The front without settings whose only run is odd, where others are left; each is noted."""
    if runs is None or len(knobs) != 1 or all_count(runs):
        return options
    odd = dict(odd_settings(runs, knobs[0]))
    settings = [options.setting(i)[knobs[0]] for i in range(len(options))]
    gone = np.array([s in odd for s in settings])
    if not gone.any() or (gone | options.outcome.abstained).all():
        return options
    said = [f"{setting_words({knobs[0]: settings[i]})} {odd[settings[i]]}"
            for i in np.flatnonzero(gone)[:NAMED]]  # fmt: skip
    listener.note(
        f"left out: {'; '.join(said)}: its run did not do its work, or its reading is of another "
        "unit; run it again (--column censored==false takes it as it is)"
    )
    return only_rows(options, np.flatnonzero(~gone))


def odd_settings(runs: JobTable, knob: str) -> Iterator[tuple[float, str]]:
    """Values of a knob whose only run is odd, and the words for it.

    >>> from rheostat import table
    >>> took = {"nodes": [1, 2, 4, 8], "runtime_s": [400.0, 210.0, 2.1, 70.0]}
    >>> list(odd_settings(table(took), "nodes"))
    [(4, 'took 2.1 s beside 210 s and 70 s')]
    """
    every = _by_knob(runs, knob)
    while len(every) >= FEWEST and (said := _oddest(every, scales=knob in MACHINE)) is not None:
        at, words = said
        yield every.pop(at).knob, words


def _oddest(every: Sequence[Run], *, scales: bool) -> tuple[int, str] | None:
    """The first run that is odd, one with others at both sides before the last; and the words.

    Only where a knob ``scales`` a machine a time tells that: other settings may have a best place.
    """
    for i in (*range(1, len(every) - 1), len(every) - 1):
        run, before, beside = every[i], every[i - 1], [every[i - 1], *every[i + 1 : i + 2]]
        more = max(run.knob / before.knob, 1.0)
        least = min([before.seconds / more, *(other.seconds for other in beside[1:])])
        factor = FASTER if len(beside) > 1 else FASTER_AT_END
        if scales and run.alone and run.seconds * factor < least:
            near = " and ".join(f"{other.seconds:.3g} s" for other in beside)
            return i, f"took {run.seconds:.3g} s beside {near}"
        if run.alone and _other_power(run, beside, more):
            near = " and ".join(f"{other.watts:.3g} W" for other in beside)
            return i, f"drew {run.watts:.3g} W beside {near}"
    return None


def _other_power(run: Run, beside: Sequence[Run], more: float) -> bool:
    """Whether watts are far below, or above, what those beside them let expect."""
    watts = [other.watts for other in beside]
    if not np.isfinite([run.watts, *watts]).all():
        return False
    return run.watts * POWER < min(watts) or run.watts > POWER * more * max(watts)


def _by_knob(runs: JobTable, knob: str) -> list[Run]:
    """Finished runs by the value of a knob of numbers above 0, as means of each."""
    frame = runs.frame.filter(~runs.cut_off)
    if knob not in frame.columns or not frame[knob].dtype.is_numeric():
        return []
    if "runtime_s" not in frame.columns:
        return []
    joules = pl.col("energy_j") if "energy_j" in frame.columns else pl.lit(None, pl.Float64)
    watts = pl.col("power_w") if "power_w" in frame.columns else joules / pl.col("runtime_s")
    means = (
        frame.filter(pl.col("runtime_s") > 0, pl.col(knob) > 0)
        .group_by(knob)
        .agg(pl.len(), s=pl.col("runtime_s").mean(), w=watts.cast(pl.Float64).mean())
        .sort(knob)
    )
    return [
        Run(k, s, np.nan if w is None else w, n == 1)
        for k, n, s, w in means.select(knob, "len", "s", "w").iter_rows()
    ]
