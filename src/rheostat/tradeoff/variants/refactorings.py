"""Rewritings of serial C that keep what is computed and cost less; the verifier decides.

Each takes a source and returns a changed text, or None where there is nothing to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import PURE, declared_name
from rheostat.tradeoff.variants.array_moves import exchanged
from rheostat.tradeoff.variants.c_source import CSource, Edit, Loop, Node, identifiers
from rheostat.tradeoff.variants.loop_order import interchange
from rheostat.tradeoff.variants.scalar_sums import KEPT, accumulated

Refactoring = Callable[[str], str | None]
COSTLY = frozenset(
    name
    for line in (
        "exp exp2 log log2 log10 sin cos tan sqrt pow cbrt erf erfc tanh sinh cosh atan atan2",
        "hypot expf logf sinf cosf tanf sqrtf powf",
    )
    for name in line.split()
)


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
    declared = rf"\bdouble\s(?:[^;()]*,)?\s*{re.escape(text)}\b(?!\s*\[)"
    return re.search(declared, source.text) is not None


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
    KEPT: accumulated,
}
"""By what they are called in reports, in the order in which they are made."""
