"""C source as a tree that keeps every byte: functions, loops, declarations, and edits in place.

Parsing is tree-sitter's, which needs no preprocessor and survives what it does not know.  An edit
is (from, to, text) in bytes of the source as it was read, so that several are made together and
what is not edited stays as its author wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rheostat.measurement.code.parsing.syntax_tree import syntax_tree, walk

Node = Any  # tree_sitter.Node; the library is optional
Edit = tuple[int, int, str]

MACRO = re.compile(r"(?m)^[^\S\n]*#[^\S\n]*define[^\S\n]+(\w+)\([^()\n]*\)(.*)$")
LOOPS = ("for_statement", "while_statement", "do_statement")
ASSIGNMENTS = ("assignment_expression", "update_expression")


@dataclass(frozen=True)
class Loop:
    """A ``for`` loop over one variable with fixed bounds, as OpenMP wants it.

    Parameters
    ----------
    node : tree_sitter.Node
        The statement.
    variable : str
        What counts.
    low, high : tree_sitter.Node
        First value, and the bound of the condition.
    step : str
        The update, as ``i++``.
    function : str
        In which it stands.
    """

    node: Node = field(compare=False, repr=False)
    variable: str
    low: Node = field(compare=False, repr=False)
    high: Node = field(compare=False, repr=False)
    step: str
    function: str
    start: int

    @property
    def line(self) -> int:
        """Line, from 1."""
        return int(self.node.start_point[0]) + 1

    @property
    def body(self) -> Node:
        """What is repeated."""
        return self.node.child_by_field_name("body")

    @property
    def head(self) -> tuple[int, int]:
        """From ``for`` to the closing parenthesis, in bytes."""
        close = [x for x in self.node.children if x.type == ")"][-1]
        return int(self.node.start_byte), int(close.end_byte)


class CSource:
    """A C file: its text, its tree, and the loops in it.

    Parameters
    ----------
    text : str
        The file.
    grammar : str
        Package that parses it, of the extra `code`.
    headers : str
        Text of other files of the program, whose macros it may use.

    Examples
    --------
    >>> s = CSource("void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }")
    >>> [(l.variable, s.text_of(l.high), l.function) for l in s.loops]
    [('i', 'n', 'f')]
    """

    def __init__(self, text: str, grammar: str = "tree_sitter_c", *, headers: str = "") -> None:
        self.text = text
        self.headers = headers
        self.bytes = text.encode()
        self.tree = syntax_tree(self.bytes, grammar)

    def text_of(self, node: Node) -> str:
        """The text of a node."""
        return self.bytes[node.start_byte : node.end_byte].decode()

    @cached_property
    def macros(self) -> dict[str, list[str]]:
        """Bodies of macros that are called as functions, of every place that defines them."""
        bodies: dict[str, list[str]] = {}
        for m in MACRO.finditer(re.sub(r"\\\n", " ", f"{self.headers}\n{self.text}")):
            bodies.setdefault(m[1], []).append(m[2].strip())
        return bodies

    @cached_property
    def definitions(self) -> list[Node]:
        """Definitions of functions, also of one name, in order of the file."""
        return [n for n in walk(self.tree.root_node) if n.type == "function_definition"]

    @cached_property
    def functions(self) -> dict[str, Node]:
        """Definitions of functions by name; of several the last."""
        return {name: node for node in self.definitions if (name := self._function_name(node))}

    def _function_name(self, node: Node) -> str:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "identifier":
            declarator = declarator.child_by_field_name("declarator")
        return "" if declarator is None else self.text_of(declarator)

    @cached_property
    def loops(self) -> list[Loop]:
        """Loops of a form that OpenMP can share among threads, in order of the file."""
        return [
            loop
            for name, function in self.functions.items()
            for node in walk(function)
            if node.type == "for_statement" and (loop := self._loop(node, name))
        ]

    def _loop(self, node: Node, function: str) -> Loop | None:
        first, condition, update = (
            node.child_by_field_name(n) for n in ("initializer", "condition", "update")
        )
        if first is None or condition is None or update is None:
            return None
        start = self._initial(first)
        if start is None or condition.type != "binary_expression":
            return None
        variable, low = start
        if self._counts_in_floats(variable, function):
            return None
        left, right = (condition.child_by_field_name(n) for n in ("left", "right"))
        operator = self.text_of(condition.child_by_field_name("operator"))
        if self.text_of(left) != variable or operator not in ("<", "<=", ">", ">=", "!="):
            return None
        if not self._steps(update, variable):
            return None
        step = self.text_of(update)
        return Loop(node, variable, low, right, step, function, int(node.start_byte))

    def _initial(self, node: Node) -> tuple[str, Node] | None:
        """The variable and its first value, where there is one variable."""
        if node.type == "declaration":
            every = node.children_by_field_name("declarator")
            if len(every) != 1 or every[0].type != "init_declarator":
                return None
            name, value = (every[0].child_by_field_name(n) for n in ("declarator", "value"))
        elif node.type == "assignment_expression":
            name, value = (node.child_by_field_name(n) for n in ("left", "right"))
        else:
            return None
        return (self.text_of(name), value) if name.type == "identifier" else None

    def _counts_in_floats(self, variable: str, function: str) -> bool:
        """Whether a function declares the name as a float, in which OpenMP cannot count."""
        return any(
            node.type == "declaration"
            and re.search(r"\b(?:float|double)\b", self.text_of(node.child_by_field_name("type")))
            and variable in {x for d in node.children_by_field_name("declarator")
                             for x in identifiers(self, d.child_by_field_name("declarator") or d)}
            for node in walk(self.functions[function])
        )  # fmt: skip

    def _steps(self, update: Node, variable: str) -> bool:
        """Whether the update adds the same to the variable each time."""
        if update.type == "update_expression":
            return self.text_of(update.child_by_field_name("argument")) == variable
        if update.type != "assignment_expression":
            return False
        operator = self.text_of(update.child_by_field_name("operator"))
        left = self.text_of(update.child_by_field_name("left"))
        right = update.child_by_field_name("right")
        if left != variable:
            return False
        if operator in ("+=", "-="):
            return variable not in identifiers(self, right)
        return (
            operator == "="
            and right.type == "binary_expression"
            and self.text_of(right.child_by_field_name("operator")) in ("+", "-")
            and self.text_of(right.child_by_field_name("left")) == variable
        )

    def inside(self, outer: Loop) -> list[Loop]:
        """Loops within another, in order."""
        body = outer.body
        return [x for x in self.loops if body.start_byte <= x.start < body.end_byte]

    def around(self, inner: Loop) -> list[Loop]:
        """Loops around one in its function, the outermost first."""
        return [x for x in self.loops if x.start != inner.start and inner in self.inside(x)]

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text with edits made; of two that begin together the first stands first."""
        text, last, parts = self.bytes, 0, []
        for low, high, new in sorted(edits, key=lambda e: e[:2]):
            parts += [text[last:low], new.encode()]
            last = max(last, high)
        return b"".join([*parts, text[last:]]).decode()


def identifiers(source: CSource, node: Node) -> set[str]:
    """Names that stand in an expression or statement.

    Parameters
    ----------
    source : CSource
        Of which the node is.
    node : tree_sitter.Node
        Where to look.

    Returns
    -------
    set of str
        Identifiers, functions included.
    """
    return {source.text_of(x) for x in walk(node) if x.type == "identifier"}
