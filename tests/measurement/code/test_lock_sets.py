"""Lock sets find what a lucky order hides; right exclusion passes; every rung reads one text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent
from rheostat.measurement.code.verdict import NOT_SHOWN, UNDECIDED

LACKING = Bubblewrap().why() or absent("gcc", "addr2line") or archer_absent()
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)
TEXT = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  long even = 0, odd = 0, all = 0;
  for (int i = 0; i < n; i++) {
    if (i % 2) odd += i; else even += i;
    all += i;
  }
  printf("%ld %ld %ld\\n", even, odd, all);
  return 0;
}
"""
LOOP = "  for (int i = 0"
BODY = "    if (i % 2) odd += i; else even += i;\n    all += i;\n"
INPUTS = ProgramInputs({"n": InputRange(100, 400)}, ("{n}",))
ORIGINAL = Program({"a.c": TEXT}, inputs=INPUTS)


def critical(first: str, second: str) -> str:
    """The loop in parallel, where the two branches change ``all`` in sections of these names."""
    body = """    if (i % 2) {
#pragma omp critical(FIRST)
      { odd += i; all += i; }
    } else {
#pragma omp critical(SECOND)
      { even += i; all += i; }
    }
"""
    return body.replace("FIRST", first).replace("SECOND", second)


def candidate(body: str, pragma: str = "#pragma omp parallel for\n", head: str = "") -> Program:
    text = head + TEXT.replace(BODY, body).replace(LOOP, pragma + LOOP)
    return Program({"a.c": text}, "openmp", inputs=INPUTS)


@pytest.fixture(scope="module")
def one():
    with verifier(ORIGINAL, seed=4, count=1) as made:
        yield made


@pytest.mark.slow
def test_two_names_of_critical_on_one_variable_are_not_shown_to_be_right(one) -> None:
    """Archer orders the sections by the one lock or the other and may see no race."""
    for _ in range(2):
        verdict = one.verify(candidate(critical("odds", "evens")), rungs=("races",))
        assert verdict.state != "accepted"
    assert one.verify(candidate(critical("sum", "sum")), rungs=("races",)).accepted


@pytest.mark.slow
def test_accesses_are_named_by_their_lines_although_threads_never_meet(one) -> None:
    """Every access holds both locks of its order but one: Archer alone says nothing."""
    body = (
        "#pragma omp critical(a)\n    if (i % 2) odd += i;\n"
        "#pragma omp critical(b)\n    if (i % 2 == 0) even += i;\n"
        "#pragma omp critical(a)\n    if (i < 4) all += i;\n"
        "#pragma omp critical(b)\n    if (i >= 4) all += i;\n"
    )
    verdict = one.verify(candidate(body), rungs=("races",))
    assert verdict.state != "accepted"
    if verdict.state == UNDECIDED:
        assert verdict.rung("races").state == NOT_SHOWN
        assert {f.line for f in verdict.findings} <= {13, 15}


def test_a_reduction_of_tasks_is_undecided_with_the_reason(one) -> None:
    pragma = (
        "#pragma omp parallel\n#pragma omp single\n"
        "#pragma omp taskloop reduction(+:odd, even, all)\n"
    )
    verdict = one.verify(candidate(BODY, pragma), rungs=("races",))
    assert verdict.rejected_by == ""
    assert verdict.accepted or "reductions of tasks" in verdict.rung("races").reason


@pytest.mark.parametrize("test", ["defined(__NO_INLINE__)", "defined(__cla\\\nng__)",
                                  "_OPENMP > 201600"])  # fmt: skip
def test_text_that_only_checkers_read_is_found(one, test) -> None:
    pragma = f"#if {test}\n#pragma omp parallel for reduction(+:odd, even, all)\n#else\n"
    wrong = candidate(BODY, f"{pragma}#pragma omp parallel for\n#endif\n")
    verdict = one.verify(wrong, rungs=("parse",))
    assert verdict.rejected_by == "parse"
    assert "macro of the compiler" in verdict.findings[0].message


def test_what_headers_define_and_original_conditionals_are_no_evasion(one) -> None:
    head = "#include <float.h>\n#include <stdbool.h>\n#include <omp.h>\n"
    body = BODY.replace("all += i;", "all += DBL_MAX > 1 && true ? i : 0;")
    right = candidate(body, "#ifdef _OPENMP\n#pragma omp parallel for reduction(+:odd, even, all)\n"
                      "#endif\n", head)  # fmt: skip
    assert one.verify(right, rungs=("parse",)).accepted


def test_main_with_the_environment_is_found(one) -> None:
    text = TEXT.replace("char **argv)", "char **argv, char **e)").replace(
        "n = argc > 1", "n = *e && argc > 1"
    )
    verdict = one.verify(Program({"a.c": text}, inputs=INPUTS), rungs=("parse",))
    assert verdict.rejected_by == "parse"


def test_a_function_whose_name_ends_with_main_is_none(one) -> None:
    head = "static int thread_main(int a, int b, int c) { return a + b + c; }\n"
    right = candidate(BODY.replace("all += i;", "all += thread_main(i, 0, 0);"), pragma="",
                      head=head)  # fmt: skip
    assert one.verify(right, rungs=("parse",)).accepted
    hidden = TEXT.replace("int main(int argc, char **argv)",
                          "typedef int I;\nI\nmain (int argc, char **argv, char **e)")  # fmt: skip
    wrong = Program({"a.c": hidden.replace("n = argc > 1", "n = *e && argc > 1")}, inputs=INPUTS)
    assert one.verify(wrong, rungs=("parse",)).rejected_by == "parse"


@pytest.mark.parametrize(("guard", "rejected"), [("", "races"), ("#pragma omp critical\n", "")])
def test_a_stated_schedule_hides_no_race_within_the_first_part(one, guard, rejected) -> None:
    body = f"    if (i < 4) {{\n{guard}      all += i + 1;\n    }}\n"
    pragma = "#pragma omp parallel for schedule(static)\n"
    original = Program({"a.c": TEXT.replace(BODY, body.replace(guard, ""))}, inputs=INPUTS)
    text = original.text.replace(LOOP, pragma + LOOP).replace(
        body.replace(guard, ""), body)  # fmt: skip
    with verifier(original, seed=4, count=1) as other:
        verdict = other.verify(Program({"a.c": text}, "openmp", inputs=INPUTS), rungs=("races",))
    assert verdict.rejected_by == rejected


@pytest.mark.slow
def test_sizes_that_stand_in_the_candidate_alone_are_tried(one) -> None:
    wrong = candidate(BODY.replace("all += i;", "all += n == 271 ? 0 : i;"), pragma="")
    verdict = one.verify(wrong, rungs=("output",))
    assert verdict.rejected_by == "output"
    assert "n=271" in verdict.findings[0].message


@pytest.mark.slow
@pytest.mark.parametrize(("asks", "said"), [
    ("(unsigned long long)argv >> 12 & 1", "takes an address for a number"),
    ("((union { char **p; unsigned long u; }){argv}).u >> 12 & 1", "takes an address for a number"),
    ("clock() > 1", "asks the time"),
    ('({ __asm__ volatile("nop"); 1; })', "assembler"),
    ('__builtin_cpu_supports("avx512f")', "which processor"),
    ("__DATE__[0] == 'D'", "when it is built"),
    ("omp_get_num_devices() > 1", "how many devices"),
    ("(omp_get_thread_num() & 63) > 1", "two threads may share"),
])  # fmt: skip
def test_what_no_run_shows_leaves_a_candidate_undecided(one, asks, said) -> None:
    body = BODY.replace("all += i;", f"all += {asks} ? i : i;")
    heads = "#include <omp.h>\n#include <time.h>\n"
    verdict = one.verify(candidate(body, "", heads), rungs=("calls", "output"))
    assert verdict.state == UNDECIDED
    assert said in verdict.rung("calls").reason


@pytest.mark.slow
def test_what_one_input_in_five_hundred_shows_is_found(monkeypatch) -> None:
    # however long a start takes beside what else runs here
    monkeypatch.setattr("rheostat.measurement.code.reference.QUICK_S", 2.0)
    inputs = ProgramInputs({"n": InputRange(100, 400), "seed": InputRange(1, 1e6, kind="seed")},
                           ("{n}", "{seed}"))  # fmt: skip
    texts = (TEXT, TEXT.replace("all += i;", "all += atoi(argv[2]) % 500 == 7 ? 0 : i;"))
    with verifier(Program({"a.c": TEXT}, inputs=inputs), seed=4) as made:
        right, wrong = (made.verify(Program({"a.c": x}, inputs=inputs), rungs=("output",))
                        for x in texts)  # fmt: skip
    assert right.accepted
    assert right.rung("output").numbers["inputs"] > 1000
    assert wrong.rejected_by == "output"
    assert "07, output line 1" in wrong.findings[0].message


@pytest.mark.slow
def test_a_time_that_repeats_is_a_result_and_one_that_was_measured_is_none() -> None:
    head = "#include <time.h>\n"
    text = head + TEXT.replace(
        "return 0;",
        """printf("mean wait: %.9f s\\n", all / 7e3);
  printf("took %.9f s\\n", (double)clock() / CLOCKS_PER_SEC); return 0;""",
    )
    original = Program({"a.c": text}, inputs=INPUTS)
    with verifier(original, seed=4, count=1) as made:
        wrong = replace(original, files={"a.c": text.replace("all / 7e3", "all / 8e3")})
        assert made.verify(original, rungs=("output",)).accepted
        verdict = made.verify(wrong, rungs=("output",))
    assert verdict.rejected_by == "output"
    assert "mean wait" in verdict.findings[0].message


def test_a_difference_of_pointers_is_no_address(one) -> None:
    body = BODY.replace("all += i;", "all += argv + i - argv;")
    assert one.verify(candidate(body, ""), rungs=("calls", "output")).accepted


def test_an_update_in_two_atomic_halves_is_no_race_and_still_rejected(one) -> None:
    halves = "\n#pragma omp atomic read\n    t = all;\n#pragma omp atomic write\n    all = t + i;\n"
    wrong = candidate(BODY.replace("all += i;", f"long t;{halves}"),
                      "#pragma omp parallel for reduction(+:odd, even)\n")  # fmt: skip
    assert one.verify(wrong, rungs=("races",)).rejected_by == "races"


@pytest.mark.slow
@pytest.mark.parametrize("test", ["argv[0][2] == 'a'", "getchar() != EOF"])
def test_programs_are_run_under_another_name_with_text_to_be_read(test) -> None:
    wrong = Program({"a.c": TEXT.replace("all += i;", f"all += {test} ? 0 : i;")})
    with verifier(Program({"a.c": TEXT}), seed=4, count=1) as made:
        verdict = made.verify(wrong, rungs=("output",))
    assert verdict.rejected_by == "output"
    assert "called a, text on standard input" in verdict.findings[0].message
