"""Results of ``vllm bench serve --save-result``: one JSON document, or several.

The tool measures times and tokens from outside.  What it cannot know comes from its ``--metadata``:
``gpu_model``, ``gpus``, ``tp`` and other columns of serving by their names or usual ones of others
(``num_gpus``, ``tensor_parallel_size``), and ``power_w``, the power of all GPUs of the deployment,
that of a GPU by a name that says so (``power_per_gpu_w``), or ``energy_j``, their energy over the
run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.files import ordinary_file
from rheostat.core.storage.json_files import read_documents
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.copies import SPLITS, with_gpus
from rheostat.measurement.serving.failed_requests import answered
from rheostat.measurement.serving.model_size import with_params
from rheostat.measurement.serving.serving_names import known_headings

NEEDED = ("model_id", "completed", "total_output_tokens", "output_throughput")
TEXTS = ("gpu_model", "weight_precision", "architecture", "workload")
COUNTS = ("gpus", "tp", "pp", "ep", "dp", "batch_cap", "params", "active_params")
POWERS = ("power_w", "power_w_all", "power_w_gpu")
SKEWED = 1.05
MEAN = (
    "the time between tokens is mean_tpot_ms where that is above median_itl_ms by 5 % or more: "
    "tokens that came together, or late, have no part in the median"
)
OPEN_LOOP = "no --max-concurrency: the batch cap is not known"


def is_vllm_bench(start: bytes) -> bool:
    """Whether a file that begins so is such a result."""
    return start.lstrip()[:1] in (b"{", b"[") and all(
        f'"{name}"'.encode() in start for name in ("model_id", "num_prompts", "request_rate")
    )


def read_vllm_bench(path: str | Path, *, columns: Mapping[str, str] | None = None) -> JobTable:
    """Measured serving configurations, a row per run of the benchmark.

    Parameters
    ----------
    path : path
        What ``vllm bench serve --save-result`` or ``--append-result`` wrote, or several such files
        after each other (``cat sweep/*.json``), or an array of them.
    columns : mapping, optional
        What metadata do not say, of all runs: ``{"gpu_model": "=H100", "power_w": "=900"}``; or the
        name that they have it under.

    Returns
    -------
    JobTable
        ``app``, ``batch_cap`` (most concurrent requests), ``itl_s``, ``tokens_per_s``,
        ``output_tokens``, ``energy_per_token_j`` and what else the metadata say; SI units.

    Raises
    ------
    DataError
        The file is no such result, or no run of it answered a request.
    """
    path = ordinary_file(path)
    given = _documents(path)
    rows = [_row({**g, **_renamed(g), **_stated(g, columns or {})}) for g in given]
    bad = [i for i, row in enumerate(rows) if row is None]
    if len(bad) == len(rows):
        raise DataError(str(path), ["no run answered a request and said how fast"])
    good, failed, problem = answered(
        pl.DataFrame(_counts(g, i) for i, g in enumerate(given) if i not in {*bad}),
        stated=(columns or {}).get("failed", "").startswith("="),
    )
    if problem is not None:
        raise DataError(str(path), [problem])
    kept = [row for i in good[ROW] if (row := rows[i]) is not None]
    notes = [note_rows("no request was answered, or a number is missing", bad, dropped=True)]
    said = {n for row in kept for n in row.pop("notes")}
    frame = with_params(pl.DataFrame(kept, infer_schema_length=None))
    frame = frame.select(c for c in frame.columns if frame[c].null_count() < len(frame))
    counted: list[Note] = []
    frame = with_gpus(frame, counted) if "gpu_model" in frame.columns else frame
    said_of_runs = [*(Note(s) for s in sorted(said)), *counted]
    return table(frame, COLUMNS, [*(notes if bad else []), *failed, *said_of_runs])


def _counts(given: Mapping[str, Any], row: int) -> dict[str, Any]:
    """How many requests were sent, answered and failed; all were sent where nothing says more."""
    said = {n: _above_0(given, n) for n in ("num_prompts", "completed")}
    return {ROW: row, **said, "failed": _above_0(given, "failed") or 0.0}


def _stated(given: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """What the user says of a run, or where it stands."""
    return {ours: text[1:] if text.startswith("=") else given.get(text)
            for ours, text in columns.items()}  # fmt: skip


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata say under usual names of others, by ours; power of all GPUs."""
    ours = {o: given[t] for o, t in known_headings(list(given)).items()
            if o in (*TEXTS, *COUNTS, *POWERS) and o != "batch_cap"}  # fmt: skip
    said = {**given, **ours}
    splits = [_above_0(said, s) for s in SPLITS]
    gpus = _above_0(said, "gpus") or (math.prod(s or 1 for s in splits) if any(splits) else None)
    each, every = _above_0(ours, "power_w_gpu"), ours.pop("power_w_all", None)
    whole = every if every is not None else each * gpus if each and gpus else None
    return ours if whole is None else {**ours, "power_w": whole}


def _documents(path: Path) -> list[Mapping[str, Any]]:
    """Results, each with what is needed; `DataError` for other text."""
    given = read_documents(path, "JSON of vllm bench serve")
    missing = sorted({n for g in given for n in NEEDED if not isinstance(g, dict) or n not in g})
    if missing or not given:
        raise DataError(str(path), [f"no result of vllm bench serve: {', '.join(missing)} missing"])
    return given


def _row(given: Mapping[str, Any]) -> dict[str, Any] | None:
    completed, tokens = _above_0(given, "completed"), _above_0(given, "total_output_tokens")
    rate = _above_0(given, "output_throughput")
    itl_ms = _above_0(given, "median_itl_ms") or _above_0(given, "median_tpot_ms")
    mean_ms = _above_0(given, "mean_tpot_ms")
    slower = mean_ms if itl_ms and mean_ms and mean_ms > SKEWED * itl_ms else None
    itl_ms = slower or itl_ms
    if None in (completed, tokens, rate, itl_ms):
        return None
    assert completed and tokens and rate and itl_ms  # noqa: PT018
    row: dict[str, Any] = {"app": str(given["model_id"]), "notes": []}
    row |= {name: str(given[name]) for name in TEXTS if given.get(name) is not None}
    row |= {name: _above_0(given, name) for name in COUNTS}
    caps = (row["batch_cap"], _above_0(given, "max_num_seqs"), _above_0(given, "max_concurrency"))
    row["batch_cap"] = min((cap for cap in caps if cap), default=None)
    row["notes"] += [OPEN_LOOP] * (row["batch_cap"] is None) + [MEAN] * (slower is not None)
    row |= {"itl_s": itl_ms / 1e3, "tokens_per_s": rate, "output_tokens": tokens / completed}
    ttft_ms, prompts = _above_0(given, "median_ttft_ms"), _above_0(given, "total_input_tokens")
    row |= {"ttft_s": ttft_ms / 1e3} if ttft_ms else {}
    row |= {"prompt_tokens": prompts / completed} if prompts else {}
    power, energy, span = (_above_0(given, n) for n in ("power_w", "energy_j", "duration"))
    if energy is not None and span is not None:
        power = energy / span
    row |= {"power_w": power, "energy_per_token_j": power / rate if power else None}
    if power is None:
        row["notes"].append(
            "no power_w or energy_j in the --metadata of vllm: energy per token not known"
        )
    return row


def _above_0(given: Mapping[str, Any], name: str) -> float | None:
    """A number above 0, also as text: metadata are texts."""
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
