"""Samples of a Prometheus, through its HTTP API, no more of them than are asked for.

A selector is asked for its samples as they were scraped (``selector[300s]``): what stands between
two of them is a gap, not a value that the server carries on.  An expression is evaluated every
step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.bounded_read import PART_B
from rheostat.core.files import parse_json, read_text
from rheostat.core.outcome import Array
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries

SELECTOR = re.compile(r"[a-zA-Z_:][\w:]*\s*(\{[^{}]*\})?|\{[^{}]*\}")
TIMEOUT_S = 60.0
MOST_B = 512 * 2**20


@dataclass(frozen=True)
class Samples:
    """One series: its labels, and seconds and values of its samples."""

    labels: dict[str, str]
    t: Array
    v: Array


def samples(
    mapping: PowerMapping, series: PowerSeries, start_s: float, end_s: float
) -> list[Samples]:
    """The samples between two moments, in watts or joules.

    Parameters
    ----------
    mapping : PowerMapping
        Of the server.
    series : PowerSeries
        What is asked for.
    start_s, end_s : float
        Seconds since 1970.

    Returns
    -------
    list of Samples
        One for each set of labels.

    Raises
    ------
    RheostatError
        No answer, or the server refused: with what it said.
    """
    seconds = max(1, round(end_s - start_s))
    if SELECTOR.fullmatch(series.query.strip()):
        query = f"{series.query}[{seconds}s]"
    else:
        query = f"({series.query})[{seconds}s:{max(1, round(mapping.step_s))}s]"
    data = _asked(mapping, {"query": query, "time": f"{end_s:.3f}"})
    made = []
    for one in data.get("result", []):
        pairs = [(float(t), float(v)) for t, v in one.get("values", [])]
        points = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        points = points[np.isfinite(points).all(axis=1)]
        made.append(Samples(dict(one.get("metric", {})), points[:, 0], points[:, 1] * series.scale))
    return made


def _asked(mapping: PowerMapping, parameters: dict[str, str]) -> dict[str, Any]:
    import requests

    token = mapping.bearer_token_file and read_text(Path(mapping.bearer_token_file)).strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with requests.post(
            f"{mapping.url}/api/v1/query", data=parameters, headers=headers, timeout=TIMEOUT_S,
            stream=True, allow_redirects=False,
        ) as reply:  # fmt: skip
            body = _bounded(reply)
            given = parse_json(body)
    except requests.RequestException as error:
        raise RheostatError(f"{mapping.url}: no answer: {type(error).__name__}") from error
    except ValueError as error:
        raise RheostatError(f"{mapping.url}: expected a Prometheus, got no JSON") from error
    if not isinstance(given, dict) or given.get("status") != "success":
        said = given.get("error", given) if isinstance(given, dict) else given
        raise DataError(mapping.url, [f"{parameters['query'][:200]}: {said}"[:500]])
    data = given.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix":
        raise DataError(mapping.url, [f"{parameters['query'][:200]}: is no series of samples"])
    return data


def _bounded(reply: Any) -> bytes:
    parts, size = [], 0
    for part in reply.iter_content(PART_B):
        size += len(part)
        if size > MOST_B:
            raise RheostatError(f"{reply.url}: answers more than {MOST_B >> 20} MiB: --window")
        parts.append(part)
    return b"".join(parts)
