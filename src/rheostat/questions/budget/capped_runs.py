"""Runs under caps: the rows that are meant, and what tells the applications apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.speeds import timed_by_speed
from rheostat.prediction.surface import CAPS, COUNTS, mixed, named_by
from rheostat.questions import listener
from rheostat.questions.inputs import Jobs, only, opened
from rheostat.questions.parse import Names, parse_names
from rheostat.questions.settings.lacking import their_name
from rheostat.questions.settings.warm_up import all_count

APPLICATION = re.compile(r"(model|network|net|benchmark|bench|workload|kernel|code|program|"
                         r"application)([ _]?name)?")  # fmt: skip
TOO_FAST = 2.0
"""A run under a lower cap is faster by less than that, whatever disturbed the others."""
SHARE_OF_CAP = re.compile(
    r"(cap|limit|power|tdp).*(percent|pct|%)|(percent|pct|%).*(cap|limit|tdp)"
)


def capped(
    file: Jobs,
    where: Sequence[str] | None,
    by: Names,
    form: str = "",
    mapped: Path | None = None,
    columns: Iterable[str] | None = None,
) -> JobTable:
    """Runs under caps: rows asked for, applications by their columns; mixed ones are noted."""
    runs, alike = only(opened(file, form, mapped, columns=columns), where), parse_names(by)
    before, runs = len(runs.notes), timed_by_speed(runs)
    listener.notes(runs.notes[before:])
    if not set(CAPS) & set(runs.columns) and (shares := _shares(runs)):
        raise DataError(str(file), [shares])
    if "app" not in runs.columns and not alike:
        runs = _applications(runs, file)
    if alike:
        runs = named_by(runs, alike)
    runs = _without_too_fast(runs)
    if odd := [c for c in mixed(runs) if c not in alike]:
        listener.note(f"runs that differ in {', '.join(odd)} are taken as repeats: --where or --by")
    return runs


def _without_too_fast(runs: JobTable) -> JobTable:
    """The runs without those that took half the time of any under a higher cap: no cap does that.

    Only where runs have one kind of cap, and nothing else that is turned varies.
    """
    caps = [c for c in CAPS if c in runs.columns and runs.frame[c].dtype.is_numeric()]
    if len(caps) != 1 or "app" not in runs.columns or all_count(runs):
        return runs
    alike = ["app", *(c for c in COUNTS if c in runs.columns)]
    frame = runs.frame.filter(~runs.cut_off).select(*alike, caps[0], "runtime_s")
    least = (
        frame.drop_nulls().group_by(*alike, caps[0]).agg(pl.col("runtime_s").min(), n=pl.len())
        .sort(caps[0], descending=True)
        .with_columns(_higher=pl.col("runtime_s").shift(1).cum_min().over(alike))
        .filter(TOO_FAST * pl.col("runtime_s") < pl.col("_higher"), pl.col("n") == 1)
    )  # fmt: skip
    if least.is_empty():
        return runs
    names = [f"{app} at {cap:g} W took {s:.3g} s, and {more:.3g} s or more at higher caps"
             for app, cap, s, more in least.select("app", caps[0], "runtime_s", "_higher").head(3)
             .iter_rows()]  # fmt: skip
    listener.note(
        f"left out: {'; '.join(names)}: no cap makes that, its run did not do the same work; "
        "--column censored==false takes it as it is"
    )
    odd = runs.frame.join(least, on=[*alike, caps[0]], how="left", nulls_equal=True)["_higher"]
    return runs.rows(odd.is_null().to_numpy())


def _applications(runs: JobTable, file: Jobs) -> JobTable:
    """The runs with ``app``, by the one column of words whose name says so."""
    named = [c for c in runs.columns if runs.frame[c].dtype == pl.String
             and APPLICATION.fullmatch(their_name(runs, c).lower())]  # fmt: skip
    if len(named) != 1:
        raise DataError(str(file), [f"no column app tells the applications apart: {_text(runs)}"])
    name = their_name(runs, named[0])
    listener.note(f"the application is {name}: --by or --column app= otherwise")
    return runs.with_columns([VOCABULARY["app"]], app=runs.frame[named[0]])


def _shares(runs: JobTable) -> str:
    """What to do where caps are stated in per cent alone.

    >>> from rheostat.core.vocabulary import table
    >>> _shares(table({"cap_percent": [50, 100]})).partition(":")[0]
    'cap_percent is per cent, of how many watts is not said'
    """
    named = [c for c in runs.columns if SHARE_OF_CAP.search(their_name(runs, c).lower())]
    if not named:
        return ""
    name = quote(their_name(runs, named[0]))
    return (
        f"{named[0]} is per cent, of how many watts is not said: add a column cap_w of watts; or "
        f"--column cap_w={name} takes per cent for watts, so that caps and losses hold and watts "
        "that are saved are per cent"
    )


def _text(jobs: JobTable) -> str:
    """What to type for a column that holds names.

    >>> from rheostat.core.vocabulary import table
    >>> _text(table({"Anwendung": ["a"], "nodes": [1]}))
    'name it as --column app=Anwendung'
    """
    names = [their_name(jobs, c) for c in jobs.columns if jobs.frame[c].dtype == pl.String]
    return f"name it as --column app={' or app='.join(quote(n) for n in names) or 'NAME'}"
