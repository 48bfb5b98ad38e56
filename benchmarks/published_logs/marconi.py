"""`write_pm100`: a generated log in the exact schema of PM100, list columns and quirks included.

PM100 (Zenodo 10127767) holds 231,238 jobs of Marconi100 in 35 columns.  What trips a reader and is
therefore generated: node, memory and CPU power are lists with one value per 20 s, summed over the
nodes of the job; the memory and CPU lists are empty in about 1.2 % of the rows; limits are in
minutes and memory in GiB; most text columns are anonymised numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic.world import World

from .arrow_columns import instants, lists, texts, write

SAMPLE_S = 20.0
SITE_NODES = 980
SMT_CORES = 128
REASON = {"COMPLETED": "None", "FAILED": "NonZeroExitCode", "TIMEOUT": "TimeLimit"}


def write_pm100(path: str | Path, n: int, seed: int = 0) -> JobTable:
    """Write ``n`` rows to ``path``; returns what the generated site knows about the same rows.

    The returned table is what a reader should return: its power_w is the mean of the job-total
    samples to within their noise, its runtime_s is ``run_time``.
    """
    jobs = World(seed=seed, work_scale=0.2, max_nodes=256).jobs(n)
    write(path, n, lambda part: _columns(jobs, part, seed))
    return jobs


def _columns(jobs: JobTable, part: slice, seed: int) -> dict[str, Any]:
    j = {k: v.to_numpy() for k, v in jobs.frame[part].to_dict().items()}
    rng = np.random.default_rng([seed, 10, part.start])
    nodes, rows = j["nodes"].astype(np.int64), len(j["nodes"])
    first = rng.integers(0, 1 + (SITE_NODES - nodes) // nodes, rows) * nodes
    gib = np.maximum(1, j["memory_b"] // 2**30)
    user = np.array([int(u[1:]) for u in j["user"]])
    state, gpus = j["state"], nodes * 4
    tasks = np.where(rng.random(rows) < 0.04, np.nan, nodes * 4.0)
    place = first * 1000 + nodes
    return {
        "cores_alloc_layout": texts(place, lambda k: spread(k, "[0, 1, 2, 3]")),
        "cores_allocated": texts(place, lambda k: spread(k, "128")),
        "cores_per_task": pa.array(rng.choice([1, 4, 8, 32], rows)),
        "derived_ec": pa.array(np.where(state == "FAILED", "1:0", "0:0").tolist()),
        "eligible_time": instants(j["submit_s"]),
        "end_time": instants(j["end_s"]),
        "group_id": pa.array(np.full(rows, 25200)),
        "job_id": pa.array(j["job_id"]),
        "job_state": pa.array(state.tolist()),
        "nodes": lists(blocks(first, nodes), nodes),
        "num_cores_req": pa.array(nodes * 32),
        "num_cores_alloc": pa.array(nodes * SMT_CORES),
        "num_nodes_req": pa.array(nodes),
        "num_nodes_alloc": pa.array(nodes),
        "num_tasks": pa.array(tasks, from_pandas=True),
        "partition": pa.array(np.where(j["partition"] == "gpu", "1", "0").tolist()),
        "priority": pa.array(rng.integers(80_000, 400_000, rows)),
        "qos": pa.array(np.where(j["qos"] == "long", "2", "1").tolist()),
        "req_nodes": pa.nulls(rows, pa.list_(pa.int64())),
        "req_switch": pa.array(np.zeros(rows, dtype=np.int64)),
        "run_time": pa.array(j["runtime_s"].astype(np.int64)),
        "shared": pa.array(np.where(nodes > 1, "0", "OK").tolist()),
        "start_time": instants(j["start_s"]),
        "state_reason": pa.array([REASON.get(s, "None") for s in state]),
        "submit_time": instants(j["submit_s"]),
        "threads_per_core": pa.array(np.full(rows, np.nan), from_pandas=True),
        "time_limit": pa.array((j["time_limit_s"] / 60).astype(np.int64)),
        "num_gpus_req": pa.array(gpus),
        "num_gpus_alloc": pa.array(gpus),
        "mem_req": pa.array(gib),
        "mem_alloc": pa.array(nodes * 237),
        "user_id": pa.array(user),
        **_power(j, nodes, rng),
    }  # fmt: skip


def _power(
    j: dict[str, NDArray[Any]], nodes: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, pa.ListArray]:
    """Three lists per row; the last two are empty in 1.2 % of the rows."""
    samples = np.maximum(1, j["runtime_s"] // SAMPLE_S).astype(np.int64)
    fewer = np.where(rng.random(len(samples)) < 0.0124, 0, samples)

    def series(mean_w: NDArray[Any], counts: NDArray[np.int64], step: int) -> pa.ListArray:
        noise = rng.standard_normal(int(counts.sum()), dtype=np.float32) * np.float32(0.03)
        watts = np.repeat(mean_w.astype(np.float32), counts) * (1 + noise)
        return lists((np.rint(watts / step) * step).astype(np.int64), counts)

    return {
        "node_power_consumption": series(j["power_w"], samples, 10),
        "mem_power_consumption": series(38.0 * nodes, fewer, 2),
        "cpu_power_consumption": series(0.2 * j["power_w"], fewer, 2),
    }


def blocks(first: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Node numbers first, first + 1, ... of every row, one row after the other."""
    starts = np.cumsum(nodes) - nodes
    return np.arange(int(nodes.sum())) - np.repeat(starts, nodes) + np.repeat(first, nodes)


def spread(place: int, what: str) -> str:
    """``{311: 64, 312: 64}`` as the published file spells a mapping from node to cores."""
    first, nodes = divmod(place, 1000)
    return "{" + ", ".join(f"{i}: {what}" for i in range(first, first + nodes)) + "}"
