"""What a project's own build asked of compilers, as a program of several files with their flags."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from rheostat.measurement.code.programs.program import CXX, C, Program

C_NAMES, CXX_NAMES = ("cc", "gcc", "c99", "clang"), ("c++", "g++", "clang++")
ARCHIVERS = ("ar", "gcc-ar", "llvm-ar")
PATHS = ("-I", "-L", "-isystem", "-iquote", "-idirafter", "-include", "-imacros")
VALUED = (*PATHS, "-o", "-D", "-U", "-MF", "-MT", "-MQ", "-x", "-Xlinker", "-Xpreprocessor", "-l",
          "-Xassembler", "-Xclang", "-T", "-u", "-z", "-mllvm", "--param")  # fmt: skip
JOINED = re.compile(r"(-[IL]|-isystem|-iquote|-idirafter)(.+)")
ONLY_LOOKS = frozenset({"-E", "-S", "-M", "-MM", "-fsyntax-only", "-###"})
CHANGES_NO_CODE = re.compile(r"-M[DPG]*|-MMD|-W(?![lpa],).*|-Wp,-M.*|-pedantic.*|-pipe|-w|-v")
LINKS = re.compile(r"-[lL].+|-Wl,.*|-s|-static.*|-pthread|-rdynamic|-fopenmp.*|-flto.*|"
                   r"-(?:no-)?pie|-shared-lib\w+|-fuse-ld=.*|-X?linker|-[Tuz]|-m\d+")  # fmt: skip
WITH_OPENMP = ("openmp", "target")
BY_LANGUAGE = frozenset({"-fopenmp", "-foffload=disable"})
"""What every build of OpenMP is given anyway."""
FOR_ONE = ("-include", "-imacros", "-x")
"""Never among the flags of all, as they are also given to programs without the project's files."""
Flag = tuple[str, ...]


class NotReplayed(Exception):
    """A build that cannot be done again without its own command; the message says why."""


@dataclass(frozen=True)
class CompilerCall:
    """A compiler or archiver as it was called: the program's folder, where, its name and words."""

    root: str
    folder: str
    name: str
    words: tuple[str, ...]

    def place(self, path: str) -> str:
        """A path from the program's folder on, or as it is where it lies elsewhere.

        >>> call = CompilerCall("/s", "/s/src", "cc", ())
        >>> call.place("../include"), call.place("/s/a.c"), call.place("/usr/include")
        ('include', 'a.c', '/usr/include')
        """
        whole = posixpath.normpath(posixpath.join(self.folder, path))
        inside = whole == self.root or whole.startswith(f"{self.root}/")
        return posixpath.relpath(whole, self.root) if inside else whole


class Unit(NamedTuple):
    """A source with the compiler that is called for it and its flags, each with its value."""

    source: str
    name: str
    flags: tuple[Flag, ...]


class AskedCall(NamedTuple):
    """What one call asks for."""

    inputs: tuple[str, ...]
    output: str
    compiles: bool
    flags: tuple[Flag, ...]


def asked(call: CompilerCall) -> AskedCall:
    """The words of a call; without inputs where it makes nothing.

    >>> asked(CompilerCall("/s", "/s/src", "cc", ("-O2", "-I..", "-Wall", "-c", "a.c")))
    AskedCall(inputs=('src/a.c',), output='', compiles=True, flags=(('-O2',), ('-I.',)))
    """
    inputs: list[str] = []
    flags: list[Flag] = []
    output, words = "", iter(call.words)
    for word in words:
        joined = JOINED.fullmatch(word) if word not in VALUED else None
        if word.startswith("@"):
            raise NotReplayed(f"{call.name} reads its arguments from a file, {word}")
        if word == "-o":
            output = call.place(next(words, ""))
        elif word in VALUED:
            flags += _with_value(call, word, next(words, ""))
        elif joined:
            flags += _with_value(call, joined[1], joined[2])
        elif not word.startswith("-"):
            inputs.append(call.place(word))
        elif word != "-c" and not CHANGES_NO_CODE.fullmatch(word):
            flags.append((word,))
    makes = not ONLY_LOOKS.intersection(call.words)
    return AskedCall(tuple(inputs) if makes else (), output, "-c" in call.words, tuple(flags))


def _with_value(call: CompilerCall, word: str, value: str) -> list[Flag]:
    value = call.place(value) if word in PATHS else value
    if word.startswith("-M"):
        return []
    return [(word + value,)] if word in ("-I", "-L", "-D", "-U", "-l") else [(word, value)]


@dataclass
class _Made:
    """What the calls have made: objects, archives and programs by their paths."""

    objects: dict[str, Unit]
    archives: dict[str, tuple[str, ...]]
    linked: dict[str, tuple[AskedCall, str]]

    @classmethod
    def by(cls, calls: Iterable[CompilerCall]) -> _Made:
        made = cls({}, {}, {})
        for call in calls:
            if call.name in ARCHIVERS:
                if len(call.words) > 2 and {"r", "q"} & set(call.words[0]):
                    made.archives[call.place(call.words[1])] = tuple(
                        call.place(w) for w in call.words[2:]
                    )
                continue
            one = asked(call)
            for source in one.inputs if one.compiles else ():
                name = f"{PurePosixPath(source).stem}.o"
                made.objects[one.output or call.place(name)] = Unit(source, call.name, one.flags)
            if one.inputs and not one.compiles:
                made.linked[one.output or call.place("a.out")] = one, call.name
        return made

    def libraries(self, linked: AskedCall) -> dict[Flag, str]:
        """Archives of its own that a link names by ``-l``."""
        folders = [f[2:] for (f, *_) in linked.flags if f.startswith("-L")]
        return {
            flag: path for flag in linked.flags if flag[0].startswith("-l")
            for folder in folders if (path := f"{folder}/lib{flag[0][2:]}.a") in self.archives
        }  # fmt: skip

    def units(self, linked: AskedCall, name: str) -> Iterator[Unit]:
        """The sources that a link puts together, in its order."""
        for path in (*linked.inputs, *self.libraries(linked).values()):
            if path in self.archives:
                yield from self.units(AskedCall(self.archives[path], "", False, ()), name)
            elif path in self.objects:
                yield self.objects[path]
            elif PurePosixPath(path).suffix in C + CXX:
                yield Unit(path, name, linked.flags)
            else:
                raise NotReplayed(f"{path} is linked, which no call of a compiler has made")


def program_of(program: Program, calls: Sequence[CompilerCall]) -> Program:
    """The program as several files with their flags, which needs no command of its own.

    Parameters
    ----------
    program : Program
        With its own build command.
    calls : sequence of CompilerCall
        What that command called, in this order.

    Returns
    -------
    Program
        Its sources in the order in which they are linked; those that are not compiled are left out.

    Raises
    ------
    NotReplayed
        It hangs on more than these calls.
    """
    made = _Made.by(calls)
    binary = posixpath.normpath(program.run[0])
    if binary not in made.linked:
        called = "no compiler was called by its name" if not calls else f"of {len(calls)} calls"
        raise NotReplayed(f"{called} of compilers none has made {binary}" if calls else called)
    link, linker = made.linked[binary]
    units = list(made.units(link, linker))
    _check(program, units)
    given = BY_LANGUAGE if program.language in WITH_OPENMP else frozenset[str]()
    flags = {u.source: [f for f in u.flags if f[0] not in given and not f[0].startswith("-l")]
             for u in units}  # fmt: skip
    first = flags[units[0].source]
    common = [f for f in first if f[0] not in FOR_ONE and all(f in x for x in flags.values())]
    known = {*common, *made.libraries(link)}
    links = dict.fromkeys(f for f in link.flags if LINKS.fullmatch(f[0]) and f not in known
                          and f[0] not in given)  # fmt: skip
    mixed = len({u.name in C_NAMES for u in units}) > 1
    own = {
        u.source: _words([*_language(u, mixed), *(f for f in flags[u.source] if f not in common)])
        for u in units
    }
    sources = {u.source: program.files[u.source] for u in units}
    beside = {n: t for n, t in program.files.items() if n not in program.sources}
    return replace(
        program, files={**sources, **beside}, build=(), run=("./program", *program.run[1:]),
        flags=_words([*common, *links]), own_flags={s: f for s, f in own.items() if f},
    )  # fmt: skip


def _check(program: Program, units: Sequence[Unit]) -> None:
    sources = [u.source for u in units]
    for source in sources:
        if source not in program.files:
            raise NotReplayed(f"{source} is compiled, which is none of the manifest's files")
        if sources.count(source) > 1:
            raise NotReplayed(f"{source} is compiled or linked more than once")
        if source not in program.sources:
            raise NotReplayed(f"{source} is compiled and included by another file")
    if not sources:
        raise NotReplayed("nothing is linked")


def _language(unit: Unit, mixed: bool) -> list[Flag]:
    """What says that a C++ compiler was called for a file of C, or a C compiler beside one."""
    if PurePosixPath(unit.source).suffix not in C:
        return []
    return [("-x", "c++")] if unit.name in CXX_NAMES else [("-x", "c")] if mixed else []


def _words(flags: Iterable[Flag]) -> tuple[str, ...]:
    return tuple(word for flag in flags for word in flag)
