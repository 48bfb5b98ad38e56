"""``rheostat code suite``: programs to translate and refactor, and which may be a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


def suite(
    hecbench: Annotated[
        Path | None,
        typer.Option(help="A checkout of HeCBench: the folder that holds src.", metavar="FOLDER"),
    ] = None,
    only: Annotated[
        str, typer.Option(help="Of these programs, as layout,entropy.  [default: all]")
    ] = "",
    version: Annotated[str, typer.Option(help="omp or cuda, of HeCBench.")] = "omp",
    arguments: Annotated[
        str | None,
        typer.Option(help="In place of those in benchmarks.yaml, as '2048 5'; with --only."),
    ] = None,
    admit: Annotated[
        bool, typer.Option("--admit", help="Run each to see whether it may be a baseline.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", writable=True, file_okay=False,
            help="The same, and write what is admitted here: a folder with a manifest for each.",
        ),
    ] = None,
    unsafe_no_sandbox: Annotated[
        bool,
        typer.Option("--unsafe-no-sandbox", help="Run code without a sandbox, if you trust it."),
    ] = False,
    json: o.Json = False,
) -> None:  # fmt: skip
    """List the suite's own kernels, or with --hecbench the programs of a checkout.

    With --admit or -o they are built and run: a program may be a baseline where it ends well,
    prints the same twice and no FAIL, and takes 0.05 CPU seconds or more; why not is said of each.
    What already lies in -o is not run again.  Exit code 3: none is admitted.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.code import suite as ask

    with printed(json=json) as put:
        put(ask(hecbench, only=only, version=version, arguments=arguments, admit=admit,
                output=output, unsafe_no_sandbox=unsafe_no_sandbox))  # fmt: skip
