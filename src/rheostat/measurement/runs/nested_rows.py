"""Rows of runs inside a JSON document: under a key, by name, as columns, or as pandas wrote them.

    {"meta": {...}, "runs": [{...}, {...}]}         a list of runs, at any depth
    {"lbm": [{...}], "wrf": [{...}]}                lists of runs, each with its name
    {"run1": {...}, "run2": {...}}                  runs with their names
    {"nodes": [1, 2], "time_s": [9, 5]}             columns
    {"columns": [...], "data": [[...], [...]]}      ``to_json(orient="split")``

Plain values beside a list of runs hold for all of its rows, but for amounts and moments, which
would be those of all runs together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.checks import INSTANTS
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

Row = dict[str, Any]
AMOUNTS = ("runtime_s", "energy_j", "power_w")
DEEPEST = 6
LOG = "jobs"
"""The list of a scheduler's log, whose reader knows its records."""
NAME, KEY, RUN = "name", "key", "run"
COUNTED = re.compile(r"(run|rep(eat|etition)?|trial|test|exp(eriment)?|case|config|job|sample)"
                     r"[ _.-]?\d+", re.IGNORECASE)  # fmt: skip
"""Names that only count runs."""
ABOUT = re.compile(r"meta(_?data)?|info|summary|totals?|env(ironment)?|system|host|machine|header")
"""Keys of what is said of all runs together."""
UNITS = "units"
"""Under which a document says the unit of each column."""


def rows_within(document: Any) -> list[Row]:
    """The rows of a document that holds a table; none where it is one row, or something else.

    >>> rows_within({"meta": {"host": "n1"}, "runs": [{"nodes": 1}, {"nodes": 2}]})
    [{'host': 'n1', 'nodes': 1}, {'host': 'n1', 'nodes': 2}]
    >>> rows_within({"nodes": [1, 2], "time_s": [9, 5]})
    [{'nodes': 1, 'time_s': 9}, {'nodes': 2, 'time_s': 5}]
    >>> rows_within({"run1": {"nodes": 1}, "run2": {"nodes": 2}})
    [{'run': 'run1', 'nodes': 1}, {'run': 'run2', 'nodes': 2}]
    >>> rows_within({"nodes": 4, "time_s": 9, "steps": [{"ms": 1}, {"ms": 2}]})
    []
    """
    if not isinstance(document, dict) or LOG in document or _measures(document, 0):
        return []
    plain = _split(document) or _columns(document) or _named(document)
    return plain or ([] if _measures(document, 1) else _below(document, DEEPEST))


def _rows(value: Any, deep: int) -> list[Row]:
    if isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        return objects if len(objects) > len(value) / 2 else []
    if not isinstance(value, dict) or not deep:
        return []
    return _split(value) or _columns(value) or _named(value) or _below(value, deep)


def _split(value: Mapping[str, Any]) -> list[Row]:
    names, data = value.get("columns"), value.get("data")
    if not isinstance(names, list) or not isinstance(data, list):
        return []
    fit = [r for r in data if isinstance(r, list) and len(r) == len(names)]
    return (
        [dict(zip(map(str, names), r, strict=True)) for r in fit] if len(fit) == len(data) else []
    )


def _columns(value: Mapping[str, Any]) -> list[Row]:
    """Lists of one length of plain values, or objects whose keys are the numbers of rows."""
    lists = {k: v for k, v in value.items() if isinstance(v, list)}
    own = {k: v for k, v in lists.items() if v and not any(isinstance(x, (list, dict)) for x in v)}
    if own and len(own) == len(lists) > 1 and len({len(v) for v in own.values()}) == 1:
        common = _common({k: v for k, v in value.items() if k not in own})
        return [
            {**common, **dict(zip(own, r, strict=True))} for r in zip(*own.values(), strict=True)
        ]
    parts = list(value.values())
    if len(parts) > 1 and all(_numbered(p) and p.keys() == parts[0].keys() for p in parts):
        return [{k: v[i] for k, v in value.items()} for i in parts[0]]
    return []


def _numbered(part: Any) -> bool:
    return isinstance(part, dict) and bool(part) and all(k.isdigit() for k in part)


def _named(value: Mapping[str, Any]) -> list[Row]:
    """Objects that have the same keys, each with its name; so are lists of them."""
    parts = [v for v in value.values() if isinstance(v, (dict, list))]
    quantity = any(guess_name(k) in AMOUNTS for k in value)  # {"energy": {"value": 3, "unit": "J"}}
    if quantity or len({type(p) for p in parts}) > 1:
        return []
    groups = {k: [v] if isinstance(v, dict) else _rows(v, 1) for k, v in value.items()
              if isinstance(v, (dict, list))}  # fmt: skip
    firsts = [set(g[0]) for g in groups.values() if g]
    alike = len(firsts) == len(parts) > 1 and all(f & firsts[0] > {*()} for f in firsts)
    if not alike or not all(len(f & firsts[0]) > len(f | firsts[0]) / 2 for f in firsts):
        return []
    common = _common({k: v for k, v in value.items() if k not in groups})
    said = _called(groups)
    said = said if not any(said in f for f in firsts) else KEY
    return [{**common, said: k, **row} for k, rows in groups.items() for row in rows]


def _called(keys: Iterable[str]) -> str:
    """What the names of rows are: names of programs, numbers of runs, or nobody knows."""
    if all(re.fullmatch(r"[\d.]+", k) for k in keys):
        return KEY
    return RUN if all(COUNTED.fullmatch(k) for k in keys) else NAME


def _below(value: Mapping[str, Any], deep: int) -> list[Row]:
    """The one table among the parts; of several the one that measures something."""
    tables = {k: t for k, v in value.items() if isinstance(v, (dict, list)) and k != LOG
              and (t := _rows(v, deep - 1))}  # fmt: skip
    measured = {k: t for k, t in tables.items() if _measures(t[0])}
    chosen = measured or tables
    if len(chosen) > 1:
        if not measured:
            return []
        said = f"holds several tables of runs, got {', '.join(chosen)}"
        raise DataError("JSON", [f"{said}: write one of them to a file of its own (jq .KEY)"])
    common = _common({k: v for k, v in value.items() if k not in chosen and k not in tables})
    rows = [{**common, **row} for own in chosen.values() for row in own]
    return _with_units(rows, value.get(UNITS))


def _with_units(rows: list[Row], units: Any) -> list[Row]:
    """Keys with the unit that the document says of them.

    >>> _with_units([{"time": 9, "nodes": 1}], {"time": "min"})
    [{'time [min]': 9, 'nodes': 1}]
    """
    if not isinstance(units, dict):
        return rows
    said = {k: f"{k} [{u}]" for k, u in units.items() if split_unit(f"time [{u}]")[2]}
    return [{said.get(k, k): v for k, v in row.items()} for row in rows]


def _common(beside: Mapping[str, Any]) -> Row:
    """Plain values that hold for all rows: words, and numbers that are no amount and no moment."""
    parts = {k: v for k, v in beside.items() if isinstance(v, dict) and k != UNITS}
    inner = {k: v for part in parts.values() for k, v in part.items()}
    every = {**inner, **beside}
    return {k: v for k, v in every.items() if isinstance(v, (str, int, float))
            and guess_name(k) not in (*AMOUNTS, *INSTANTS) and not split_unit(k)[2]}  # fmt: skip


def _measures(row: Mapping[str, Any], deep: int = 2) -> bool:
    """Whether an object has a run time, energy or power of its own."""
    inner = [v for k, v in row.items() if isinstance(v, dict) and not ABOUT.fullmatch(k)]
    inner = inner if deep else []
    own = [v for k, v in row.items() if guess_name(k) in AMOUNTS]
    own = [v for v in own if re.match(r"[-\d{]", str(v)) and not _numbered(v)]
    return bool(own) or any(_measures(v, deep - 1) for v in inner)
