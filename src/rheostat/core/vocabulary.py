"""The field's words: the columns every floor agrees on, with unit, moment and meaning.

`table` builds a small `JobTable` from plain columns; names found here get their unit and moment
from here, so that ``runtime_s`` is an END column in seconds wherever it appears.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema

_S, _T, _E = Moment.SUBMIT, Moment.START, Moment.END

VOCABULARY = Schema(
    [
        Column("job_id", "", _S, "the site's identifier of the job"),
        Column("user", "", _S, "who submitted"),
        Column("group", "", _S, "the user's group"),
        Column("account", "", _S, "who is charged"),
        Column("app", "", _S, "application or job name"),
        Column("partition", "", _S, "partition or queue asked for"),
        Column("qos", "", _S, "quality of service asked for"),
        Column("priority", "", _S, "priority at submission"),
        Column("submit_s", "s", _S, "submission, seconds since 1970 (SWF: since the log's start)"),
        Column("eligible_s", "s", _T, "when the job could first have started"),
        Column("start_s", "s", _T, "start"),
        Column("end_s", "s", _E, "end"),
        Column("wait_s", "s", _T, "start less submission"),
        Column("runtime_s", "s", _E, "end less start"),
        Column("time_limit_s", "s", _S, "wall time asked for"),
        Column("nodes", "", _S, "nodes asked for: the usual knob"),
        Column("nodes_alloc", "", _T, "nodes received"),
        Column("cores", "", _S, "cores asked for"),
        Column("cores_alloc", "", _T, "cores received"),
        Column("cores_per_task", "", _S, "cores per task asked for"),
        Column("tasks", "", _S, "tasks asked for"),
        Column("threads", "", _S, "threads"),
        Column("gpus", "", _S, "GPUs asked for"),
        Column("gpus_alloc", "", _T, "GPUs received"),
        Column("memory_b", "B", _S, "memory asked for"),
        Column("memory_alloc_b", "B", _T, "memory received"),
        Column("frequency_hz", "Hz", _S, "core frequency asked for"),
        Column("cap_w", "W", _S, "power cap of one device or node"),
        Column("cpu_cap_w", "W", _S, "power cap of all processors of a node"),
        Column("gpu_cap_w", "W", _S, "power cap of one GPU"),
        Column("batch_size", "", _S, "training batch size"),
        Column("state", "", _E, "how the job ended"),
        Column("exit_code", "", _E, "exit status"),
        Column("power_w", "W", _E, "mean power of the whole job"),
        Column("power_max_w", "W", _E, "highest sampled power of the whole job"),
        Column("power_per_node_w", "W", _E, "mean power of one node of the job"),
        Column("energy_j", "J", _E, "energy of the whole job"),
        Column("node_hours", "node_h", _E, "nodes times runtime, in hours"),
        Column("censored", "", _E, "true: the run was cut off, runtime_s is a lower bound"),
        Column("weight", "", _E, "importance weight of the row"),
    ]
)


def column(name: str, known: Moment = Moment.SUBMIT, unit: str = "", meaning: str = "") -> Column:
    """The vocabulary's column of this name, or a new one with what is given."""
    return VOCABULARY[name] if name in VOCABULARY else Column(name, unit, known, meaning)


@runtime_checkable
class ArrowStream(Protocol):
    """A table of another library, handed over by Arrow's C interface without a copy."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with the stream."""


def table(
    data: Mapping[str, Any] | pl.DataFrame | ArrowStream,
    columns: Iterable[Column] = (),
    notes: Iterable[Note] = (),
) -> JobTable:
    """A `JobTable` from plain columns, or from a frame of pandas, polars or Arrow.

    ``columns`` describe names that the vocabulary lacks.

    A name that neither knows is taken as known at submission with no unit: say otherwise.

    Parameters
    ----------
    data : mapping, polars.DataFrame or Arrow stream
        Columns by name, values in SI units; also whatever has ``__arrow_c_stream__``, as frames of
        pandas, tables of pyarrow and relations of DuckDB do.
    columns : iterable of Column
        Descriptions of names that the vocabulary lacks.
    notes : iterable of Note
        Kept with the table.

    Returns
    -------
    JobTable
        With a described column for each.

    Examples
    --------
    >>> tile = Column("tile", "", Moment.SUBMIT, "tile edge")
    >>> t = table({"nodes": [1, 2], "tile": [16, 32]}, [tile])
    >>> t.schema["nodes"].known.name, t.schema["tile"].meaning
    ('SUBMIT', 'tile edge')
    """
    if isinstance(data, pl.DataFrame):
        frame = data
    else:
        frame = pl.DataFrame(data if isinstance(data, ArrowStream) else dict(data))
    own = {c.name: c for c in columns}
    schema = Schema(own.get(n) or column(n) for n in frame.columns)
    return JobTable(frame, schema, tuple(notes))
