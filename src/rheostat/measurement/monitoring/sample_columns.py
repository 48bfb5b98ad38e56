"""Which columns of samples are the clock, and which say of what device a sample is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from rheostat.errors import DataError
from rheostat.measurement.monitoring.series_names import GPUS, HOSTS
from rheostat.measurement.runs.header_units import PREFIXES, either_prefix, split_unit

DAY, HOUR = r"date|datum|fecha", r"time|uhrzeit|zeit|heure|hora"
"""Headings of a day and of the time in it, a clock together; Italian ``data`` is data elsewhere."""
CLOCK = re.compile(rf"(time[ _]?stamp|date[ _]?time|{DAY}|{HOUR}|ts|epoch|unix[ _]?time"
                   r"|zeit(stempel|punkt))([ _\[(].*)?")  # fmt: skip
ELAPSED = re.compile(r"(elapsed([ _]time)?)([ _\[(].*)?")
"""A clock that runs from 0, where a table has no other."""
POWER = re.compile(r".*(power|watt|pwr|leistung|puissance|potencia)")
VALUE = re.compile(r"values?|reading|last|mean|wert|valeur|valor")
DEVICE = (*GPUS, "uuid", "gpu_uuid", "gpu_index", "pci.bus_id", "device", "entity", "socket",
          "package", "domain", "sensor", "series", "legend", "metric")  # fmt: skip
MODEL = ("name", "gpu_model", "modelname")
NUMBER = r"^\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?:([mkM]?)(W|[Ww]atts?)|%|MHz)?\s*$"
DECIMAL_COMMA = r"^\s*-?\d+,(\d{1,2}|\d{4,})(\s*\w+)?\s*$"
ALONE = "GPU"
MOST_OF_ALL_W = 1e9
"""What no machine draws: a larger reading in mw is of milli."""


def told_apart(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns that say whose a sample is: known ones, else the only one of words that come again.

    And those that tell samples of one moment apart, as outlets and phases.

    >>> told_apart({"time": ["1", "2", "1", "2"], "outlet": ["A", "A", "B", "B"]})
    ['outlet']
    """
    known = [c for c in cells if bare(c) in (*HOSTS, *DEVICE, *MODEL)]
    clock = clock_of(cells)
    words = [c for c in cells if c not in clock and numbers_of(cells[c]).is_null().all()
             and any(cells[c]) and len(set(cells[c])) <= len(cells[c]) / 2]  # fmt: skip
    first = known or (words if len(words) == 1 else [])
    return first if is_gpu(cells) else [*first, *_at_one_moment(cells, clock, first)]


def _at_one_moment(
    cells: Mapping[str, list[str]], clock: Sequence[str], known: Sequence[str]
) -> list[str]:
    """Columns without a unit whose values come again, and that tell samples of one moment apart.

    >>> pdu = {"t": ["1", "1", "2", "2"], "PDU": ["a"] * 4, "Outlet": ["1", "2"] * 2}
    >>> _at_one_moment(pdu | {"W": ["4", "6", "5", "6"]}, ["t"], ["PDU"])
    ['Outlet']
    """
    frame, apart = pl.DataFrame(dict(cells)), [*clock, *known]

    def together(columns: Sequence[str]) -> int:
        return max(frame.group_by(columns).len()["len"].to_list(), default=1)

    most = together(apart) if clock else 1
    for column in (c for c in cells if c not in apart and _may_tell(c, cells[c])):
        if most > 1 and (fewer := together([*apart, column])) < most:
            apart.append(column)
            most = fewer
    return apart[len(clock) + len(known) :]


def _may_tell(head: str, cells: Sequence[str]) -> bool:
    """Whether a column may say of what a sample is: no amount, and its values come again."""
    amount = split_unit(head)[2] or POWER.match(head.lower()) or VALUE.fullmatch(bare(head))
    return not amount and bare(head) not in MODEL and 2 * len(set(cells)) <= len(cells)


def devices(cells: Mapping[str, list[str]]) -> list[str]:
    """Of what device each sample is.

    >>> devices({"time": ["1", "1", "2", "2"], "Outlet": ["1", "2"] * 2, "W": ["4", "6", "5", "6"]})
    ['Outlet 1', 'Outlet 2', 'Outlet 1', 'Outlet 2']
    """
    named = {bare(c): c for c in cells}
    count = len(next(iter(cells.values())))
    device = next((named[d] for d in DEVICE if d in named), "")
    host = next((named[h] for h in HOSTS if h in named), "")
    parts = [c for c in told_apart(cells) if bare(c) not in (*HOSTS, *DEVICE, *MODEL)]
    ahead = "GPU " if device and bare(device) in (*GPUS, "gpu_index") else ""
    alone = ALONE if is_gpu(cells) else "" if host or parts else "all"
    own = [alone] * count
    if device:
        own = [f"{ahead}{d}".replace("_", " ") if ahead else d for d in cells[device]]
        own = [d.replace("GPU_", "GPU ") for d in own] if bare(device) == "entity" else own
    whose = [cells[host] if host else [], own, *(_labels(c, cells[c]) for c in parts)]
    return [" ".join(filter(None, said)) for said in zip(*filter(None, whose), strict=True)]


def _labels(head: str, cells: Sequence[str]) -> Sequence[str]:
    """What a column calls its parts; numbers behind its heading."""
    return cells if any(re.search("[A-Za-z]", c) for c in cells) else [f"{head} {c}" for c in cells]


def clock_of(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns of date and time, or the one of both."""
    named = [c for c in cells if CLOCK.fullmatch(c.lower())]
    named = named or [c for c in cells if ELAPSED.fullmatch(c.lower())]
    both = [c for part in (DAY, HOUR) for c in named if re.fullmatch(part, bare(c))]
    return both if len(both) == 2 else named[:1]


def is_gpu(cells: Mapping[str, list[str]]) -> bool:
    """Whether headings are those of a tool that watches GPUs."""
    alone = ("pwr", "dcgm_fi_dev_power_usage")
    heads = [bare(c) for c in cells]
    return any(b.startswith("power.draw") or b in alone for b in heads) or "entity" in heads


def bare(head: str) -> str:
    """A heading in small letters without what stands in brackets."""
    return re.sub(r"\s*[\[(].*", "", head).lower()


def numbers_of(cells: Sequence[str]) -> pl.Series:
    """Numbers of cells, also with decimal commas, in watts where a cell says kW or mW."""
    text = pl.Series(cells, dtype=pl.String)
    text = text.str.replace(",", ".") if text.str.contains(DECIMAL_COMMA).any() else text
    parts = text.str.extract_groups(NUMBER).struct.unnest()
    values, prefix = parts.to_series(0).cast(pl.Float64, strict=False), parts.to_series(1)
    return values * prefix.fill_null("").replace_strict(PREFIXES, return_dtype=pl.Float64)


def in_base_unit(head: str, values: pl.Series) -> pl.Series:
    """Watts or joules by the unit of a heading; of ``mw`` the one of two units that can be.

    >>> in_base_unit("power_kw", pl.Series([0.3])).to_list()
    [300.0]
    >>> in_base_unit("power_mw", pl.Series([300_000.0])).to_list()
    [300.0]
    """
    if unit := either_prefix(head):
        if unit == "mw" and float(values.max() or 0.0) * 1e6 > MOST_OF_ALL_W:  # type: ignore[arg-type]
            return values * 1e-3
        said = f"{unit[0]}{unit[1:].capitalize()}", f"M{unit[1:].capitalize()}"
        problem = (
            f"{' or '.join(said)}? write which in the heading, as {head[: -len(unit)]}{said[0]}"
        )
        raise DataError(head, [problem])
    _, _, base, factor = split_unit(head)
    return values * (factor if base in ("W", "J") else 1.0)
