"""Parameters of CUDA kernels that threads change: each thread's own, so variables of the body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_kernels import changes
from rheostat.tradeoff.variants.cuda_text import DEFINE

BARRIER = "__syncthreads"
RESTRICT = re.compile(r"\s*\b__restrict(?:__)?\b")
NUMBER_OR_POINTER = re.compile(r"[\w:\s*]+[\s*]\w+")


def with_own_parameters(text: str) -> str:
    r"""A text in which threads of a kernel with barriers change variables instead of parameters.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Numbers and pointers that are changed are copied at the head of the body.  What a macro
        names stays a parameter.

    Examples
    --------
    >>> text = "__global__ void k(int *a) { a += 2; __syncthreads(); a[0] = 1; }"
    >>> print(with_own_parameters(text))
    __global__ void k(int *a_given) { int *a = a_given; a += 2; __syncthreads(); a[0] = 1; }
    """
    if BARRIER not in text:
        return text
    source = CSource(text, "tree_sitter_cuda")
    macros = "\n".join(m[0] for m in DEFINE.finditer(text))
    return source.edited(e for f in source.definitions for e in _copies(source, f, macros))


def _copies(source: CSource, function: Node, macros: str) -> Iterator[Edit]:
    body = function.child_by_field_name("body")
    head = source.bytes[function.start_byte : body.start_byte].decode() if body else ""
    if "__global__" not in head or BARRIER not in source.text_of(body):
        return
    declarator = function.child_by_field_name("declarator")
    changed = {n for n, _ in changes(source, body)}
    copies = []
    for node in declarator.child_by_field_name("parameters").named_children:
        given = RESTRICT.sub("", source.text_of(node))
        name = re.split(r"\W+", given)[-1]
        hidden = re.search(rf"\b{name}\b", macros) if name else None
        if name not in changed or hidden or not NUMBER_OR_POINTER.fullmatch(given):
            continue
        other = f"{name}_given"
        while re.search(rf"\b{other}\b", source.text_of(function)):
            other += "_"
        yield node.end_byte - len(name), node.end_byte, other
        copies.append(f" {' '.join(given.split())} = {other};")
    if copies:
        yield body.start_byte + 1, body.start_byte + 1, "".join(copies)
