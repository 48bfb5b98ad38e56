"""Samples as JSON: objects one after the other, as loggers write, or what Prometheus answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

MATRIX = re.compile(r'"resultType"\s*:\s*"matrix"')
"""A range of moments, which Prometheus answers with."""
UNIT = re.compile(r"(.*?)_?(watt|joule)s?(_total)?")
LOOKED_AT = 4096


def is_matrix(text: str) -> bool:
    """Whether a text begins as the answer of Prometheus to ``query_range`` does."""
    return text.lstrip()[:1] == "{" and MATRIX.search(text[:LOOKED_AT]) is not None


def json_cells(lines: Sequence[str]) -> dict[str, list[str]]:
    """Columns of cells of samples as JSON, which may be cut at its end; none of another text.

    >>> json_cells(['{"Time": 1, "Power": {"Watts": 9.5}}', '{"Time": 2, "Power": {"Watts": 9}}'])
    {'Time': ['1', '2'], 'Watts': ['9.5', '9']}
    """
    text = "\n".join(lines)
    if is_matrix(text):
        return _series(text)
    rows = [_flat(one) for one in _objects(text) if isinstance(one, dict)]
    heads = dict.fromkeys(h for row in rows for h in row)
    return {h: [row.get(h, "") for row in rows] for h in heads}


def _objects(text: str) -> Iterator[Any]:
    """Values one after the other, in a list or not, to the first that is none or is cut."""
    decoder, at = json.JSONDecoder(), len(text) - len(text.lstrip(" \t\r\n["))
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n,]"))


def _flat(row: dict[str, Any]) -> dict[str, str]:
    """Plain values by their last name."""
    made = dict[str, str]()
    for key, value in row.items():
        if isinstance(value, dict):
            made |= {k: v for k, v in _flat(value).items() if k not in made}
        elif not isinstance(value, list):
            made[key] = "" if value is None else str(value)
    return made


def _series(text: str) -> dict[str, list[str]]:
    """A row for each sample of each series, which its labels name where they differ.

    >>> answer = {"resultType": "matrix", "result": [{"metric": {"__name__": "node_power_watts",
    ...           "host": "n1"}, "values": [[0, "300"], [15, "310"]]}]}
    >>> _series(json.dumps({"status": "success", "data": answer}))
    {'timestamp': ['0', '15'], 'series': ['n1', 'n1'], 'node_power [W]': ['300', '310']}
    """
    try:
        result = json.loads(text)["data"]["result"]
        each = [(dict(one["metric"]), list(one["values"])) for one in result]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    names = {str(labels.pop("__name__", "value")) for labels, _ in each}
    name = names.pop() if len(names) == 1 else "value"
    unit = UNIT.fullmatch(name)
    head = f"{unit[1]} [{unit[2][0].upper()}]" if unit else name
    differ = [k for k in dict.fromkeys(k for labels, _ in each for k in labels)
              if len(each) == 1 or len({labels.get(k) for labels, _ in each}) > 1]  # fmt: skip
    rows = [(str(t), " ".join(str(labels.get(k, "")) for k in differ), str(v))
            for labels, values in each for t, v in values]  # fmt: skip
    return dict(zip(("timestamp", "series", head), map(list, zip(*rows, strict=True)), strict=True))
