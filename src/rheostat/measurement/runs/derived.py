"""What a table does not hold and its other columns tell, and what it holds that cannot be."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.guess import TIMES_PARTS, guess_name
from rheostat.measurement.runs.idle_power import with_idle
from rheostat.measurement.runs.pieces import of_all_pieces
from rheostat.measurement.runs.relative_times import relative_energy, relative_times
from rheostat.measurement.runs.turnaround import without_wait

PER_NODE = re.compile(r"ppn|(cores?|cpus?|proc(essor)?s|ranks|tasks)_?per_?(node|host)")
"""How many processors of each node a job asked for."""
PER_PART = re.compile(r"(energy|joules|power)_per_(\w+?)(_[jw])?", re.IGNORECASE)
PARTS = {"node": "nodes", "host": "nodes", "server": "nodes",
         "gpu": "gpus", "card": "gpus", "accelerator": "gpus"}  # fmt: skip
_PART, _UNIT = "|".join(PARTS), "[kM]?(?:Wh|W|J)|[Ww]atts?|[Jj]oules?"
OF_ONE = re.compile(
    rf"(?P<what>.*?)[ _]*[(\[]?(?P<unit>{_UNIT})?[ _]*(/|[Pp]er)[ _]*(?P<part>{_PART}|GPU)[)\]]?"
    rf"([ _]*[(\[]?(?P<behind>{_UNIT})[)\]]?)?"
)
"""``power per node (kW)``, ``Power (W/node)``, ``gpu_power_w_per_gpu``."""
_PER = r"(?: ?/ ?|[ _]per[ _])"
OF_A_STEP = re.compile(rf"(ns|us|ms|s|sec|min|h){_PER}(epoch|step|iter(?:ation)?|run)")
"""``s/epoch``, ``ms_per_step``."""
ENERGY_OF_A_PIECE = re.compile(
    rf"([kmM]?(?:J|Wh)){_PER}(it|epoch|step|iter(?:ation)?|run|sample|im(?:a)?ge?)"
)
"""``kJ/epoch``, ``J_per_step``."""
AMOUNT_OF_A_PIECE = re.compile(
    rf"(energy|time) ?/ ?(epoch|step|iter(?:ation)?|run|sample|im(?:a)?ge?)"
    rf"(?:[ _]*[(\[]?({_UNIT}|[mun]?s|min|h)[)\]]?)?"
)
"""``energy/step [J]``."""
BOUND = re.compile(r"min|max|peak|limit|cap|idle|std|tdp|rated", re.IGNORECASE)
READINGS = {"begin": "end", "start": "end", "before": "after", "initial": "final"}
"""Words of a meter's readings: energies that are none of a run."""
MEASURED = ("runtime_s", "power_w", "energy_j")
APART, SAME = 1.2, 0.05
"""A run time that differs by this factor from start to end, in the median row, is another time;
of another unit where the factor of half of the rows is that, but for this share."""


def runtime_between(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with ``runtime_s``, end less start, where it has those two and no run time.

    >>> runs = pl.DataFrame({"start_s": [10.0, 20.0], "end_s": [70.0, None]})
    >>> with_runtime, notes = runtime_between(runs)
    >>> with_runtime["runtime_s"].to_list(), notes[0].message
    ([60.0, None], 'runtime_s is end_s less start_s')
    """
    if "runtime_s" in table.columns or not {"start_s", "end_s"} <= set(table.columns):
        return table, []
    length = (pl.col("end_s") - pl.col("start_s")).cast(pl.Float64)
    forward = pl.when(length >= 0).then(length)
    return table.with_columns(runtime_s=forward), [Note("runtime_s is end_s less start_s")]


def told_by_others(frame: pl.DataFrame, taken: Collection[str]) -> tuple[pl.DataFrame, list[Note]]:
    """Run time and energy from hours of nodes, slowdowns or savings, where nobody named columns."""
    frame, notes = (frame, list[Note]()) if "runtime_s" in taken else runtime_of_parts(frame)
    if "runtime_s" not in {*taken, *frame.columns}:
        frame, waited = without_wait(frame)
        notes += waited
    if {"energy_j", "power_w"} & set(taken):
        return frame, notes
    frame, saved = relative_energy(frame)
    frame, pieced = (frame, list[Note]()) if "runtime_s" in taken else of_all_pieces(frame)
    frame, gross = with_idle(frame)
    return frame, [*notes, *saved, *pieced, *gross]


def runtime_of_parts(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """``runtime_s`` where a table has hours of nodes, GPUs or cores and how many, or slowdowns.

    >>> runs = pl.DataFrame({"gpus": [1, 4], "GPU-hours": [0.5, 1.0]})
    >>> with_runtime, notes = runtime_of_parts(runs)
    >>> with_runtime["runtime_s"].to_list(), notes[0].message
    ([1800.0, 900.0], 'runtime_s is GPU-hours over gpus')
    """
    named = {guess_name(c): c for c in frame.columns}
    if named.keys() & {"runtime_s", "span_s", "start_s", "end_s", "submit_s"}:
        return frame, []
    for column in (c for c in frame.columns if frame[c].dtype.is_numeric()):
        match = TIMES_PARTS.fullmatch(column)
        kind = {"gpu": "gpus", "node": "nodes"}.get(match[1].lower(), "cores") if match else ""
        count = named.get(f"{kind}_alloc") or named.get(kind)
        if match and count and frame[count].dtype.is_numeric():
            seconds = pl.col(column) * (3600.0 if match[2][0] in "hH" else 1.0)
            runtime = pl.when(pl.col(count) > 0).then(seconds / pl.col(count))
            return frame.with_columns(runtime_s=runtime), [
                Note(f"runtime_s is {column} over {count}")
            ]
    return relative_times(frame)


def energy_between(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with ``energy_j`` where a meter was read before and after each run.

    >>> runs = pl.DataFrame({"meter_begin_j": [900.0, 70.0], "meter_end_j": [960.0, 20.0]})
    >>> with_energy, notes = energy_between(runs)
    >>> with_energy["energy_j"].to_list(), notes[0].message
    ([60.0, None], 'energy_j is meter_end_j less meter_begin_j')
    """
    if {"energy_j", "power_w", "power_per_node_w"} & set(table.columns):
        return table, []
    joules = [c for c in table.columns if c.endswith("_j") and table[c].dtype.is_numeric()]
    pairs = [(a, b) for a in joules for b in joules if _after(a) == b]
    if len(pairs) != 1:
        return table, []
    before, after = pairs[0]
    spent = (pl.col(after) - pl.col(before)).cast(pl.Float64)
    said = f"energy_j is {after} less {before}"
    return table.with_columns(energy_j=pl.when(spent > 0).then(spent)), [Note(said)]


def _after(column: str) -> str:
    """The name of the second reading, given that of the first; "" where it is none."""
    words = column.split("_")
    at = next((i for i, w in enumerate(words) if w.lower() in READINGS), None)
    if at is None:
        return ""
    then = READINGS[words[at].lower()]
    return "_".join([*words[:at], then.title() if words[at].istitle() else then, *words[at + 1 :]])


def runtime_by_clock(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """``runtime_s`` as end less start where a column that was taken for it says another time.

    A ``duration`` may be what was asked for, or in another unit: the clock says how long jobs ran.
    What is shorter, and not by the same factor in most rows, is a part of the job (an epoch, a
    loop), and stays.

    >>> runs = {"start_s": [10.0, 20.0], "end_s": [70.0, 50.0], "runtime_s": [120.0, 60.0]}
    >>> ran, notes = runtime_by_clock(pl.DataFrame(runs))
    >>> ran["runtime_s"].to_list()
    [60.0, 30.0]
    >>> runs = {"start_s": [0.0] * 3, "end_s": [3600.0] * 3, "runtime_s": [820.0, 411.0, 220.0]}
    >>> ran, notes = runtime_by_clock(pl.DataFrame(runs))
    >>> ran["runtime_s"].to_list(), notes[0].message
    ([820.0, 411.0, 220.0], 'runtime_s is 0.114 times end_s less start_s in the median row: kept')
    """
    if not {"runtime_s", "start_s", "end_s"} <= set(table.columns):
        return table, []
    if not all(table[c].dtype.is_numeric() for c in ("runtime_s", "start_s", "end_s")):
        return table, []
    length = (pl.col("end_s") - pl.col("start_s")).cast(pl.Float64)
    ratio = table.select(pl.col("runtime_s") / pl.when(length > 0).then(length)).to_series()
    middle = ratio.median()
    if not isinstance(middle, float) or 1 / APART < middle < APART:
        return table, []
    unit = (ratio / middle - 1).abs().median()
    if middle < 1 and (not isinstance(unit, float) or unit > SAME):
        said = f"runtime_s is {middle:.3g} times end_s less start_s in the median row: kept"
        return table, [Note(said)]
    taken = pl.coalesce(pl.when(length >= 0).then(length), "runtime_s")
    said = f"the column taken for runtime_s is {middle:.3g} times end_s less start_s in the median"
    return table.with_columns(runtime_s=taken), [Note(f"{said} row: end_s less start_s is taken")]


def of_one_part(columns: Sequence[str]) -> dict[str, str]:
    """Headings of power and energy of a node or a GPU, and of the time of a step, as known here.

    >>> of_one_part(["nodes", "avg power (W/node)", "energy per GPU [kJ]", "max_power_per_node_w"])
    {'avg power (W/node)': 'power_per_node_W', 'energy per GPU [kJ]': 'energy_per_gpu_kJ'}
    >>> of_one_part(["watts_per_gpu"])
    {'watts_per_gpu': 'power_per_gpu_W'}
    """
    made = {c: f"time_per_{m[2]}_{m[1]}" for c in columns if (m := OF_A_STEP.fullmatch(c))}
    made |= {c: f"energy_per_{m[2]}_{m[1]}" for c in columns
             if (m := ENERGY_OF_A_PIECE.fullmatch(c))}  # fmt: skip
    made |= {c: f"{m[1]}_per_{m[2]}{f'_{m[3]}' if m[3] else ''}" for c in columns
             if (m := AMOUNT_OF_A_PIECE.fullmatch(c))}  # fmt: skip
    for column in columns:
        match = OF_ONE.fullmatch(column)
        if match is None or BOUND.search(column):
            continue
        unit = match["behind"] or match["unit"] or ""
        unit = re.sub("[Ww](atts?)?", "W", re.sub("[Jj](oules?)?", "J", unit))
        kind = "power" if unit.endswith("W") else "energy" if unit else ""
        kind = kind or next((k for k in ("power", "energy") if k in match["what"].lower()), "")
        if kind:
            made[column] = f"{kind}_per_{match['part'].lower()}{unit and '_'}{unit}"
    names = [*columns, *made.values()]
    return {c: n for c, n in made.items() if names.count(n) == 1}


def without_parts(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Columns as they were mapped; a `DataError` where a part is taken for the whole.

    >>> without_parts({"power_w": "watts_per_gpu"})
    Traceback (most recent call last):
    rheostat.errors.DataError: mapping: power_w: watts_per_gpu is of one gpu: --column \
power_per_gpu_w=watts_per_gpu takes it times their number; if it is of all, --column \
'power_w=watts_per_gpu*1'
    """
    for ours, theirs in columns.items():
        part = OF_ONE.fullmatch(theirs) if isinstance(theirs, str) else None
        if part is None or ours not in ("power_w", "energy_j") or not of_one_part([theirs]):
            continue
        one = part["part"].lower()
        each = f"{'power' if ours == 'power_w' else 'energy'}_per_{one}_{ours[-1]}={theirs}"
        raise DataError("mapping", [
            f"{ours}: {theirs} is of one {one}: --column {quote(each)} takes it times their "
            f"number; if it is of all, --column {quote(f'{ours}={theirs}*1')}"])  # fmt: skip
    return columns


def per_part(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with ``power_w`` or ``energy_j`` where it has that of one node, or one GPU.

    >>> runs = pl.DataFrame({"nodes": [1, 4], "power_per_node_w": [300.0, 310.0]})
    >>> with_power, notes = per_part(runs)
    >>> with_power["power_w"].to_list(), notes[0].message
    ([300.0, 1240.0], 'power_w is power_per_node_w times nodes')
    >>> per_part(pl.DataFrame({"hosts": [2], "energy_per_host_J": [5.0]}))[0]["energy_j"].to_list()
    [10.0]
    """
    there = set(table.columns)
    each = {c: m for c in table.columns if (m := PER_PART.fullmatch(c)) and m[2].lower() in PARTS}
    of_nodes = {c: m for c, m in each.items() if PARTS[m[2].lower()] == "nodes"}
    if not each or {"power_w", "energy_j"} & there:
        return table, []
    notes = []
    for column, match in (of_nodes or each).items():
        kind = PARTS[match[2].lower()]
        counts = [c for k in (f"{kind}_alloc", kind) for c in table.columns if guess_name(c) == k]
        ours = "power_w" if match[1].lower() == "power" else "energy_j"
        if ours in table.columns:
            continue
        total = pl.col(column) * pl.coalesce(counts) if counts else pl.col(column)
        table = table.with_columns(total.alias(ours))
        one = f"times {' or '.join(counts)}" if counts else f": nothing tells the {kind}, so of one"
        notes.append(Note(f"{ours} is {column}{' ' * bool(counts)}{one}"))
    return table, notes


def cores_of_nodes(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with ``cores`` where it has nodes and processors of each (``ppn``) alone.

    >>> asked = pl.DataFrame({"nodes": [4, 1], "ppn": [32, 8]})
    >>> with_cores, notes = cores_of_nodes(asked)
    >>> with_cores["cores"].to_list(), notes[0].message
    ([128, 8], 'cores is nodes times ppn')
    """
    each = [c for c in table.columns if PER_NODE.fullmatch(c.lower())]
    if (
        len(each) != 1
        or "nodes" not in table.columns
        or {"cores", "cores_alloc"} & {*table.columns}
    ):
        return table, []
    if not (table["nodes"].dtype.is_numeric() and table[each[0]].dtype.is_numeric()):
        return table, []
    cores = pl.col("nodes") * pl.col(each[0])
    return table.with_columns(cores=cores), [Note(f"cores is nodes times {each[0]}")]


def known_amounts(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """No run takes no power, energy or memory: a zero there is a reading that failed, not known.

    >>> runs = pl.DataFrame({ROW: [0, 1], "runtime_s": [9.0, 8.0], "energy_j": [0.0, 70.0]})
    >>> known_amounts(runs)[0]["energy_j"].to_list()
    [None, 70.0]
    """
    notes = []
    for name in (*MEASURED[1:], "memory_b"):
        if name not in table.columns or not table[name].dtype.is_numeric():
            continue
        ran = pl.col("runtime_s") > 0 if "runtime_s" in table.columns else pl.lit(value=True)
        failed = (pl.col(name) == 0) & ran.fill_null(value=True)
        if rows := table.filter(failed)[ROW].to_list():
            notes.append(note_rows(f"{name} is 0, which no run takes: not known", rows))
            table = table.with_columns(pl.when(~failed.fill_null(value=False)).then(pl.col(name)))
    return table, notes


def only_grows(amounts: pl.Series) -> bool:
    """Whether an amount grows with every row, of four or more, from a level above its steps.

    >>> only_grows(pl.Series([48212.2, 48213.1, 48214.0, 48215.3]))
    True
    """
    values = amounts.drop_nulls()
    if not values.dtype.is_numeric() or len(values) < 4:
        return False
    steps = values.cast(pl.Float64).diff().drop_nulls()
    return bool((steps > 0).all()) and float(values[0]) > float(steps.max())  # type: ignore[arg-type]
