"""`write_adastra`: a generated log in the schema of the Adastra MI250 table, with its traps.

The Adastra table (Zenodo 14007065) borrows PM100's 35 column names and means other things: each
"power" list has one element, which is energy in joules; the memory and CPU lists are constants
times the elapsed time and so give the runtime away; ``time_limit`` is the epoch second of the
submission; instants are local time without a zone; memory is in MiB.  Read off the ten rows that
are displayed publicly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic.world import World

from .arrow_columns import instants, lists, texts, write
from .marconi import REASON, blocks, spread

CPU_W, MEM_W = 140.0, 74.26
SITE_NODES = 356
PARIS_SUMMER_S = 7200.0
START_S = 1_725_148_800.0 - 1_704_067_200.0  # 2024-09-01 rather than the world's 2024-01-01


def write_adastra(path: str | Path, n: int, seed: int = 0) -> JobTable:
    """Write ``n`` rows to ``path``; returns what the generated site knows about the same rows."""
    world = World(seed=seed, work_scale=0.1, max_nodes=128, jobs_per_day=max(1.0, n / 15))
    jobs = world.jobs(n)
    columns = [jobs.schema[c] for c in ("submit_s", "start_s", "end_s")]
    shifted = {c.name: jobs.frame[c.name] + START_S for c in columns}
    jobs = jobs.with_columns(columns, **shifted)
    write(path, n, lambda part: _columns(jobs, part, seed))
    return jobs


def _columns(jobs: JobTable, part: slice, seed: int) -> dict[str, Any]:
    j = {k: v.to_numpy() for k, v in jobs.frame[part].to_dict().items()}
    rng = np.random.default_rng([seed, 11, part.start])
    nodes, rows = j["nodes"].astype(np.int64), len(j["nodes"])
    first = rng.integers(0, 1 + (SITE_NODES - nodes) // nodes, rows) * nodes
    place, one = first * 1000 + nodes, np.ones(rows, dtype=np.int64)
    state, elapsed = j["state"], np.rint(j["runtime_s"])
    local = {k: instants(j[k] + PARIS_SUMMER_S, None) for k in ("submit_s", "start_s", "end_s")}
    mib = np.maximum(1, j["memory_b"] // 2**20)
    return {
        "cores_alloc_layout": texts(place, lambda k: spread(k, "[0, 1, 2, 3]")),
        "cores_allocated": texts(place, lambda k: spread(k, "64")),
        "cores_per_task": pa.array(np.full(rows, 8)),
        "derived_ec": pa.array(np.where(state == "FAILED", "1:0", "0:0").tolist()),
        "eligible_time": local["submit_s"],
        "end_time": local["end_s"],
        "group_id": pa.array(np.full(rows, 25200)),
        "job_id": pa.array(j["job_id"]),
        "job_state": pa.array(state.tolist()),
        "nodes": lists(blocks(first, nodes), nodes),
        "num_cores_req": pa.array(nodes * 64),
        "num_cores_alloc": pa.array(nodes * 64),
        "num_nodes_req": pa.array(nodes),
        "num_nodes_alloc": pa.array(nodes),
        "num_tasks": pa.array(nodes * 8.0),
        "partition": pa.array(["mi250"] * rows),
        "priority": pa.array(rng.integers(1, 10_000, rows)),
        "qos": pa.array(np.where(j["qos"] == "long", "2", "1").tolist()),
        "req_nodes": pa.nulls(rows, pa.list_(pa.int64())),
        "req_switch": pa.array(np.zeros(rows, dtype=np.int64)),
        "run_time": pa.array(elapsed.astype(np.int64)),
        "shared": pa.array(["0"] * rows),
        "start_time": local["start_s"],
        "state_reason": pa.array([REASON.get(s, "None") for s in state]),
        "submit_time": local["submit_s"],
        "threads_per_core": pa.array(np.full(rows, 2.0)),
        "time_limit": pa.array(j["submit_s"].astype(np.int64)),
        "num_gpus_req": pa.array(nodes * 8),
        "num_gpus_alloc": pa.array(nodes * 8),
        "mem_req": pa.array(mib),
        "mem_alloc": pa.array(nodes * 231_561),
        "user_id": pa.array(np.array([int(u[1:]) for u in j["user"]])),
        "node_power_consumption": lists(np.rint(j["energy_j"]).astype(np.int64), one),
        "mem_power_consumption": lists(np.floor(MEM_W * elapsed).astype(np.int64), one),
        "cpu_power_consumption": lists((CPU_W * elapsed).astype(np.int64), one),
    }
