"""What `llm.fit` and `llm.plan` are asked of: runs, a model's config, kernel tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_tables import read_kernels
from rheostat.measurement.serving.model_config import ModelConfig, model_config
from rheostat.prediction.accelerators import Accelerator, stated_accelerator
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.questions import inputs, listener
from rheostat.questions.llm.kernel_prior import kernel_prior
from rheostat.questions.llm.serving_model import of_known_size, only_app, with_config
from rheostat.recipes.energylens import PRECISION, known_gpus
from rheostat.recipes.nodecount import prepared

Files = inputs.Jobs | Sequence[Path | str]
Pairs = Sequence[str] | Mapping[str, str]
Sheets = Sequence[str] | Mapping[str, Accelerator]
Medians = Mapping[str, Mapping[str, float]]

if TYPE_CHECKING:
    from rheostat.core.outcome import Array
    from rheostat.simulation.serving.serve import Served


def parse_sheets(gpus: Sheets) -> dict[str, Accelerator]:
    """Types of GPU by their data sheets, as ``NAME=TB/s,TFLOPs,W,GB``."""
    return dict(gpus) if isinstance(gpus, Mapping) else dict(map(stated_accelerator, gpus))


def load_runs(
    runs: Files, form: str, mapped: Path | None, columns: Pairs, units: Pairs
) -> JobTable:
    """One table of serving runs; a table that no other reader knows is read as one of them."""
    if isinstance(runs, JobTable):
        jobs = prepared(runs)
    else:
        jobs = inputs.load(
            inputs.paths(runs), form, mapped, columns, units=units, otherwise="serving"
        )
    known, notes = known_gpus(jobs)
    listener.notes(notes)
    refuse_unstated(known, "app", "gpu_model", "gpus", "batch_cap")
    return known


ADVICE = {"app": "app==MODEL", "gpu_model": "gpu_model==H100", "gpus": "gpus==1",
          "batch_cap": "batch_cap==64", "itl_s": "tokens_per_s=THEIRS",
          "energy_per_token_j": "power_w==WATTS",
          "params": "params==8e9 (or its --model-config)"}  # fmt: skip
"""What states a column that runs lack: a value of all rows, or what it follows from."""


def refuse_unstated(runs: JobTable, *needed: str) -> None:
    """A `DataError` on all of these columns that the runs lack, with what to type."""
    missing = [n for n in needed if n not in runs.columns]
    if missing:
        has = ", ".join(runs.columns)
        raise DataError("serving runs", [
            f"{n} is not stated: --column {n}=THEIRS or --column {ADVICE[n]}" for n in missing
        ] + [f"they have {has}"])  # fmt: skip


def configured(
    jobs: JobTable, app: str, path: Path | str | None
) -> tuple[JobTable, ModelConfig | None]:
    """The runs with what the config says of ``app`` (or of their only model), and the config.

    Runs of a model whose parameters are not known are left out and noted.
    """
    model = None if path is None else model_config(Path(path))
    made = jobs if model is None else with_config(jobs, app or only_app(jobs), model)
    made = of_known_size(made, app)
    listener.notes(made.notes[len(jobs.notes) :])
    made, notes = knobs_filled(made) if "params" in made.columns else (made, ())
    listener.notes(notes)
    return made, model


UNSAID = {"pp": "pp", "ep": "ep", "dp": "dp", "tp": "split", "power_cap_w": "cap_w"}
"""Knobs that some rows state and others do not, and what the law takes them to be there."""


def knobs_filled(runs: JobTable) -> tuple[JobTable, tuple[Note, ...]]:
    """Knobs that some runs state with what the law takes where others do not, and what those are.

    >>> from rheostat import table
    >>> runs = table({"app": ["m"] * 2, "params": [8e9] * 2, "gpu_model": ["H100"] * 2,
    ...               "gpus": [4, 4], "tp": [2, None], "batch_cap": [8, 8]})
    >>> made, notes = knobs_filled(runs)
    >>> made.numpy("tp").tolist(), notes[0].message
    ([2.0, 4.0], 'tp is not stated in some rows, and taken as GPUs / (pp x dp)')
    """
    words = {"tp": "GPUs / (pp x dp)", "power_cap_w": "the rated power", PRECISION: "bf16"}
    frame, notes = runs.frame, []
    for name in (*UNSAID, PRECISION):
        if name not in frame.columns or not 0 < frame[name].null_count() < len(frame):
            continue
        taken = pl.lit("bf16")
        if name != PRECISION:
            taken = pl.lit(pl.Series(getattr(Configurations.of(runs), UNSAID[name])))
        notes.append(Note(f"{name} is not stated in some rows, and taken as {words.get(name, 1)}",
                          count=frame[name].null_count()))  # fmt: skip
        frame = frame.with_columns(pl.coalesce(pl.col(name), taken).alias(name))
    return JobTable(frame, runs.schema, runs.notes), tuple(notes)


def kernel_medians(directory: Path | str | None) -> dict[str, dict[str, float]] | None:
    """Prior medians from kernel tables, where a directory of them is given."""
    if directory is None:
        return None
    with listener.working(f"reading {directory}"):
        tables = read_kernels(Path(directory))
        made = kernel_prior(tables.rates)
    for rates in tables.rates:
        numbers = made.get(rates.device)
        listener.line(f"{rates.device}: {', '.join(rates.sources)}" if numbers is not None else
                      f"{rates.device}: not a GPU type that the law knows")  # fmt: skip
        if numbers:
            listener.line("  " + ", ".join(f"{k} {v:.3g}" for k, v in numbers.items()))
    for note in tables.notes:
        listener.line(note)
    return made


def moments(served: Served | JobTable) -> tuple[Array, Array, Array]:
    """Moments of submission, of the first token (the last, where it is not known) and the last."""
    requests = served if isinstance(served, JobTable) else served.requests
    first = "start_s" if "start_s" in requests.columns else "end_s"
    return requests.numpy("submit_s"), requests.numpy(first), requests.numpy("end_s")
