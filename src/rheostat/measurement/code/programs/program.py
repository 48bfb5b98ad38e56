"""A program under test: its files, its language, and how it is built and run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import ordinary_file, read_text
from rheostat.errors import DataError
from rheostat.measurement.code.programs.program_inputs import ProgramInputs, inputs_of

WAITS = re.compile(r"\b(?:barrier|work_group_barrier|__sync\w+|\w+_sync)\s*\(")
LANGUAGES = ("serial", "openmp", "target", "cuda", "opencl")
C, CXX, CUDA = (".c",), (".cc", ".cpp", ".cxx", ".C"), (".cu",)
SOURCES = (*C, *CXX, *CUDA)
KERNELS = "rheostat_kernels"
"""How files of this package's own with a program's kernels are called."""
GAP = r"(?:[^\S\n]|\\\n|/\*(?:[^*]|\*(?!/))*\*/)"
"""What may stand between two words: blanks, a line that goes on, a comment."""
INCLUDED = re.compile(rf'^{GAP}*#{GAP}*include{GAP}*"([^"\n]+)"', re.MULTILINE)
PRAGMA = rf"""(?:(?:#|%:){GAP}*pragma{GAP}+|\b_Pragma{GAP}*\({GAP}*\w*")omp"""
BY_MACRO = re.compile(rf"\b_Pragma{GAP}*\({GAP}*(?!\w*\")")
"""A pragma whose text a macro makes: its words may stand anywhere."""
OMP_LINE = re.compile(rf"(?m)^{GAP}*#{GAP}*pragma{GAP}+omp\b(?:[^\n\\]|\\[\s\S])*")


@dataclass(frozen=True)
class Program:
    """Source files with their language; how to build and run them, where that is not plain.

    Parameters
    ----------
    files : mapping of str to str
        Text of each file by its path within the program's folder.
    language : str
        serial, openmp, target (OpenMP on a device), cuda or opencl.
    build : tuple of str
        Command line that builds ``binary`` in the program's folder, with {cc}, {cxx}, {flags}
        replaced; empty where the sources are compiled and linked in one step.
    run : tuple of str
        Command line that runs the program, without its inputs.
    flags : tuple of str
        Further compiler flags, as -lm or -O3.
    inputs : ProgramInputs
        What its inputs are drawn from; hidden from whoever wrote a candidate.
    name : str
        For reports.
    is_kept : bool
        Whether what its builds and runs give may be kept for the next candidate: an original's.
    is_ours : bool
        Whether it is this package's own, so that they are kept for every original.
    objects : tuple of str
        This package's own runtimes that are linked to it, by their names.
    made_of : str
        The text of the program that this one was made of, by marks or other data; empty: none.
    own_flags : mapping of str to tuple of str
        Flags of single sources behind those of all; each source is then compiled by itself.

    Examples
    --------
    >>> program = Program({"sum.c": "int main(void) {}"})
    >>> program.language, program.sources, program.run
    ('serial', ('sum.c',), ('./program',))
    """

    files: Mapping[str, str]
    language: str = "serial"
    build: tuple[str, ...] = ()
    run: tuple[str, ...] = ("./program",)
    flags: tuple[str, ...] = ("-O2",)
    inputs: ProgramInputs = field(default_factory=ProgramInputs)
    name: str = ""
    is_kept: bool = field(default=False, compare=False)
    is_ours: bool = field(default=False, compare=False)
    objects: tuple[str, ...] = ()
    made_of: str = field(default="", compare=False)
    own_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = [
            f"file {path!r}: expected a path below the program's folder"
            for path in self.files
            if not path.isprintable()
            or PurePosixPath(path).is_absolute()
            or not path
            or ".." in PurePosixPath(path).parts
        ]
        if self.language not in LANGUAGES:
            problems.append(f"language: expected {', '.join(LANGUAGES)}, got {self.language!r}")
        if not self.sources and not self.build:
            problems.append(f"no source file ({' '.join(SOURCES)}) and no build command")
        if problems:
            raise DataError(self.name or "program", problems)

    @property
    def pragmas(self) -> list[str]:
        """OpenMP's lines."""
        return [m for text in self.files.values() for m in OMP_LINE.findall(text)]

    @property
    def without_pragmas(self) -> list[str]:
        r"""Texts of files without OpenMP's lines and blanks, in the order of their names.

        >>> Program({"a.c": "int a;\n#pragma omp for \\\n  nowait\nfor (;;) ;"}).without_pragmas
        ['inta;for(;;);']
        """
        return [re.sub(r"\s+", "", OMP_LINE.sub("", t)) for _, t in sorted(self.files.items())]

    @property
    def sources(self) -> tuple[str, ...]:
        """Files that a compiler is given; headers, data and what other files include are not."""
        every = tuple(p for p in self.files
                      if PurePosixPath(p).suffix in SOURCES or p.startswith(KERNELS))  # fmt: skip
        return tuple(p for p in every if not self._is_included(p)) or every

    def _is_included(self, path: str) -> bool:
        """Whether another file, from where it lies or from the program's folder, includes it."""
        return any(
            path in (name, os.path.normpath(PurePosixPath(by).parent / name))
            for by, text in self.files.items()
            if by != path
            for name in INCLUDED.findall(text)
        )

    @property
    def is_cxx(self) -> bool:
        """Whether a C++ compiler is needed."""
        named = "c++" in (*self.flags, *(f for own in self.own_flags.values() for f in own))
        return named or any(PurePosixPath(p).suffix in CXX + CUDA for p in self.sources)

    @property
    def text(self) -> str:
        """All sources, one after the other."""
        return "\n".join(self.files[p] for p in self.files)

    @property
    def takes_turns(self) -> bool:
        """Whether it has work-items, or CUDA's threads, that wait for each other."""
        return bool(WAITS.search(self.text)) and (self.language == "cuda" or self.holds_kernels)

    @property
    def holds_kernels(self) -> bool:
        """Whether kernels of OpenCL are compiled with it, and no library is asked for them."""
        return any(p.startswith(KERNELS) for p in self.files)

    def alone(self, source: str) -> Program:
        """One of its sources, with the files that no compiler is given and all of its flags."""
        beside = {n: t for n, t in self.files.items() if n not in self.sources}
        flags = (*self.flags, *self.own_flags.get(source, ()))
        return replace(self, files={source: self.files[source], **beside}, flags=flags,
                       own_flags={})  # fmt: skip

    def row(self, file: str, line: int) -> str:
        r"""The text of a line by its number, from 1 on; empty where there is none.

        >>> Program({"a.c": "int a;\nint b;"}).row("a.c", 2)
        'int b;'
        """
        rows = self.files.get(file, "").splitlines()
        return rows[line - 1] if 0 < line <= len(rows) else ""

    def with_files(self, files: Mapping[str, str], language: str = "") -> Program:
        """The same program from other files: a candidate for this original.

        Parameters
        ----------
        files : mapping of str to str
            Text of every file.
        language : str
            That of the new files; guessed from them where none is given.

        Returns
        -------
        Program
            With this one's build and run commands, flags and inputs.
        """
        return replace(self, files=dict(files), language=language or language_of(files))


def language_of(files: Mapping[str, str]) -> str:
    r"""What the sources are written in, by what they contain.

    >>> language_of({"a.c": "#pragma omp parallel for"}), language_of({"a.cu": ""})
    ('openmp', 'cuda')
    >>> language_of({"a.c": "#pragma omp target map(a)"}), language_of({"a.c": "int a;"})
    ('target', 'serial')
    >>> language_of({"a.c": '_Pragma("omp parallel for")'})
    'openmp'
    >>> language_of({"a.c": "#define DO(x) _Pragma(#x)\nDO(omp parallel for)"})
    'openmp'
    """
    text = "\n".join(files.values())
    if any(PurePosixPath(p).suffix in CUDA for p in files) or re.search(r"\b__global__\b", text):
        return "cuda"
    if re.search(r"CL/(cl|opencl)\.h|\bclCreateContext", text):
        return "opencl"
    pragma = r"\bomp" if BY_MACRO.search(text) else PRAGMA
    if re.search(rf"{pragma}{GAP}+(\w+{GAP}+)*target\b", text):
        return "target"
    return "openmp" if re.search(rf"{pragma}\b|\bomp_\w+\s*\(", text) else "serial"


def flags_of(text: str) -> tuple[str, ...]:
    """Flags that a source needs: optimisation as people build, and the library of mathematics."""
    return ("-O2", "-lm") if "math" in text else ("-O2",)


def within(folder: Path, path: Path) -> Path:
    """A file of a program's folder, whoever wrote that, and nothing else of this machine.

    Parameters
    ----------
    folder, path : Path
        Where the program lies, and one of its files.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    DataError
        A link leads out of the folder, or the file is another user's under a second name (a hard
        link): its text would stand in reports and in questions to models.
    """
    root, real = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    if not real.is_relative_to(root):
        raise DataError(str(path), [f"leads out of {folder} to {real}: copy the file"])
    if real.exists():
        status = real.stat()
        if status.st_nlink > 1 and status.st_uid != root.stat().st_uid:
            owner = f"user {status.st_uid}, who does not own {folder}"
            raise DataError(str(path), [f"is a second name of a file of {owner}: copy the file"])
    return path


def source_text(path: Path) -> str:
    """The text of a source file; a file of another kind is refused by what it is."""
    within(path.parent, path)
    if path.suffix not in SOURCES and ordinary_file(path):
        raise other_kind(path, f"a source file ({' '.join(SOURCES)})")
    return read_text(path)


def read_program(path: str | Path) -> Program:
    """A program of a single source file, its language by what it contains, its inputs guessed.

    Parameters
    ----------
    path : str or Path
        A file of C, C++ or CUDA.

    Returns
    -------
    Program
        Named by the file.
    """
    path = Path(path)
    text = source_text(path)
    files = {path.name: text}
    return Program(
        files, language_of(files), flags=flags_of(text), inputs=inputs_of(text), name=path.name
    )
