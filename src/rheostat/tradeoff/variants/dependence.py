"""What stands in the way of running a loop's iterations at once: an order for the verifier.

Three answers.  ``SAFE``: every element that an iteration writes is its own, as far as subscripts
tell, and every scalar is private or a reduction.  ``UNKNOWN``: subscripts are data, or a function
writes through a pointer.  ``CONFLICT``: iterations touch the same place, for the reasons given.
No answer accepts or rejects a candidate; pointers that overlap, for one, are not looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import (
    MEMORY,
    READ,
    UPDATE,
    WRITE,
    Access,
    Body,
    declared_name,
    meet,
    only_computes,
)
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node
from rheostat.tradeoff.variants.loop_blocks import counter
from rheostat.tradeoff.variants.polynomial import is_data, names_in
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE, UNKNOWN, apart

REDUCED = {"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"}


@dataclass
class Dependence:
    """How a loop may be shared among threads.

    Parameters
    ----------
    loop : Loop
        Which.
    level : int
        SAFE, UNKNOWN or CONFLICT.
    reasons : list of str
        What speaks against it.
    reductions : dict of str to str
        Scalars by operator: +, *, min, max.
    private, lastprivate : set of str
        Scalars declared outside that each iteration sets for itself; read afterwards or not.
    updated : dict of str to list of Access
        Arrays with updates at places that are data: atomic, or reduced as a whole.
    contended : bool
        Whether every iteration updates the same places, so that atomics would make threads wait.
    scan : Access, optional
        The update of a running sum that the rest of the body reads.
    """

    loop: Loop
    level: int = SAFE
    reasons: list[str] = field(default_factory=list)
    reductions: dict[str, str] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    lastprivate: set[str] = field(default_factory=set)
    updated: dict[str, list[Access]] = field(default_factory=dict)
    contended: bool = False
    shared_reads: dict[str, list[Access]] = field(default_factory=dict)
    scan: Access | None = None

    def worse(self, level: int, reason: str) -> None:
        """Note a reason."""
        self.level = max(self.level, level)
        self.reasons.append(reason)


def dependence(source: CSource, loop: Loop) -> Dependence:
    """Look at a loop's body.

    Parameters
    ----------
    source : CSource
        The file.
    loop : Loop
        One of its loops.

    Returns
    -------
    Dependence
        With the clauses that a pragma needs.

    Examples
    --------
    >>> text = "void f(long n, double *a) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; }"
    >>> source = CSource(text)
    >>> d = dependence(source, source.loops[0])
    >>> d.level, d.reductions
    (0, {'s': '+'})
    """
    body = Body(source, loop)
    result = Dependence(loop)
    if body.leaves:
        result.worse(CONFLICT, "leaves the loop early")
    _calls(source, body, result)
    outer = [a for a in body.accesses if a.name not in body.local and a.name != loop.variable]
    written = {a.place for a in outer if a.kind != READ}
    if any(a.name == loop.variable and a.kind != READ for a in body.accesses):
        result.worse(CONFLICT, f"{loop.variable} is changed within the loop")
    bound = body.places_in(loop.high)
    if any(meet(w, b) for w in written for b in bound):
        result.worse(CONFLICT, "the bound is changed within the loop")
    for place in sorted(written):
        mine = [a for a in outer if meet(a.place, place)]
        name = ".".join(place)
        if "(" in name:  # no clause can name it
            result.worse(CONFLICT, f"{name} is written, a macro or what a call gives")
        elif any(a.subscripts for a in mine):
            _array(result, name, mine, body, counter(source, loop))
        elif len(place) > 1:
            result.worse(CONFLICT, f"{name} is written, a field that no clause can name")
        else:
            _scalar(source, result, name, mine)
    return result


def _scalar(source: CSource, result: Dependence, name: str, mine: list[Access]) -> None:
    first = mine[0]
    operators = {REDUCED.get(a.operator, "") for a in mine if a.kind == UPDATE}
    if first.kind == WRITE and not first.conditional:
        later = read_after(source, result.loop, name)
        (result.lastprivate if later else result.private).add(name)
    elif all(a.kind == UPDATE for a in mine) and len(operators) == 1 and "" not in operators:
        result.reductions[name] = operators.pop()
    elif extreme := _extreme(source, mine):
        result.reductions[name] = extreme
    elif (scan := _scan(source, result.loop, mine)) is not None and result.scan is None:
        result.scan = scan
        result.worse(UNKNOWN, f"{name} is a running sum")
    else:
        result.worse(CONFLICT, f"{name} is carried from one iteration to the next")


def read_after(source: CSource, loop: Loop, name: str) -> bool:
    """Whether a value that the loop leaves is read before it is set again, as the text stands."""
    function = source.functions[loop.function]
    for node in walk(function):
        if node.start_byte < loop.node.end_byte or node.type != "identifier":
            continue
        if source.text_of(node) == name:
            parent = node.parent
            declared = parent.type in ("init_declarator", "declaration")
            assigned = parent.type == "assignment_expression" and (
                parent.child_by_field_name("left") == node
                and source.text_of(parent.child_by_field_name("operator")) == "="
            )
            return not (assigned or declared)
    return False


def _extreme(source: CSource, mine: list[Access]) -> str:
    """Which of min and max ``if (x > s) s = x;`` and its relatives compute.

    Only those: what reads s once more is a running extreme, and ``s = fmax(s + x, y)`` a sum.
    """
    write = [a for a in mine if a.kind == WRITE]
    if len(write) != 1:
        return ""
    name, statement = write[0].name, write[0].statement
    value = _bare(statement.child_by_field_name("right"))
    call = re.match(r"f(min|max)f?\(", source.text_of(value))
    test = value if value.type == "conditional_expression" else _guard(statement)
    if call:
        said = call[1]
        compared = _texts(source, value.child_by_field_name("arguments").named_children)
        chosen, reads = compared, 1
    elif test is not None:
        condition = _bare(test.child_by_field_name("condition"))
        if condition.type != "binary_expression":
            return ""
        compared = _texts(source, [condition.child_by_field_name(s) for s in ("left", "right")])
        operator = source.text_of(condition.child_by_field_name("operator"))[0]
        fields = ("consequence", "alternative") if test is value else ()
        chosen = _texts(source, [test.child_by_field_name(f) for f in fields] or [value])
        if operator not in "<>":
            return ""
        first = chosen[0] == compared[0]
        said, reads = "min" if first == (operator == "<") else "max", len(chosen)
    else:
        return ""
    other = [text for text in compared if text != name]
    wanted = {name, *other} if len(chosen) > 1 else set(other)
    exact = len(compared) == 2 and len(other) == 1 and set(chosen) == wanted
    return said if exact and len(mine) == reads + 1 else ""


def _bare(node: Node) -> Node:
    """What stands within parentheses."""
    while node.type == "parenthesized_expression":
        node = node.named_children[0]
    return node


def _texts(source: CSource, nodes: list[Node]) -> list[str]:
    """Texts without blanks and outer parentheses."""
    return [re.sub(r"\s+", "", source.text_of(_bare(node))) for node in nodes]


def _guard(node: Node) -> Node | None:
    """The ``if`` without ``else`` that an assignment alone stands under."""
    parent = node.parent
    while parent is not None and parent.type in ("expression_statement", "compound_statement"):
        if parent.type == "compound_statement" and len(parent.named_children) > 1:
            return None
        parent = parent.parent
    alone = parent is not None and parent.type == "if_statement"
    return parent if alone and parent.child_by_field_name("alternative") is None else None


def _scan(source: CSource, loop: Loop, mine: list[Access]) -> Access | None:
    """The one update of a running sum: a statement of the body itself, before all reads."""
    updates = [a for a in mine if a.kind == UPDATE and a.operator == "+"]
    others = [a for a in mine if a not in updates]
    if len(updates) != 1 or updates[0].conditional or any(a.kind != READ for a in others):
        return None
    statement = updates[0].statement.parent
    here = statement.type == "expression_statement" and statement.parent == loop.body
    below = all(a.node.start_byte > statement.end_byte for a in others)
    return updates[0] if here and below and loop.body.type == "compound_statement" else None


def _array(result: Dependence, name: str, mine: list[Access], body: Body, variable: str) -> None:
    inner = ({x.variable for x in body.source.inside(result.loop)} | body.local) - {variable}
    counted = {x.variable for x in body.source.loops}
    writes = [a for a in mine if a.kind != READ]
    step = re.fullmatch(rf"{variable}\s*\+=\s*(\d+)", result.loop.step)
    by = int(step[1]) if step else 1
    level = max(
        (apart(w, a, variable, inner, counted, by) for w in writes for a in mine), default=SAFE
    )
    if level == SAFE:
        return
    data = all(a.kind == UPDATE and REDUCED.get(a.operator) == "+" for a in mine)
    if data:
        result.updated[name] = writes
        result.contended |= not any(
            is_data(x) or variable in names_in(x) for a in writes for x in a.subscripts
        )
        result.worse(UNKNOWN, f"{name} is updated at places that iterations may share")
        return
    result.shared_reads[name] = mine
    result.worse(level, f"{name} is written where another iteration may look")


def _calls(source: CSource, body: Body, result: Dependence) -> None:
    for name in dict.fromkeys(body.calls):
        if name in MEMORY or only_computes(source, name):
            continue
        definition = source.functions.get(name)
        if definition is None:
            result.worse(CONFLICT, f"{name} may do anything")
        elif outside := _writes_outside(source, definition):
            result.worse(CONFLICT, f"{name} changes {outside}")
        elif through := _writes_through(source, definition):
            result.worse(UNKNOWN, f"{name} writes through {through}")
        elif calls := _impure(source, definition, {name}):
            result.worse(CONFLICT, f"{name} calls {calls}")


def _parameters(source: CSource, definition: Node) -> set[str]:
    return {
        declared_name(source, x)
        for x in walk(definition.child_by_field_name("declarator"))
        if x.type == "parameter_declaration"
    } | {
        declared_name(source, d)
        for x in walk(definition.child_by_field_name("declarator"))
        if x.type == "parameter_declaration"
        for d in x.children_by_field_name("declarator")
    }


def _targets(source: CSource, definition: Node) -> Iterable[tuple[str, bool]]:
    """Names that a function writes, and whether through a subscript or pointer."""
    for node in walk(definition):
        if node.type not in ("assignment_expression", "update_expression"):
            continue
        part = "left" if node.type == "assignment_expression" else "argument"
        place = node.child_by_field_name(part)
        yield declared_name(source, place), place.type != "identifier"


def _own_names(source: CSource, definition: Node) -> set[str]:
    return {
        declared_name(source, d)
        for x in walk(definition)
        if x.type == "declaration" and "static" not in source.text_of(x).split()
        for d in x.children_by_field_name("declarator")
    }


def _writes_outside(source: CSource, definition: Node) -> str:
    own = _own_names(source, definition) | _parameters(source, definition)
    return next((n for n, _ in _targets(source, definition) if n not in own), "")


def _writes_through(source: CSource, definition: Node) -> str:
    parameters = _parameters(source, definition)
    return next((n for n, deep in _targets(source, definition) if deep and n in parameters), "")


def _impure(source: CSource, definition: Node, seen: set[str]) -> str:
    for node in walk(definition):
        if node.type != "call_expression":
            continue
        name = source.text_of(node.child_by_field_name("function"))
        if name in seen or only_computes(source, name):
            continue
        inner = source.functions.get(name)
        if inner is None or _writes_outside(source, inner):
            return name
        if deeper := _impure(source, inner, seen | {name}):
            return deeper
    return ""
