"""Samples of a Prometheus, through its HTTP API, no more of them than are asked for.

A selector is asked for its samples as they were scraped (``selector[300s]``): what stands between
two of them is a gap, not a value that the server carries on.  An expression is evaluated every
step.

The server is not trusted: what it says is bounded in bytes and seconds, unpacked by nobody, taken
from no other address, and is numbers that a machine can have, or is left out.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.core.storage.files import parse_json, read_text
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.checks import MOST
from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries

SELECTOR = re.compile(r"[a-zA-Z_:][\w:]*\s*(\{[^{}]*\})?|\{[^{}]*\}")
TOKEN = re.compile(r"[!-~]{1,8000}")
TIMEOUT_S = 60.0
"""Without a byte."""
MOST_S, MOST_B = 600.0, 512 * 2**20
"""Of an answer, its head included."""
PART_B = 2**20


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
    result = _asked(mapping, {"query": query, "time": f"{end_s:.3f}"})
    most = MOST["W" if series.quantity == "power_w" else "J"]
    try:
        return [_samples(one, series.scale, most) for one in result]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        problem = f"{query[:200]}: expected seconds and numbers: {error}"
        raise DataError(mapping.shown_url, [problem[:500]]) from error


def _samples(one: dict[str, Any], scale: float, most: float) -> Samples:
    """One series in order of time; what no machine draws is a gap."""
    points = np.array(one["values"], dtype=np.float64).reshape(-1, 2)
    t, first = np.unique(points[:, 0], return_index=True)
    v = points[first, 1] * scale
    good = np.isfinite(t) & (np.abs(v) <= most)
    return Samples({str(k): str(x) for k, x in one["metric"].items()}, t[good], v[good])


def _asked(mapping: PowerMapping, parameters: dict[str, str]) -> list[Any]:
    """The series of an answer."""
    asked, where = parameters["query"][:200], mapping.shown_url
    try:
        given = parse_json(_in_time(lambda: _answer(mapping, parameters), where))
    except ValueError as error:
        raise RheostatError(f"{where}: expected a Prometheus, got no JSON") from error
    if not isinstance(given, dict) or given.get("status") != "success":
        said = given.get("error", given) if isinstance(given, dict) else given
        raise DataError(where, [f"{asked}: {said}"[:500]])
    data = given.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix":
        raise DataError(where, [f"{asked}: is no series of samples"])
    if not isinstance(result := data.get("result"), list):
        raise DataError(where, [f"{asked}: expected a list of series"])
    return result


def _in_time(ask: Callable[[], bytes], where: str) -> bytes:
    """What is answered; who sends a letter at a time, from the head on, is left with its thread."""
    answer: Future[bytes] = Future()

    def wait() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return answer.result(MOST_S)
    except TimeoutError:
        raise _too_long(where) from None


def _too_long(where: str) -> RheostatError:
    return RheostatError(f"{where}: answers for more than {MOST_S:g} s: --window")


def _answer(mapping: PowerMapping, parameters: dict[str, str]) -> bytes:
    import requests
    import urllib3

    # nothing is unpacked: a few packed bytes may be very many
    headers = {"Accept-Encoding": "identity", **_authorization(mapping)}
    try:
        with requests.post(
            f"{mapping.url}/api/v1/query", data=parameters, headers=headers, timeout=TIMEOUT_S,
            stream=True, allow_redirects=False,
        ) as reply:  # fmt: skip
            return _bounded(reply.raw, mapping.shown_url)
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise RheostatError(f"{mapping.shown_url}: no answer: {type(error).__name__}") from error


def _authorization(mapping: PowerMapping) -> dict[str, str]:
    """The header with the token, which is one word: of any other file nothing is sent."""
    if not mapping.bearer_token_file:
        return {}
    token = read_text(Path(mapping.bearer_token_file)).strip()
    if not TOKEN.fullmatch(token):
        raise DataError(mapping.bearer_token_file, ["expected a token: one word on one line"])
    return {"Authorization": f"Bearer {token}"}


def _bounded(raw: Any, where: str) -> bytes:
    """The body as it comes, within its bytes and seconds."""
    parts, size, began = [], 0, time.monotonic()
    while part := raw.read1(PART_B, decode_content=False):
        size += len(part)
        if size > MOST_B:
            raise RheostatError(f"{where}: answers more than {MOST_B >> 20} MiB: --window")
        if time.monotonic() - began > MOST_S:
            raise _too_long(where)
        parts.append(part)
    return b"".join(parts)
