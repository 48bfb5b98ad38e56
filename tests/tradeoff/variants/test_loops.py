"""Loops: what may be shared, with which clauses, and where a text says too little."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.openmp import PragmaSites
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE, UNKNOWN

HEAD = (
    "void f(long n, double *a, double *b, long *x) {\n  double s = 0, m = 0, t;\n  long i, j, k;\n"
)


def levels(body: str) -> list[int]:
    source = CSource(f"{HEAD}{body}\n}}\n")
    return [dependence(source, loop).level for loop in source.loops]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (i = 0; i < n; i++) a[i] = b[i] + b[i + 1];", [SAFE]),
        ("for (i = 1; i < n; i++) a[i] = a[i - 1];", [CONFLICT]),
        ("for (i = 0; i < n; i += 2) { a[2 * i] = 1; a[2 * i + 1] = 2; }", [SAFE]),
        ("for (i = 0; i < n; i++) { a[2 * i] = 1; a[2 * i + 2] = 2; }", [CONFLICT]),
        ("for (i = 0; i < n; i++) a[x[i]] = 1;", [UNKNOWN]),
        ("for (i = 0; i < n; i++) a[0] = b[i];", [CONFLICT]),
        ("for (i = 0; i < n; i++) for (j = 0; j < n; j++) a[i * n + j] = b[j * n + i];",
         [SAFE, SAFE]),
        ("for (k = 0; k < n; k++) for (i = 0; i < n; i++) a[i] = a[i] + b[k];", [UNKNOWN, SAFE]),
        ("for (i = 0; i < n; i++) { t = b[i]; a[i] = t * t; }", [SAFE]),
        ("for (i = 0; i < n; i++) { a[i] = t; t = b[i]; }", [CONFLICT]),
        ("for (i = 0; i < n; i++) { if (b[i] < 0) break; a[i] = 1; }", [CONFLICT]),
        ("for (i = 0; i < n; i++) a[i] = rand();", [CONFLICT]),
        ("for (i = 0; i < n; i++) n = n - 1;", [CONFLICT]),
    ],
)  # fmt: skip
def test_levels(body: str, expected: list[int]) -> None:
    assert levels(body) == expected


@pytest.mark.parametrize(
    ("body", "scanned"),
    [
        ("s += b[i]; a[i] = s;", True),
        ("a[i] = s; s += b[i];", False),  # what is read is the sum before
        ("if (b[i] > 0) s += b[i]; a[i] = s;", False),
        ("{ s += b[i]; } a[i] = s;", False),
        ("s -= b[i]; a[i] = s;", False),
        ("s += b[i]; s += 1; a[i] = s;", False),
        ("s += b[i]; a[i] = s; s = 0;", False),
    ],
)
def test_a_running_sum_is_one_update_of_the_body_before_all_reads(body, scanned) -> None:
    source = CSource(f"{HEAD} for (i = 0; i < n; i++) {{ {body} }} }}")
    d = dependence(source, source.loops[0])
    assert (d.scan is not None) is scanned
    assert d.level == (UNKNOWN if scanned else CONFLICT)
    assert ("s is a running sum" in d.reasons) is scanned


CALLED = """
int count;
double twice(double v) { return 2 * v; }
double noted(double v) { count++; return v; }
double hidden(double v) { return noted(v); }
double deep(double v) { return hidden(twice(v)); }
double other(double v) { return v + rand(); }
double again(double v) { return v > 1 ? again(v / 2) : v; }
void put(double *at, double v) { at[0] = v; }
"""


@pytest.mark.parametrize(
    ("statement", "level", "reasons"),
    [
        ("a[i] = twice(b[i]);", SAFE, []),
        ("a[i] = again(b[i]);", SAFE, []),
        ("a[i] = noted(b[i]);", CONFLICT, ["noted changes count"]),
        ("a[i] = hidden(b[i]);", CONFLICT, ["hidden calls noted"]),
        ("a[i] = deep(b[i]);", CONFLICT, ["deep calls noted"]),
        ("a[i] = other(b[i]);", CONFLICT, ["other calls rand"]),
        ("put(a + i, b[i]);", UNKNOWN, ["put writes through at"]),
    ],
)
def test_what_a_function_does_is_looked_for_in_those_it_calls(statement, level, reasons) -> None:
    source = CSource(f"{CALLED}{HEAD} for (i = 0; i < n; i++) {{ {statement} }} }}")
    d = dependence(source, source.loops[0])
    assert (d.level, d.reasons) == (level, reasons)


def test_loops_of_callers_count_in_the_weight_of_a_loop() -> None:
    text = """
    void g(long n, double *a) { for (long i = 0; i < n; i++) a[i] = 1; }
    void f(long n, double *a) {
      for (long k = 0; k < n; k++) for (long j = 0; j < n; j++) g(n, a);
    }
    void e(long n, double *a) { for (long t = 0; t < n; t++) f(n, a); }
    """
    here = PragmaSites(CSource(text))
    assert [here.weights[x.start] for x in here.loops[:1]] == [1 + 2 + 1]
    recursive = "void g(long n, double *a) { for (long i = 0; i < n; i++) { a[i] = 1; g(i, a); } }"
    ends = PragmaSites(CSource(recursive))
    assert list(ends.weights.values()) == [1 + 1]


@pytest.mark.parametrize(
    ("statement", "operator"),
    [
        ("s += b[i];", "+"),
        ("s = s + b[i];", "+"),
        ("s = b[i] * s;", "*"),
        ("if (b[i] > s) s = b[i];", "max"),
        ("if (s > b[i]) s = b[i];", "min"),
        ("s = fmin(s, b[i]);", "min"),
        ("s = b[i] > s ? b[i] : s;", "max"),
    ],
)
def test_reductions(statement: str, operator: str) -> None:
    source = CSource(f"{HEAD} for (i = 0; i < n; i++) {{ {statement} }} m = s; }}")
    d = dependence(source, source.loops[0])
    assert (d.level, d.reductions) == (SAFE, {"s": operator})


def test_a_value_that_is_read_afterwards_is_lastprivate() -> None:
    source = CSource(f"{HEAD} for (i = 0; i < n; i++) {{ t = b[i]; a[i] = t; }} m = t; }}")
    d = dependence(source, source.loops[0])
    assert (d.private, d.lastprivate) == (set(), {"t"})


def sites(body: str) -> PragmaSites:
    return PragmaSites(CSource(f"{HEAD}{body}\n}}\n"))


def pragma(body: str, option: str, place: int = 0) -> list[str]:
    here = sites(body)
    text = here.text({here.loops[place].start: option})
    return [x.strip() for x in text.splitlines() if "#pragma" in x]


def test_clauses_come_with_the_loop() -> None:
    body = "  for (i = 0; i < n; i++) {\n    t = b[i];\n    s += t;\n  }"
    assert pragma(body, "static") == [
        "#pragma omp parallel for schedule(static) private(t) reduction(+ : s)"
    ]


def test_nested_loops_collapse_and_running_sums_scan() -> None:
    body = "  for (i = 0; i < n; i++) {\n    for (j = 0; j < n; j++) a[i * n + j] = 0;\n  }"
    assert "collapse" in sites(body).options(sites(body).loops[0])
    assert "collapse(2) schedule(static)" in pragma(body, "collapse")[0]
    scan = "  for (i = 0; i < n; i++) {\n    s += b[i];\n    a[i] = s;\n  }"
    assert pragma(scan, "scan") == [
        "#pragma omp parallel for reduction(inscan, + : s)",
        "#pragma omp scan inclusive(s)",
    ]


def test_updates_at_data_are_atomic_or_reduced_as_a_whole() -> None:
    body = "  double h[8] = {0};\n  for (i = 0; i < n; i++) {\n    h[x[i]] += 1;\n  }"
    assert sites(body).options(sites(body).loops[0]) == ("array", "atomic")
    assert "reduction(+ : h)" in pragma(body, "array")[0]
    assert pragma(body, "atomic")[1] == "#pragma omp atomic"


def test_an_unknown_size_leaves_atomic_alone() -> None:
    body = "  for (i = 0; i < n; i++) {\n    a[x[i]] += 1;\n  }"
    assert sites(body).options(sites(body).loops[0]) == ("atomic",)
