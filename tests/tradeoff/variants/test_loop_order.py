"""Loops exchanged: which nests, which strides, and the text that comes of it."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.loop_order import MOST_SWAPS, _strides, interchange, nested

J, I = "for (long j = 0; j < n; j++)", "for (long i = 0; i < m; i++)"  # noqa: E741


def function(body: str) -> str:
    return f"void f(long n, long m, double *a, double *b, double c[9][9], long *x) {{\n{body}\n}}\n"


@pytest.mark.parametrize(("statement", "exchanged"), [
    ("a[i * n + j] = 0;", True), ("a[j * m + i] = 0;", False), ("a[i * n + j] = b[j * m + i];",
     False),
    ("a[i * n + j] = b[i * n + j + 1];", True), ("c[i][j] = 1;", True), ("c[j][i] = 1;", False),
    ("a[5 * i + j] = 0;", True), ("a[i * n + j] = a[i * n + j - n] + 1;", False),
    ("a[x[i] + j] = 0;", True), ("a[i * n + j] += b[i * n];", True),
])  # fmt: skip
def test_loops_are_exchanged_where_fewer_accesses_jump(statement, exchanged) -> None:
    text = function(f"{J}\n{I} {statement}")
    assert interchange(text) == (function(f"{I}\n{J} {statement}") if exchanged else None)


def test_braces_and_comments_stay_where_they_are() -> None:
    body = f"{J} {{ /* columns */\n {I} {{\n  a[i * n + j] = 0; // set\n }}\n}}"
    swapped = f"{I} {{ /* columns */\n {J} {{\n  a[i * n + j] = 0; // set\n }}\n}}"
    assert interchange(function(body)) == function(swapped)
    assert interchange(function(swapped)) is None


@pytest.mark.parametrize("body", [
    f"{J} {{ {I} a[i * n + j] = 0; b[j] = 1; }}", f"{J} a[j] = 0;",
    f"{J} for (long i = 0; i < j; i++) a[i * n + j] = 0;",
    f"{J} for (long i = j; i < m; i++) a[i * n + j] = 0;", f"{J} {{ }}", f"{J} ;",
    f"{J} while (m) {{ {I} a[i * n + j] = 0; }}", f"{J} if (m) {I} a[i * n + j] = 0;",
])  # fmt: skip
def test_only_a_loop_that_is_all_of_another_with_bounds_of_its_own_is_nested(body) -> None:
    source = CSource(function(body))
    assert nested(source, source.loops[0]) is None
    assert interchange(function(body)) is None


@pytest.mark.parametrize(("statement", "along_i", "along_j"), [
    ("a[i * n + j] = 0;", 1, 0), ("a[4 * i] = 0;", 0, 0), ("a[5 * i] = 0;", 1, 0),
    ("a[-5 * i + j] = 0;", 1, 0), ("c[i][j] = b[j];", 1, 0), ("c[j][i] = b[i * n];", 1, 1),
    ("a[i * i] = m;", 1, 0), ("a[x[i]] = 0;", 1, 0), ("a[i * n + j] = b[i * n] + b[i * m];", 3, 0),
])  # fmt: skip
def test_a_stride_is_more_than_four_elements_or_a_row(statement, along_i, along_j) -> None:
    source = CSource(function(f"{J} {I} {statement}"))
    inner = source.loops[1]
    assert (_strides(source, inner, "i"), _strides(source, inner, "j")) == (along_i, along_j)


def test_no_more_loops_are_exchanged_than_is_said() -> None:
    body = "\n".join(f"{J}\n{I} a[i * n + j] = {k};" for k in range(MOST_SWAPS + 2))
    changed = interchange(function(body))
    assert MOST_SWAPS == 12
    assert changed.count(f"{I}\n{J}") == 12
    assert changed.count(f"{J}\n{I}") == 2
