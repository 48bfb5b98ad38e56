"""Programs of a HeCBench checkout, by path; a baseline counts once it ran right and long enough.

HeCBench (BSD-3-Clause) has hundreds of programs in CUDA, HIP, SYCL and OpenMP, each in
``src/NAME-MODEL``, and arguments for many in ``benchmarks.yaml``.  Nothing of it is shipped here.
Many versions for a device are wrong or slow on a CPU, so that each is run before it is believed.

Jin, Z., Vetter, J.: A benchmark suite for improving performance portability of the SYCL programming
model.  ISPASS 2023, 325-327.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from rheostat.core.storage.files import read_text
from rheostat.errors import DataError
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.programs.program import SOURCES, Program, language_of, within
from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Sandbox

HEADERS = (".h", ".hpp", ".cuh")
INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
FAILED = re.compile(r"\bFAIL(?:ED|URE)?\b|\bMISMATCH\b|\bincorrect\b", re.IGNORECASE)
FLAGS = ("-O3", "-lm")
LEAST_S = 0.05


@dataclass(frozen=True)
class AdmittedProgram:
    """Whether a program may be a baseline; ``reason`` says why not."""

    name: str
    admitted: bool
    reason: str = ""
    cpu_s: float = 0.0


def hecbench_names(checkout: str | Path, model: str = "omp") -> list[str]:
    """Names of the programs that a checkout has in a programming model.

    Parameters
    ----------
    checkout : str or Path
        The folder that holds ``src``.
    model : str
        omp or cuda.

    Returns
    -------
    list of str
        Sorted.
    """
    folders = (Path(checkout) / "src").glob(f"*-{model}")
    return sorted(f.name.removesuffix(f"-{model}") for f in folders if f.is_dir())


def read_hecbench(
    checkout: str | Path, name: str, model: str = "omp", arguments: tuple[str, ...] | None = None
) -> Program:
    """One program of a checkout.

    Parameters
    ----------
    checkout : str or Path
        The folder that holds ``src``.
    name : str
        As layout.
    model : str
        omp or cuda.
    arguments : tuple of str, optional
        In place of those in ``benchmarks.yaml``.

    Returns
    -------
    Program
        All sources of its folder, with the headers that it takes from other versions.

    Raises
    ------
    DataError
        No such program, or sources that need what is not there.
    """
    folder = Path(checkout) / "src" / f"{name}-{model}"
    if not folder.is_dir():
        known = hecbench_names(checkout, model)
        said = f"{len(known)} of {model}: {', '.join(known[:5])}" if known else f"none of {model}"
        raise DataError(str(checkout), [f"no program {name!r} in src; there are {said}"])
    files = {
        p.name: read_text(within(Path(checkout), p))
        for p in sorted(folder.iterdir())
        if p.suffix in (*SOURCES, *HEADERS) and p.is_file()
    }
    missing = {i for text in files.values() for i in INCLUDED.findall(text)} - set(files)
    for include in sorted(missing):
        header = next(folder.parent.glob(f"{name}-*/{Path(include).name}"), None)
        if header is not None:
            files[include] = read_text(within(Path(checkout), header))
    given = _arguments(Path(checkout), name) if arguments is None else arguments
    language = "cuda" if model == "cuda" else language_of(files)
    return Program(
        files, language, flags=FLAGS, inputs=ProgramInputs({}, given), name=f"{name}-{model}"
    )


def _arguments(checkout: Path, name: str) -> tuple[str, ...]:
    """Arguments of the test that ``benchmarks.yaml`` names; none where it names none."""
    path = checkout / "benchmarks.yaml"
    text = read_text(path) if path.exists() else ""
    entry = re.search(rf"^{re.escape(name)}:\n((?:[ \t]+.*\n|\n)*)", text + "\n", re.MULTILINE)
    listed = re.search(r"^\s+args:\s*\[(.*)\]\s*$", entry[1], re.MULTILINE) if entry else None
    return tuple(re.findall(r'"([^"]*)"', listed[1])) if listed else ()


def admit(
    program: Program, *, confined_by: Sandbox | None = None, least_s: float = LEAST_S
) -> AdmittedProgram:
    """Run a program to see whether it may be a baseline.

    Parameters
    ----------
    program : Program
        As `read_hecbench` gives it.
    confined_by : Sandbox, optional
        The first that works here where none is given.
    least_s : float
        CPU seconds below which nothing can be compared.

    Returns
    -------
    AdmittedProgram
        Not admitted where it does not build, fails, says so itself, prints something else the
        second time, or is too short.
    """
    try:
        with verifier(program, confined_by=confined_by, seed=0, count=1) as one:
            one.reference.clean = False  # what device codes leak is not what is asked here
            ran = one.reference.expected[0]
    except DataError as error:
        return AdmittedProgram(program.name, False, "; ".join(error.problems) or str(error))
    said = FAILED.search(ran.output)
    if said:
        return AdmittedProgram(program.name, False, f"it prints {said[0]!r}", ran.cpu_s)
    if ran.cpu_s < least_s:
        reason = f"{ran.cpu_s:.3g} s is too short, expected {least_s:g} s: other arguments"
        return AdmittedProgram(program.name, False, reason, ran.cpu_s)
    return AdmittedProgram(program.name, True, "", ran.cpu_s)


def with_arguments(program: Program, *arguments: str) -> Program:
    """The same program run with other arguments."""
    return replace(program, inputs=ProgramInputs({}, arguments))
