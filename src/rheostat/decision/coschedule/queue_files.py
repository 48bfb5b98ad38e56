"""Profiles and queues, from files and from what people type; every mistake is told at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.vocabulary import table
from rheostat.decision.coschedule.gpu_profiles import RANGE, Profiles, profiles_of
from rheostat.decision.coschedule.shared_node import Waiting
from rheostat.errors import DataError
from rheostat.measurement.runs.derived import without_parts
from rheostat.measurement.runs.mapping import ColumnSource, spelled
from rheostat.measurement.runs.reader import read_runs
from rheostat.measurement.tables import read_table, rows_said

LONGEST = 100_000
"""Most jobs in a queue."""

NEEDED = ("app", "gpus", "runtime_s", "power_w")
NAMES = {
    "gpu_count": "gpus", "total_gpu_power_w": "power_w", "dram_active_sum": "dram_active",
    "fp_active_sum": "fp_active", "sm_clock_sum_mhz": "sm_clock",
}  # fmt: skip


def read_profiles(
    path: str | Path,
    where: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Profiles:
    """Profiles from a CSV or parquet file, rows limited to ``where`` (column = value).

    Wanted are app, gpus (or gpu_count), runtime_s and power_w, the watts of all its GPUs.

    Parameters
    ----------
    path : path
        CSV or parquet.
    where : mapping, optional
        Column and value of the rows to take.
    columns : mapping, optional
        Our name to the file's; else names are known as a table of runs has them.

    Returns
    -------
    dict
        Modes (GPUs, runtime in s, power in W) of each application.

    Raises
    ------
    DataError
        Columns are missing, no row is left, or rows are of several machines.
    """
    frame = read_table(path)
    named = spelled(without_parts(columns or {}), frame.columns)
    sources = {ours: ColumnSource.of(ours, theirs) for ours, theirs in named.items()}
    if absent := [c for s in sources.values() for c in s.columns if c not in frame.columns]:
        said = [f"column {c} is missing" for c in absent]
        raise DataError(str(path), [*said, f"present: {', '.join(frame.columns)}"])
    frame = frame.with_columns(**{ours: source.values() for ours, source in sources.items()})
    frame = frame.with_columns(pl.col(t).alias(o) for t, o in NAMES.items()
                               if t in frame.columns and o not in frame.columns)  # fmt: skip
    frame = _named(path, frame)
    missing = [c for c in where or {} if c not in frame.columns]
    if missing:
        raise DataError(str(path), [f"column {c} is missing" for c in missing])
    for column, value in (where or {}).items():
        frame = frame.filter(pl.col(column).cast(pl.String) == value)
    if not frame.height:
        raise DataError(str(path), [f"no row has {where}"])
    _one_machine(path, frame)
    try:
        return profiles_of(table(frame.select(c for c in ("app", *RANGE) if c in frame.columns)))
    except DataError as error:
        raise DataError(str(path), error.problems) from error


def _named(path: str | Path, frame: pl.DataFrame) -> pl.DataFrame:
    """What is missing by the names and units that tables of runs know; else what to type."""
    lacking = [c for c in NEEDED if c not in frame.columns]
    if not lacking:
        return frame
    with suppress(DataError):  # what is missing is said below
        known = read_runs(path).frame
        if known.height == frame.height:
            frame = frame.with_columns(known[c] for c in lacking if c in known.columns)
    still = [c for c in lacking if c not in frame.columns]
    if still:
        typed = " ".join(f"--column {c}=THEIRS" for c in still)
        problems = [f"column {c} is missing" for c in still]
        raise DataError(str(path), [*problems, f"{typed}; present: {', '.join(frame.columns)}"])
    return frame


def _one_machine(path: str | Path, frame: pl.DataFrame) -> None:
    """Raise where the same mode stands there for several machines: their mean would be of none."""
    key = [c for c in ("app", "gpus", "cap_w") if c in frame.columns]
    if not {"app", "gpus"} <= set(key):
        return
    names = [c for c, t in frame.schema.items() if t == pl.String and c not in (*key, *RANGE)]
    mixed = frame.group_by(key).agg(pl.col(names).n_unique())
    odd = [c for c in names if int(mixed[c].max() or 0) > 1]  # type: ignore[arg-type]
    if odd:
        problems = [f"--where {c}=... is needed: {', '.join(sorted(map(str, frame[c].unique())))}"
                for c in odd]  # fmt: skip
        raise DataError(str(path), problems)


def read_queue(text: str, profiles: Profiles) -> list[Waiting]:
    """A queue from names with counts, ``resnet50*3,lbm``, or a file with app and submit_s.

    Nothing at all is every application once; what is no list of applications may be a file.

    Parameters
    ----------
    text : str
        Names with counts, or a path.
    profiles : mapping
        What `read_profiles` gave.

    Returns
    -------
    list of Waiting
        Jobs in order of submission.

    Raises
    ------
    DataError
        Applications without a profile, counts below 1; all at once.

    Examples
    --------
    >>> [w.name for w in read_queue("a*2,b", {"a": (), "b": ()})]
    ['a#1', 'a#2', 'b']
    """
    parts = [_part(p.strip(), profiles) for p in text.split(",") if p.strip()]
    if not text.strip():
        parts = [(app, 1) for app in sorted(profiles)]
    unknown = {app for app, _ in parts} - set(profiles)
    if unknown and _means_file(text):
        return _from_file(text, profiles)
    problems = [f"{app}*{n}: expected a count of at least 1" for app, n in parts if n < 1]
    problems += _unknown(unknown, profiles)
    total = sum(n for _, n in parts)
    if not problems and not 1 <= total <= LONGEST:
        problems.append(f"expected 1 to {LONGEST:,} jobs, got {total:,}")
    if problems:
        raise DataError("--queue", problems)
    return _numbered([app for app, n in parts for _ in range(n)])


def _part(text: str, profiles: Profiles) -> tuple[str, int]:
    match = re.fullmatch(r"(.+?)\s*\*\s*(\d+)", text)
    if not match or text in profiles:
        return text, 1
    return match[1], int(match[2]) if len(match[2]) < 20 else 10**19  # far too many either way


def _means_file(text: str) -> bool:
    path = Path(text)
    try:
        return path.exists() or path.suffix in (".csv", ".parquet")
    except (OSError, ValueError):  # a long list of names is too long for a name of a file
        return False


def _unknown(names: set[str], profiles: Profiles) -> list[str]:
    problems = [f"{name} has no profile" for name in sorted(names)[:8]]
    problems += [f"nor have {len(names) - 8} more"] if len(names) > 8 else []
    return [*problems, f"there are {', '.join(sorted(profiles))}"] if problems else []


def _numbered(apps: list[str]) -> list[Waiting]:
    """Jobs named by their application, numbered where it comes more than once."""
    many, seen = Counter(apps), Counter[str]()
    queue = []
    for app in apps:
        seen[app] += 1
        queue.append(Waiting(f"{app}#{seen[app]}" if many[app] > 1 else app, app))
    return queue


def _from_file(path: str, profiles: Profiles) -> list[Waiting]:
    frame = read_table(path)
    if "app" not in frame.columns:
        have = ", ".join(frame.columns[:8])
        raise DataError(path, [f"column app is missing; there are {have}"])
    apps = frame["app"].cast(pl.String).to_list()
    problems = _unknown({str(a) for a in apps} - set(profiles), profiles)
    submit_s, wrong = _submitted(frame)
    names, twice = _names(frame, apps)
    if len(apps) > LONGEST:
        problems.append(f"expected at most {LONGEST:,} jobs, got {len(apps):,}")
    if problems := [*problems, *wrong, *twice]:
        raise DataError(path, problems)
    return [Waiting(n, a, s) for n, a, s in zip(names, apps, submit_s, strict=True)]


def _submitted(frame: pl.DataFrame) -> tuple[list[float], list[str]]:
    """Seconds of submission, 0 for all where the table has none."""
    if "submit_s" not in frame.columns:
        return [0.0] * frame.height, []
    seconds = frame["submit_s"].cast(pl.Float64, strict=False).to_numpy()
    bad = ~(np.abs(seconds) <= 1e12)
    if not bad.any():
        return seconds.tolist(), []
    rows = rows_said((np.flatnonzero(bad) + 1).tolist())
    return [], [f"submit_s: expected seconds, got something else or nothing in {rows}"]


def _names(frame: pl.DataFrame, apps: list[str]) -> tuple[list[str], list[str]]:
    """The jobs' identifiers, made of application and row where the table has none."""
    made = [f"{app}#{i + 1}" for i, app in enumerate(apps)]
    if "job_id" not in frame.columns:
        return made, []
    ids = frame["job_id"].cast(pl.String)
    names = [i or m for i, m in zip(ids, made, strict=True)]
    twice = [n for n, k in Counter(names).items() if k > 1]
    return names, [f"job_id {n} comes twice" for n in twice[:5]]
