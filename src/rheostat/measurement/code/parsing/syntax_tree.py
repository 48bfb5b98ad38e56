"""Sources parsed by tree-sitter, which takes for ever over brackets that nothing closes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.errors import DataError

DEEPEST = 1000
"""Brackets within brackets; clang takes 256 of them."""


def syntax_tree(source: bytes, grammar: str = "tree_sitter_c") -> Any:
    """The tree of a source.

    Parameters
    ----------
    source : bytes
        C, C++ or CUDA.
    grammar : str
        Package that parses it, of the extra `code`.

    Returns
    -------
    tree_sitter.Tree
        With nodes of type ERROR where the source is not of that language.

    Raises
    ------
    DataError
        Brackets stand deeper than any compiler takes them.

    Examples
    --------
    >>> syntax_tree(b"int main(void) { return 0; }").root_node.child_count
    1
    """
    if (depth := nesting(source)) > DEEPEST:
        problem = f"expected brackets within at most {DEEPEST:,} others, got {depth:,}"
        raise DataError("source", [f"{problem}: no compiler takes it"])
    parsers = require("tree_sitter", extra="code")
    language = parsers.Language(require(grammar, extra="code").language())
    return parsers.Parser(language).parse(source)


def walk(node: Any) -> Iterator[Any]:
    """A node and all below, in order of the text.

    Parameters
    ----------
    node : tree_sitter.Node
        Where to begin.

    Yields
    ------
    tree_sitter.Node
        Each node before its children.
    """
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(top.children))


def nesting(source: bytes) -> int:
    """The most brackets that are open at once; those in texts and comments count.

    >>> nesting(b"f(a[0]); {"), nesting(b"}}}{")
    (2, 1)
    """
    steps = np.zeros(256, dtype=np.int64)
    steps[list(b"([{")], steps[list(b")]}")] = 1, -1
    depth = np.concatenate([[0], steps[np.frombuffer(source, dtype=np.uint8)].cumsum()])
    return int((depth - np.minimum.accumulate(depth)).max())
