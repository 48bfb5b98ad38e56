"""Tables that known tools write, whose columns do not say their units: they get them here.

CodeCarbon counts kilowatt-hours and pyRAPL microjoules in columns named like any others; EAR has a
row for each node of a step; ReFrame puts units in columns of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.rapl_columns import as_energies, domains

KWH = ("energy_consumed", "cpu_energy", "gpu_energy", "ram_energy")
WATTS = ("cpu_power", "gpu_power", "ram_power")
BATCH_STEP = 4294967290
"""EAR numbers the batch and external steps of Slurm from here on; they hold the others' nodes."""
PERF_ENERGY = re.compile(r"power/energy-(pkg|ram|cores|gpu|psys)/(?::?\w+)?")
PARAMETER = re.compile(r"%([\w.]+)=(\S+)")
Changed = tuple[pl.DataFrame, list[Note]]

PARAMETERS = "parameter_"
"""Before the names of hyperfine's parameters; a knob may be asked for with it or without."""


def with_units(frame: pl.DataFrame, asked: Collection[str] = ()) -> Changed:
    """The table with units in the names of its columns, where a known tool wrote it.

    Where one of the ``asked`` columns would be named anew the table stays as it is.

    >>> runs = {ROW: [0], "duration": [60.0], "emissions_rate": [1e-5], "energy_consumed": [0.002]}
    >>> named, notes = with_units(pl.DataFrame(runs))
    >>> named.columns[-1], notes[0].message
    ('energy_consumed_kWh', 'columns mapped as those of CodeCarbon: energy in kWh')
    >>> with_units(pl.DataFrame(runs), ["duration"])[1][0].message
    'duration is taken as it stands, and so are the units of all other columns'
    """
    named, notes = _of_tool(frame)
    lost = sorted(set(asked) & set(frame.columns) - set(named.columns))
    if lost and all(c.startswith(PARAMETERS) for c in lost):
        return named.rename({c.removeprefix(PARAMETERS): c for c in lost}), notes
    if lost:
        said = f"{', '.join(lost)} is taken as it stands, and so are the units of all other columns"
        return frame, [Note(said)]
    return named, notes


def _perf_events(frame: pl.DataFrame) -> Changed:
    """Energies of processors under the names of perf's events, which counts them in joules.

    >>> events = ["power/energy-pkg/", "power/energy-ram/"]
    >>> runs = pl.DataFrame({"real": [2.0], events[0]: [50.0], events[1]: [3.0]})
    >>> _perf_events(runs)[0].columns
    ['real [s]', 'pkg (J)', 'ram (J)']
    """
    events = {c: m[1] for c in frame.columns if (m := PERF_ENERGY.fullmatch(c.strip()))}
    if not events:
        return frame, []
    alone = set(events.values()) == {"pkg"}
    names = {c: "energy_J" if alone else f"{part} (J)" for c, part in events.items()}
    said = f"columns mapped as events of perf, in J: {', '.join(events)}"
    return _renamed(frame, {**names, "real": "real [s]"}), [Note(said)]


def _of_tool(frame: pl.DataFrame) -> Changed:
    frame, said = _perf_events(frame)
    named, notes = _of_columns(frame)
    return named, [*said, *notes]


def _of_columns(frame: pl.DataFrame) -> Changed:
    for columns, change in TOOLS:
        if columns <= set(frame.columns):
            return change(frame)
    if "real" in frame.columns and _of_shell(frame["real"]):
        return _shell(frame)
    if any(f"{_valued(c)}_unit" in frame.columns for c in frame.columns if _valued(c)):
        return _reframe(frame)
    own = domains(frame)
    return as_energies(frame, own) if own else (frame, [])


def _codecarbon(frame: pl.DataFrame) -> Changed:
    """Rows of a run that was written down again hold what it took so far: the last one counts."""
    notes = [Note("columns mapped as those of CodeCarbon: energy in kWh")]
    if "run_id" in frame.columns and "task_name" not in frame.columns:
        last = frame.select(~pl.struct("run_id").is_last_distinct()).to_series()
        if last.any():
            said = "CodeCarbon wrote the run down again later: no run of its own"
            notes.append(note_rows(said, frame.filter(last)[ROW], dropped=True))
            frame = frame.filter(~last)
    units = {c: f"{c}_kWh" for c in KWH} | {c: f"{c}_W" for c in WATTS}
    return _renamed(frame, units | {"duration": "duration_s", "project_name": "app"}), notes


def _pyrapl(frame: pl.DataFrame) -> Changed:
    """A row for each socket; what the socket and its memory took is summed."""
    amounts = [pl.col(c).cast(pl.Float64, strict=False) for c in ("pkg", "dram")]
    energy = pl.sum_horizontal(amounts).sum()
    runs = frame.group_by("label", "timestamp", maintain_order=True).agg(
        pl.col(ROW).first(), duration_us=pl.col("duration").max(), energy_uJ=energy
    )
    said = (
        "columns mapped as those of pyRAPL: times in us, energy (pkg + dram) in uJ, sockets summed"
    )
    return runs.rename({"label": "app"}), [Note(said)]


def _shell(frame: pl.DataFrame) -> Changed:
    """What the shell's ``time`` printed: the time on the wall, and seconds of processors.

    >>> _shell(pl.DataFrame({"real": ["1m2.5s"], "user": ["2m0.1s"], "sys": ["0m1.0s"]}))[0].columns
    ['real [s]', 'cpu_time_user', 'cpu_time_sys']
    """
    names = {"real": "real [s]", "user": "cpu_time_user", "sys": "cpu_time_sys"}
    beside = " beside user and sys" if "user" in frame.columns else ""
    return _renamed(frame, names), [Note(f"real{beside}: taken as run time")]


def _of_shell(cells: pl.Series) -> bool:
    """Whether cells are times as the shell prints them, ``3m12.250s``."""
    there = cells.drop_nulls().cast(pl.String)
    return len(there) > 0 and there.str.contains(r"^\d+m\d+[.,]\d+s$").all()


def _hyperfine(frame: pl.DataFrame) -> Changed:
    """Means of runs, which hyperfine exports in seconds, and its parameters under their names."""
    parameters = {c: c.removeprefix(PARAMETERS) for c in frame.columns}
    frame = frame.drop("user", "system")  # CPU seconds, and no names
    named = _renamed(frame, {**parameters, "mean": "time [s]"})
    return named, [Note("columns mapped as those of hyperfine: the mean time in s")]


def _zeus(frame: pl.DataFrame) -> Changed:
    """Windows of Zeus: the energy of its GPUs, each in a column, is summed."""
    parts = [c for c in frame.columns if re.fullmatch(r"gpu\d+_energy", c)]
    if not parts:
        return frame, []
    energy = pl.sum_horizontal(pl.col(c).cast(pl.Float64, strict=False) for c in parts)
    said = (
        f"columns mapped as those of Zeus: seconds and joules; energy is that of {len(parts)} GPUs"
    )
    named = frame.with_columns(energy_J=energy).drop(parts)
    return _renamed(named, {"elapsed_time": "elapsed_time_s"}), [Note(said)]


def _wandb(frame: pl.DataFrame) -> Changed:
    """Runs of Weights & Biases: their names are no application, the watts of GPUs are summed."""
    frame = _renamed(frame, {"Name": "run_name"})
    gpus = [c for c in frame.columns if re.fullmatch(r"system[/.]gpu\.\d+\.powerWatts", c)]
    said = "columns mapped as those of Weights & Biases"
    if not gpus or "power_W" in frame.columns:
        return frame, [Note(said)]
    watts = pl.sum_horizontal(
        (pl.col(c).cast(pl.Float64, strict=False) for c in gpus), ignore_nulls=False
    )
    said += f": power is the sum of {len(gpus)} GPUs"
    return frame.with_columns(power_W=watts).drop(gpus), [Note(said)]


def _ear(frame: pl.DataFrame) -> Changed:
    """A row for each node of a step becomes one for the step: the longest time, all power."""
    steps = [c for c in ("JOBID", "STEPID", "APPID") if c in frame.columns]
    frame, notes = _without_batch_steps(frame)
    per_node = "NODENAME" in frame.columns
    if per_node:
        other = [c for c in frame.columns if c not in {*steps, "TIME_SEC", "NODENAME", ROW}]
        mean = [pl.col(c).mean() for c in other if frame[c].dtype.is_float()]
        first = [pl.col(c).first() for c in other if not frame[c].dtype.is_float()]
        frame = frame.group_by(steps, maintain_order=True).agg(
            pl.col(ROW).first(), pl.col("TIME_SEC").max(), *mean, *first,
            nodes=pl.col("NODENAME").n_unique(),
        )  # fmt: skip
    said = "columns mapped as those of EAR: DC_NODE_POWER_W is of each node"
    said += ", rows of a step's nodes are one run" if per_node else ""
    named = {"DC_NODE_POWER_W": "node_power_W", "NODE_COUNT": "nodes"}
    return _renamed(frame, named), [Note(said), *notes]


def _without_batch_steps(frame: pl.DataFrame) -> Changed:
    if "STEPID" not in frame.columns or not frame["STEPID"].dtype.is_numeric():
        return frame, []
    batch = (pl.col("STEPID") >= BATCH_STEP).fill_null(value=False)
    gone, kept = frame.filter(batch), frame.filter(~batch)
    if not gone.height or not kept.height:
        return frame, []
    said = "EAR's batch or external step, which holds the nodes of the others: no run"
    return kept, [note_rows(said, gone[ROW], dropped=True)]


def _reframe(frame: pl.DataFrame) -> Changed:
    """Values with their units beside them, and parameters in the name of a test, as columns.

    >>> row = {ROW: [0], "display_name": ["a %threads=8"], "t_value": [2.5], "t_unit": ["s"]}
    >>> _reframe(pl.DataFrame(row))[0].columns[1:]
    ['app', 't [s]', 'threads']
    """
    named = {}
    for column in frame.columns:
        unit = f"{_valued(column)}_unit"
        if unit in frame.columns and (said := frame[unit].drop_nulls().unique().to_list()):
            named[column] = f"{_valued(column)} [{said[0]}]" if len(said) == 1 else column
    units = [f"{_valued(c)}_unit" for c, ours in named.items() if ours != c]
    frame = _renamed(frame.drop(units), named)
    notes = [Note(f"units stand in columns of their own: {', '.join(named.values())}")]
    if "display_name" not in frame.columns:
        return frame, notes
    return _with_parameters(_renamed(frame, {"display_name": "app", "result": "state"}), notes)


def _with_parameters(frame: pl.DataFrame, notes: list[Note]) -> Changed:
    """What stands behind the name as ``%threads=8``, each in a column of its own."""
    cells = [dict(PARAMETER.findall(c or "")) for c in frame["app"]]
    names = dict.fromkeys(n for own in cells for n in own if n not in frame.columns)
    own = [pl.Series(n, [c.get(n) for c in cells], dtype=pl.String) for n in names]
    whole = [s.cast(pl.Float64, strict=False) for s in own]
    typed = [n if n.null_count() == s.null_count() else s for s, n in zip(own, whole, strict=True)]
    plain = pl.Series("app", [PARAMETER.sub("", c or "").strip() for c in frame["app"]])
    return frame.with_columns(plain, *typed), notes


def _renamed(frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """The table under new names, where it has the old and not the new."""
    there: dict[str, str] = {}
    for old, new in names.items():
        if old in frame.columns and new not in {*frame.columns, *there.values()}:
            there[old] = new
    return frame.rename(there)


def _valued(column: str) -> str:
    """The name before ``_value``, "" where there is none."""
    return column.removesuffix("_value") if column.endswith("_value") else ""


TOOLS: tuple[tuple[frozenset[str], Callable[[pl.DataFrame], Changed]], ...] = (
    (frozenset({"duration", "emissions_rate", "energy_consumed"}), _codecarbon),
    (frozenset({"real", "user", "sys"}), _shell),
    (frozenset({"command", "mean", "stddev", "user", "system"}), _hyperfine),
    (frozenset({"label", "timestamp", "duration", "pkg", "dram", "socket"}), _pyrapl),
    (frozenset({"window_name", "elapsed_time"}), _zeus),
    (frozenset({"Name", "State", "Created", "Runtime", "Sweep"}), _wandb),
    (frozenset({"JOBID", "TIME_SEC", "DC_NODE_POWER_W"}), _ear),
)  # fmt: skip
"""Columns that tell a tool's table, and what is done with it."""
