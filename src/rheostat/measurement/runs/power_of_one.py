"""Watts that hardly grow with the nodes or GPUs of a run: those of one of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from shlex import quote

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name, lone_quantity
from rheostat.measurement.runs.header_units import split_unit

FEWEST = {"nodes": 4.0, "gpus": 2.0}
"""How many times as many there have to be, where the heading does not say of what the watts are."""
FLAT = 1.3
"""Watts of a whole run grow by more than this from the fewest nodes to so many more."""
NAMED = (("gpus", re.compile(r"gpu|accelerator", re.IGNORECASE)),
         ("nodes", re.compile(r"node|host|server", re.IGNORECASE)))  # fmt: skip


def watts_of_one(frame: pl.DataFrame, asked: Collection[str]) -> tuple[pl.DataFrame, list[Note]]:
    """The table, its watts called those of a node or a GPU where they do not grow with these.

    >>> runs = pl.DataFrame({"gpus": [1, 4], "gpu_power_w": [410.0, 390.0]})
    >>> frame, notes = watts_of_one(runs, [])
    >>> frame.columns, notes[0].message[:62]
    (['gpus', 'power_per_gpu_W'], 'gpu_power_w does not grow from 1 to 4 gpus: taken as that of o')
    """
    named = {guess_name(c): c for c in reversed(frame.columns)}
    power = named.get("power_w") or lone_quantity("power_w", frame.columns)
    known = named.keys() & {"submit_s", "energy_j", "power_per_node_w"}
    if power is None or power in asked or known or not _numeric(frame, power):
        return frame, []
    said = next((kind for kind, words in NAMED if words.search(power)), "")
    for kind in (said,) if said else ("nodes", "gpus"):
        count = named.get(f"{kind}_alloc") or named.get(kind)
        if count is None or not _numeric(frame, count):
            continue
        more, growth = _growth(frame, power, count, named.get("app"))
        if more < (2.0 if said else FEWEST[kind]) or growth > (math.sqrt(more) if said else FLAT):
            continue
        low, high = frame.select(a=pl.col(count).min(), b=pl.col(count).max()).row(0)
        verb = "hardly grows" if growth > 1 else "does not grow"
        whole = quote(f"power_w={power}*1")
        one = kind.removesuffix("s")
        note = Note(
            f"{power} {verb} from {low:g} to {high:g} {kind}: taken as that of one {one}; if it is "
            f"of all, --column {whole}"
        )
        watts = pl.col(power) * split_unit(power)[3]
        return frame.with_columns(watts).rename({power: f"power_per_{one}_W"}), [note]
    return frame, []


def _numeric(frame: pl.DataFrame, name: str) -> bool:
    return frame[name].dtype.is_numeric()


def _growth(frame: pl.DataFrame, power: str, count: str, app: str | None) -> tuple[float, float]:
    """How many times the fewest the most are, and watts there over watts here in the median."""
    known = frame.filter((pl.col(power) > 0) & (pl.col(count) > 0))
    by = [app] if app and frame[app].dtype == pl.String else []
    ends = known.group_by(by) if by else [((), known)]
    least, most, ratios = math.inf, 0.0, []
    for _, own in ends:
        few, many = own.select(a=pl.col(count).min(), b=pl.col(count).max()).row(0)
        if many / few < 2:
            continue
        watts = [own.filter(pl.col(count) == n)[power].median() for n in (few, many)]
        ratios.append(float(watts[1]) / float(watts[0]))  # type: ignore[arg-type]
        least, most = min(least, float(few)), max(most, float(many))
    if not ratios:
        return 1.0, math.inf
    return most / least, float(pl.Series(ratios).median())  # type: ignore[arg-type]
