"""ICICLE's generated CNNs: fit times of networks on GPUs, with a graph of operations each.

Source: the data set ICICLE-AI/ResourceEstimation_HLOGenCNN (Apache-2.0).  Its columns are known in
part (batch, epochs, gpu_core_count, fit_time); every other one is kept under its own name, known
at submission unless its name says that it was measured.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.runs import read_runs
from rheostat.measurement.runs.delimited import head

BATCH = ("batch_size", "batch", "batchsize")
GRAPH = ("graph", "graph_file", "graph_path", "hlo", "hlo_file", "hlo_path", "hlo_graph")
MEASURED = re.compile(r"time|latency|util|power|energy|watt|loss|accura|used|peak|duration")
OWN = {
    "runtime_s": Column("runtime_s", "s", Moment.END, "the whole fit"),
    "graph": Column("graph", "", Moment.SUBMIT, "file with the graph of operations"),
}


def is_hlogencnn(columns: set[str]) -> bool:
    """Whether the columns are those that are known of the data set."""
    return columns >= {"fit_time", "epochs"} and bool(columns & set(BATCH))


def read_hlogencnn(path: str | Path, *, graphs: str = "") -> JobTable:
    """Fits of generated networks, one row each.

    Parameters
    ----------
    path : path
        CSV with ``fit_time`` in seconds, ``epochs`` and the batch size.
    graphs : str
        Name of a row's graph file beside the table where no column has it, with columns in
        braces: ``hlo/{model_name}.txt``.

    Returns
    -------
    JobTable
        ``runtime_s`` is the whole fit, ``graph`` the file of the graph where there is one.

    Raises
    ------
    DataError
        The file is no such table, or ``graphs`` names a column that it has not.
    """
    names = _names(path)
    if not is_hlogencnn(set(names)):
        problem = "no table of ICICLE's CNNs: expected fit_time, epochs and batch"
        raise DataError(str(path), [problem, f"present: {', '.join(names)}"])
    taken = {"runtime_s": "fit_time", "batch_size": next(b for b in BATCH if b in names)}
    if files := [g for g in GRAPH if g in names]:
        taken["graph"] = files[0]
    known = {n: "end" if MEASURED.search(n.lower()) else "submit" for n in names}
    jobs = read_runs(path, columns=taken, known=known)
    if graphs:
        jobs = jobs.with_columns([OWN["graph"]], graph=_named_by(jobs, graphs, path))
    jobs = jobs.with_columns([OWN[c] for c in OWN if c in jobs.columns])
    rest = [n for n in names if n not in taken.values()]
    return jobs.noted(Note(f"kept as features under their own names: {', '.join(rest)}"))


def _names(path: str | Path) -> list[str]:
    first = head(ordinary_file(path)).decode("utf-8", "replace").split("\n", 1)[0]
    return [c.strip().strip('"') for c in first.split(",")]


def _named_by(jobs: JobTable, pattern: str, path: str | Path) -> pl.Series:
    try:
        return pl.Series([pattern.format(**row) for row in jobs.frame.iter_rows(named=True)])
    except (KeyError, IndexError, ValueError) as error:
        problem = f"graphs: {pattern!r} names what is no column: {error}"
        raise DataError(str(path), [problem, f"present: {', '.join(jobs.columns)}"]) from error
