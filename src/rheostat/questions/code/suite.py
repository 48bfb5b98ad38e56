"""`code.suite`: programs to translate and refactor, and which may be a baseline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError, Infeasible, QuestionError
from rheostat.measurement.code.programs.hecbench import admit as run_twice
from rheostat.measurement.code.programs.hecbench import hecbench_names, read_hecbench
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.measurement.code.programs.manifest import write_manifest
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.sandbox import Sandbox, sandbox
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names

HECBENCH = ("omp", "cuda")
HEADS = ("program", "language", "files", "arguments", "baseline", "cpu_s", "reason")
OWN_HEADS = ("program", "meaning", "versions", "n", "steps")


@dataclass(frozen=True, kw_only=True, repr=False)
class SuiteAnswer(Answer):
    """Programs of a suite.

    Parameters
    ----------
    programs : tuple of mapping
        One a row.
    heads : tuple of str
        What is shown of each.
    """

    schema: ClassVar[str] = "rheostat.code-suite/1"
    programs: tuple[Mapping[str, Any], ...]
    heads: tuple[str, ...]

    def report(self) -> Report:
        """The table."""
        return Report("", [Section("programs", (self._counted(),), self._grid())])

    def facts(self) -> dict[str, Any]:
        """The same as data."""
        return {"programs": list(self.programs)}

    def grids(self) -> tuple[Grid, ...]:
        """A row a program."""
        return (self._grid(),)

    def _counted(self) -> str:
        """How many there are, and how many may be a baseline where that was tried."""
        states = [r["baseline"] for r in self.programs if "baseline" in r]
        tried = [s for s in states if s not in ("not run", "not read")]
        if not tried:
            return f"The suite has {len(self.programs):,} programs; none was run here."
        return (
            f"Of {len(tried)} programs that were run {tried.count('admitted')} may be a baseline."
        )

    def _grid(self) -> Grid:
        lines = tuple(tuple(_cell(r[h]) for h in self.heads) for r in self.programs)
        return Grid(self.heads, lines)


@question
def suite(
    hecbench: Path | str | None = None,
    *,
    only: Names = (),
    version: str = "omp",
    arguments: str | None = None,
    admit: bool = False,
    output: Path | str | None = None,
    unsafe_no_sandbox: bool = False,
) -> SuiteAnswer:
    """List the suite's own kernels, or the programs of a checkout of HeCBench.

    With ``admit`` or ``output`` they are built and run: a program may be a baseline where it ends
    well, prints the same twice and no FAIL, and takes 0.05 CPU seconds or more.

    Parameters
    ----------
    hecbench : path, optional
        A checkout of HeCBench: the folder that holds src.
    only : str or sequence of str
        These programs alone.
    version : str
        omp or cuda, of HeCBench.
    arguments : str, optional
        In place of those in benchmarks.yaml; with ``only``.
    admit : bool
        Run each to see whether it may be a baseline.
    output : path, optional
        The same, and write what is admitted here: a folder with a manifest for each.
    unsafe_no_sandbox : bool
        Run code without a sandbox, if you trust it.

    Returns
    -------
    SuiteAnswer
        With ``programs``.

    Raises
    ------
    QuestionError
        What is asked needs a checkout, or names programs that are not there.
    DataError
        The folder is no checkout.
    Infeasible
        None is admitted; the error carries the programs.

    Examples
    --------
    >>> import rheostat as rh
    >>> [p["program"] for p in rh.code.suite(only="axpy").programs]
    ['axpy']
    """
    names = parse_names(only)
    if hecbench is None:
        given = {"--admit": admit, "-o": output, "--arguments": arguments}
        if used := [k for k, v in given.items() if v]:
            problem = f"expected a checkout, of which {' and '.join(used)} speak"
            raise QuestionError("--hecbench", [problem])
        return SuiteAnswer(programs=_own(names), heads=OWN_HEADS)
    if version not in HECBENCH:
        raise QuestionError("--version", [f"expected {' or '.join(HECBENCH)}, got {version!r}"])
    if arguments is not None and not names:
        raise QuestionError("--arguments", ["expected with --only"])
    runs, where = admit or output is not None, None if output is None else Path(output)
    walls = sandbox("none" if unsafe_no_sandbox else "", image="/") if runs else None
    programs = list(_programs(Path(hecbench), version, names, arguments))
    rows = tuple(_row(name, program, reason, walls, where) for name, program, reason in programs)
    answer = SuiteAnswer(programs=rows, heads=HEADS)
    if runs and not any(r["baseline"] == "admitted" for r in rows):
        raise Infeasible("no program is admitted as a baseline", -1, answer)
    return answer


def _own(names: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """The kernels that are shipped."""
    kernels = suite_kernels()
    _are_there(names, list(kernels), "the suite")
    return tuple(
        {"program": k.name, "meaning": k.meaning, "versions": list(k.versions), "n": list(k.n),
         "steps": list(k.steps)}
        for k in kernels.values() if not names or k.name in names
    )  # fmt: skip


def _are_there(names: Sequence[str], known: Sequence[str], where: str) -> None:
    if unknown := [n for n in names if n not in known]:
        problem = f"no {', '.join(unknown)} in {where}; there are {len(known)}, as {known[0]}"
        raise QuestionError("--only", [problem])


def _programs(
    checkout: Path, version: str, names: Sequence[str], arguments: str | None
) -> Iterator[tuple[str, Program | None, str]]:
    """Name, program, and why it cannot be read."""
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
    there = None if output is None else output / program.name / "program.json"
    if there is not None and there.exists():
        return {"baseline": "admitted", "reason": f"it was before: {there}"}
    came = run_twice(program, confined_by=walls)
    state = "admitted" if came.admitted else "not admitted"
    listener.line(f"{program.name}: {state}{': ' if came.reason else ''}{came.reason}")
    if there is not None and came.admitted:
        write_manifest(program, there)
    return {"baseline": state, "cpu_s": came.cpu_s or None, "reason": came.reason}


def _cell(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
