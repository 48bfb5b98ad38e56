"""Times of a job on its site's clock, in the hour that this shows twice where it is put back.

Read as the first of the two, a job that ended in the second would have ended before its start, and
be left out with its hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.checks import ROW
from rheostat.measurement.slurm.sacct_clock import misfit, put_back

CLOCKS = ("submit_s", "start_s", "end_s")
SURE, UNSURE, BACKWARD = "", "unsure", "backward"


def in_order(values: Mapping[str, Any], zone: ZoneInfo) -> tuple[dict[str, Any], str]:
    """A job's values with times that run forwards and fit its length, and how sure that is.

    Of readings that fit alike the first is taken; a length that hangs on them is not known.  Where
    nobody named a zone, start and end are not known if time runs backwards.

    >>> at = 1_792_889_400.0  # 2026-10-25 02:50 in Berlin, of which 02:20 is half an hour later
    >>> job = {"submit_s": at - 9e3, "start_s": at, "end_s": at - 1800, "runtime_s": 1800.0}
    >>> values, sure = in_order(job, ZoneInfo("Europe/Berlin"))
    >>> values["end_s"] - values["start_s"], sure
    (1800.0, '')
    >>> in_order(job, ZoneInfo("UTC"))[0]["end_s"], in_order(job, ZoneInfo("UTC"))[1]
    (None, 'backward')
    """
    every = list(product(*(_readings(values.get(name), zone) for name in CLOCKS)))
    length, limit_s = values.get("runtime_s"), values.get("time_limit_s")
    off = [misfit(times, length, limit_s) for times in every]
    fitting = [times for times, by in zip(every, off, strict=True) if by == min(off)]
    made = dict(values) | dict(zip(CLOCKS, fitting[0], strict=True))
    lengths = {b - a for _, a, b in fitting if a is not None and b is not None}
    if length is None and len(lengths) > 1:
        made["end_s"] = None
    if zone.key == "UTC":  # as where nobody named a zone
        run = {ROW: 0, "runtime_s": length, **made}
        (kept,), back = put_back([run])
        if back:
            return made | {name: kept[name] for name in ("start_s", "end_s")}, BACKWARD
    return made, UNSURE if len(fitting) > 1 else SURE


def _readings(seconds: float | None, zone: ZoneInfo) -> tuple[float | None, ...]:
    """The instants that a clock of the zone shows alike, of the first one of them."""
    if seconds is None:
        return (None,)
    shown = datetime.fromtimestamp(seconds, zone)
    return tuple(dict.fromkeys((seconds, shown.replace(fold=1).timestamp())))
