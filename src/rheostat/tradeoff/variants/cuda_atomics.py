"""Reads beside CUDA's compare-and-swap: plain there, where words are never torn, atomic in C++.

``old = *p; while (...) old = atomicCAS(p, ...)`` is how CUDA makes an atomic operation of its own.
In C++ the first read races with the swaps of other threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node

SWAP = "atomicCAS"
READ = "atomic_read"


def with_atomic_reads(text: str) -> str:
    r"""A text in which what is swapped is also read atomically.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Reads through a pointer in functions that give it, or a cast of it, to ``atomicCAS``.

    Examples
    --------
    >>> text = "__device__ void f(int *p) { int v = *p; atomicCAS((unsigned *)p, v, 1); *p = v; }"
    >>> print(with_atomic_reads(text))
    __device__ void f(int *p) { int v = atomic_read(p); atomicCAS((unsigned *)p, v, 1); *p = v; }
    """
    if SWAP not in text:
        return text
    source = CSource(text, "tree_sitter_cuda")
    return source.edited(e for f in source.definitions for e in _reads(source, f))


def _reads(source: CSource, function: Node) -> Iterator[Edit]:
    swapped = {name for n in walk(function) if n.type == "call_expression"
               and source.text_of(n.child_by_field_name("function")) == SWAP
               and (name := _pointer(source, n))}  # fmt: skip
    for node in walk(function) if swapped else ():
        text = source.text_of(node)
        if node.type == "pointer_expression" and text.startswith("*"):
            name = text[1:].strip()
            if name in swapped and not _is_set(node):
                yield node.start_byte, node.end_byte, f"{READ}({name})"


def _pointer(source: CSource, call: Node) -> str:
    """The variable that the first argument is, without casts; empty for another expression."""
    given = call.child_by_field_name("arguments").named_children
    plain = re.sub(r"\([^()]*\*\s*\)", "", source.text_of(given[0])) if given else ""
    return plain.strip() if re.fullmatch(r"\s*\w+\s*", plain) else ""


def _is_set(node: Node) -> bool:
    """Whether a value is written here, or its place taken."""
    above = node.parent
    if above.type == "assignment_expression":
        return bool(above.child_by_field_name("left") == node)
    return above.type in ("update_expression", "pointer_expression")
