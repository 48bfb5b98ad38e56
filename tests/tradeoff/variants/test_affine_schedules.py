"""Nests by a scheduler of integer sets: the same numbers, what is shared, what is left alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_c")
pytest.importorskip("islpy", reason="pip install 'rheostat[code]'")

import islpy

from rheostat.measurement.code.programs.program import Program
from rheostat.questions.code.code_search import searched_chains
from rheostat.questions.code.variant_store import VariantStore
from rheostat.tradeoff.variants.affine_loops import regions
from rheostat.tradeoff.variants.affine_scalars import in_elements
from rheostat.tradeoff.variants.affine_schedules import SCHEDULES, rescheduled
from rheostat.tradeoff.variants.c_source import CSource

TILES, WHOLE_NESTS, APART_TILES, APART = SCHEDULES
NESTS = {
    "triangles": "for (i = 0; i < n; i++) { for (j = 0; j < i; j++) {"
    " for (k = 0; k < j; k++) a[i][j] -= a[i][k] * a[k][j]; a[i][j] /= a[j][j] + 9; }"
    " for (j = i; j < n; j++) for (k = 0; k < i; k++) a[i][j] -= a[i][k] * a[k][j]; }",
    "two_sums": "for (i = 0; i < n; i++) { s[i] = 0; for (j = 0; j < n; j++) {"
    " t[j] = t[j] + s[i] * b[i][j]; s[i] = s[i] + b[i][j] * 0.25; } }",
    "neighbours": "for (k = 0; k < n; k++) for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)"
    " c[i][j] = (c[i - 1][j] + c[i][j - 1] + c[i][j] + c[i][j + 1] + c[i + 1][j]) / 5;",
    "backwards": "for (i = n - 2; i >= 0; i--) for (j = 1; j <= n - 1; j++)"
    " c[i][j] = 0.5 * c[i + 1][j] + s[j];",
    "flat": "for (i = 1; i < n; i++) for (j = 0; j < n; j++)"
    " f[i * n + j] = 0.5 * f[(i - 1) * n + j] + b[i][j];",
    "swapped": "for (i = 0; i < n; i++) for (j = 0; j < n; j++)"
    " c[j][i] += 2 * b[j][(i * 7) % n] - t[i];",
}
ARRAYS = "extern double a[N][N], b[N][N], c[N][N];"
SCALARS = {
    "factors": ARRAYS
    + " double w; for (i = 0; i < n; i++) { for (j = 0; j < i; j++) { w = a[i][j];"
    " for (k = 0; k < j; k++) w -= a[i][k] * a[k][j]; a[i][j] = w / (a[j][j] + 9); }"
    " for (j = i; j < n; j++) { w = a[i][j]; for (k = 0; k < i; k++) w -= a[i][k] * a[k][j];"
    " a[i][j] = w; } }",
    "rows": ARRAYS + " double w; for (i = 0; i < n; i++) for (j = 0; j < n; j++) { w = 0.5;"
    " for (k = 0; k < n; k++) w = w + b[i][k] * b[k][j]; c[i][j] = 2 * w; }",
}
NESTS |= SCALARS
PROGRAM = """#include <stdio.h>
#define N 70
static double a[N][N], b[N][N], c[N][N], s[N], t[N], f[N * N];
{functions}
static void (*every[])(int) = {{{calls}}};
int main(void) {{
  int sizes[] = {{0, 1, 2, 33, 64, N}};
  for (int one = 0; one < {count}; one++) {{
    for (int r = 0; r < N; r++) {{
      s[r] = 1.0 / (r + 1); t[r] = r % 7;
      for (int q = 0; q < N; q++) {{
        a[r][q] = (r * q % 11) / 7.0; b[r][q] = (r + 2 * q) % 5 / 3.0;
        c[r][q] = r + q; f[r * N + q] = q;
      }}
    }}
    for (int r = 0; r < 6; r++) every[one](sizes[r]);
    for (int r = 0; r < N; r++) {{
      printf("%.17g %.17g ", s[r], t[r]);
      for (int q = 0; q < N; q++) printf("%.17g %.17g %.17g ", a[r][q], c[r][q], f[r * N + q]);
    }}
    printf("\\n");
  }}
}}
"""


def _function(name: str) -> str:
    return f"void {name}(int n) {{ int i, j, k; (void)k; {NESTS[name]} }}\n"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_every_order_prints_the_same(tmp_path: Path) -> None:
    functions, calls = [], []
    for name in NESTS:
        texts = [_function(name), *(rescheduled(_function(name), s) for s in SCHEDULES)]
        for number, text in enumerate(x for x in texts if x is not None):
            functions.append(text.replace(f"void {name}(", f"void {name}_{number}("))
            calls.append(f"{name}_{number}")
    assert "".join(functions).count("#pragma omp parallel for") > len(NESTS)
    text = PROGRAM.format(functions="".join(functions), calls=", ".join(calls), count=len(calls))
    (tmp_path / "a.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True,
                          env={"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"})  # fmt: skip
    printed = dict(zip(calls, done.stdout.splitlines(), strict=True))
    for name in NESTS:
        own = {v: text for v, text in printed.items() if v.startswith(f"{name}_")}
        assert [v for v, text in own.items() if text != own[f"{name}_0"]] == []
        assert len(own) > 1, name


def test_an_outer_loop_that_carries_is_kept_and_a_loop_within_is_shared() -> None:
    made = rescheduled(_function("triangles"), WHOLE_NESTS) or ""
    lines = [x.strip() for x in made.splitlines()]
    shared = lines.index("#pragma omp parallel for")
    assert lines[shared - 1].startswith("for (long c0 = 0;"), "columns one behind the other"
    assert lines[shared + 1].startswith("for (long c1 = (c0 + 1);"), "rows below at once"


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_that_stands_for_an_element_is_in_no_ones_way(name: str) -> None:
    text = _function(name)
    made = in_elements(text, islpy)
    assert not re.search(r"\bw [-+]?=", made)
    assert "#pragma omp parallel for" in (rescheduled(text, TILES) or "")


@pytest.mark.parametrize(
    "body",
    [
        "w = 0; for (k = 0; k < n; k++) w += c[i][k]; c[i][j] = w;",  # looks at the element
        "w = 0; for (k = 0; k < n; k++) w += b[i][k]; c[i][j] = c[i][j] + w;",
        "w = 0; for (k = 0; k < n; k++) w += b[i][k]; c[i][j] = w; b[i][j] = w;",
        "for (k = 0; k < n; k++) w += b[i][k]; c[i][j] = w;",  # an earlier iteration's
        "w = 0; for (k = 0; k < n; k++) { w += b[i][k]; c[i][j] = w; }",
        "w = 0; for (k = 0; k < n; k++) w += b[i][k]; e[i] = w;",  # of another type
        "w = 0; for (k = 0; k < n; k++) w += b[i][k]; c[i][p[j]] = w;",
    ],
)
def test_a_scalar_that_is_more_than_an_element_stays(body: str) -> None:
    text = ("static double b[9][9], c[9][9]; float e[9]; int p[9];\nvoid f(int n) {"
            f" int i, j, k; double w = 0; for (i = 0; i < n; i++) for (j = 0; j < n; j++) {{"
            f" {body} }} }}")  # fmt: skip
    assert in_elements(text, islpy) == text
    rest = "for (i = 0; i < n; i++) for (j = 0; j < n; j++) { w = 0; c[i][j] = w; }"
    text = f"double c[9][9];\nvoid f(int n) {{ int i, j; double w; {rest} c[0][0] += w; }}"
    assert in_elements(text, islpy) == text


def test_two_sums_in_two_directions_are_taken_apart() -> None:
    text = (
        "void f(int n, double b[n][n], double s[n], double t[n]) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) { s[j] += b[i][j]; t[i] += b[i][j]; } }"
    )
    made = rescheduled(text, APART) or ""
    assert made.count("#pragma omp parallel for") == 2
    first, second = made.split("#pragma omp parallel for")[1:]
    by_column, by_row = (first, second) if "s_alone[" in first else (second, first)
    assert "c0 += 64" in by_column, "columns are shared in blocks, so that memory is walked by rows"
    assert re.search(r"\bsum\d+ \+= ", by_row), "a row's sum is kept in a scalar"


def test_tiles_run_along_diagonals_where_no_loop_is_free() -> None:
    made = rescheduled(_function("neighbours"), TILES) or ""
    assert made.count("#pragma omp parallel for") >= 1
    before, shared = made.split("#pragma omp parallel for", 1)
    assert "c0 += 32" in before, "diagonals one behind the other"
    assert shared.split("{", 1)[0].rstrip().endswith("c1 += 32)"), "tiles of one at once"


@pytest.mark.parametrize(
    ("end", "uneven"), [("j <= i", True), ("j < n - i", True), ("j < n", False), ("j < i", True)]
)
def test_rows_of_different_length_are_handed_out_as_threads_come_free(
    end: str, uneven: bool
) -> None:
    text = (f"void f(int n, double a[n][n], double b[n][n]) {{ for (int i = 0; i < n; i++)"
            f" for (int j = 0; {end}; j++) a[i][j] += b[i][j]; }}")  # fmt: skip
    for schedule in SCHEDULES:
        shared = re.findall(r"#pragma omp parallel for.*", rescheduled(text, schedule) or "")
        assert [("schedule(dynamic)" in x) for x in shared] == [uneven], schedule.words


def test_a_loop_of_one_iteration_hands_its_pragma_to_no_other() -> None:
    text = ("void f(int n, double a[4][n]) { for (int i = 0; i < 1; i++)"
            " for (int j = 1; j < n; j++) a[i][j] = a[i][j - 1] + a[i + 1][j]; }")  # fmt: skip
    for schedule in SCHEDULES:
        assert "omp parallel" not in (rescheduled(text, schedule) or ""), schedule.words


@pytest.mark.parametrize(
    "body",
    [
        "for (i = 0; i < n; i++) for (j = 0; j < n; j++) if (t[j] > 0) s[j] += b[i][j];",
        "for (i = 0; i < n; i++) for (j = 0; j < s[i]; j++) c[i][j] = 1;",
        "for (i = 0; i < n; i++) for (j = 0; j < n; j += 2) c[i][j] = 1;",
        "for (i = 0; i < n; i++) for (j = 0; j < n; j++) c[i][j] = rand();",
        "for (i = 0; i < n; i++) for (j = 0; j < n; j++) { c[i][j] = 1; n--; }",
        "for (i = 0; i < n; i++) { for (j = 0; j < n; j++) c[i][j] = 1; s[i] = j; }",
        "for (i = 0; i < n; i++) for (j = 0; j < n; j++) c[i][j] = 1; s[0] = i;",
        "for (i = 0; i < x; i++) for (j = 0; j < n; j++) c[i][j] = 1;",
    ],
)
def test_what_is_no_sum_of_variables_and_sizes_is_left_alone(body: str) -> None:
    head = "double b[9][9], c[9][9], s[9], t[9]; "
    text = f"{head}void f(int n, double x) {{ int i, j; {body} }}"
    assert [r for r in regions(CSource(text)) if r.depth > 1] == []


def test_rows_that_are_told_by_no_size_alone_are_not_taken_apart() -> None:
    text = (
        "void f(int n, double *a, double *b) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) a[i * n + j] = b[i] + OTHER; }"
    )
    rows = rescheduled(text.replace("OTHER", "a[i * n + j]"), WHOLE_NESTS) or ""
    assert "#pragma omp parallel for" in rows
    mixed = rescheduled(text.replace("OTHER", "a[j]"), WHOLE_NESTS) or ""
    assert "#pragma omp parallel for" not in mixed


def test_elements_at_places_that_are_data_may_be_any() -> None:
    text = ("void f(int n, int *p, double *s, double b[n][n]) { for (int i = 0; i < n; i++)"
            " for (int j = 0; j < n; j++) s[p[j]] += b[i][j]; }")  # fmt: skip
    for schedule in SCHEDULES:
        assert "omp parallel" not in (rescheduled(text, schedule) or "")


def test_a_search_asks_for_them_beside_pragmas(tmp_path: Path) -> None:
    text = f"double b[9][9], s[9], t[9];\n{_function('two_sums')}int main(void) {{ f(9); }}\n"
    program = Program({"a.c": text}, "serial")
    store = VariantStore(tmp_path, program, {"seed": 0})
    said = [v.change for chain in searched_chains(program, "openmp", "runtime_s")(store)
            if (v := next(chain, None))]  # fmt: skip
    assert said[-1] == SCHEDULES[0].words


def test_without_the_library_nothing_is_tried_and_the_search_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program({"a.c": _function("two_sums")}, "serial")
    chains = searched_chains(program, "openmp", "runtime_s")
    told: list[str] = []
    monkeypatch.setattr("rheostat.questions.listener.note", told.append)
    chains(VariantStore(tmp_path, program, {"seed": 0}))
    assert told == []
    monkeypatch.setattr("rheostat.tradeoff.variants.affine_schedules.find_spec", lambda name: None)
    assert rescheduled(_function("two_sums"), TILES) is None
    chains(VariantStore(tmp_path, program, {"seed": 0}))
    assert [t.partition(":")[0] for t in told] == ["nests not scheduled anew"]
    assert "islpy is not installed: pip install" in told[0]
