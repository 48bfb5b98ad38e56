"""Options of ``llm fit`` and ``plan``: tables of runs, a model's config, kernel tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

Runs = Annotated[
    list[Path],
    argument(
        "Measured configurations: ML.ENERGY tables, or runs with gpu_model, gpus, batch_cap, "
        "app, params, itl_s and energy_per_token_j (--column, --map).",
        "RUNS...",
    ),
]
Kernels = Annotated[
    Path | None, option("Kernel tables (a directory of AIConfigurator's) as prior of their GPUs.")
]
Config = Annotated[
    Path | None,
    option(
        "The model's config.json (Hugging Face): parameters, precision, bytes of its cache.",
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
