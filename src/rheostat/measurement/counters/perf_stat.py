"""Read ``perf stat``: its CSV (``-x,``), its JSON lines (``-j``) and its text for people.

One row per run, or per interval with ``-I``; a file to which perf appended holds several runs.
Counts become rates over the time counted; events that perf did not count, or does not support, are
null and noted, never 0.  Where perf shared the counters between more events than there are
(multiplexing), it has scaled the count up: rows with events counted less than nine tenths of the
time are noted.

References
----------
Linux, tools/perf/Documentation/perf-stat.txt, "CSV FORMAT" and "JSON FORMAT".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import polars as pl
import polars.selectors as cs

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.files import parse_json
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs
from rheostat.measurement.counters.rates import cleaned, described, energies_of_intervals
from rheostat.measurement.lines import Records

EVENTS = {
    "instructions": "instructions_per_s",
    "cycles": "cycles_per_s",
    "cpu-cycles": "cycles_per_s",
    "LLC-load-misses": "llc_misses_per_s",
    "cache-misses": "llc_misses_per_s",
    "LLC-loads": "llc_references_per_s",
    "cache-references": "llc_references_per_s",
    "L1-dcache-load-misses": "l1d_misses_per_s",
    "branches": "branches_per_s",
    "branch-instructions": "branches_per_s",
    "branch-misses": "branch_misses_per_s",
    "dTLB-load-misses": "tlb_misses_per_s",
    "power/energy-pkg/": "package_power_w",
    "power/energy-ram/": "dram_power_w",
}
NO_VALUE = ("<not counted>", "<not supported>")
CLOCKS = ("duration_time", "user_time", "system_time")
NO_TIME = (
    "tells no elapsed time: run perf with -e duration_time (or -I 100); or give it, in s: "
    "--option runtime_s=12.5"
)
BUSY = ("task-clock", "cpu-clock")
IN_USE = "CPUs utilized"
BY_USE = "elapsed time is {} divided by its CPUs utilized ({}), as duration_time was not counted"
BEGINS = re.compile("# started on|Performance counter stats for")
LIKE_A_COUNT = re.compile(r"\{|[^#,;\s]*[,;]([^,;]*[,;]){3}")
AGGREGATE = re.compile(r"(S|N|D|C)\d+(-(D|L|C|CLS|T)\d+)*|CPU\d+")
"""Of what a line counts where perf did not add all up."""
PLACES = ("socket", "die", "cluster", "core", "node", "cpu", "thread")
LONG_ENOUGH = 90.0
CELLS = 6
"""A line of CSV has at least five: value, unit, event, time counted, share; one more with -I."""


@dataclass(frozen=True)
class _Count:
    """One event of one row; ``at`` None without ``-I``, ``value`` None where perf has none.

    ``in_use`` is the mean number of processors in use that perf writes beside its clock of them;
    ``place`` the socket, die, core or processor that alone was counted (``--per-socket``, ``-A``).
    """

    at: float | None
    event: str
    value: float | None
    unit: str
    share: float
    in_use: float | None = None
    place: str = ""

    @property
    def scale(self) -> float:
        """Seconds in one unit of a clock of processors."""
        return 1e-3 if self.unit == "msec" else 1e-9

    @property
    def plain(self) -> str:
        """The event without modifiers such as :u."""
        return re.sub(r":[ukhGHpPSDI]+$", "", self.event)


@dataclass
class _Recording:
    """What one run of perf wrote: files may hold several (``perf stat --append``)."""

    counts: list[_Count] = field(default_factory=list)
    told_s: float | None = None

    def fits(self, count: _Count) -> bool:
        """Whether a count can be of this recording: time goes on, and no event comes twice."""
        if not self.counts:
            return True
        last = self.counts[-1].at
        if (count.at is None) != (last is None) or (count.at or 0.0) < (last or 0.0):
            return False
        same = takewhile(lambda c: c.at == count.at, reversed(self.counts))
        return all((c.event, c.place) != (count.event, count.place) for c in same)

    @property
    def elapsed_s(self) -> float | None:
        """Seconds the run took, where that is told."""
        for c in self.counts:
            if c.event == "duration_time" and c.value:
                return c.value * (1e-9 if c.unit in ("", "ns") else 1.0)
        used = self.by_use
        if used and used.value and used.in_use:
            return used.value * used.scale / used.in_use
        return self.told_s

    @property
    def by_use(self) -> _Count | None:
        """The clock of processors whose quotient is the elapsed time, where nothing else tells."""
        if self.told_s or any(c.event == "duration_time" and c.value for c in self.counts):
            return None
        clocks = (c for c in self.counts if c.at is None and c.plain in BUSY)
        return next((c for c in clocks if c.value and c.in_use), None)


def read_perf(
    path: str | Path, *, app: str = "", run_id: str = "", runtime_s: float | None = None
) -> JobTable:
    """Runs or intervals as rows; recordings one after the other in a file are runs of their own.

    CSV and JSON do not tell the elapsed time of a run without ``-I``: the event ``duration_time``
    does (nanoseconds), or ``runtime_s`` given here, or ``task-clock`` over the processors in use
    that perf writes beside it; with none this is a `DataError`.

    Parameters
    ----------
    path : path
        The file.
    app, run_id : str
        Names of the application and the run, where the file has none.
    runtime_s : float, optional
        Elapsed time of the run, s, where the file does not tell.

    Returns
    -------
    JobTable
        A row per run or interval: runtime in s, rates per second.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    records = Records(path)
    recordings, unread = _recordings([line for _, line in records])
    if not recordings:
        raise DataError(str(path), ["holds no event of perf stat in CSV (-x,), JSON (-j) or text"])
    times = _times(path, recordings, runtime_s)
    name = run_id or Path(path).name.split(".")[0]
    names = [name] if len(recordings) == 1 else [f"{name}-{k + 1}" for k in range(len(recordings))]
    columns = _Columns()
    rows = [r for one in zip(recordings, times, names, strict=True) for r in columns.rows(*one)]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index(ROW)
    frame = frame.with_columns(cs.by_dtype(pl.Null).cast(pl.Float64), pl.col(ROW).cast(pl.Int64))
    if app:
        frame = frame.with_columns(app=pl.lit(app))
    notes = [*records.notes, *columns.notes, *energies_of_intervals(frame)]
    if len(recordings) > 1:
        notes.append(Note(f"{len(recordings)} recordings one after the other: a run each"))
    if not runtime_s:
        used = [c for r in recordings if (c := r.by_use)]
        notes += [Note(BY_USE.format(c.event, f"{c.in_use:g}")) for c in used]
    if unread:
        notes.append(Note(f"{unread} lines that hold no count of perf are left out"))
    return as_jobs(frame, described(frame.columns), notes)


def _times(
    path: str | Path, recordings: list[_Recording], runtime_s: float | None
) -> list[float | None]:
    """Seconds of each recording; None for one of intervals, which has its times in it."""
    whole = [r.counts[0].at is None for r in recordings]
    if runtime_s is not None and sum(whole) > 1:
        message = f"holds {sum(whole)} recordings, and runtime_s is of one: give each a file"
        raise DataError(str(path), [message])
    times = [
        runtime_s or r.elapsed_s if w else None for r, w in zip(recordings, whole, strict=True)
    ]
    if any(w and not t for w, t in zip(whole, times, strict=True)):
        raise DataError(str(path), [NO_TIME])
    return times


class _Columns:
    """Which column an event goes to, and what was odd on the way."""

    def __init__(self) -> None:
        self.owner: dict[str, str] = {}
        self.uncounted: dict[str, int] = {}
        self.part: dict[str, float] = {}

    def rows(
        self, recording: _Recording, elapsed_s: float | None, name: str
    ) -> Iterator[dict[str, object]]:
        """A row for each interval, or the one of the run."""
        before = 0.0
        for at in sorted({c.at or 0.0 for c in recording.counts}):
            t = at if elapsed_s is None else elapsed_s
            row: dict[str, object] = {"t_s": t, "span_s": t - before, "run_id": name}
            for c in recording.counts:
                if (c.at or 0.0) == at and c.event not in CLOCKS:
                    self._add(row, c, t - before)
            yield row
            before = t

    def _add(self, row: dict[str, object], c: _Count, span_s: float) -> None:
        name, scale = self._named(c)
        row.setdefault(name, None)
        if c.value is None:
            self.uncounted[c.event] = self.uncounted.get(c.event, 0) + 1
            return
        row[name] = (row[name] or 0.0) + c.value * scale / span_s  # type: ignore[operator]
        if c.share < LONG_ENOUGH:
            self.part[c.event] = min(c.share, self.part.get(c.event, 100.0))

    def _named(self, c: _Count) -> tuple[str, float]:
        """Our column and the factor to its unit: two events are one column only as :u and :k."""
        if c.plain in BUSY:
            name, scale = "busy_cores", c.scale
        else:
            name, scale = EVENTS.get(c.plain, f"{cleaned(c.event)}_per_s"), 1.0
        first = self.owner.setdefault(name, c.event)
        parts = {first, c.event} == {f"{c.plain}:u", f"{c.plain}:k"}
        return (name, scale) if first == c.event or parts else (f"{cleaned(c.event)}_per_s", scale)

    @property
    def notes(self) -> list[Note]:
        """On what was not counted, or only for part of the time."""
        uncounted = [Note(f"{e}: not counted or not supported in {n} rows, null")
                 for e, n in self.uncounted.items()]  # fmt: skip
        return uncounted + [Note(f"{e}: counted {s:.0f} % of the time, scaled up by perf")
                        for e, s in self.part.items()]  # fmt: skip


def _recordings(lines: list[str]) -> tuple[list[_Recording], int]:
    """Recordings in their order, and how many lines look like a count and are none."""
    recordings, unread = [_Recording()], 0
    for line in lines:
        text = line.strip()
        if BEGINS.match(text):
            recordings.append(_Recording())
            continue
        if elapsed := re.match(r"([\d.,]+)(\s+\+-\s+[\d.,]+)?\s+seconds time elapsed", text):
            recordings[-1].told_s = _number(elapsed[1].replace(",", ""))
            continue
        count = _json(text) if text.startswith("{") else _csv(text) or _text(text)
        if count is None:
            unread += LIKE_A_COUNT.match(text) is not None
            continue
        if not recordings[-1].fits(count):
            recordings.append(_Recording())
        recordings[-1].counts.append(count)
    return [r for r in recordings if r.counts], unread


def _csv(line: str) -> _Count | None:
    """``[time,]value,unit,event,nanoseconds counted,percent of the time,...``"""
    mark = max(",;", key=line.count)
    cells = [c.strip() for c in line.split(mark)]
    at, place = None, ""
    begins = cells[1:2] and (_value(cells[1]) or AGGREGATE.fullmatch(cells[1]))
    if len(cells) >= CELLS and "." in cells[0] and begins:
        at, cells = _number(cells[0]), cells[1:]
        if at is None or not 0 < at < math.inf:
            return None
    if AGGREGATE.fullmatch(cells[0]):
        place, cells = cells[0], cells[1 if cells[0].startswith("CPU") else 2 :]
    if cells[3:4] and cells[3].endswith("%"):  # what repeats differ by (-r)
        del cells[3]
    if len(cells) < CELLS - 1 or not _value(cells[0]) or not re.search("[A-Za-z]", cells[2]):
        return None
    in_use = _number(cells[5]) if cells[6:7] == [IN_USE] else None
    share = _number(cells[4]) or 0.0
    return _Count(at, cells[2], _number(cells[0]), cells[1], share, in_use, place)


def _json(line: str) -> _Count | None:
    try:
        facts = parse_json(line)
        at = float(facts["interval"]) if "interval" in facts else None
        share = float(facts.get("pcnt-running", 100.0))
        event, value = str(facts["event"]), str(facts["counter-value"])
        place = " ".join(f"{p}{facts[p]}" for p in PLACES if p in facts)
        in_use = _number(str(facts["metric-value"])) if facts.get("metric-unit") == IN_USE else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not _value(value) or (at is not None and not 0 < at < math.inf):
        return None
    return _Count(at, event, _number(value), str(facts.get("unit", "")), share, in_use, place)


COUNTED = re.compile(
    rf"(?:(?P<at>\d+\.\d{{9}})\s+)?(?:(?P<place>{AGGREGATE.pattern})\s+(?:\d+\s+)?)?"
    r"(?P<value><not \w+>|[\d.,]+)\s+(?:(?P<unit>msec|Joules|ns)\s+)?"
    r"(?P<event>[\w/:.=-]+)(?P<rest>.*)"
)
"""A line for people; perf writes the times of -I in nanoseconds, and no count so."""


def _text(line: str) -> _Count | None:
    """``[time]  1,234,567      instructions    # ...  (75.00%)``"""
    match = COUNTED.match(line)
    if not match or match["event"] in ("seconds", "at"):
        return None
    share = re.search(r"\((\d+[.,]\d+)\s*%\)", match["rest"])
    value = None if match["value"] in NO_VALUE else _number(match["value"].replace(",", ""))
    part = float(share[1].replace(",", ".")) if share else 100.0
    at = float(match["at"]) if match["at"] else None
    place = match["place"] or ""
    return _Count(at, match["event"], value, match["unit"] or "", part, place=place)


def _value(cell: str) -> bool:
    return cell in NO_VALUE or _number(cell) is not None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
