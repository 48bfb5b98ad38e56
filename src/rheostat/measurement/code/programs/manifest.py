"""The manifest of a program: files, commands, ranges of inputs, tolerance; TOML or JSON.

    language = "openmp"
    files = ["main.c", "solver.c", "solver.h"]
    build = "make CC={cc} CFLAGS={flags} program"
    run = "./program"
    flags = "-O2 -lm"

    [inputs]
    arguments = "{n} {seed}"
    n = {low = 64, high = 512, multiple_of = 8}
    seed = {low = 1, high = 1000000, kind = "seed"}
    method = {values = ["cg", "jacobi"]}

    [tolerance]
    relative = 1e-6

Only ``files`` has to be there; paths are relative to the manifest.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.storage.files import read_json, read_text, read_toml, replace_file
from rheostat.errors import DataError
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.program import (
    Program,
    flags_of,
    language_of,
    read_program,
    source_text,
    within,
)
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs, inputs_of

MANIFESTS = (".toml", ".json")
BUILD_FILES = frozenset({"makefile", "gnumakefile", "cmakelists.txt", "meson.build", "build.ninja",
                         "configure", "sconstruct"})  # fmt: skip
BUILD_SUFFIXES = frozenset({".mk", ".mak", ".cmake", ".sh", ".ninja", ".am", ".in", ".ac", ".py"})
KEYS = {
    "name": str, "language": str, "files": list, "build": str, "run": str, "flags": str,
    "inputs": dict, "tolerance": dict,
}  # fmt: skip


def read_manifest(path: str | Path, sources: str | Path | None = None) -> tuple[Program, Tolerance]:
    """A program and the tolerance of its outputs from a manifest.

    Parameters
    ----------
    path : str or Path
        A TOML file, or JSON by the ending .json.
    sources : str or Path, optional
        Where the files lie: a folder, or the only file; beside the manifest where none is given.

    Returns
    -------
    Program, Tolerance
        Files read, inputs as they are drawn.

    Raises
    ------
    DataError
        With all problems at once.
    """
    path = Path(path)
    given = read_json(path) if path.suffix == ".json" else read_toml(path)
    problems = _problems(given, needs_files=sources is None or Path(sources).is_dir())
    if problems:
        what = f"expected the manifest of a program, got {describe_file(path)}"
        raise DataError(str(path), [*problems, what] if "files" not in given else problems)
    files = _files(given, path, None if sources is None else Path(sources))
    try:
        return _program(given, files, path), _tolerance(given.get("tolerance", {}))
    except (TypeError, ValueError) as error:
        raise DataError(str(path), [str(error)]) from error
    except DataError as error:
        raise DataError(str(path), error.problems or [str(error)]) from error


def write_manifest(program: Program, path: str | Path) -> None:
    """Write a program as files with their manifest beside them.

    Parameters
    ----------
    program : Program
        What is written; its inputs are those that it has.
    path : str or Path
        Of the manifest, a JSON file in a folder that is made; it is written last.
    """
    path = Path(path)
    for name, text in program.files.items():
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        replace_file(path.parent / name, text)
    ranges = {
        name: {f.name: v for f in fields(r) if (v := getattr(r, f.name)) != f.default}
        for name, r in program.inputs.ranges.items()
    }
    facts = {
        "name": program.name, "language": program.language, "files": list(program.files),
        "build": shlex.join(program.build), "run": shlex.join(program.run),
        "flags": shlex.join(program.flags),
        "inputs": {**ranges, "arguments": shlex.join(program.inputs.arguments),
                   "stdin": program.inputs.stdin},
    }  # fmt: skip
    replace_file(path, json.dumps({k: v for k, v in facts.items() if v}, indent=1) + "\n")


def _files(given: Mapping[str, Any], path: Path, sources: Path | None) -> dict[str, str]:
    if sources is not None and not sources.is_dir():
        return {sources.name: source_text(sources)}
    root = sources or path.parent
    return {name: read_text(within(root, root / name)) for name in given["files"]}


def _program(given: Mapping[str, Any], files: dict[str, str], path: Path) -> Program:
    text = "\n".join(files.values())
    return Program(
        files,
        given.get("language") or language_of(files),
        build=tuple(shlex.split(given.get("build", ""))),
        run=tuple(shlex.split(given.get("run", "./program"))),
        flags=tuple(shlex.split(given["flags"])) if "flags" in given else flags_of(text),
        inputs=_inputs(given["inputs"]) if "inputs" in given else inputs_of(text),
        name=given.get("name") or path.stem,
    )


def load_pair(
    original: str | Path, candidate: str | Path, manifest: str | Path | None = None, *,
    own_build: bool = False,
) -> tuple[Program, Program, Tolerance]:  # fmt: skip
    """An original and its candidate, each a source file, a folder of files or a manifest.

    Parameters
    ----------
    original : str or Path
        A source file, a manifest (.toml, .json), or with ``manifest`` a folder of its files.
    candidate : str or Path
        The same; it is built and run as the original is, unless it is a manifest of its own.
        A file stands for the original's of its name, or for its only source.
    manifest : str or Path, optional
        How both are built, run and given inputs.
    own_build : bool
        Whether the candidate may bring build files or a build command of its own.

    Returns
    -------
    Program, Program, Tolerance
        Original, candidate and the tolerance of the original's manifest.

    Raises
    ------
    DataError
        A candidate whose build could leave the checks out, or any problem of a file.
    """
    one, other, tolerance = _pair(Path(original), Path(candidate), manifest)
    if not own_build:
        _check_build(one, other)
    named = Path(candidate)
    if one.build and named.is_file() and named.suffix not in MANIFESTS:
        other = _in_its_place(one, other, named.name)
    return one, other, tolerance


def _in_its_place(original: Program, candidate: Program, file: str) -> Program:
    """A candidate's one file in the place of the original's file of that name, or its only source.

    The command that builds it names that file; where it does not, as a Makefile does, the file has
    the original's name.

    >>> one = Program({"a.c": "int a;", "a.h": ""}, build=("{cc}", "{flags}", "a.c"))
    >>> other = _in_its_place(one, Program({"b.c": "int b;"}), "b.c")
    >>> other.files, other.build
    ({'a.h': '', 'b.c': 'int b;'}, ('{cc}', '{flags}', 'b.c'))
    """
    alike = [n for n in original.files if PurePosixPath(n).name == file] or original.sources
    if len(alike) != 1:
        return candidate
    (place,) = alike
    called = str(PurePosixPath(place).with_name(file)) if place in original.build else place
    rest = {n: text for n, text in original.files.items() if n != place}
    build = tuple(called if word == place else word for word in original.build)
    files = {**rest, called: candidate.files[file]}
    return replace(candidate, files=files, build=build)


def _check_build(original: Program, candidate: Program) -> None:
    """A build of its own may drop the flags of every check, and run anything."""
    changed = [
        name for name, text in candidate.files.items()
        if is_of_a_build(name) and original.files.get(name) != text
    ]  # fmt: skip
    if candidate.build not in ((), original.build):
        changed.append(f"the command {shlex.join(candidate.build)!r}")
    if changed:
        problem = f"expected the original's build, got another one: {', '.join(changed)}"
        hint = "leave it out of the candidate, or read it and say --own-build"
        raise DataError(candidate.name, [f"{problem}; {hint}"])


def is_of_a_build(name: str) -> bool:
    """Whether a file steers a build, and is no source of the program.

    >>> [is_of_a_build(n) for n in ("src/Makefile", "rules.mk", "main.c", "data.txt")]
    [True, True, False, False]
    """
    path = PurePosixPath(name)
    return path.name.lower() in BUILD_FILES or path.suffix in BUILD_SUFFIXES


def _pair(
    original: Path, candidate: Path, manifest: str | Path | None
) -> tuple[Program, Program, Tolerance]:
    shared = Path(manifest) if manifest is not None else None
    if shared is None and original.suffix in MANIFESTS:
        shared, first = original, None
    else:
        first = original
    if shared is None:
        one = read_program(original)
        return one, _candidate(one, candidate), Tolerance()
    one, tolerance = read_manifest(shared, first)
    if candidate.suffix in MANIFESTS:
        return one, read_manifest(candidate)[0], tolerance
    other, _ = read_manifest(shared, candidate)
    named = one.with_files(other.files)
    return one, replace(named, name=candidate.name), tolerance


def _candidate(original: Program, path: Path) -> Program:
    if path.suffix in MANIFESTS:
        return read_manifest(path)[0]
    other = read_program(path)
    return replace(original.with_files(other.files), flags=other.flags, name=path.name)


def _problems(given: Any, *, needs_files: bool) -> list[str]:
    if not isinstance(given, dict):
        return ["expected a table of files, build, run, inputs"]
    problems = [f"unknown key {k!r}; known: {', '.join(KEYS)}" for k in given if k not in KEYS]
    problems += [
        f"{key}: expected {kind.__name__}, got {given[key]!r:.60}"
        for key, kind in KEYS.items()
        if key in given and not isinstance(given[key], kind)
    ]
    files = given.get("files")
    if not files and not needs_files:
        return problems
    if not files:
        return [*problems, 'files: expected a list such as ["main.c"]']
    if isinstance(files, list):
        problems += [
            f"files: expected a path below the manifest, got {f!r:.60}"
            for f in files
            if not isinstance(f, str) or PurePosixPath(f).is_absolute() or ".." in f.split("/")
        ]
    return problems


def _inputs(given: Mapping[str, Any]) -> ProgramInputs:
    ranges = {k: v for k, v in given.items() if k not in ("arguments", "stdin")}
    wrong = [f"{k}: expected a table such as {{low = 1, high = 9}}" for k, v in ranges.items()
             if not isinstance(v, dict)]  # fmt: skip
    texts = [given.get(k, "") for k in ("arguments", "stdin")]
    wrong += [f"arguments, stdin: expected text, got {t!r:.60}" for t in texts
              if not isinstance(t, str)]  # fmt: skip
    if wrong:
        raise DataError("inputs", wrong)
    made = {name: _range(name, table) for name, table in ranges.items()}
    return ProgramInputs(made, tuple(shlex.split(texts[0])), texts[1])


def _range(name: str, table: Mapping[str, Any]) -> InputRange:
    known = {f.name: f.type for f in fields(InputRange)}
    unknown = [k for k in table if k not in known]
    numbers = [k for k in ("low", "high", "multiple_of") if k in table and not _is_number(table[k])]
    if unknown or numbers or not isinstance(table.get("values", []), list):
        problem = f"{name}: expected numbers low, high, multiple_of, a list values, a text kind"
        raise DataError("inputs", [f"{problem}; got {dict(table)!r:.80}"])
    given = dict(table) | {"values": tuple(map(str, table.get("values", ())))}
    return InputRange(**given)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _tolerance(given: Mapping[str, Any]) -> Tolerance:
    known = [f.name for f in fields(Tolerance) if f.name != "computed"]
    problems = [f"tolerance: unknown key {k!r}; known: {', '.join(known)}"
                for k in given if k not in known]  # fmt: skip
    if problems:
        raise DataError("tolerance", problems)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return Tolerance(**values)
