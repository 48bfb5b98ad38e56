"""Which functions take an address for a number, by what LLVM makes of them."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reference import Reference
from rheostat.measurement.code.sandboxed.sandbox import sandbox, workspace
from rheostat.measurement.code.surroundings.addresses import casts_of_pointers
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.workbench import Workbench

HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int g;\n"
UNSIGNED = "unsigned long u(unsigned long a, unsigned long b) { return a - b; }\n"
"""A difference of numbers that have the names of casts in other functions."""
TAKEN = {
    "cast beside a difference elsewhere":
        "long f(char *p, char *q) { return ((long)p ^ (long)q) & 63; }",
    "objects of two kinds": "long f(void) { char x; return (&x - (char *)&g) & 63; }",
    "stack and heap": "long f(void) { char x, *h = malloc(3); long r = (&x - h) & 63; free(h); "
                      "return r; }",
    "order of two objects": "int f(void) { char x, *h = malloc(3); int r = &x < h; free(h); "
                            "return r; }",
    "bytes of a pointer":
        "int f(int k) { int x; void *p = &x; return ((unsigned char *)&p)[k]; }",
    "union": "long f(int *p) { union { int *p; long n; } u; u.p = p; return u.n & 63; }",
    "words of a command line":
        "int main(int c, char **v) { return c > 1 ? (v[1] - v[0]) / 64 : 0; }",
    "printed": 'int f(void) { int x; char q[32]; snprintf(q, 32, "%p", (void *)&x); return q[9]; }',
}  # fmt: skip
PLAIN = {
    "elements between": "long f(int *a, int *b) { return b - a; }",
    "to the end": "long f(int n) { int a[9], *p = a; while (p < a + n) *p++ = 1; return p - a; }",
    "in a text": "long f(const char *s) { const char *e = strchr(s, 'x'); return e ? e - s : 0; }",
    "on the heap": "long f(int n) { char *b = malloc(n), *p = b + n / 2; long r = p - b; free(b); "
                   "return r; }",
    "in a word": "int main(int c, char **v) { char *e; strtol(v[1], &e, 9); return e - v[1] + c; }",
    "percent": 'int f(char *q) { return snprintf(q, 9, "%d%%p", 3); }',
    "structure": "struct s { int *p; int n; }; int f(int *a) { struct s t[2]; t[0].p = a; "
                 "t[1].n = 2; return t[*a].n; }",
}  # fmt: skip


@pytest.fixture(scope="module")
def casts():
    if absent("clang"):
        pytest.skip("clang is not installed")
    with workspace() as folder:
        program = Program({"a.c": "int main(void) { return 0; }\n"})
        bench = Workbench(sandbox("none", image="/"), folder)
        case = Case(program, Reference(program, bench, 1))
        yield lambda text: casts_of_pointers(case, Program({"a.c": HEAD + UNSIGNED + text + "\n"}))


@pytest.mark.parametrize("what", TAKEN)
def test_an_address_that_becomes_a_number_is_seen(what, casts) -> None:
    lines = {line for _, line in casts(TAKEN[what])}
    assert lines == ({0} if what == "printed" else {6})


@pytest.mark.parametrize("what", PLAIN)
def test_numbers_of_elements_are_no_addresses(what, casts) -> None:
    assert not casts(PLAIN[what])
