"""`write_fdata`: a generated month in the 45 columns of F-DATA (Fugaku, Zenodo 11467483).

What trips a reader: ``avgpcon`` is called average *node* power and is the watts of the whole job,
``econ`` is watt-hours, ``mszl`` is bytes per node with 2^64 - 1 for "no limit" in nearly all rows,
frequencies are MHz, and the 384 numbers of ``embedding`` are most of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic.world import World

from .arrow_columns import instants, texts, write

NO_LIMIT = float(2**64 - 1)
CORES = 48
EMBEDDING = 384
RIDGE = 3.3


MONTH_S = 30 * 86_400.0


def write_fdata(
    path: str | Path,
    n: int,
    seed: int = 0,
    *,
    embedding: bool = True,
    world: World | None = None,
    month: int = 0,
) -> JobTable:
    """Write ``n`` rows to ``path``; returns what the generated site knows about the same rows.

    ``embedding=False`` leaves the embedding column out, for very large files.  ``month`` numbers
    the files of one ``world`` (None: one made from ``seed``): other jobs of the same people, later.
    """
    world = world or World(seed=seed, work_scale=0.1, max_nodes=256)
    jobs = world.jobs(n, seed=month)
    if month:
        moments = (c for c in ("submit_s", "start_s", "end_s") if c in jobs.columns)
        jobs = jobs.with_columns([], **{c: pl.col(c) + MONTH_S * month for c in moments})
    write(path, n, lambda part: _columns(jobs, part, seed, embedding))
    return jobs


def _columns(jobs: JobTable, part: slice, seed: int, embedding: bool) -> dict[str, Any]:
    j = {k: v.to_numpy() for k, v in jobs.frame[part].to_dict().items()}
    rng = np.random.default_rng([seed, 12, part.start])
    nodes, rows = j["nodes"].astype(np.int64), len(j["nodes"])
    failed, nothing = j["censored"], pa.array(np.zeros(rows))
    app = np.unique(j["app"], return_inverse=True)[1]
    limited = rng.random(rows) < 0.005
    hz = np.where(rng.random(rows) < 0.3, 2000, 2200)
    clocks = {k: instants(j[v]) for k, v in
              {"adt": "submit_s", "qdt": "submit_s", "schedsdt": "start_s", "deldt": "end_s",
               "sdt": "start_s", "edt": "end_s"}.items()}  # fmt: skip
    power = {
        "econ": pa.array(j["energy_j"] / 3600.0),
        "avgpcon": pa.array(j["power_w"]),
        "minpcon": pa.array(j["power_w"] * 0.8),
        "maxpcon": pa.array(j["power_w"] * 1.2),
    }
    columns = {
        "jid": pa.array([f"jid_{i}" for i in j["job_id"]]),
        "usr": pa.array([f"usr_{u[1:]}" for u in j["user"]]),
        "jnam": texts(app, lambda k: f"jnam_{k}"),
        "cnumr": pa.array(nodes * CORES),
        "cnumat": pa.array(nodes * CORES),
        "cnumut": pa.array(nodes * CORES),
        "nnumr": pa.array(nodes),
        **clocks,
        "ec": pa.array(failed.astype(np.int64)),
        "elpl": pa.array(j["time_limit_s"]),
        "nnuma": pa.array(nodes),
        "nnumu": pa.array(nodes),
        "idle_time_ave": nothing,
        "mszl": pa.array(np.where(limited, 28e9, NO_LIMIT)),
        "pri": pa.array(np.full(rows, 127)),
        "jobenv_req": texts(app % 2, lambda k: f"jobenv_req_{k}"),
        "freq_req": pa.array(hz),
        "freq_alloc": pa.array(hz),
        **{f"perf{i}": pa.array(j["energy_j"] * 1e6 * i) for i in range(1, 7)},
        **power,
        "msza": pa.array(nodes * 30e9),
        "mmszu": pa.array(np.minimum(j["memory_b"], nodes * 30e9)),
        "uctmut": pa.array(j["runtime_s"] * nodes * CORES),
        "sctmut": pa.array(j["runtime_s"] * nodes),
        "usctmut": pa.array(j["runtime_s"] * nodes * (CORES + 1)),
        **_roofline(j, rng),
        **({"embedding": _embedding(app)} if embedding else {}),
        "exit state": pa.array(np.where(failed, "failed", "completed").tolist()),
        "duration": pa.array(j["runtime_s"]),
    }
    return columns


def _roofline(j: dict[str, NDArray[Any]], rng: np.random.Generator) -> dict[str, pa.Array]:
    """Measured operations and bytes per second, and the class they give."""
    flops, width = j["power_w"] * 1e9, j["power_w"] * 1e8 * rng.uniform(0.5, 20, len(j["power_w"]))
    intensity = flops / width
    kind = np.where(intensity >= RIDGE, "compute-bound", "memory-bound")
    return {
        "flops": pa.array(flops),
        "mbwidth": pa.array(width),
        "opint": pa.array(intensity),
        "pclass": pa.array(kind.tolist()),
    }


def _embedding(app: NDArray[np.int64]) -> pa.ListArray:
    """The same 384 numbers for the same job name."""
    table = np.random.default_rng(0).standard_normal((int(app.max()) + 1, EMBEDDING))
    values = table.astype(np.float32)[app].ravel()
    offsets = np.arange(0, (len(app) + 1) * EMBEDDING, EMBEDDING, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
