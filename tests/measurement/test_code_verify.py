"""Verification of source code: each rung on a dot product that is wrong in one way."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import Program, Verifier, verifier
from rheostat.measurement.code.programs.program_inputs import inputs_of
from rheostat.measurement.code.rungs_run import PROBE
from rheostat.measurement.code.rungs_static import EMPTY
from rheostat.measurement.code.sandboxed.each_input import library
from rheostat.measurement.code.sandboxed.peak_memory import PARENT
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import (
    absent,
    archer_absent,
    offload_absent,
    symbolizer_absent,
)

DOT = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 4000;
  unsigned seed = argc > 2 ? atoi(argv[2]) : 1;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), s = 0;
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    a[i] = seed / 4294967296.0;
    b[i] = 1.0 / (i + 1);
  }
  //loop
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  printf("dot %.12g\\n", s);
  free(a);
  free(b);
  return 0;
}
"""
NO_BUBBLEWRAP = Bubblewrap().why()
pytestmark = [
    pytest.mark.skipif(bool(NO_BUBBLEWRAP), reason=NO_BUBBLEWRAP),
    pytest.mark.skipif(bool(absent("gcc")), reason=absent("gcc")),
]


def program(text: str) -> Program:
    from rheostat.measurement.code.programs.program import language_of

    files = {"dot.c": text}
    return Program(files, language_of(files), inputs=inputs_of(text), name="dot")


@pytest.fixture(scope="module")
def dot():
    with verifier(program(DOT), seed=1, count=2) as one:
        yield one


def at(line: int) -> str:
    """The place that a report names, where there is what names lines."""
    return "" if symbolizer_absent() else f"dot.c:{line}: "


def loop(pragma: str) -> Program:
    return program(DOT.replace("//loop", f"#pragma omp {pragma}"))


THREADED = """#include <pthread.h>
static double *x, *y, total;
static int many;
static void *half(void *from) {
  for (int i = *(int *)from; i < many; i += 2) total += x[i] * y[i];
  return 0;
}
"""
STARTED = """{ pthread_t t; int k[2] = {0, 1}; x = a, y = b, many = n;
  pthread_create(&t, 0, half, k); half(k + 1); pthread_join(t, 0); s = total; }"""


@pytest.mark.slow
@pytest.mark.skipif(bool(absent("clang")), reason=absent("clang"))
def test_a_race_of_threads_without_openmp_is_told(dot: Verifier) -> None:
    started = DOT.replace("for (int i = 0; i < n; i++) s += a[i] * b[i];", STARTED)
    verdict = dot.verify(program(THREADED + started), rungs=("races",))
    assert verdict.rejected_by == "races"
    assert verdict.findings[0].words.startswith(f"{at(5)}data race")


@pytest.mark.slow
def test_a_right_reduction_is_accepted(dot: Verifier) -> None:
    verdict = dot.verify(loop("parallel for reduction(+:s)"))
    assert (verdict.state, verdict.findings) == ("accepted", ())
    if not archer_absent():
        assert verdict.rung("races").state == "passed"


@pytest.mark.slow
def test_an_answer_for_the_run_without_arguments_alone_is_no_answer(dot: Verifier) -> None:
    known = '  if (n == 4000 && seed == 1) { puts("dot 4.1"); return 0; }\n  double *a'
    verdict = dot.verify(program(DOT.replace("  double *a", known)), rungs=("output",))
    assert verdict.rejected_by == "output"
    assert "with no input, output line 1: expected 'dot " in verdict.findings[0].message


@pytest.mark.skipif(bool(archer_absent()), reason=archer_absent())
def test_a_race_is_named_with_its_line(dot: Verifier) -> None:
    verdict = dot.verify(loop("parallel for"), rungs=("races",))
    assert verdict.rejected_by == "races"
    assert {f.line for f in verdict.findings} & {12, 13}


@pytest.mark.slow
@pytest.mark.skipif(bool(offload_absent()), reason=offload_absent())
def test_a_missing_map_shows_on_a_device_with_its_own_memory(dot: Verifier) -> None:
    clauses = "map(alloc:a[0:n]) map(to:b[0:n]) map(tofrom:s)"
    lost = loop(f"target teams distribute parallel for reduction(+:s) {clauses}")
    verdict = dot.verify(lost, rungs=("output", "mapping"))
    assert verdict.rung("output").state == "passed", "the host has one memory: it shows nothing"
    assert verdict.rejected_by == "mapping"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "old", "new"),
    [
        ("parse", "return 0;", "return 0"),
        ("parse", "#include <stdlib.h>", "```c"),
        ("compile", "free(b)", "release(b)"),
        ("calls", "free(b);", "free(b); system(\"true\");"),
        ("sanitizers", "i < n; i++) s", "i <= n; i++) s"),
        ("output", "i < n; i++) s", "i < n - 1; i++) s"),
        ("output", "free(b);", "for (;;);"),
        ("output", 'printf("dot %.12g\\n", s)', 'puts("PASS")'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_rung(dot: Verifier, rung: str, old: str, new: str) -> None:
    if rung == "sanitizers" and absent("clang"):
        pytest.skip(absent("clang"))
    assert old in DOT
    verdict = dot.verify(program(DOT.replace(old, new)))
    assert (verdict.state, verdict.rejected_by) == ("rejected", rung)
    assert all(f.message for f in verdict.findings)


def test_builds_of_a_candidate_are_gone_and_those_of_the_original_stay(dot: Verifier) -> None:
    dot.verify(loop("simd reduction(+:s)"), rungs=("parse", "output"))
    texts = {b.program.text for b in dot.reference.bench.builds.values()}
    assert dot.reference.original.text in texts
    ours = ("each_input", "another_library", "reached", "other_data", "lock_sets")
    own = {library(name).text for name in ours}
    assert texts <= {dot.reference.original.text, EMPTY, PROBE, PARENT.text} | own
    assert len(list(dot.reference.bench.folder.iterdir())) == len(dot.reference.bench.builds)


@pytest.mark.slow
def test_the_peak_of_memory_is_that_of_the_program() -> None:
    text = """#include <stdio.h>
#include <stdlib.h>
int main(void) {
  char *p = malloc(MB << 20);
  for (long i = 0; i < MB << 20; i += 4096) p[i] = 1;
  printf("%d\\n", p[8192]);
  free(p);
  return 0;
}
"""
    megabytes = (160, 80, 1)  # less than this interpreter has
    large, small, tiny = (
        Program({"a.c": text.replace("MB", f"{mb}L")}, name=str(mb)) for mb in megabytes
    )
    with verifier(large, seed=1, count=1) as one:
        one.reference.clean = False
        first, second = (one.verify(p, rungs=("time",)).rung("time").numbers for p in (small, tiny))
    assert first["memory_byte"] == pytest.approx(megabytes[1] << 20, rel=0.1)
    assert first["original_memory_byte"] == pytest.approx(megabytes[0] << 20, rel=0.1)
    assert 1 << 20 < second["memory_byte"] < 6 << 20
