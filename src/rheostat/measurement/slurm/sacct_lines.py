"""Lines of `sacct --parsable2` as runs of jobs with their steps, and what is wrong with the others.

A line is (row, text); cells maps a field of the header to its text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from pathlib import Path

from rheostat.errors import DataError
from rheostat.measurement.slurm import spelling as slurm

Cells = Mapping[str, str]
ID = re.compile(r"\d+(_(\d+|\[.*\]))?(\+\d+)?(\..+)?")
CUT_NUMBER = re.compile(r"\d[\d_.\[]*\+")
STATE = re.compile(r"[A-Z_]+\+?( by \d+)?")
WHEN = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+|\d+|Unknown|None")
SHIFTED = (
    "field count differs from the header: a delimiter inside a field? "
    "(--option rejoin=FIELD names the one that may hold it)"
)
OWN = re.compile(
    r"app(lication)?|code|script|binary|exe(cutable)?|(energy|power|watts?|joules?|kwh).*", re.I
)
"""Columns that no sacct has: somebody's table of jobs, with headings of sacct among its own."""
JOINED = "a field that holds the delimiter was joined again"
CUT = "the last line is cut off"
UNENDED = "the last line has no line end: its last field may be cut off"
NO_ID = "has no job id such as 123, 123_4 or 123.batch"
CUT_ID = (
    "has a job number that sacct cut at the width of its column (it ends in +), so that its task "
    "or step is not known: add -P to sacct, or --format=JobID%30"
)
FOLDED = "step line, folded into its job"
HEADER = "the header again: outputs of sacct one after the other"


@dataclass(frozen=True)
class JobRun:
    """A job line and the lines of its steps."""

    row: int
    cells: Cells
    steps: list[Cells]


def fold(
    lines: Iterator[tuple[int, str]], header: list[str], rejoin: tuple[str, ...], delimiter: str
) -> tuple[list[JobRun], list[str], dict[str, list[int]]]:
    """Runs with their steps, jobs that only have steps, and rows by what is to be said of them."""
    runs: dict[tuple[str, str], list[JobRun]] = {}
    loose: dict[tuple[str, str], list[Cells]] = {}
    gone: dict[str, list[int]] = {
        why: [] for why in (HEADER, SHIFTED, NO_ID, CUT_ID, FOLDED, JOINED)
    }
    for row, text in lines:
        split = text.split(delimiter)
        if {"JobID", "JobIDRaw"} & set(split) and "State" in split:
            if split != header:
                message = f"row {row} is another header: read outputs of other fields one by one"
                raise DataError("sacct", [message, f"it reads: {text[:200]}"])
            gone[HEADER].append(row)
            continue
        parts = _fit(split, header, rejoin, delimiter)
        if parts is None:
            gone[SHIFTED].append(row)
            continue
        if len(split) != len(header):
            gone[JOINED].append(row)
        cells = dict(zip(header, parts, strict=True))
        job, _, step = job_id(cells).partition(".")
        key = cells.get("Cluster", ""), job
        if not ID.fullmatch(job_id(cells)):
            gone[CUT_ID if CUT_NUMBER.fullmatch(job_id(cells)) else NO_ID].append(row)
        elif step:
            steps = runs[key][-1].steps if key in runs else loose.setdefault(key, [])
            steps.append(cells | {"step": step})
            gone[FOLDED].append(row)
        else:
            runs.setdefault(key, []).append(JobRun(row, cells, loose.pop(key, [])))
    every = sorted((run for each in runs.values() for run in each), key=lambda run: run.row)
    return every, sorted(job for _, job in loose), gone


def _fit(
    parts: list[str], header: list[str], rejoin: tuple[str, ...], delimiter: str
) -> list[str] | None:
    """The line's cells; None where their number differs and ``rejoin`` cannot mend it.

    All ways to give the extra pieces to the ``rejoin`` fields are tried; the line is mended only if
    exactly one of them leaves an id, a state and times where the header says they are.
    """
    extra = len(parts) - len(header)
    places = sorted(header.index(f) for f in rejoin if f in header)
    if extra <= 0 or not places:
        return parts if extra == 0 else None
    splits = []
    for cuts in combinations_with_replacement(range(extra + 1), len(places) - 1):
        shares = [b - a for a, b in pairwise((0, *cuts, extra))]
        cells = _joined(parts, dict(zip(places, shares, strict=True)), len(header), delimiter)
        if _sane(dict(zip(header, cells, strict=True))):
            splits.append(cells)
    return splits[0] if len(splits) == 1 else None


def _joined(parts: list[str], shares: dict[int, int], width: int, delimiter: str) -> list[str]:
    """``width`` cells: cell i takes ``shares[i]`` pieces more than one."""
    cells, at = [], 0
    for i in range(width):
        take = 1 + shares.get(i, 0)
        cells.append(delimiter.join(parts[at : at + take]))
        at += take
    return cells


def _sane(cells: Cells) -> bool:
    """Whether the cells of fixed shape have it: ids, states, instants."""
    shapes = {"JobID": ID, "JobIDRaw": ID, "State": STATE, "Submit": WHEN, "End": WHEN}
    return all(shape.fullmatch(cells[k]) for k, shape in shapes.items() if k in cells)


def has_sacct_headings(first: str) -> bool:
    """Whether a line names what sacct prints: between bars, another --delimiter, or blanks.

    >>> has_sacct_headings("JobID|State"), has_sacct_headings("JobID,App,Submit,State")
    (True, False)
    """
    if re.search(r"(^|\|)JobID(Raw)?(\||$)", first) or re.match(r"\s*JobID(Raw)?\s{2,}\w", first):
        return True
    names = set(re.split("[,;\t]", first))
    own = any(map(OWN.fullmatch, names))
    return {"State", "Submit"} <= names and bool({"JobID", "JobIDRaw"} & names) and not own


def delimiter_of(first: str) -> str:
    """What ``sacct --delimiter`` was given: what stands between the names of fields."""
    return next((d for d in "|,;\t" if {"JobID", "JobIDRaw"} & set(first.split(d))), "|")


def check_header(path: str | Path, header: list[str], delimiter: str) -> None:
    """Refuse a header without the fields that a job needs; all that is wrong at once."""
    have, problems = set(header), []
    for choice in (("JobID", "JobIDRaw"), ("State",)):
        if not have & set(choice):
            problems.append(f"field {' or '.join(choice)} is missing")
    if not times_runs(have) and not {"Start", "End"} <= have:
        problems.append("field Elapsed or ElapsedRaw (or Start and End) is missing")
    if re.match(r"\s*JobID(Raw)?\s{2,}", header[0]):
        said = "is the table that sacct prints for people, without the dashes below its headings"
        raise DataError(str(path), [f"{said}: add -P to sacct"])
    if problems:
        shown = ", ".join(header)[:200]
        split = f", split at {delimiter!r}," if delimiter.isprintable() else ""
        raise DataError(str(path), [*problems, f"the first line{split} reads: {shown}"])


def job_id(cells: Cells) -> str:
    """The job and step that a line is of."""
    return cells.get("JobID") or cells.get("JobIDRaw", "")


def times_runs(fields: Collection[str]) -> bool:
    """Whether how long a job ran is a field of its own."""
    return "Elapsed" in fields or "ElapsedRaw" in fields


def elapsed_s(cells: Cells) -> float | None:
    """Seconds that a job ran; None where they are not known."""
    raw = number(cells.get("ElapsedRaw"))
    return raw if raw is not None else slurm.seconds(cells.get("Elapsed", ""))


def number(text: str | None) -> float | None:
    """A plain number; None for any other text."""
    try:
        return float(text) if text else None
    except ValueError:
        return None
