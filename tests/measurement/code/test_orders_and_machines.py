"""Other orders, equal values, other machines, lock sets: which runs are made, what they tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import rungs_races, toolchain
from rheostat.measurement.code.altered.coarse_data import among_equals, coarse, picks
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.races import lock_sets
from rheostat.measurement.code.races.lock_sets import in_another_order, without_common_lock
from rheostat.measurement.code.races.simd_updates import lanes_update
from rheostat.measurement.code.reached.compared_numbers import numbers_in
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.surroundings import another_library
from rheostat.measurement.code.surroundings.another_library import (
    OTHERWISE,
    UNSIGNED,
    _reordered,
    elsewhere,
)
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Workbench, roomy
from tests.measurement.code.rung_cases import (
    LARGE,
    SMALL,
    SMALLER,
    failed,
    given,
    lacks,
    of,
    program,
)
from tests.measurement.scripted import done

ON_THREE = {"RHEOSTAT_PROCESSORS": "3"}
# --- many equal values -------------------------------------------------------------------------


def runs_of(box, whose):
    return [a for a in box.log if a.whose == whose and a.what.startswith("run")]


def test_equal_values_are_tried_on_one_thread_and_then_on_eight_in_three_orders(case, box):
    openmp = of(case, "openmp")
    assert among_equals(openmp, openmp.candidate) == []
    assert [a.command[-1] for a in runs_of(box, "original")] == ["5", "3"]
    asked = [(a.command[-1], a.environment["OMP_NUM_THREADS"],
              a.environment["RHEOSTAT_GIVES_WAY"]) for a in runs_of(box, "candidate")]  # fmt: skip
    assert asked == [(n, t, s) for n in ("5", "3")
                     for t, s in (("1", "1"), ("8", "1"), ("8", "2"), ("8", "3"))]  # fmt: skip
    last = runs_of(box, "candidate")[3]
    assert last.environment["OMP_SCHEDULE"] == "static,1"
    assert last.limits == roomy(SMALL.limits(8), 5.0)


@pytest.mark.parametrize(("wrong", "count"), [("1", 0), ("2", 1), ("3", 1)])
def test_what_another_order_shows_among_equals_is_told_unless_one_thread_shows_it(
    case, box, wrong, count
):
    openmp = of(case, "openmp")
    box.says["candidate", "run sh"] = lambda a: done(
        "sum 9" if a.environment["RHEOSTAT_GIVES_WAY"] == wrong else "sum 5")  # fmt: skip
    case.reference.small = (SMALL,)
    findings = among_equals(openmp, openmp.candidate)
    assert len(findings) == count
    if count:
        assert findings[0].message == (
            "with n=5 where many values are equal, on 8 threads and threads that wait for each "
            "other at random, output line 1: expected 'sum 5', got 'sum 9'")  # fmt: skip


def test_what_does_not_run_on_coarse_data_tells_nothing(case, box):
    openmp = of(case, "openmp")
    box.says["candidate", "run sh"] = done(stopped="stopped after 2 s")
    assert among_equals(openmp, openmp.candidate) == []
    box.says["candidate", "run sh"] = done("sum 9")
    box.says["original", "run sh"] = done("", "", 3)
    assert among_equals(openmp, openmp.candidate) == []
    assert runs_of(box, "original")
    case.reference.original = replace(case.original, build=("make",))
    box.log.clear()
    assert among_equals(openmp, openmp.candidate) == []
    assert box.log == []


def test_a_build_with_coarse_data_fails_without_a_word(case, box):
    openmp = of(case, "openmp")
    box.says["candidate", "build sh"] = done("", "x", 1)
    assert among_equals(openmp, openmp.candidate) == []
    assert runs_of(box, "original") == []


def test_a_coarse_build_goes_by_way_of_assembler_text_and_links_what_it_needs(tools):
    made = coarse(Program({"a.c": "int x;", "b.cc": "", "c.h": ""}, flags=("-O2", "-lm")))
    assert made.build[:2] == ("sh", "-c")
    steps = made.build[2].split(" && ")
    assert [s.split()[0] for s in steps] == ["{cxx}", "sed", "printf"] * 2 + ["{cxx}"]
    assert "-o coarse0.ll a.c" in steps[0]
    assert "-o coarse1.ll b.cc" in steps[3]
    assert steps[-1] == ("{cxx} -O0 -no-pie -fopenmp -fuse-ld=gold coarse0.ll coarse1.ll "
                         "coarse_data.c -lm -o program")  # fmt: skip
    assert set(made.files) == {"a.c", "b.cc", "c.h", "coarse_data.c"}
    locked = coarse(lock_sets.with_runtime(Program({"a.c": "#pragma omp task"}, "openmp")))
    assert locked.build[2].endswith("coarse_data.c task_memory.c rheostat_lock_sets.o -o program")
    assert locked.build[2].startswith("{cc} {flags}")
    assert not picks(Program({"a.c": "#pragma omp critical"}, build=("make",)))
    assert not picks(Program({"a.c": "#pragma omp for"}))


# --- other machines, other libraries -----------------------------------------------------------


def answers(case, monkeypatch, candidate, original=None):
    """What the original or the candidate prints, by the environment; what was asked for."""
    asked = []

    def run_each(self, built, every, limits, **how):
        asked.append((built.program, [g.words for g in every], how))
        says = candidate if built.program.text != case.original.text else original
        return [f"sum {g.values['n']}" if says is None else says(g, how["environment"])
                for g in every]  # fmt: skip

    monkeypatch.setattr(Workbench, "run_each", run_each)
    return asked


@pytest.mark.parametrize("name", ["omp_get_num_procs", "sysconf", "get_nprocs", "get_nprocs_conf",
                                  "std::thread::hardware_concurrency()"])  # fmt: skip
def test_who_asks_for_processors_is_told_one_three_sixty_four_and_nothing(
    case, box, name, monkeypatch
):
    box.says["candidate", "nm"] = done(f"                 U {name}@GLIBC_2.2.5\n")
    box.says["candidate", "objdump"] = done("")
    asked = answers(case, monkeypatch, None)
    assert elsewhere(case) == []
    assert [words for _, words, _ in asked] == [["n=5", "n=3", "n=900"]] * 4
    counts = [how["environment"]["RHEOSTAT_PROCESSORS"] for *_, how in asked]
    assert counts == ["1", "3", "64", "0"]
    assert {(how["threads"], how["beside"]) for *_, how in asked} == {(2, ("another_library",))}
    answers(case, monkeypatch, lambda g, e: f"sum {int(g.values['n']) + (e == ON_THREE)}")
    (found,) = elsewhere(case)
    assert found.message == (
        "with n=5 and 3 processors, output line 1: expected 'sum 5', got 'sum 6'")  # fmt: skip


@pytest.mark.parametrize(("calls", "ways"), [
    ("calloc", 0), ("clGetDeviceInfo", 4), ("clGetEventProfilingInfo", 1), ("qsort", 1)
])  # fmt: skip
def test_what_the_library_of_opencl_calls_for_itself_the_candidate_does_not_ask_for(
    case, calls, ways, monkeypatch
):
    plain = case.bench.build(program("candidate", "opencl"), case.kind)
    native = of(case, "serial", flags=("-O1",))
    case.bench.imported[plain.folder.name] = frozenset({calls})
    case.bench.imported[native.built.folder.name] = frozenset({"sysconf", "clock_gettime"})
    asked = answers(case, monkeypatch, None)
    assert elsewhere(replace(native, plain=plain)) == []
    assert len(asked) == ways
    assert elsewhere(native) == []
    assert len(asked) == ways + 5


def test_what_c_leaves_open_is_done_otherwise_where_it_is_asked_for(case, box, monkeypatch):
    def wrong(g, _):
        return f"sum {int(g.values['n']) + (g.values['n'] != '5')}"

    box.says["candidate", "objdump"] = done("")
    box.says["candidate", "nm"] = done("                 U bsearch@GLIBC_2.2.5\n")
    asked = answers(case, monkeypatch, wrong)
    assert elsewhere(case) == []
    assert asked == []
    case.bench.imported.clear()
    box.says["candidate", "nm"] = done("                 U qsort@GLIBC_2.2.5\n")
    (found,) = elsewhere(case)
    assert found.message == (
        f"with n=3{OTHERWISE}, output line 1: expected 'sum 3', got 'sum 4'")  # fmt: skip
    assert [words for _, words, _ in asked] == [["n=5", "n=3", "n=900"], ["n=3", "n=900"]]
    answers(case, monkeypatch, wrong, wrong)  # the original hangs on it, too
    assert elsewhere(case) == []
    answers(case, monkeypatch, lambda *_: None)
    assert elsewhere(case) == []


def test_sorts_of_c_plus_plus_are_replaced_but_where_a_build_is_the_program_s_own(case):
    sorts = Program({"a.cpp": "std::sort(v.begin(), v.end());"}, flags=("-O2",))
    reordered, plain = _reordered(sorts)
    assert reordered.flags == ("-include", "another_library.h", "-O2")
    assert plain is sorts
    holds = replace(sorts, files={"a.cpp": "std::multimap<int, int> m;"})
    both, order, plain = _reordered(holds)  # containers of the program's own may not build so
    assert [p.flags[1] for p in (both, order)] == ["another_containers.h", "another_library.h"]
    assert set(both.files) == {"a.cpp", "another_containers.h", "another_library.h"}
    starts = replace(sorts, files={"a.cpp": "auto f = std::async(run);"})
    both, tasks, plain = _reordered(starts)
    assert both.flags[:4] == ("-include", "another_tasks.h", "-include", "another_library.h")
    assert tasks.flags == ("-include", "another_tasks.h", "-O2")
    for other in (replace(sorts, build=("make",)), Program({"a.c": "sort (v);"}),
                  Program({"a.cpp": "resort(v);"})):  # fmt: skip
        assert _reordered(other) == (other,)


def test_sorts_are_replaced_only_where_equal_elements_are_done_otherwise(case, box, monkeypatch):
    """What shows with another type of characters is not said of an order, nor built for it."""
    case.candidate = Program({"a.cc": "candidate std::sort(v.begin(), v.end());"})
    monkeypatch.setattr(another_library, "_built_otherwise",
                        lambda _: iter([(UNSIGNED, {}, 1, ("-funsigned-char",))]))  # fmt: skip
    asked = answers(case, monkeypatch, None)
    assert elsewhere(case) == []
    with_header = ["-include" in program.flags for program, _, _ in asked]
    assert with_header == [False, True]
    assert "-funsigned-char" in asked[0][0].flags


# --- inputs at a candidate's own numbers -------------------------------------------------------


@pytest.mark.parametrize(("text", "numbers"), [
    ("n == 17 || n == 300", [17, 300]), ("n == 20 || n == 30", [20, 30, 600]),
    ("{3, 4, 5, 6, 7}", [5, 6, 7, 30, 35, 42]), ("n == 2 || n == 1", []), ("n == 1001", []),
    ("n == 1000", [1000]), ("n == 7 || n == 7", [7]), ("8", []), ("8 + 8", [8]), ("n > 3", [3]),
    ("{2000, 3000, 10, 20}", [10, 20, 200]), ("1 << 9", [9, 512]), ("{9, 10, 11, 12, 13, 14}",
     [12, 13, 14, 156, 168, 182]),
])  # fmt: skip
def test_numbers_of_both_and_products_of_two_of_a_candidate_s_are_tried_as_sizes(
    case, text, numbers
):
    asked = []
    case.reference.around = lambda some: asked.append(list(some)) or (SMALL,)
    text_of_original = "int original = 8, half = 8 / 2.0; double r = original / 900.0f;"
    case.reference.original = replace(case.original, files={"a.c": text_of_original})
    own = replace(case, candidate=replace(case.candidate, files={"a.c": f"int a = {text};"}))
    assert own.own_edges == (SMALL,)
    assert asked == [sorted({*numbers, 8, 900})]
    cuda = replace(own, candidate=replace(own.candidate, language="cuda", files={"a.cu": text}))
    assert cuda.own_edges == ()
    seeds = ProgramInputs({"n": InputRange(1, 1000, kind="seed")}, ("{n}",))
    case.reference.original = replace(case.original, inputs=seeds)
    assert replace(own).own_edges == ()


def test_numbers_of_a_text_are_whole_and_not_beyond_a_thousand_million():
    assert numbers_in("1.5 + x3 + 2e7 - 40 + 0x10UL") == [40, 16]
    assert numbers_in("1000000000") == []
    assert numbers_in("999999999 * 1") == [999999999, 999999999, 1]
    assert numbers_in("999999999 * 2") == [999999999, 2]
    assert numbers_in("1 << 30; 1 << 31; 1 << 29") == [1, 30, 1, 31, 536870912, 1, 29]


# --- waiting threads and lock sets -------------------------------------------------------------


def test_threads_wait_in_another_order_on_each_input(case, box):
    openmp = of(case, "openmp")
    runs = [(SMALL, 8), (LARGE, 3)]
    assert in_another_order(openmp, openmp.candidate, runs) == []
    asked = [(a.command[-1], a.environment["RHEOSTAT_GIVES_WAY"], a.environment["OMP_NUM_THREADS"],
              a.environment["OMP_SCHEDULE"], a.limits)
             for a in runs_of(box, "candidate")]  # fmt: skip
    assert asked == [("5", "1", "8", "static,1", roomy(SMALL.limits(8), 5.0)),
                     ("900", "2", "3", "static,1", roomy(LARGE.limits(3), 5.0))]  # fmt: skip
    box.says["candidate", "run races"] = done(stopped="stopped")
    assert in_another_order(openmp, openmp.candidate, runs) == []
    box.says["candidate", "run races"] = lambda a: done(
        f"sum {int(a.command[-1]) % 900}"
    )  # the second input alone
    (found,) = in_another_order(openmp, openmp.candidate, runs)
    assert found.message.startswith("with n=900 and threads that wait for each other at random")
    box.says["candidate", "build races"] = done("", "x", 1)
    other = of(case, "openmp", flags=("-O3",))
    assert in_another_order(other, other.candidate, runs) == []


PAIR = "lock sets: 0x401201 0x401301\n"


def named(lines):
    """Runs report a pair of accesses, and addr2line knows these places."""

    def said(asked):
        if asked.command[0] != "addr2line":
            return done("sum 5", PAIR * 4)
        assert asked.command[1:3] == ("-e", "./program")
        return done(lines.get(asked.command[3], "??:?"))

    return said


@pytest.mark.parametrize(("lines", "wanted"), [
    ({"0x401200": "/sandbox/a.c:7 (discriminator 2)", "0x401300": "/sandbox/a.c:9"},
     Finding("races", "a.c", 7, "this access and the one in line 9 have no lock in common, and no "
             "barrier is between them")),
    ({"0x401200": "/sandbox/d/b.c:7", "0x401300": "/sandbox/a.c:7"},
     Finding("races", "d/b.c", 7, "this access and itself in another thread have no lock in "
             "common, and no barrier is between them")),
    ({}, Finding("races", "a.c", 0, "this access and itself in another thread have no lock in "
                 "common, and no barrier is between them")),
])  # fmt: skip
def test_accesses_without_a_common_lock_are_named_by_the_lines_of_both(case, box, lines, wanted):
    openmp = of(case, "openmp")
    box.says["candidate", "run races"] = named(lines)
    told = without_common_lock(openmp, openmp.candidate, [(SMALL, 4), (LARGE, 4)])
    assert told == (wanted,) * 3
    asked = [a for a in runs_of(box, "candidate") if a.command[0] != "addr2line"]
    assert [(a.command[-1], a.environment["OMP_NUM_THREADS"]) for a in asked] == [("5", "4")]
    assert asked[0].limits == roomy(SMALL.limits(4), 5.0)
    assert "RHEOSTAT_LOCKS" not in asked[0].environment


def test_without_a_tool_for_places_an_access_is_of_the_file(case, tools, box):
    openmp = of(case, "openmp")
    box.says["candidate", "run races"] = done("sum 5", PAIR)
    tools.add("addr2line")
    (found,) = without_common_lock(openmp, openmp.candidate, [(SMALL, 4)])
    assert (found.file, found.line) == ("a.c", 0)
    box.says["candidate", "run races"] = done("sum 5")
    assert without_common_lock(openmp, openmp.candidate, [(SMALL, 4), (LARGE, 2)]) == ()
    box.says["candidate", "build races"] = done("", "x", 1)
    other = of(case, "openmp", flags=())
    assert without_common_lock(other, other.candidate, [(SMALL, 4)]) == ()


@pytest.mark.parametrize(("word", "locks"), [
    ("task", True), ("ordered", True), ("flush", True), ("atomic capture", True),
    ("atomic  read", True), ("atomic update", False), ("omp_set_nest_lock(&l)", True),
    ("omp_unset_lock(&l)", False), ("seq_cst", True), ("barrier", False),
])  # fmt: skip
def test_where_more_than_barriers_orders_threads_only_accesses_under_locks_count(
    case, box, word, locks
):
    own = program("candidate", "openmp")
    own = replace(own, files={"a.c": f"int candidate;\n#pragma omp {word}\n"})
    without_common_lock(replace(case, candidate=own), own, [(SMALL, 4)])
    (run,) = runs_of(box, "candidate")
    assert (run.environment.get("RHEOSTAT_LOCKS") == "1") is locks
    assert run.environment["OMP_SCHEDULE"] == "static,1"


def test_what_the_original_does_too_is_no_finding(case, box):
    openmp = of(case, "openmp")
    box.says["candidate", "run races"] = box.says["original", "run races"] = named(
        {"0x401200": "/sandbox/a.c:7"})  # fmt: skip
    critical = {"a.c": "int original;\n#pragma omp critical\n"}
    for language, files, known in (("openmp", critical, True), ("serial", critical, False),
                                   ("openmp", {"a.c": "int original;\n"}, False)):  # fmt: skip
        case.reference.original = replace(case.original, language=language, files=files)
        own = replace(openmp)
        if known:
            lacks(lambda own=own: without_common_lock(own, own.candidate, [(SMALL, 4)]),
                  "the original itself: a.c:7: this access and itself in another thread have no "
                  "lock in common, and no barrier is between them")  # fmt: skip
        else:
            assert without_common_lock(own, own.candidate, [(SMALL, 4)])


# --- simd loops --------------------------------------------------------------------------------


@pytest.mark.parametrize(("loop", "names"), [
    ("for (int i = 0; i < n; i++) s += a[i];", ["s"]),
    ("for (int i = 0; i < n; i++) { s -= 1; t = t + 2; }", ["s", "t"]),
    ("for (int i = 0; i < n; i++) k++;", ["k"]), ("for (int i = 0; i < n; i++) ++k;", ["k"]),
    ("for (int i = 0; i < n; i++) --k;", ["k"]), ("for (int i = 0; i < n; i++) s <<= 1;", ["s"]),
    ("for (int i = 0; i < n; i++) ++a[i];", []), ("for (int i = 0; i < n; i++) ++p->k;", []),
    ("for (int i = 0; i < n; i++) a[i] += 1;", []), ("for (int i = 0; i < n; i++) p.k += 1;", []),
    ("for (int i = 0; i < n; i++) *p += 1;", []), ("for (i = 0; i < n; i++) a[i] = 1;", []),
    ("for (int i = 0; i < n; i++) { double t = 0; t += a[i]; }", []),
    ("for (int i = 0; i < n; i++) { double u, t = 0; t += a[i]; }", []),
    ("for (int i = 0; i < n; i++) { // s += 1;\n a[i] = 1; }", []),
    ("for (int i = 0; i < n; i++) { /* s += 1; */ a[i] = 1; }", []),
    ("for (int i = 0; i < n; i++)\n#pragma omp atomic\n s += a[i];", []),
    ("for (int i = 0; i < n; i++) a[i] = 1;\ns += 1;", []),
    ("for (int i = 0; i < n; i++) { a[i] = (b[i]); } s += 1;", []),
    ("for (int i = 0; i < n; i++) { { a[i] = 1; } s += 1; }", ["s"]),
    ("for (int i = 0; i < n; i++) { return s; s = s + 1; }", ["s"]),
    ("for (int i = 0; i < n; i++) s += (a)[i]", ["s"]),
])  # fmt: skip
def test_scalars_that_lanes_update_are_found_and_what_is_each_lane_s_own_is_not(loop, names):
    text = f"int x;\n#pragma omp simd\n{loop}"
    made = lanes_update(Program({"a.c": text}))
    assert [f.message.split()[0] for f in made] == names
    assert {f.line for f in made} <= {2}
    assert {(f.file, f.rung) for f in made} <= {("a.c", "races")}


@pytest.mark.parametrize(("pragma", "found"), [
    ("#pragma omp simd", 1), ("#pragma omp parallel for simd", 1),
    ("#pragma omp for \\\n simd", 1), ("#pragma omp simd reduction(+: s)", 0),
    ("#pragma omp simd linear(s)", 0), ("#pragma omp simd safelen(8) \\\n reduction(+: s)", 0),
    ("#pragma omp declare simd", 0), ("#pragma omp ordered simd", 0), ("#pragma omp for", 0),
    ("#pragma omp simd reduction(+: ss)", 1),
])  # fmt: skip
def test_a_clause_of_the_loop_names_what_lanes_share(pragma, found):
    text = f"{pragma}\nfor (int i = 0; i < n; i++) s += a[i];"
    assert len(lanes_update(Program({"a.c": text}))) == found


# --- oclgrind ----------------------------------------------------------------------------------

SAID = "Read-write data race at global memory address 0x1\n\tAt line 4 of input.cl:\n"


def test_oclgrind_runs_the_ends_of_ranges_that_are_quick_at_most_four(case, tools, box):
    opencl = of(case, "opencl")
    case.reference.edges = tuple(given(k, 0.5 if k == 14 else 0.01) for k in range(11, 17))
    assert rungs_races.races(opencl).state == "passed"
    assert [a.command[-1] for a in runs_of(box, "candidate")] == ["5", "11", "12", "13", "15"]
    assert runs_of(box, "original") == []


def test_oclgrind_takes_the_ends_of_ranges_from_kernels_that_are_compiled_beforehand(case, box):
    opencl = of(case, "opencl")
    case.reference.edges = (given(11, 0.01), given(12, 0.01))
    case.reference.natively = replace(case.reference)
    case.reference.natively.edges = (given(13, 0.01),)
    assert rungs_races.races(opencl).state == "passed"
    assert [a.command[-1] for a in runs_of(box, "candidate")] == ["5", "13"]
    case.reference.natively = None
    assert rungs_races.races(opencl).state == "passed"
    assert [a.command[-1] for a in runs_of(box, "candidate")][2:] == ["5", "11", "12"]


def test_what_oclgrind_says_at_an_end_counts_where_the_original_is_clean(case, tools, box):
    opencl = of(case, "opencl")
    case.reference.edges = (given(11, 0.01),)
    report = lambda a: done("sum 1", SAID if a.command[-1] == "11" else "")  # noqa: E731
    box.says["candidate", "run gcc"] = report
    assert rungs_races.races(opencl) == failed(
        "races", Finding("races", "input.cl", 4, "Read-write data race"))  # fmt: skip
    (own,) = runs_of(box, "original")
    assert own.command[-1] == "11"
    assert own.limits == replace(roomy(given(11, 0.01).limits()), wall_s=120.0, cpu_s=120.0)
    box.says["original", "run gcc"] = report
    assert rungs_races.races(opencl).state == "passed"
    box.says["candidate", "run gcc"] = lambda a: done("", "", int(a.command[-1] == "11"))
    assert rungs_races.races(opencl).state == "passed"  # it ends with an error: another rung's
    case.reference.small = (given(11, 0.01), SMALLER)
    lacks(lambda: rungs_races.races(opencl), "oclgrind ended with status 1: ")


# --- which inputs are watched for races --------------------------------------------------------


def test_by_number_and_by_chance_more_runs_are_made(case):
    openmp = of(case, "openmp")
    case.reference.edges = (given(8, 0.09), given(9, 0.11))
    case.reference.expected = (given(800, 0.5),)

    def runs(text):
        files = {"a.c": f"int candidate;\n{text}\n"}
        own = replace(openmp, candidate=replace(openmp.candidate, files=files))
        own.__dict__["own_edges"] = (given(6, 0.01), given(7, 3.0))
        return [(e.given.arguments[0], count) for e, count in rungs_races._runs(own)]

    plain = [("5", 4), ("3", 3), ("6", 4), ("8", 4)]
    assert runs("") == plain
    numbered = [*plain[:2], ("3", 17), ("3", 129), *plain[2:]]
    assert runs("omp_get_thread_num()") == runs("#pragma omp atomic capture") == numbered
    chance = runs("#pragma omp task")
    assert chance == [("5", 4), ("3", 3), ("5", 4), ("3", 3), ("5", 4), ("3", 3),
                      *[("6", 4)] * 3, ("8", 4)]  # fmt: skip
    case.reference.expected = (given(800, 0.49),)
    assert runs("") == [("5", 4), ("3", 3), ("800", 4), *plain[2:]]


def test_limits_of_a_candidate_grow_with_its_threads():
    limits = LARGE.limits(3)
    assert (limits.cpu_s, limits.wall_s) == (33.0, 5 * 11.0 + 20 * LARGE.wall_s)
    assert limits.processes == SandboxLimits().processes + 2
    assert toolchain.GCC.family == "gcc"
