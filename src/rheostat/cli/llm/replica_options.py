"""Options of ``llm simulate`` that say how many servers there are and what each keeps."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli.options.declared import option
from rheostat.errors import DataError

NO_FREQUENCY = (
    "the serving law has no term of frequency: measure steps and watts at that clock (llm "
    "calibrate) and give them as --step and --power, or take --power-cap"
)


def _no_frequency(frequency: str) -> str:
    """Refuses what people ask for and the law does not have."""
    if frequency:
        raise DataError("--frequency", [NO_FREQUENCY])
    return frequency


Frequency = Annotated[str, typer.Option(hidden=True, callback=_no_frequency)]
Replicas = Annotated[int, option("Servers of this kind.", min=1, max=10_000)]
Routing = Annotated[str, option("Who is sent where: round-robin, least-work or prefix.")]
PrefixCache = Annotated[
    int, option("Tokens of earlier prompts that each server keeps.", min=0, max=10**12)
]
HitRate = Annotated[
    float,
    option(
        "Share of every prompt that a prefix cache holds, for traces that say nothing of it.",
        min=0.0,
        max=1.0,
    ),
]
PrefillReplicas = Annotated[
    int, option("Servers that only prefill; the others then only decode.", min=0, max=10_000)
]
Transfer = Annotated[float, option("Seconds per token to move a cache to another server.", min=0.0)]
