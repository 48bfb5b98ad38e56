"""``rheostat code verify``: the evidence that a changed program is right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

Unconfined = Annotated[
    bool,
    typer.Option(
        "--unsafe-no-sandbox",
        help="Run code without a sandbox, if you trust it; the result says so.",
    ),
]
Confined = Annotated[
    str, typer.Option("--sandbox", help="bubblewrap or apptainer.  [default: what works here]")
]
Image = Annotated[str, typer.Option(help="Container image with the compilers, for apptainer.")]


def verify(
    original: Annotated[
        Path,
        typer.Argument(
            help="The program that is right: a source file (C, C++, CUDA), a manifest (TOML, "
            "JSON), or with --manifest a folder of its files.",
            metavar="ORIGINAL",
        ),
    ],
    candidate: Annotated[
        Path,
        typer.Argument(help="The same, of what is proposed instead.  A file, folder or manifest."),
    ],
    manifest: Annotated[
        Path | None,
        typer.Option(help="File that says how both are built, run and given inputs."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=RANGE",
            help="One argument of both programs and what it is drawn from, in order: n=64..512, "
            "seed=1..999999, method=cg,jacobi. Repeatable.",
        ),
    ] = None,
    rtol: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Relative tolerance of numbers.  [default: 1e-9; with float 1e-6]"
        ),
    ] = None,
    atol: Annotated[float | None, typer.Option(min=0.0, help="Absolute tolerance.")] = None,
    rungs: Annotated[
        str, typer.Option(help="Only these, as parse,compile,output.  [default: all]")
    ] = "",
    require: Annotated[
        str, typer.Option(help="Rungs that must have run for a candidate to be accepted, or all.")
    ] = "output",
    all_rungs: Annotated[
        bool, typer.Option("--all", help="Go on after a rung has failed.")
    ] = False,
    least_work: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Least share of the original's instructions; 0 allows any."
        ),
    ] = 0.1,
    own_build: Annotated[
        bool,
        typer.Option(
            "--own-build", help="CANDIDATE is built in a way of its own, which you have read."
        ),
    ] = False,
    confined: Confined = "",
    image: Image = "/",
    unsafe_no_sandbox: Unconfined = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=o.MOST_SEED,
            help="Seed of the hidden inputs.  [default: a secret one, told after]",
        ),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(help="Also write findings as SARIF here.", writable=True, dir_okay=False),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(help="Also write rungs as JUnit here.", writable=True, dir_okay=False),
    ] = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Verify that CANDIDATE does what ORIGINAL does, rung by rung, cheapest first.

    Everything is compiled and run in a sandbox, on inputs that are drawn anew each time.  Exit code
    0: accepted; 1: rejected or undecided, with the reason.
    """
    from rheostat.cli.output import printed
    from rheostat.errors import RheostatError
    from rheostat.questions.code import verify as ask

    with printed(json=json, html=html) as put:
        answer = ask(original, candidate, manifest=manifest, inputs=inputs or (), rtol=rtol,
                     atol=atol, rungs=rungs, require=require, all_rungs=all_rungs,
                     least_work=least_work, own_build=own_build, confined_by=confined, image=image,
                     unsafe_no_sandbox=unsafe_no_sandbox, seed=seed)  # fmt: skip
        answer.write(sarif_file=sarif, junit_file=junit)
        put(answer)
    if not answer.accepted:
        raise RheostatError(answer.sentence())
