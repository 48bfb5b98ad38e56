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
Budget = Annotated[int, option("Variants that are run.", min=1, max=100_000)]
Unsafe = Annotated[
    bool, option("Run code without a sandbox, if you trust it.", "--unsafe-no-sandbox")
]


def varied(
    inputs: Annotated[
        list[str] | None,
        option(
            "One argument of the program and what it is drawn from, in order: n=64..512, "
            "seed=1..999999. Repeatable.",
            "--input",
            metavar="NAME=RANGE",
        ),
    ] = None,
    file: Annotated[
        str, option("Which source of a manifest is rewritten.  [default: first]", "--source")
    ] = "",
    threads: Annotated[int, option("Threads of timed runs.", min=1, max=4096)] = 2,
    rungs: Annotated[str, option("Only these, as parse,compile,output.  [default: all]")] = "",
    require: Annotated[
        str, option("Rungs that must have run for a variant to count, or all.", "--require")
    ] = "output",
    unsafe_no_sandbox: Unsafe = False,
    seed: Annotated[
        int | None,
        option("Seed of the hidden inputs.  [default: a secret one, kept]", min=0, max=o.MOST_SEED),
    ] = None,
) -> None:
    """What is rewritten and on which inputs it is run and verified."""


def kept(
    folder: Annotated[
        Path | None,
        option(
            "Keep journal, texts and evidence in this folder, and continue what is there.",
            writable=True,
        ),
    ] = None,
    output: Annotated[
        Path | None, written("Write the best variant here.", "-o", "--output")
    ] = None,
    patch: Annotated[Path | None, written("Write its difference to PROGRAM here.")] = None,
    sarif: Annotated[
        Path | None,
        written(
            "Also write findings of the best variant as SARIF here; of all variants where "
            "none is accepted."
        ),
    ] = None,
    junit: Annotated[Path | None, written("The same, rungs as JUnit.")] = None,
) -> Values:
    """Files that are written where the search is done."""
    from rheostat.questions.code import Wanted

    return {"wanted": Wanted(output, patch, sarif, junit)}
