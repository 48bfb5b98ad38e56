"""Builds by a command of their own: recorded once, then built as several files with their flags."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rheostat.measurement.code import rungs_static, toolchain
from rheostat.measurement.code.ladder import KEPT_BUILD, Verifier, verifier
from rheostat.measurement.code.own_builds.compiler_calls import (
    CompilerCall,
    NotReplayed,
    asked,
    program_of,
)
from rheostat.measurement.code.own_builds.replayed import (
    PLACE,
    check_flags,
    functions,
    is_only_call,
    replayed,
)
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap, workspace
from rheostat.measurement.code.toolchain import CLANG, GCC, SANITIZED, build_command
from rheostat.measurement.code.verdict import NOT_SHOWN
from rheostat.measurement.code.workbench import Workbench, identity
from tests.measurement.code.rung_cases import INPUTS

FILES = {
    "Makefile": "", "src/main.c": '#include "solver.h"\n', "lib/solver.c": "",
    "include/solver.h": "",
}  # fmt: skip
PROJECT = Program(FILES, build=("make", "CC={cc}", "CFLAGS={flags}"), run=("bin/solver", "-q"))


def call(name: str, words: str, folder: str = "") -> CompilerCall:
    return CompilerCall("/s", f"/s/{folder}".rstrip("/"), name, tuple(words.split()))


MAIN = call("cc", "-O2 -I../include -Wall -Werror -c main.c", "src")
SOLVER = call("gcc", "-O2 -Iinclude -DN=7 -MMD -MF x.d -c -o lib/solver.o /s/lib/solver.c")
ARCHIVE = call("ar", "rcs lib/libsolver.a lib/solver.o")
LINK = call("cc", "-O2 -o bin/solver src/main.o -L lib -lsolver -lm")


def made(*calls: CompilerCall, program: Program = PROJECT) -> Program:
    return program_of(program, calls)


def refused(*calls: CompilerCall, program: Program = PROJECT) -> str:
    with pytest.raises(NotReplayed) as reason:
        made(*calls, program=program)
    return str(reason.value)


def test_calls_of_compilers_are_a_program_of_several_files_with_flags_of_their_own():
    one = made(MAIN, SOLVER, ARCHIVE, LINK)
    assert (one.build, one.run) == ((), ("./program", "-q"))
    assert one.sources == ("src/main.c", "lib/solver.c")
    assert one.flags == ("-O2", "-Iinclude", "-Llib", "-lm")
    assert one.own_flags == {"lib/solver.c": ("-DN=7",)}
    alike = made(call("cc", "-O3 -include c.h src/main.c lib/solver.c -o bin/solver -lm"))
    assert (alike.flags, set(alike.own_flags.values())) == (("-O3", "-lm"), {("-include", "c.h")})
    plain = made(call("cc", "-O3 -Iinclude src/main.c lib/solver.c -o bin/solver"))
    assert (plain.flags, plain.own_flags) == (("-O3", "-Iinclude"), {})


def test_what_openmp_is_given_anyway_is_no_flag_of_the_project():
    calls = [call("cc", "-fopenmp -foffload=disable -O2 src/main.c -o bin/solver -lm")]
    assert made(*calls, program=replace(PROJECT, language="target")).flags == ("-O2", "-lm")
    assert "-fopenmp" in made(*calls).flags


def test_a_file_is_in_the_language_of_the_compiler_that_was_called():
    mixed = replace(PROJECT, files={"a.c": "", "b.cc": ""})
    one = made(call("cc", "-c a.c"), call("c++", "-c b.cc"), call("c++", "a.o b.o -o bin/solver"),
               program=mixed)  # fmt: skip
    assert one.own_flags == {"a.c": ("-x", "c")}
    assert [one.alone(s).is_cxx for s in one.sources] == [False, True]
    whole = made(call("g++", "a.c b.cc -o bin/solver"), program=mixed)
    assert whole.own_flags == {"a.c": ("-x", "c++")}
    assert whole.alone("a.c").is_cxx


@pytest.mark.parametrize(("calls", "words"), [
    ((), "no compiler was called by its name"),
    ((MAIN,), "of 1 calls of compilers none has made bin/solver"),
    ((MAIN, LINK, call("cc", "src/main.o x.so -o bin/solver")), "x.so is linked"),
    ((call("cc", "@words"),), "reads its arguments from a file"),
    ((call("cc", "made.c -o bin/solver"),), "made.c is compiled, which is none of the manifest"),
    ((call("cc", "src/main.c src/main.c -o bin/solver"),), "more than once"),
    ((call("cc", "-E src/main.c"), call("cc", "--version")), "none has made"),
])  # fmt: skip
def test_a_build_that_hangs_on_more_than_calls_is_not_replayed(calls, words):
    assert words in refused(*calls)


def test_a_source_that_another_includes_is_no_unit():
    files = {"a.c": '#include "b.c"\n', "b.c": ""}
    both = call("cc", "a.c b.c -o bin/solver")
    assert "included by another" in refused(both, program=replace(PROJECT, files=files))


def test_words_that_change_no_code_are_left_out():
    one = asked(call("cc", "-MMD -MT y -Wextra -pedantic -pipe -Wl,-s -D N=1 -o x.o -c a.c"))
    assert one == (("a.c",), "x.o", True, (("-Wl,-s",), ("-DN=1",)))


def test_each_source_is_compiled_with_its_own_flags_and_all_are_linked(tools):
    one = made(MAIN, SOLVER, ARCHIVE, LINK)
    shell, _, said = build_command(one, SANITIZED)
    first, second, link = said.split(" && ")
    assert (shell, "-DN=7" in first, "-DN=7" in second) == ("sh", False, True)
    assert all("-fsanitize=address,undefined" in x for x in (first, second, link))
    assert link.endswith("-Llib -O1 " + " ".join(SANITIZED.flags) + " -lm")
    texts = build_command(one, CLANG, output=("-fsyntax-only",))[2].split(" && ")
    assert [t.split()[-2:] for t in texts] == [["src/main.c", "-lm"], ["lib/solver.c", "-lm"]]
    assert identity(one, GCC) != identity(replace(one, own_flags={}), GCC)


def test_instructions_are_compared_by_function_without_addresses():
    code = "0010 <f>:\n  10:\tcall   {0} <puts@plt>\n  15:\tlea {1}(%rip),%rax   # {0} <x>\n"
    one, other = (list(functions(code.format(*x))) for x in (("30", "0x5"), ("99", "-0x8")))
    assert one == other == [("f", "call   <puts@plt>\nlea (%rip),%rax")]
    assert list(functions("0010 <f>:\n  10:\tmov $0x5,%eax\n")) != list(
        functions("0010 <f>:\n  10:\tmov $0x6,%eax\n"))  # fmt: skip


def test_a_candidate_whose_sources_get_other_flags_is_not_replayed():
    """By a file that its build reads and no rule of names knows; what a person signed may."""
    one = made(call("cc", "-O2 src/main.c -o bin/solver"))
    other = made(call("cc", "-O2 -DFAST src/main.c -o bin/solver"))
    check_flags(PROJECT, PROJECT, one, one)
    with pytest.raises(NotReplayed, match="other flags than the original's sources: -DFAST"):
        check_flags(PROJECT, PROJECT, other, one)
    check_flags(replace(PROJECT, flags=("-DFAST",)), PROJECT, other, one)
    signed = replace(PROJECT, files=FILES | {"Makefile": "all:"})
    check_flags(signed, PROJECT, other, one)


def test_a_candidate_that_cannot_be_replayed_beside_its_original_is_undecided(case, monkeypatch):
    def no(*_):
        raise NotReplayed("it runs a generator")

    one = Verifier(case.reference, as_given=PROJECT)
    monkeypatch.setattr("rheostat.measurement.code.ladder.replayed", no)
    assert one._replayed(PROJECT) == (PROJECT, "it runs a generator")
    assert one._replayed(replace(PROJECT, build=())) == (replace(PROJECT, build=()), "")
    assert Verifier(case.reference)._replayed(PROJECT) == (PROJECT, "")
    verdict = rungs_static.compile_(replace(case, not_replayed="it runs a generator"))
    assert (verdict.state, verdict.findings[0].message) == (NOT_SHOWN, "it runs a generator")


def test_an_original_that_cannot_be_replayed_keeps_its_command_and_a_note_says_so(box, tools):
    cuda = replace(PROJECT, language="cuda", inputs=INPUTS)
    with verifier(cuda, confined_by=box, seed=1) as one:
        assert (one.as_given, one.reference.original.build) == (None, cuda.build)
        assert one.reference.notes == [f"{KEPT_BUILD}: it is CUDA"]


LACKING = Bubblewrap().why() or toolchain.absent("gcc", "g++", "ar", "make", "objdump")
real = pytest.mark.skipif(bool(LACKING), reason=LACKING)
MAKEFILE = """-include tuning
solver: main.o lib/libdraw.a
\tg++ $(CFLAGS) -o $@ main.o -Llib -ldraw
main.o: src/main.cc
\tcd src && $(CXX) $(CFLAGS) $(MORE) -I../lib -c -o ../main.o main.cc
lib/libdraw.a: lib/draw.c
\t$(CC) $(CFLAGS) $(MORE) -DLEAST=3 -c -o lib/draw.o lib/draw.c && ar rcs $@ $(ALSO) lib/draw.o
"""
REAL = Program(
    {"Makefile": MAKEFILE, "lib/draw.h": 'extern "C" int draw(int);\n', "tuning": "",
     "lib/draw.c": "int draw(int new) { return new < LEAST ? LEAST : new; }\n",
     "src/main.cc": '#include "draw.h"\n#include <assert.h>\n'
     "int main(int n, char **) { assert(n > 1); return draw(n); }\n"},
    build=("make", "CC={cc}", "CXX={cxx}", "CFLAGS={flags}", "solver"), run=("./solver",),
)  # fmt: skip


@pytest.fixture
def bench() -> Iterator[Workbench]:
    with workspace() as folder:
        yield Workbench(Bubblewrap(), folder)


@real
def test_a_project_in_two_languages_and_folders_is_built_by_every_check(bench):
    one = replayed(bench, REAL)
    assert (one.build, one.sources) == ((), ("src/main.cc", "lib/draw.c"))
    assert one.own_flags == {"src/main.cc": ("-Ilib",), "lib/draw.c": ("-x", "c", "-DLEAST=3")}
    texts = [t.said.stdout for t in bench.compiler_texts(one)] if toolchain.tool("clang") else []
    assert all(f'"{s}"' in t for s, t in zip(one.sources, texts, strict=False))
    assert bench.build(one, replace(GCC, flags=("-DNDEBUG",))).ok


@real
def test_a_candidate_talks_nobody_round_by_what_its_build_reads(bench):
    """A file that is included adds flags; code that the build runs moves what is written down."""
    original = replayed(bench, REAL)
    faster = replace(REAL, files={**REAL.files, "tuning": "MORE = -DNDEBUG\n"})
    with pytest.raises(NotReplayed, match="-DNDEBUG"):
        check_flags(faster, REAL, replayed(bench, faster), original)
    moved = f"X := $(shell rm -rf {PLACE}/calls && ln -s / {PLACE}/calls)\n"
    with pytest.raises(NotReplayed, match="moves what is written down"):
        replayed(bench, replace(REAL, files={**REAL.files, "tuning": moved}))
    other = "X := $(shell echo 'int draw(int n) { return 9; }' > lib/draw.c)\n"
    with pytest.raises(NotReplayed, match="its calls alone make another draw"):
        replayed(bench, replace(REAL, files={**REAL.files, "tuning": other}))


@real
def test_what_an_archive_holds_and_nothing_asks_for_is_no_part_of_the_program(bench):
    """Else what runs before `main` would run where the project's own build leaves it out."""
    spare = "static void __attribute__((constructor)) f(void) {}\nint spare(void) { return 3; }\n"
    more = "ALSO = lib/spare.o\nlib/libdraw.a: lib/spare.o\n"
    files = {**REAL.files, "lib/spare.c": spare, "Makefile": more + REAL.files["Makefile"]}
    build = (*REAL.build, "solver")
    one = replayed(bench, replace(REAL, files=files, build=build))
    assert one.sources == ("src/main.cc", "lib/draw.c")
    assert set(one.own_flags) == {"src/main.cc", "lib/draw.c"}


ONE = Program({"a.c": "#include <math.h>\nint main(int n, char **v) { return pow(n, 2); }\n"},
              build=("{cc}", "{flags}", "a.c", "-o", "a", "-lm"), run=("./a", "7"))  # fmt: skip


@pytest.mark.parametrize(("words", "flags", "is_one"), [
    ("-O2 -pthread a.c -o a -lm", "-O2 -pthread -pthread -lm", True),
    ("-Wall -O2 a.c -o a -pthread -lm -lm", "-O2 -pthread -lm", True),
    ("-O2 -O3 a.c -o a", "-O3 -O2", False),
    ("-O2 a.c -o a", "-O2 -DN=7", False),
    ("-O2 a.c -o a -lm -lz", "-O2 -lz -lm", False),
    ("-O2 -lm a.c -o a", "-O2 -lm", False),
    ("-O2 -Wl,--gc-sections a.c -o a", "-O2 -Wl,--gc-sections", False),
    ("-O2 -fplugin=x.so a.c -o a", "-O2 -fplugin=x.so", False),
])  # fmt: skip
def test_a_call_is_our_own_where_its_words_say_the_same(words, flags, is_one):
    one = replace(ONE, build=(), flags=tuple(flags.split()))
    assert is_only_call(ONE, [call("cc", words)], one, GCC) == is_one
    assert not is_only_call(ONE, [call("c++", words)], one, GCC)
    assert not is_only_call(replace(ONE, build=("make",)), [call("cc", words)], one, GCC)
    assert not is_only_call(ONE, [call("cc", words)] * 2, one, GCC)


@real
def test_what_one_call_of_a_compiler_makes_is_not_made_again(bench, monkeypatch):
    """It is byte by byte what our own command makes; what a shell has called is made again."""
    began, run = [], Bubblewrap.run
    monkeypatch.setattr(Bubblewrap, "run", lambda *a, **o: began.append(a[1]) or run(*a, **o))
    called = replace(ONE, build=("sh", "-c", '"$@"', "sh", *ONE.build))
    for program, starts in ((ONE, 1), (called, 4)):
        bench.builds.clear()
        shutil.rmtree(bench.folder / identity(replayed(bench, program), GCC))
        assert len(began) == starts
        began.clear()
    bench.builds.clear()
    one = replayed(bench, replace(ONE, name="again", files={**ONE.files, "b.h": ""}))
    taken = bench.build(one, GCC)
    bench.builds.clear()
    own = taken.folder.rename(bench.folder / "taken") / "program"
    made = bench.build(one, GCC)
    assert own.read_bytes() == (made.folder / "program").read_bytes()
    assert bench.run(made, ProgramInput()).status == 4
