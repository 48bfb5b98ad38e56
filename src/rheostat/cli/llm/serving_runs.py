"""What ``llm fit`` and ``plan`` are given: tables of runs, a model's config, kernel tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.measurement.serving.model_config import ModelConfig

Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Measured configurations, one or more files: an ML.ENERGY table, or any table of runs "
        "with gpu_model, gpus, batch_cap, app, params, itl_s and energy_per_token_j (--column, "
        "--map).",
        metavar="RUNS...",
    ),
]
Kernels = Annotated[
    Path | None,
    typer.Option(help="Kernel tables (a directory of AIConfigurator's) as prior of their GPUs."),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--model-config",
        help="The config.json beside the model's weights (Hugging Face): parameters, precision and "
        "the bytes of its cache.",
    ),
]

Gpus = Annotated[
    list[str] | None,
    typer.Option(
        "--gpu",
        help="A type of GPU by its data sheet, as 'NAME=TB/s,TFLOPs,W,GB' (16 bits, dense) and, as "
        "a fifth number, GB/s of its link. Repeatable.",
    ),
]


def know_gpus(context: typer.Context, stated: list[str] | None) -> None:
    """Types of GPU that the user states are known to the end of the command."""
    from rheostat.prediction.accelerators import stated_accelerator, stating

    context.with_resource(stating(dict(map(stated_accelerator, stated or ()))))


def load_runs(
    files: list[Path], form: str, mapped: Path | None, columns: list[str] | None,
    unit: list[str] | None,
) -> JobTable:  # fmt: skip
    """One table of serving runs; a table that no other reader knows is read as one of them."""
    from rheostat.cli.output import tell_notes
    from rheostat.questions import inputs
    from rheostat.recipes.energylens import known_gpus

    jobs = inputs.load(files, form, mapped, columns, units=unit, otherwise="serving")
    known, notes = known_gpus(jobs)
    tell_notes(notes)
    return known


def configured(jobs: JobTable, app: str, path: Path | None) -> tuple[JobTable, ModelConfig | None]:
    """The runs with what the config says of ``app`` (or of their only model), and the config."""
    from rheostat.cli.output import tell_notes
    from rheostat.measurement.serving.model_config import model_config
    from rheostat.questions.llm.serving_model import only_app, with_config

    if path is None:
        return jobs, None
    model = model_config(path)
    made = with_config(jobs, app or only_app(jobs), model)
    tell_notes(made.notes[len(jobs.notes) :])
    return made, model


def kernel_medians(directory: Path | None) -> dict[str, dict[str, float]] | None:
    """Prior medians from kernel tables, where a directory of them is given."""
    from rheostat.cli.output import tell, working
    from rheostat.measurement.serving.kernel_tables import read_kernels
    from rheostat.questions.llm.kernel_prior import kernel_prior

    if directory is None:
        return None
    with working(f"reading {directory}"):
        tables = read_kernels(directory)
        made = kernel_prior(tables.rates)
    for rates in tables.rates:
        numbers = made.get(rates.device)
        tell(f"{rates.device}: {', '.join(rates.sources)}" if numbers is not None else
             f"{rates.device}: not a GPU type that the law knows")  # fmt: skip
        if numbers:
            tell("  " + ", ".join(f"{k} {v:.3g}" for k, v in numbers.items()))
    for note in tables.notes:
        tell(note)
    return made
