"""Requests with when they were answered, in the names and units of whoever recorded them.

Lists of ``vllm bench serve --save-detailed`` and of SGLang's ``bench_serving --output-details``,
records of aiperf (``profile_export.jsonl``), timelines of LLMServingSim, request logs with moments
or durations as JSON lines, CSV or parquet, and tables in the house's names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.storage.files import ordinary_file
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.checks import ROW, rows_where
from rheostat.measurement.serving.frames import frame_of, not_found
from rheostat.measurement.serving.named_columns import named_columns
from rheostat.measurement.serving.prefix_text import prefix_blocks_of
from rheostat.measurement.serving.recorded_names import WEEK_S, in_seconds, is_recorded
from rheostat.measurement.serving.requests import COLUMNS

WHAT = "record of requests"
TIMES = ("submit_s", "start_s", "end_s")
LENGTHS = ("prompt_tokens", "output_tokens")
SHARED = ("cached_tokens", "tool_calls", "prefix_blocks")
"""What is known of requests beside their lengths."""
LISTS = {"start_times": "submit_s", "input_lens": "prompt_tokens", "output_lens": "output_tokens",
         "ttfts": "ttft_s", "itls": "itl_s", "errors": "error"}  # fmt: skip
USAGE = {(u, f) for u in ("usage", "usageDetails", "usage_details") for f in ("input", "output")}
"""Numbers of tokens as Langfuse has them: elsewhere ``input`` is the prompt itself."""
DOCUMENT = 2**20
"""Bytes at the beginning in which the lists of a benchmark's result are looked for."""
SUMMARY = ("holds no single requests: expected the lists ttfts, itls, input_lens, output_lens and "
           "start_times, as vllm bench serve --save-detailed writes them")  # fmt: skip
NO_STARTS = ("when requests were sent is not stated: expected start_times, as vllm bench serve "
             "--save-detailed of 2025 and later writes them")  # fmt: skip
RAW = ("is an export of genai-perf without numbers of tokens: expected aiperf's "
       "profile_export.jsonl, or submit_s, prompt_tokens, output_tokens and end_s")  # fmt: skip


def read_recorded(path: str | Path, *, columns: Mapping[str, str] | None = None) -> JobTable:
    """Requests with the moments of the first (``start_s``) and the last token (``end_s``).

    Parameters
    ----------
    path
        As the module says.
    columns
        Our name to the file's, where they differ.

    Returns
    -------
    JobTable
        In order of submission, seconds from the first one on: ``submit_s``, ``prompt_tokens``,
        ``output_tokens``, ``end_s``, ``start_s`` unless the file says nothing of first tokens, and
        ``cached_tokens`` (of the prompt, from a prefix cache) where it says them,
        ``tool_calls`` where it says whether an answer calls one, and ``prefix_blocks`` where it has
        blocks or the texts of prompts.

    Raises
    ------
    DataError
        The columns are not there, their unit cannot be told, or no row has all of them in order of
        time.  Other rows, failed requests among them, are left out and noted.
    """
    path = ordinary_file(path)
    raw = raw_frame(path, columns)
    frame, said = in_seconds(raw, path)
    every = [c for c in (TIMES[0], *LENGTHS, *TIMES[1:]) if c != "start_s" or c in frame.columns]
    if missing := [c for c in every if c not in frame.columns]:
        raise DataError(str(path), [not_found(missing, raw)])
    blocks = prefix_blocks_of(raw, frame["prompt_tokens"])
    frame = frame if blocks is None else frame.with_columns(blocks.alias("prefix_blocks"))
    first = ["start_s"] if "start_s" in frame.columns else []
    timed = pl.col("submit_s").is_finite() & (pl.col("end_s") - pl.col("submit_s") <= WEEK_S)
    for before, after in zip(["submit_s", *first], [*first, "end_s"], strict=True):
        timed &= pl.col(after) >= pl.col(before)
    lengths = pl.all_horizontal((pl.col(c) >= 1) & pl.col(c).is_finite() for c in LENGTHS)
    answered = ~pl.col("failed").fill_null(False) if "failed" in frame.columns else pl.lit(True)
    frame = frame.with_row_index(ROW)
    whole, notes = rows_where(frame, answered, "the request failed")
    otherwise = "not answered within a week after it came, or lengths below 1"
    kept, odd = rows_where(whole, timed & lengths, otherwise)
    notes += odd
    if not len(kept):
        raise DataError(str(path), ["no row was answered after it came"])
    shared = [c for c in SHARED if c in frame.columns]
    kept = kept.select(*every, *shared).sort("submit_s", maintain_order=True)
    moments = pl.col("submit_s", *first, "end_s") - kept["submit_s"][0]
    blind = [] if first else [Note("no moments of first tokens: whole answers alone are known")]
    return table(kept.with_columns(moments), COLUMNS, [*notes, *said, *blind])


def raw_frame(path: Path, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The file as it stands, a row a request, records within records beside them."""
    with path.open("rb") as file:
        start = file.read(DOCUMENT)
    if start.lstrip()[:1] == b"{":
        if b'"ttfts"' in start or b'"output_throughput"' in start:
            return _of_lists(path)
        if b'"experiments"' in start[:1000]:
            raise DataError(str(path), [RAW])
        if b'"metrics"' in start and b'"request_start_ns"' in start:
            return _of_aiperf(path)
    frame = _flat(_listed(path) if b'"data"' in start else frame_of(path, WHAT))
    return named_columns(frame, columns)


def _listed(path: Path) -> pl.DataFrame:
    """The list ``data`` of an API's page, as Langfuse answers; else the file as it stands."""
    try:
        page = json.loads(read_bytes(path))
    except ValueError:  # lines, say, of which one holds the word
        return frame_of(path, WHAT)
    rows = page.get("data") if isinstance(page, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        return frame_of(path, WHAT)
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def is_record(path: Path) -> bool:
    """Whether a file holds requests with when they were answered."""
    try:
        return is_recorded(raw_frame(path).columns)
    except DataError:
        return False


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Fields of records as columns: by their last name, unless a column has it."""
    while records := [c for c, t in frame.schema.items() if isinstance(t, pl.Struct)]:
        name = records[0]
        inner = frame[name].struct.unnest()
        named = [f"{f}_tokens" if (name, f) in USAGE else f for f in inner.columns]
        names = [f if f not in frame.columns else f"{name}.{f}" for f in named]
        inner.columns = names
        fresh = [c for c in names if c not in frame.columns]
        frame = frame.drop(name).with_columns(inner.select(fresh))
    return frame


def _of_lists(path: Path) -> pl.DataFrame:
    """A benchmark's result: a list for each thing that was measured, a value a request."""
    documents = [d for d in _documents(path) if isinstance(d, dict)]
    detailed = [d for d in documents if isinstance(d.get("ttfts"), list)]
    if not detailed:
        raise DataError(str(path), [SUMMARY])
    if len(detailed) > 1:
        raise DataError(str(path), [f"expected one run of a benchmark, got {len(detailed)}: "
                                    "calibrate on one at a time"])  # fmt: skip
    lists = {ours: detailed[0][theirs] for theirs, ours in LISTS.items()
             if isinstance(detailed[0].get(theirs), list)}  # fmt: skip
    if "submit_s" not in lists:
        if detailed[0].get("request_rate") not in ("inf", float("inf")) or detailed[0].get(
            "max_concurrency"
        ):
            raise DataError(str(path), [NO_STARTS])
        lists["submit_s"] = [0.0] * len(lists["ttft_s"])  # all were sent at once
    sizes = {len(v) for n, v in lists.items() if n != "error"}
    if len(sizes) > 1:
        raise DataError(str(path), [f"expected lists of one length, got {sorted(sizes)}"])
    count = sizes.pop()
    lists["latency_s"] = [_sum(t, i) for t, i in zip(lists["ttft_s"], lists.pop(
        "itl_s", [None] * count), strict=True)]  # fmt: skip
    lists["failed"] = [bool(e) for e in lists.pop("error", [])][:count] or [False] * count
    return pl.DataFrame(lists, strict=False)


def _sum(first: Any, gaps: Any) -> float | None:
    """Seconds to the last token; None where a part is no number."""
    numbers = [_value(v) for v in (first, *gaps)] if isinstance(gaps, list) else [None]
    known = [v for v in numbers if v is not None]
    return sum(known) if len(known) == len(numbers) else None


def _of_aiperf(path: Path) -> pl.DataFrame:
    """Aiperf's records: moments in ns, metrics with their units; warm-up left out."""
    rows = []
    for given in _documents(path):
        meta, metrics = (given.get(k) if isinstance(given, dict) else None
                         for k in ("metadata", "metrics"))  # fmt: skip
        if not isinstance(meta, dict) or meta.get("benchmark_phase") == "warmup":
            continue
        measured = metrics if isinstance(metrics, dict) else {}
        rows.append({
            "request_start_ns": _value(meta.get("request_start_ns")),
            "request_end_ns": _value(meta.get("request_end_ns")),
            "ttft_ms": _ms(measured.get("time_to_first_token")),
            "latency_ms": _ms(measured.get("request_latency")),
            "prompt_tokens": _value(measured.get("input_sequence_length")),
            "output_tokens": _value(measured.get("output_sequence_length")),
            "failed": bool(given.get("error")) or bool(meta.get("was_cancelled")),
        })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _value(given: Any) -> float | None:
    value = given.get("value") if isinstance(given, dict) else given
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def _ms(given: Any) -> float | None:
    value, unit = _value(given), given.get("unit", "ms") if isinstance(given, dict) else "ms"
    scale = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3}.get(unit)
    return None if value is None or scale is None else value * scale


def _documents(path: Path) -> list[Any]:
    """JSON documents one after another, with or without line ends."""
    decoder, documents, at = json.JSONDecoder(), [], 0
    try:
        text = read_bytes(path).decode().strip()
        while at < len(text):
            document, end = decoder.raw_decode(text, at)
            documents.append(document)
            while end < len(text) and text[end].isspace():
                end += 1
            at = end
    except (ValueError, RecursionError) as error:
        said = f"expected a {WHAT}, got {describe_file(path)}: {error}"
        raise FileKindError(str(path), [said[:300]]) from error
    return documents
