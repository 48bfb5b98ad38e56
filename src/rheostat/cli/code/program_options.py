"""Options that describe a program, how its variants are verified, and what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values
from rheostat.cli.options.declared import argument, option, written

ProgramFile = Annotated[
    Path,
    argument("A program that is right: a source file (C), or a manifest (TOML, JSON).", "PROGRAM"),
]
Folder = Annotated[
    Path | None,
    option(
        "Keep journal, texts and evidence in this folder, and continue what is there.",
        writable=True,
    ),
]
Inputs = Annotated[
    list[str] | None,
    option(
        "One argument of the program and what it is drawn from, in order: n=64..512, "
        "seed=1..999999. Repeatable.",
        "--input",
        metavar="NAME=RANGE",
    ),
]
Rungs = Annotated[str, option("Only these, as parse,compile,output.  [default: all]")]
Required = Annotated[
    str, option("Rungs that must have run for a variant to count, or all.", "--require")
]
HiddenSeed = Annotated[
    int | None,
    option("Seed of the hidden inputs.  [default: a secret one, kept]", min=0, max=o.MOST_SEED),
]
Output = Annotated[Path | None, written("Write the best variant here.", "-o", "--output")]
Patch = Annotated[Path | None, written("Write its difference to PROGRAM here.")]
Changed = Annotated[
    str, option("Which source of a manifest is rewritten.  [default: first]", "--source")
]
Sarif = Annotated[
    Path | None,
    written(
        "Also write findings of the best variant as SARIF here; of all variants where "
        "none is accepted."
    ),
]
Junit = Annotated[Path | None, written("The same, rungs as JUnit.")]


def kept(output: Path | None, patch: Path | None, sarif: Path | None, junit: Path | None) -> Values:
    """Files that are written where the search is done."""
    from rheostat.questions.code import Wanted

    return {"wanted": Wanted(output, patch, sarif, junit)}
