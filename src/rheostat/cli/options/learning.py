"""Options of models: saved ones, kinds, what they learn from and are tested on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import option

MOST_SEED = 2**31 - 1
"""All libraries take seeds up to here."""

Saved = Annotated[Path | None, option("A model saved by rheostat fit.", "--model")]

Kind = Annotated[
    str,
    option(
        "auto, within (compares settings within applications), law, forest, boosting, "
        "xgboost, lightgbm, tabnet or attention."
    ),
]

Seed = Annotated[int, option("Seed of everything that draws.", min=0, max=MOST_SEED)]

Method = Annotated[
    str,
    option(
        "auto, law, hypervolume, nehvi, parego, improvement, thompson, uncertain, nsga2, "
        "sobol or exhaustive."
    ),
]

Prior = Annotated[
    Path | None, option("Runs of other applications (column app) that teach the law method.")
]

TestFraction = Annotated[
    float,
    option("Share of the newest jobs that is not learned from and tested on.", min=0.0, max=0.99),
]

PowerModel = Annotated[
    Path | None,
    option(
        "A saved model that predicts power, for jobs without measured watts and for "
        "planning under a cap.",
        metavar="MODEL",
    ),
]
