"""``rheostat code suite``: programs to translate and refactor, and which may be a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.code.program_options import Unsafe
from rheostat.cli.options.declared import option


@asks("code.suite", o.shown)
def suite(
    hecbench: Annotated[
        Path | None, option("A checkout of HeCBench: the folder that holds src.", metavar="FOLDER")
    ] = None,
    only: Annotated[str, option("Of these programs, as layout,entropy.  [default: all]")] = "",
    version: Annotated[str, option("omp or cuda, of HeCBench.")] = "omp",
    arguments: Annotated[
        str | None, option("In place of those in benchmarks.yaml, as '2048 5'; with --only.")
    ] = None,
    admit: Annotated[
        bool, option("Run each to see whether it may be a baseline.", "--admit")
    ] = False,
    output: Annotated[
        Path | None,
        option(
            "The same, and write what is admitted here: a folder with a manifest for each.",
            "-o",
            "--output",
            writable=True,
            file_okay=False,
        ),
    ] = None,
    unsafe_no_sandbox: Unsafe = False,
) -> None:
    """List the suite's own kernels, or with --hecbench the programs of a checkout.

    With --admit or -o they are built and run: a program may be a baseline where it ends well,
    prints the same twice and no FAIL, and takes 0.05 CPU seconds or more; why not is said of each.
    What already lies in -o is not run again.  Exit code 3: none is admitted.
    """
