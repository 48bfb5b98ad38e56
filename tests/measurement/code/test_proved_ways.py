"""What no stated input reaches, as the compiler proves it, and what rests on no proof."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rheostat.measurement.code.kept_results import KeptResults
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.reached.constant_values import RECORD
from rheostat.measurement.code.reached.marked_text import marked
from rheostat.measurement.code.reached.marks import Marked
from rheostat.measurement.code.reached.open_marks import Left, left_of
from rheostat.measurement.code.reached.proved_ways import _bytes_of, without_proved
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap, sandbox, workspace
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.workbench import Workbench

LACKING = Bubblewrap().why() or absent("gcc", "clang")
INPUTS = ProgramInputs({"n": InputRange(64, 4096, multiple_of=16),
                        "s": InputRange(1, 9999, kind="seed")}, ("{n}", "{s}"))  # fmt: skip
TEXT = """#include <stdio.h>
#include <stdlib.h>
static long four(const int *a, int n) {
  long s = 0;
  int i = 0;
  for (; i + 4 <= n; i += 4) s += a[i] + a[i + 1] + a[i + 2] + a[i + 3];
  for (; i < n; i++) /* proved: a multiple of four */
    s += a[i];
  return s;
}
static long early(const int *a, long many) {
  if (many == 0) return 1; /* proved */
  if (many == 48) return 2; /* proved: below the range */
  if (many == 72) return 2; /* proved: no multiple */
  if (many == 80) return 3; /* open */
  return a[many - 1];
}
static long promised(int n, const int *restrict a, int *restrict b) {
  if (n * 3000000 < 0) return 5; /* open: it wraps */
  if (n == 96) __builtin_unreachable(); /* open */
  __builtin_assume(n != 112);
  if (n == 112) return 7; /* open */
  b[0] = a[0] + 1;
  if (b[0] == a[0]) return 8; /* open */
  return 0;
}
static long shared(int n) {
  int known = 0;
  long s = 0;
#pragma omp parallel reduction(+ : s)
  {
    int was;
#pragma omp atomic read
    was = known;
    if (was != 0) s += 9; /* open: another thread */
#pragma omp atomic write
    known = 1;
    if (n < 64) s++; /* proved */
  }
#pragma omp target teams distribute parallel for reduction(+ : s)
  for (int i = 0; i < n; i++)
    if (i < 70) s++; /* open: parts of the loop are given as numbers */
  return s;
}
static long counted(const int *a, int n) {
  int few[90] = {0}, gaps[12] = {0}, k = 0;
  for (int i = 0; i < n; i++) {
    int c = 0;
    for (int g = a[i]; g > 1 && c < 12 - 1; g = g * 2 / 3) c++;
    gaps[c]++; /* room: proved */
    few[n / 50]++; /* room: proved, of the range */
    if (a[i] % 7 == 0) k++;
    if (a[i] % 9 == 0) few[k]++; /* room: open, data */
    unsigned p = (unsigned)a[i] % 251, q = (unsigned)a[i] % 261;
    k += (unsigned char)p; /* room: proved, of a remainder */
    k += (unsigned char)q; /* room: open, beyond it */
    k += p >> 4 & 15; /* room: proved, of its digits */
    k += q >> 4 & 15; /* room: open, a digit more */
  }
  for (int i = 0; few[i] > 3; i++) /* room: open, by an access alone */
    k++;
  return few[7] + gaps[3] + k;
}
static long least_of(const int *a, int n) {
  int least = -1, i;
  for (i = 0; i < n; i++) {
    if (least >= 0) { /* open: from the second turn on */
      if (i == 0) return 4; /* proved: not there */
      if (i == 1) return 5; /* open: there */
    }
    if (a[i] % 3 == 0) least = a[i] & 1023; /* open: data */
  }
  return least;
}
static long rings_of(const int *a, int n) {
  int least = -1;
  for (int r = 0; r <= a[n / 3]; r++) {
    if (least >= 0) { /* open: from the second turn on */
      if (r < 1) return 6; /* proved: it only counts up from 0 */
    }
    least = a[r % n] & 1023;
  }
  for (int q = a[n / 5] & 7, k = 0; q <= a[n / 7]; q++, k = q * 3) {
    if (q < 0) return 7; /* open: it begins with data */
    if (k < 0) return 8; /* open: it is a product */
  }
  return least;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  unsigned s = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++) { s = s * 1664525u + 1013904223u; a[i] = s >> 4; }
  if (a[n / 2] == 12345) n--; /* open: data */
  if (argc > 3) n = 0; /* proved: two arguments */
  int m = atoi(argv[1]);
  printf("%ld\\n", four(a, m) + early(a, m) + promised(m, a, a) + shared(m) + counted(a, m) +
         least_of(a, m) +
         rings_of(a, m));
  return n;
}
"""


def _case(bench):
    program = Program({"a.c": TEXT}, "target", flags=("-O2",), inputs=INPUTS)
    return SimpleNamespace(bench=bench, original=program, candidate=program)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_no_stated_input_reaches_is_proved_and_nothing_by_a_promise():
    """As of runs in which each comparison came out false each time."""
    with workspace() as folder:
        walls = sandbox()
        case = _case(Workbench(walls, folder, ours=KeptResults.ours(walls.name)))
        (made,) = case.bench.compiler_texts(case.candidate)
        whole = [marked(made.said.stdout, case.candidate.files)]
        seen = bytearray(whole[0].end)
        for c in whole[0].comparisons:
            seen[c.offset] = 1
        left = left_of(whole, bytes(seen), case.candidate)
        asked = {n for n, row in enumerate(TEXT.splitlines(), 1) if "/* room" in row}
        left.values = [(n, "") for n in whole[0].values if n.at[1] in asked]
        left.kept = RECORD.pack(-256, 0, 0, 0) * len(whole[0].values)
        rest = without_proved(case, whole, left)
    rows = TEXT.splitlines()
    asked = {n for n, row in enumerate(rows, 1) if "/* open" in row or "/* proved" in row}
    before, after = ({c.at[1] for c, _ in x.comparisons} & asked for x in (left, rest))
    assert before - after == {n for n in before if "/* proved" in rows[n - 1]}
    rooms = [{n.at[1] for n, _ in x.values} for x in (left, rest)]
    assert rooms[0] == {n for n, row in enumerate(rows, 1) if "/* room" in row}
    assert rooms[1] == {n for n in rooms[0] if "/* room: open" in rows[n - 1]}
    line = "a.c", rows.index("    s += a[i];") + 1
    assert line in left.lines - rest.lines


def test_what_is_another_function_on_a_device_is_not_proved_by_the_host_s():
    whole = [Marked('call i32 @"omp_is_initial_device$ompvariant$S2"()', 1)]
    left = Left(seen=b"\0")
    assert without_proved(_case(None), whole, left) is left


def test_a_mark_that_is_not_known_proves_nothing():
    assert _bytes_of("call void @rheostat_at(i32 %sink)") is None
    text = "invoke void @rheostat_way(i32 4, i64 %x)\n tail call void @rheostat_way(i32 7, i64 1)"
    assert _bytes_of(text) == {4, 5, 8}
    assert _bytes_of("call void @rheostat_part(i32 2, i64 %x)") == {2, 3, 4}
