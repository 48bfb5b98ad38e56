"""What speaks against threads and lanes, in which order it is asked, and whether it rejects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code import rungs_measure, rungs_races, rungs_run, toolchain
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.device_kernels.kernel_work import kernel_work
from rheostat.measurement.code.parsing.similarity import c_tokens, line_similarity, token_similarity
from rheostat.measurement.code.parsing.syntax_tree import DEEPEST, nesting, syntax_tree
from rheostat.measurement.code.programs.hecbench import (
    HEADERS,
    hecbench_names,
    read_hecbench,
    with_arguments,
)
from rheostat.measurement.code.programs.manifest import write_manifest
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs, inputs_of
from rheostat.measurement.code.races.lock_sets import WAITING
from rheostat.measurement.code.rungs_run import MORE_THREADS
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.verdict import FAILED, NOT_SHOWN, PASSED, Finding
from rheostat.measurement.code.workbench import Built, _command
from tests.measurement.code.rung_cases import LARGE, SMALL, SMALLER, given, lacks, of, program
from tests.measurement.scripted import done

FOUND = [Finding("races", "a.c", 9, "odd")]


def with_text(case, text, language="openmp", **more):
    own = replace(
        program("candidate", language), files={"a.c": f"int candidate;\n{text}\n"}, **more
    )
    return replace(case, candidate=own)


@pytest.fixture
def asked(monkeypatch):
    """What each check says, and in which order they are asked."""
    says = dict.fromkeys(("threads", "order", "equals", "locks"), ())
    log = []

    def check(name):
        return lambda *_: log.append(name) or says[name]

    functions = ("_threads_race", "in_another_order", "among_equals", "without_common_lock")
    for name, function in zip(says, functions, strict=True):
        monkeypatch.setattr(rungs_races, function, check(name))
    return says, log


@pytest.mark.parametrize(("text", "checks", "how"), [
    ("", ["threads", "order"], ""),
    ("#pragma omp critical", ["threads", "order", "equals", "locks"], "; lock sets"),
    ("#pragma omp atomic", ["threads", "order", "locks"], "; lock sets"),
    ("std::mutex m;", ["threads", "order", "equals"], ""),
])  # fmt: skip
def test_threads_are_asked_in_turn_and_how_is_said(case, asked, text, checks, how):
    _, log = asked
    made = rungs_races.races(with_text(case, text))
    assert (made.state, log) == (PASSED, checks)
    assert made.reason == f"Archer, 4 and 3 threads, other orders of threads{how}"


@pytest.mark.parametrize(("check", "state"), [
    ("threads", FAILED), ("order", FAILED), ("equals", FAILED), ("locks", NOT_SHOWN),
])  # fmt: skip
def test_the_first_that_speaks_against_decides(case, asked, check, state):
    says, log = asked
    says[check] = FOUND
    made = rungs_races.races(with_text(case, "#pragma omp critical"))
    assert (made.state, made.findings) == (state, tuple(FOUND))
    assert log[-1] == check
    if state == NOT_SHOWN:
        assert made.reason.endswith(rungs_races.LUCK)


@pytest.mark.parametrize(("text", "build", "why"), [
    ("#pragma omp taskloop reduction(+:s)", (), rungs_races.UNKNOWN_REDUCTION),
    ("#pragma omp task in_reduction(+:s)", (), rungs_races.UNKNOWN_REDUCTION),
    ("#pragma omp ordered doacross(sink: i)", (), rungs_races.UNKNOWN_DOACROSS),
    ("#pragma omp task", (), ""), ("#pragma omp task", ("make",), rungs_races.UNKNOWN),
    ("#pragma omp for", ("make",), ""),
])  # fmt: skip
def test_a_report_on_what_a_checker_does_not_know_rejects_nobody(case, asked, text, build, why):
    says, log = asked
    says["threads"] = FOUND
    made = rungs_races.races(with_text(case, text, build=build))
    assert made.state == (NOT_SHOWN if why else FAILED)
    assert made.reason.endswith(why)
    assert log == ["threads"]


def test_what_a_build_of_its_own_makes_is_watched_as_it_is(case, asked):
    _, log = asked
    made = rungs_races.races(with_text(case, "#pragma omp critical", build=("make",)))
    assert (made.state, made.reason, log) == (PASSED, "Archer, 4 and 3 threads", ["threads"])


def test_lanes_that_update_one_scalar_are_not_shown_to_be_right(case, box):
    loop = "#pragma omp simd\nfor (int i = 0; i < n; i++) s += a[i];"
    simd = with_text(case, loop, "serial")
    made = rungs_races.races(simd)
    assert made.state == NOT_SHOWN
    assert made.reason.endswith(rungs_races.BY_COMPILER)
    case.reference.original = replace(case.original, files={"a.c": f"int original;\n{loop}"})
    made = rungs_races.races(replace(simd))
    assert (made.state, made.reason) == (PASSED, "iterations of simd loops at once")


def test_a_dynamic_loop_behind_which_nobody_waits_is_watched_under_a_schedule_of_its_own(case, box):
    text = "#pragma omp for schedule(dynamic) nowait"
    rungs_races.races(with_text(case, text))
    built = [a for a in box.log if a.what == "build races"]
    plain = len(built)
    box.log.clear()
    rungs_races.races(with_text(case, text.replace(" nowait", "  ")))
    assert len([a for a in box.log if a.what == "build races"]) == plain - 1


def test_another_order_is_tried_with_eight_threads_twice_and_at_edges(case, monkeypatch):
    runs = []
    monkeypatch.setattr(rungs_races, "_threads_race", lambda *_: ())
    monkeypatch.setattr(rungs_races, "in_another_order",
                        lambda case, program, some: runs.extend(some) or [])  # fmt: skip
    case.reference.edges = (given(8, 0.01), given(9, 0.1))
    case.reference.expected = (LARGE, given(700, 0.09))
    rungs_races.races(with_text(case, ""))
    assert [(e.given.arguments[0], n) for e, n in runs] == [
        (k, 8) for k in ("5", "3", "700", "5", "3", "700", "8")]  # fmt: skip
    assert WAITING.startswith(" and threads")


def test_a_candidate_that_goes_by_the_number_of_threads_has_each_up_to_sixty_four(case, box):
    numbered = with_text(case, "omp_get_thread_num();")
    numbered.__dict__["own_edges"] = (SMALLER,)
    case.reference.edges = (given(8, 0.049), given(9, 0.05))
    made = rungs_run.threads(numbered)
    counts = ", ".join(map(str, (*range(2, 65), *MORE_THREADS)))
    assert made.reason == f"{counts} threads and 1024 threads under the sanitizers"
    asked = [(a.command[-1], int(a.environment["OMP_NUM_THREADS"])) for a in box.asked("run gcc")]
    assert asked == [("900", 2), ("900", 4), ("900", 3), ("3", 2), ("3", 4), ("3", 3),
                     *(("700", n) for n in range(2, 65)), ("3", 2), ("8", 8),
                     *(("700", n) for n in MORE_THREADS), ("3", 2), ("3", 5)]  # fmt: skip
    case.reference.original = replace(
        case.original, files={"a.c": "int original = omp_get_num_threads();"})  # fmt: skip
    assert not rungs_run.by_number(replace(numbered))
    assert SandboxLimits().processes == 64


def test_the_output_rung_tells_of_rare_inputs_other_machines_and_what_was_not_reached(
    case, monkeypatch
):
    doubted = (((lambda case: FOUND), "no run shows it"),)
    for name, by, state in (("_among_many", lambda case: FOUND, FAILED),
                            ("elsewhere", lambda case: FOUND, FAILED),
                            ("DOUBTS", (doubted,), NOT_SHOWN)):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(rungs_run, name, by)
            made = rungs_run.output(case)
            assert (made.state, made.findings) == (state, tuple(FOUND))
    case.reference.many = ((SMALL.given, "sum 5"),)
    monkeypatch.setattr(rungs_run, "_among_many", lambda case: setattr(case, "among", 1) or [])
    case.__dict__["own_edges"] = (SMALLER,)
    assert rungs_run.output(case).numbers["inputs"] == 4 + 1 + 1


# --- checkouts, manifests, texts ---------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    parallel = '#include "a.h"\n#pragma omp parallel\n'
    texts = {"a-omp/main.cpp": parallel, "a-omp/notes.txt": "x", "a-cuda/main.cu": "int c;",
             "a-cuda/a.h": "int a;", "b-omp/main.c": "int b;"}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    (tmp_path / "src" / "z-omp").write_text("no folder")
    (tmp_path / "benchmarks.yaml").write_text(
        'a:\n  test:\n    args: ["9", "x y"]\n\nb:\n  test:\n    regex: "7"\n')  # fmt: skip
    return tmp_path


def test_programs_of_a_checkout_have_their_sources_headers_and_arguments(checkout):
    assert (hecbench_names(checkout), hecbench_names(checkout, "cuda")) == (["a", "b"], ["a"])
    made = read_hecbench(checkout, "a")
    assert dict(made.files) == {
        "main.cpp": '#include "a.h"\n#pragma omp parallel\n',
        "a.h": "int a;",
    }
    assert (made.language, made.name, made.flags) == ("openmp", "a-omp", ("-O3", "-lm"))
    assert made.inputs.arguments == ("9", "x y")
    assert read_hecbench(checkout, "a", arguments=()).inputs.arguments == ()
    assert read_hecbench(checkout, "b").inputs.arguments == ()
    assert read_hecbench(checkout, "b").language == "serial"
    assert read_hecbench(checkout, "a", "cuda").language == "cuda"
    assert with_arguments(made, "1", "2").inputs.arguments == ("1", "2")
    assert ".cuh" in HEADERS
    with pytest.raises(DataError, match="no program 'c' in src; there are 2 of omp: a, b"):
        read_hecbench(checkout, "c")
    with pytest.raises(DataError, match="no program 'a' in src; there are none of sycl"):
        read_hecbench(checkout, "a", "sycl")
    (checkout / "benchmarks.yaml").unlink()
    assert read_hecbench(checkout, "a").inputs.arguments == ()


def test_a_written_manifest_says_what_is_not_usual_alone(tmp_path):
    import json

    ranges = {"n": InputRange(1, 9, multiple_of=2), "m": InputRange(1, 1, kind="seed")}
    own = Program({"d/a.c": "int a;"}, inputs=ProgramInputs(ranges, ("{n}", "x y")), flags=("-O2",))
    write_manifest(own, tmp_path / "new" / "p.json")
    assert (tmp_path / "new" / "d" / "a.c").read_text() == "int a;"
    assert json.loads((tmp_path / "new" / "p.json").read_text()) == {
        "language": "serial", "files": ["d/a.c"], "run": "./program", "flags": "-O2",
        "inputs": {"n": {"high": 9, "multiple_of": 2}, "m": {"kind": "seed"},
                   "arguments": "'{n}' 'x y'", "stdin": ""},
    }  # fmt: skip


def test_sources_are_alike_by_tokens_and_by_lines():
    assert c_tokens("x=\"a // b\" + 'c'; /* no\nmore */ y->z[1.5e-3] <<= 2;") == [
        "x", "=", '"a // b"', "+", "'c'", ";", "y", "->", "z", "[", "1.5e-3", "]", "<<=", "2", ";",
    ]  # fmt: skip
    assert c_tokens("x=.5f-0x1p+3+1e9") == ["x", "=", ".5f", "-", "0x1p+3", "+", "1e9"]
    assert token_similarity("a b c d", "a b x d") == 0.75
    assert token_similarity("", "") == 1.0
    assert line_similarity("a\na\nb", "a\nb\nb") == pytest.approx(2 / 3)
    assert line_similarity("a", "a\nb\nc\nd") == 0.25
    assert line_similarity("", "") == 0.0


def test_brackets_within_brackets_have_a_bound():
    assert nesting(b"([{}])") == 3
    assert nesting(b"") == 0
    assert nesting(b")))((") == 2
    deep = b"(" * DEEPEST + b")" * DEEPEST
    syntax_tree(b"int a = " + deep + b";")
    with pytest.raises(DataError, match="at most 1,000 others, got 1,001: no compiler takes it"):
        syntax_tree(b"(" + deep + b")")


@pytest.mark.parametrize(("text", "ranges"), [
    ("n = atoi(argv[1]);", {"n": InputRange(48.0, 384.0)}),
    ("f = atof(argv[1]);", {"f": InputRange(0.5, 2.0, kind="real")}),
    ("f = argc > 1 ? atof(argv[1]) : 3.0;", {"f": InputRange(1.5, 6.0, kind="real")}),
    ("n = argc > 1 ? atoi(argv[1]) : 2;", {"n": InputRange(2, 3)}),
    ("#define N 64\nint n = argc > 1 ? atoi(argv[1]) : N;", {"n": InputRange(4, 80)}),
    ("n = atoi(argv[2]);", {}), ("n = atoi(argv[1]); n = atoi(argv[2]);", {}), ("x = 3;", {}),
    ("f(atoi(argv[1]));", {"a1": InputRange(48.0, 384.0)}),
])  # fmt: skip
def test_guessed_ranges_lie_around_the_source_s_own_defaults(text, ranges):
    assert dict(inputs_of(text).ranges) == ranges


def test_a_sanitized_run_that_differs_is_asked_about_once_more(case, box):
    box.says["candidate", "run sanitizers"] = done("sum -nan")
    made = rungs_run.sanitizers(of(case, "openmp"))
    assert made.state == FAILED
    threads = [a.environment["OMP_NUM_THREADS"] for a in box.asked("run sanitizers")]
    assert threads == ["2", "1"]  # what one thread shows is no race


# --- more pairs, other names -------------------------------------------------------------------


def test_more_pairs_are_taken_while_no_change_can_be_told_and_all_of_them_count(case, box):
    """The candidate takes 0.9 and 1.2 s in turns: six pairs tell nothing, nor do twelve."""
    walls = iter([0.9, 1.2] * 99)
    box.says["original", "start"] = done(wall_s=0.0)
    box.says["original", "run gcc"] = done(LARGE.output, wall_s=1.0)
    box.says["candidate", "run gcc"] = lambda a: done(LARGE.output, wall_s=next(walls))
    made = rungs_measure.time(replace(case, options=RungOptions(pairs=6, most_pairs=12)))
    assert made.numbers["pairs"] == 12
    assert made.numbers["original_runtime_s"] == 1.0
    assert made.numbers["runtime_s"] == pytest.approx(1.05)
    runs = [a.whose for a in box.asked("run gcc")]
    assert runs.count("original") == runs.count("candidate") == 12
    one = rungs_measure.time(replace(case, options=RungOptions(pairs=6)))
    assert one.numbers["pairs"] == 6
    of_use = {
        to_beat: rungs_measure.time(
            replace(case, options=RungOptions(pairs=6, most_pairs=12, to_beat=to_beat))
        ).numbers["pairs"]
        for to_beat in (1.0, 0.9)
    }
    assert of_use == {1.0: 12, 0.9: 6}  # 0.9 is not below 0.9 by 5 %
    box.says["original", "run gcc"] = done(LARGE.output, wall_s=1.0, cpu_s=4.0)
    dear = rungs_measure.time(replace(case, options=RungOptions(pairs=6, most_pairs=12)))
    assert dear.numbers["pairs"] == 6


def test_kernels_that_oclgrind_cannot_run_are_said(case, box):
    opencl = of(case, "opencl")
    case.reference.original = program("original", "opencl")
    box.says["candidate", "run gcc"] = done("", "z" * 300, 4)
    said = "Instructions executed for kernel 'f':\n  990 - br\n"
    box.says["original", "run gcc"] = done(said)
    lacks(lambda: kernel_work(opencl), "oclgrind ended with status 4: " + "z" * 200)


def test_a_program_has_another_name_only_where_it_is_a_file_of_its_folder(tmp_path):
    made = Built(program("candidate"), toolchain.GCC, tmp_path, done(), ("./program", "x"))
    assert _command(made, "sum") == ("./program", "x")  # there is none
    (tmp_path / "program").write_text("code")
    assert _command(made, "") == ("./program", "x")
    assert _command(made, "sum") == ("./sum", "x")
    assert (tmp_path / "sum").samefile(tmp_path / "program")
    (tmp_path / "taken").write_text("another")
    assert _command(made, "taken") == ("./program", "x")
    assert _command(replace(made, command=("/bin/true",)), "sum") == ("/bin/true",)
