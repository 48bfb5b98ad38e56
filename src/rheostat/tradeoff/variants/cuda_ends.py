"""Branches around barriers at the end of a kernel: threads that leave them out have ended.

``if (i < n) { ...; __syncthreads(); ... }`` as the last of a kernel: no barrier waits for threads
that have ended, so that it is ``if (!(i < n)) return;`` and what stands in the braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node, identifiers
from rheostat.tradeoff.variants.cuda_text import BARRIER
from rheostat.tradeoff.variants.cuda_variables import declared_name


def with_early_ends(text: str) -> str:
    """A text in which kernels end early for threads that a last branch leaves out.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Lines stay.

    Examples
    --------
    >>> text = "__global__ void k(int n) { int i = threadIdx.x; if (i < n) { __syncthreads(); } }"
    >>> print(with_early_ends(text).partition("threadIdx.x; ")[2])
    if (!(i < n)) return; { __syncthreads(); } }
    """
    if BARRIER not in text:
        return text
    source = CSource(text, "tree_sitter_cuda")
    edits: list[Edit] = []
    for function in source.definitions:
        body = function.child_by_field_name("body")
        head = source.bytes[function.start_byte : body.start_byte] if body else b""
        if b"__global__" in head:
            edits += _edits(source, body, _own(source, body))
    return source.edited(edits) if edits else text


def _own(source: CSource, body: Node) -> set[str]:
    """What may differ among threads: their index, and variables that the kernel declares."""
    declared = (d for n in walk(body) if n.type == "declaration"
                for d in n.children_by_field_name("declarator"))  # fmt: skip
    return {"threadIdx"} | {source.text_of(declared_name(d)) for d in declared}


def _edits(source: CSource, block: Node, own: set[str]) -> Iterator[Edit]:
    """Of the last statement of a block, and of the last within that."""
    statements = [s for s in block.named_children if s.type != "comment"]
    last = statements[-1] if statements else None
    while last is not None and last.type == "if_statement":
        then = last.child_by_field_name("consequence")
        condition = last.child_by_field_name("condition")
        said = source.text_of(condition)
        if (
            last.child_by_field_name("alternative") is not None
            or not re.search(rf"\b{BARRIER}\b", source.text_of(then))
            or not own & identifiers(source, condition)
            or any(n.type == "declaration" for n in walk(condition))
        ):
            return
        yield last.start_byte, then.start_byte, f"if (!{said}) return; "
        last = then
    if last is not None and last.type == "compound_statement":
        yield from _edits(source, last, own)
