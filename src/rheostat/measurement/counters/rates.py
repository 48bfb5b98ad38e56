"""One vocabulary for what four tools count: rates per second, watts, hertz; never bare totals.

A total grows with how long one looked; a rate does not, and can be known while a job still runs.
So every count is divided by the seconds it was taken over, and the seconds stand beside it as
``span_s``.  Joules of a meter become watts the same way.  Events that no table here knows keep
their own name, cleaned, as ``NAME_per_s``.

Counts of threads and sockets are added up, which hides what is wrong with one of them: each cell is
therefore looked at before (`Cells`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import polars as pl

from rheostat.core.jobs import Column, Moment, Note
from rheostat.core.vocabulary import VOCABULARY

_E = Moment.END
MOST_COUNTED = 1e30

COUNTERS: dict[str, Column] = {
    c.name: c
    for c in (
        Column("run_id", "", Moment.SUBMIT, "rows of one run have the same"),
        Column("region", "", Moment.SUBMIT, "the marked part of the program"),
        Column("t_s", "s", _E, "end of the interval, since the first one began"),
        Column("span_s", "s", _E, "how long the row was counted"),
        Column("instructions_per_s", "1/s", _E, "instructions retired, all cores"),
        Column("cycles_per_s", "1/s", _E, "unhalted core cycles, all cores"),
        Column("ipc", "", _E, "instructions per cycle of a hardware thread"),
        Column("core_ipc", "", _E, "instructions per cycle of a physical core, share of the most"),
        Column("exec_share", "", _E, "instructions per nominal cycle"),
        Column("busy_cores", "", _E, "cores' worth of time that the command ran"),
        Column("core_hz", "Hz", _E, "frequency of the cores while not halted"),
        Column("uncore_hz", "Hz", _E, "frequency of what is not a core"),
        Column("c0_share", "", _E, "share of time that cores were not halted"),
        Column("l2_misses_per_s", "1/s", _E, "misses of the second cache"),
        Column("llc_misses_per_s", "1/s", _E, "misses of the last cache"),
        Column("llc_references_per_s", "1/s", _E, "requests to the last cache"),
        Column("l1d_misses_per_s", "1/s", _E, "misses of the first data cache"),
        Column("branches_per_s", "1/s", _E, "branches"),
        Column("branch_misses_per_s", "1/s", _E, "branches guessed wrong"),
        Column("tlb_misses_per_s", "1/s", _E, "misses of the data TLB"),
        Column("flops_per_s", "1/s", _E, "double precision operations"),
        Column("memory_read_b_per_s", "B/s", _E, "read from memory"),
        Column("memory_write_b_per_s", "B/s", _E, "written to memory"),
        Column("memory_b_per_s", "B/s", _E, "read from and written to memory"),
        Column("package_power_w", "W", _E, "processor packages, by their energy counters"),
        Column("dram_power_w", "W", _E, "memory, by its energy counters"),
    )
}


def cleaned(event: str) -> str:
    """An event's own name as a column name.

    >>> cleaned("cpu/event=0x3c,name=CPU_CLK/"), cleaned("L1-dcache-loads:u")
    ('cpu_event_0x3c_name_cpu_clk', 'l1_dcache_loads_u')
    """
    return re.sub(r"[^0-9a-z]+", "_", event.lower()).strip("_") or "event"


class Cells:
    """Text as counts: NaN for what cannot be one; ``notes`` say how many were not.

    >>> cells = Cells()
    >>> [cells.number(c) for c in ("5", "nan", "", "-5", "inf", "1e308", "abc")]
    [5.0, nan, nan, nan, nan, nan, nan]
    >>> cells.notes[0].message
    '4 cells hold no count (negative, infinite or no number), null: -5, inf, 1e308, abc'
    """

    def __init__(self) -> None:
        self._odd: list[str] = []

    def number(self, cell: object) -> float:
        """The count; an empty cell and nan are not known, anything else is odd."""
        text = str(cell).strip()
        try:
            value = float(text or "nan")
        except ValueError:
            value = -1.0
        if math.isnan(value) or 0 <= value < MOST_COUNTED:
            return value
        self._odd.append(text)
        return math.nan

    @property
    def notes(self) -> list[Note]:
        """One note on the cells that were odd, if any."""
        if not self._odd:
            return []
        some = ", ".join(text[:20] for text in self._odd[:5])
        what = "hold no count (negative, infinite or no number), null"
        return [Note(f"{len(self._odd)} cells {what}: {some}", count=len(self._odd))]


def described(names: Iterable[str]) -> list[Column]:
    """A `Column` for each name: of this vocabulary, the house's, or a rate known at the end."""
    return [
        VOCABULARY.get(n)
        or COUNTERS.get(n)
        or Column(n, "1/s" if n.endswith("_per_s") else "", _E, "as the tool names it")
        for n in names
    ]


PARTS = {"package_power_w": "package", "dram_power_w": "memory"}


def energies_of_intervals(frame: pl.DataFrame) -> list[Note]:
    """What the watts of each run's intervals add up to, over the time in which all are known.

    >>> runs = {"run_id": ["a"] * 2, "span_s": [1.0, 3.0], "package_power_w": [100.0, 200.0]}
    >>> energies_of_intervals(pl.DataFrame(runs))[0].message
    'a: package 700 J, 175 W in the mean, for 4 s'
    """
    drawn = [c for c in PARTS if c in frame.columns]
    notes = []
    for run in frame.partition_by("run_id", maintain_order=True) if drawn else []:
        known = run.filter(pl.all_horizontal(pl.col(c).is_finite() for c in ("span_s", *drawn)))
        seconds = float(known["span_s"].sum())
        if run.height < 2 or not seconds:
            continue
        joules = [float((known[c] * known["span_s"]).sum()) for c in drawn]
        each = [f"{PARTS[c]} {_mean(j, seconds)}" for c, j in zip(drawn, joules, strict=True)]
        each += [f"together {_mean(sum(joules), seconds)}"] if len(drawn) > 1 else []
        of_all = f" of {float(run['span_s'].sum()):.4g} s" if known.height < run.height else ""
        notes.append(Note(f"{run['run_id'][0]}: {'; '.join(each)}, for {seconds:.4g} s{of_all}"))
    return notes


def _mean(joules: float, seconds: float) -> str:
    return f"{joules:.5g} J, {joules / seconds:.4g} W in the mean"
