"""A project's own build, recorded once, so that every check can build the project in its own way.

The command runs in the sandbox as it stands, but finds a script by the names of compilers, which
writes down each call and hands it on.  The calls make the project a program of several files with
their flags.  That is taken in its place only where it comes to the same instructions, function by
function; a candidate's compilers must also have been called with the flags of the original's.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from rheostat.measurement.code.own_builds.compiler_calls import (
    ARCHIVERS,
    BY_LANGUAGE,
    C_NAMES,
    CHANGES_NO_CODE,
    CXX_NAMES,
    WITH_OPENMP,
    CompilerCall,
    NotReplayed,
    program_of,
)
from rheostat.measurement.code.programs.manifest import is_of_a_build
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import (
    CLANG,
    GCC,
    BuildKind,
    build_command,
    compiler_absent,
    family_of,
    objects_of,
    tool,
)
from rheostat.measurement.code.workbench import Built, Workbench

PLACE = "rheostat_calls"
RECORDER = f"{PLACE}/record"
"""Under `PLACE` lie the script, under each compiler's name, and what it writes down."""
SET_UP = f"""cd {PLACE} && mkdir calls && chmod +x record &&
for name in {" ".join((*C_NAMES, *CXX_NAMES, *ARCHIVERS))}; do ln record $name; done && cd .. &&
PATH="$PWD/{PLACE}:$PATH" && exec "$@"
"""
MOST_CALLS_B = 2**20
"""Of one call's words."""
ANYWHERE = ("-pthread", "-fopenmp")
"""Flags that say the same wherever and however often they stand."""
IN_ONE_WORD = re.compile(
    r"-O\w*|-g\w*|-std=\S+|-[fm](?!plugin|offload)\S+|-[DIU]\S+|-W(?![lpa],)\S+|-w"
)
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
ADDRESS = re.compile(r"\b(?:0x)?[0-9a-f]+ (?=<)|-?0x[0-9a-f]+(?=\(%rip\))")


def replayed(bench: Workbench, program: Program) -> Program:
    """The same program without a build command of its own.

    Parameters
    ----------
    bench : Workbench
        Where it is built.
    program : Program
        With or without such a command.

    Returns
    -------
    Program
        Of several files with their flags, which every check builds as it builds single files.

    Raises
    ------
    NotReplayed
        The command does not end well, does more than to call compilers, or makes something else.
    """
    if not program.build:
        return program
    if program.language == "cuda":
        raise NotReplayed("it is CUDA")
    by_clang = family_of(program.flags) == "clang" or compiler_absent(program, "gcc")
    kind = CLANG if by_clang else GCC
    recorded = bench.build(_recorded(program, kind.family), kind)
    if not recorded.ok:
        raise NotReplayed(
            f"the build {recorded.said.ending}: {recorded.said.stderr.strip()[-200:]}"
        )
    calls = list(calls_of(recorded))
    if program.language in WITH_OPENMP and not any("-fopenmp" in c.words for c in calls):
        raise NotReplayed("no compiler is called with -fopenmp: the command passes no {flags} on")
    made = program_of(program, calls)
    if is_only_call(program, calls, made, kind):
        bench.take(made, kind, recorded)
        return made
    apart = _apart(bench, recorded, made)
    if apart and (left_out := _not_linked(bench, recorded, made)):
        files = {n: t for n, t in made.files.items() if n not in left_out}
        own = {n: f for n, f in made.own_flags.items() if n not in left_out}
        made = replace(made, files=files, own_flags=own)
        apart = _apart(bench, recorded, made)
    if apart:
        raise NotReplayed(f"its calls alone make another {apart[0]}")
    return made


def is_only_call(
    program: Program, calls: Sequence[CompilerCall], made: Program, kind: BuildKind
) -> bool:
    """Whether a build is nothing but one call of a compiler, with the words of our own.

    What it makes is then ours, and need not be made again to be compared.

    >>> program = Program({"a.c": ""}, build=("{cc}", "{flags}", "a.c", "-o", "a"))
    >>> call = CompilerCall("/s", "/s", "cc", ("-O2", "a.c", "-o", "a", "-lm"))
    >>> [is_only_call(program, [call], replace(program, build=(), flags=flags), GCC)
    ...  for flags in (("-O2", "-lm"), ("-O3", "-lm"))]
    [True, False]
    """
    if len(calls) != 1 or program.build[0] not in ("{cc}", "{cxx}") or made.own_flags:
        return False
    words = _in_parts(calls[0].words)
    ours = _in_parts(build_command(made, kind)[1:])
    by_cxx = calls[0].name in CXX_NAMES
    return by_cxx == made.is_cxx and made.files == program.files and words == ours is not None


def _in_parts(words: Sequence[str]) -> tuple[list[str], set[str], list[str]] | None:
    """Flags in their order, those that may stand anywhere, and what is linked in its order.

    None where places of words mean more than that.
    """
    rest, flags, known, linked = iter(words), list[str](), set[str](), list[str]()
    for word in rest:
        if word == "-o":
            next(rest, "")
        elif word in ANYWHERE:
            known.add(word)
        elif not word.startswith("-") or word.startswith("-l"):
            linked.append(word)
        elif linked or not IN_ONE_WORD.fullmatch(word):
            return None
        elif not CHANGES_NO_CODE.fullmatch(word):
            flags.append(word)
    return flags, known, [word for word, _ in groupby(linked)]


def _apart(bench: Workbench, recorded: Built, made: Program) -> list[str]:
    """Names of functions that are not the same in what was recorded and what its calls make."""
    built = bench.build(made, recorded.kind)
    if not built.ok:
        raise NotReplayed(f"its calls alone do not build it: {built.said.stderr.strip()[:200]}")
    own, ours = (Counter(functions(bench.code(b))) for b in (recorded, built))
    return sorted(name for name, _ in (own - ours) + (ours - own))


def _not_linked(bench: Workbench, recorded: Built, made: Program) -> set[str]:
    """Sources of which nothing is in the program: an archive's objects that nothing asked for."""

    def names(built: Built, file: str) -> set[str]:
        said = bench.tool(["nm", "-P", "--defined-only", file], built).stdout
        return {row.split()[0] for row in said.splitlines() if row.split()[1:2] != ["t"]}

    own = names(recorded, recorded.binary)
    each = replace(made, own_flags={s: made.own_flags.get(s, ()) for s in made.sources})
    built = bench.build(each, recorded.kind)
    return {s for s, file in zip(made.sources, objects_of(each), strict=True)
            if own and not own & names(built, file)}  # fmt: skip


def _recorded(program: Program, family: str) -> Program:
    names = ("clang", "clang++") if family == "clang" else ("gcc", "g++")
    cc, cxx, archiver = (tool(name) for name in (*names, "ar"))
    script = f"""#!/bin/sh
here=${{0%/*}}
printf '%s\\0' "${{here%/*}}" "$PWD" "${{0##*/}}" "$@" > "$here/calls/$$"
case ${{0##*/}} in
{"|".join(C_NAMES)}) exec {cc} "$@";;
{"|".join(ARCHIVERS)}) exec {archiver} "$@";;
esac
exec {cxx} "$@"
"""
    words = [w.replace("{cc}", "cc").replace("{cxx}", "c++") for w in program.build]
    return replace(program, files={**program.files, RECORDER: script},
                   build=("sh", "-c", SET_UP, "sh", *words))  # fmt: skip


def calls_of(recorded: Built) -> Iterator[CompilerCall]:
    """What was written down, in the order of the processes."""
    folder = recorded.folder / PLACE / "calls"
    if os.path.realpath(folder) != f"{os.path.realpath(recorded.folder)}/{PLACE}/calls":
        raise NotReplayed("the build moves what is written down of it")
    for path in sorted(folder.iterdir(), key=lambda p: (len(p.name), p.name)):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < MOST_CALLS_B:
            root, place, name, *words = path.read_text(errors="replace").split("\0")[:-1]
            yield CompilerCall(root, place, name, tuple(words))


def functions(code: str) -> Iterator[tuple[str, str]]:
    r"""Names of functions and their instructions, without where these and their data lie.

    >>> list(functions("0010 <f>:\n    10:\tcall   30 <puts@plt>\n    15:\tlea    0x1(%rip),%rax"
    ...                "        # 40 <x>\n"))
    [('f', 'call   <puts@plt>\nlea    (%rip),%rax')]
    """
    name, rows = "", list[str]()
    for row in code.splitlines():
        if m := FUNCTION.match(row):
            if name:
                yield name, "\n".join(rows)
            name, rows = m[1], []
        elif "\t" in row and name:
            said = row.split("\t", 1)[1].partition("#")[0].rstrip()
            rows.append(ADDRESS.sub("", said))
    if name:
        yield name, "\n".join(rows)


def check_flags(candidate: Program, original: Program, one: Program, other: Program) -> None:
    """Refuse a candidate that is compiled with flags of which its build files say nothing.

    Parameters
    ----------
    candidate, original : Program
        As they were given, with their own build commands.
    one, other : Program
        The same, replayed.

    Raises
    ------
    NotReplayed
        Another file steers the build; not where a person has signed another build.
    """
    if _steering(candidate) != _steering(original):
        return
    given = {*candidate.flags, *original.flags, *BY_LANGUAGE}
    known = [_flags(other, s) - given for s in other.sources]
    for source in one.sources:
        own = _flags(one, source) - given
        if own not in known:
            apart = min((own ^ k for k in known), key=len)
            raise NotReplayed(f"{source} is compiled with other flags than the original's sources: "
                              f"{' '.join(sorted(apart))}")  # fmt: skip


def _steering(program: Program) -> tuple[object, ...]:
    return program.build, {n: t for n, t in program.files.items() if is_of_a_build(n)}


def _flags(program: Program, source: str) -> set[str]:
    return {*program.flags, *program.own_flags.get(source, ())}
