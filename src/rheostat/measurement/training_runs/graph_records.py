"""Records of measured training steps with their graphs: a JSON object a line.

Each has ``cfg`` (family, sizes, batch, optimizer), ``nodes`` and ``edges`` of the compiled and
``unodes`` and ``uedges`` of the unoptimised graph, the compiler's cost and memory analysis, and
repeated seconds of a step: ``cpu`` of the process and ``w`` by the clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.storage.files import ordinary_file, parse_json
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import raw_lines
from rheostat.measurement.training_columns import training_table

CONFIGURATION = {"fam": "app", "in": "input_size", "width": "width", "depth": "depth",
                 "heads": "heads", "batch": "batch_size", "opt": "optimizer"}  # fmt: skip
ANALYSIS = {"flops": "flops", "bytes": "bytes_accessed", "trans": "transcendentals",
            "params": "params"}  # fmt: skip
KEYS = ("cfg", "nodes", "edges", "cpu")
BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def read_graph_records(path: str | Path) -> JobTable:
    """Measured steps, one row each; ``graph`` names the file and the row, from 0.

    Parameters
    ----------
    path : path
        JSON lines, plain or gzip.

    Returns
    -------
    JobTable
        ``runtime_s`` is the median of the repeated CPU seconds of a step.

    Raises
    ------
    DataError
        The file has no such record.

    Notes
    -----
    A line that is no record is left out and noted.
    """
    name = ordinary_file(path).name
    rows, bad = [], []
    lines = 0
    for lines, line in enumerate(raw_lines(Path(path)), 1):
        try:
            rows.append(_row(parse_json(line)) | {"graph": f"{name}#{lines - 1}"})
        except BROKEN:
            bad.append(lines - 1)
    if not rows:
        raise DataError(
            str(path), [f"expected records with {', '.join(KEYS)}, got none in {lines}"]
        )
    notes = [note_rows("line is no record of a measured step", bad, dropped=True)]
    return training_table(pl.DataFrame(rows, infer_schema_length=None), notes if bad else [])


def _row(record: Any) -> dict[str, Any]:
    if missing := [k for k in KEYS if k not in record]:
        raise ValueError(missing)
    cpu = np.asarray(record["cpu"], float)
    if not cpu.size:
        raise ValueError("no measurement")
    return {
        "device": record.get("device", "cpu"),
        **{ours: record["cfg"].get(theirs) for theirs, ours in CONFIGURATION.items()},
        **{ours: record.get(theirs) for theirs, ours in ANALYSIS.items()},
        "runtime_s": float(np.median(cpu)),
        "runtime_min_s": float(cpu.min()),
        "runtime_std_s": float(cpu.std()),
        "wall_s": float(np.median(np.asarray(record.get("w", cpu), float))),
        "memory_peak_b": sum(record[k] for k in ("arg", "outb", "temp")),
    }
