"""Rewritings of serial C that keep what is computed and cost less; the verifier decides.

Each takes a source and returns a changed text, or None where there is nothing to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rheostat.tradeoff.variants.accesses import PURE, Body, declared_name
from rheostat.tradeoff.variants.c_source import CSource, Edit, Loop, Node, identifiers, walk
from rheostat.tradeoff.variants.dependence import CONFLICT, dependence
from rheostat.tradeoff.variants.polynomial import names_in, polynomial, split

Refactoring = Callable[[str], str | None]
COSTLY = frozenset(
    name
    for line in (
        "exp exp2 log log2 log10 sin cos tan sqrt pow cbrt erf erfc tanh sinh cosh atan atan2",
        "hypot expf logf sinf cosf tanf sqrtf powf",
    )
    for name in line.split()
)


def interchange(text: str) -> str | None:
    """Nested loops in the order in which the innermost walks memory in steps of one element."""
    before = text
    for _ in range(MOST_SWAPS):
        source = CSource(text)
        swapped = next((t for loop in source.loops if (t := _swapped(source, loop))), None)
        if swapped is None:
            break
        text = swapped
    return text if text != before else None


MOST_SWAPS = 12


def _swapped(source: CSource, outer: Loop) -> str | None:
    """The text with a loop and the one inside it exchanged, if that shortens its steps."""
    inner = nested(source, outer)
    if inner is None or dependence(source, outer).level == CONFLICT:
        return None
    if _strides(source, inner, outer.variable) >= _strides(source, inner, inner.variable):
        return None
    heads = [_head(source, x) for x in (outer, inner)]
    return source.edited(
        [(*heads[0], _slice(source, heads[1])), (*heads[1], _slice(source, heads[0]))]
    )


def nested(source: CSource, outer: Loop) -> Loop | None:
    """The loop that is all of another's body, with bounds that do not hang on the outer one.

    Parameters
    ----------
    source : CSource
        The file.
    outer : Loop
        One of its loops.

    Returns
    -------
    Loop or None
        The loop within.
    """
    parts = [x for x in outer.body.named_children if x.type != "comment"]
    alone = parts[0] if outer.body.type == "compound_statement" and len(parts) == 1 else outer.body
    inner = next((x for x in source.loops if x.start == alone.start_byte), None)
    if inner is None or alone.type != "for_statement":
        return None
    bounds = identifiers(source, inner.low) | identifiers(source, inner.high)
    return None if outer.variable in bounds else inner


def _head(source: CSource, loop: Loop) -> tuple[int, int]:
    """From ``for`` to the closing parenthesis."""
    close = [x for x in loop.node.children if x.type == ")"][-1]
    return int(loop.node.start_byte), int(close.end_byte)


def _slice(source: CSource, place: tuple[int, int]) -> str:
    return source.bytes[place[0] : place[1]].decode()


def _strides(source: CSource, loop: Loop, variable: str) -> int:
    """How many accesses in a body move by more than an element when a variable counts."""
    far = 0
    for access in Body(source, loop).accesses:
        if not access.subscripts:
            continue
        parts = [split(p, variable) for p in access.subscripts]
        last = parts[-1]
        rows = any(p is None or p[0] for p in parts[:-1])
        far += rows or last is None or bool(set(last[0]) - {()}) or abs(last[0].get((), 0)) > 4
    return far


def cheaper_powers(text: str) -> str | None:
    """Products for small whole powers, a root for a half, both for one and a half."""
    source = CSource(text)
    edits = [e for node in walk(source.tree.root_node) if (e := _power(source, node))]
    return source.edited(_outermost(edits)) if edits else None


def _power(source: CSource, node: Node) -> Edit | None:
    if node.type != "call_expression":
        return None
    name = source.text_of(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments").named_children
    if name != "pow" or len(arguments) != 2:
        return None
    base, exponent = (source.text_of(x) for x in arguments)
    if any(x.type in ("call_expression", "update_expression") for x in walk(arguments[0])):
        return None
    factor = base if re.fullmatch(r"\w+", base) else f"({base})"
    new = {
        "2": f"({factor} * {factor})",
        "3": f"({factor} * {factor} * {factor})",
        "4": f"({factor} * {factor} * {factor} * {factor})",
        "0.5": f"sqrt({base})",
        "1.5": f"({factor} * sqrt({base}))",
        "-1": f"(1.0 / {factor})",
        "-0.5": f"(1.0 / sqrt({base}))",
        "-1.5": f"(1.0 / ({factor} * sqrt({base})))",
        "-2": f"(1.0 / ({factor} * {factor}))",
    }.get(re.sub(r"\.0*$", "", exponent))
    return None if new is None else (int(node.start_byte), int(node.end_byte), new)


def _outermost(edits: Iterable[Edit]) -> list[Edit]:
    """Edits that lie in no other; the inner ones wait for another turn."""
    kept: list[Edit] = []
    for low, high, new in sorted(edits, key=lambda e: (e[0], -e[1])):
        if not kept or low >= kept[-1][1]:
            kept.append((low, high, new))
    return kept


def hoisted(text: str) -> str | None:
    """Costly calls and quotients that no iteration changes, computed once before the loops."""
    before = text
    for number in range(MOST_HOISTS):
        source = CSource(text)
        moved = next((t for n in _invariant(source) if (t := _moved(source, *n, number))), None)
        if moved is None:
            break
        text = moved
    return text if text != before else None


MOST_HOISTS = 16


def _invariant(source: CSource) -> Iterable[tuple[Node, Loop]]:
    """Expressions with the outermost loop in which they stay the same."""
    for name, function in source.functions.items():
        loops = [x for x in source.loops if x.function == name]
        for node in walk(function):
            if not _costly(source, node):
                continue
            around = [x for x in loops if x.body.start_byte <= node.start_byte < x.body.end_byte]
            fixed = [x for x in around if _is_fixed(source, node, x)]
            if fixed:
                yield node, min(fixed, key=lambda x: x.start)


def _costly(source: CSource, node: Node) -> bool:
    if node.type == "call_expression":
        return source.text_of(node.child_by_field_name("function")) in COSTLY and not any(
            x.type == "number_literal"
            and x.parent.type == "argument_list"
            and x.parent.parent == node
            and node.child_by_field_name("arguments").named_child_count == 1
            for x in walk(node)
        )
    return False


def _is_fixed(source: CSource, node: Node, loop: Loop) -> bool:
    names = identifiers(source, node)
    calls = {
        source.text_of(x.child_by_field_name("function"))
        for x in walk(node)
        if x.type == "call_expression"
    }
    if calls - PURE:
        return False
    changed = _assigned_in(source, loop.node)
    return not (names - calls) & changed


def _assigned_in(source: CSource, node: Node) -> set[str]:
    """Names that a statement declares or changes, elements of arrays included."""
    names = set()
    for x in walk(node):
        if x.type == "declaration":
            names |= {declared_name(source, d) for d in x.children_by_field_name("declarator")}
        elif x.type in ("assignment_expression", "update_expression"):
            part = "left" if x.type == "assignment_expression" else "argument"
            names.add(declared_name(source, x.child_by_field_name(part)))
        elif x.type == "pointer_expression" and source.text_of(x)[:1] == "&":
            names.add(declared_name(source, x))
    return names


def _moved(source: CSource, node: Node, loop: Loop, number: int) -> str | None:
    name = next(f"fixed{k}" for k in range(number, 10_000) if f"fixed{k}" not in source.text)
    expression = source.text_of(node)
    same = [
        (int(x.start_byte), int(x.end_byte), name)
        for x in walk(loop.node)
        if x.type == node.type and source.text_of(x) == expression
    ]
    at = loop.start
    if loop.node.parent.type not in ("compound_statement",):
        return None
    indent = re.search(rb"[ \t]*\Z", source.bytes[:at])
    space = indent[0].decode() if indent else ""
    return source.edited([(at, at, f"const double {name} = {expression};\n{space}"), *same])


def multiplied(text: str) -> str | None:
    """Quotients by what a loop does not change, as products with the reciprocal."""
    source = CSource(text)
    edits: list[Edit] = []
    made: dict[tuple[int, str], str] = {}
    for loop in source.loops:
        if source.inside(loop) or loop.node.parent.type not in (
            "compound_statement",
            "for_statement",
        ):
            continue
        for node in walk(loop.body):
            if (
                node.type != "binary_expression"
                or source.text_of(node.child_by_field_name("operator")) != "/"
            ):
                continue
            below = node.child_by_field_name("right")
            outer = [x for x in (*source.around(loop), loop) if _is_fixed(source, below, x)]
            place = next((x for x in outer if x.node.parent.type == "compound_statement"), None)
            if place is None or not _is_real(source, below) or below.type == "call_expression":
                continue
            key = (place.start, source.text_of(below))
            name = made.setdefault(key, f"inverse{len(made)}")
            operator = node.child_by_field_name("operator")
            edits.append((int(operator.start_byte), int(below.end_byte), f"* {name}"))
    if not edits or re.search(r"\binverse\d", text):
        return None
    for (at, divisor), name in made.items():
        indent = re.search(rb"[ \t]*\Z", source.bytes[:at])
        space = indent[0].decode() if indent else ""
        edits.append((at, at, f"const double {name} = 1.0 / {divisor};\n{space}"))
    return source.edited(edits)


def _is_real(source: CSource, node: Node) -> bool:
    """Whether an expression is of floating point, as far as declarations in the text tell."""
    text = source.text_of(node)
    if node.type == "number_literal":
        return "." in text or "e" in text.lower()
    if node.type == "cast_expression":
        return "double" in text or "float" in text
    if node.type == "parenthesized_expression":
        return _is_real(source, node.named_children[0])
    if node.type == "binary_expression":
        return any(_is_real(source, node.child_by_field_name(n)) for n in ("left", "right"))
    if node.type != "identifier":
        return False
    return re.search(rf"\bdouble\s(?:[^;()]*,)?\s*{text}\b(?!\s*\[)", source.text) is not None


def accumulated(text: str) -> str | None:
    """Sums into one element of an array, kept in a scalar while the innermost loop runs."""
    source = CSource(text)
    edits: list[Edit] = []
    for number, loop in enumerate(source.loops):
        assignment = _only_sum(source, loop)
        if assignment is None or loop.node.parent.type not in (
            "compound_statement",
            "for_statement",
        ):
            continue
        left = assignment.child_by_field_name("left")
        place, name = source.text_of(left), f"sum{number}"
        if re.search(rf"\b{name}\b", text):
            continue
        head = source.bytes[loop.start : left.start_byte].decode()
        tail = source.bytes[left.end_byte : loop.node.end_byte].decode()
        new = f"{{\ndouble {name} = 0;\n{head}{name}{tail}\n{place} += {name};\n}}"
        edits.append((loop.start, int(loop.node.end_byte), new))
    return source.edited(edits) if edits else None


def _only_sum(source: CSource, loop: Loop) -> Node | None:
    """The update ``a[..] += e`` that is all of a loop and whose place the loop does not change."""
    parts = loop.body.named_children if loop.body.type == "compound_statement" else [loop.body]
    if len(parts) != 1 or parts[0].type != "expression_statement":
        return None
    node = parts[0].named_children[0]
    if (
        node.type != "assignment_expression"
        or source.text_of(node.child_by_field_name("operator")) != "+="
    ):
        return None
    left, right = (node.child_by_field_name(n) for n in ("left", "right"))
    array = declared_name(source, left)
    fixed = left.type == "subscript_expression" and loop.variable not in identifiers(source, left)
    return node if fixed and array not in identifiers(source, right) else None


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


def without_roots(text: str) -> str | None:
    """Squares compared instead of roots: sqrt(x) < c as x < c * c, for a positive number c."""
    source = CSource(text)
    edits: list[Edit] = []
    for node in walk(source.tree.root_node):
        if node.type != "binary_expression":
            continue
        operator = source.text_of(node.child_by_field_name("operator"))
        left, right = (node.child_by_field_name(n) for n in ("left", "right"))
        if operator not in ("<", "<=", ">", ">=") or left.type != "call_expression":
            continue
        if source.text_of(left.child_by_field_name("function")) != "sqrt":
            continue
        if right.type != "number_literal":
            continue
        inside = source.text_of(left.child_by_field_name("arguments"))
        number = source.text_of(right)
        new = f"{inside} {operator} {number} * {number}"
        edits.append((int(node.start_byte), int(node.end_byte), new))
    return source.edited(_outermost(edits)) if edits else None


REFACTORINGS: dict[str, Refactoring] = {
    "powers as products": cheaper_powers,
    "squares compared instead of roots": without_roots,
    "loops interchanged": interchange,
    "fixed calls moved out of loops": hoisted,
    "quotients as products": multiplied,
    "pointers exchanged instead of copies": exchanged,
    "sums kept in scalars": accumulated,
}
"""By what they are called in reports, in the order in which they are made."""
