"""Read ``perf stat``: its CSV (``-x,``), its JSON lines (``-j``) and its text for people.

One row per run, or per interval with ``-I``.  Counts become rates over the time counted; events
that perf did not count, or does not support, are null and noted, never 0.  Where perf shared the
counters between more events than there are (multiplexing), it has scaled the count up: rows with
events counted less than nine tenths of the time are noted.

References
----------
Linux, tools/perf/Documentation/perf-stat.txt, "CSV FORMAT" and "JSON FORMAT".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError
from rheostat.measure.checks import ROW, as_jobs
from rheostat.measure.counters.names import cleaned, described
from rheostat.measure.lines import Records

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
LONG_ENOUGH = 90.0


@dataclass(frozen=True)
class _Count:
    """One event of one row; ``value`` None where perf has none."""

    at: float
    event: str
    value: float | None
    unit: str
    share: float
    count_s: float


def read_perf(
    path: str | Path, *, app: str = "", run_id: str = "", runtime_s: float | None = None
) -> JobTable:
    """Runs or intervals as rows.

    CSV and JSON do not tell the elapsed time of a run without ``-I``: the event ``duration_time``
    does (nanoseconds), or ``runtime_s`` given here; with neither this is a `DataError`.
    """
    records = Records(path, comment="#")
    lines = [line for _, line in records]
    counts = list(_counts(lines))
    if not counts:
        raise DataError(str(path), ["holds no event of perf stat in CSV (-x,), JSON (-j) or text"])
    times = sorted({c.at for c in counts})
    elapsed = _elapsed(counts, lines) if times == [0.0] else None
    if times == [0.0]:
        times = [runtime_s or elapsed or 0.0]
        if not times[0]:
            raise DataError(
                str(path),
                ["tells no elapsed time: add -e duration_time or -I 100, or say runtime_s=12.5"],
            )
        counts = [_Count(times[0], c.event, c.value, c.unit, c.share, c.count_s) for c in counts]
    rows, notes = _rows(counts, times)
    frame = pl.DataFrame(rows).with_columns(run_id=pl.lit(run_id or Path(path).name.split(".")[0]))
    if app:
        frame = frame.with_columns(app=pl.lit(app))
    return as_jobs(frame, described(frame.columns), [*records.notes, *notes])


def _rows(counts: list[_Count], times: list[float]) -> tuple[dict[str, list[object]], list[Note]]:
    """Columns by name, and notes on what was not counted or only for part of the time."""
    spans = {t: t - before for before, t in zip([0.0, *times], times, strict=False)}
    place = {t: i for i, t in enumerate(times)}
    rows: dict[str, list[object]] = {
        ROW: list(range(len(times))), "t_s": list(times), "span_s": [spans[t] for t in times]
    }  # fmt: skip
    uncounted: dict[str, int] = {}
    part: dict[str, float] = {}
    for c in counts:
        if c.event in ("duration_time", "user_time", "system_time"):
            continue
        name, scale = _named(c)
        column = rows.setdefault(name, [None] * len(times))
        if c.value is None:
            uncounted[c.event] = uncounted.get(c.event, 0) + 1
            continue
        before = column[place[c.at]] or 0.0
        column[place[c.at]] = before + c.value * scale / spans[c.at]  # type: ignore[operator]
        if c.share < LONG_ENOUGH:
            part[c.event] = min(c.share, part.get(c.event, 100.0))
    notes = [Note(f"{e}: not counted or not supported in {n} rows, null") for e, n in
             uncounted.items()]  # fmt: skip
    notes += [Note(f"{e}: counted {s:.0f} % of the time, scaled up by perf") for e, s in
              part.items()]  # fmt: skip
    return rows, notes


def _named(c: _Count) -> tuple[str, float]:
    """Our column and the factor to its unit; modifiers such as :u are left out."""
    plain = re.sub(r":[ukhGHpPSDI]+$", "", c.event)
    if plain in EVENTS:
        return EVENTS[plain], 1.0
    if plain in ("task-clock", "cpu-clock"):
        return "busy_cores", 1e-3 if c.unit == "msec" else 1e-9
    return f"{cleaned(c.event)}_per_s", 1.0


def _counts(lines: list[str]) -> Iterator[_Count]:
    for line in lines:
        text = line.strip()
        found = _json(text) if text.startswith("{") else _csv(text) or _text(text)
        if found is not None:
            yield found


def _csv(line: str) -> _Count | None:
    """``[time,]value,unit,event,nanoseconds counted,percent of the time,...``"""
    mark = max(",;", key=line.count)
    cells = [c.strip() for c in line.split(mark)]
    at = 0.0
    if len(cells) > 6 and _number(cells[0]) is not None and "." in cells[0] and _value(cells[1]):
        at, cells = float(cells[0]), cells[1:]
    if len(cells) < 5 or not _value(cells[0]) or not cells[2]:
        return None
    return _Count(at, cells[2], _number(cells[0]), cells[1], _number(cells[4]) or 0.0,
                  (_number(cells[3]) or 0.0) * 1e-9)  # fmt: skip


def _json(line: str) -> _Count | None:
    try:
        facts = json.loads(line)
    except json.JSONDecodeError:
        return None
    if "event" not in facts or "counter-value" not in facts:
        return None
    return _Count(
        float(facts.get("interval", 0.0)),
        str(facts["event"]),
        _number(str(facts["counter-value"])),
        str(facts.get("unit", "")),
        float(facts.get("pcnt-running", 100.0)),
        float(facts.get("event-runtime", 0.0)) * 1e-9,
    )


def _text(line: str) -> _Count | None:
    """``1,234,567      instructions    # ...  (75.00%)``"""
    found = re.match(r"(<not \w+>|[\d.,]+)\s+(?:(msec|Joules|ns)\s+)?([\w/:.=-]+)(.*)", line)
    if not found or found[3] in ("seconds", "at"):
        return None
    share = re.search(r"\((\d+[.,]\d+)\s*%\)", found[4])
    value = None if found[1] in NO_VALUE else _number(found[1].replace(",", ""))
    return _Count(0.0, found[3], value, found[2] or "", float(share[1]) if share else 100.0, 0.0)


def _elapsed(counts: list[_Count], lines: list[str]) -> float | None:
    for c in counts:
        if c.event == "duration_time" and c.value:
            return c.value * (1e-9 if c.unit in ("", "ns") else 1.0)
    for line in lines:
        if found := re.match(r"\s*([\d.,]+)\s+seconds time elapsed", line):
            return _number(found[1].replace(",", ""))
    return None


def _value(cell: str) -> bool:
    return cell in NO_VALUE or _number(cell) is not None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
