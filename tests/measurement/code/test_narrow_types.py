"""Types that are narrower on other machines: `long` of 32 bits, fast types, `long double`."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.narrow_types import narrow_types
from rheostat.measurement.code.surroundings.type_widths import narrow_lines, narrowed
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc")
CUBES = """#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  int64_t sum = 0;
  for (int i = 1; i <= n; i++) sum += (int64_t)i * i * i;
  printf("%" PRId64 "\\n", sum);
  return 0;
}
"""
SUM, TERM = "int64_t sum = 0;", "sum += (int64_t)i * i * i;"


def cubes(*changes: tuple[str, str]) -> Program:
    """The program whose sum passes 32 bits for n of 3,000, changed."""
    text = CUBES
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    inputs = ProgramInputs({"n": InputRange(1, 3000)}, ("{n}",))
    return Program({"a.c": text}, "serial", inputs=inputs, flags=("-O2",))


def found(candidate: Program, original: Program | None = None) -> list[str]:
    with verifier(original or cubes(), seed=3, count=2) as one:
        return [f.words for f in narrow_types(Case(candidate, one.reference))]


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("term", [
    "sum += (long)i * i * i;", "sum += 1L * i * i * i;", "sum += (int_fast32_t)i * i * i;",
    "sum += (long int)i * i * i;\n_Generic(n, long: 1, int: 2);",
])  # fmt: skip
def test_a_sum_that_long_holds_here_and_not_elsewhere_is_named_with_its_line(term):
    (said,) = found(cubes((TERM, term)))
    assert said.startswith("a.c:7: with a `long` of 32 bits")
    assert "with n=3000, output line 1: expected '20263502250000'" in said


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_line_that_does_not_build_so_as_it_tells_long_from_int_is_named():
    term = "sum += _Generic(1L * n, long: 1L * i * i * i, int: 0);"
    (said,) = found(cubes((TERM, term)))
    assert said.startswith("a.c:7: goes by whether a type is `long`")


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("term", [
    "sum += (long long)i * i * i;", "long k = (long)i * i; sum += (int64_t)k * i;",
    "sum += (int64_t)((long double)i * i * i);", "if (i == 3) sum += 27L; else " + TERM,
])  # fmt: skip
def test_what_fits_into_the_narrow_types_is_no_finding(term):
    assert found(cubes((TERM, term))) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_digits_that_long_double_alone_holds_are_asked_for():
    product = (TERM, "sum += (int64_t)i * 900719925474099 % 1000;")
    wide = (TERM, "sum += (int64_t)((long double)i * 900719925474099) % 1000;")
    assert found(cubes(wide), cubes(product)) != []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_an_original_of_which_long_is_part_says_that_it_has_64_bits():
    original = cubes((SUM, "long sum = 0;"))
    assert found(cubes((TERM, "sum += 1L * i * i * i;")), original) == []


def test_lines_stay_lines_and_kernels_and_other_files_what_they_are():
    text = '#include <long.h>\nunsigned\nlong a = 5UL; // a long one\nchar *s = "long %lu";\n'
    assert narrowed(text) == (
        '#include <long.h>\nunsigned\nint a = 5U; // a long one\nchar *s = "long %u";\n'
    )
    files = {"a.c": "int a;\nlong b;", "a.cl": "long c;", "Makefile": "long:"}
    assert narrow_lines(files) == [("a.c", 2, "long b;")]


def test_what_kernels_hold_is_as_narrow_on_the_host_as_in_their_translation():
    text = {"a.cu": "long b;", "a.cuh": "long c;", "a.cl": "long d;"}
    assert narrow_lines(text) == [("a.cu", 1, "long b;"), ("a.cuh", 1, "long c;")]
