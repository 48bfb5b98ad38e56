"""`read`: one door for all formats; it guesses the format from what is in the file.

Readers of other packages join through the entry-point group ``rheostat.readers``: a `Reader`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.storage.file_kinds import describe_file, kind_in, remedy
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.batch_systems import BATCH_SYSTEMS
from rheostat.measurement.benchmark_reports import BENCHMARK_REPORTS
from rheostat.measurement.counters import read_likwid, read_papi, read_pcm, read_perf
from rheostat.measurement.job_logs.adastra import read_adastra
from rheostat.measurement.job_logs.energy_units import energy_doubt, possible_energy
from rheostat.measurement.job_logs.fdata import read_fdata
from rheostat.measurement.job_logs.job_store import is_store, read_store
from rheostat.measurement.job_logs.pm100 import NODE, read_pm100
from rheostat.measurement.job_logs.swf import read_swf
from rheostat.measurement.monitoring.power_samples import (
    is_power_samples,
    is_side_by_side,
    read_power_samples,
)
from rheostat.measurement.parquet import BROKEN, MAGIC, gather, scan
from rheostat.measurement.runs import read_runs
from rheostat.measurement.runs.delimited import DELIMITERS, head, headed
from rheostat.measurement.runs.records import first_record, is_records
from rheostat.measurement.runs.table_shapes import columns_by_blanks, untitled, without_rulers
from rheostat.measurement.serving.genai_perf import is_genai_perf, read_genai_perf
from rheostat.measurement.serving.inferencex import is_inferencex, read_inferencex
from rheostat.measurement.serving.mlenergy import is_mlenergy, read_mlenergy
from rheostat.measurement.serving.model_config.hugging_face import (
    is_model_config,
    read_model_config,
)
from rheostat.measurement.serving.requests import is_requests, read_requests
from rheostat.measurement.serving.runs import is_serving, read_serving
from rheostat.measurement.serving.traffic import is_traffic, read_traffic
from rheostat.measurement.serving.trtllm_bench import is_trtllm_bench, read_trtllm_bench
from rheostat.measurement.serving.vllm_bench import is_vllm_bench, read_vllm_bench
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json
from rheostat.measurement.slurm.sacct_lines import has_sacct_headings
from rheostat.measurement.training_runs import (
    read_graph_records,
    read_hlogencnn,
    read_justus,
    read_profet,
)
from rheostat.measurement.training_runs.hlogencnn import is_hlogencnn
from rheostat.measurement.training_runs.justus import is_justus
from rheostat.measurement.training_runs.own_names import read_training
from rheostat.measurement.training_runs.profet import is_profet


@dataclass(frozen=True)
class Head:
    """What a guess may look at: the first 64 KiB unpacked, and the columns if it is parquet."""

    path: Path
    start: bytes
    types: pl.Schema | None
    own: bool = False

    @property
    def lines(self) -> list[str]:
        """Non-empty lines of the start, at most 50."""
        return [x for x in self.start.decode("utf-8", "replace").splitlines() if x.strip()][:50]


@dataclass(frozen=True)
class Reader:
    """A format: whether a file looks like it, and how to read it."""

    name: str
    looks_like: Callable[[Head], bool]
    read: Callable[..., JobTable]
    about: str


def _swf(head: Head) -> bool:
    """By its name, its comments, or a line of 18 numbers: the first lines may be damaged."""
    if head.types is not None:
        return False
    numbered = any(re.match(r"\s*-?\d", line) for line in head.lines)
    if head.path.name.endswith((".swf", ".swf.gz")) and (numbered or not head.start):
        return True
    if head.start.lstrip()[:1] == b";":
        return not _semicolons_separate(head.lines)
    numbers = re.compile(r"\s*(-?\d+(\.\d+)?\s+){17}-?\d+(\.\d+)?\s*")
    return bool(head.lines) and bool(numbers.fullmatch(head.lines[0]))


def _semicolons_separate(lines: list[str]) -> bool:
    """Whether ``;`` is no comment but an index column without a name: rows have as many.

    >>> _semicolons_separate([";nodes;wall_s", "0;4;12"]), _semicolons_separate(["; Version: 2"])
    (True, False)
    """
    table = len(lines) > 1 and not lines[1].lstrip().startswith(";")
    return table and lines[0].count(";") == lines[1].count(";") > 0


def _sacct(head: Head) -> bool:
    return head.types is None and bool(head.lines) and has_sacct_headings(head.lines[0])


def _json(head: Head) -> bool:
    return head.types is None and head.start.lstrip()[:1] == b"{"


def _sacct_json(head: Head) -> bool:
    """JSON, if it is no document of our own and no row of plain values."""
    ours = re.search(rb'"(schema|format)": "rheostat', head.start[:1000])
    return _json(head) and ours is None and not _records(head)


def _graph_records(head: Head) -> bool:
    """JSON lines that begin with a configuration and the graph of its step."""
    return _json(head) and b'"cfg"' in head.start[:1000] and b'"nodes"' in head.start


def _pm100(head: Head) -> bool:
    return NODE in (head.types or {}) and "run_time" in (head.types or {})


def _adastra(head: Head) -> bool:
    """PM100's names, but a clock without a zone or limits that are instants."""
    if not _pm100(head) or head.types is None:
        return False
    if getattr(head.types.get("submit_time"), "time_zone", "") is None:
        return True
    limit = head.types.get("time_limit")
    if limit is None or not limit.is_numeric():
        return False
    some = pl.scan_parquet(head.path).select(pl.col("time_limit") > 1e9).head(100)
    first = gather(head.path, some)
    return int(first["time_limit"].sum()) > first.height / 2


def _begins(looks_like: Callable[[bytes], bool]) -> Callable[[Head], bool]:
    """Whether a file is no parquet and begins as a format does."""
    return lambda head: head.types is None and looks_like(head.start)


def _fdata(head: Head) -> bool:
    return {"jid", "nnumr", "avgpcon"} <= set(head.types or {})


def _inferencex(head: Head) -> bool:
    return is_inferencex(_names(head))


def _traffic(head: Head) -> bool:
    return is_traffic(_fields(head))


def _requests(head: Head) -> bool:
    return is_requests(_fields(head))


def _records(head: Head) -> bool:
    return _begins(is_records)(head)


def _papi(head: Head) -> bool:
    return _json(head) and b'"real_time_nsec"' in head.start


def _perf(head: Head) -> bool:
    """Its JSON lines, its text, or CSV whose cells are value, unit, event, time counted, share."""
    if head.types is not None:
        return False
    if b'"counter-value"' in head.start or b"Performance counter stats" in head.start:
        return True
    lines = [x for x in head.lines if not x.lstrip().startswith("#")]
    number = r"\s*(\d+\.\d+,)?(<not \w+>|\d+(\.\d+)?)"
    cells = re.compile(rf"{number},[^,]*,[\w/:.=-]*[A-Za-z][\w/:.=-]*,\d+,\d+([.,]\d+)?(,.*)?")
    return bool(lines) and bool(cells.fullmatch(lines[0]))


def _likwid(head: Head) -> bool:
    headings = (b"TABLE,Group", b"HWThread", b"likwid", b"LIKWID")
    return head.types is None and b"Metric" in head.start and any(m in head.start for m in headings)


def _pcm(head: Head) -> bool:
    if head.types is not None:
        return False
    cells = {c.strip() for line in head.lines[:2] for c in re.split("[,;]", line)}
    return {"Time", "EXEC"} <= cells and bool(cells & {"INST", "CFREQ", "Proc Energy (Joules)"})


def _names(head: Head) -> set[str]:
    first = head.lines[0] if head.types is None and head.lines else ""
    return {c.strip().strip('"') for c in first.split(",")}


def _fields(head: Head) -> set[str]:
    """Names of columns: of parquet, of CSV, or of the first JSON object."""
    return set(head.types or first_record(head.start) or ()) or _names(head)


def _cells(head: Head) -> set[str]:
    """Names of columns, whatever separates them."""
    first = head.lines[0].removeprefix("\ufeff") if head.types is None and head.lines else ""
    known = set(head.types or first_record(head.start) or ())
    return known or {c.strip().strip('"') for c in first.split(max(",;\t|", key=first.count))}


def _table(head: Head) -> bool:
    if head.types is not None or _records(head):
        return True
    lines, _ = untitled(headed(without_rulers(head.lines)), DELIMITERS)
    return any(c in line for line in lines[:1] for c in DELIMITERS) or bool(
        columns_by_blanks(lines)
    )


def _read_own(path: str | Path) -> JobTable:
    """A table that `JobTable.write_parquet` wrote; `DataError` where it is damaged.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    JobTable
        As it was written.

    Raises
    ------
    DataError
        The file is damaged.
    """
    scan(path)  # a cut or missing file is told apart here
    try:
        return JobTable.read_parquet(path)
    except (*BROKEN, KeyError, TypeError, ValueError) as error:
        raise DataError(str(path), [f"is damaged inside: {error!r}"[:300]]) from error


BUILT_IN = (
    Reader("rheostat", lambda h: h.own, _read_own, "a table that rheostat wrote"),
    Reader("store", lambda h: False, read_store, "a folder that rheostat site ingest fills"),
    Reader("adastra", _adastra, read_adastra, "Adastra MI250 jobs, parquet (Zenodo 14007065)"),
    Reader("pm100", _pm100, read_pm100, "PM100: Marconi100 jobs, parquet (Zenodo 10127767)"),
    Reader("fdata", _fdata, read_fdata, "F-DATA: Fugaku jobs, parquet (Zenodo 11467483)"),
    *(
        Reader(known.name, _begins(known.looks_like), known.read, known.about)
        for known in (*BATCH_SYSTEMS, *BENCHMARK_REPORTS)
    ),
    Reader("vllm-bench", _begins(is_vllm_bench), read_vllm_bench,
           "vllm bench serve --save-result, JSON"),
    Reader("genai-perf", _begins(is_genai_perf), read_genai_perf, "a run of GenAI-Perf, its CSV"),
    Reader("trtllm-bench", _begins(is_trtllm_bench), read_trtllm_bench,
           "a report of trtllm-bench, JSON"),
    Reader("model-config", _begins(is_model_config), read_model_config,
           "config.json of a language model: its cache and parameters"),
    Reader("papi", _papi, read_papi, "PAPI's high-level JSON: one file per rank"),
    Reader("perf", _perf, read_perf, "perf stat: CSV (-x,), JSON (-j) or text, also with -I"),
    Reader("likwid", _likwid, read_likwid, "likwid-perfctr, likwid-mpirun: tables or CSV (-O)"),
    Reader("pcm", _pcm, read_pcm, "Intel PCM, pcm -csv: intervals"),
    Reader("power-samples", _begins(is_power_samples), read_power_samples,
           "nvidia-smi --query-gpu=timestamp,power.draw or dmon, or a clock beside watts"),
    Reader("graph-records", _graph_records, read_graph_records,
           "training steps with their graphs, JSON lines"),
    Reader("traffic", _traffic, read_traffic,
           "requests to a language model without texts: Azure, Mooncake, or our names"),
    Reader("requests", _requests, read_requests,
           "requests to a language model with their texts: OpenAI-style JSON lines, CSV, parquet"),
    Reader("sacct-json", _sacct_json, read_sacct_json, "sacct --json, Slurm 22.05 to 24.11"),
    Reader("sacct", _sacct, read_sacct, "sacct --parsable2"),
    Reader("swf", _swf, read_swf, "Standard Workload Format 2.2"),
    Reader("mlenergy", lambda h: is_mlenergy(_names(h)), read_mlenergy, "ML.ENERGY tables, CSV"),
    Reader("inferencex", _inferencex, read_inferencex, "InferenceX tables, CSV"),
    Reader("serving", lambda h: is_serving(_cells(h)), read_serving,
           "LLM serving runs: CSV, parquet, JSON rows"),
    Reader("profet", lambda h: is_profet(_names(h)), read_profet, "PROFET: CNN training, CSV"),
    Reader("justus", lambda h: is_justus(_names(h)), read_justus, "Justus et al.: layers, CSV"),
    Reader("hlogencnn", lambda h: is_hlogencnn(_names(h)), read_hlogencnn,
           "ICICLE HLOGenCNN: CNN fits with graphs, CSV"),
    Reader("grafana", _begins(is_side_by_side), read_power_samples,
           "a clock beside watts of several nodes or series, as Grafana exports them"),
    Reader("training", lambda h: False, read_training,
           "training runs in names of others, as rheostat dnn takes them: CSV, parquet, JSON rows"),
    Reader("runs", _table, read_runs, "CSV, parquet or JSON rows of measured runs, columns mapped"),
)  # fmt: skip
STORE = "store"
INSTEAD = {
    "units": ": --unit says per what energy and power of LLM serving runs are (--format serving)",
    "columns": ": its columns are known; --column is for tables of runs (--format runs, serving)",
    "map": ": its columns are known; --map is for tables of runs (--format runs, serving)",
}
"""What an option is for, where a reader does not take it."""
WANTED = (
    "give a table, that is a line of column names and below it a row per job or run (CSV, TSV, "
    "JSON lines, parquet), or name the format (--format; docs/guide/measure.md has them)"
)
READERS: dict[str, Reader] = {r.name: r for r in BUILT_IN}


def readers() -> dict[str, Reader]:
    """All formats: the built-in ones, and those of installed packages."""
    installed = {e.name: e.load() for e in entry_points(group="rheostat.readers")}
    return installed | READERS


def guess_format(path: str | Path) -> str:
    """The name of the first reader whose format the file looks like; a `DataError` if none."""
    if is_store(path):
        return STORE
    path = ordinary_file(path)
    seen = _head(path)
    every = readers()
    likely = next((r.name for r in every.values() if r.looks_like(seen)), "")
    said = "" if seen.types is not None or kind_in(path) else remedy(seen.start)
    if said and likely in {"", *READERS}:  # a reader of an installed package may know better
        raise FileKindError(str(path), [f"expected a table, got {describe_file(path)}: {said}"])
    if likely:
        return likely
    raise FileKindError(str(path), [f"is {describe_file(path)}, in no known format: {WANTED}"])


def read(
    path: str | Path, format: str | None = None, *, options: Mapping[str, Any] | None = None
) -> JobTable:
    r"""Read a job log or a table of runs into SI units.

    Parameters
    ----------
    path : path
        The file.
    format : str, optional
        A name of `readers`; guessed from the content if not given.
    options : mapping, optional
        Of the reader: ``{"zone": "Europe/Paris"}`` for sacct, ``{"columns": {...}}`` or
        ``{"map": "map.toml"}`` for tables of runs, ``{"app": "bt"}`` for counters.

    Returns
    -------
    JobTable
        A row per job or run; its ``notes`` say what was left out or assumed.

    Raises
    ------
    DataError
        No reader knows the format, it takes no such option, or the file is damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "runs.csv"
    >>> _ = file.write_text("nodes,wall_min,power_kW\n1,60,0.5\n2,40,0.9\n")
    >>> read(file).frame["runtime_s"].to_list()
    [3600.0, 2400.0]
    """
    name = format or guess_format(path)
    every = readers()
    if name not in every:
        raise DataError("format", [f"expected one of {', '.join(every)}, got {name!r}"])
    if name != STORE:
        ordinary_file(path)
    try:
        jobs = every[name].read(path, **(options or {}))
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        option = str(error).split()[-1].strip("'")
        raise DataError(str(path), [f"is read as {name}, which takes no option {option!r}"
                                    + INSTEAD.get(option, "")]) from error  # fmt: skip
    return possible_energy(jobs.noted(*energy_doubt(jobs)))


def _head(path: Path) -> Head:
    start = head(path)
    if start[:4] != MAGIC:
        return Head(path, start, None)
    _, types = scan(path)
    try:
        own = "rheostat" in pl.read_parquet_metadata(path)
    except BROKEN as error:
        raise DataError(str(path), [f"is damaged inside: {error}"]) from error
    return Head(path, start, types, own)
