"""Lines of samples of power: whose they are, at which second, how many watts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.dates import since_1970
from rheostat.measurement.lines import whole
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.slurm.sacct_clock import time_zone

CLOCK = re.compile(r"(time[ _]?stamp|date[ _]?time|time|date|ts|epoch|unix[ _]?time)([ _\[(].*)?")
POWER = re.compile(r".*(power|watt|pwr|leistung|puissance|potencia)")
NO_DRAW = re.compile(r".*(limit|cap\b|max|min|util|percent|%|state|factor|management|default)")
DEVICE = ("index", "gpu", "gpu_id", "gpu_index", "uuid", "gpu_uuid", "pci.bus_id", "device",
          "socket", "package", "domain", "sensor")  # fmt: skip
HOST = ("host", "hostname", "node", "nodename")
DRAWN = ("power.draw", "power.draw.average", "power.draw.instant")
RUNS = {"runtime_s", "energy_j", "nodes", "app", "job_id", "start_s", "end_s", "submit_s", "state",
        "batch_size", "threads", "cores", "tasks"}  # fmt: skip
"""What a table of runs has, and samples have not."""
STAMPED = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3},.*?[\d.]+ W(,|$)")
NUMBER = r"^\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(?:m?W|kW|Watts?|%|MHz)?\s*$"
LEAST, REGULAR = 5, 0.9
"""Samples of which a clock is told, and the share of steps that is like the usual one."""
EVERY_S = 1.0
ALONE = "GPU"


@dataclass(frozen=True)
class PowerSamples:
    """Rows of device, model, gpu, t, watts, busy and hz; whether devices add up; what is said."""

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    parts_add: bool = False


def samples_in(path: str | Path, zone: str = "") -> PowerSamples:
    """The samples of a file."""
    cells = _cells(whole(Path(path)).decode("utf-8", "replace").splitlines())
    clock, drawn = _clock(cells), _drawn(cells)
    if not drawn:
        raise DataError(str(path), [f"expected a column of watts, got {', '.join(cells)}"])
    notes = [] if clock else [Note(f"samples without a clock: taken {EVERY_S:g} s apart, as dmon "
                                   "writes by default; with its times: -o DT")]  # fmt: skip
    device, model = _devices(cells), _words(cells, "name") or _words(cells, "gpu_model")
    t = _seconds(cells, clock, zone) if clock else _counted(device)
    smi = _is_gpu(cells)
    if smi and set(device) == {ALONE} and (at_once := _at_once(t)):
        device, count = at_once, len(set(at_once))
        notes.append(Note(f"no column index: {count} lines at each moment are taken as {count} "
                          "GPUs in the order of the lines"))  # fmt: skip
    chosen = [next((c for d in DRAWN for c in drawn if _bare(c) == d), drawn[0])] if smi else drawn
    if len(chosen) < len(drawn):
        notes.append(Note(f"power is {chosen[0]}; not used: {', '.join(set(drawn) - {*chosen})}"))
    parts = [
        pl.DataFrame({
            "device": device if len(chosen) == 1 else [f"{d} {c}".strip() for d in device],
            "model": model or [None] * len(t), "gpu": [smi] * len(t), "t": t,
            "watts": _numbers(cells[c]) * _scale(c), "busy": _share(cells),
            "hz": _first(cells, r"clocks\.(current\.)?sm|pclk", 1e6),
        }, schema_overrides={"model": pl.String})
        for c in chosen
    ]  # fmt: skip
    return PowerSamples(pl.concat(parts), tuple(notes), smi)


def looks_sampled(lines: Sequence[str]) -> bool:
    """Whether lines begin samples of power: a known tool's, or a regular clock beside watts.

    >>> looks_sampled(["timestamp, power.draw [W]", "2025/10/11 19:49:54.120, 62.31 W"])
    True
    >>> looks_sampled(["time_s,nodes,power_w", *(f"{9 / n},{n},300" for n in range(1, 9))])
    False
    """
    text = [x for x in lines if x.strip()]
    if not text or _dmon(text[0]) or STAMPED.match(text[0]):
        return bool(text)
    delimiter = max(",;\t|", key=text[0].count)
    heads = [h.strip().strip('"').lower() for h in text[0].split(delimiter)]
    if "timestamp" in heads and any(h.startswith("power.draw") for h in heads):
        return True
    others = [h for h in heads if not CLOCK.fullmatch(h)]
    if len(others) == len(heads) or {guess_name(h) for h in others} & RUNS or len(text) <= LEAST:
        return False
    cells = _cells(text[:-1])  # the last line may be cut
    return bool(cells and _drawn(cells)) and _regular(cells)


def _regular(cells: Mapping[str, list[str]]) -> bool:
    """Whether the clock goes on by like steps, and is a date, seconds since 1970, or from 0."""
    t = _seconds(cells, _clock(cells), "")
    if t.null_count() or (0 < t[0] < 1e8):
        return False
    frame = pl.DataFrame({"device": _devices(cells), "t": t})
    steps = [np.diff(np.unique(part["t"])) for part in frame.partition_by("device")]
    every = np.concatenate(steps) if steps else np.empty(0)
    if len(every) < LEAST - 1 or (np.diff(t.to_numpy()) < 0).any():
        return False
    usual = np.median(every)
    return bool(np.mean((every > usual / 2) & (every < 2 * usual)) >= REGULAR)


def _dmon(line: str) -> bool:
    return line.lstrip().startswith("#") and bool(re.search(r"\bpwr\b", line))


def _cells(lines: Sequence[str]) -> dict[str, list[str]]:
    """Columns of cells by their heading; rows of another length are cut lines and left out."""
    text = [x.strip() for x in lines if x.strip()]
    if _dmon(text[0]):
        comma = "," in text[0]
        heads = _split(text[0].lstrip("# "), "," if comma else None)
        rows = [_split(x, "," if comma else None) for x in text if not x.startswith("#")]
    elif STAMPED.match(text[0]):
        rows = [_split(x, ",") for x in text]
        heads = [_heading(cell, i) for i, cell in enumerate(rows[0])]
    else:
        parted = csv.reader(text, delimiter=max(",;\t|", key=text[0].count), skipinitialspace=True)
        heads, *rows = [[cell.strip() for cell in row] for row in parted]
    whole_rows = [row for row in rows if len(row) == len(heads) and row != heads]
    return {head: [row[i] for row in whole_rows] for i, head in enumerate(heads)}


def _split(line: str, by: str | None) -> list[str]:
    return [cell.strip() for cell in line.split(by)]


def _heading(cell: str, place: int) -> str:
    """The heading of a cell that tells what it is, of nvidia-smi without headings."""
    if re.fullmatch(r"[\d.]+ W", cell):
        return "power.draw [W]" if place else "timestamp"
    named = "name" if re.match(r"[A-Z]\w+ ", cell) else f"column_{place}"
    return "timestamp" if place == 0 else "index" if re.fullmatch(r"\d{1,2}", cell) else named


def _bare(head: str) -> str:
    return re.sub(r"\s*[\[(].*", "", head).lower()


def _clock(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns of date and time, or the one of both."""
    named = [c for c in cells if CLOCK.fullmatch(c.lower())]
    both = [c for c in named if _bare(c) in ("date", "time")]
    return sorted(both, key=_bare) if len(both) == 2 else named[:1]


def _drawn(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns of watts that are drawn, not allowed."""
    named = [c for c in cells if (POWER.match(c.lower()) or split_unit(c)[2] == "W")
             and not NO_DRAW.match(c.lower())]  # fmt: skip
    return [c for c in named if _numbers(cells[c]).is_not_null().any()]


def _is_gpu(cells: Mapping[str, list[str]]) -> bool:
    return any(_bare(c).startswith("power.draw") or _bare(c) == "pwr" for c in cells)


def _devices(cells: Mapping[str, list[str]]) -> list[str]:
    named = {_bare(c): c for c in cells}
    count = len(next(iter(cells.values())))
    device = next((named[d] for d in DEVICE if d in named), "")
    host = next((named[h] for h in HOST if h in named), "")
    ahead = "GPU " if device and _bare(device) in ("index", "gpu", "gpu_id", "gpu_index") else ""
    alone = ALONE if _is_gpu(cells) else "all"
    own = [f"{ahead}{d}" for d in cells[device]] if device else [alone] * count
    return [f"{h} {d}" for h, d in zip(cells[host], own, strict=True)] if host else own


def _words(cells: Mapping[str, list[str]], name: str) -> list[str]:
    return next((cells[c] for c in cells if _bare(c) == name), [])


def _seconds(cells: Mapping[str, list[str]], clock: Sequence[str], zone: str) -> pl.Series:
    """Seconds since 1970, or since the first where the clock counts so; midnight is passed."""
    text = pl.Series([" ".join(parts) for parts in zip(*(cells[c] for c in clock), strict=True)])
    numbers = text.cast(pl.Float64, strict=False)
    if len(clock) == 1 and numbers.is_not_null().any():
        factor = split_unit(clock[0], timed=True)[3] if since_1970(numbers)[0] == 1.0 else 1.0
        return numbers * since_1970(numbers)[0] * factor
    text = text.str.replace_all("/", "-").str.replace(r"^(\d{4})(\d\d)(\d\d) ", "$1-$2-$3 ")
    daily = text.str.contains(r"^\d\d:\d\d").all()
    text = "1970-01-01 " + text if daily else text
    at = text.str.to_datetime(strict=False, time_unit="us")
    if zone and not daily:
        time_zone(zone)
        at = at.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    seconds = at.dt.epoch("us") / 1e6
    passed = (seconds.diff() < -43_200.0).fill_null(value=False).cum_sum()
    return seconds + 86_400.0 * passed if daily else seconds


def _at_once(t: pl.Series) -> list[str]:
    """Names of GPUs by their place among lines of one moment; empty where each is alone.

    >>> _at_once(pl.Series([0.0, 0.003, 1.0, 1.004, 2.0, 2.002]))
    ['GPU 0', 'GPU 1', 'GPU 0', 'GPU 1', 'GPU 0', 'GPU 1']
    >>> _at_once(pl.Series([0.0, 1.0, 2.1, 3.0]))
    []
    """
    steps = t.diff().drop_nulls().to_numpy()
    between = steps > np.quantile(steps, 0.95) / 5 if len(steps) else np.ones(0, dtype=bool)
    if between.all():
        return []
    moment = pl.DataFrame({"m": np.cumsum([0, *between])})
    return [f"GPU {p}" for p in moment.select(pl.int_range(pl.len()).over("m")).to_series()]


def _counted(device: Iterable[str]) -> pl.Series:
    """Seconds of samples that have none: one a step of each device."""
    frame = pl.DataFrame({"device": list(device)})
    return frame.select(t=pl.int_range(pl.len()).over("device") * EVERY_S).to_series()


def _numbers(cells: Sequence[str]) -> pl.Series:
    return pl.Series(cells, dtype=pl.String).str.extract(NUMBER).cast(pl.Float64, strict=False)


def _scale(head: str) -> float:
    return split_unit(head)[3] if split_unit(head)[2] == "W" else 1.0


def _first(cells: Mapping[str, list[str]], pattern: str, factor: float) -> pl.Series:
    """Numbers of the first column whose bare heading is so; else unknown."""
    named = next((c for c in cells if re.fullmatch(pattern, _bare(c))), "")
    count = len(next(iter(cells.values())))
    return _numbers(cells[named]) * factor if named else pl.Series([None] * count, dtype=pl.Float64)


def _share(cells: Mapping[str, list[str]]) -> pl.Series:
    """How much of the time a GPU was in use; ``sm`` is a clock in one tool, a share in dmon."""
    return _first(cells, r"utilization\.gpu|gpu_util\w*" if "pwr" not in cells else "sm", 0.01)
