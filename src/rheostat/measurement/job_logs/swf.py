"""Read and write the Standard Workload Format 2.2: 18 numbers a line, -1 for "not known".

The format of the Parallel Workloads Archive.  Comment lines at the top begin with a semicolon and
describe the machine; they come back in the table's notes.  Times count
seconds from the log's own zero (``UnixStartTime`` of the header).  It counts processors, not nodes.

References
----------
Feitelson, D., Tsafrir, D., Krakov, D.: Experience with using the Parallel Workloads Archive (2014).
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.storage.files import ordinary_file, replace_file
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs, note_rows, rows_where
from rheostat.measurement.lines import Records, whole

RAW = ("job_id", "submit_s", "wait_s", "runtime_s", "cores_alloc", "cpu_time_s", "used_kb", "cores",
       "time_limit_s", "asked_kb", "status", "user", "group", "app", "queue", "partition",
       "preceding_job", "think_s")  # fmt: skip
NUMBERS = dict.fromkeys(RAW, pl.Float64)
STATES = {0: "FAILED", 1: "COMPLETED", 2: "PARTIAL", 3: "PARTIAL_COMPLETED", 4: "PARTIAL_FAILED",
          5: "CANCELLED"}  # fmt: skip
PIECES = (2, 3, 4)
GAPS = (b"  ", b"\t", b"\r", b" \n", b"\n ", b"\n\n")  # more than one space between two numbers
BLOCK_B = 2**22
"""Text that is put in order at a time: each byte takes a score of others meanwhile."""
LARGEST = 2.0**53  # beyond it a float is no exact count of anything
WHOLE = ("job_id", "cores", "cores_alloc", "preceding_job")
NAMES = ("user", "group", "app", "queue", "partition")
OWN = (
    Column("cpu_time_s", "s", Moment.END, "CPU time used, mean over the processors"),
    Column("memory_used_b", "B", Moment.END, "memory used, all processors"),
    Column("queue", "", Moment.SUBMIT, "queue asked for"),
    Column("preceding_job", "", Moment.SUBMIT, "job_id this one waits for"),
    Column("think_s", "s", Moment.SUBMIT, "time between the preceding job's end and this one"),
)


def read_swf(path: str | Path, *, procs_per_node: int | None = None) -> JobTable:
    """Read an SWF log, plain or gzip.

    ``cores`` is the number of processors *asked for* and stays null where the log has none: it is
    not filled from ``cores_alloc``.  ``nodes`` is there only when ``procs_per_node`` is given or
    the header's MaxProcs is a multiple of its MaxNodes, and a note says so.

    Parameters
    ----------
    path : path
        The file.
    procs_per_node : int, optional
        Processors of a node, to count nodes.

    Returns
    -------
    JobTable
        A row per job, times in s; lines of the header are notes.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    frame, comments = _plain_numbers(path)
    notes: list[Note] = []
    if not len(frame):
        records = Records(path, comment=";")
        frame, notes = _numbers(records)
        comments = records.comments
    frame, odd = _whole(frame)
    notes += odd
    frame, pieces = _without_pieces(frame)
    notes += pieces
    header = _fields(comments)
    if not len(frame):
        raise DataError(str(path), ["has no line of 18 numbers: not SWF, or only a header", *(
            n.message for n in notes)])  # fmt: skip
    frame = frame.with_columns(
        pl.when(pl.col(c) == -1).then(None).otherwise(pl.col(c)).alias(c) for c in RAW
    )
    frame, early = _waits(frame)
    notes += early
    frame = _named(frame)
    per, why = _per_node(header, procs_per_node)
    if per:
        frame = frame.with_columns(nodes=(pl.col("cores") / per).ceil().cast(pl.Int64))
    header_text = "; ".join(f"{k}: {v}" for k, v in header.items())
    notes += [Note(f"header {header_text}")] if header_text else []
    notes += [Note(why)] if why else []
    return as_jobs(frame, OWN, notes)


def write_swf(jobs: JobTable, path: str | Path, header: Sequence[str] = ()) -> None:
    """Write a table as SWF 2.2; what the table lacks is -1.  Reading it back gives it again.

    Times are written as they are; user, group and the like must be numbers, or they are numbered.
    """
    n = len(jobs)
    status = {v: k for k, v in STATES.items()}
    columns = []
    for name in RAW:
        if name == "status" and "state" in jobs.schema:
            raw = jobs.frame["state"].replace_strict(status, default=-1, return_dtype=pl.Int64)
        elif name == "wait_s" and name not in jobs.schema and "start_s" in jobs.schema:
            raw = jobs.frame["start_s"] - jobs.frame["submit_s"]
        elif name not in jobs.schema:
            raw = pl.repeat(-1, n, eager=True)
        else:
            raw = _numbered(jobs.frame[name])
        columns.append(raw.fill_null(-1).to_list())
    lines = ["; Version: 2.2", *(f"; {h}" for h in header)]
    lines += [" ".join(_plain(v) for v in row) for row in zip(*columns, strict=True)]
    replace_file(path, "\n".join(lines) + "\n")


def _plain_numbers(path: str | Path) -> tuple[pl.DataFrame, list[str]]:
    """Numbers and header of a file without any oddity; no row leaves it to `_numbers`.

    Ten times faster than line by line: comments at the top only, nothing but plain numbers below,
    every line with 18 of them.
    """
    text = whole(ordinary_file(path))
    none = pl.DataFrame(schema=NUMBERS)
    edge = text.rfind(b"\n", 0, text.rfind(b";") + 1) + 1 if b";" in text else 0
    below = text.find(b"\n", edge) + 1 if edge or text.startswith(b";") else 0
    head = [line.strip() for line in text[:below].splitlines() if line.strip()]
    body = text[below:]
    del text  # ten million jobs are a gigabyte
    if body.translate(None, b"0123456789.-+eE \t\r\n") or any(h[:1] != b";" for h in head):
        return none, []
    if body[:1] == b" " or any(gap in body for gap in GAPS):
        body = _one_space(body)
    try:
        frame = pl.read_csv(body, has_header=False, separator=" ", schema=NUMBERS)
    except pl.exceptions.PolarsError:
        return none, []
    sane = frame.select(pl.all_horizontal((pl.col(c).abs() < LARGEST).all() for c in RAW)).item()
    if not sane or sum(frame.null_count().row(0)):  # an empty field
        return none, []
    return frame.with_row_index(ROW), [h.decode("utf-8", errors="replace") for h in head]


def _one_space(text: bytes) -> bytes:
    """The lines with one space between numbers; nothing if a line has not 18 numbers."""
    packed, begin = bytearray(), 0
    while begin < len(text):
        end = text.find(b"\n", begin + BLOCK_B) + 1 or len(text)
        lines = _lines_with_one_space(np.frombuffer(text, np.uint8, end - begin, begin))
        if lines is None:
            return b""
        packed += lines
        begin = end
    return bytes(packed)


def _lines_with_one_space(text: np.ndarray) -> bytes | None:
    """The same of whole lines; None if one has not 18 numbers."""
    solid = text > ord(" ")
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    number = np.cumsum(begins, dtype=np.int32)
    breaks = text == ord("\n")
    per_line = np.diff(number[breaks], prepend=0, append=number[-1:])
    if not set(np.unique(per_line)) <= {0, len(RAW)}:
        return None
    between = np.zeros_like(solid)
    between[:-1] = begins[1:] & (number[:-1] % len(RAW) != 0)
    ends = np.zeros_like(solid)
    ends[np.flatnonzero(breaks)[per_line[: breaks.sum()] > 0]] = True  # no row for an empty line
    return np.where(between, ord(" "), text).astype(np.uint8)[solid | between | ends].tobytes()


def _numbers(records: Records) -> tuple[pl.DataFrame, list[Note]]:
    """Numbers of the lines that are 18 of them, and notes on lines that are something else."""
    good: list[list[float]] = []
    rows: list[int] = []
    odd: list[int] = []
    for row, line in records:
        parts = line.split()
        try:
            numbers = [float(x) for x in parts]
        except ValueError:
            numbers = []
        if len(numbers) == len(RAW) and all(abs(x) < LARGEST for x in numbers):  # no nan, no inf
            good.append(numbers)
            rows.append(row)
        else:
            odd.append(row)
    notes = [*records.notes]
    notes += [note_rows("line is not 18 numbers", odd, dropped=True)] if odd else []
    values = np.array(good, dtype=float).reshape(-1, len(RAW))
    frame = pl.DataFrame(values, schema=NUMBERS, orient="row")
    return frame.with_columns(pl.Series(ROW, rows, dtype=pl.UInt32)), notes


def _whole(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows whose counts and numbers of things are whole; a note on each field that is not."""
    notes = []
    for name in (*WHOLE, *NAMES, "status"):
        bad = pl.col(name) != pl.col(name).floor()
        if gone := frame.filter(bad)[ROW].to_list():
            notes.append(note_rows(f"{name} is not a whole number", gone, dropped=True))
            frame = frame.filter(~bad)
    return frame, notes


def _without_pieces(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Jobs alone: the lines of a job's pieces follow its own line, and would run again."""
    piece = pl.col("status").is_in([float(p) for p in PIECES])
    jobs = frame.filter(~piece)["job_id"]
    again = piece & pl.col("job_id").is_in(jobs.implode())
    kept, notes = rows_where(frame, ~again, "a piece of a job whose own line is there")
    if alone := kept.filter(piece)[ROW].to_list():
        notes.append(note_rows("a piece of a job that has no line of its own counts as one", alone))
    return kept, notes


def _waits(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """A start before the submission says nothing of the job, which ran: its wait is not known."""
    early = frame.filter(pl.col("wait_s") < 0)[ROW].to_list()
    if not early:
        return frame, []
    waits = pl.when(pl.col("wait_s") < 0).then(None).otherwise(pl.col("wait_s"))
    note = note_rows("wait_s is negative: taken as not known", early)
    return frame.with_columns(waits.alias("wait_s")), [note]


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Types, states, absolute start and end; memory from KB a processor to bytes."""
    start = pl.col("submit_s") + pl.col("wait_s")
    state = pl.col("status").cast(pl.Int64).replace_strict(STATES, default=None)
    return frame.with_columns(
        *(pl.col(c).cast(pl.Int64) for c in WHOLE),
        *(pl.col(c).cast(pl.Int64).cast(pl.String) for c in NAMES),
        start_s=start,
        end_s=start + pl.col("runtime_s"),
        state=state,
        censored=~state.is_in(["COMPLETED", "PARTIAL_COMPLETED"]),
        memory_b=pl.col("asked_kb") * 1024 * pl.col("cores"),
        memory_used_b=pl.col("used_kb") * 1024 * pl.col("cores_alloc"),
    ).drop("asked_kb", "used_kb", "status")


def _per_node(header: dict[str, str], given: int | None) -> tuple[int | None, str]:
    if given:
        return given, f"nodes = cores / {given}, rounded up, as asked"
    try:
        nodes, procs = (int(header[k].split()[0]) for k in ("MaxNodes", "MaxProcs"))
    except (KeyError, ValueError, IndexError):
        return None, "counts processors, not nodes: pass procs_per_node= for a nodes column"
    if nodes < 1 or procs % nodes:
        return None, f"MaxProcs {procs} is no multiple of MaxNodes {nodes}: no nodes column"
    return procs // nodes, f"nodes = cores / {procs // nodes} (MaxProcs / MaxNodes), rounded up"


def _fields(comments: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in comments:
        key, colon, value = line.lstrip("; ").partition(":")
        if colon and key.isalnum() and key != "Note":
            fields.setdefault(key, value.strip())
    return fields


def _numbered(values: pl.Series) -> pl.Series:
    """Text that is a number as that number, other text by its place among the distinct ones."""
    if values.dtype != pl.String:
        return values
    as_is = values.cast(pl.Int64, strict=False)
    return (
        values.rank("dense").cast(pl.Int64) if as_is.null_count() > values.null_count() else as_is
    )


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
