"""Numbers that are printed alike and are others: all of their digits are compared."""

from __future__ import annotations

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.hidden_digits import hidden_digits
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc")
HALVES = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double side = n % 97 + 1;
  printf("%d squares, %.2f\\n", n, side * ROOT);
  return 0;
}
"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("root", "hidden"), [
    ("1.41421", 1), ("(1.0 / (1.0 / sqrt(2)))", 0), ("sqrt(2) + (side - side)", 0),
])  # fmt: skip
def test_a_number_that_its_printed_digits_hide_is_told(root, hidden):
    inputs = ProgramInputs({"n": InputRange(1, 9)}, ("{n}",))

    def rooted(root):
        return Program({"a.c": HALVES.replace("ROOT", root)}, "serial", inputs=inputs,
                       flags=("-O2", "-lm"))  # fmt: skip

    with verifier(rooted("sqrt(2)"), seed=3, count=2) as one:
        found = hidden_digits(Case(rooted(root), one.reference))
    assert len(found) == hidden
    assert all("with all digits, output line 1" in f.message for f in found)
