"""Read the JSON of PAPI's high-level interface: one row per region, threads added together.

PAPI writes one file per rank, with counts per thread and region as text.  Counts of the same region
are added over threads, its time is the longest of them, and the counts become rates.

References
----------
Jagode et al.: PAPI software-defined events and the high-level API; papi_hl_output of PAPI 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.files import ordinary_file, parse_json
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs, note_rows
from rheostat.measurement.counters.rates import Cells, cleaned, described
from rheostat.measurement.lines import whole

EVENTS = {
    "cycles": "cycles_per_s",
    "PAPI_TOT_CYC": "core_cycles_per_s",
    "PAPI_TOT_INS": "instructions_per_s",
    "PAPI_L1_DCM": "l1d_misses_per_s",
    "PAPI_L2_TCM": "l2_misses_per_s",
    "PAPI_L3_TCM": "llc_misses_per_s",
    "PAPI_L3_TCA": "llc_references_per_s",
    "PAPI_BR_INS": "branches_per_s",
    "PAPI_BR_MSP": "branch_misses_per_s",
    "PAPI_TLB_DM": "tlb_misses_per_s",
    "PAPI_FP_OPS": "flops_per_s",
    "PAPI_DP_OPS": "flops_per_s",
}
NOT_COUNTS = ("name", "parent_region_id", "region_count", "real_time_nsec")


def read_papi(path: str | Path, *, app: str = "", run_id: str = "") -> JobTable:
    """Regions as rows; a region without time is left out with a note.

    Parameters
    ----------
    path : path
        The file.
    app, run_id : str
        Names of the application and the run, where the file has none.

    Returns
    -------
    JobTable
        A row per region: runtime in s, rates per second.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    try:
        facts = parse_json(whole(ordinary_file(path)))
    except ValueError as error:
        raise DataError(str(path), [f"is not JSON: {error}"[:300]]) from error
    if not isinstance(facts, Mapping) or "threads" not in facts:
        raise DataError(str(path), ["has no 'threads': not an output of PAPI's high-level API"])
    regions: dict[str, dict[str, float]] = {}
    cells = Cells()
    for name, values in _regions(facts["threads"]):
        kept = regions.setdefault(name, {"span_s": 0.0})
        seconds = cells.number(values.get("real_time_nsec", "")) * 1e-9
        kept["span_s"] = float(np.maximum(kept["span_s"], seconds))  # NaN stays NaN
        for event, value in values.items():
            if event not in NOT_COUNTS:
                kept[event] = kept.get(event, 0.0) + cells.number(value)
    rows, timeless = [], []
    for i, (name, counts) in enumerate(regions.items()):
        span = counts.pop("span_s")
        if not span > 0:
            timeless.append(i)
            continue
        rates = {_named(e): v / span for e, v in counts.items()}
        rows.append({ROW: i, "run_id": run_id or Path(path).stem, "region": name, "span_s": span}
                    | rates)  # fmt: skip
    if not rows:
        raise DataError(str(path), ["has no region with a time"])
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if app:
        frame = frame.with_columns(app=pl.lit(app))
    cpu = [Note(f"counted on {facts['cpu_info']}")] if facts.get("cpu_info") else []
    left = [note_rows("region has no time", timeless, dropped=True)] if timeless else []
    return as_jobs(frame, described(frame.columns), [*cpu, *left, *cells.notes])


def _regions(threads: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name, values) of every region of every thread; PAPI 6 writes lists, PAPI 7 mappings."""
    for thread in _each(threads):
        for region in _each(thread.get("regions", {})):
            if isinstance(region, Mapping) and "name" in region:
                yield str(region["name"]), region


def _each(group: Any) -> list[Any]:
    return list(group.values()) if isinstance(group, Mapping) else list(group)


def _named(event: str) -> str:
    return EVENTS.get(event) or f"{cleaned(event)}_per_s"
