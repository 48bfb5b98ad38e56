"""Rewritings: what they make of a text, and where they leave it alone."""

from __future__ import annotations

import math
import shutil
import subprocess

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.tradeoff.variants.refactorings import (
    MOST_HOISTS,
    REFACTORINGS,
    cheaper_powers,
    exchanged,
    hoisted,
    interchange,
    multiplied,
    without_roots,
)
from rheostat.tradeoff.variants.scalar_sums import accumulated

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


@pytest.mark.parametrize("base", ["x", "x + 1"])
@pytest.mark.parametrize(
    "exponent", ["2", "2.0", "3.", "4.00", "0.5", "1.5", "-1", "-0.5", "-1.5", "-2.0"]
)
def test_a_product_or_a_root_is_the_power_that_it_replaces(base, exponent) -> None:
    changed = cheaper_powers(f"double f(double x) {{ return pow({base}, {exponent}); }}")
    expression = changed[changed.index("return") + 7 : changed.rindex(";")]
    value = eval(expression, {"sqrt": math.sqrt, "x": 3.7})
    assert value == pytest.approx(eval(base, {"x": 3.7}) ** float(exponent), rel=1e-14)


@pytest.mark.parametrize("exponent", ["5", "0.25", "n", "-3"])
def test_other_powers_stay(exponent) -> None:
    assert cheaper_powers(f"double f(double x, int n) {{ return pow(x, {exponent}); }}") is None


def over(divisor: str) -> str:
    return (
        "void f(long n, long k, double t, double *a) {\n  for (long i = 0; i < n; i++) {\n"
        f"    double u = a[i];\n    a[i] = a[i] / {divisor};\n  }}\n}}"
    )


@pytest.mark.parametrize(
    ("divisor", "turned"),
    [("2.0", True), ("2e3", True), ("2", False), ("t", True), ("k", False), ("(double)k", True),
     ("(t + k)", True), ("(k + 1)", False), ("a[0]", False), ("u", False), ("exp(t)", False)],
)  # fmt: skip
def test_quotients_by_a_real_number_that_stays_become_products(divisor, turned) -> None:
    changed = multiplied(over(divisor))
    assert (changed is not None) is turned
    if changed is not None:
        assert f"const double inverse0 = 1.0 / {divisor};\n  for" in changed
        assert "a[i] * inverse0;" in changed


def test_no_more_calls_leave_a_loop_than_is_said() -> None:
    calls = " + ".join(f"exp(t + {k})" for k in range(MOST_HOISTS + 2))
    head = "void f(long n, double *a, double t) {\n  for (long i = 0; i < n; i++) {\n"
    changed = hoisted(f"{head}    a[i] = {calls} + exp(1.0) + exp(a[i]);\n  }}\n}}")
    assert changed.count("const double fixed") == 16
    assert changed.split("a[i] =")[1].count("exp(") == 4


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
    assert "double sum0 = a[3];" in (accumulated(text) or "")
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
