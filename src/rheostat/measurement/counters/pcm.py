"""Read the CSV of Intel PCM (``pcm -csv``): one row per sampling interval.

PCM writes two header lines, the first naming what a column belongs to (System, Socket0, ...); the
columns of the whole system are taken; energies that stand per socket only are summed.  Cut-down
files with one header line are read too, and columns that PCM does not write (an application's name,
a cap) are kept as settings known at submission: where one of them changes, a new run begins.

References
----------
Intel Performance Counter Monitor, github.com/intel/pcm: column legend in the tool's help; READ and
WRITE are 1e9 bytes per interval, INST, L2MISS and L3MISS 1e6 per interval.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Array
from rheostat.core.storage.bounded_read import check_columns
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs, note_rows
from rheostat.measurement.counters.rates import Cells, described
from rheostat.measurement.lines import Records

# theirs: (ours, factor, whether it is an amount per interval)
COLUMNS: dict[str, tuple[str, float, bool]] = {
    "EXEC": ("exec_share", 1.0, False),
    "IPC": ("ipc", 1.0, False),
    "CFREQ": ("core_hz", 1e9, False),
    "PhysIPC%": ("core_ipc", 0.01, False),
    "UncFREQ (Ghz)": ("uncore_hz", 1e9, False),
    "C0res%": ("c0_share", 0.01, False),
    "L3MISS": ("llc_misses_per_s", 1e6, True),
    "L2MISS": ("l2_misses_per_s", 1e6, True),
    "READ": ("memory_read_b_per_s", 1e9, True),
    "WRITE": ("memory_write_b_per_s", 1e9, True),
    "INST": ("instructions_per_s", 1e6, True),
    "Proc Energy (Joules)": ("package_power_w", 1.0, True),
    "DRAM Energy (Joules)": ("dram_power_w", 1.0, True),
}
SUMMED = ("Proc Energy (Joules)", "DRAM Energy (Joules)")
SYSTEM = ("System", "System Core C-States", "System Pack C-States")
UNUSED = {"Date", "Time", "FREQ", "AFREQ", "L3HIT", "L2HIT", "L3MPI", "L2MPI", "ACYC",
          "TIME(ticks)", "PhysIPC", "INSTnom", "INSTnom%"}  # fmt: skip


def read_pcm(path: str | Path, *, app: str = "", run_id: str = "") -> JobTable:
    """Intervals as rows; ``app`` and ``run_id`` name the run where the file does not.

    Parameters
    ----------
    path : path
        The file.
    app, run_id : str
        Names of the application and the run, where the file has none.

    Returns
    -------
    JobTable
        A row per interval: runtime in s, rates per second, power in W.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    records = Records(path)
    lines = [(i, line) for i, line in records]
    heads, first = _heads(path, lines)
    cells = [next(csv.reader([line], delimiter=heads.mark)) for _, line in lines[first:]]
    wide = [len(c) >= heads.width for c in cells]
    body = [c for c, good in zip(cells, wide, strict=True) if good]
    if not body:
        raise DataError(str(path), ["has PCM's header but no row that fits it"])
    where = [i for i, good in enumerate(wide) if good]
    notes = [note_rows("row is shorter than the header", [i for i, g in enumerate(wide) if not g],
                       dropped=True)] if len(body) < len(cells) else []  # fmt: skip
    settings = {n: [c[k].strip() for c in body] for n, k in heads.settings.items()}
    every = {n: _carried(cells, k) for n, k in heads.settings.items()}
    good = np.array(wide)  # a cut row still tells when the next interval began
    begun = _starts(every, len(cells))
    span, t = (v[good] for v in _spans([_cell(c, heads.time) for c in cells], begun))
    which = np.cumsum(begun)[good]
    notes.append(Note(f"first interval of each run taken as the median, {np.median(span):.3g} s"))
    odd = Cells()
    values = {
        ours: sum(_floats([c[k] for c in body], odd) for k in heads.columns[theirs]) * scale
        / (span if per else 1.0)
        for theirs, (ours, scale, per) in COLUMNS.items() if theirs in heads.columns
    }  # fmt: skip
    name = run_id or Path(path).name.split(".")[0]
    ids = [f"{name}-{k}" if which[-1] > 1 else name for k in which.tolist()]
    frame = pl.DataFrame({ROW: where, "run_id": ids, "t_s": t, "span_s": span})
    frame = frame.with_columns(**{k: _typed(v) for k, v in settings.items()}, **values)
    if app and "app" not in frame.columns:
        frame = frame.with_columns(app=pl.lit(app))
    return as_jobs(frame, _columns(frame, settings), [*records.notes, *notes, *odd.notes])


def _columns(frame: pl.DataFrame, settings: Sequence[str] | dict[str, list[str]]) -> list[Column]:
    own = [c for c in described(frame.columns) if c.name not in settings or c.name == "app"]
    said = [
        Column(s, "W" if s.endswith("_w") else "", Moment.SUBMIT, "a setting of the run")
        for s in settings
        if s != "app"
    ]
    return [*own, *said]


class _Heads:
    """Where the columns stand: by PCM's names, settings, the time of day."""

    def __init__(self, names: list[str], groups: list[str], mark: str) -> None:
        self.mark, self.width = mark, 0
        self.columns: dict[str, list[int]] = {}
        self.settings: dict[str, int] = {}
        self.time = names.index("Time")
        for k, name in enumerate(names):
            mine = not groups or name in SUMMED or groups[k] in SYSTEM
            if name in COLUMNS and mine:
                self.columns.setdefault(name, [k])
            elif name and not groups and name not in COLUMNS and name not in UNUSED:
                self.settings[name] = k
        for theirs in set(SUMMED) - set(self.columns):  # no total: one column per socket
            if sockets := [
                k for k, g in enumerate(groups[: len(names)]) if g == theirs and names[k]
            ]:
                self.columns[theirs] = sockets
        used = [k for ks in self.columns.values() for k in ks]
        self.width = max([*used, *self.settings.values(), self.time]) + 1


def _heads(path: str | Path, lines: list[tuple[int, str]]) -> tuple[_Heads, int]:
    """The header and the number of lines it takes: one, or two with a line of groups before."""
    for n in range(min(2, len(lines))):
        text = lines[n][1]
        mark = max(",;", key=text.count)
        names = [c.strip() for c in text.split(mark)]
        if "Time" in names and set(names) & set(COLUMNS):
            groups = _filled(lines[0][1].split(mark)) if n else []
            check_columns(path, len(names))
            return _Heads(names, groups + [""] * (len(names) - len(groups)) if n else [], mark), (
                n + 1
            )
    raise DataError(str(path), [f"expected PCM's header with Time and {', '.join(COLUMNS)}"])


def _filled(groups: list[str]) -> list[str]:
    """A group's name stands over its first column only in some versions."""
    filled, last = [], ""
    for g in (g.strip() for g in groups):
        last = g or last
        filled.append(last)
    return filled


def _cell(cells: list[str], k: int) -> str:
    return cells[k].strip() if k < len(cells) else ""


def _carried(cells: list[list[str]], k: int) -> list[str]:
    """A column; where a row is cut before it, what stood there last."""
    column = [""]
    for row in cells:
        column.append(row[k].strip() if k < len(row) else column[-1])
    return column[1:]


def _starts(settings: dict[str, list[str]], n: int) -> np.ndarray:
    """Which rows begin a run: the first, and where a setting changes."""
    rows = list(zip(*settings.values(), strict=True)) if settings else [()] * n
    return np.array([i == 0 or rows[i] != rows[i - 1] for i in range(n)])


def _spans(clock: list[str], starts: np.ndarray) -> tuple[Array, Array]:
    """Seconds of each interval and since its run began; midnight may pass, NaN where unreadable."""
    now = np.array([_seconds(c) for c in clock])
    step = np.diff(now, prepend=np.nan)
    step = np.where(step < -43200, step + 86400, step)
    step[starts] = np.nan
    step[~(step > 0)] = np.nan
    known = step[np.isfinite(step)]
    usual = float(np.median(known)) if len(known) else np.nan
    span = np.where(np.isfinite(step), step, usual)
    total = np.cumsum(span)
    before = np.maximum.accumulate(np.where(starts, total - span, 0.0))
    return span, total - before


def _seconds(text: str) -> float:
    try:
        h, m, s = text.split(":")
        return int(h) * 3600 + int(m) * 60 + float(s)
    except ValueError:
        return float("nan")


def _floats(cells: list[str], odd: Cells) -> Array:
    return np.array([odd.number(c) for c in cells])


def _typed(cells: list[str]) -> pl.Series:
    text = pl.Series(cells, dtype=pl.String)
    number = text.cast(pl.Float64, strict=False)
    return text if number.null_count() else number
