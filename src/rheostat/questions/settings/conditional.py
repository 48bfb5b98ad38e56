"""Knobs that hold only for some values of another: a queue's depth where requests are offloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.space import Knob, Space
from rheostat.questions import listener
from rheostat.questions.parse import Knobs

NONE = "none"
Conditions = Mapping[str, tuple[str, frozenset[Any]]]
"""By knob, the other one and its values at which it does not apply."""


def conditions(jobs: JobTable, names: Sequence[str]) -> Conditions:
    """Knobs that are blank at some values of another knob, and never at its other ones.

    >>> from rheostat import table
    >>> runs = table({"offload": ["no", "yes", "yes"], "depth": [None, 1, 2]})
    >>> conditions(runs, ["offload", "depth"])
    {'depth': ('offload', frozenset({'no'}))}
    """
    made: dict[str, tuple[str, frozenset[Any]]] = {}
    for knob in (n for n in names if jobs.frame[n].null_count()):
        blank = pl.col(knob).is_null()
        for other in (n for n in names if n != knob and not jobs.frame[n].null_count()):
            off = set(jobs.frame.filter(blank)[other])
            on = set(jobs.frame.filter(~blank)[other])
            if off and on and not off & on:
                made[knob] = (other, frozenset(off))
                break
    return made


def with_none(jobs: JobTable, space: Space, knobs: Knobs) -> tuple[JobTable, Space, Conditions]:
    """Runs and space in which such a knob is ``none`` where it does not apply; others as they are.

    Values that were typed are left: whoever names them says what is to be compared.
    """
    alone = [knobs] if isinstance(knobs, (str, Knob)) else knobs
    given = list(alone.knobs if isinstance(alone, Space) else alone or [])
    typed = any(isinstance(k, Knob) or "=" in k for k in given)
    held = {} if typed or not set(space.names) <= set(jobs.columns) else conditions(
        jobs, space.names
    )  # fmt: skip
    if not held:
        return jobs, space, {}
    frame = jobs.frame.with_columns(_words(jobs.frame[k]) for k in held)
    for knob, (other, off) in held.items():
        values = ", ".join(map(str, sorted(off, key=str)))
        listener.note(f"{knob} does not apply at {other} {values}, and is {NONE} there")
    own = [
        k if k.name not in held else Knob(k.name, [NONE, *map(str, k.values or ())])
        for k in space.knobs
    ]
    return replace(jobs, frame=frame), Space(tuple(own)), held


def _words(values: pl.Series) -> pl.Series:
    whole = values.dtype.is_float() and bool((values.drop_nulls() % 1 == 0).all())
    text = (values.cast(pl.Int64) if whole else values).cast(pl.String)
    return text.fill_null(NONE).alias(values.name)


def possible(settings: list[dict[str, Any]], held: Conditions) -> list[dict[str, Any]]:
    """Settings that can be run.

    >>> held = {"depth": ("offload", frozenset({"no"}))}
    >>> settings = [{"offload": o, "depth": d} for o in ("no", "yes") for d in ("none", "1")]
    >>> [tuple(s.values()) for s in possible(settings, held)]
    [('no', 'none'), ('yes', '1')]
    """
    return [
        s for s in settings
        if all((s[other] in off) == (s[knob] == NONE) for knob, (other, off) in held.items())
    ]  # fmt: skip
