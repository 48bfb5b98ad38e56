"""Lines of samples of power or readings of a meter: whose they are, at which second, how many."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.lines import whole
from rheostat.measurement.monitoring.joined_files import (
    named_by_part,
    parts_told_apart,
    steps_back,
)
from rheostat.measurement.monitoring.sample_cells import (
    ALL,
    STAMPED,
    cells_of,
    delimiter_of,
    is_dcmi,
    is_monitor,
)
from rheostat.measurement.monitoring.sample_clock import counted, seconds_of
from rheostat.measurement.monitoring.sample_columns import (
    ALONE,
    DEVICE,
    MODEL,
    NUMBER,
    POWER,
    VALUE,
    bare,
    clock_of,
    devices,
    in_base_unit,
    is_gpu,
    numbers_of,
    told_apart,
)
from rheostat.measurement.monitoring.sample_json import is_matrix, json_cells
from rheostat.measurement.monitoring.series_names import GPUS, HOSTS, SERIES, series_names
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.languages import FINISHED, UNFINISHED

NO_DRAW = re.compile(r".*(limit|cap\b|max|min|util|percent|%|state|factor|management|default)")
TOTAL = re.compile(r"total|sum|\ball\b|overall|cluster|whole")
DRAWN = ("power.draw", "power.draw.average", "power.draw.instant")
RUNS = {"runtime_s", "energy_j", "nodes", "app", "job_id", "start_s", "end_s", "submit_s", "state",
        "batch_size", "threads", "cores", "tasks"}  # fmt: skip
"""What a table of runs has, and samples have not."""
SWITCHED = {"OK", "0", "1", "TRUE", "FALSE", "VALID", "INVALID", "ERROR", "F"}
"""What a device may say of itself, and a run of its end."""
VOLTS = re.compile(r"volt|ampere|amps|(^|_)current(_|$)")
UNSAID = (
    "samples of what? Neither headings nor cells say a unit: where they are watts give the file a "
    "name with power, or --column power_w={}"
)
LEAST, REGULAR = 5, 0.9
"""Samples of which a clock is told, and the share of steps that is like the usual one."""
EVERY_S, TURBO_EVERY_S = 1.0, 5.0
TURBO, TURBO_BESIDE = "PkgWatt", {"Busy%", "Bzy_MHz", "Avg_MHz", "CorWatt", "RAMWatt"}
"""Headings of turbostat, which prints every 5 s."""
ALIKE = 0.9
"""Of the moments at least, with a line of each of several GPUs."""
DATED = 1e8
"""Seconds since 1970 from here on have a date; others count from midnight or a start."""
SAMPLED_S = 3600.0
"""Moments of a power that stands alone are samples if they come so often, however unevenly."""


@dataclass(frozen=True)
class PowerSamples:
    """Rows of device, model, gpu, t, reading, busy and hz; whether devices add up; what is said.

    Readings are watts, or joules of meters that count on, whose columns ``counters`` has.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    parts_add: bool = False
    counters: tuple[str, ...] = ()


def samples_in(path: str | Path, zone: str = "", named: Sequence[str] = ()) -> PowerSamples:
    """The samples of a file; ``named`` are its columns of watts, where somebody said so."""
    lines = whole(Path(path)).decode("utf-8", "replace").splitlines()
    cells = cells_of(lines)
    clock, drawn, notes = clock_of(cells), list(named) or _drawn(cells), list[Note]()
    if lost := [c for c in named if c not in cells]:
        raise DataError(str(path), [f"mapped column {c} is missing" for c in lost])
    counters = _counters(cells)
    if drawn and counters:
        notes.append(Note(f"{', '.join(counters)} counts on: not used beside {', '.join(drawn)}"))
    counters = [] if drawn else counters
    drawn = drawn or counters
    if not drawn and (drawn := _numeric(cells, clock)):
        notes += _as_watts(path, cells, drawn)
    if not drawn:
        raise DataError(str(path), [f"expected a column of watts, got {', '.join(cells)}"])
    every_s = TURBO_EVERY_S if TURBO in cells else EVERY_S
    if not clock:
        by = ("turbostat", "--show Time_Of_Day_Seconds") if TURBO in cells else ("dmon", "-o DT")
        notes.append(Note(f"samples without a clock: taken {every_s:g} s apart, as {by[0]} "
                          f"writes by default; with its times: {by[1]}"))  # fmt: skip
    device, model = devices(cells), next(filter(None, (_words(cells, m) for m in MODEL)), [])
    t, dated = seconds_of(cells, clock, zone) if clock else (counted(device, every_s), [])
    notes += dated
    device, t, parted = parts_told_apart(
        device, t, _words(cells, "uuid") or _words(cells, "gpu_uuid"), headed=_headed(lines)
    )
    notes += parted
    smi = is_gpu(cells)
    if smi and set(device) == {ALONE} and (at_once := _at_once(t)):
        device, count = at_once, len(set(at_once))
        notes.append(Note(f"no column index: {count} lines at each moment are taken as {count} "
                          "GPUs in the order of the lines"))  # fmt: skip
    chosen = [next((c for d in DRAWN for c in drawn if bare(c) == d), drawn[0])] if smi else drawn
    if len(chosen) < len(drawn):
        notes.append(Note(f"power is {chosen[0]}; not used: {', '.join(set(drawn) - {*chosen})}"))
    alike = _add_up(cells, chosen, device)
    parts = [
        pl.DataFrame({
            "device": device if len(chosen) == 1 else _beside(device, name),
            "model": model or [None] * len(t), "gpu": [smi] * len(t), "t": t,
            "reading": in_base_unit(c, numbers_of(cells[c])), "busy": _share(cells),
            "hz": _first(cells, r"clocks\.(current\.)?sm|pclk", 1e6),
        }, schema_overrides={"model": pl.String})
        for c, name in zip(chosen, series_names(chosen), strict=True)
    ]  # fmt: skip
    return PowerSamples(pl.concat(parts), tuple(notes), smi or alike, tuple(counters))


def _headed(lines: Sequence[str]) -> int:
    """How often the first line of a file comes again: where files were joined, but for the first.

    >>> _headed(["time,W", "1,300", "2,300", "time,W", "1,200"])
    1
    """
    text = [x.strip() for x in lines if x.strip()]
    return text.count(text[0]) - 1


def _add_up(cells: Mapping[str, list[str]], chosen: Sequence[str], device: Sequence[str]) -> bool:
    """Whether series are of things beside each other, as nodes and outlets, and not of parts."""
    if len(chosen) > 1:
        plain = not _drawn(cells) and not _counters(cells)
        return all(map(SERIES.fullmatch, chosen)) or plain
    parts = {bare(c) for c in told_apart(cells)} - {*HOSTS, *GPUS}
    return not parts & {*DEVICE} and not any(TOTAL.search(d.lower()) for d in device)


def _beside(device: Sequence[str], name: str) -> list[str]:
    """Names of series of one column beside others; what all devices share says nothing."""
    return [name] * len(device) if set(device) <= {"all", ALL} else [f"{d} {name}" for d in device]


def _numeric(cells: Mapping[str, list[str]], clock: Sequence[str]) -> list[str]:
    """Columns of numbers whose headings say no quantity: nodes side by side, or one of values."""
    numbers = [c for c in cells if c not in clock and bare(c) not in (*DEVICE, *HOSTS, *MODEL)
               and numbers_of(cells[c]).is_not_null().any()]  # fmt: skip
    return [c for c in numbers if VALUE.fullmatch(bare(c))] or numbers


def _as_watts(path: str | Path, cells: Mapping[str, list[str]], drawn: Sequence[str]) -> list[Note]:
    """That numbers are watts by their cells or by the file's name; an error where nothing says."""
    units = pl.Series([cell for c in drawn for cell in cells[c]]).str.extract(NUMBER, 3)
    if units.is_not_null().any():
        return []
    if POWER.match(Path(path).name.lower()):
        return [Note("no unit in headings or cells: taken as W, as the name of the file says")]
    if any(VOLTS.search(c.lower()) for c in drawn):
        raise DataError(str(path), [f"{', '.join(drawn)}: no power; write their product in W"])
    raise DataError(str(path), [UNSAID.format("+".join(drawn[:3]) if len(drawn) < 4 else "NODE")])


def looks_sampled(lines: Sequence[str]) -> bool:
    """Whether lines begin samples of power: a known tool's, or a regular clock beside watts.

    A meter that counts energy on is one where its clock has dates or a unit.

    >>> looks_sampled(["timestamp, power.draw [W]", "2025/10/11 19:49:54.120, 62.31 W"])
    True
    >>> looks_sampled(["time_s,nodes,power_w", *(f"{9 / n},{n},300" for n in range(1, 9))])
    False
    >>> looks_sampled(["time_s,total_Wh", *(f"{k},{900 + k}" for k in range(9))])
    True
    """
    text = [x for x in lines if x.strip()]
    if not text or is_monitor(text[0]) or is_dcmi(text) or STAMPED.match(text[0]):
        return bool(text)
    if is_matrix("".join(text)) or _of_turbostat(text):
        return True
    heads = [h.strip().strip('"').lower() for h in text[0].split(delimiter_of(text[0]))]
    if "timestamp" in heads and any(h.startswith("power.draw") for h in heads):
        return True
    cells = _begun(text)
    counters = _counters(cells) if _timed(cells) else []
    others = {c: v for c, v in cells.items() if c not in counters}
    return bool(_drawn(cells) or counters) and not _runs(others) and _regular(cells)


def _of_turbostat(text: Sequence[str]) -> bool:
    """Whether lines are those of turbostat, with or without its clock, and no table of runs."""
    heads = {h.strip() for h in re.split(r"[\t,]", text[0])}
    return TURBO in heads and bool(heads & TURBO_BESIDE) and not _runs(cells_of(text))


def looks_side_by_side(lines: Sequence[str]) -> bool:
    """Whether a regular clock stands beside numbers whose headings are names alone, as of nodes.

    >>> moments = [f"2026-03-02 08:{k:02d}:00,30{k},41{k}" for k in range(9)]
    >>> looks_side_by_side(["Time,node01,node02", *moments])
    True
    """
    cells = _begun([x for x in lines if x.strip()])
    numbers = _numeric(cells, clock_of(cells)) if cells else []
    plain = not any(guess_name(c) or split_unit(c)[2] for c in numbers)
    return bool(numbers) and plain and not _runs(cells) and _regular(cells)


def _begun(text: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the first lines where one is a clock and they are many; else nothing."""
    whole_lines = text[:-1] if len(text) > LEAST else []  # the last line may be cut
    cells = cells_of(whole_lines) if whole_lines else json_cells(text)
    return cells if cells and clock_of(cells) and len(next(iter(cells.values()))) >= LEAST else {}


def _runs(cells: Mapping[str, list[str]]) -> bool:
    """Whether some column is one of runs; the name of a node is none."""
    clock = clock_of(cells)
    named = {c for c in cells if bare(c) in (*HOSTS, *DEVICE, *MODEL) and c not in clock
             and pl.Series(cells[c]).str.contains("[A-Za-z]").all()}  # fmt: skip
    ours = {guess_name(c) for c in cells if c not in {*clock, *named, "CPU", "Core"}
            and not _of_a_device(c, cells[c])}  # fmt: skip
    return bool(ours & RUNS)


def _of_a_device(head: str, cells: Sequence[str]) -> bool:
    """Whether a state is that of an outlet or a sensor: no word says how a run ended.

    >>> _of_a_device("state", ["on", "on"]), _of_a_device("state", ["COMPLETED", "on"])
    (True, False)
    """
    if guess_name(head) != "state":
        return False
    words = {c.strip().upper() for c in cells} - SWITCHED
    return not words & {*FINISHED, *UNFINISHED}


def _regular(cells: Mapping[str, list[str]]) -> bool:
    """Whether a clock goes on, by like steps where other columns may be settings of runs.

    It is a date, seconds since 1970, or from 0; a time of day where nothing else is there.
    """
    clock = clock_of(cells)
    t, _ = seconds_of(cells, clock, "")
    alone = set(cells) <= {*clock, *_drawn(cells), *told_apart(cells)}
    if t.null_count() or (0 < t[0] < DATED and not (alone and ":" in cells[clock[0]][0])):
        return False
    device = devices(cells)
    starts = steps_back(device, t.to_numpy())  # as where files of several hosts were joined
    frame = pl.DataFrame({"device": named_by_part(device, starts), "t": t})
    parts = [part["t"].to_numpy() for part in frame.partition_by("device")]
    every = np.concatenate([np.diff(np.unique(t)) for t in parts] or [np.empty(0)])
    mixed = any((np.diff(t) < 0).any() for t in parts) or LEAST * len(starts) > len(t)
    if len(every) < LEAST - 1 or mixed:
        return False
    usual = np.median(every)
    like = bool(np.mean((every > usual / 2) & (every < 2 * usual)) >= REGULAR)
    return like or (alone and usual < SAMPLED_S)


def _drawn(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns of watts that are drawn, not allowed."""
    named = [c for c in cells if (POWER.match(c.lower()) or split_unit(c)[2] == "W")
             and not NO_DRAW.match(c.lower())]  # fmt: skip
    return [c for c in named if numbers_of(cells[c]).is_not_null().any()]


def _timed(cells: Mapping[str, list[str]]) -> bool:
    """Whether a clock has dates or a unit; ``epoch`` may count those of a training."""
    clock = clock_of(cells)
    t = seconds_of(cells, clock, "")[0].drop_nulls() if clock else pl.Series([])
    return len(t) > 0 and (t[0] > DATED or split_unit(clock[0], timed=True)[2] == "s")


def _counters(cells: Mapping[str, list[str]]) -> list[str]:
    """Columns of energy that hardly ever fall from one reading of a device to its next, and grow.

    >>> _counters({"a_Wh": ["7", "8", "9"], "b_Wh": ["2", "1", "2"], "c_Wh": ["1", "1", "1"]})
    ['a_Wh']
    """
    return [c for c in cells if split_unit(c)[2] == "J" and _counts(devices(cells), cells[c])]


def _counts(device: Sequence[str], cells: Sequence[str]) -> bool:
    steps = pl.DataFrame({"of": device, "v": numbers_of(cells)}).select(
        pl.col("v").diff().over("of")
    )
    known = steps.to_series().drop_nulls()
    return bool((known > 0).any()) and (known < 0).sum() <= (1.0 - REGULAR) * len(known)


def _words(cells: Mapping[str, list[str]], name: str) -> list[str]:
    return next((cells[c] for c in cells if bare(c) == name), [])


def _at_once(t: pl.Series) -> list[str]:
    """Names of GPUs by their place among lines of one moment; empty where each is alone.

    >>> _at_once(pl.Series([0.0, 0.003, 1.0, 1.004, 2.0, 2.002]))
    ['GPU 0', 'GPU 1', 'GPU 0', 'GPU 1', 'GPU 0', 'GPU 1']
    >>> _at_once(pl.Series([0.0, 1.0, 2.1, 3.0])), _at_once(pl.Series([0.0, 1.0, 2.0, 1202.0]))
    ([], [])
    """
    steps = t.diff().drop_nulls().to_numpy()
    between = steps > np.quantile(steps, 0.95) / 5 if len(steps) else np.ones(0, dtype=bool)
    if between.all():
        return []
    moment = pl.DataFrame({"m": np.cumsum([0, *between])})
    sizes = moment.group_by("m").len()["len"].sort()
    if sizes.len() < 2 or (sizes == sizes[-1]).mean() < ALIKE:
        return []  # of one GPU, with a gap in between
    return [f"GPU {p}" for p in moment.select(pl.int_range(pl.len()).over("m")).to_series()]


def _first(cells: Mapping[str, list[str]], pattern: str, factor: float) -> pl.Series:
    """Numbers of the first column whose bare heading is so; else unknown."""
    named = next((c for c in cells if re.fullmatch(pattern, bare(c))), "")
    count = len(next(iter(cells.values())))
    return (
        numbers_of(cells[named]) * factor if named else pl.Series([None] * count, dtype=pl.Float64)
    )


def _share(cells: Mapping[str, list[str]]) -> pl.Series:
    """How much of the time a GPU was in use; ``sm`` is a clock in one tool, a share in dmon."""
    return _first(cells, r"utilization\.gpu|gpu_util\w*" if "pwr" not in cells else "sm", 0.01)
