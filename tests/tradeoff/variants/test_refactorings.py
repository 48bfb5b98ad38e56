"""Rewritings: what they make of a text, and where they leave it alone."""

from __future__ import annotations

import shutil
import subprocess

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.measurement.code.kernel_suite import suite_kernels
from rheostat.tradeoff.variants.refactorings import (
    REFACTORINGS,
    accumulated,
    cheaper_powers,
    exchanged,
    hoisted,
    interchange,
    multiplied,
    without_roots,
)

NAIVE = [k.name for k in suite_kernels().values() if "naive" in k.versions]


def test_loops_are_exchanged_where_the_inner_one_jumps() -> None:
    text = "void f(long n, double *a) {\nfor (long j = 0; j < n; j++)\n" \
           "for (long i = 0; i < n; i++) a[i * n + j] = 0;\n}"  # fmt: skip
    changed = interchange(text)
    assert changed is not None
    assert changed.index("long i = 0") < changed.index("long j = 0")
    assert interchange(changed) is None


def test_loops_are_not_exchanged_where_one_needs_the_other() -> None:
    text = "void f(long n, double *a) {\nfor (long j = 0; j < n; j++)\n" \
           "for (long i = j; i < n; i++) a[i * n + j] = 0;\n}"  # fmt: skip
    assert interchange(text) is None


def test_powers_and_roots() -> None:
    assert cheaper_powers("double f(double x) { return pow(x + 1, 2); }") == (
        "double f(double x) { return ((x + 1) * (x + 1)); }"
    )
    assert cheaper_powers("double f(double x) { return pow(g(x), 2); }") is None
    assert without_roots("int f(double x) { return sqrt(x) < 2.0; }") == (
        "int f(double x) { return (x) < 2.0 * 2.0; }"
    )


def test_fixed_calls_and_quotients_leave_the_loop() -> None:
    text = "void f(long n, double *a, double t) {\n  for (long i = 0; i < n; i++) {\n" \
           "    a[i] = a[i] * exp(-t) / t;\n  }\n}"  # fmt: skip
    moved = hoisted(text)
    assert moved is not None
    assert "const double fixed0 = exp(-t);\n  for" in moved
    assert "* inverse0" in (multiplied(text) or "")


def test_a_call_that_depends_on_the_loop_stays() -> None:
    text = "void f(long n, double *a) {\n for (long i = 0; i < n; i++) { a[i] = exp(a[i]); }\n}"
    assert hoisted(text) is None
    whole = "void f(long n, long k, long *a) {\n for (long i = 0; i < n; i++) { a[i] /= k; }\n}"
    assert multiplied(whole) is None


def test_copies_become_exchanges_of_pointers_only() -> None:
    body = "  for (long i = 0; i < n; i++) a[i] = b[i];\n}"
    pointers = "void f(long n) {\n  double *a = g(), *b = g();\n" + body
    arrays = "void f(long n) {\n  double a[9], b[9];\n" + body
    assert "a = b;" in (exchanged(pointers) or "")
    assert exchanged(arrays) is None


def test_a_sum_into_an_element_is_kept_in_a_scalar() -> None:
    text = "void f(long n, double *a, double *b) {\n" \
           "  for (long k = 0; k < n; k++) a[3] += b[k];\n}"  # fmt: skip
    assert "a[3] += sum0;" in (accumulated(text) or "")
    own = text.replace("b[k]", "a[k]")
    assert accumulated(own) is None


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", NAIVE)
def test_all_rewritings_together_keep_the_output_of_the_suite(name, tmp_path) -> None:
    kernel = suite_kernels()[name]
    before = kernel.program("naive").text
    text = before
    for rewrite in REFACTORINGS.values():
        text = rewrite(text) or text
    assert text != before
    sizes = [str(kernel.n[0]), str(kernel.steps[0]), "7"]
    outputs = []
    for version in (before, text):
        command = ["gcc", "-O1", "-x", "c", "-", "-o", str(tmp_path / "program"), "-lm"]
        subprocess.run(command, input=version, text=True, check=True)
        run = subprocess.run([str(tmp_path / "program"), *sizes], capture_output=True, check=True)
        outputs.append([float(x) for x in run.stdout.split()])
    assert outputs[1] == pytest.approx(outputs[0], rel=1e-6)
