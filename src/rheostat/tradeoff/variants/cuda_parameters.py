"""Variables of CUDA kernels that mean two things, taken apart before the rules read them.

A parameter that threads change is each thread's own, so a variable of the body.  A variable that
held something of a thread may then count a loop around a barrier, which all threads go through
alike: the loop has a counter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import LOOPS, CSource, Edit, Node, identifiers
from rheostat.tradeoff.variants.cuda_kernels import changes
from rheostat.tradeoff.variants.cuda_text import BARRIER, DEFINE

RESTRICT = re.compile(r"\s*\b__restrict(?:__)?\b")
COUNTER = r"(?:unsigned\s+)?(?:int|long|unsigned|size_t)"
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
        other = _new_name(f"{name}_given", source.text_of(function))
        yield node.end_byte - len(name), node.end_byte, other
        copies.append(f" {' '.join(given.split())} = {other};")
    if copies:
        yield body.start_byte + 1, body.start_byte + 1, "".join(copies)


def _new_name(name: str, text: str) -> str:
    while re.search(rf"\b{name}\b", text):
        name += "_"
    return name


def with_own_counters(text: str) -> str:
    r"""A text in which loops around barriers count by variables of their own.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Only where nothing asks for the counter behind its loop.  What a macro names stays.

    Examples
    --------
    >>> text = "__global__ void k(int n) { int i; for (i = 0; i < n; i++) __syncthreads(); }"
    >>> print(with_own_counters(text).partition("i; ")[2])
    for (int i_counted = 0; i_counted < n; i_counted++) __syncthreads(); }
    """
    if BARRIER not in text:
        return text
    source = CSource(text, "tree_sitter_cuda")
    macros = "\n".join(m[0] for m in DEFINE.finditer(text))
    return source.edited(e for f in source.definitions for e in _counters(source, f, macros))


def _counters(source: CSource, function: Node, macros: str) -> Iterator[Edit]:
    body = function.child_by_field_name("body")
    if body is None or BARRIER not in source.text_of(body):
        return
    for loop in (n for n in walk(body) if n.type == "for_statement"):
        first = loop.child_by_field_name("initializer")
        if first is None or first.type != "assignment_expression":
            continue
        name = source.text_of(first.child_by_field_name("left"))
        declared = re.search(rf"[;{{]\s*({COUNTER})\s[^;(){{}}]*\b{name}\b", source.text_of(body))
        hidden = re.search(rf"\b{name}\b", macros)
        if BARRIER not in source.text_of(loop) or not declared or hidden:
            continue
        if not name.isidentifier() or not _is_over(source, body, loop, name):
            continue
        other = _new_name(f"{name}_counted", source.text_of(function))
        yield first.start_byte, first.start_byte, f"{declared[1]} "
        for node in walk(loop):
            if node.type == "identifier" and source.text_of(node) == name:
                yield node.start_byte, node.end_byte, other


def _is_over(source: CSource, body: Node, loop: Node, name: str) -> bool:
    """Whether nothing reads a name behind a loop, nor beside it in one around it.

    Loops that count by it from a start of their own do not.
    """
    outer, above = None, loop.parent
    while above is not None and above != body:
        outer = above if above.type in LOOPS else outer
        above = above.parent
    beside = outer if outer is not None else body
    low = beside.start_byte if outer is not None else loop.end_byte
    return not any(
        n.type == "identifier" and source.text_of(n) == name
        and n.start_byte >= low and not loop.start_byte <= n.start_byte < loop.end_byte
        and not _is_counted(source, n, name, body)
        for n in walk(body)
    )  # fmt: skip


def _is_counted(source: CSource, node: Node, name: str, top: Node) -> bool:
    """Whether a name stands in a loop that sets it first."""
    above = node.parent
    while above is not None and above != top:
        first = above.child_by_field_name("initializer") if above.type == "for_statement" else None
        if first is not None and first.type == "assignment_expression":
            left, right = (first.child_by_field_name(n) for n in ("left", "right"))
            if source.text_of(left) == name and name not in identifiers(source, right):
                return True
        above = above.parent
    return False
