"""What people type of programs, turned into values: rungs, ranges of inputs, files, a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rheostat.errors import QuestionError
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.manifest import MANIFESTS, read_manifest
from rheostat.measurement.code.programs.program import Program, read_program
from rheostat.measurement.code.programs.program_inputs import SEED_NAME, InputRange, ProgramInputs
from rheostat.measurement.code.verdict import RUNGS
from rheostat.questions import listener
from rheostat.questions.parse import Names, parse_names

Ranges = ProgramInputs | Sequence[str]


def asked_rungs(rungs: Names, flag: str) -> tuple[str, ...]:
    """Rungs by name, in the order of the ladder.

    >>> asked_rungs("output,parse", "--rungs")
    ('parse', 'output')
    """
    names = RUNGS if rungs == "all" else parse_names(rungs)
    if unknown := [n for n in names if n not in RUNGS]:
        problem = f"expected {', '.join(RUNGS)} or all, got {', '.join(unknown)}"
        raise QuestionError(flag, [problem])
    return tuple(r for r in RUNGS if r in names)


def reviewed_lines(reviewed: Names, files: Mapping[str, str]) -> frozenset[str]:
    r"""Lines of a candidate that a person has read; each has to be there.

    >>> sorted(reviewed_lines("a.c:2", {"a.c": "int x;\nint y;"}))
    ['a.c:2']
    """
    lines = {file: text.count("\n") + 1 for file, text in files.items()}
    asked = parse_names(reviewed)
    unknown = [one for one in asked for file, _, line in [one.rpartition(":")]
               if not (line.isdecimal() and 1 <= int(line) <= lines.get(file, 0))]  # fmt: skip
    if unknown:
        problem = f"expected FILE:LINE of {', '.join(lines)}, got {', '.join(unknown)}"
        raise QuestionError("--reviewed", [problem])
    return frozenset(asked)


def input_ranges(given: Ranges) -> ProgramInputs:
    """Ranges of inputs as they are typed, in the order of the program's arguments.

    >>> inputs = input_ranges(["n=64..512", "seed=1..99", "method=cg,jacobi"])
    >>> inputs.arguments, inputs.ranges["seed"].kind, inputs.ranges["method"].values
    (('{n}', '{seed}', '{method}'), 'seed', ('cg', 'jacobi'))
    """
    if isinstance(given, ProgramInputs):
        return given
    ranges = dict(_range(text) for text in given)
    return ProgramInputs(ranges, tuple(f"{{{n}}}" for n in ranges))


def _range(given: str) -> tuple[str, InputRange]:
    name, _, text = given.partition("=")
    low, dots, high = text.partition("..")
    values = tuple(v.strip() for v in text.split(",") if v.strip())
    real = any(c in low + high for c in ".eE")
    kind = "seed" if SEED_NAME.search(name) else "real" if real else "size"
    try:
        made = InputRange(float(low), float(high), kind=kind) if dots else InputRange(values=values)
    except ValueError:
        values = ()
    if not (name.isidentifier() and values):
        raise QuestionError("--input", [f"expected NAME=1..9 or NAME=a,b, got {given!r}"])
    return name, made


def load_program(
    program: Program | Path | str, inputs: Ranges, file: str
) -> tuple[Program, Tolerance]:
    """A program by its source file or manifest, with the ranges that were typed; its tolerance.

    The file that is rewritten is its first source.
    """
    tolerance = Tolerance()
    if not isinstance(program, Program):
        path = Path(program)
        listed = path.suffix in MANIFESTS
        program, tolerance = read_manifest(path) if listed else (read_program(path), tolerance)
    if file and file not in program.sources:
        problem = f"expected {' or '.join(program.sources)}, got {file!r}"
        raise QuestionError("--source", [problem])
    if file:
        program = replace(program, files={file: program.files[file], **program.files})
    elif len(program.sources) > 1:
        listener.note(f"{program.sources[0]} is rewritten; --source names another")
    return (replace(program, inputs=input_ranges(inputs)) if inputs else program), tolerance


def kept_folder(folder: Path | str | None) -> tuple[Path, AbstractContextManager[object]]:
    """The folder of a search, and a context that removes it where nobody asked to keep it."""
    if folder is not None:
        return Path(folder), nullcontext()
    made = TemporaryDirectory(prefix="rheostat-code-")
    return Path(made.name), made
