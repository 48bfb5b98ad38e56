"""Reports that ``trtllm-bench throughput --report_json`` writes, a run of TensorRT-LLM each.

It knows the split, the load and the speed, newer ones the GPU as well.  Watts are stated, as of
GenAI-Perf: ``--column power_w==1240 --unit power=W/deployment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.json_files import read_documents
from rheostat.measurement.serving.runs import of_frame

EXPECTED = "JSON of trtllm-bench"
PARTS = ("engine", "world_info", "request_info", "performance", "streaming_metrics", "machine")
WANTED = {
    "app": "model", "weight_precision": "dtype", "gpus": "world_size", "tp": "tp_size",
    "pp": "pp_size", "ep": "ep_size", "batch_cap": "avg_num_concurrent_requests",
    "prompt_tokens": "avg_input_length", "output_tokens": "avg_output_length",
    "tokens_per_s": "system_output_throughput_tok_s", "gpu_model": "name",
    "itl_ms": "avg_tpot_ms", "ttft_ms": "avg_ttft_ms",
    "tokens_per_s_user": "output_throughput_per_user_tok_s",
}  # fmt: skip
"""Our name to theirs; the requests that ran at once stand for the cap, which may not be reached."""


def is_trtllm_bench(start: bytes) -> bool:
    """Whether a file that begins so is such a report."""
    return start.lstrip()[:1] in (b"{", b"[") and all(
        f'"{part}"'.encode() in start for part in ("engine", "world_info", "request_info")
    )


def read_trtllm_bench(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> JobTable:
    """A row for each report: the measured configuration.

    Parameters
    ----------
    path : path
        A report, several after each other (``cat sweep/*.json``), or an array of them.
    columns : mapping, optional
        What it does not say, as ``{"gpu_model": "=H100", "power_w": "=1240"}``.
    units : mapping, optional
        As `read_serving` takes them: ``{"power": "W/deployment"}``.

    Returns
    -------
    JobTable
        A row for each.

    Raises
    ------
    DataError
        The file is none, or what is missing is not stated.
    """
    given = read_documents(path, EXPECTED)
    if not given or not all(isinstance(g, dict) for g in given):
        raise other_kind(path, EXPECTED)
    constants = {k: v for k, v in (columns or {}).items() if v.startswith("=")}
    frame = pl.DataFrame([_row(g) for g in given], infer_schema_length=None)
    return of_frame(frame, str(path), constants=constants, units=units)


def _row(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted of a report, and what stands beside its parts in the user's own names."""
    said: dict[str, Any] = {}
    for part in PARTS:
        said |= given[part] if isinstance(given.get(part), dict) else {}
    wanted = {ours: said[name] for ours, name in WANTED.items() if _plain(said.get(name))}
    return {**{k: v for k, v in given.items() if _plain(v)}, **wanted}


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
