"""``rheostat doctor``: what this machine has, and what is missing and how to get it."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option

COMPILED = "rheostat.questions.scheduling.compile_ahead:compiled"


@asks("doctor", o.shown, instead={"compile_": COMPILED})
def doctor(
    compile_: Annotated[
        bool,
        option(
            "Compile the simulator now, so that its first use need not; a minute of CPU time.",
            "--compile",
        ),
    ] = False,
) -> None:
    """Say which versions, extras, meters and folders this machine has, and why not."""
