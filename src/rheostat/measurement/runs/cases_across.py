"""A table with a time and an energy of each of several cases side by side, as rows of each."""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name

QUANTITIES = ("runtime_s", "energy_j", "power_w")
OF = re.compile(
    r"(?P<case>.+?)[ _:/.-]+(?P<what>(wall|run|elapsed|solve|exec\w*|mean|avg|average)?[ _]?"
    r"(time|runtime|elapsed|duration|energy|power|watts|joules)([ _]*[(\[]?\w+[)\]]?)?)",
    re.IGNORECASE,
)
"""``baseline time (s)``, ``HPCG_energy_kJ``."""
PARTS = re.compile(
    r"cpu|gpu|d?ram|mem(ory)?|pack(age)?|pkg|node|system|total|avg|average|mean|median|min|max|std|"
    r"user|sys|real|setup|init|train(ing)?|val(idation)?|test|comput(e|ing)|comm(unication)?|io|"
    r"read|write|idle|wait|queue|job|step|epoch|iter(ation)?|forward|backward|first|last|p\d+|wall|"
    r"start|end|net|board|per.*", re.IGNORECASE
)  # fmt: skip
"""Words before a quantity of what a run consists of, or how it was summed up."""


def cases_down(
    frame: pl.DataFrame, mapped: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """Rows of each case, with its name, where each has the same quantities, a time among them.

    A column that texts of ``mapped`` name says which case is meant: the table stays.

    >>> wide = pl.DataFrame({"n": [1], "A time (s)": [9.0], "B time (s)": [7.0]})
    >>> frame, notes = cases_down(wide)
    >>> frame.rows(), frame.columns
    ([(1, 9.0, 'A'), (1, 7.0, 'B')], ['n', 'time (s)', 'case'])
    """
    if "case" in frame.columns or any(guess_name(c) in QUANTITIES for c in frame.columns):
        return frame, []
    matches = {c: m for c in frame.columns if frame[c].dtype.is_numeric() if (m := OF.fullmatch(c))}
    cases: dict[str, dict[str, str]] = {}
    for column, match in matches.items():
        if guess_name(match["what"]) in QUANTITIES:
            cases.setdefault(match["case"], {})[match["what"]] = column
    whats = {frozenset(own) for own in cases.values()}
    timed = any(guess_name(w) == "runtime_s" for own in whats for w in own)
    if len(cases) < 2 or len(whats) > 1 or not timed or any(map(PARTS.fullmatch, cases)):
        return frame, []
    taken = {c for own in cases.values() for c in own.values()}
    if any(c in text for c in taken for text in mapped):
        return frame, []
    rest = [c for c in frame.columns if c not in taken]
    rows = [
        frame.select(*rest, *(pl.col(c).alias(w) for w, c in own.items()), case=pl.lit(case))
        for case, own in cases.items()
    ]
    said = f"{', '.join(cases)} stand side by side: read as rows, with their names in a column case"
    return pl.concat(rows, how="vertical_relaxed"), [Note(said)]
