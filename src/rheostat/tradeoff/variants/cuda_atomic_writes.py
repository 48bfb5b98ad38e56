"""Marks that several of CUDA's threads write alike: plain there, a data race in C++.

``visited[next] = 1`` or ``*changed = true`` may be written by many threads, all the same.  A device
leaves one of them; in C++ such writes, and what reads beside them, have to be atomic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_atomics import READ
from rheostat.tradeoff.variants.cuda_kernels import changes

WRITE = "atomic_write"
TRUTHS = {"true": "atomic_set", "false": "atomic_clear"}
"""By functions that write these alone: of a value of two, no run could show that it may be both."""
THREAD = re.compile(r"\b(?:threadIdx|blockIdx)\b")
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\.)")
PLACE = re.compile(r"(?:\*\s*(\w+)|(\w+)\s*\[(.*)\])", re.DOTALL)
OWN_VALUES = {"true", "false", "NULL", "nullptr"}


def with_atomic_marks(text: str) -> str:
    r"""A text in which kernels write atomically what several threads may mark alike.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Only where all that a kernel writes there is one value that no thread decides, at an
        element that is not each thread's own.

    Examples
    --------
    >>> text = '''__global__ void k(int *a, int *own, int n) {
    ...   int i = threadIdx.x;
    ...   own[i] = 0;
    ...   for (int j = i; j < n; j += 2) if (a[j]) a[i * j] = 0;
    ... }'''
    >>> print(with_atomic_marks(text).splitlines()[3].strip())
    for (int j = i; j < n; j += 2) if (atomic_read(&a[j])) atomic_write(&a[i * j], 0);
    """
    source = CSource(text, "tree_sitter_cuda")
    edits: list[Edit] = []
    for function in source.definitions:
        body = function.child_by_field_name("body")
        head = source.bytes[function.start_byte : body.start_byte].decode() if body else ""
        if "__global__" in head:
            edits += _edits(source, function, body, _pointers(head))
    return source.edited(edits) if edits else text


def _pointers(head: str) -> set[str]:
    """Parameters that point into memory that all threads share."""
    return set(
        re.findall(r"[*\]]\s*(?:const\s+|__restrict__\s+)*(\w+)\s*(?:\[\s*\])?\s*[,)]", head)
    )


def _edits(source: CSource, kernel: Node, body: Node, pointers: set[str]) -> Iterator[Edit]:
    known = _Names(source, body)
    written: dict[str, list[tuple[Node, str, str]]] = {}
    for node in walk(body):
        if node.type in ("assignment_expression", "update_expression"):
            place = node.child_by_field_name("left") or node.child_by_field_name("argument")
            match = PLACE.fullmatch(source.text_of(place))
            name = match and (match[1] or match[2])
            if match and name in pointers:
                written.setdefault(name, []).append((node, match[3] or "", _value(source, node)))
    for name, every in written.items():
        values = {value for *_, value in every}
        if (
            len(values) == 1
            and known.is_alike(*values)
            and any(not known.is_own(where) for _, where, _ in every)
        ):
            yield from _atomic(source, body, name, {n.start_byte: n for n, *_ in every})


def _value(source: CSource, node: Node) -> str:
    """What is assigned, empty for sums and the like."""
    operator = node.child_by_field_name("operator")
    if node.type != "assignment_expression" or source.text_of(operator) != "=":
        return ""
    return " ".join(source.text_of(node.child_by_field_name("right")).split())


def _atomic(source: CSource, body: Node, name: str, writes: Mapping[int, Node]) -> Iterator[Edit]:
    """Every access to a pointer's elements, but for those whose address is taken."""
    places = {n.child_by_field_name("left").start_byte for n in writes.values()}
    for node in walk(body):
        match = PLACE.fullmatch(source.text_of(node)) if _is_access(node) else None
        if match is None or name not in (match[1], match[2]):
            continue
        start, end = node.start_byte, node.end_byte
        at = f"&{source.text_of(node)}"
        if start in places:
            low, high = start, writes[start].child_by_field_name("right").start_byte
            last = writes[start].end_byte
            if truth := TRUTHS.get(source.bytes[high:last].decode().strip()):
                yield low, last, f"{truth}({at})"
                continue
            yield low, high, f"{WRITE}({at}, "
            yield last, last, ")"
        elif node.parent.type != "pointer_expression":
            yield start, end, f"{READ}({at})"


def _is_access(node: Node) -> bool:
    return bool(
        node.type == "subscript_expression"
        or (node.type == "pointer_expression" and node.children[0].type == "*")
    )


class _Names:
    """What a kernel's variables hang on."""

    def __init__(self, source: CSource, body: Node) -> None:
        changed = {name for name, _ in changes(source, body)}
        self.moving = set(changed)
        self.own: set[str] = set()
        for node in walk(body):
            if node.type == "init_declarator":
                name = source.text_of(node.child_by_field_name("declarator"))
                value = source.text_of(node.child_by_field_name("value"))
                if name in changed and not self._strides(source, node, name):
                    continue
                self._kept(name, value)
            elif node.type == "declaration":
                plain = [source.text_of(c) for c in node.children_by_field_name("declarator")
                         if c.type == "identifier"]  # fmt: skip
                self.moving |= set(plain)

    def _kept(self, name: str, value: str) -> None:
        """A variable that stays what it is at first, or goes on in steps of many threads."""
        plain = not (re.search(r"[\[(*]\s*\w+\s*[\[(]|\w\s*[\[(]|->", value))
        if plain and not set(NAME.findall(value)) & self.moving:
            self.moving.discard(name)
            if THREAD.search(value) or set(NAME.findall(value)) & self.own:
                self.own.add(name)
        else:
            self.moving.add(name)

    @staticmethod
    def _strides(source: CSource, node: Node, name: str) -> bool:
        """Whether the loop that declares a variable steps by what all threads are."""
        loop = node.parent.parent if node.parent is not None else None
        step = loop.child_by_field_name("update") if loop and loop.type == "for_statement" else None
        said = source.text_of(step) if step is not None else ""
        return bool(re.fullmatch(rf"{name}\s*\+=\s*.*\b(?:gridDim|blockDim|\w*[sS]tride\w*)\b.*",
                                 said, re.DOTALL))  # fmt: skip

    def is_own(self, subscript: str) -> bool:
        """Whether an element belongs to one thread, as far as its index shows."""
        names = set(NAME.findall(subscript))
        own = bool(THREAD.search(subscript) or names & self.own)
        return own and not (names & self.moving or re.search(r"[%\[(&>/]", _unnested(subscript)))

    def is_alike(self, value: str) -> bool:
        """Whether each thread's value is the same."""
        names = set(NAME.findall(value)) - OWN_VALUES
        other = re.search(r"[\[(*&]|->|\bthreadIdx\b|\bblockIdx\b|=", value)
        return bool(value) and not other and not names & (self.moving | self.own)


def _unnested(subscript: str) -> str:
    """A subscript without the parentheses of a sum or product."""
    return re.sub(r"(?<![\w\])])\s*\(([^()]*)\)", r" \1 ", subscript)
