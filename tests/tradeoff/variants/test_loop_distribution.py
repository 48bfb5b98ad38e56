"""Loops blocked and taken apart: the same numbers in the same order, and what is left alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.measurement.code.programs.program import Program
from rheostat.questions.code.code_search import searched_chains
from rheostat.questions.code.variant_store import VariantStore
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.dependence import dependence
from rheostat.tradeoff.variants.loop_blocks import BLOCK, counter
from rheostat.tradeoff.variants.loop_distribution import (
    REORDERED,
    in_another_order,
    prepared,
    reordered,
)
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE, UNKNOWN

KERNELS = {
    "product": "for (i = 0; i < n; i++) for (j = 0; j < n; j++) { c[i][j] = 0.5;"
    " for (k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j]; c[i][j] *= 3; }",
    "columns": "for (j = 0; j < n; j++) { s[j] = 0; for (i = 0; i < n; i++) s[j] += a[i][j];"
    " s[j] /= n; }",
    "transposed": "for (i = 0; i < n; i++) for (j = 0; j < n; j++) s[i] += a[j][i] * t[j];",
    "symmetric": "for (i = 0; i < n; i++) for (j = i; j < n; j++) { c[i][j] = 0;"
    " for (k = 0; k < n; k++) c[i][j] += a[k][i] * a[k][j]; c[j][i] = c[i][j]; }",
    "triangular": "for (i = 0; i < n; i++) for (j = 0; j < n; j++) {"
    " for (k = i + 1; k < n; k++) b[i][j] += a[k][i] * b[k][j]; b[i][j] = 0.7 * b[i][j]; }",
    "orthogonal": "for (k = 0; k < n; k++) for (j = k + 1; j < n; j++) { c[k][j] = 0;"
    " for (i = 0; i < n; i++) c[k][j] += a[i][k] * b[i][j];"
    " for (i = 0; i < n; i++) b[i][j] = b[i][j] - 1e-3 * a[i][k] * c[k][j]; }",
}
WHOLE = """#include <stdio.h>
#define N 150
static double a[N][N], b[N][N], c[N][N], s[N], t[N];
static void f(int n) {{
  int i, j, k;
  {body}
  (void)k;
}}
int main(void) {{
  for (int r = 0; r < N; r++) {{
    s[r] = 1.0 / (r + 1); t[r] = r % 7;
    for (int q = 0; q < N; q++) {{ a[r][q] = (r * q % 11) / 7.0; b[r][q] = (r + 2 * q) % 5 / 3.0; }}
  }}
  f(0); f(1); f(64); f(N);
  for (int r = 0; r < N; r++) {{
    printf("%.17g ", s[r]);
    for (int q = 0; q < N; q++) printf("%.17g %.17g ", b[r][q], c[r][q]);
  }}
}}
"""


def run(text: str, folder) -> str:
    (folder / "f.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-o", "f", "f.c"], cwd=folder, check=True)
    return subprocess.run(["./f"], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", KERNELS)
def test_every_element_is_what_it_was_to_the_last_bit(name, tmp_path) -> None:
    text = WHOLE.format(body=KERNELS[name])
    changed = reordered(text)
    assert changed is not None
    assert run(changed, tmp_path) == run(text, tmp_path)


def test_what_can_be_shared_stays_outside() -> None:
    """A loop over rows is enough; columns alone are shared in blocks, whose loop is the outer."""
    assert "_block" not in reordered(WHOLE.format(body=KERNELS["product"]))
    for name in ("columns", "transposed", "orthogonal"):
        source = CSource(reordered(WHOLE.format(body=KERNELS[name])))
        (blocks,) = [x for x in source.loops if x.variable.endswith("_block")]
        assert blocks.step == f"{blocks.variable} += {BLOCK}"
        assert counter(source, blocks) == blocks.variable.removesuffix("_block")
        found = dependence(source, blocks)
        assert (found.level, found.reasons) == (SAFE, [])
        assert {"i", "j"} >= found.private >= {counter(source, blocks)}
        inner = [x for x in source.inside(blocks) if not source.inside(x)]
        assert {x.variable for x in inner} == {counter(source, blocks)}


@pytest.mark.parametrize(("old", "new"), [
    ("s[j] = 0;", "s[j] = 0; if (j == 3) continue;"), ("s[j] /= n;", "s[j] /= i;"),
    ("s[j] = 0;", "double x = t[j]; s[j] = x;"), ("s[j] = 0;", "s[j] = s[j + 1];"),
    ("s[j] = 0;", "s[j] = 0; k = j;"), ("j++", "j += 2"), ("j < n", "j <= n - 1"),
    ("s[j] /= n; }", "s[j] /= n; } t[0] = j;"), ("(j = 0; j < n", "(j = 0; j < abs(n)"),
    ("s[j] = 0;", "s[j] = 0;\n#pragma GCC unroll 4\n"),
])  # fmt: skip
def test_what_hangs_together_is_left_alone(old, new) -> None:
    body = KERNELS["columns"]
    assert old in body
    assert reordered(WHOLE.format(body=body.replace(old, new))) is None


@pytest.mark.parametrize(("blocks", "level"), [
    ("j < (n < m + 64 ? n : m + 64)", SAFE), ("j < m + 64", SAFE), ("j < m + 65", CONFLICT),
    ("j < (n > m + 64 ? n : m + 64)", CONFLICT), ("j < n", CONFLICT),
])  # fmt: skip
def test_only_blocks_as_long_as_a_step_are_apart(blocks, level) -> None:
    text = f"void f(int n, double *a) {{ for (int m = 0; m < n; m += 64) for (int j = m; {blocks}; j++) a[j] = 1; }}"  # noqa: E501
    source = CSource(text)
    found = dependence(source, source.loops[0])
    assert (found.level == SAFE) == (level == SAFE)


@pytest.mark.parametrize(("body", "level"), [
    ("c[i][j] = 0; c[j][i] = c[i][j];", SAFE), ("c[i][j] = 0; c[j][i + 1] = c[i][j];", UNKNOWN),
    ("c[i][j] = 0; c[j][j] = 1;", SAFE), ("c[i][j] = 0; c[j][x[0]] = c[i][j];", UNKNOWN),
])  # fmt: skip
def test_an_element_and_its_mirror_meet_in_one_iteration_alone(body, level) -> None:
    text = f"void f(int n, int *x, double c[9][9]) {{ for (int i = 0; i < n; i++) for (int j = i; j < n; j++) {{ {body} }} }}"  # noqa: E501
    source = CSource(text)
    assert dependence(source, source.loops[1]).level == level


def test_loops_of_others_are_not_touched() -> None:
    assert (
        reordered(re.sub("for", "while (n--) for", WHOLE.format(body="s[0] = 1;"), count=0)) is None
    )


def test_a_search_shares_both_orders_and_runs_the_other_on_one_thread(tmp_path) -> None:
    text = WHOLE.format(body=KERNELS["product"])
    program = Program({"f.c": text}, "serial", flags=("-O2",))
    (alone,) = in_another_order(program)
    assert (alone.change, alone.language, alone.flags) == (REORDERED, "serial", ("-O2",))
    assert alone.text == reordered(text)
    assert in_another_order(replace(program, language="openmp")) == []
    assert in_another_order(replace(program, files={"f.cpp": text})) == []
    store = VariantStore(tmp_path, program, {"seed": 0})
    own, other = [next(c) for c in searched_chains(program, "openmp", "runtime_s")(store)[:2]]
    assert own.change.startswith("line ")
    assert other.change.startswith(f"{REORDERED}, line ")
    for variant, nests in ((own, text), (other, alone.text)):
        plain = re.sub(r"\s*#pragma.*", "", variant.text)
        assert plain.split() == nests.split()
        assert variant.text.count("#pragma omp parallel for") >= 1
    assert len(searched_chains(program, "", "runtime_s")(store)) == 1


def test_macros_of_other_files_are_known() -> None:
    body = KERNELS["columns"].replace("s[j] = 0;", "s[j] = VALUE(0);")
    files = {"f.c": '#include "f.h"\n' + WHOLE.format(body=body)}
    (variant,) = in_another_order(Program(files, "serial"))
    assert not variant.change.startswith(REORDERED)
    files["f.h"] = "#define VALUE(x) x##.0\n"
    (variant,) = in_another_order(Program(files, "serial"))
    assert variant.change.startswith(REORDERED)


def test_sums_are_kept_in_scalars_beside_another_order() -> None:
    """Within a shared loop the element would be written in each iteration."""
    text = """void f(int n, double s[n], double b[n][n], double x[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      s[i] = b[i][j] * x[j] + s[i];
}
"""
    made, changes = prepared(text)
    assert changes.startswith("sums kept in scalars")
    assert "sum1 = b[i][j] * x[j] + sum1;" in made
    (variant,) = in_another_order(Program({"a.c": text}, "serial"))
    assert (variant.text, variant.change) == (made, changes)
