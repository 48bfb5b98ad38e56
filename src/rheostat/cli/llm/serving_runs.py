"""Options of ``llm fit`` and ``plan``: tables of runs, a model's config, kernel tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

Runs = Annotated[
    list[Path],
    argument(
        "Measured configurations, one or more files: an ML.ENERGY table, or any table of "
        "runs with gpu_model, gpus, batch_cap, app, params, itl_s and energy_per_token_j "
        "(--column, --map).",
        "RUNS...",
    ),
]
Kernels = Annotated[
    Path | None, option("Kernel tables (a directory of AIConfigurator's) as prior of their GPUs.")
]
Config = Annotated[
    Path | None,
    option(
        "The config.json beside the model's weights (Hugging Face): parameters, "
        "precision and the bytes of its cache.",
        "--model-config",
    ),
]
Gpus = Annotated[
    list[str] | None,
    option(
        "A type of GPU by its data sheet, as 'NAME=TB/s,TFLOPs,W,GB' (16 bits, dense) "
        "and, as a fifth number, GB/s of its link. Repeatable.",
        "--gpu",
    ),
]
