"""Options that describe a program, how its variants are verified, and what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

ProgramFile = Annotated[
    Path,
    typer.Argument(
        help="A program that is right: a source file (C), or a manifest (TOML, JSON).",
        metavar="PROGRAM",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Keep journal, texts and evidence in this folder, and continue what is there.",
        writable=True,
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=RANGE",
        help="One argument of the program and what it is drawn from, in order: n=64..512, "
        "seed=1..999999. Repeatable.",
    ),
]
Rungs = Annotated[str, typer.Option(help="Only these, as parse,compile,output.  [default: all]")]
Required = Annotated[
    str, typer.Option("--require", help="Rungs that must have run for a variant to count, or all.")
]
HiddenSeed = Annotated[
    int | None,
    typer.Option(
        min=0, max=o.MOST_SEED, help="Seed of the hidden inputs.  [default: a secret one, kept]"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Write the best variant here.", writable=True,
                 dir_okay=False),
]  # fmt: skip
Patch = Annotated[
    Path | None,
    typer.Option(help="Write its difference to PROGRAM here.", writable=True, dir_okay=False),
]
Changed = Annotated[
    str,
    typer.Option("--source", help="Which source of a manifest is rewritten.  [default: first]"),
]
Sarif = Annotated[
    Path | None,
    typer.Option(help="Also write findings of the best variant as SARIF here; of all variants "
                 "where none is accepted.", writable=True, dir_okay=False),
]  # fmt: skip
Junit = Annotated[
    Path | None,
    typer.Option(help="The same, rungs as JUnit.", writable=True, dir_okay=False),
]
