"""``rheostat code search``: variants of a program, each verified before it counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rheostat.cli import asked_models as m
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.measurement.code.compare_output import Tolerance
    from rheostat.measurement.code.program import Program
    from rheostat.questions.code.code_search import CodeSearch
    from rheostat.recipes.lassi import Conversation

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


class Written(NamedTuple):
    """Files that a search is asked for."""

    output: Path | None
    patch: Path | None
    sarif: Path | None
    junit: Path | None
    html: Path | None


def search(
    program: ProgramFile,
    to: Annotated[
        str, typer.Option(help="openmp; from CUDA also serial; empty: the same language.")
    ] = "",
    objective: Annotated[str, typer.Option(help="runtime_s or energy_j.")] = "",
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Variants that are run.")] = 8,
    most_seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Begin no variant later; 0: no limit.")
    ] = 0.0,
    joules: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Begin no variant after so many joules of the search, modelled; 0: any.",
        ),
    ] = 0.0,
    threads: Annotated[int, typer.Option(min=1, max=4096, help="Threads of timed runs.")] = 2,
    pairs: Annotated[int, typer.Option(min=1, max=10_000, help="Pairs of timed runs.")] = 7,
    inputs: Inputs = None,
    file: Changed = "",
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    most_tokens: m.MostTokens = 0,
    rungs: Rungs = "",
    require: Required = "output",
    folder: Folder = None,
    output: Output = None,
    patch: Patch = None,
    sarif: Sarif = None,
    junit: Junit = None,
    unsafe_no_sandbox: Annotated[
        bool,
        typer.Option("--unsafe-no-sandbox", help="Run code without a sandbox, if you trust it."),
    ] = False,
    seed: HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Search variants of PROGRAM without a model: OpenMP pragmas, flags and loops, CUDA by rule.

    A variant counts only if every rung of rheostat code verify that can run here accepts it.  With
    --model a language model is asked where half of the budget brought nothing that is accepted,
    with --larger a larger one after it.  Exit code 3: none
    is accepted, or none gains on PROGRAM by more than the noise; PROGRAM stays.
    """
    from rheostat.cli.code_options import asked_rungs, confinement
    from rheostat.measurement.code.case import RungOptions
    from rheostat.measurement.code.verdict import RUNGS
    from rheostat.prediction.language_model.conversation import Sampling
    from rheostat.questions.code.code_search import SearchSettings, search_code, searched_chains
    from rheostat.recipes.lassi_ee import then_asked

    original, tolerance = load_program(program, inputs, file)
    goal = objective or ("runtime_s" if to else "energy_j")
    kept, temporary = kept_folder(folder)
    with temporary:
        asked = None
        if model or gguf or larger or larger_gguf:
            asked = m.asked_models(
                m.ModelAddress(model, base_url, gguf),
                m.ModelAddress(larger, larger_url or base_url, larger_gguf),
                transcript or kept / "transcript.jsonl", most_tokens,
            )  # fmt: skip
        settings = SearchSettings(
            budget, most_seconds or float("inf"), joules or float("inf"), tolerance,
            options=RungOptions(pairs=pairs, most_pairs=6 * pairs, timing_threads=threads),
            rungs=asked_rungs(rungs, "--rungs") or RUNGS,
            required=asked_rungs(require, "--require"),
            confined_by=confinement("", "/", unsafe=unsafe_no_sandbox),
            seed=seed, translates=original.language == "cuda" and bool(to),
            about={"to": to, "objective": goal} | ({"model": asked.name} if asked else {}),
        )  # fmt: skip
        chains, facts = searched_chains(original, to, goal), None
        talks: list[Conversation] = []
        if asked is not None:
            talks = asked.talks(Sampling(), 1)
            chains = then_asked(chains, original, to, talks[0], (budget + 1) // 2)
        result = search_code(original, chains, kept, settings, progress_line)
        if asked is not None:
            result, facts = asked.with_cost(result), {"chains": m.chain_facts(talks)}
        wanted = Written(output, patch, sarif, junit, html)
        show(result, goal, "rheostat.code-search/1", wanted, json=json, facts=facts)


def load_program(path: Path, inputs: list[str] | None, file: str) -> tuple[Program, Tolerance]:
    """A program by its source file or manifest, with the ranges that were typed; its tolerance.

    The file that is rewritten is its first source.
    """
    from dataclasses import replace

    from rheostat.cli.code_options import input_ranges
    from rheostat.cli.output import tell
    from rheostat.measurement.code.compare_output import Tolerance
    from rheostat.measurement.code.manifest import MANIFESTS, read_manifest
    from rheostat.measurement.code.program import read_program

    listed = path.suffix in MANIFESTS
    program, tolerance = read_manifest(path) if listed else (read_program(path), Tolerance())
    if file and file not in program.sources:
        problem = f"expected {' or '.join(program.sources)}, got {file!r}"
        raise typer.BadParameter(problem, param_hint="--source")
    if file:
        program = replace(program, files={file: program.files[file], **program.files})
    elif len(program.sources) > 1:
        tell(f"note: {program.sources[0]} is rewritten; --source names another")
    return (replace(program, inputs=input_ranges(inputs)) if inputs else program), tolerance


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
    wanted: Written,
    *,
    json: bool,
    facts: dict[str, Any] | None = None,
) -> None:
    """Print and write what a search came to; raises where nothing may be used."""
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.errors import Infeasible
    from rheostat.explanation.programs.variants import (
        on_front,
        search_report,
        variant_grid,
        why_none,
    )

    rows, best = result.rows, result.best(objective)
    chosen = best["variant"] if best else ""
    shown = [r["variant"] for r, front in zip(rows, on_front(rows), strict=True) if front]
    diffs = {name: result.diff(name) for name in dict.fromkeys([chosen, *shown]) if name}
    diff = diffs.get(chosen, "")
    report = search_report(rows, best, result.cost, diffs, result.store.verdict(chosen),
                           result.original.name, facts, objective)  # fmt: skip
    if json:
        text = result.text(chosen) if best else None
        put_json(schema, {**report.facts, "diff": diff, "text": text, **(facts or {})})
    else:
        put_report(report, variant_grid(rows, chosen))
    _write(result, chosen, diff, wanted)
    write_files(report, wanted.html)
    if best is None:
        raise Infeasible(why_none(result.accepted, objective), -1)


def _write(result: CodeSearch, chosen: str, diff: str, wanted: Written) -> None:
    """Text and patch of the best variant, and the evidence for programs that read it."""
    import json

    from rheostat.cli.output import tell
    from rheostat.core.storage.files import replace_file
    from rheostat.explanation.formats.junit import junit
    from rheostat.explanation.formats.sarif import sarif
    from rheostat.measurement.code.verdict import Verdict

    names = [chosen] if chosen else [r["variant"] for r in result.rows]
    verdicts = [Verdict.of(v) for n in names if (v := result.store.verdict(n))]
    for path, content in (
        (wanted.output, result.text(chosen) if chosen else None),
        (wanted.patch, diff if chosen else None),
        (wanted.sarif, json.dumps(sarif(*verdicts), indent=1) + "\n"),
        (wanted.junit, junit(*verdicts)),
    ):
        if path is not None and content is not None:
            replace_file(path, content)
            tell(f"wrote {path}")
