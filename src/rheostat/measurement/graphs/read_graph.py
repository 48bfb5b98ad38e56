"""One door for graphs of operations: a file of HLO, ONNX or records, or a function in a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rheostat.core.graph import Graph
from rheostat.core.jobs import JobTable
from rheostat.core.storage.archive import read_archive
from rheostat.core.storage.file_kinds import describe_file, kind_in
from rheostat.core.storage.files import ordinary_file, parse_json
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.graphs.from_function import from_function
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.graphs.recorded import recorded_graph
from rheostat.measurement.graphs.xla_programs import SERIALIZED, hlo_text_of
from rheostat.measurement.lines import beginning, raw_lines, whole

START_B = 4096
MOST_HLO_B = 64 * 2**20
"""Bytes of HLO text, whose instructions take ten times that in memory."""


def read_graph(
    source: str | Path, *, optimised: bool = True, sizes: Mapping[str, int] | None = None
) -> Graph:
    """A graph of operations.

    Parameters
    ----------
    source : str or path
        A file: HLO text (plain or gzip), StableHLO text, a serialized module of XLA (``.pb``),
        ONNX, a ``torch.export`` program (``.pt2``), or ``records.jsonl#7`` for line 7, from 0, of
        records with graphs, or what ``rheostat dnn import --out`` wrote.
    optimised : bool
        Of a record, the compiled graph rather than the one before.
    sizes : mapping, optional
        Sizes that a model of ONNX or ``torch.export`` leaves open, as ``{"N": 32}``.

    Returns
    -------
    Graph
        With `rheostat.core.graph.OP_COLUMNS`.

    Raises
    ------
    DataError
        No such file, none of these formats, or damaged.
    """
    path, _, row = str(source).rpartition("#")
    if path and row.isdigit() and not Path(source).exists():
        return _record(Path(path), int(row), optimised=optimised)
    file = ordinary_file(source)
    if file.suffix == ".onnx":
        from rheostat.measurement.graphs.from_onnx import read_onnx

        return read_onnx(file, sizes=sizes)
    if file.suffix == ".pt2":
        from rheostat.measurement.graphs.from_torch import read_exported

        return read_exported(file, sizes)
    if sizes:
        problem = "expected a model of ONNX or torch.export, which may leave sizes open"
        raise DataError(str(file), [problem])
    if file.suffix in SERIALIZED:
        return _of_xla(file, stable=False)
    if kind_in(file) == "graph":
        return Graph.from_archive(read_archive(file))
    return _of_text(file)


def _of_text(file: Path) -> Graph:
    start = beginning(file, START_B)
    if b"HloModule" not in start:  # before a packed file of anything else is unpacked
        if b"stablehlo." in start:
            return _of_xla(file, stable=True)
        kinds = "HLO text, ONNX (.onnx), a torch.export program (.pt2), records.jsonl#0 or a graph"
        raise FileKindError(str(file), [f"expected {kinds}, got {describe_file(file)}"])
    text = whole(file, MOST_HLO_B)
    try:
        return from_hlo(text.decode("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        problem = f"line {line}: expected UTF-8, got byte {text[error.start]:#04x}"
        raise DataError(str(file), [problem, "the text is damaged: write it anew"]) from error


def _of_xla(file: Path, *, stable: bool) -> Graph:
    return from_hlo(hlo_text_of(whole(file, MOST_HLO_B), file, stable=stable), str(file))


def open_graph(source: str, sizes: Mapping[str, int] | None = None) -> Graph:
    """A graph from a file, or from ``module:function`` where no such file is there.

    Parameters
    ----------
    source : str
        As for `read_graph` or `from_function`.
    sizes : mapping, optional
        As for `read_graph`.

    Returns
    -------
    Graph
        With `rheostat.core.graph.OP_COLUMNS`.

    Raises
    ------
    DataError
        It is neither.
    """
    named = re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", source)
    if named and not Path(source).exists():
        return from_function(source)
    return read_graph(source, sizes=sizes)


def graphs_of(
    jobs: JobTable, folder: str | Path = ".", *, optimised: bool = True
) -> dict[str, Graph]:
    """The graphs that a table's column ``graph`` names, each read once.

    Parameters
    ----------
    jobs : JobTable
        With a column ``graph``.
    folder : path
        Where the names start, usually the table's own folder.
    optimised : bool
        Of records, the compiled graphs rather than those before.

    Returns
    -------
    dict
        Graph by the name in the table.

    Raises
    ------
    DataError
        The column or a file is missing or damaged.
    """
    jobs.require("graph")
    names = jobs.frame["graph"].drop_nulls().unique(maintain_order=True).to_list()
    rows: dict[str, dict[int, str]] = {}
    graphs: dict[str, Graph] = {}
    for name in names:
        path, _, row = name.rpartition("#")
        if path and row.isdigit():
            rows.setdefault(path, {})[int(row)] = name
        else:
            graphs[name] = read_graph(Path(folder) / name)
    for path, wanted in rows.items():
        for row, record in _records(Path(folder) / path, wanted):
            graphs[wanted[row]] = recorded_graph(record, wanted[row], optimised=optimised)
    return {name: graphs[name] for name in names}


def _record(path: Path, row: int, *, optimised: bool) -> Graph:
    for _, record in _records(path, [row]):
        return recorded_graph(record, f"{path}#{row}", optimised=optimised)
    raise DataError(str(path), [f"expected a record in row {row}, got the end of the file"])


def _records(path: Path, rows: Iterable[int]) -> Iterable[tuple[int, Any]]:
    wanted = set(rows)
    for number, line in enumerate(raw_lines(ordinary_file(path))):
        if number in wanted:
            try:
                yield number, parse_json(line)
            except ValueError as error:
                raise DataError(f"{path}#{number}", [f"is no JSON: {error}"[:200]]) from error
