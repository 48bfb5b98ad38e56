"""Fewer writes to arrays: sums into elements are kept in scalars."""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import PURE, declared_name
from rheostat.tradeoff.variants.c_source import CSource, Edit, Loop, Node, identifiers
from rheostat.tradeoff.variants.loop_blocks import indent_of

KEPT = "sums kept in scalars"
"""What a variant of such a text says."""
ENDS = ("for_statement", "while_statement", "do_statement", "return_statement", "goto_statement",
        "labeled_statement", "preproc_call", "preproc_ifdef", "preproc_if")  # fmt: skip
"""What a loop must not hold whose sums are kept."""


def accumulated(text: str, *, headers: str = "") -> str | None:
    """Sums into elements of arrays, kept in scalars while the innermost loop runs.

    They are taken in their order, so that nothing is rounded otherwise.  Within a shared loop no
    compiler knows that nothing else points at the element, and would write it in each iteration.

    Parameters
    ----------
    text : str
        A C file.
    headers : str
        Text of the program's other files, whose macros it may use.

    Returns
    -------
    str or None
        None where there is no such sum.

    Examples
    --------
    >>> print(accumulated('''void f(int n, double *a, double *b) {
    ...   for (int i = 0; i < n; i++) a[3] += b[i];
    ... }'''))
    void f(int n, double *a, double *b) {
      {
        double sum0 = a[3];
        for (int i = 0; i < n; i++) sum0 += b[i];
        a[3] = sum0;
      }
    }
    """
    source = CSource(text, headers=headers)
    edits: list[Edit] = []
    for number, loop in enumerate(source.loops):
        sums = _sums(source, loop)
        names = {place: f"sum{number}{'' if len(sums) == 1 else f'_{k}'}"
                 for k, place in enumerate(sums)}  # fmt: skip
        parent, before = loop.node.parent.type, loop.node.prev_named_sibling
        plain = parent in ("compound_statement", "for_statement")
        # a pragma before it belongs to the loop
        has_pragma = before is not None and before.type == "preproc_call"
        taken = any(re.search(rf"\b{n}\b", text) for n in names.values())
        if not sums or not plain or has_pragma or taken:
            continue
        within = [(int(x.start_byte), int(x.end_byte), names[p]) for p, xs in sums.items()
                  for x in xs]  # fmt: skip
        space = indent_of(source, loop.start)
        first = [f"{space}  {_type_of(source, p)} {n} = {p};" for p, n in names.items()]
        last = [f"{space}  {p} = {n};" for p, n in names.items()]
        end = int(loop.node.end_byte)
        edits.append((loop.start, loop.start, "\n".join(["{", *first, f"{space}  "])))
        edits += [*within, (end, end, "\n".join(["", *last, f"{space}}}"]))]
    return source.edited(edits) if edits else None


def _sums(source: CSource, loop: Loop) -> dict[str, list[Node]]:
    """Elements that an innermost loop adds to and does not move on from, with all their places.

    ``a[..] += e`` or ``a[..] = a[..] + e``, each of whose iterations looks at no other of ``a``.
    """
    inside = list(walk(loop.body))
    calls = {source.text_of(x.child_by_field_name("function")) for x in inside
             if x.type == "call_expression"}  # fmt: skip
    if any(x.type in ENDS for x in inside) or calls - PURE - set(source.macros):
        return {}
    moved = {loop.variable} | _set_in(source, inside)
    sums: dict[str, list[Node]] = {}
    for node in own_statements(loop):
        left = node.child_by_field_name("left")
        array = _base(source, left)
        if not array or not adds(source, node) or moved & identifiers(source, left):
            continue
        place = source.text_of(left)
        named = (x for x in inside if x.type == "identifier" and source.text_of(x) == array)
        every = [_whole(x) for x in named]
        if all(source.text_of(x) == place for x in every):
            sums[place] = every
    return sums


def own_statements(loop: Loop) -> list[Node]:
    """Assignments that are made in each iteration."""
    alone = loop.body.type != "compound_statement"
    parts = [loop.body] if alone else loop.body.named_children
    return [x for p in parts if p.type == "expression_statement" for x in p.named_children[:1]
            if x.type == "assignment_expression"]  # fmt: skip


def _set_in(source: CSource, inside: list[Node]) -> set[str]:
    """Scalars that a loop declares or changes."""
    declared = {declared_name(source, d) for x in inside if x.type == "declaration"
                for d in x.children_by_field_name("declarator")}  # fmt: skip
    fields = {"assignment_expression": "left", "update_expression": "argument"}
    changed = (x.child_by_field_name(fields[x.type]) for x in inside if x.type in fields)
    return declared | {source.text_of(x) for x in changed if x.type == "identifier"}


def adds(source: CSource, node: Node) -> bool:
    """Whether an assignment adds to what it sets, or takes from it."""
    left, right = (node.child_by_field_name(n) for n in ("left", "right"))
    operator = source.text_of(node.child_by_field_name("operator"))
    if operator != "=":
        return operator in ("+=", "-=")
    if right.type != "binary_expression":
        return False
    sides = [source.text_of(right.child_by_field_name(n)) for n in ("left", "right")]
    said = source.text_of(right.child_by_field_name("operator"))
    same = [s == source.text_of(left) for s in sides]
    return (said == "+" and any(same)) or (said == "-" and same[0])


def _base(source: CSource, node: Node) -> str:
    """The name of the array whose element this is; empty for anything else."""
    element = node.type == "subscript_expression"
    while node.type == "subscript_expression":
        node = node.child_by_field_name("argument")
    return source.text_of(node) if element and node.type == "identifier" else ""


def _whole(node: Node) -> Node:
    """The element that a name of an array stands in."""
    parent = node.parent
    while parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
        node, parent = parent, parent.parent
    return node


def _type_of(source: CSource, place: str) -> str:
    """The type of an element as it is declared, else as compilers know it."""
    name = place.partition("[")[0]
    declared = rf"\b(double|float)\s+(?:\w+\s*\(\s*|[*\s]|\w*restrict\w*\s)*{name}\b"
    match = re.search(declared, source.text)
    return match[1] if match else f"__typeof__({place})"
