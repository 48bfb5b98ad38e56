"""``rheostat code suite``: programs to translate and refactor, and which may be a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.measurement.code.program import Program
    from rheostat.measurement.code.sandbox import Sandbox

HECBENCH = ("omp", "cuda")
HEADS = ("program", "language", "files", "arguments", "baseline", "cpu_s", "reason")
OWN_HEADS = ("program", "meaning", "versions", "n", "steps")


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
    from rheostat.cli.code_options import confinement
    from rheostat.questions.parse import parse_names

    names = parse_names(only)
    if hecbench is None:
        given = {"--admit": admit, "-o": output, "--arguments": arguments}
        if used := [k for k, v in given.items() if v]:
            problem = f"expected a checkout, of which {' and '.join(used)} speak"
            raise typer.BadParameter(problem, param_hint="--hecbench")
        _show(_own(names), OWN_HEADS, json=json)
        return
    if version not in HECBENCH:
        problem = f"expected {' or '.join(HECBENCH)}, got {version!r}"
        raise typer.BadParameter(problem, param_hint="--version")
    if arguments is not None and not names:
        raise typer.BadParameter("expected with --only", param_hint="--arguments")
    runs = admit or output is not None
    walls = confinement("", "/", unsafe=unsafe_no_sandbox) if runs else None
    programs = list(_programs(hecbench, version, names, arguments))
    rows = [_row(name, program, reason, walls, output) for name, program, reason in programs]
    _show(rows, HEADS, json=json)
    if runs and not any(r["baseline"] == "admitted" for r in rows):
        from rheostat.errors import Infeasible

        raise Infeasible("no program is admitted as a baseline", -1)


def _own(names: Sequence[str]) -> list[dict[str, Any]]:
    """The kernels that are shipped."""
    from rheostat.measurement.code.kernel_suite import suite_kernels

    kernels = suite_kernels()
    _are_there(names, list(kernels), "the suite")
    return [
        {"program": k.name, "meaning": k.meaning, "versions": list(k.versions), "n": list(k.n),
         "steps": list(k.steps)}
        for k in kernels.values() if not names or k.name in names
    ]  # fmt: skip


def _are_there(names: Sequence[str], known: Sequence[str], where: str) -> None:
    if unknown := [n for n in names if n not in known]:
        problem = f"no {', '.join(unknown)} in {where}; there are {len(known)}, as {known[0]}"
        raise typer.BadParameter(problem, param_hint="--only")


def _programs(
    checkout: Path, version: str, names: Sequence[str], arguments: str | None
) -> Iterator[tuple[str, Program | None, str]]:
    """Name, program, and why it cannot be read."""
    import shlex

    from rheostat.core.storage.file_kinds import describe_file
    from rheostat.errors import DataError
    from rheostat.measurement.code.hecbench import hecbench_names, read_hecbench

    known = hecbench_names(checkout, version)
    if not known:
        got = "no such path" if not checkout.exists() else "a folder without"
        got = describe_file(checkout) if checkout.is_file() else got
        problem = f"expected a checkout of HeCBench, a folder with src/NAME-{version}, got {got}"
        raise DataError(str(checkout), [problem])
    _are_there(names, known, str(checkout))
    given = None if arguments is None else tuple(shlex.split(arguments))
    for name in names or known:
        try:
            yield name, read_hecbench(checkout, name, version, given), ""
        except DataError as error:
            yield name, None, "; ".join(error.problems) or str(error)


def _row(
    name: str, program: Program | None, reason: str, walls: Sandbox | None, output: Path | None
) -> dict[str, Any]:
    """What a program is, and where it is run what came of it."""
    if program is None:
        return dict.fromkeys(HEADS) | {"program": name, "baseline": "not read", "reason": reason}
    facts = {"program": program.name, "language": program.language, "files": len(program.files),
             "arguments": " ".join(program.inputs.arguments), "baseline": "not run",
             "cpu_s": None, "reason": ""}  # fmt: skip
    return facts if walls is None else facts | _admission(program, walls, output)


def _admission(program: Program, walls: Sandbox, output: Path | None) -> dict[str, Any]:
    from rheostat.cli.output import tell
    from rheostat.measurement.code.hecbench import admit
    from rheostat.measurement.code.manifest import write_manifest

    there = None if output is None else output / program.name / "program.json"
    if there is not None and there.exists():
        return {"baseline": "admitted", "reason": f"it was before: {there}"}
    came = admit(program, confined_by=walls)
    state = "admitted" if came.admitted else "not admitted"
    tell(f"{program.name}: {state}{': ' if came.reason else ''}{came.reason}")
    if there is not None and came.admitted:
        write_manifest(program, there)
    return {"baseline": state, "cpu_s": came.cpu_s or None, "reason": came.reason}


def _show(rows: Sequence[dict[str, Any]], heads: Sequence[str], *, json: bool) -> None:
    from rheostat.cli.output import put_json, put_report
    from rheostat.core.report import Grid, Report, Section

    if json:
        put_json("rheostat.code-suite/1", {"programs": list(rows)})
        return
    lines = tuple(tuple(_cell(r[h]) for h in heads) for r in rows)
    section = Section("programs", (), Grid(tuple(heads), lines))
    put_report(Report("", [section]), section.grid)


def _cell(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
