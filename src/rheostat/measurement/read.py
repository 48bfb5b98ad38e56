"""`read`: one door for all formats; it guesses the format from what is in the file.

Readers of other packages join through the entry-point group ``rheostat.readers``: a `Reader`.
"""

from __future__ import annotations

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
from rheostat.measurement.format_marks import (
    Head,
    adastra_mark,
    begins,
    cells,
    fdata_mark,
    graph_records_mark,
    inferencex_mark,
    likwid_mark,
    names_in,
    papi_mark,
    pcm_mark,
    perf_mark,
    pm100_mark,
    requests_mark,
    sacct_json_mark,
    sacct_mark,
    swf_mark,
    table_mark,
    traffic_mark,
)
from rheostat.measurement.job_logs.adastra import read_adastra
from rheostat.measurement.job_logs.energy_units import energy_doubt, possible_energy
from rheostat.measurement.job_logs.fdata import read_fdata
from rheostat.measurement.job_logs.job_store import is_store, read_store
from rheostat.measurement.job_logs.pm100 import read_pm100
from rheostat.measurement.job_logs.swf import read_swf
from rheostat.measurement.monitoring.power_samples import (
    is_power_samples,
    is_side_by_side,
    read_power_samples,
)
from rheostat.measurement.parquet import BROKEN, MAGIC, scan
from rheostat.measurement.runs import read_runs
from rheostat.measurement.runs.delimited import head
from rheostat.measurement.runs.listings import listing_said
from rheostat.measurement.runs.mapping import states_alone, with_values
from rheostat.measurement.runs.profiles import profile_said
from rheostat.measurement.serving.genai_perf import is_genai_perf, read_genai_perf
from rheostat.measurement.serving.inferencex import read_inferencex
from rheostat.measurement.serving.mlenergy import is_mlenergy, read_mlenergy
from rheostat.measurement.serving.model_config.hugging_face import (
    is_model_config,
    read_model_config,
)
from rheostat.measurement.serving.requests import read_requests
from rheostat.measurement.serving.runs import is_serving, read_serving
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.measurement.serving.trtllm_bench import is_trtllm_bench, read_trtllm_bench
from rheostat.measurement.serving.vllm_bench import is_vllm_bench, read_vllm_bench
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json
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
class Reader:
    """A format: whether a file looks like it, and how to read it."""

    name: str
    looks_like: Callable[[Head], bool]
    read: Callable[..., JobTable]
    about: str


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
    Reader("adastra", adastra_mark, read_adastra, "Adastra MI250 jobs, parquet (Zenodo 14007065)"),
    Reader("pm100", pm100_mark, read_pm100, "PM100: Marconi100 jobs, parquet (Zenodo 10127767)"),
    Reader("fdata", fdata_mark, read_fdata, "F-DATA: Fugaku jobs, parquet (Zenodo 11467483)"),
    *(
        Reader(known.name, begins(known.looks_like), known.read, known.about)
        for known in (*BATCH_SYSTEMS, *BENCHMARK_REPORTS)
    ),
    Reader("vllm-bench", begins(is_vllm_bench), read_vllm_bench,
           "vllm bench serve --save-result, JSON"),
    Reader("genai-perf", begins(is_genai_perf), read_genai_perf, "a run of GenAI-Perf, its CSV"),
    Reader("trtllm-bench", begins(is_trtllm_bench), read_trtllm_bench,
           "a report of trtllm-bench, JSON"),
    Reader("model-config", begins(is_model_config), read_model_config,
           "config.json of a language model: its cache and parameters"),
    Reader("papi", papi_mark, read_papi, "PAPI's high-level JSON: one file per rank"),
    Reader("perf", perf_mark, read_perf, "perf stat: CSV (-x,), JSON (-j) or text, also with -I"),
    Reader("likwid", likwid_mark, read_likwid, "likwid-perfctr, likwid-mpirun: tables or CSV (-O)"),
    Reader("pcm", pcm_mark, read_pcm, "Intel PCM, pcm -csv: intervals"),
    Reader("power-samples", begins(is_power_samples), read_power_samples,
           "nvidia-smi --query-gpu=timestamp,power.draw or dmon, or a clock beside watts or a "
           "counter of energy"),
    Reader("graph-records", graph_records_mark, read_graph_records,
           "training steps with their graphs, JSON lines"),
    Reader("traffic", traffic_mark, read_traffic,
           "requests to a language model without texts: Azure, Mooncake, or our names"),
    Reader("requests", requests_mark, read_requests,
           "requests to a language model with their texts: OpenAI-style JSON lines, CSV, parquet"),
    Reader("sacct-json", sacct_json_mark, read_sacct_json, "sacct --json, Slurm 22.05 to 24.11"),
    Reader("sacct", sacct_mark, read_sacct, "sacct --parsable2"),
    Reader("swf", swf_mark, read_swf, "Standard Workload Format 2.2"),
    Reader("mlenergy", lambda h: is_mlenergy(names_in(h)), read_mlenergy, "ML.ENERGY tables, CSV"),
    Reader("inferencex", inferencex_mark, read_inferencex, "InferenceX tables, CSV"),
    Reader("serving", lambda h: is_serving(cells(h)), read_serving,
           "LLM serving runs: CSV, parquet, JSON rows"),
    Reader("profet", lambda h: is_profet(names_in(h)), read_profet, "PROFET: CNN training, CSV"),
    Reader("justus", lambda h: is_justus(names_in(h)), read_justus, "Justus et al.: layers, CSV"),
    Reader("hlogencnn", lambda h: is_hlogencnn(names_in(h)), read_hlogencnn,
           "ICICLE HLOGenCNN: CNN fits with graphs, CSV"),
    Reader("grafana", begins(is_side_by_side), read_power_samples,
           "a clock beside watts of several nodes or series, as Grafana exports them"),
    Reader("training", lambda h: False, read_training,
           "training runs in names of others, as rheostat dnn takes them: CSV, parquet, JSON rows"),
    Reader("runs", table_mark, read_runs,
           "CSV, parquet or JSON rows of measured runs, columns mapped"),
)  # fmt: skip
STORE = "store"
INSTEAD = {
    "units": ": --unit says per what energy and power of LLM serving runs are (--format serving)",
    "columns": ": its columns are known; --column NAME==VALUE alone adds one, the others are for "
    "tables of runs (--format runs, serving)",
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
    named = likely in ("", "runs") and (
        profile_said(seen.text_lines, whole=seen.whole) or listing_said(seen.text_lines)
    )
    if named:
        raise FileKindError(str(path), [named])
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
        if option == "columns" and states_alone(stated := (options or {})["columns"]):
            rest = {k: v for k, v in (options or {}).items() if k != "columns"}
            return with_values(read(path, name, options=rest), stated)
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
