"""``rheostat predict``: what jobs will cost as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def predict(
    file: o.File,
    model: Annotated[Path, typer.Option(help="A model saved by rheostat fit.")],
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Forecast every job of FILE at the setting it asked for, with 90 % intervals.

    A job without similar past runs has an empty forecast.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.models.predict import predict as ask

    with printed(json=json) as put:
        put(ask(file, model, format=form, columns=mapped))
