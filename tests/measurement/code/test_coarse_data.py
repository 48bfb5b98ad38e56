"""Equal values, which drawn data hardly hold, show a choice that hangs on the order of threads."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.altered.coarse_data import among_equals
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent, archer_absent
from tests.measurement.code.rung_cases import of
from tests.measurement.scripted import done

LACKING = Bubblewrap().why() or absent("gcc") or archer_absent()
TEXT = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  unsigned s = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  DATA *a = malloc(n * sizeof *a), best = 0;
  for (int i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    a[i] = VALUE;
  }
  int at = -1;
FIND
  printf("%d\\n", at);
  free(a);
  return 0;
}
"""
SERIAL = "for (int i = 0; i < n; i++) if (a[i] > best) { best = a[i]; at = i; }"
PARALLEL = """#pragma omp parallel
{
  DATA top = 0; int mine = -1;
#pragma omp for nowait
  for (int i = 0; i < n; i++) if (a[i] > top) { top = a[i]; mine = i; }
#pragma omp critical
  if (top > bestTIE) { best = top; at = mine; }
}"""
FIRST = " || (top == best && mine < at)"
FLOATS = {"DATA": "double", "VALUE": "s / 4294967296.0"}
WHOLE = {"DATA": "unsigned", "VALUE": "s >> 3"}
INPUTS = ProgramInputs({"n": InputRange(2000, 4000), "s": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{s}"))  # fmt: skip


def program(find: str, data: dict[str, str], language: str) -> Program:
    text = TEXT.replace("FIND", find)
    for word, said in data.items():
        text = text.replace(word, said)
    return Program({"a.c": text}, language, inputs=INPUTS)


@pytest.mark.slow
@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("data", [FLOATS, WHOLE])
def test_of_equal_maxima_the_first_has_to_be_taken(data: dict[str, str]) -> None:
    with verifier(program(SERIAL, data, "serial"), seed=3, count=1) as one:
        found = {}
        for tie in ("", FIRST):
            text = PARALLEL.replace("TIE", tie)
            found[tie] = one.verify(program(text, data, "openmp"), rungs=("races",))
    assert found[""].rejected_by == "races"
    assert "where many values are equal" in found[""].findings[0].message
    assert found[FIRST].accepted


def test_what_never_ends_on_equal_data_is_not_run_with_more_threads(case, box) -> None:
    own = of(case, "openmp").candidate
    own = replace(own, files={"a.c": "int candidate;\n#pragma omp critical"})
    box.says["candidate", "run sh"] = done(status=137, stopped="stopped after 7 s of CPU time")
    assert among_equals(replace(case, candidate=own), own) == []
    runs = [a for a in box.asked("run sh") if a.whose == "candidate"]
    assert {a.environment["OMP_NUM_THREADS"] for a in runs} == {"1"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_coarse_numbers_keep_three_bits_and_small_ones_all(tmp_path) -> None:
    helpers = (files("rheostat.measurement.code") / "runtimes" / "coarse_data.c").read_text()
    main = """#include <stdio.h>
int main(void) {
  for (int v = -20; v < 40; v += 3) printf("%g ", rheostat_sitofp_i32_double(v));
  printf("%u %lu\\n", rheostat_whole_i32(4294967295u), rheostat_whole_i64(~0ul));
}
"""
    (tmp_path / "a.c").write_text(helpers + main)
    subprocess.run(["cc", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    said = subprocess.run(["./a"], cwd=tmp_path, capture_output=True, text=True, check=True)
    *small, narrow, wide = map(float, said.stdout.split())

    def expected(v: int) -> int:
        step = 1 << max(abs(v).bit_length() - 3, 0)
        return (1 if v > 0 else -1) * (abs(v) // step * step)

    assert small == [expected(v) for v in range(-20, 40, 3)]
    assert (narrow, wide) == (7 << 29, 7 << 61)
