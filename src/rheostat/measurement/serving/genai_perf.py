"""``profile_export_genai_perf.csv`` of GenAI-Perf (and AIPerf's alike): one run of the benchmark.

Two tables after each other: a metric with its statistics, then a metric with its value.  Of what
was run the file says nothing; GenAI-Perf's folder does (``MODEL-openai-chat-concurrency64``), the
rest is stated: ``--column gpu_model==H100 --column gpus==2``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.serving.runs import of_frame

STARTS = (b"Metric,avg,", b"Metric,Avg,", b'"Metric","avg"')
WANTED = {
    "inter_token_latency": "itl_s", "output_token_throughput": "tokens_per_s",
    "time_to_first_token": "ttft_s", "input_sequence_length": "prompt_tokens",
    "output_sequence_length": "output_tokens", "request_throughput": "requests_per_s",
    "request_latency": "latency_s", "gpu_power_usage": "power_w", "request_count": "completed",
    "total_gpu_power": "power_w",
}  # fmt: skip
SCALES = {"ms": 1e-3, "us": 1e-6, "kW": 1e3}
FOLDER = re.compile(r"(?P<app>.+?)-(?:openai|triton|vllm|tensorrtllm|huggingface|template).*"
                    r"-concurrency(?P<batch_cap>\d+)")  # fmt: skip


def is_genai_perf(start: bytes) -> bool:
    """Whether a file that begins so is one."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(STARTS)


def read_genai_perf(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> JobTable:
    """One row: medians where the file has them, else means.

    Parameters
    ----------
    path : path
        The CSV; a folder above it named by GenAI-Perf says model and concurrency.
    columns : mapping, optional
        What the file does not say, as ``{"gpu_model": "=H100", "gpus": "=2"}``.
    units : mapping, optional
        As `read_serving` takes them: ``{"power": "W/gpu"}``.

    Returns
    -------
    JobTable
        Of one row.

    Raises
    ------
    DataError
        The file is none, or what is missing is not stated.
    """
    path = ordinary_file(path)
    text = read_bytes(path).decode("utf-8-sig", "replace")
    row: dict[str, float | str] = {}
    heads: list[str] = []
    try:
        lines = list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise DataError(str(path), [f"expected rows of text, got none: {error}"]) from error
    for cells in lines:
        if cells and cells[0].strip().lower() == "metric":
            heads = [c.strip().lower() for c in cells]
        elif cells and heads:
            row |= _measured(dict(zip(heads, cells, strict=False)))
    if not row:
        raise DataError(str(path), ["no metric of GenAI-Perf in it"])
    named = next((m for part in reversed(path.resolve().parts[:-1])
                  if (m := FOLDER.fullmatch(part))), None)  # fmt: skip
    if named is not None:
        row |= {"app": named["app"], "batch_cap": float(named["batch_cap"])}
    constants = {k: v for k, v in (columns or {}).items() if v.startswith("=")}
    return of_frame(pl.DataFrame([row]), str(path), constants=constants, units=units)


def _measured(cells: Mapping[str, str]) -> dict[str, float]:
    """Our name and the number of one line, in SI units; nothing for other metrics."""
    heading = cells["metric"]
    words, unit = re.fullmatch(r"\s*(.*?)\s*(?:\(([^()]*)\))?\s*", heading).groups()  # type: ignore[union-attr]
    ours = WANTED.get(re.sub(r"[^a-z0-9]+", "_", words.lower()))
    said = cells.get("p50") or cells.get("avg") or cells.get("value") or ""
    try:
        number = float(said.replace(",", ""))
    except ValueError:
        return {}
    return {ours: number * SCALES.get(unit or "", 1.0)} if ours else {}
