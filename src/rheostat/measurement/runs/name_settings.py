"""Settings that stand in the names of runs, as ``lbm-n4-cap200``, where no column has any."""

from __future__ import annotations

import itertools
import re

import polars as pl

from rheostat.core.jobs import Moment, Note
from rheostat.measurement.checks import ROW
from rheostat.measurement.runs.guess import guess_known, guess_name

NUMBER = re.compile(r"\d+(?:\.\d+)?")
NO_SETTING = re.compile(r"host|node_?(name|list)|server|user|owner|date|time|version|state|status")
WHOSE = {"job_id", "user", "account", "partition", "app"}
LEAST = 3
"""Runs of which a pattern is told."""


def settings_in_names(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Numbers in the names of runs as columns, where all names are of one pattern.

    >>> runs = pl.DataFrame({"Job": ["x-n1-cap20", "x-n2-cap20", "x-n2-cap30"], "t": [9.0, 5, 6]})
    >>> settings_in_names(runs)[0].select("n", "cap").rows()
    [(1, 20), (2, 20), (2, 30)]
    """
    settings = [c for c in frame.columns if c != ROW and frame[c].n_unique() > 1
                and guess_known(c, frame[c]) is Moment.SUBMIT]  # fmt: skip
    named = [c for c in settings if frame[c].dtype == pl.String]
    if len(settings) != 1 or len(named) != 1 or frame.height < LEAST:
        return frame, []
    name, cells = named[0], frame[named[0]]
    known = guess_name(name)
    if (
        cells.null_count()
        or NO_SETTING.search(name.lower())
        or not (known is None or known in WHOSE)
    ):
        return frame, []
    numbers = _numbers(cells.to_list())
    if not numbers or set(numbers) & set(frame.columns):
        return frame, []
    return frame.with_columns(**numbers), [
        Note(f"no column of settings: numbers in {name} read as {', '.join(numbers)}")
    ]


def _numbers(names: list[str]) -> dict[str, pl.Series]:
    """What differs between names of one pattern, by the word at each number."""
    patterns = {tuple(NUMBER.split(n)) for n in names}
    if len(patterns) != 1:
        return {}
    pieces = patterns.pop()
    each = list(zip(*(NUMBER.findall(n) for n in names), strict=True))
    made: dict[str, pl.Series] = {}
    for before, numbers, after in zip(pieces, each, pieces[1:], strict=False):
        word, values = _word(before, after), [float(n) for n in numbers]
        coded = any(n[0] == "0" and len(n) > 1 and n[1] != "." for n in numbers)
        counted = all(b - a == 1 for a, b in itertools.pairwise(values))
        if len(set(values)) < 2 or coded or counted:
            continue
        if not word or word in made:
            return {}
        whole = all(v == int(v) for v in values)
        made[word] = pl.Series([int(v) for v in values] if whole else values)
    return made


def _word(before: str, after: str) -> str:
    """The word that a number belongs to: what touches it, else what stands before it."""
    touching = re.search(r"[A-Za-z]+$", before) or re.match(r"[A-Za-z]+", after)
    apart = touching or re.search(r"[A-Za-z]+(?=[ _=:.-]+$)", before)
    return apart[0] if apart else ""
