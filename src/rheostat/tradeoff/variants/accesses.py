"""What a loop's body reads and writes: scalars and elements of arrays, in order of execution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node
from rheostat.tradeoff.variants.polynomial import Polynomial, names_in, polynomial

READ, WRITE, UPDATE = "read", "write", "update"
PURE = frozenset(
    name
    for line in (
        "sqrt sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 log1p expm1",
        "pow fabs fmin fmax fmod floor ceil round trunc cbrt hypot erf erfc fma abs labs llabs",
        "sizeof sqrtf sinf cosf tanf expf logf powf fabsf fminf fmaxf floorf ceilf llround lround",
        "__typeof__ rint copysign isnan isfinite isinf",
    )
    for name in line.split()
)
MEMORY = frozenset(("malloc", "calloc", "free", "memcpy", "memset", "memmove"))
CHANGES = re.compile(r"[;{}]|\+\+|--|(?<![=<>!])=(?!=)|\b(?:return|goto|break|continue)\b")
CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True)
class Access:
    """One read, write or update (read and write at once) of a name, or of a field of it.

    ``fields`` are those of ``p->a[i].b``: (a, b), whose subscripts are i.
    ``subscripts`` is empty for a scalar; ``operator`` is that of an update; ``conditional`` says
    that it does not happen in every iteration; ``statement`` is the expression it stands in.
    """

    kind: str
    name: str
    node: Node = field(repr=False)
    subscripts: tuple[Polynomial, ...] = ()
    operator: str = ""
    conditional: bool = False
    statement: Node = field(default=None, repr=False)
    fields: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, ...]:
        """Name and fields: what lies in another field lies elsewhere."""
        return self.name, *self.fields


class Body:
    """Accesses in the body of a loop, its own names, and the calls that it makes.

    Parameters
    ----------
    source : CSource
        The file.
    loop : Loop
        Whose body.
    """

    def __init__(self, source: CSource, loop: Loop) -> None:
        self.source = source
        self.loop = loop
        self.local: set[str] = set()
        self.calls: list[str] = []
        self.leaves = False
        self._known: dict[str, Polynomial] = {}
        self._changed = _changed(source, loop.body)
        counters = {x.variable for x in source.inside(loop)}
        self._moving = {n for n, times in self._changed.items() if times > 1} - counters
        self.accesses = list(self._of(loop.body, conditional=False, depth=0))

    def _of(self, node: Node, *, conditional: bool, depth: int) -> Iterator[Access]:
        kind = node.type
        if kind == "declaration":
            yield from self._declared(node, conditional)
        elif kind == "assignment_expression":
            yield from self._assigned(node, conditional, depth)
        elif kind == "update_expression":
            argument = node.child_by_field_name("argument")
            yield from self._inside(argument, conditional, depth)
            yield self._access(UPDATE, argument, conditional, node, "+")
        elif kind in ("identifier", "subscript_expression", "field_expression"):
            yield from self._inside(node, conditional, depth)
            yield self._access(READ, node, conditional, node)
        elif kind == "pointer_expression":
            argument = node.child_by_field_name("argument")
            yield from self._of(argument, conditional=conditional, depth=depth)
        elif kind == "call_expression":
            yield from self._called(node, conditional, depth)
        elif kind in ("return_statement", "goto_statement") or (
            kind == "break_statement" and depth == 0
        ):
            self.leaves = True
            yield from self._children(node, conditional, depth)
        else:
            yield from self._statement(node, conditional, depth)

    def _statement(self, node: Node, conditional: bool, depth: int) -> Iterator[Access]:
        """What has parts; a loop's head runs once, its body perhaps never."""
        looping = node.type in ("for_statement", "while_statement", "do_statement")
        inner = depth + (looping or node.type == "switch_statement")
        if node.type in ("if_statement", "conditional_expression"):
            condition = node.child_by_field_name("condition")
            yield from self._of(condition, conditional=conditional, depth=depth)
            for name in ("consequence", "alternative"):
                part = node.child_by_field_name(name)
                if part is not None:
                    yield from self._of(part, conditional=True, depth=depth)
        elif node.type == "for_statement":
            for name in ("initializer", "condition"):
                part = node.child_by_field_name(name)
                if part is not None:
                    yield from self._of(part, conditional=conditional, depth=depth)
            for name in ("body", "update"):
                part = node.child_by_field_name(name)
                if part is not None:
                    yield from self._of(part, conditional=conditional, depth=inner)
        else:
            yield from self._children(node, conditional or node.type == "while_statement", inner)

    def _children(self, node: Node, conditional: bool, depth: int) -> Iterator[Access]:
        for child in node.named_children:
            yield from self._of(child, conditional=conditional, depth=depth)

    def _declared(self, node: Node, conditional: bool) -> Iterator[Access]:
        for item in node.children_by_field_name("declarator"):
            value = item.child_by_field_name("value") if item.type == "init_declarator" else None
            name = declared_name(self.source, item)
            if value is not None:
                yield from self._of(value, conditional=conditional, depth=0)
                single = item.child_by_field_name("declarator").type == "identifier"
                if single and name not in self._changed:
                    self._known[name] = polynomial(self.source, value, self._known)
            self.local.add(name)

    def _assigned(self, node: Node, conditional: bool, depth: int) -> Iterator[Access]:
        left, right = (node.child_by_field_name(n) for n in ("left", "right"))
        operator = self.source.text_of(node.child_by_field_name("operator"))
        again = self._same_operator(left, right) if operator == "=" else operator[:-1]
        yield from self._inside(left, conditional, depth)
        if operator == "=" and again:
            text = self.source.text_of(left)
            sides = [right.child_by_field_name(n) for n in ("left", "right")]
            rest = [x for x in sides if self.source.text_of(x) != text] or sides[1:]
            yield from self._of(rest[0], conditional=conditional, depth=depth)
        else:
            yield from self._of(right, conditional=conditional, depth=depth)
        yield self._access(UPDATE if again else WRITE, left, conditional, node, again)
        name = self.source.text_of(left)
        once = left.type == "identifier" and self._changed[name] == 1 and name not in self.local
        if once and operator == "=" and not (again or conditional):
            value = polynomial(self.source, right, self._known)
            if not names_in(value) & (self._moving | {name}):
                self._known[name] = value

    def _same_operator(self, left: Node, right: Node) -> str:
        """The operator of ``s = s + e`` or ``s = e + s``; empty for any other assignment."""
        if right.type != "binary_expression":
            return ""
        text = self.source.text_of(left)
        sides = [self.source.text_of(right.child_by_field_name(n)) for n in ("left", "right")]
        operator = self.source.text_of(right.child_by_field_name("operator"))
        again = sides[0] == text or (sides[1] == text and operator in ("+", "*"))
        return operator if again and operator in ("+", "-", "*") else ""

    def _inside(self, node: Node, conditional: bool, depth: int) -> Iterator[Access]:
        """What is read to find the place: subscripts."""
        while node.type == "subscript_expression":
            index = node.child_by_field_name("index")
            yield from self._of(index, conditional=conditional, depth=depth)
            node = node.child_by_field_name("argument")

    def _access(
        self, kind: str, node: Node, conditional: bool, statement: Node, operator: str = ""
    ) -> Access:
        subscripts: list[Polynomial] = []
        fields: list[str] = []
        while node.type in ("subscript_expression", "field_expression", "parenthesized_expression",
                            "pointer_expression"):  # fmt: skip
            if node.type == "subscript_expression":
                index = node.child_by_field_name("index")
                subscripts.insert(0, polynomial(self.source, index, self._known))
            elif node.type == "pointer_expression":
                subscripts.insert(0, {("*",): 1})
            elif node.type == "field_expression":
                fields.insert(0, self.source.text_of(node.child_by_field_name("field")))
            inner = node.child_by_field_name("argument")
            node = node.named_children[0] if inner is None else inner
        name = self.source.text_of(node)
        return Access(kind, name, node, tuple(subscripts), operator, conditional, statement,
                      tuple(fields))  # fmt: skip

    def places_in(self, node: Node) -> set[tuple[str, ...]]:
        """Names and fields that an expression reads."""
        return {a.place for a in self._of(node, conditional=False, depth=0)}

    def _called(self, node: Node, conditional: bool, depth: int) -> Iterator[Access]:
        name = self.source.text_of(node.child_by_field_name("function"))
        self.calls.append(name)
        arguments = node.child_by_field_name("arguments")
        yield from self._children(arguments, conditional, depth)


def meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two places are one, or one is a field of the other.

    >>> meet(("p", "a"), ("p",)), meet(("p", "a"), ("p", "high"))
    (True, False)
    """
    return all(a == b for a, b in zip(one, other, strict=False))


def _changed(source: CSource, body: Node) -> Counter[str]:
    """How often names are assigned to or counted after they were declared, as the text stands."""
    fields = {"assignment_expression": "left", "update_expression": "argument"}
    return Counter(
        source.text_of(x.child_by_field_name(fields[x.type]))
        for x in walk(body)
        if x.type in fields
    )


def declared_name(source: CSource, declarator: Node) -> str:
    """The name that a declarator declares.

    Parameters
    ----------
    source : CSource
        The file.
    declarator : tree_sitter.Node
        As ``*a[n] = x``.

    Returns
    -------
    str
        As ``a``.
    """
    return next(
        (
            source.text_of(x)
            for x in walk(declarator)
            if x.type in ("identifier", "field_identifier")
        ),
        "",
    )


def only_computes(source: CSource, name: str) -> bool:
    """Whether what is called is a function of mathematics, or a macro that only computes."""
    return name in PURE or _is_expression(source, name, frozenset())


def _is_expression(source: CSource, name: str, seen: frozenset[str]) -> bool:
    """Whether a name is a macro that only computes a value, wherever it is defined."""
    bodies = source.macros.get(name, [])
    called = {c for body in bodies for c in CALLED.findall(body)}
    return (
        bool(bodies)
        and not any(CHANGES.search(body) for body in bodies)
        and all(c in PURE or (c not in seen and _is_expression(source, c, seen | {name}))
                for c in called)
    )  # fmt: skip
