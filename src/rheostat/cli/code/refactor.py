"""``rheostat code refactor``: a program that takes less energy, by a language model."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p
from rheostat.cli.options.declared import option


@asks("code.refactor", p.varied, p.kept, m.models, m.asked_so, o.paged, file="source")
def refactor(
    program: p.ProgramFile,
    corrections: m.Corrections = 2,
    search: Annotated[bool, option("Also search without the model.")] = True,
    judge: Annotated[
        bool, option("Ask the model for its opinion of what is accepted; advice only.")
    ] = False,
    budget: p.Budget = 12,
) -> None:
    """Rewrite PROGRAM with a language model so that it takes less energy (LASSI-EE).

    With several --samples energy-reduction@k is given for each k, in both conventions for
    candidates that take more.
    """
