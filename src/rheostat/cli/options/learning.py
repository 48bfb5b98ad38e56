"""Options of models: saved ones, kinds, what they learn from and are tested on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST_SEED = 2**31 - 1
"""All libraries take seeds up to here."""

Saved = Annotated[Path | None, typer.Option("--model", help="A model saved by rheostat fit.")]

Kind = Annotated[
    str,
    typer.Option(
        help="auto, within (compares settings within applications), law, forest, "
        "boosting, xgboost, lightgbm, tabnet or attention."
    ),
]

Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of everything that draws.")]

Method = Annotated[
    str,
    typer.Option(
        help="auto, law, hypervolume, nehvi, parego, improvement, thompson, uncertain, "
        "nsga2, sobol or exhaustive."
    ),
]

Prior = Annotated[
    Path | None,
    typer.Option(help="Runs of other applications (column app) that teach the law method."),
]

TestFraction = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.99, help="Share of the newest jobs that is not learned from and tested on."
    ),
]

PowerModel = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="A saved model that predicts power, for jobs without measured watts and for planning "
        "under a cap.",
    ),
]
