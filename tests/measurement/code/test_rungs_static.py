"""Rungs that run nothing, scripted: text, syntax, compilers and calls, to the last word."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from rheostat.measurement.code import rungs_static, toolchain
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.marked_builds import compiler_texts
from rheostat.measurement.code.surroundings.addresses import casts_of_pointers
from rheostat.measurement.code.verdict import FAILED, PASSED, SKIPPED, Evidence, Finding
from tests.measurement.code.rung_cases import failed, lacks, of, program, wrong
from tests.measurement.scripted import done


def test_text_that_is_no_code_is_told_before_a_compiler_is_asked(case, box):
    text = "int candidate;\n\n ```c\n"
    fenced = replace(case, candidate=Program({"a.c": text, "b.c": " \n", "c.h": "```"}))
    findings = (Finding("parse", "a.c", 3, "a fence of Markdown, not code"),
                Finding("parse", "b.c", 0, "the file is empty"))  # fmt: skip
    assert rungs_static.parse(fenced) == failed("parse", *findings)
    assert box.log == []


def test_code_that_looks_for_checks_is_told_with_its_line(case):
    text = "int candidate;\n#ifdef __SANITIZE_ADDRESS__\n#ifdef __OPTIMIZE__\n"
    told = replace(case, candidate=Program({"a.c": text}))
    said = "{}: code that tells whether it is being checked".format
    assert rungs_static.parse(told) == failed(
        "parse", Finding("parse", "a.c", 2, said("__SANITIZE_ADDRESS__")),
        Finding("parse", "a.c", 3, said("__OPTIMIZE__")))  # fmt: skip
    case.reference.original = Program({"a.c": "__OPTIMIZE__"})
    assert len(rungs_static.parse(told).findings) == 1


@pytest.mark.parametrize("spelt", [
    "#pragma clang attribute push(__attribute__(({0})), apply_to = function)",
    '_Pragma("clang attribute push(__attribute__(({0})), apply_to = function)")',
    "__attribute__(({0})) void f(void);", "[[clang::{0}]] void f();", "#define OFF __{0}__",
])  # fmt: skip
@pytest.mark.parametrize("name", ["disable_sanitizer_instrumentation", "no_instrument_function"])
def test_what_takes_functions_out_of_the_checks_is_told_however_it_is_spelt(case, spelt, name):
    text = f"int candidate;\n{spelt.format(name)}\n"
    told = replace(case, candidate=Program({"a.c": text}))
    (found,) = rungs_static.parse(told).findings
    assert (found.line, found.message.partition(":")[0]) == (2, name)
    case.reference.original = Program({"a.c": name})
    assert rungs_static.parse(told).findings == ()


def test_syntax_is_checked_by_the_first_compiler_there_is(case, tools, box):
    assert rungs_static.parse(case) == Evidence("parse", PASSED, "clang")
    assert box.log[-1].what == "build text"  # which the next rung asks for
    box.says["candidate", "build text"] = done("", "", 1)
    box.says["candidate", "build clang"] = done("undefined reference", "", 1)
    assert rungs_static.parse(of(case, "serial", flags=("-O0",))).state == PASSED
    assert box.log[-1].command == ("/t/clang", "-O0", "-fsyntax-only", "a.c")
    bad = "a.c:3:1: error: expected ';'\na.c:4:1: error: unknown type name 'x'\n"
    box.says["candidate", "build syntax"] = done(bad, "", 1)
    strict = of(case, "serial", flags=("-O3",))
    assert rungs_static.parse(strict) == failed("parse", Finding("parse", "a.c", 3, "expected ';'"))
    box.says["candidate", "build syntax"] = done("a.c:3:1: warning: missing x\n")
    assert rungs_static.parse(of(case, "serial", flags=("-O1",))).state == PASSED
    tools.add("clang")
    box.says.clear()
    assert rungs_static.parse(of(case, "serial", flags=("-g",))) == Evidence("parse", PASSED, "gcc")
    tools.add("gcc")
    lacks(lambda: rungs_static.parse(case), toolchain.absent("gcc"))
    own = of(case, "serial", build=("make",))
    tools.clear()
    assert rungs_static.parse(own) == Evidence(
        "parse", SKIPPED, "the manifest's own build command comes next")  # fmt: skip
    lacks(lambda: rungs_static.parse(of(case, "cuda", "cu")), "nvcc has no check of syntax alone")
    tools.add("nvcc")
    assert rungs_static.parse(of(case, "cuda", "cu")).reason == "gcc"


def test_every_compiler_that_builds_the_original_has_to_build_the_candidate(case, tools, box):
    assert rungs_static.compile_(case) == Evidence("compile", PASSED, "gcc, clang")
    assert [a.what for a in box.log] == ["build gcc", "build text"]
    box.says["candidate", "build text"] = done("", "", 1)  # only for one processor, it may be
    assert rungs_static.compile_(of(case, "serial", flags=("-O0",))).state == PASSED
    box.says["candidate", "build clang"] = done("", "a.c:2:1: error: bad\n", 1)
    bad = of(case, "serial", flags=("-O3",))
    assert rungs_static.compile_(bad) == failed("compile", Finding("compile", "a.c", 2, "bad"))
    box.says["original", "build clang"] = done("", "", 1)
    case.reference.bench.builds.clear()
    for folder in case.reference.bench.folder.iterdir():
        folder.rename(folder.with_name(f"{folder.name}-old"))
    assert rungs_static.compile_(bad).state == PASSED
    tools.add("clang")
    alone = of(case, "serial", flags=("-O1", "-g"))
    assert rungs_static.compile_(alone).reason == f"gcc; {toolchain.absent('clang')}"
    tools.add("gcc")
    lacks(lambda: rungs_static.compile_(case), toolchain.absent("gcc"))
    tools.remove("clang")
    box.says.clear()
    assert rungs_static.compile_(alone).reason == f"clang; {toolchain.absent('gcc')}"


def test_a_build_without_a_finding_is_told_by_its_end(case, box):
    box.says["candidate", "build gcc"] = done("", "killed", 137)
    assert rungs_static.compile_(case) == failed(
        "compile", *wrong("compile", "gcc: ended by signal 9 (SIGKILL): killed"))  # fmt: skip


def test_cuda_is_compiled_by_nvcc_alone(case, tools, box):
    cuda = of(case, "cuda", "cu")
    lacks(lambda: rungs_static.compile_(cuda), toolchain.absent("nvcc"))
    tools.clear()
    assert rungs_static.compile_(cuda) == Evidence("compile", PASSED, "nvcc")
    box.says["candidate", "build nvcc"] = done("a.cu(3): error: bad\n", "", 1)
    bad = of(case, "cuda", "cu", flags=())
    assert rungs_static.compile_(bad) == failed("compile", Finding("compile", "a.cu", 3, "bad"))


SYMBOLS = "                 U printf@GLIBC_2.2\n U atoi\n w __gmon_start__\n\n"


def test_calls_that_the_original_does_not_make_are_told(case, tools, box):
    box.says["original", "nm"] = done(SYMBOLS + " U getenv\n")
    box.says["candidate", "nm"] = done(SYMBOLS + " U getenv\n U free\n")
    assert rungs_static.calls(case) == Evidence("calls", PASSED, "5 functions of libraries")
    case.bench.imported.clear()
    box.says["candidate", "nm"] = done(SYMBOLS + " U system\n U usleep@x\n")
    box.says["candidate", "objdump"] = done("  10:\tsyscall\n")
    text = '\nint candidate; int f() { system("x");\n__asm__ volatile ("syscall"); }'
    bad = replace(case, candidate=Program({"a.c": text}))
    assert rungs_static.calls(bad) == failed(
        "calls",
        Finding("calls", "a.c", 2, "calls system: starts processes, the original does not"),
        Finding("calls", "a.c", 0, "calls usleep: sleeps, the original does not"),
        Finding("calls", "a.c", 3, "calls the kernel directly, the original does not"),
    )  # fmt: skip
    box.says["original", "objdump"] = box.says["candidate", "objdump"]
    case.bench.imported.clear()
    assert len(rungs_static.calls(bad).findings) == 2
    words = toolchain.nm("-D", "-C", "--undefined-only")
    assert box.asked("nm")[-1].command == (*words, "./program")
    tools.add("objdump")
    lacks(lambda: rungs_static.calls(case), toolchain.absent("objdump"))


def test_calls_of_what_does_not_build_are_none_and_of_what_is_made_are_its_own(case, box):
    box.says["candidate", "build gcc"] = done("", "", 1)
    assert rungs_static.calls(case).reason == "0 functions of libraries"
    own = of(case, "serial", build=("make",), run=("bin/x", "-v"))
    assert rungs_static.calls(own).state == PASSED
    assert box.asked("nm")[1].command[-1] == "bin/x"


def test_a_build_that_drops_the_flags_of_checkers_is_refused_where_the_originals_does_not(
    case, box
):
    own = of(case, "serial", build=("make",))
    (found,) = rungs_static.compile_(own).findings
    assert found.message == (
        "the build command does not pass {flags} on, so that nothing would be checked; the "
        "original's does")  # fmt: skip
    box.says["original", "build sanitizers"] = done("", "", 1)
    case.bench.builds.clear()
    for folder in case.bench.folder.iterdir():
        shutil.rmtree(folder)
    assert rungs_static.compile_(own).state == PASSED


def test_calls_of_classes_are_told_once_and_what_cannot_be_read_is_no_pass(case, box):
    stream = "std::basic_ifstream<char, std::char_traits<char> >"
    box.says["original", "nm"] = done(SYMBOLS)
    box.says["candidate", "nm"] = done(f"{SYMBOLS} U {stream}::close()@x\n U {stream}::~y()@x\n")
    text = "int candidate;\nint f() { std::ifstream in(name); }"
    assert rungs_static.calls(replace(case, candidate=Program({"a.c": text}))) == failed(
        "calls", Finding("calls", "a.c", 2, "calls std::basic_ifstream: opens or changes files, "
                         "the original does not"))  # fmt: skip
    case.bench.imported.clear()
    box.says["candidate", "nm"] = done("", "no symbols")
    lacks(lambda: rungs_static.calls(case), "./program is no program with shared libraries")


def test_what_the_host_needs_for_cuda_is_no_call_of_the_candidate(case, tools, box):
    box.says["candidate", "nm"] = done(" U mprotect\n")
    cuda = of(case, "cuda", "cu")
    assert rungs_static.calls(cuda).state == FAILED
    asked = [a.command[-5:] for a in box.log if "ignore-all" in " ".join(a.command)]
    assert asked == [("-o", "program", "-x", "c++", "a.cu")]
    assert {a.what for a in box.log if a.what.startswith("build")} == {"build gcc"}
    tools.clear()
    assert rungs_static.calls(case).state == FAILED
    assert {a.what for a in box.log if a.what.startswith("build")} == {"build gcc"}
    assert rungs_static.calls(cuda).state == FAILED
    assert {a.what for a in box.log if a.what.startswith("build")} >= {"build nvcc"}


def test_calls_of_cuda_that_nvcc_refuses_are_those_of_the_host_s_build(case, tools, box):
    tools.clear()
    known = done(" U _ZNSt6chrono3_V212steady_clock3nowEv\n U mprotect\n")
    box.says["original", "build nvcc"] = done("a.cu(3): error: bad\n", "", 1)
    box.says["original", "nm"] = box.says["candidate", "nm"] = known
    case.reference.original = program("original", "cuda", "cu")
    assert rungs_static.calls(of(case, "openmp", "cc")).state == PASSED


def test_text_that_marks_need_too_is_read_for_addresses(case, tools):
    casts_of_pointers(case, case.candidate)
    built = len(case.bench.builds)
    assert [b.ok for b in compiler_texts(case, case.candidate)] == [True]
    assert len(case.bench.builds) == built
    shared = of(case, "openmp")
    casts_of_pointers(shared, shared.candidate)  # its pragmas' own code is another text
    assert len(case.bench.builds) == built + 1
    assert [b.ok for b in compiler_texts(shared, shared.candidate)] == [True]
    assert len(case.bench.builds) == built + 2
