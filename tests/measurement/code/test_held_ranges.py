"""What memory holds as far as every store to it says so, and what no store says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rheostat.measurement.code.kept_results import KeptResults
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.reached.marked_text import marked
from rheostat.measurement.code.reached.memory_cells import memory_cells
from rheostat.measurement.code.reached.open_marks import left_of
from rheostat.measurement.code.reached.proved_ways import without_proved
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap, sandbox, workspace
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.workbench import Workbench

LACKING = Bubblewrap().why() or absent("gcc", "clang")
INPUTS = ProgramInputs({"n": InputRange(20, 300), "s": InputRange(1, 9999, kind="seed")},
                       ("{n}", "{s}"))  # fmt: skip
HEAD = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int leave, arrive; long load; } Trip;
static unsigned s;
static int draw(int below) { s = s * 1664525u + 1013904223u; return (int)((s >> 9) % below); }
"""
TRIPS = (
    HEAD
    + """static int by_leave(const void *x, const void *y) {
  return ((const Trip *)x)->leave - ((const Trip *)y)->leave;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, count[1440] = {0}, cut = 0;
  s = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  Trip *all = malloc(n * sizeof *all);
  for (int i = 0; i < n; i++) {
    all[i].leave = 300 + draw(900);
    all[i].arrive = all[i].leave + 15 + draw(75);
    all[i].load = draw(2000);
  }
  qsort(all, n, sizeof *all, by_leave);
  for (int i = 1; i < n; i++)
    if (draw(2)) { Trip t = all[i]; all[i] = all[i - 1]; all[i - 1] = t; }
  for (int i = 0; i < n; i++) {
    if (all[i].leave < 1440) cut++; /* proved */
    if (all[i].arrive + 1 > 1440) continue; /* proved */
    if (all[i].arrive < 1289) cut++; /* proved: to the number */
    if (all[i].arrive < 1288) cut++; /* open */
    if (all[i].load < 1440) cut++; /* open: another member */
#pragma omp parallel for
    for (int m = all[i].leave; m < all[i].arrive; m++)
      if (m < 1440) count[m]++;
    for (int m = all[i].leave; m < all[i].arrive && m < 1440; m++) count[m]++; /* proved */
    if (count[all[i].leave] < 1440) cut++; /* open: a sum */
    int five = 0;
    for (int k = 0; k < 5; k++) five += all[k * n / 5].leave;
    if (five < 7200) cut++; /* proved: five of them */
    if (five < 5995) cut++; /* open */
  }
  printf("%d %d\\n", cut, count[700]);
  return 0;
}
"""
)
RING = (
    HEAD
    + """static int by_place(const void *x, const void *y) {
  return *(const int *)x - *(const int *)y;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, cut = 0;
  s = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  int *at = malloc(n * sizeof *at), *line = malloc(n * sizeof *line);
  for (int i = 0; i < n; i++) at[i] = draw(n);
  for (int t = 0; t < 5; t++) {
    for (int i = 0; i < n; i++) at[i] = (at[i] + draw(7) - 3 + n) % n;
    for (int i = 0; i < n; i++) line[i] = at[i];
    qsort(line, n, sizeof *line, by_place);
    for (int i = 0; i < n; i++)
      for (int k = i + 1; k < n; k++) {
        int apart = line[k] - line[i];
        if (line[k] >= 0) cut++; /* proved: of a copy */
        if (apart > 9) break; /* open */
        if (2 * apart < n) cut++; /* proved: no product wraps */
        if (3 * apart < n) cut++; /* open */
      }
  }
  printf("%d\\n", cut);
  return 0;
}
"""
)
"""Places on a ring of `n`, which are moved and copied."""
ASKED = "if (a[i] < 1440) cut++; /* asked */"
OTHERS = {
    "as it is": ("", "", True),
    "kept by a function that is called by its address": (
        "static void late(int *a) { a[3] = 1500; }\nstatic void (*volatile f)(int *) = late;\n",
        "f(a);", False),
    "kept by a function of a library": ("", "fread(a, 4, 2, stdin);", False),
    "by a pointer of the file": ("static int *p;\n", "p = a; *p += draw(2000);", False),
    "by another pointer to it": ("", "int *q = a + 5; q[draw(3)] = draw(2000);", False),
    "by bytes": ("", "((unsigned char *)a)[1] = draw(250);", False),
    "by a part of what is copied": ("", "int x = 9999; memcpy(a, &x, 2);", False),
    "by a copy of something else": (
        "static int other[300];\n", "other[draw(200)] = 1500; memcpy(a, other, 4 * n);", False),
    "by a copy of such": (
        "static int other[300];\n", "other[draw(200)] = 1300; memcpy(a, other, 4 * n);", True),
    "by a text that is printed": ("", 'printf("four%n", a + 7);', False),
    "in eight bytes": ("", "*(long long *)a = draw(2000);", False),
    "by an address as a number": (
        "", "unsigned long at = (unsigned long)a; at ^= 8; *(int *)at = 1500;", False),
    "by an atomic": ("", "__atomic_fetch_add(a, draw(1500), __ATOMIC_RELAXED);", False),
    "by another thread": (
        "static void *late(void *a) { ((int *)a)[2] = 1500; return a; }\n#include <pthread.h>\n",
        "pthread_t t; pthread_create(&t, 0, late, a); pthread_join(t, 0);", False),
    "in its own turn": ("", "for (int i = 0; i < n; i++) a[i] = a[i] + (a[i] & 1);", False),
    "put in another order": (
        "", "for (int i = 1; i < n; i++) { int t = a[i]; a[i] = a[0]; a[0] = t; }", True),
}  # fmt: skip


def _rest(text: str, sign: str, *, every: bool = False) -> tuple[set[int], set[int]]:
    """Lines with a sign whose comparisons are asked, and which of them are not proved."""
    program = Program({"a.c": text}, "openmp", flags=("-O2",), inputs=INPUTS)
    with workspace() as folder:
        walls = sandbox()
        bench = Workbench(walls, folder, ours=KeptResults.ours(walls.name))
        case = SimpleNamespace(bench=bench, original=program, candidate=program)
        (made,) = bench.compiler_texts(program)
        whole = [marked(made.said.stdout, program.files)]
        seen = bytearray(whole[0].end)
        for c in whole[0].comparisons:
            seen[c.offset + (c.how == "lt")] = 1
        left = left_of(whole, bytes(seen), program)
        rest = without_proved(case, whole, left)
    rows = text.splitlines()
    lines = {n for n, row in enumerate(rows, 1) if sign in row}
    before, after = (
        {c.at[1] for c, _ in x.comparisons
         if c.how in ("lt", "gt") and (c.constant or every)} & lines
        for x in (left, rest)
    )  # fmt: skip
    return before, after


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_is_drawn_from_a_range_stays_in_it_wherever_it_is_kept():
    """Members by themselves, sorted, exchanged, and in a loop between two of them."""
    before, after = _rest(TRIPS, "/* ")
    rows = TRIPS.splitlines()
    assert {n for n in before if "/* proved" in rows[n - 1]} == before - after
    assert {n for n in before if "/* open" in rows[n - 1]} == after
    assert len(before) == 9


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_what_is_a_copy_of_what_stays_in_a_range_stays_in_it_too():
    """Stores that begin without a bound, as their own cell, or another's, has none yet."""
    rows = RING.splitlines()
    before, after = _rest(RING, "/* ", every=True)
    assert {n for n in before if "/* proved" in rows[n - 1]} == before - after
    assert {n for n in before if "/* open" in rows[n - 1]} == after
    assert len(before) == 4
    walk = RING.replace("(at[i] + draw(7) - 3 + n) % n", "at[i] + draw(7) - 3")
    before, after = _rest(walk, "/* ", every=True)
    assert after == before


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("how", OTHERS)
def test_what_may_be_written_otherwise_is_not_proved(how):
    """A number above 1,440 comes by each of these, and none of the stores alone says so."""
    before_main, more, is_proved = OTHERS[how]
    text = (
        HEAD
        + before_main
        + """int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100, cut = 0;
  s = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++) a[i] = 300 + draw(900);
  """
        + more
        + "\n  for (int i = 0; i < n; i++)\n    "
        + ASKED
        + """
  printf("%d\\n", cut);
  return 0;
}
"""
    )
    before, after = _rest(text, "/* asked */")
    assert before
    assert after == (set() if is_proved else before)


def test_pointers_made_of_numbers_leave_no_cells():
    text = """define dso_local i32 @main() {
  %a = alloca i32, align 4
  store i32 7, ptr %a, align 4
  %1 = load i32, ptr %a, align 4
  ret i32 %1
}
"""
    (cell,) = memory_cells(text)
    assert (cell.type_, cell.loads, cell.stores) == ("i32", (3,), (2,))
    assert memory_cells(text.replace("ret", "%2 = inttoptr i32 %1 to ptr\n  ret")) == []
