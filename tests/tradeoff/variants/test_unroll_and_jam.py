"""Four rows at once: the same numbers to the last bit, and what may not run together stays."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.loop_blocks import is_rest
from rheostat.tradeoff.variants.loop_distribution import prepared
from rheostat.tradeoff.variants.openmp import PragmaSites
from rheostat.tradeoff.variants.placement import PragmaPlacement
from rheostat.tradeoff.variants.scalar_sums import accumulated
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE
from rheostat.tradeoff.variants.unroll_and_jam import jammed

NESTS = {
    "two_sums": "for (i = 0; i < n; i++) { s[i] = 0; for (j = 0; j < n; j++) {"
    " t[j] = t[j] + s[i] * b[i][j] + u[i]; s[i] = s[i] + b[i][j] * 0.25; } }",
    "triangle": "for (i = 0; i < n; i++) for (j = 0; j <= i; j++) { c[i][j] *= 0.5;"
    " for (k = 0; k < n; k++) c[i][j] += b[i][k] * b[j][k]; }",
    "own_scalar": "for (i = 1; i < n; i++) { double x = 1, w; w = t[i];"
    " for (j = 0; j < n; j++) { double q = b[i][j]; x -= q * w; } if (x > 3) x = 3; s[i] = x; }",
    "outer_scalar": "double w; for (int r = 2; r < n - 1; ++r) { w = 0;"
    " for (k = 0; k < n; k++) w += b[k][r]; s[r] = w; }",
    "recurrence": "double w, v; for (j = 0; j < n; j++) { w = 0; v = 1;"
    " for (i = 0; i < n; i++) { c[i][j] = 0.5 * w + 0.25 * v + b[i][j]; v = w; w = c[i][j]; } }",
    "pointed_at": "for (long r = 0; r < n; r++) { __typeof__(&s[0]) __restrict p = s; p[r] = 0;"
    " double x = p[r]; for (k = 0; k < n; k++) x += b[r][k]; p[r] = x; }",
    "two_loops": "for (int r = 0; r < END; r += 1) { double x = 0, y = 1;"
    " for (k = 0; k < n; k++) x += b[r][k]; for (k = 1; k < n; k++) y -= b[k][r]; s[r] = x * y; }",
}
PROGRAM = """#include <stdio.h>
#define N 70
#define END 1 + n - 1
static double b[N][N], c[N][N], s[N], t[N], u[N];
{functions}
static void (*every[])(int) = {{{calls}}};
int main(void) {{
  int sizes[] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 33, N}};
  for (int one = 0; one < {count}; one++) {{
    for (int r = 0; r < N; r++) {{
      s[r] = 1.0 / (r + 1); t[r] = r % 7; u[r] = 0.1 * r;
      for (int q = 0; q < N; q++) {{ b[r][q] = (r + 2 * q) % 5 / 3.0; c[r][q] = r + q; }}
    }}
    for (int r = 0; r < 11; r++) every[one](sizes[r]);
    for (int r = 0; r < N; r++) {{
      printf("%.17g %.17g ", s[r], t[r]);
      for (int q = 0; q < N; q++) printf("%.17g ", c[r][q]);
    }}
    printf("\\n");
  }}
}}
"""


def _function(name: str) -> str:
    return f"void {name}(int n) {{ int i, j, k; (void)k; (void)i; (void)j; {NESTS[name]} }}\n"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_each_sum_has_the_same_bits(tmp_path: Path) -> None:
    functions, calls = [], []
    for name in NESTS:
        text = _function(name)
        sums = accumulated(text) or text
        made = jammed(sums, headers="#define END 1 + n - 1\n")
        assert made is not None, name
        assert "+= 4" in made
        functions += [text, made.replace(f"void {name}(", f"void {name}_4(")]
        calls += [name, f"{name}_4"]
    text = PROGRAM.format(functions="".join(functions), calls=", ".join(calls), count=len(calls))
    (tmp_path / "a.c").write_text(text)
    flags = ["-O1", "-Wall", "-Werror", "-fsanitize=undefined,address", "-Wno-unknown-pragmas"]
    subprocess.run(["gcc", *flags, "-o", "a", "a.c"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True)
    printed = dict(zip(calls, done.stdout.splitlines(), strict=True))
    assert [n for n in NESTS if printed[n] != printed[f"{n}_4"]] == []
    assert done.stderr == ""


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < n; i++) { double x = s[i]; for (k = 0; k < i; k++) x -= b[i][k] * s[k];"
        " s[i] = x; }",  # as many steps as the row says
        "for (i = 1; i < n; i++) { double x = 0; for (k = 0; k < n; k++) x += b[i - 1][k];"
        " b[i][0] = x; }",  # a row needs the one before
        "for (i = 0; i < n; i++) { double x = 0; for (k = 1; k < n; k++)"
        " { t[k] = t[k - 1] + b[i][k]; x += t[k]; } s[i] = x; }",
        "for (i = 0; i < n; i++) { double x = 0; for (k = 0; k < n; k++) x += t[k] * b[i][k];"
        " t[i] = x; }",
        "for (i = 0; i < n; i++) { double x = 0; for (k = 0; k < n; k++)"
        " { if (b[i][k] > 9) break; x += b[i][k]; } s[i] = x; }",
        "for (i = 0; i < n; i++) { long x = 0; for (k = 0; k < n; k++) x += p[k]; s[i] = x; }",
        "for (i = 0; i < n; i++) { double x = 0; for (k = 0; k < n; k++) x += b[i][k]; s[i] = x; }"
        " s[0] = i;",
        "for (i = 0; i < n; i++) { double x = 0; for (k = 0; k < n; k++) x += rand(); s[i] = x; }",
        "for (i = 0; i < n; i += 2) { double x = 0; for (k = 0; k < n; k++) x += b[i][k];"
        " s[i] = x; }",
        "for (size_t r = 0; r < n; r++) { double x = 0; for (k = 0; k < n; k++) x += b[r][k];"
        " s[r] = x; }",  # n - 3 may be less than nothing
        "for (i = 0; i < n; i++) { double *r = b[i], x = 0; for (k = 0; k < n; k++)"
        " { x += r[k]; r[k] = 0; } s[i] = x; }",
        "for (i = 0; i < n; i++) { double x = 0; for (k = 0; k < n; k++)"
        " { double *r = b[9 - i]; x += r[k]; r[k] = 0; } s[i] = x; }",
        "double x = 0; for (i = 0; i < n; i++) { for (k = 0; k < n; k++) x += b[i][k]; s[i] = x; }",
        "double x = 0, y = 1; for (i = 0; i < n; i++) { for (k = 0; k < n; k++) { y = b[i][k];"
        " x += y; } s[i] = y; }",
        "double y = 1; for (i = 0; i < n; i++) { double x = 0; for (k = 1; k < n; k++)"
        " { y = b[i][k]; x += y; } s[i] = y + x; }",  # of no steps y is an earlier row's
        "\n#pragma omp parallel for collapse(2)\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++)"
        " { double x = 0; for (k = 0; k < n; k++) x += b[i][k]; b[i][j] = x; }",
    ],
)
def test_what_may_not_run_together_stays(body: str) -> None:
    head = "double b[9][9], s[9], t[9]; int p[9]; "
    assert jammed(f"{head}void f(int n) {{ int i, j, k; {body} }}") is None


def test_a_pragma_stays_before_the_loop_that_it_shares() -> None:
    text = """void f(int n, double s[n], double b[n][n]) {
  #pragma omp parallel for
  for (int i = 0; i < n; i++) {
    double x = 0;
    for (int k = 0; k < n; k++) x += b[i][k];
    s[i] = x;
  }
}
"""
    lines = (jammed(text) or "").splitlines()
    shared = lines.index("  #pragma omp parallel for")
    assert lines[shared + 1] == "  for (int i = 0; i < n - 3; i += 4) {"
    assert lines.count("  #pragma omp parallel for") == 1


def test_what_steps_of_four_left_is_not_shared() -> None:
    made, before = prepared(f"double b[9][9], c[9][9];\n{_function('recurrence')}")
    placement = PragmaPlacement(made, before=before)
    text = next(placement.steps()).text
    assert text.count("#pragma omp parallel for") == 1
    assert "for (j = 0; j < n - 3; j += 4)" in text.split("#pragma omp parallel for", 1)[1]


@pytest.mark.parametrize("low", ["n / 4 * 4", "n - n % 4", "n - (n % 4)", "2 + (n - 2) / 8 * 8"])
def test_what_is_left_is_known_by_where_it_begins(low: str) -> None:
    source = CSource(f"void f(int n, int *s) {{ for (int i = {low}; i < n; i++) s[i] = 1; }}")
    assert is_rest(source, source.loops[0])
    assert PragmaSites(source).loops == []


def test_a_loop_in_steps_of_four_has_four_elements_of_its_own() -> None:
    head = "void f(int n, double *s, double *t) { for (int i = 0; i < n - 3; i += 4) { "
    for body, level in (
        ("s[i] = 1; s[i + 1] = 2; s[i + 3] = t[i + 4];", SAFE),
        ("s[i] = 1; s[i + 1] = 2; s[i + 4] = 3;", CONFLICT),
        ("s[i] = s[i - 4];", CONFLICT),
    ):
        source = CSource(f"{head}{body} }} }}")
        assert dependence(source, source.loops[0]).level == level, body


def test_a_search_is_offered_them_with_sums_in_scalars() -> None:
    text = f"double b[9][9], s[9], t[9], u[9];\n{_function('two_sums')}"
    made, changes = prepared(text)
    assert changes == "sums kept in scalars, four rows summed at once"
    assert made.count("i += 4") == 1
