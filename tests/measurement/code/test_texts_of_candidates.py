"""Texts of programs: loops dealt out, atomics, preprocessed lines, casts, what no run shows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from rheostat.measurement.code.device_kernels import narrow_kernels
from rheostat.measurement.code.device_kernels.kernel_choices import kernel_choices
from rheostat.measurement.code.device_kernels.narrow_kernels import narrow_counters
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.raced_text import (
    dealt_unlike,
    seen_atomics,
    spread_over_threads,
)
from rheostat.measurement.code.reached.bounded_exponents import unbounded_exponents
from rheostat.measurement.code.reached.guards import guards_rounding
from rheostat.measurement.code.surroundings.addresses import _casts
from rheostat.measurement.code.surroundings.library_room import library_room
from rheostat.measurement.code.surroundings.same_text import _apart, _own, _reached
from rheostat.measurement.code.surroundings.thread_rooms import thread_rooms
from rheostat.measurement.code.surroundings.unseen import unseen
from tests.measurement.code.rung_cases import program

PLACES = """!5 = !DILocation(line: 3, column: 2, scope: !6)
!6 = distinct !DISubprogram(name: "f", file: !7)
!7 = !DIFile(filename: "./a.c", directory: "")
!8 = !DILocation(line: 9, scope: !6)
!9 = !DILocation(line: 4, column: 1, scope: !10)
!10 = distinct !DISubprogram(name: "g", file: !11)
!11 = !DIFile(filename: "/usr/include/b.h", directory: "")
"""


# --- texts -------------------------------------------------------------------------------------


def test_a_line_of_a_program_is_found_by_its_number_from_one_on():
    own = Program({"a.c": "one\ntwo"})
    assert [own.row("a.c", n) for n in (0, 1, 2, 3, -1)] == ["", "one", "two", "", ""]
    assert own.row("b.c", 1) == ""


def test_loops_get_schedules_of_their_own_only_behind_nowait():
    dynamic, wait = "#pragma omp for schedule(dynamic)", "#pragma omp for nowait"
    for text, made in ((dynamic, False), (wait, False), (f"{dynamic}\n{wait}", True),
                       (f"{dynamic} nowait", True)):  # fmt: skip
        assert (dealt_unlike(Program({"a.c": text}, "openmp")) is not None) is made
    both = dealt_unlike(Program({"a.c": dynamic, "b.c": f"{dynamic} nowait"}, "openmp"))
    assert [t.split("schedule")[1][:11] for t in both.files.values()] == [
        "(static, 2)",
        "(static, 3)",
    ]
    teams = "#pragma omp target teams distribute\n"
    assert "distribute parallel for" in spread_over_threads(Program({"a.c": teams}, "target")).text
    kept = "#pragma omp for schedule(static, 4)"
    assert spread_over_threads(Program({"a.c": kept}, "openmp")).text == kept
    parts = "#pragma omp parallel for schedule(static) if(n > 9)"
    dealt = "#pragma omp parallel for schedule(runtime) if(n > 9)"
    assert spread_over_threads(Program({"a.c": parts}, "openmp")).text == dealt
    for relied in ("static _Thread_local int a;", "#pragma omp threadprivate(a)",
                   "int me = omp_get_thread_num();"):  # fmt: skip
        both = f"{relied}\n{parts}"
        assert spread_over_threads(Program({"a.c": both}, "openmp")).text == both


@pytest.mark.parametrize(("text", "changed"), [
    ("#pragma omp atomic\nx += 1;", True), ("#pragma omp atomic update\nx -= y;", True),
    ("#pragma omp atomic\nx = x + y;", True), ("#pragma omp atomic\nx *= 2;", False),
    ("#pragma omp atomic read\nx = y;", False), ("#pragma omp atomic capture\nv = x++;", False),
    ("#pragma omp atomic\nx++;", False), ("x += 1;", False),
])  # fmt: skip
def test_atomic_sums_are_put_so_that_a_checker_sees_them(text, changed):
    assert (seen_atomics(text) != text) is changed
    if changed:
        assert "(long double)(" in seen_atomics(text)


def test_lines_of_a_preprocessor_are_those_of_the_program_s_own_files():
    files = {"a.c": "int a;\n#pragma omp for\nint c;\n", "b.h": "int d;\n"}
    said = ('# 1 "./a.c"\nint  a ;\n#pragma omp for\nint c;\n# 1 "/usr/x.h" 1\nint x;\n'
            '# 1 "b.h" 1\n\nint d;\n# 3 "a.c" 2\nint more;\n#line 7 "a.c"\n  #ident\n')  # fmt: skip
    assert dict(_own(said, files)) == {
        ("a.c", 1): "inta;", ("a.c", 2): "#pragma2", ("a.c", 3): "intc;intmore;",
        ("b.h", 2): "intd;", ("a.c", 7): "#pragma"}  # fmt: skip


def test_places_differ_where_a_file_does_from_end_to_end():
    one = {("a.c", 1): "f(", ("a.c", 2): "x)", ("b.c", 1): "y"}
    moved = {("a.c", 1): "f(x)", ("b.c", 1): "y"}
    other = {("a.c", 1): "f(", ("a.c", 2): "z)", ("b.c", 1): "y"}
    assert _apart({"gcc": one, "clang": moved}) == set()
    assert _apart({"gcc": one, "clang": other}) == {("a.c", 2)}
    assert _apart({"gcc": one, "clang": one, "tsan": {**one, ("c.c", 4): "new"}}) == {("c.c", 4)}


def test_names_of_a_line_are_followed_through_the_program_s_macros():
    own = Program({"a.c": "#define A B + 1\n# define B \\\n C\n#define D A\n"})
    assert _reached("x = A;", own) == {"x", "A", "B", "C"}
    assert _reached("y", own) == {"y"}
    loop = Program({"a.c": "#define A B\n#define B A\n"})
    assert _reached("A", loop) == {"A", "B"}


def test_casts_of_pointers_but_differences_are_counted():
    text = (
        """define i64 @f(ptr %p, ptr %q, ptr %r, ptr %s) {
  %1 = ptrtoint ptr %p to i64, !dbg !5
  %2 = ptrtoint ptr %q to i64, !dbg !8
  %3 = sub i64 %1, %2, !dbg !5
  %4 = ptrtoint ptr %r to i64, !dbg !8
  store i64 ptrtoint (ptr @g to i64), ptr %s, !dbg !5
  %6 = ptrtoint ptr %r to i64, !dbg !9
}
"""
        + PLACES
    )
    assert _casts(text, Program({"a.c": ""})) == [("a.c", 9), ("a.c", 3)]
    assert _casts(text, Program({"b.c": ""})) == []


@pytest.mark.parametrize(("language", "text", "said"), [
    ("serial", '__asm__ volatile("nop");', "assembler"), ("serial", "x = __TIME__;", "is built"),
    ("target", "omp_get_num_teams()", "number of teams"), ("openmp", "omp_get_num_teams()", ""),
    ("cuda", "#ifdef __CUDA_ARCH__", "compiler for a device"), ("serial", "__CUDA_ARCH__", ""),
    ("serial", "uintptr_t a", "takes an address"), ("serial", "omp_get_num_procs()", ""),
    ("opencl", 'text = "#ifdef POCL\\n"', "inside a kernel's text"), ("opencl", "#ifdef A", ""),
    ("opencl", "d, CL_DEVICE_TYPE, 8", "which device"), ("opencl", "CL_DEVICE_TYPE_ALL", ""),
    ("opencl", "CL_DEVICE_MAX_WORK_GROUP_SIZE", "which device"),
    ("opencl", "CL_KERNEL_WORK_GROUP_SIZE", "which device"), ("opencl", "CL_DEVICE_NOT_FOUND", ""),
    ("opencl", "CL_MEM_USE_HOST_PTR", "memory of its own"),
    ("serial", "char **w = argv + argc + 1;", "the environment"), ("serial", "argv + argc)", ""),
    ("serial", 'std::locale here("");', "language"), ("serial", "locals(3)", ""),
    ("opencl", "uchar mine[16]; mine[k]++;", "narrow type"), ("opencl", "uchar c = k[i];", ""),
    ("opencl", "uchar t[9][9]; rain[t[i + 2][j]] += 9;", ""),
    ("opencl", "uchar t[9][9]; t[rain[i]][j] += 9;", "narrow type"),
    ("cuda", "void f() { uchar v[9]; v[k] = x; } void g() { for (int v = 0;; v++) ; }", ""),
    ("cuda", "struct S { uchar v; }; void g() { s.v++; }", "narrow type"),
    ("opencl", '"uchar low(uchar v, uchar w)\\n" "{ return v; }\\n"; void g() { v++; }', ""),
    ("opencl", '"void low(uchar v, uchar w)\\n" "{ g(w); v++; }\\n"', "narrow type"),
    ("cuda", 'void f(uchar v, int w) { printf("}\\n"); v++; }', "narrow type"),
    ("cuda", "void f(uchar v, int w) { /* } */ v++; }", "narrow type"),
    ("cuda", "void f(uchar v, int w) { if (w) B w = 1; } v++; }\n#define B {", "narrow type"),
    ("opencl", "atomic_add(&mine[k >> 2], 1u << (8 * k));", "share a word"),
    ("opencl", "bits[i >> 5] |= 1u << (i & 31);", ""),
    ("cuda", "atomicOr(&bits[i >> 5], 1u << (i & 31));", ""),
    ("cuda", "atomicAdd(&mine[k >> 2], 1u << (8 * k));", "share a word"),
    ("serial", "((unsigned char *)&x)[0]", "by bytes"), ("serial", "(float *)&x", ""),
    ("serial", "union { unsigned u; char b[4]; } w;", "by bytes"),
    ("opencl", "CL_MEM_USE_HOST_PTR; clEnqueueMapBuffer()", ""),
    ("serial", "s += sizeof(FILE) / 217;", "how large"), ("serial", "n * sizeof(FILE)", ""),
    ("serial", "if (48 < sizeof (mtx_t))", "how large"), ("serial", "sizeof(int) / 4", ""),
    ("serial", "__builtin_constant_p(x)", "optimises"),
    ("target", "#pragma omp begin declare variant match(device={arch(nvptx64)})", "not here"),
    ("serial", '# include "/etc/hostname"', "file of the machine"),
    ("serial", "#if __GNUC__ > 12", "decided by headers"), ("serial", "#if N > 12", ""),
    ("serial", "s += sizeof(__FILE__) / 40;", "where it is built"),
    ("serial", "__FILE__[3]", "where it is built"), ("serial", "f(__FILE__, __LINE__)", ""),
    ("serial", "t = __FILE__;", "where it is built"), ("serial", "__BASE_FILE__", "is built"),
    ("openmp", "#if _OPENMP > 201811", "decided by headers"), ("openmp", "#ifdef _OPENMP", ""),
    ("serial", "#pragma omp simd aligned(a: 64)", "so aligned"),
    ("openmp", "#pragma omp for ordered(1) map(present, to: x)", "present: no rung"),
    ("openmp", "#pragma omp task depend(in: a[0:n]) if(n > 9) priority(1)", ""),
    ("openmp", '_Pragma("omp task mergeable")', "no runtime here"),
    ("target", "#pragma omp declare target link(x)", "shares the program's variables"),
    ("cuda", "atomicAdd_block(&s, 1);", "as one step"), ("cuda", "atomicAdd(&s, 1);", ""),
    ("cuda", "atomicMax((int *)top, __float_as_int(x));", "another order"),
    ("cuda", "atomicMax(&top, 3); x = (int *)p;", ""),
    ("opencl", "event_t e = async_work_group_copy(a, b, 64, 0);", "waited for"),
    ("opencl", '"if (t < h) {\\n"\n"  barrier(CLK_LOCAL_MEM_FENCE);\\n"', "come to the barrier"),
    ("opencl", '"if (t < h) p[t] += 1; barrier(CLK_LOCAL_MEM_FENCE);"', ""),
    ("openmp", "double *s = malloc(288 * sizeof *s); s[omp_get_thread_num()]++;", "has room"),
])  # fmt: skip
def test_what_a_text_asks_that_no_run_shows_is_told_by_its_line(case, language, text, said):
    files = {"a.cu" if language == "cuda" else "a.c": f"int candidate;\n{text}\n"}
    own = replace(case, candidate=replace(program("candidate", language), files=files))
    findings = unseen(own, frozenset())
    assert [f.line for f in findings] == ([2] if said else [])
    assert all(said in f.message for f in findings)
    case.reference.original = replace(case.original, files={"a.c": f"int original;\n{text}\n"})
    assert unseen(replace(own), frozenset()) == []


@pytest.mark.parametrize(("condition", "told"), [("if (x < y)", 1), ("", 0)])
def test_a_wait_behind_a_condition_is_told_where_the_original_has_none(case, condition, told):
    text = f"int candidate;\n{condition} {{\n#pragma omp taskwait\n}}\n"
    own = replace(case, candidate=replace(program("candidate", "openmp"), files={"a.c": text}))
    assert [f.line for f in unseen(own, frozenset())] == [3] * told
    case.reference.original = replace(case.original, files={"a.c": text})
    assert unseen(replace(own), frozenset()) == []


def test_who_calls_a_clock_or_what_the_c_library_may_answer_otherwise_is_told(case):
    asked = frozenset(
        {
            "clock",
            "times",
            "clocks",
            "omp_get_wtime",
            "ftell",
            "sqrtf",
            "ftello",
            "omp_get_place_num",
            "omp_get_thread_num",
            "pthread_self",
            "pthread_join",
        }
    )
    case.bench.of_libc |= {"clock", "ftell", "sqrtf", "pthread_self", "pthread_join"}
    assert [f.message.partition(":")[0] for f in unseen(case, asked)] == [
        "calls clock", "calls omp_get_wtime", "calls times", "calls ftell",
        "calls omp_get_place_num", "calls pthread_self"]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [
    ("int s = 0; s += x[i];", True), ("long s = 0; s += x[i];", False),
    ("int s[64]; s[l] += s[l + h];", True), ("int many = 0; many += x[i] == 3;", False),
    ("for (int i = l; i < n; i += step) y[i] = 0;", False),
])  # fmt: skip
def test_sums_in_kernels_are_as_wide_as_the_original_s(case, text, said):
    own = replace(case, candidate=Program({"a.c": text}, "opencl"))
    case.reference.original = Program({"a.c": "int sum; sum += x[i];"})
    assert narrow_counters(own) == []
    case.reference.original = Program({"a.c": "long sum; sum += x[i];"})
    assert bool(narrow_counters(own)) is said


@pytest.mark.parametrize(("text", "said"), [
    ("int due = 0, s; due += x[s]; long sum; sum += due;", False),
    ("int paid = 0, s; paid += x[s]; long sum; sum += paid;", True),
    ("int due = 0, s; due += x[s]; int sum; sum += due;", True),
    ("int due = 0, s; due += x[s]; printf(due);", True),
])  # fmt: skip
def test_what_the_original_sums_in_32_bits_may_be_so_where_the_wide_sums_are(case, text, said):
    case.reference.original = Program(
        {"a.c": "int due = 0; due += x[s] / 9;\nlong sum; sum += due;"}, "opencl"
    )
    own = replace(case, candidate=Program({"a.c": text}, "opencl"))
    assert bool(narrow_counters(own)) is said


@pytest.mark.parametrize(("text", "said"), [
    ("int s = 0; s += x[i];", False), ("unsigned s = 0; s += x[i];", True),
    ("unsigned int s = 0; s += x[i];", True), ("float s = 0; s += x[i];", True),
])  # fmt: skip
def test_sums_of_int_that_runs_on_the_host_keep_are_no_question_of_text(
    case, text, said, monkeypatch
):  # fmt: skip
    inputs = SimpleNamespace(ranges={"n": (1, 9)})
    original = Program({"a.c": "long sum; sum += x[i];"}, "cuda", inputs=inputs)
    case.reference.original = original
    own = replace(case, candidate=Program({"a.c": text}, "cuda"))
    for marked in (True, False):
        monkeypatch.setattr(narrow_kernels, "is_marked", lambda *given, made=marked: made)
        assert bool(narrow_counters(own)) is (said or not marked)
    monkeypatch.setattr(inputs, "ranges", {})
    assert narrow_counters(own)


HEAD = "kernel void f(__local long *s, __local int *m)\n{ s[t] += s[t + d]; m[t] += m[t + d]; }"


@pytest.mark.parametrize(("text", "lines"), [
    (HEAD, []), (HEAD.replace("long *s,", "int *s,\n"), [1]), (HEAD.replace("m", "many"), []),
    (HEAD.replace("s", "sum").replace("long", "float"), [1]), ("{}", []),
    (f"{HEAD} kernel void g(__local int *k) {{ k[t] += k[t + d]; }}", []),
])  # fmt: skip
def test_arrays_of_kernels_that_take_the_place_of_wide_ones_are_as_wide(case, text, lines):
    case.reference.original = Program({"a.c": HEAD}, "opencl")
    own = replace(case, candidate=Program({"a.c": text}, "opencl"))
    assert [f.line for f in narrow_counters(own)] == lines


@pytest.mark.parametrize(("body", "lines"), [
    ("if (phase == 1) return;", [2]), ("y[i] = w % 7 == 3 ? 0 : x[i];", [2]),
    ("if (n == 1) return;", []), ("if (i == phase) return;", []), ("y[i] = phase;", []),
])  # fmt: skip
def test_what_chooses_in_a_kernel_is_told_where_it_is_new(case, body, lines):
    kernel = "__kernel void f(__global int *x, int n{0})\n{{ {1} }}"
    files = {"a.c": kernel.format(", const int phase, uint w", body)}
    own = replace(case, candidate=Program(files, "opencl"))
    case.reference.original = Program({"a.c": kernel.format("", "y[i] = x[i];")}, "opencl")
    assert [f.line for f in kernel_choices(own)] == lines
    assert kernel_choices(replace(own, candidate=Program(files, "serial"))) == []


@pytest.mark.parametrize(("text", "lines"), [
    ("\ny = exp(x[i]);", [2]), ("y = expf((float)(x[i]) - top);", []), ("y = exp(-x[i]);", []),
    ("x[i] -= top;\ny = exp(x[i]);", []), ("d = x[i] - top; y = __expf(d);", []),
    ("y = expand(x[i]) + exp(1.0);", []), ("y = native_exp(x[i]) / exp(top);", [1, 1]),
])  # fmt: skip
def test_an_exponential_keeps_the_difference_of_the_original(case, text, lines):
    case.reference.original = Program({"a.c": "y = exp(x[i] - max(top, f(2)));"})
    own = replace(case, candidate=Program({"a.c": text}))
    assert [f.line for f in unbounded_exponents(own)] == lines
    case.reference.original = Program({"a.c": "y = exp(x[i] - top) + exp(z);"})
    assert unbounded_exponents(own) == []


@pytest.mark.parametrize(("row", "known"), [
    ("in[i] = c < m ? c : m - 1;", True), ("if (c == m) c = m - 1;", True),
    ("if (c >= m) c--;", True), ("k < m ? k : m - 1", False),
    ("in[i] = c < m ? c : m - 2;", False), ("c < n ? c : n - 1;", False),
    ("if (c > m) c = m - 1;", False),
])  # fmt: skip
def test_a_guard_of_the_cell_of_a_fraction_is_no_question(row, known):
    cell = "int c = (int)((x[i] - floor(x[i])) * m);"
    assert guards_rounding(row, f"{cell}\n{row}") is known
    assert not guards_rounding(row, "int c = (int)(x[i] * m);")


HOSTED = """int lanes = omp_get_max_threads();
long *part = calloc(2 * lanes, sizeof *part);
#pragma omp target map(tofrom : part[0 : 2 * lanes])
#pragma omp parallel
{
  int me = omp_get_thread_num();
  part[2 * me]++;
}
"""


@pytest.mark.parametrize(("was", "by", "named"), [
    ("", "", 1), ("omp_get_max_threads()", "n", 0), ("part[2 * me]", "part[me % 2]", 1),
    ("part[2 * me]++", "part[0] += me", 0),
    ("omp parallel", "omp parallel num_threads(lanes)", 0),
    ("long *part = calloc(2 * lanes, sizeof *part)", "long part[2 * lanes]", 1),
    ("omp target map", "omp target data map", 0),
])  # fmt: skip
def test_room_for_the_threads_of_the_host_is_none_for_those_of_a_device(was, by, named):
    assert len(thread_rooms(Program({"a.c": HOSTED.replace(was, by)}))) == named


@pytest.mark.parametrize(("text", "asks"), [
    ("std::vector<int> ring; at &= ring.capacity() - 1;", 1),
    ("if (seen->bucket_count() < 8) seen->rehash(8);", 1),
    ("map.max_load_factor(2); // v.capacity()", 0),
    ("struct Ring { int capacity() const { return n; } }; int m = ring.capacity();", 0),
])  # fmt: skip
def test_what_a_container_answers_as_its_library_likes_is_told_by_no_run(text, asks):
    """A ring of `capacity()` places is one of a power of two with one library alone."""
    assert len(library_room(Program({"a.cpp": text}))) == asks
