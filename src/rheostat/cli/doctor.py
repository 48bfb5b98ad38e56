"""``rheostat doctor``: what this machine has, and what is missing and how to get it."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli.options import Json


def doctor(
    compile_: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile the simulator now, so that its first use need not; a minute of CPU time.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Say which versions, extras, meters and folders this machine has, and why not."""
    from rheostat.cli.output import printed

    with printed(json=json) as put:
        if compile_:
            from rheostat.questions.scheduling.compile_ahead import compiled

            put(compiled())
            return
        from rheostat.questions.doctor import doctor as ask

        put(ask())
