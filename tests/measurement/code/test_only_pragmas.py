"""Whether pragmas alone tell a candidate from the original, and ways to make it look so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.ladder import Verifier
from rheostat.measurement.code.programs.program import Program
from tests.measurement.code.test_reached import INPUTS, LACKING

LOOP = "  for (int i = 0; i < n; i++) sum += i * 2654435761u % 1000u;\n"
TEXT = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 9, s = argc > 2 ? atoi(argv[2]) : 1, k = 0;
  unsigned long sum = 0;
  const char *said = "a b";
  // a rare case
  if (s == 31) sum = 5;
  if (s == 32) sum += k++ + s;
LOOP  printf("%lu %s\\n", sum, s == 33 ? said : "");
  return 0;
}
"""
ORIGINAL = TEXT.replace("LOOP", LOOP)
SHARED = "#pragma omp parallel for reduction(+ : sum)\n"
RARE, NEXT = "  if (s == 31) sum = 5;\n", "  if (s == 32) sum += k++ + s;\n"
PLAIN = ORIGINAL.replace(LOOP, SHARED + LOOP)
TRIED = {
    "a comment that begins on the line": PLAIN.replace(
        RARE, f"#pragma omp flush /*\n{RARE}#pragma omp flush */\n"),
    "a comment with the next line": PLAIN.replace("// a rare case\n", "// a rare case"),
    "a backslash and a blank": PLAIN.replace(RARE, f"#pragma omp flush \\ \n{RARE}"),
    "a trigraph": PLAIN.replace(RARE, f"#pragma omp flush ??/\n{RARE}"),
    "blanks between signs": PLAIN.replace("k++ + s", "k + ++s"),
    "blanks in a text": PLAIN.replace('"a b"', '"ab"'),
    "a macro": f"#define PART parallel for\n{PLAIN}",
    "an operator": ORIGINAL.replace(LOOP, f'_Pragma("omp parallel for if(s == 31)")\n{LOOP}'),
    "iterations in tiles": ORIGINAL.replace(LOOP, f"#pragma omp tile sizes(8)\n{LOOP}"),
    "a number of threads from bits": PLAIN.replace("parallel for", "parallel for if(n & s)"),
    "a number of threads from a sum": PLAIN.replace("for red", "for num_threads(s - 31) red"),
    "one thread of some": ORIGINAL.replace(
        RARE, f"#pragma omp parallel\n#pragma omp masked filter(s)\n{RARE}"),
}  # fmt: skip


@pytest.fixture(scope="module")
def one() -> Iterator[Verifier]:
    own = Program({"a.c": ORIGINAL}, inputs=INPUTS, flags=("-O2", "-std=c11"))
    with verifier(own, seed=3, count=2) as made:
        yield made


def case_of(one: Verifier, text: str) -> Case:
    return Case(
        replace(one.reference.original, files={"b.c": text}, language="openmp"), one.reference
    )


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_looks_like_pragmas_alone_is_asked_what_no_input_reached(one: Verifier) -> None:
    assert case_of(one, PLAIN.replace("  ", "\t")).asks_nothing_new
    assert [name for name, text in TRIED.items() if case_of(one, text).asks_nothing_new] == []
