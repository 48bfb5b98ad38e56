"""What compilers and checkers print, programs as texts, and inputs: exact, without running any."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from rheostat.errors import DataError, FileKindError
from rheostat.measurement.code import toolchain
from rheostat.measurement.code.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.compare_output import (
    OutputDifference,
    Tolerance,
    differences,
    output_lines,
    spread,
)
from rheostat.measurement.code.cuda_on_host import (
    HEADER,
    NVIDIA_HEADERS,
    on_host,
    parser_absent,
    rewritten,
)
from rheostat.measurement.code.diagnostics import (
    MOST,
    compiler_findings,
    not_on_host,
    oclgrind_findings,
    race_findings,
    sanitizer_findings,
)
from rheostat.measurement.code.kernel_suite import suite_kernels
from rheostat.measurement.code.manifest import load_pair, read_manifest
from rheostat.measurement.code.paired_times import PairedTimes, in_turns, paired_times
from rheostat.measurement.code.program import (
    Program,
    flags_of,
    language_of,
    read_program,
    source_text,
)
from rheostat.measurement.code.program_inputs import (
    InputRange,
    ProgramInput,
    ProgramInputs,
    inputs_of,
    powers_of_two,
)
from rheostat.measurement.code.toolchain import BuildKind, build_command, compile_flags
from rheostat.measurement.code.verdict import (
    ACCEPTED,
    FAILED,
    NOT_AVAILABLE,
    PASSED,
    REJECTED,
    SKIPPED,
    UNDECIDED,
    Evidence,
    Finding,
    Verdict,
)
from rheostat.measurement.code.work_counts import WorkCounts, counts_in
from tests.measurement.exactly import refused, written

# --- findings ----------------------------------------------------------------------------------


def test_errors_go_before_warnings_and_each_is_there_once():
    text = (
        "/sandbox/a.c:3:5: warning: odd\na.c:9: error: bad \na.c:9:1: error: bad\n"
        "b.cu(7): warning #20-D: slow\nld: undefined reference to `f'\ncannot find -lx\n"
    )
    assert compiler_findings(text) == (
        Finding("compile", "a.c", 9, "bad"),
        Finding("compile", "", 0, "undefined reference to `f'"),
        Finding("compile", "", 0, "cannot find -lx"),
    )
    warned = "".join(x for x in text.splitlines(keepends=True) if "warning" in x)
    assert compiler_findings(warned, "parse") == (
        Finding("parse", "a.c", 3, "odd", "warning"),
        Finding("parse", "b.cu", 7, "slow", "warning"),
    )
    many = "".join(f"a.c:{k}:1: error: e\n" for k in range(1, 99))
    assert [f.line for f in compiler_findings(many)] == list(range(1, 21))
    assert (compiler_findings("well"), MOST) == ((), 20)


def test_what_the_host_cannot_build_has_a_reason():
    said = SandboxRun(1, "", "a.cu:2:1: error: no tex\na.cu:3:1: error: x\n", 0.1, 0.1, 0)
    begun = "no CUDA device, and the host cannot build it: "
    assert not_on_host(said) == f"{begun}a.cu:2: no tex"
    textured = "y[i] = tex1Dfetch<float>(t, i); // curandState"
    assert (
        not_on_host(said, textured) == f"{begun}it has no cuRAND and no textures (a.cu:2: no tex)"
    )
    assert not_on_host(replace(said, stderr="")) == f"{begun}ended with status 1"


def test_reports_of_sanitizers_have_the_first_line_of_the_program_itself():
    asan = ("=1=ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x5)\n"
            " #0 0x1 in memcpy /usr/src/x.c:1\n #1 0x2 in g /sandbox/cuda_on_host.h:8\n"
            " #2 0x2 in f /sandbox/d/b.cpp:31:2\n #3 0x3 in main a.c:4\n")  # fmt: skip
    ubsan = "/sandbox/a.c:7:3: runtime error: shift exponent 40\n"
    none = "ERROR: LeakSanitizer: detected leaks\n"
    assert sanitizer_findings(asan + ubsan + ubsan, "x") == (
        Finding("x", "a.c", 7, "shift exponent 40"),
        Finding("x", "d/b.cpp", 31, "AddressSanitizer: SEGV"),
    )  # fmt: skip
    assert sanitizer_findings(none) == (
        Finding("sanitizers", "", 0, "LeakSanitizer: detected leaks"),)  # fmt: skip
    many = "".join(f"a.c:{k}:3: runtime error: e\n" for k in range(1, 99))
    assert [f.line for f in sanitizer_findings(many)] == list(range(1, 21))


def race(*lines, kind="data race"):
    parts = [f"  {how} of size 8 at 0x7 by thread T1:\n    #0 f {place} (a+1)\n"
             for how, place in lines]  # fmt: skip
    return f"WARNING: ThreadSanitizer: {kind} (pid=3)\n" + "\n".join(parts)


def test_a_race_has_the_lines_of_both_accesses():
    both = race(("Write", "/sandbox/a.c:9:5"), ("Previous atomic read", "/sandbox/a.c:11:5"))
    twice = race(("Read", "/sandbox/a.c:9:5"), ("Previous write", "/sandbox/a.c:9:5"))
    beyond = race(("Read", "/usr/x.c:2"), ("Previous write", "b.c:4"), ("Location", "b.c:5"))
    none = race(("Read", "/usr/x.c:2"), kind="heap-use-after-free ")
    assert race_findings(both + twice + beyond + none + none) == (
        Finding("races", "a.c", 9, "data race, with a.c:11"),
        Finding("races", "a.c", 9, "data race"),
        Finding("races", "b.c", 4, "data race"),
        Finding("races", "", 0, "heap-use-after-free"),
    )
    assert race_findings("well") == ()
    many = "".join(race(("Read", f"a.c:{k}:1")) for k in range(1, 99))
    assert [f.line for f in race_findings(many, "x")] == list(range(1, 21))


def test_reports_of_oclgrind_have_the_line_of_the_kernel():
    first = ("Write-write data race at local memory address 0x10\n\tKernel: k\n"
             "\tAt line 14 (column 3) of /sandbox/in.cl:\n\t  x\n\n")  # fmt: skip
    second = "Invalid read of size 4 at global memory address 0x2\n\tKernel: k\n\tno place\nend\n"
    assert oclgrind_findings("x\n" + first + first + second) == (
        Finding("races", "in.cl", 14, "Write-write data race"),
        Finding("races", "", 0, "Invalid read of size 4"),
    )  # fmt: skip
    many = "".join(first.replace("14", str(k)) for k in range(1, 99))
    assert [f.line for f in oclgrind_findings(many, "x")] == list(range(1, 21))


# --- verdicts ----------------------------------------------------------------------------------


def test_a_verdict_follows_from_the_states_of_its_rungs():
    def of(*states, required=("output",)):
        names = ("parse", "output", "races")
        made = tuple(map(Evidence, names, states))
        verdict = Verdict(made, required=required)
        return verdict.state, verdict.rejected_by, verdict.missing, verdict.accepted

    assert of(PASSED, PASSED) == (ACCEPTED, "", (), True)
    assert of(PASSED, FAILED, FAILED) == (REJECTED, "output", (), False)
    assert of(PASSED, SKIPPED) == (UNDECIDED, "", ("output",), False)
    assert of(PASSED, PASSED, NOT_AVAILABLE, required=("races",)) == (
        UNDECIDED, "", ("races",), False)  # fmt: skip
    assert Verdict(()).seed == 0


def test_a_verdict_is_kept_whole_as_plain_values():
    finding = Finding("time", "a.c", 0, "look", "warning")
    wrong = Finding("output", "a.c", 3, "odd")
    failed = Evidence("output", FAILED, "odd", (wrong,), 0.5, {"n": 1})
    passed = Evidence("time", PASSED, "", (finding,))
    made = Verdict((failed, passed), 7, "box", "o", "c", ("n",), ("x",))
    facts = made.facts()
    assert {k: v for k, v in facts.items() if k != "rungs"} == {
        "verdict": REJECTED, "rejected_by": "output", "missing": ["x"], "required": ["x"],
        "flags": ["a.c: look"], "original": "o", "candidate": "c", "seed": 7, "sandbox": "box",
        "notes": ["n"]}  # fmt: skip
    assert Verdict.of(facts) == made
    empty = json.loads(
        json.dumps(Verdict((Evidence("parse", PASSED),)).facts()).replace("NaN", "null")
    )
    assert (empty["rejected_by"], math.isnan(Verdict.of(empty).evidence[0].seconds)) == (None, True)
    assert Verdict.of({k: v for k, v in empty.items() if k != "required"}).required == ("output",)
    assert (made.findings, made.rung("time").findings) == ((wrong, finding), (finding,))
    assert [f.words for f in (wrong, finding, Finding("x", "", 0, "m"))] == [
        "a.c:3: odd", "a.c: look", "m"]  # fmt: skip


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


# --- inputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "said"), [
    ({"kind": "x"}, "kind: expected size, seed or real, got 'x'"),
    ({"low": 2}, "expected low <= high, got 2 and 1"),
    ({"low": -math.inf, "kind": "real"}, "expected low <= high, got -inf and 1"),
    ({"high": 2.0**63}, "expected low <= high, got 1 and 9.22337e+18"),
    ({"low": -1}, "low: a size is not negative, got -1"),
    ({"multiple_of": 0}, "multiple_of: expected 1 or more, got 0"),
])  # fmt: skip
def test_a_range_that_is_none_is_refused(given, said):
    refused(lambda: InputRange(**given), said)


def test_ranges_at_their_edges():
    for given in ({"low": 0, "high": 0}, {"low": -5, "kind": "seed"}, {"high": 2.0**62},
                  {"low": 9, "values": ("a",)}, {"low": -9, "values": ("a",)}):  # fmt: skip
        InputRange(**given)
    plain = InputRange()
    assert (plain.low, plain.high, plain.multiple_of, plain.words) == (1.0, 1.0, 1, "1 to 1")
    assert InputRange(values=("a", "b")).words == "a or b"


def drawn(given, part=(0.0, 1.0), count=200):
    rng = np.random.default_rng(0)
    return [given.draw(rng, part) for _ in range(count)]


def test_what_is_drawn_lies_in_the_range_and_reaches_its_ends():
    assert set(drawn(InputRange(3, 6, kind="seed"))) == {"3", "4", "5", "6"}
    real = list(map(float, drawn(InputRange(-1, 3, kind="real"))))
    assert (min(real) >= -1, max(real) <= 3, min(real) < -0.9, max(real) > 2.9) == (True,) * 4
    sizes = sorted(map(int, set(drawn(InputRange(0.5, 7.8, multiple_of=2)))))
    assert sizes == [1, 2, 4, 6, 7]
    assert set(drawn(InputRange(5, 9), (1.0, 1.0))) == {"9"}
    assert set(drawn(InputRange(5, 9), (0.0, 0.0))) == {"5"}
    logs = np.log1p(list(map(float, drawn(InputRange(0, 1e6), (0.25, 0.75)))))
    assert logs.min() / math.log(1e6) == pytest.approx(0.25, abs=0.01)
    assert logs.max() / math.log(1e6) == pytest.approx(0.75, abs=0.01)
    assert logs.mean() / math.log(1e6) == pytest.approx(0.5, abs=0.03)


def test_of_listed_sizes_small_inputs_take_the_first():
    listed = InputRange(values=("1", "2", "3", "4"))
    assert set(drawn(listed, (0.0, 0.25))) == {"1"}
    assert set(drawn(listed, (0.0, 0.5))) == {"1", "2"}
    assert set(drawn(listed, (0.0, 0.01))) == {"1"}
    assert set(drawn(listed)) == set(listed.values)
    assert set(drawn(replace(listed, kind="seed"), (0.0, 0.25))) == set(listed.values)


def test_values_are_written_where_their_names_stand():
    ranges = {"n": InputRange(7, 7), "m": InputRange(values=("x",))}
    inputs = ProgramInputs(ranges, ("-n", "{n}{m}"), "{m} {n}")
    made = inputs.draw(np.random.default_rng(0))
    assert made == ProgramInput(("-n", "7x"), "x 7", {"n": "7", "m": "x"})
    assert (made.words, ProgramInput().words, inputs.guessed) == ("n=7, m=x", "no input", False)
    large = ProgramInputs({"n": InputRange(1, 1e6)}, ("{n}",))
    least = [int(large.draw(np.random.default_rng(k)).arguments[0]) for k in range(60)]
    assert (min(least) < 100, max(least) > 3e5) == (True, True)
    refused(lambda: ProgramInputs({}, ("{b}",), "{a}"), "{a} has no range; there are: none",
            "{b} has no range; there are: none")  # fmt: skip
    refused(lambda: ProgramInputs(ranges, ("{z}",)), "{z} has no range; there are: n, m")


@pytest.mark.parametrize(("text", "ranges"), [
    ("int n = argc > 1 ? atoi(argv[1]) : 64;", {"n": InputRange(4, 80)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 640;", {"n": InputRange(20, 800)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 3;", {"n": InputRange(3, 4)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 1;", {"n": InputRange(1, 2)}),
    ("int n = argc > 1 ? atoi(argv[1]) : 0;", {"n": InputRange(48, 384)}),
    ("f(atoi(argv[1]));", {"a1": InputRange(48, 384)}),
    ("double h = atof(argv[1]);", {"h": InputRange(0.5, 2, kind="real")}),
    ("double h = argc > 1 ? atof(argv[1]) : 1.5e1;", {"h": InputRange(7.5, 30, kind="real")}),
    ("double h = argc > 1 ? atof(argv[1]) : 0;", {"h": InputRange(0.5, 2, kind="real")}),
    ("int rng = atoi(argv[1]);", {"rng": InputRange(1, 1e6, kind="seed")}),
    ("#define N (320\nint n = argc > 1 ? atoi(argv[1]) : N;", {"n": InputRange(10, 400)}),
    ("int _d = 640; _d = 320; n = argc > 1 ? atoi(argv[1]) : _d;", {"n": InputRange(10, 400)}),
    ("n = argc > 1 ? atoi(argv[1]) : nowhere;", {"n": InputRange(48, 384)}),
    ("int n = 640; if (argc > 1) n = atoi(argv[1]);", {"n": InputRange(20, 800)}),
    ("b = atoi(argv[2]); a = atoi(argv[1]); c = atoi(argv[1]);",
     {"a": InputRange(48, 384), "b": InputRange(48, 384)}),
    ("a = atoi(argv[2]);", {}), ("a = atoi(argv[1]); a = atoi(argv[2]);", {}),
    ("a = atoi(argv[1]); b = atoi(argv[3]);", {}), ("int main;", {}),
])  # fmt: skip
def test_inputs_are_guessed_from_the_source(text, ranges):
    made = inputs_of(text)
    assert dict(made.ranges) == ranges
    assert made.arguments == tuple(f"{{{n}}}" for n in ranges)
    assert made.guessed is bool(ranges)


def test_sizes_become_the_powers_of_two_of_their_range():
    ranges = {"n": InputRange(2, 8), "few": InputRange(9, 15), "s": InputRange(1, 9, kind="seed"),
              "all": InputRange(0, 2.0**50), "one": InputRange(1, 1)}  # fmt: skip
    made = powers_of_two(ProgramInputs(ranges, ("{n}",))).ranges
    assert made["n"].values == ("2", "4", "8")
    assert [made[k] for k in ("few", "s", "one")] == [ranges[k] for k in ("few", "s", "one")]
    assert made["all"].values == tuple(str(2**k) for k in range(1, 40))


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
    assert load_pair(source, own)[1].name == "own"
    one, other, tolerance = load_pair(folder / "mine.toml", source)
    assert (one.name, other.name, other.flags, other.language) == (
        "mine", "b.c", ("-O3", "-lm"), "serial")  # fmt: skip
    assert (dict(other.files), tolerance.relative) == ({"b.c": "int c;"}, 0.5)
    assert load_pair(folder / "mine.toml", own)[1].name == "own"
    copy = folder / "copy"
    (copy / "d").mkdir(parents=True)
    written(copy / "d" / "a.c", "int z;")
    written(copy / "a.h", "int y;")
    one, other, _ = load_pair(folder, copy, folder / "mine.toml")
    assert (one.files["a.h"], other.files["d/a.c"], other.name) == ("int b;", "int z;", "copy")


# --- outputs -----------------------------------------------------------------------------------


def test_a_tolerance_that_is_none_is_refused():
    with pytest.raises(DataError) as error:
        Tolerance(relative=-1, absolute="x", ulps=0, masked=("(",), outputs=(3,))
    said = error.value.problems
    assert said[:2] == (
        "relative: expected 0 or more, got -1",
        "absolute: expected 0 or more, got 'x'",
    )
    assert [s.partition(" is no")[0] for s in said[2:]] == ["'('", "3"]
    assert Tolerance(0, 0, 0) == Tolerance(0.0, 0.0, 0)
    plain = Tolerance()
    assert (plain.relative, plain.absolute, plain.ulps) == (1e-6, 1e-12, 4)


@pytest.mark.parametrize(("tolerance", "value", "expected", "close"), [
    (Tolerance(0.5, 0, 0), "1.0", "2.0", True), (Tolerance(0.49, 0, 0), "1.0", "2.0", False),
    (Tolerance(0, 1, 0), "1.0", "2.0", True), (Tolerance(0, 0.99, 0), "1.0", "2.0", False),
    (Tolerance(0, 0, 1), "2.0", "2.0000000000000004", True),
    (Tolerance(0, 0, 1), "2.0", "2.000000000000001", False),
    (Tolerance(9, 9, 9), "1", "2", False), (Tolerance(9, 9, 9), "1", "2.0", True),
    (Tolerance(9, 9, 9), "+1", "1", True), (Tolerance(0, 0, 0), "1e3", "1e3", True),
    (Tolerance(9, 9, 9), "1e999", "2.0", False), (Tolerance(9, 9, 9), "2.0", "-1e999", False),
    (Tolerance(0.5, 0, 0), "-1.0", "-2.0", True), (Tolerance(0.5, 0, 0), "1.0", "-2.0", False),
])  # fmt: skip
def test_numbers_are_close_by_any_of_three_measures(tolerance, value, expected, close):
    assert tolerance.close(value, expected) is close


def test_lines_of_times_are_left_out_and_masks_replaced():
    text = "a 1\ntime: 3.5\n\ntook 2 s for 7\n  \nhost x7 12 ms\n"
    made = output_lines(text, Tolerance(masked=(r"x\d",)))
    assert [(x.line, x.tokens) for x in made] == [
        (1, ("a", "1")), (4, ("took", "#", "s", "for", "7"))]  # fmt: skip
    only = Tolerance(outputs=(r"a (\d)", r"b \d"))
    assert [x.tokens for x in output_lines("a 1 b 2\na 3", only)] == [("1",), ("3",), ("b", "2")]


def test_differences_have_their_lines_and_end_after_five():
    exact = Tolerance()
    assert differences("a 1\nb 2", "a 1\n\nc 2", exact) == [OutputDifference(2, "b 2", "c 2")]
    assert differences("a\nb\nc", "a", exact) == [OutputDifference(2, "b", "(no further line)")]
    assert differences("a", "a\n\nb\nc", exact) == [OutputDifference(3, "(no further line)", "b")]
    many = differences("\n".join("abcdefgh"), "\n".join("ABCDEFGH"), exact)
    assert [d.line for d in many] == [1, 2, 3, 4, 5]
    assert differences("a 1", "a 1 2", exact) != []
    assert differences("a 1", "a b", exact) == [OutputDifference(1, "a 1", "a b")]
    assert differences("1 b", "1 b", exact) == []


@pytest.mark.parametrize(("one", "other", "most"), [
    ("a 1.0 2", "a 1.0 2", 0.0), ("1.0 4", "0.5 4", 0.5), ("-2 1", "2 1", 2.0), ("0 5", "0 4", 0.2),
    ("8 1.0", "4 1.0", 0.5), ("a 3", "b 3", 0.0), ("0 0", "1e-9 0", 1.0),
])  # fmt: skip
def test_the_spread_is_the_largest_relative_difference(one, other, most):
    assert spread(one, other) == most
    assert math.isnan(spread(one, f"{other} 9"))
    assert math.isnan(spread(one, f"{other}\n9"))


# --- times and counts --------------------------------------------------------------------------


def test_the_interval_of_paired_times_is_that_of_its_seed():
    original, candidate = 1 + np.random.default_rng(1).random((2, 400))
    logs = np.log(candidate / original)
    draws = np.median(logs[np.random.default_rng(5).integers(400, size=(2000, 400))], axis=1)
    made = paired_times(original, candidate, minimum_effect=0.03, seed=5)
    low, high = np.exp(np.quantile(draws, [0.025, 0.975]))
    assert (made.ratio, made.low, made.high, made.pairs) == pytest.approx(
        (float(np.exp(np.median(logs))), low, high, 400))  # fmt: skip
    default = paired_times(original, candidate, minimum_effect=0.03)
    assert default == paired_times(original, candidate, minimum_effect=0.03, seed=0) != made
    assert (
        made.words
        == f"{made.ratio:.3g} times the original's time [{low:.3g}, {high:.3g}]: {made.change}"
    )


@pytest.mark.parametrize(("ratio", "effect", "change"), [
    (0.75, 0.25, "no significant change"), (0.75, 0.24, "faster"), (1.25, 0.24, "slower"),
    (1.0, 0.0, "no significant change"), (0.75, 0.0, "faster"),
    (1.25, 0.26, "no significant change"),
])  # fmt: skip
def test_a_change_is_beyond_one_and_beyond_the_least_effect(ratio, effect, change):
    ones = np.ones(4)
    made = paired_times(ones, ratio * ones, minimum_effect=effect)
    assert (made.change, made.low, made.high) == (
        change,
        pytest.approx(ratio),
        pytest.approx(ratio),
    )


def test_an_interval_that_holds_one_is_no_change():
    fast, slow = np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.5, 2.0, 2.0])
    for first, second in ((fast, slow), (slow, fast)):
        made = paired_times(first, second, minimum_effect=0.01)
        assert (made.low < 1 < made.high, made.change) == (True, "no significant change")


def test_one_pair_has_a_ratio_and_no_interval():
    made = paired_times(np.array([2.0]), np.array([1.0]), minimum_effect=0.0)
    assert (made.ratio, made.change, made.pairs) == (0.5, "no significant change", 1)
    assert math.isnan(made.low + made.high)
    assert made.words == "0.5 times the original's time in one run each: no interval"
    assert "2 times" in PairedTimes(2.0, 1.0, 3.0, "slower", 2).words
    first, second = in_turns(iter([1.0, 2.0, 3.0]).__next__, iter([7.0, 8.0, 9.0]).__next__, 3)
    assert (first.tolist(), second.tolist()) == ([1, 2, 3], [7, 8, 9])


def test_counts_are_all_four_or_none():
    text = "I   refs:  1,234\nD   refs: 500 (1 rd)\nD1  misses: 7\nLL misses: 3\n"
    assert counts_in(text) == WorkCounts(1234.0, 500.0, 7.0, 3.0)
    assert counts_in(text.replace("LL", "L2")) is None


# --- compilers ---------------------------------------------------------------------------------


def test_flags_of_each_way_to_build():
    openmp = Program({"a.c": ""}, "openmp", flags=("-O2", "-march=native", "-g", "-lm"))
    assert compile_flags(openmp, toolchain.GCC) == ["-O2", "-march=native", "-g", "-fopenmp"]
    assert compile_flags(openmp, toolchain.SANITIZED) == [
        "-g", "-O1", "-fopenmp", *toolchain.SANITIZE]  # fmt: skip
    assert compile_flags(openmp, replace(toolchain.GCC, openmp=False))[-1] == "-g"
    assert compile_flags(openmp, replace(toolchain.NVCC, flags=()))[-1] == "-g"
    target = replace(openmp, language="target", flags=())
    assert compile_flags(target, toolchain.GCC) == ["-fopenmp", "-foffload=disable"]
    assert compile_flags(target, toolchain.CLANG) == ["-fopenmp"]
    checked = BuildKind("x", "gcc", ("-g", "-fsanitize=thread"))
    assert compile_flags(replace(target, language="serial"), checked) == [
        "-fno-sanitize=alignment", "-g", "-fsanitize=thread"]  # fmt: skip
    assert compile_flags(openmp, replace(checked, family="clang"))[-2:] == list(checked.flags)
    assert "-fno-sanitize=alignment" not in compile_flags(openmp, replace(checked, family="clang"))
    assert BuildKind("x") == BuildKind("x", "gcc", (), "", True)


@pytest.fixture
def tools(monkeypatch):
    """Every tool is there under /t."""
    monkeypatch.setattr(toolchain, "tool", "/t/{}".format)


@pytest.mark.usefixtures("tools")
def test_the_command_that_builds():
    program = Program({"a.c": "", "b.h": "", "c.c": ""}, flags=("-O2", "-lm"))
    assert build_command(program, toolchain.GCC) == [
        "/t/gcc", "-O2", "-o", "program", "a.c", "c.c", "-lm"]  # fmt: skip
    assert build_command(program, toolchain.CLANG, output=("-fsyntax-only",)) == [
        "/t/clang", "-O2", "-fsyntax-only", "a.c", "c.c", "-lm"]  # fmt: skip
    opencl = replace(program, language="opencl", files={"a.cpp": ""}, flags=())
    assert build_command(opencl, toolchain.GCC) == [
        "/t/g++", "-o", "program", "a.cpp", "-lOpenCL"]  # fmt: skip
    cuda = replace(opencl, language="cuda", files={"a.cu": ""})
    assert build_command(cuda, toolchain.CLANG) == [
        "/t/clang++", "-o", "program", "-x", "c++", "a.cu"]  # fmt: skip
    assert build_command(cuda, toolchain.NVCC) == [
        "/t/nvcc", "--cudart=shared", "-o", "program", "a.cu"]  # fmt: skip
    made = replace(program, build=("make", "C={cc} X={cxx}", "F={flags}"))
    assert build_command(made, toolchain.GCC) == ["make", "C=/t/gcc X=/t/g++", "F=-O2 -lm"]
    assert build_command(made, toolchain.GCC, output=("-c",))[0] == "/t/gcc"


def test_what_is_absent_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(toolchain, "tool", lambda n: "/t/sh" if n == "sh" else "")
    assert toolchain.absent("sh") == ""
    assert toolchain.absent("sh", "nm", "objdump", "odd") == (
        "nm, objdump, odd not installed: apt-get install binutils odd")  # fmt: skip
    c, cxx = Program({"a.c": ""}), Program({"a.cc": ""})
    first = lambda p, f: toolchain.compiler_absent(p, f).split()[0]  # noqa: E731
    assert [first(c, f) for f in ("gcc", "clang", "nvcc")] == ["gcc", "clang", "nvcc"]
    assert [first(cxx, f) for f in ("gcc", "clang", "nvcc")] == ["g++", "clang++", "nvcc"]
    assert toolchain.offload_absent().startswith("clang, clang-offload-packager not installed")
    assert toolchain.archer_absent().startswith("clang not installed")


@pytest.mark.usefixtures("tools")
def test_libraries_lie_beside_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "llvm_libraries", lambda: str(tmp_path))
    assert toolchain.offload_absent() == (
        "clang has no x86_64 offload plugin: apt-get install libomp-16-dev")  # fmt: skip
    assert toolchain.archer_absent() == "clang has no libarcher.so: apt-get install libomp-16-dev"
    for name in ("libomptarget.rtl.x86_64.so", "libomptarget.rtl.x86_64.so.16", "libarcher.so"):
        written(tmp_path / name, "")
    assert (toolchain.offload_absent(), toolchain.archer_absent()) == ("", "")
    monkeypatch.undo()
    for libraries, where in (
        (toolchain.llvm_libraries, "lib"),
        (toolchain.cuda_libraries, "lib64"),
    ):
        for found, expected in (("/a/bin/x", f"/a/{where}"), ("", "")):
            monkeypatch.setattr(toolchain, "tool", lambda _, found=found: found)
            assert libraries.__wrapped__() == expected


def test_the_newest_version_of_clang_is_taken(monkeypatch):
    def finds(*there):
        monkeypatch.setattr("shutil.which", lambda n: f"/b/{n}" if n in there else None)
        return toolchain.tool.__wrapped__

    assert finds("clang", "clang-22")("clang") == "/b/clang"
    assert finds("clang-22", "clang-23", "clang-16")("clang") == "/b/clang-22"
    assert finds("clang-14", "clang-13")("clang") == "/b/clang-14"
    assert finds("clang-13")("clang") == ""
    assert finds("gcc-16")("gcc") == ""


# --- the suite and CUDA on the host ------------------------------------------------------------


def test_a_kernel_of_the_suite_is_a_program_with_its_inputs():
    kernels = suite_kernels()
    assert list(kernels) == sorted(kernels)
    dot = kernels["dot"]
    assert dot.versions[:2] == ("serial", "openmp")
    ranges = dot.inputs.ranges
    assert (ranges["seed"], dot.inputs.arguments) == (
        InputRange(1, 1e6, kind="seed"), ("{n}", "{steps}", "{seed}"))  # fmt: skip
    assert (ranges["n"].low, ranges["n"].high, ranges["steps"].low, ranges["steps"].high) == (
        *dot.n, *dot.steps)  # fmt: skip
    assert 0 < dot.n[0] < dot.n[1]
    serial, cuda = dot.program(), dot.program("cuda")
    assert (list(serial.files), serial.language, serial.name) == (
        ["main.c"],
        "serial",
        "dot/serial",
    )
    assert (list(cuda.files), cuda.language, cuda.flags) == (["main.cu"], "cuda", ("-O2", "-lm"))
    naive = next(k for k in kernels.values() if "naive" in k.versions).program("naive")
    assert naive.language == "serial"


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
def test_a_cuda_program_for_the_host_in_full():
    text = "void g(int *a) { f<<<2, 32>>>(a); h<<<1, 1>>>(); }"
    flags = ("-O2", "-arch=sm_80", "-lm", "-lcudart", "-DN=3", "-g", "-std=c++17", "-Xptxas")
    program = Program({"a.cu": text, "t.txt": text, "cuda.h": "x"}, "cuda", ("make",),
                      ("./own", "7"), flags)  # fmt: skip
    made = on_host(program)
    assert (made.build, made.run) == ((), ("./program", "7"))
    assert made.flags == ("-include", HEADER, "-I.", "-O2", "-lm", "-DN=3", "-g", "-std=c++17")
    assert made.files["t.txt"] == text
    launch = "cuda_on_host::launch(cuda_on_host::Config"
    assert made.files["a.cu"] == (
        f'void g(int *a) {{ {launch}(2, 32), "f", [=](auto... x) {{ f(x...); }}, a); '
        f'{launch}(1, 1), "h", [=](auto... x) {{ h(x...); }}); }}')  # fmt: skip
    assert made.files["cuda.h"] == "x"
    assert {made.files[h] for h in NVIDIA_HEADERS[1:]} == {f'#include "{HEADER}"\n'}
    assert "namespace cuda_on_host" in made.files[HEADER]


@pytest.mark.skipif(bool(parser_absent()), reason=parser_absent())
@pytest.mark.parametrize(("text", "made"), [
    ("#define R(x) k<<<x, 2>>>(x)\n",
     '#define R(x) cuda_on_host::launch(cuda_on_host::Config(x, 2), "k", '
     "[=](auto... x) { k(x...); }, x)\n"),
    ("#define R(x) k(x)\n", None), ("void f() { g(1); }", None), ("int a, b[3];", None),
    ("__global__ void k() {\n  __shared__ int a = 3;\n}\n", None),
    ("__global__ void k() {\n  __shared__ float s[4], *p;\n}\n",
     "__global__ void k() {\n  float (&s)[4] = cuda_on_host::shared<float[4], 192>(); "
     "float *(&p) = cuda_on_host::shared<float*, 193>();\n}\n"),
    ("__global__ void k() {\n  extern __shared__ int a[];\n}\n",
     "__global__ void k() {\n  int *a = (int *)cuda_on_host::dynamic_shared();\n}\n"),
    ("void f() { k<<<1,\n  2>>>(a, g<<<3, 4>>>(b)); }",
     'void f() { cuda_on_host::launch(cuda_on_host::Config(1,\n  2), "k", [=](auto... x) '
     '{ k(x...); }, a, cuda_on_host::launch(cuda_on_host::Config(3, 4), "g", [=](auto... x) '
     "{ g(x...); }, b)); }"),
])  # fmt: skip
def test_launches_and_shared_variables_are_rewritten_to_the_letter(text, made):
    assert rewritten(text) == (text if made is None else made)


def test_endings_of_runs_in_words():
    run = SandboxRun(0, "", "", 0.1, 0.1, 0)
    assert (run.ok, replace(run, stopped="x").ok, replace(run, status=1).ok) == (True, False, False)
    words = {-9: "ended by signal 9 (SIGKILL)", 137: "ended by signal 9 (SIGKILL)",
             -31: "ended by signal 31 (SIGSYS)", 1: "ended with status 1",
             128: "ended with status 128", 129: "ended by signal 1 (SIGHUP)",
             160: "ended with status 160", -32: "ended with status -32"}  # fmt: skip
    assert {s: replace(run, status=s).ending for s in words} == words
    assert replace(run, status=3, stopped="stopped after 2 s").ending == "stopped after 2 s"
    assert SandboxLimits() == SandboxLimits(20.0, 20.0, 2**31, 2**26, 64, 2**20)
