"""Which series of a Prometheus are the power of which jobs: a TOML file of a few lines.

``url`` names the server; each ``[[series]]`` has a ``query`` (a selector, or any PromQL), the
``quantity`` (``power_w`` now, or ``energy_j`` since some start), a ``scale`` to watts or joules,
and labels: ``job`` holds the number of the job, ``node`` the name of the node, whose port and
domain do not count.  With both, a node of a job that has no series is missed.  Several series are
parts of one whole: processors and GPUs, say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rheostat.core.storage.files import read_toml
from rheostat.errors import DataError

QUANTITIES = ("power_w", "energy_j")
KEYS = {"query": str, "quantity": str, "scale": (int, float), "job": str, "node": str}
TOP = {"url": str, "step_s": (int, float), "bearer_token_file": str, "series": list}
MOST_SERIES = 50
LONGEST_GAP_STEPS = 4.0
"""Samples further apart than so many steps have a gap between them."""


@dataclass(frozen=True)
class PowerSeries:
    """Series whose samples are power or energy of jobs or nodes.

    Parameters
    ----------
    query : str
        In PromQL.
    quantity : str
        "power_w", a gauge, or "energy_j", a counter.
    scale : float
        Watts or joules of one unit.
    job, node : str
        The label with the number of the job, or with the name of the node.
    """

    query: str
    quantity: str = "power_w"
    scale: float = 1.0
    job: str = ""
    node: str = ""


@dataclass(frozen=True)
class PowerMapping:
    """Where a site's power is.

    Parameters
    ----------
    url : str
        Of the Prometheus.
    series : tuple of PowerSeries
        Parts that add up.
    step_s : float
        Seconds between samples.
    bearer_token_file : str
        File with the token that the server asks for.
    """

    url: str
    series: tuple[PowerSeries, ...]
    step_s: float = 30.0
    bearer_token_file: str = ""

    @property
    def shown_url(self) -> str:
        """The address without user and password.

        >>> PowerMapping("https://reader:secret@host:9090/prefix", ()).shown_url
        'https://host:9090/prefix'
        """
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def gap_s(self) -> float:
        """Samples further apart have a gap between them."""
        return LONGEST_GAP_STEPS * self.step_s


def read_mapping(path: str | Path) -> PowerMapping:
    r"""Read a mapping; all that is wrong with it at once.

    Parameters
    ----------
    path : path
        TOML.

    Returns
    -------
    PowerMapping
        Checked.

    Raises
    ------
    DataError
        Every key that is missing, unknown or of another type.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "power.toml"
    >>> _ = file.write_text('url = "http://127.0.0.1:9090"\n[[series]]\njob = "hpc_job"\n'
    ...                     'query = "DCGM_FI_DEV_POWER_USAGE"\n')
    >>> read_mapping(file).series[0].job
    'hpc_job'
    """
    given = read_toml(path)
    problems = _typed(given, TOP, "")
    if not str(given.get("url", "")).startswith(("http://", "https://")) or not _host(given):
        got = str(given.get("url", "nothing")).rpartition("@")[2]
        problems.append(f"url: expected like http://127.0.0.1:9090, got {got[:200]}")
    step = given.get("step_s", 30.0)
    if isinstance(step, (int, float)) and not 0.1 <= step <= 3600:
        problems.append(f"step_s: expected 0.1 to 3600 seconds, got {step}")
    parts = given.get("series")
    if not isinstance(parts, list) or not 0 < len(parts) <= MOST_SERIES:
        problems.append(f"series: expected 1 to {MOST_SERIES} tables [[series]]")
        parts = []
    for number, part in enumerate(parts, 1):
        problems += _series_problems(part, f"series {number}: ")
    if problems:
        raise DataError(str(path), problems)
    every = tuple(PowerSeries(**{**p, "scale": float(p.get("scale", 1.0))}) for p in parts)
    return PowerMapping(given["url"].rstrip("/"), every, float(step),
                        given.get("bearer_token_file", ""))  # fmt: skip


def _host(given: Mapping[str, Any]) -> str | None:
    try:
        return urlsplit(str(given["url"])).hostname
    except ValueError:
        return None


def _series_problems(part: Any, where: str) -> list[str]:
    if not isinstance(part, dict):
        return [f"{where}expected a table"]
    problems = _typed(part, KEYS, where)
    if not part.get("query"):
        problems.append(f"{where}query is missing")
    if part.get("quantity", "power_w") not in QUANTITIES:
        expected = " or ".join(QUANTITIES)
        problems.append(f"{where}quantity: expected {expected}, got {part['quantity']!r}")
    if not part.get("job") and not part.get("node"):
        problems.append(f"{where}expected a label: job = ... or node = ...")
    if isinstance(scale := part.get("scale", 1.0), (int, float)) and not 0 < scale < 1e12:
        problems.append(f"{where}scale: expected a positive number, got {scale}")
    return problems


def _typed(table: Mapping[str, Any], keys: Mapping[str, Any], where: str) -> list[str]:
    unknown = [
        f"{where}{k}: no such key; there are {', '.join(keys)}" for k in table if k not in keys
    ]
    odd = [
        f"{where}{k}: got {v!r}"[:200]
        for k, v in table.items()
        if k in keys and (not isinstance(v, keys[k]) or isinstance(v, bool))
    ]
    return unknown + odd
