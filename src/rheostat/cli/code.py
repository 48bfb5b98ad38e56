"""``rheostat code``: source code as a knob, and the evidence that a candidate is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.code_model import refactor, translate
from rheostat.cli.code_options import asked_rungs, confinement, input_ranges
from rheostat.cli.code_search import search
from rheostat.cli.code_suite import suite

if TYPE_CHECKING:
    from rheostat.measurement.code.verdict import Evidence, Verdict

code = typer.Typer(
    help="Programs: verify a changed one, search or translate to faster and thriftier variants.",
    no_args_is_help=True,
)
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


@code.command()
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
    from dataclasses import replace

    from rheostat.cli.output import put_json, put_report, tell, write_files
    from rheostat.errors import RheostatError
    from rheostat.explanation.programs.code_report import rung_grid, sentence, verdict_report
    from rheostat.measurement.code.case import RungOptions
    from rheostat.measurement.code.ladder import verifier
    from rheostat.measurement.code.manifest import load_pair
    from rheostat.measurement.code.verdict import RUNGS

    chosen, required = asked_rungs(rungs, "--rungs"), asked_rungs(require, "--require")
    one, other, tolerance = load_pair(original, candidate, manifest, own_build=own_build)
    if inputs:
        one = replace(one, inputs=input_ranges(inputs))
    tolerance = replace(
        tolerance,
        relative=tolerance.relative if rtol is None else rtol,
        absolute=tolerance.absolute if atol is None else atol,
    )
    walls = confinement(confined, image, unsafe=unsafe_no_sandbox)
    options = RungOptions(least_work=least_work)
    with verifier(
        one, tolerance=tolerance, confined_by=walls, seed=seed, options=options
    ) as checking:
        checking.required = required
        verdict = checking.verify(
            other, rungs=chosen or RUNGS, all_rungs=all_rungs, progress=_progress
        )
    _write(verdict, sarif, junit)
    report = verdict_report(verdict, one.files, other.files)
    if json:
        put_json("rheostat.code-verify/1", verdict.facts())
    else:
        put_report(report, rung_grid(verdict))
        for finding in verdict.findings:
            tell(f"{finding.rung}: {finding.level}: {finding.words}")
    write_files(report, html)
    if not verdict.accepted:
        raise RheostatError(sentence(verdict))


def _progress(rung: str, evidence: Evidence | None) -> None:
    """A line for each rung that is done, where a person looks on."""
    import sys

    if evidence is not None and sys.stderr.isatty() and evidence.state != "skipped":
        print(f"{rung}: {evidence.state} ({evidence.seconds:.1f} s)", file=sys.stderr)


def _write(verdict: Verdict, sarif_file: Path | None, junit_file: Path | None) -> None:
    import json

    from rheostat.cli.output import tell
    from rheostat.core.storage.files import replace_file
    from rheostat.explanation.formats.junit import junit
    from rheostat.explanation.formats.sarif import sarif

    if sarif_file is not None:
        replace_file(sarif_file, json.dumps(sarif(verdict), indent=1) + "\n")
        tell(f"wrote {sarif_file}")
    if junit_file is not None:
        replace_file(junit_file, junit(verdict))
        tell(f"wrote {junit_file}")


for _command in (search, translate, refactor, suite):
    code.command()(_command)
