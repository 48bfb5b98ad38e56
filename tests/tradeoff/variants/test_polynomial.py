"""Subscripts as polynomials: what is one, and what stays a text."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.polynomial import added, names_in, polynomial, split


def read(text: str, **known):
    source = CSource(f"int f(int i, int j, int k) {{ return {text}; }}")
    node = next(n for n in walk(source.tree.root_node) if n.type == "return_statement")
    return polynomial(source, node.named_children[0], known)


@pytest.mark.parametrize(("text", "wanted"), [
    ("i << 3", {("i",): 8}), ("(i + 2) << 1", {("i",): 2, (): 4}), ("1 << 4", {(): 16}),
    ("i << k", {("i << k",): 1}), ("i << (k + 1)", {("i << (k + 1)",): 1}),
    ("i >> 1", {("i >> 1",): 1}), ("i - i", {}), ("-(i - 2)", {("i",): -1, (): 2}),
    ("~i", {("~i",): 1}), ("(long)i * j", {("i", "j"): 1}), ("j * i * 2u", {("i", "j"): 2}),
    ("(i + j) * (i - j)", {("i", "i"): 1, ("j", "j"): -1}), ("2.5", {("2.5",): 1}),
    ("0x10", {("0x10",): 1}), ("0", {}), ("i / 2", {("i / 2",): 1}),
])  # fmt: skip
def test_an_expression_as_a_polynomial(text, wanted) -> None:
    assert read(text) == wanted


def test_known_names_are_put_in_and_zeros_go() -> None:
    assert read("2 * k - i", k={("i",): 1, (): 3}) == {("i",): 1, (): 6}
    assert added({("i",): 1}, {("i",): 1, (): 2}, -1) == {(): -2}
    assert names_in({("i", "a[j] / 2"): 1, (): 3}) == {"i", "a", "j"}


def test_what_is_linear_in_a_name_is_split_into_slope_and_rest() -> None:
    assert split(read("i * j + 2 * i + k"), "i") == ({("j",): 1, (): 2}, {("k",): 1})
    assert split(read("k"), "i") == ({}, {("k",): 1})
    assert split(read("i * i"), "i") is None
    assert split(read("i * (i / 2)"), "i") is None
    assert split(read("j + i % 2"), "i") is None
