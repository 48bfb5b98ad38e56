"""``rheostat code translate``: a program in another programming model, by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p
from rheostat.cli.options.declared import option


@asks("code.translate", p.varied, p.kept, m.models, m.asked_so, o.paged, file="source")
def translate(
    program: p.ProgramFile,
    to: Annotated[str, option("openmp, target or serial.")],
    corrections: m.Corrections = 4,
    search: Annotated[
        bool, option("Also search without the model, where it can (serial to openmp).")
    ] = True,
    reference: Annotated[
        Path | None,
        option(
            "The original in the target language: built and run before the model is asked, "
            "then compared with (Sim-T, Sim-L, Ratio)."
        ),
    ] = None,
    budget: p.Budget = 12,
) -> None:
    """Translate PROGRAM with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of rheostat code verify that can run here accepts it.
    """
