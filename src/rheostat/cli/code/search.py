"""``rheostat code search``: variants of a program, each verified before it counts."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p
from rheostat.cli.options.declared import option


@asks("code.search", p.varied, p.kept, m.models, o.paged, joules="most_joules", file="source")
def search(
    program: p.ProgramFile,
    to: Annotated[str, option("openmp; from CUDA also serial; empty: the same language.")] = "",
    objective: Annotated[str, option("runtime_s or energy_j.")] = "",
    budget: p.Budget = 8,
    most_seconds: Annotated[
        float, option("Begin no variant later; 0: no limit.", "--seconds", min=0.0)
    ] = 0.0,
    joules: Annotated[
        float,
        option("Begin no variant after so many joules of the search, modelled; 0: any.", min=0.0),
    ] = 0.0,
    pairs: Annotated[int, option("Pairs of timed runs.", min=1, max=10_000)] = 7,
) -> None:
    """Search variants of PROGRAM without a model: OpenMP pragmas, flags and loops, CUDA by rule.

    A variant counts only if every rung of rheostat code verify that can run here accepts it.  With
    --model a language model is asked where half of the budget brought nothing that is accepted,
    with --larger a larger one after it.  Exit code 3: none
    is accepted, or none gains on PROGRAM by more than the noise; PROGRAM stays.
    """
