"""``rheostat code verify``: the evidence that a changed program is right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option, written

Unconfined = Annotated[
    bool,
    option(
        "Run code without a sandbox, if you trust it; the result says so.", "--unsafe-no-sandbox"
    ),
]
Confined = Annotated[
    str, option("bubblewrap or apptainer.  [default: what works here]", "--sandbox")
]
Image = Annotated[str, option("Container image with the compilers, for apptainer.")]


@asks("code.verify", o.paged, confined="confined_by")
def verify(
    original: Annotated[
        Path,
        argument(
            "The program that is right: a source file (C, C++, CUDA), a manifest (TOML, "
            "JSON), or with --manifest a folder of its files.",
            "ORIGINAL",
        ),
    ],
    candidate: Annotated[
        Path, argument("The same, of what is proposed instead.  A file, folder or manifest.")
    ],
    manifest: Annotated[
        Path | None, option("File that says how both are built, run and given inputs.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        option(
            "One argument of both programs and what it is drawn from, in order: n=64..512, "
            "seed=1..999999, method=cg,jacobi. Repeatable.",
            "--input",
            metavar="NAME=RANGE",
        ),
    ] = None,
    rtol: Annotated[
        float | None,
        option("Relative tolerance of numbers.  [default: 1e-9; with float 1e-6]", min=0.0),
    ] = None,
    atol: Annotated[float | None, option("Absolute tolerance.", min=0.0)] = None,
    rungs: Annotated[str, option("Only these, as parse,compile,output.  [default: all]")] = "",
    require: Annotated[
        str, option("Rungs that must have run for a candidate to be accepted, or all.")
    ] = "output",
    all_rungs: Annotated[bool, option("Go on after a rung has failed.", "--all")] = False,
    least_work: Annotated[
        float, option("Least share of the original's instructions; 0 allows any.", min=0.0, max=1.0)
    ] = 0.1,
    own_build: Annotated[
        bool, option("CANDIDATE is built in a way of its own, which you have read.", "--own-build")
    ] = False,
    reviewed: Annotated[
        list[str] | None,
        option(
            "A line of CANDIDATE that you have read: what no run shows there is allowed.",
            "--reviewed",
            metavar="FILE:LINE",
        ),
    ] = None,
    confined: Confined = "",
    image: Image = "/",
    unsafe_no_sandbox: Unconfined = False,
    seed: Annotated[
        int | None,
        option(
            "Seed of the hidden inputs.  [default: a secret one, told after]",
            min=0,
            max=o.MOST_SEED,
        ),
    ] = None,
    sarif: Annotated[Path | None, written("Also write findings as SARIF here.")] = None,
    junit: Annotated[Path | None, written("Also write rungs as JUnit here.")] = None,
) -> None:
    """Verify that CANDIDATE does what ORIGINAL does, rung by rung, cheapest first.

    Everything is compiled and run in a sandbox, on inputs that are drawn anew each time.  Exit code
    0: accepted; 1: rejected or undecided, with the reason.
    """
