"""Programs as texts: sources, languages, flags, and manifests that name them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.errors import DataError, FileKindError
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.manifest import load_pair, read_manifest
from rheostat.measurement.code.programs.program import (
    Program,
    flags_of,
    language_of,
    read_program,
    source_text,
)
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from tests.measurement.exactly import refused, written

# --- programs ----------------------------------------------------------------------------------


def test_all_that_is_wrong_with_a_program_is_said():
    said = [
        f"file {p!r}: expected a path below the program's folder" for p in ("", "/a.c", "a/../b")
    ]
    languages = "language: expected serial, openmp, target, cuda, opencl, got 'ada'"
    sources = "no source file (.c .cc .cpp .cxx .C .cu) and no build command"
    refused(lambda: Program({"": "", "/a.c": "", "a/../b": ""}, "ada"), *said, languages)
    with pytest.raises(DataError, match="program: ") as error:
        Program({"a.h": ""})
    assert error.value.problems == (sources,)
    with pytest.raises(DataError, match="mine: "):
        Program({"a.h": ""}, name="mine")
    assert Program({"a.h": ""}, build=("make",)).sources == ()


def test_sources_and_what_compiles_them():
    program = Program({"a.c": "1", "b.h": "2", "d/e.cpp": "3", "f.cu": "4"})
    assert (program.sources, program.is_cxx, program.text) == (
        ("a.c", "d/e.cpp", "f.cu"), True, "1\n2\n3\n4")  # fmt: skip
    assert [Program({f"a.{x}": ""}).is_cxx for x in ("c", "cu", "C", "cc", "cxx")] == [
        False, True, True, True, True]  # fmt: skip
    changed = replace(program, language="openmp").with_files({"a.c": "int a;"})
    assert (changed.language, dict(changed.files)) == ("serial", {"a.c": "int a;"})
    assert program.with_files({"a.c": "int a;"}, "cuda").language == "cuda"


def test_what_another_file_includes_is_no_source_of_its_own():
    kernels = {"main.cu": '#include <a.h>\n # include "k/../k/sum.cu"\n#include "ref.cpp"',
               "k/sum.cu": '#include "part.cu"', "k/part.cu": "", "ref.cpp": "",
               "own.cpp": '//#include "main.cu"'}  # fmt: skip
    assert Program(kernels).sources == ("main.cu", "own.cpp")
    assert Program({"a.c": '#include "a.c"'}).sources == ("a.c",)
    each_other = {"a.c": '#include "b.c"', "b.c": '#include "a.c"'}
    assert Program(each_other).sources == ("a.c", "b.c")


@pytest.mark.parametrize(("files", "language"), [
    ({"a.c": "", "b.cu": ""}, "cuda"), ({"a.c": "__global__ void f();"}, "cuda"),
    ({"a.c": '#include "CL/cl.h"'}, "opencl"), ({"a.c": "x = clCreateContext("}, "opencl"),
    ({"a.c": "# pragma omp parallel\n#pragma omp teams target"}, "target"),
    ({"a.c": "omp_get_num_threads ()"}, "openmp"), ({"a.c": "int omp;"}, "serial"),
])  # fmt: skip
def test_the_language_is_what_sources_contain(files, language):
    assert language_of(files) == language


def test_a_source_file_is_read_with_its_flags(tmp_path):
    text = "#include <math.h>\nint n = atoi(argv[1]); // 9\n"
    program = read_program(written(tmp_path / "a.c", text))
    assert (program.name, dict(program.files), program.flags, program.language) == (
        "a.c", {"a.c": text}, ("-O2", "-lm"), "serial")  # fmt: skip
    assert program.inputs.arguments == ("{n}",)
    assert flags_of("int a;") == ("-O2",)
    with pytest.raises(FileKindError, match=r"expected a source file \(\.c .* \.cu\), got text"):
        source_text(written(tmp_path / "a.txt", text))


# --- manifests ---------------------------------------------------------------------------------


MANIFEST = """language = "openmp"
files = ["d/a.c", "a.h"]
build = "make CC={cc} 'x y'"
run = "./program -v"
flags = "-O3 -lm"
[inputs]
arguments = "-n {n} '{m}'"
stdin = "{n}"
n = {low = 2, high = 9, multiple_of = 2, kind = "seed"}
m = {values = [1, "b"]}
[tolerance]
relative = 0.5
masked = ["x"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "d").mkdir()
    written(tmp_path / "d" / "a.c", "int a; // math")
    written(tmp_path / "a.h", "int b;")
    written(tmp_path / "mine.toml", MANIFEST)
    return tmp_path


def test_a_manifest_in_full(folder):
    program, tolerance = read_manifest(folder / "mine.toml")
    assert program == Program(
        {"d/a.c": "int a; // math", "a.h": "int b;"}, "openmp", ("make", "CC={cc}", "x y"),
        ("./program", "-v"), ("-O3", "-lm"),
        ProgramInputs({"n": InputRange(2, 9, (), "seed", 2), "m": InputRange(values=("1", "b"))},
                      ("-n", "{n}", "{m}"), "{n}"), "mine",
    )  # fmt: skip
    assert tolerance == Tolerance(relative=0.5, masked=("x",))
    written(folder / "m.json", '{"files": ["d/a.c"], "name": "own"}')
    program, tolerance = read_manifest(folder / "m.json")
    assert (program.language, program.build, program.run, program.flags, program.name) == (
        "serial", (), ("./program",), ("-O2", "-lm"), "own")  # fmt: skip
    assert tolerance == Tolerance()


@pytest.mark.parametrize(("text", "said"), [
    ('files = ["/a.c", "../b.c", 3]', [f"files: expected a path below the manifest, got {f}"
                                       for f in ("'/a.c'", "'../b.c'", "3")]),
    ('files = "a.c"\nbuild = 3\nodd = 1',
     ["unknown key 'odd'; known: name, language, files, build, run, flags, inputs, tolerance",
      "files: expected list, got 'a.c'", "build: expected str, got 3"]),
    ('files = []', ['files: expected a list such as ["main.c"]']),
    ('files = ["a.h"]\n[inputs]\nn = 3\nstdin = 4',
     ["n: expected a table such as {low = 1, high = 9}", "arguments, stdin: expected text, got 4"]),
    ('files = ["d/a.c"]\n[tolerance]\nodd = 1',
     ["tolerance: unknown key 'odd'; known: relative, absolute, ulps, masked, outputs"]),
    ('files = ["a.h"]', ["no source file (.c .cc .cpp .cxx .C .cu) and no build command"]),
    ('files = ["a.h"]\nbuild = "make \'"', ["No closing quotation"]),
    *((f'files = ["a.h"]\n[inputs]\nn = {{{odd}}}',
       ["n: expected numbers low, high, multiple_of, a list values, a text kind; got "
        f"{{'{odd.split()[0]}': {shown}}}"])
      for odd, shown in (("odd = 1", "1"), ('low = "1"', "'1'"), ("high = true", "True"),
                         ("values = 1", "1"))),
])  # fmt: skip
def test_what_is_wrong_with_a_manifest_is_said_at_once(folder, text, said):
    refused(lambda: read_manifest(written(folder / "m.toml", text)), *said)


def test_a_manifest_without_files_says_what_the_file_is(folder):
    with pytest.raises(DataError) as error:
        read_manifest(written(folder / "m.json", "[1]"))
    assert error.value.problems == (
        "expected a table of files, build, run, inputs",
        "expected the manifest of a program, got text that begins with '[1]'")  # fmt: skip
    with pytest.raises(DataError) as error:
        read_manifest(written(folder / "m.toml", "name = 'x'"))
    assert len(error.value.problems) == 2
    program, _ = read_manifest(folder / "m.toml", folder / "d" / "a.c")
    assert dict(program.files) == {"a.c": "int a; // math"}
    refused(lambda: read_manifest(written(folder / "m.toml", "odd = 1"), folder / "d" / "a.c"),
            "unknown key 'odd'; known: name, language, files, build, run, flags, inputs, tolerance",
            "expected the manifest of a program, got text that begins with 'odd = 1'")  # fmt: skip


def test_original_and_candidate_may_each_be_a_source_a_folder_or_a_manifest(folder):
    source = written(folder / "b.c", "int c;")
    one, other, tolerance = load_pair(source, folder / "d" / "a.c")
    assert (one.name, one.flags, other.name, other.flags) == (
        "b.c", ("-O2",), "a.c", ("-O2", "-lm"))  # fmt: skip
    assert (dict(other.files), tolerance) == ({"a.c": "int a; // math"}, Tolerance())
    own = written(folder / "own.json", '{"files": ["a.h"], "build": "make"}')
    assert load_pair(source, own, own_build=True)[1].name == "own"
    one, other, tolerance = load_pair(folder / "mine.toml", source)
    assert (one.name, other.name, other.flags, other.language) == (
        "mine", "b.c", ("-O3", "-lm"), "serial")  # fmt: skip
    assert dict(other.files) == {"a.h": "int b;", "d/a.c": "int c;"}
    assert tolerance.relative == 0.5
    assert load_pair(folder / "mine.toml", own, own_build=True)[1].name == "own"
    copy = folder / "copy"
    (copy / "d").mkdir(parents=True)
    written(copy / "d" / "a.c", "int z;")
    written(copy / "a.h", "int y;")
    one, other, _ = load_pair(folder, copy, folder / "mine.toml")
    assert (one.files["a.h"], other.files["d/a.c"], other.name) == ("int b;", "int z;", "copy")


def test_a_candidate_is_built_as_the_original_is_unless_a_person_says_otherwise(tmp_path):
    """A Makefile of its own drops the flags of every check, and a race passes them all."""
    manifest = 'files = ["a.c", "Makefile", "x/rules.mk"]\nbuild = "make"\n'
    for name, rules in (("one", "#\n"), ("same", "#\n"), ("other", "override FLAGS =\n")):
        (tmp_path / name / "x").mkdir(parents=True)
        written(tmp_path / name / "a.c", f"int {name};")
        written(tmp_path / name / "Makefile", "include x/rules.mk\n")
        written(tmp_path / name / "x" / "rules.mk", rules)
    shared = written(tmp_path / "one" / "m.toml", manifest)
    assert load_pair(tmp_path / "one", tmp_path / "same", shared)[1].files["a.c"] == "int same;"
    own = written(tmp_path / "other" / "m.toml", manifest.replace('"make"', '"make all"'))
    hint = "leave it out of the candidate, or read it and say --own-build"
    what = "expected the original's build, got another one: x/rules.mk"
    refused(lambda: load_pair(tmp_path / "one", tmp_path / "other", shared), f"{what}; {hint}")
    refused(lambda: load_pair(shared, own), f"{what}, the command 'make all'; {hint}")
    assert load_pair(shared, own, own_build=True)[1].build == ("make", "all")
