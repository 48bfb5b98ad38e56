"""Macros that name a place, as ``#define AT(m, i, j) m->a[(i) * m->wide + (j)]``, written out.

A loop that assigns to a call of such a macro says nothing of the element that it writes.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node

DEFINED = re.compile(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()\n]*)\)((?:\\\n|[^\n])*)")
DEEPEST = 5


def with_places(text: str, headers: str = "") -> str:
    r"""A text in which macros that are assigned to are written out, at each of their calls.

    Parameters
    ----------
    text : str
        C.
    headers : str
        Text of the program's other files, which may define them.

    Returns
    -------
    str
        Its lines stay where they are.

    Examples
    --------
    >>> print(with_places("#define AT(m, i) m[(i) + 1]\nvoid f(int *a) { AT(a, 2) = AT(a, 0); }"))
    #define AT(m, i) m[(i) + 1]
    void f(int *a) { a[(2) + 1] = a[(0) + 1]; }
    """
    macros = _places(f"{headers}\n{text}")
    if not macros:
        return text
    written = _written(CSource(text)) & set(macros)
    for _ in range(DEEPEST if written else 0):
        source = CSource(text)
        edits = [e for n in _calls(source, written) if (e := _edit(source, n, macros))]
        if not edits:
            break
        text = source.edited(edits)
    return text


def _places(text: str) -> dict[str, tuple[list[str], str]]:
    """Parameters and body by name, of macros with one definition that is an element."""
    every: dict[str, list[tuple[list[str], str]]] = {}
    for m in DEFINED.finditer(text):
        body = " ".join(m[3].replace("\\\n", " ").split())
        every.setdefault(m[1], []).append(([p.strip() for p in m[2].split(",")], body))
    one = {name: made[0] for name, made in every.items() if len(made) == 1}
    return {n: m for n, m in one.items() if m[1].endswith("]") and not set("#;{}") & {*m[1]}}


def _name(source: CSource, node: Node) -> str:
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    return "" if called is None else source.text_of(called)


def _written(source: CSource) -> set[str]:
    """Functions or macros whose calls are assigned to."""
    parts = {"assignment_expression": "left", "update_expression": "argument"}
    return {_name(source, node.child_by_field_name(parts[node.type]))
            for node in walk(source.tree.root_node) if node.type in parts}  # fmt: skip


def _calls(source: CSource, names: set[str]) -> list[Node]:
    """Calls of these that hold no other of them."""
    every = [n for n in walk(source.tree.root_node) if _name(source, n) in names]
    return [n for n in every if not any(
        n.start_byte <= x.start_byte and x.end_byte <= n.end_byte and x is not n
        and (x.start_byte, x.end_byte) != (n.start_byte, n.end_byte) for x in every)]  # fmt: skip


def _edit(source: CSource, call: Node, macros: dict[str, tuple[list[str], str]]) -> Edit | None:
    parameters, body = macros[_name(source, call)]
    given = [source.text_of(n) for n in call.child_by_field_name("arguments").named_children]
    if len(given) != len(parameters):
        return None
    values = dict(zip(parameters, (" ".join(g.split()) for g in given), strict=True))
    made = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: values.get(m[0], m[0]), body)
    lines = "\n" * source.text_of(call).count("\n")
    return call.start_byte, call.end_byte, made + lines
