"""``rheostat code search``: variants of a program, each verified before it counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.measurement.code.program import Program
    from rheostat.recipes.code_search import CodeSearch

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
HiddenSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of the hidden inputs.  [default: a secret one, kept]"),
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


def search(
    program: ProgramFile,
    to: Annotated[
        str, typer.Option(help="openmp, or empty for less time or energy in the same language.")
    ] = "",
    objective: Annotated[str, typer.Option(help="runtime_s or energy_j.")] = "",
    budget: Annotated[int, typer.Option(min=1, help="Variants that are run.")] = 8,
    most_seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Begin no variant later; 0: no limit.")
    ] = 0.0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of timed runs.")] = 2,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of timed runs.")] = 7,
    inputs: Inputs = None,
    rungs: Rungs = "",
    folder: Folder = None,
    output: Output = None,
    patch: Patch = None,
    unsafe_no_sandbox: Annotated[
        bool,
        typer.Option("--unsafe-no-sandbox", help="Run code without a sandbox, if you trust it."),
    ] = False,
    seed: HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Search variants of PROGRAM without a model: OpenMP pragmas, or flags and rewritten loops.

    A variant counts only if every rung of rheostat code verify that can run here accepts it.  Exit
    code 3: none is accepted.
    """
    from rheostat.cli.code_options import asked_rungs, confinement
    from rheostat.measurement.code.case import RungOptions
    from rheostat.measurement.code.verdict import RUNGS
    from rheostat.recipes.code_search import SearchSettings, search_code, searched_chains

    original = load_program(program, inputs)
    goal = objective or ("runtime_s" if to else "energy_j")
    kept, temporary = kept_folder(folder)
    with temporary:
        settings = SearchSettings(
            budget, most_seconds or float("inf"),
            options=RungOptions(pairs=pairs, timing_threads=threads),
            rungs=asked_rungs(rungs, "--rungs") or RUNGS,
            confined_by=confinement("", "/", unsafe=unsafe_no_sandbox),
            seed=seed, about={"to": to, "objective": goal},
        )  # fmt: skip
        chains = searched_chains(original, to, goal)
        result = search_code(original, chains, kept, settings, progress_line)
        show(result, goal, "rheostat.code-search/1", output, patch, html, json=json)


def load_program(path: Path, inputs: list[str] | None) -> Program:
    """The program of a source file or a manifest, with the ranges that were typed."""
    from dataclasses import replace

    from rheostat.cli.code_options import input_ranges
    from rheostat.measurement.code.manifest import read_manifest
    from rheostat.measurement.code.program import read_program

    listed = path.suffix in (".toml", ".json")
    program = read_manifest(path)[0] if listed else read_program(path)
    return replace(program, inputs=input_ranges(inputs)) if inputs else program


def kept_folder(folder: Path | None) -> tuple[Path, Any]:
    """The folder of a search, and a context that removes it where nobody asked to keep it."""
    from contextlib import nullcontext
    from tempfile import TemporaryDirectory

    if folder is not None:
        return folder, nullcontext()
    made = TemporaryDirectory(prefix="rheostat-code-")
    return Path(made.name), made


def progress_line(done: int, budget: int) -> None:
    """How far a search is, where a person looks on."""
    import sys

    if sys.stderr.isatty():
        print(f"{done} of at most {budget} variants", file=sys.stderr)


def show(
    result: CodeSearch,
    objective: str,
    schema: str,
    output: Path | None,
    patch: Path | None,
    html: Path | None,
    *,
    json: bool,
    facts: dict[str, Any] | None = None,
) -> None:
    """Print and write what a search came to; raises where nothing may be used."""
    from rheostat.cli.output import put_json, put_report, tell, write_files
    from rheostat.core.files import replace_file
    from rheostat.errors import Infeasible
    from rheostat.explanation.variants import search_report, unified_diff, variant_grid

    best = result.best(objective)
    name = result.original.sources[0]
    text = result.text(best["variant"]) if best else ""
    diff = unified_diff(result.original.files[name], text, name) if best else ""
    evidence = (result.store.verdict(best["variant"]) or {})["rungs"] if best else ()
    report = search_report(result.rows, best, result.cost, diff, evidence)
    if json:
        put_json(schema, {**report.facts, "text": text or None, **(facts or {})})
    else:
        put_report(report, variant_grid(result.rows, best["variant"] if best else ""))
    for path, content in ((output, text), (patch, diff)):
        if path is not None and best:
            replace_file(path, content)
            tell(f"wrote {path}")
    write_files(report, html)
    if best is None:
        raise Infeasible("no variant is accepted: the original stays", -1)
