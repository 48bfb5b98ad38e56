"""`check_reader`: what every reader of job logs promises, for ours and for those of others.

A reader is a function from a path to a `JobTable`.  The checks: nothing is lost silently, units are
plausible, time runs forwards, every column says its unit and moment, reading twice is equal.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError

# What a job on any machine stays within: outside, the unit is wrong rather than the job strange.
PLAUSIBLE: dict[str, tuple[float, float]] = {
    "runtime_s": (0.0, 400 * 86400.0),
    "time_limit_s": (0.0, 1000 * 86400.0),
    "power_w": (0.0, 6e7),
    "power_per_node_w": (5.0, 3e4),
    "energy_j": (0.0, 1e15),
    "nodes": (0, 200_000),
    "memory_b": (0, 1e17),
    "frequency_hz": (1e7, 1e10),
    "cap_w": (1.0, 1e5),
}
UNITS = {"s", "W", "J", "B", "Hz", "node_h", "", "1/s", "B/s", "J s"}
SUFFIX_UNITS = {"_s": "s", "_w": "W", "_j": "J", "_b": "B", "_hz": "Hz"}


def check_reader(reader: Callable[..., JobTable], path: str | Path, *, rows: int) -> JobTable:
    """Check ``reader`` on the file at ``path``, which holds ``rows`` records; returns its table.

    Parameters
    ----------
    reader : callable
        From a path to a `JobTable`.
    path : path
        A file of the format.
    rows : int
        Records in it.

    Returns
    -------
    JobTable
        What the reader gave.

    Raises
    ------
    AssertionError
        Names everything that the reader breaks, all at once.
    """
    jobs = reader(path)
    problems = [
        *_rows(jobs, rows),
        *_columns(jobs),
        *_units(jobs),
        *_time(jobs),
        *_power(jobs),
        *_again(jobs, reader(path)),
        *_refuses(reader),
    ]
    if problems:
        raise AssertionError(f"{getattr(reader, '__name__', reader)}: " + "; ".join(problems))
    return jobs


def _rows(jobs: JobTable, rows: int) -> list[str]:
    noted = sum(n.count for n in jobs.notes if n.dropped)
    problems = [] if len(jobs) + noted == rows else [
        f"{rows} rows in, {len(jobs)} out and {noted} noted as dropped"]  # fmt: skip
    for note in jobs.notes:
        if note.dropped and (not note.rows or len(note.rows) > note.count):
            problems.append(f"the note {note.message!r} gives no row numbers")
        if any(not 0 <= r < rows for r in note.rows):
            problems.append(f"the note {note.message!r} has row numbers outside the file")
    return problems


def _columns(jobs: JobTable) -> list[str]:
    problems = []
    for c in jobs.schema.values():
        if not isinstance(c.known, Moment):
            problems.append(f"{c.name} has no moment")
        if c.unit not in UNITS:
            problems.append(f"{c.name} has unit {c.unit!r}, expected an SI base unit")
        if not c.meaning:
            problems.append(f"{c.name} has no meaning")
        ours = VOCABULARY.get(c.name)
        if ours is not None and (c.unit, c.known) != (ours.unit, ours.known):
            problems.append(f"{c.name} is {_said(c)}, the vocabulary says {_said(ours)}")
        wanted = next((u for s, u in SUFFIX_UNITS.items() if c.name.endswith(s)), None)
        if wanted and c.unit != wanted and "_per_" not in c.name:
            problems.append(f"{c.name} ends like {wanted} but has unit {c.unit!r}")
    return problems


def _said(column: Column) -> str:
    return f"{column.unit or 'without unit'}, known at {column.known.name}"


def _units(jobs: JobTable) -> list[str]:
    problems = []
    for name, (low, high) in PLAUSIBLE.items():
        if name not in jobs.schema:
            continue
        values = jobs.numpy(name)
        outside = np.flatnonzero((values < low) | (values > high))
        if outside.size:
            problems.append(f"{name} is {values[outside[0]]:g} in row {outside[0]}, "
                         f"expected {low:g} to {high:g}")  # fmt: skip
    return problems


def _time(jobs: JobTable) -> list[str]:
    order = [c for c in ("submit_s", "start_s", "end_s") if c in jobs.schema]
    problems = [
        f"{a} is after {b} in {late} rows"
        for a, b in pairwise(order)
        if (late := int((jobs.numpy(a) > jobs.numpy(b)).sum()))
    ]
    if {"start_s", "end_s", "runtime_s"} <= set(jobs.columns):
        gap = np.abs(jobs.numpy("end_s") - jobs.numpy("start_s") - jobs.numpy("runtime_s"))
        off = gap > 2 + 0.05 * jobs.numpy("runtime_s")
        if np.nanmean(off) > 0.2:
            problems.append(f"runtime_s is not end_s - start_s in {off.sum()} rows")
    return problems


def _power(jobs: JobTable) -> list[str]:
    """Energy is power times time, and a node of the job draws what a node can."""
    if not {"power_w", "runtime_s"} <= set(jobs.columns):
        return []
    problems = []
    power, runtime = jobs.numpy("power_w"), jobs.numpy("runtime_s")
    if "energy_j" in jobs.schema:
        ratio = _middle(jobs.numpy("energy_j"), power * runtime)
        if not 0.5 < ratio < 2.0:
            problems.append(f"energy_j is {ratio:.3g} times power_w * runtime_s")
    nodes = [jobs.numpy(c) for c in ("nodes_alloc", "nodes") if c in jobs.schema]
    nodes = [n for n in nodes if np.isfinite(n).any()]
    share = _middle(power, nodes[0]) if nodes else 1.0
    low, high = PLAUSIBLE["power_per_node_w"]
    if nodes and not low <= share <= high and np.isfinite(power).any():
        problems.append(f"power_w is {share:.3g} W a node in the middle, not a node's power")
    return problems


def _middle(over: Array, under: Array) -> float:
    """Median of the ratio where there is one; 1 where there is none to judge by."""
    there = np.isfinite(over) & np.isfinite(under) & (under > 0)
    return float(np.median(over[there] / under[there])) if there.any() else 1.0


def _again(first: JobTable, second: JobTable) -> list[str]:
    same = first.frame.equals(second.frame, null_equal=True) and first.notes == second.notes
    return [] if same else ["reading twice gives two tables"]


def _refuses(reader: Callable[..., JobTable]) -> list[str]:
    """A file that is not there is a `DataError`, not a traceback of a library."""
    try:
        reader(Path("no") / "such" / "file")
    except DataError:
        return []
    except (OSError, pl.exceptions.PolarsError, ValueError) as error:
        return [f"a missing file raises {type(error).__name__}, expected DataError"]
    return ["a missing file raises nothing"]
