"""``rheostat predict``: what jobs will cost as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("predict", o.table, o.shown)
def predict(
    file: o.File,
    model: Annotated[Path, option("A model saved by rheostat fit.")],
) -> None:
    """Forecast every job of FILE at the setting it asked for, with 90 % intervals.

    A job without similar past runs has an empty forecast.
    """
