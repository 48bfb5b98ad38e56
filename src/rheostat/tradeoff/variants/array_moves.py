"""Pointers exchanged instead of arrays copied."""

from __future__ import annotations

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Loop
from rheostat.tradeoff.variants.polynomial import names_in, polynomial


def exchanged(text: str) -> str | None:
    """Pointers exchanged where a loop copies one whole array to another."""
    source = CSource(text)
    edits: list[Edit] = []
    for number, loop in enumerate(x for x in source.loops if not _within_copy(source, x)):
        pair = _copied(source, loop)
        if pair is not None:
            a, b, kind = pair
            name = f"other{number}"
            new = f"{{\n{kind} *{name} = {a};\n{a} = {b};\n{b} = {name};\n}}"
            edits.append((loop.start, int(loop.node.end_byte), new))
    return source.edited(edits) if edits else None


def _within_copy(source: CSource, loop: Loop) -> bool:
    return any(_copied(source, x) is not None for x in source.around(loop))


def _copied(source: CSource, loop: Loop) -> tuple[str, str, str] | None:
    """(to, from, type) of a nest of loops that does nothing but copy."""
    body = loop.body
    while body.type in ("compound_statement", "for_statement", "expression_statement"):
        if body.type == "for_statement":
            body = body.child_by_field_name("body")
        elif body.named_child_count != 1:
            return None
        else:
            body = body.named_children[0]
    if (
        body.type != "assignment_expression"
        or source.text_of(body.child_by_field_name("operator")) != "="
    ):
        return None
    sides = [body.child_by_field_name(n) for n in ("left", "right")]
    if any(s.type != "subscript_expression" for s in sides):
        return None
    names = [source.text_of(s.child_by_field_name("argument")) for s in sides]
    places = [polynomial(source, s.child_by_field_name("index"), {}) for s in sides]
    if places[0] != places[1] or names[0] == names[1] or not names_in(places[0]):
        return None
    kinds = [_pointer_type(source, loop, n) for n in names]
    return (names[0], names[1], kinds[0]) if kinds[0] and kinds[0] == kinds[1] else None


def _pointer_type(source: CSource, loop: Loop, name: str) -> str:
    """What a local pointer points at; empty for anything else."""
    function = source.functions[loop.function]
    for node in walk(function.child_by_field_name("body")):
        if node.type != "declaration":
            continue
        for item in node.children_by_field_name("declarator"):
            inner = (
                item.child_by_field_name("declarator") if item.type == "init_declarator" else item
            )
            if inner.type == "pointer_declarator" and source.text_of(inner) == f"*{name}":
                return source.text_of(node.child_by_field_name("type"))
    return ""
