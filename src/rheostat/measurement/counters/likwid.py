"""Read ``likwid-perfctr`` and ``likwid-mpirun``: the tables of metrics, drawn or as CSV (``-O``).

One row per region and group.  Metrics stand per hardware thread; those of a whole socket (energy,
memory) are 0 on all threads but one.  Rates and watts are therefore summed over threads, clocks and
CPI averaged over threads that ran, and the time is the longest.  Where the tool has printed its own
statistics table, its Sum, Max and Avg are taken.

References
----------
LIKWID, github.com/RRZE-HPC/likwid: performance groups such as MEM_DP, ENERGY, CLOCK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs
from rheostat.measurement.counters.rates import Cells, cleaned, described
from rheostat.measurement.lines import Records

# metric without its unit: (ours, factor, how threads are put together)
METRICS: dict[str, tuple[str, float, str]] = {
    "runtime (rdtsc) [s]": ("span_s", 1.0, "max"),
    "runtime unhalted [s]": ("unhalted_s", 1.0, "max"),
    "clock [mhz]": ("core_hz", 1e6, "mean"),
    "uncore clock [mhz]": ("uncore_hz", 1e6, "mean"),
    "cpi": ("cpi", 1.0, "mean"),
    "power [w]": ("package_power_w", 1.0, "sum"),
    "power dram [w]": ("dram_power_w", 1.0, "sum"),
    "dp [mflop/s]": ("flops_per_s", 1e6, "sum"),
    "memory bandwidth [mbytes/s]": ("memory_b_per_s", 1e6, "sum"),
    "memory read bandwidth [mbytes/s]": ("memory_read_b_per_s", 1e6, "sum"),
    "memory write bandwidth [mbytes/s]": ("memory_write_b_per_s", 1e6, "sum"),
    "l2 miss rate": ("l2_misses_per_instruction", 1.0, "mean"),
    "l3 miss rate": ("llc_misses_per_instruction", 1.0, "mean"),
    "branch misprediction rate": ("branch_misses_per_instruction", 1.0, "mean"),
}
TOTALS = ("energy [j]", "energy dram [j]", "memory data volume [gbytes]")
HOW = {"sum": "sum", "max": "max", "mean": "avg"}


@dataclass
class _Part:
    """What one region of one group printed."""

    region: str
    group: str
    threads: dict[str, list[float]] = field(default_factory=dict)
    statistic: dict[str, dict[str, float]] = field(default_factory=dict)


def read_likwid(path: str | Path, *, app: str = "", run_id: str = "") -> JobTable:
    """Regions as rows; a file without a table of metrics is a `DataError`.

    Parameters
    ----------
    path : path
        The file.
    app, run_id : str
        Names of the application and the run, where the file has none.

    Returns
    -------
    JobTable
        A row per region: runtime in s, rates per second, power in W.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    records = Records(path)
    cells = Cells()
    parts = [p for p in _parts([line for _, line in records], cells) if p.threads or p.statistic]
    if not parts:
        raise DataError(str(path), ["holds no table with 'Metric': not an output of LIKWID"])
    name = run_id or Path(path).name.split(".")[0]
    rows = [{ROW: i, "run_id": name, "region": p.region, "group": p.group} | _values(p)
            for i, p in enumerate(parts)]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if app:
        frame = frame.with_columns(app=pl.lit(app))
    notes = [Note("rates, watts and bandwidth summed over threads; clocks and CPI averaged")]
    return as_jobs(frame, described(frame.columns), [*records.notes, *notes, *cells.notes])


def _values(part: _Part) -> dict[str, float]:
    values = {}
    for metric in dict.fromkeys([*part.threads, *part.statistic]):
        if metric in TOTALS:
            continue
        ours, scale, how = METRICS.get(metric) or (_own(metric), 1.0, "mean")
        values[ours] = scale * _together(part, metric, how)
    if values.get("cpi", 0.0) > 0:
        values["ipc"] = 1.0 / values["cpi"]
    return values


def _own(metric: str) -> str:
    return cleaned(re.sub(r"\[.*\]", "", metric))


def _together(part: _Part, metric: str, how: str) -> float:
    """The tool's own statistic where it has one, else ours over the threads that ran."""
    if metric in part.statistic and how != "mean":
        return part.statistic[metric][HOW[how]]
    values = np.array(part.threads.get(metric, [part.statistic.get(metric, {}).get("avg", np.nan)]))
    if how != "mean":
        return float(values.sum() if how == "sum" else values.max())  # unknown if one of them is
    ran = values[np.isfinite(values) & (values != 0)]
    return float(ran.mean()) if len(ran) else float("nan")


def _parts(lines: list[str], count: Cells) -> Iterator[_Part]:
    """Regions in order; a table of metrics is one whose first head is Metric."""
    part, inside, heads = _Part("", ""), False, [""]
    for line in lines:
        rest = line
        if heading := re.search(r"Region[: ,]+([^,|]+?)(?:,|\s*$)", line):
            if part.threads or part.statistic:
                yield part
            part, inside = _Part(heading[1].strip(), ""), False
            rest = line[heading.end() :].strip()  # the group may stand behind
        if heading := re.match(r"Group(?: \d+)?: *(\S+)|TABLE,Group \d+ \w+(?: STAT)?,(\w+)", rest):
            group = heading[1] or heading[2]
            if part.group not in ("", group):
                yield part
                part = _Part(part.region, "")
            part.group = group
            continue
        cells = _cells(rest)
        if cells and cells[0] == "Metric":
            inside, heads = True, [c.lower() for c in cells[1:]]
        elif cells and inside:
            _take(part, cells, heads, count)
        elif not rest.startswith("+"):
            inside = False
    yield part


def _take(part: _Part, cells: list[str], heads: list[str], count: Cells) -> None:
    metric = cells[0].lower()
    numbers = [count.number(c) for c in cells[1:]]
    if metric.endswith(" stat") or "sum" in heads:
        plain = metric.removesuffix(" stat")
        part.statistic[plain] = dict(zip(heads, numbers, strict=False))
    else:
        part.threads[metric] = numbers


def _cells(line: str) -> list[str]:
    mark = "|" if line.lstrip().startswith("|") else ","
    cells = [c.strip() for c in line.strip().strip("|").split(mark)]
    while cells and not cells[-1]:
        cells.pop()
    return cells if len(cells) > 1 else []
