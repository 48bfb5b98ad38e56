"""Small changes to a Python source, one at a time: what a slip of the keyboard or of thought makes.

    kind        change
    compare     < and <=, > and >=, == and !=, in and not in, is and is not
    arithmetic  + and -, * and /, // and /, & and |, ** to *, % to *
    boolean     and and or; not left out; True and False; the condition of an if turned round
    number      a whole number plus 1; any other halved, 0.0 to 1.0, a tolerance to 0.01
    function    min and max, any and all, floor and ceil, argmin and argmax, minimum and maximum
    return      the value left out
    statement   a call, raise, continue, break, change of an item or += left out

Texts, annotations, decorators, what only a type checker sees and the ``strict`` of a ``zip`` are
left alone.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARE = {"Lt": ("<", "<="), "LtE": ("<=", "<"), "Gt": (">", ">="), "GtE": (">=", ">"),
           "Eq": ("==", "!="), "NotEq": ("!=", "=="), "In": ("in", "not in"),
           "NotIn": ("not in", "in"),
           "Is": ("is", "is not"), "IsNot": ("is not", "is")}  # fmt: skip
ARITHMETIC = {"Add": ("+", "-"), "Sub": ("-", "+"), "Mult": ("*", "/"), "Div": ("/", "*"),
              "FloorDiv": ("//", "/"), "Mod": ("%", "*"), "Pow": ("**", "*"),
              "BitAnd": ("&", "|"), "BitOr": ("|", "&")}  # fmt: skip
PAIRS = (("min", "max"), ("any", "all"), ("floor", "ceil"), ("argmin", "argmax"),
         ("minimum", "maximum"), ("nanmin", "nanmax"))  # fmt: skip
SWAPPED = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Change:
    """Replace ``source[start:end]`` by ``after``; ``ident`` stays the same when lines move."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    before: str
    after: str
    ident: str

    def applied(self, source: str) -> str:
        """The changed source."""
        return source[: self.start] + self.after + source[self.end :]


def changes(path: Path, root: Path) -> list[Change]:
    """Every change of one file, in order of place."""
    source = path.read_text(encoding="utf-8")
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    file = path.relative_to(root).as_posix()
    found, seen = [], Counter()
    for function, kind, start, end, after in sorted(set(finder.found), key=lambda f: f[2:]):
        before = source[start:end]
        one = f"{file}::{function}::{kind}::{' '.join(before.split())} -> {after}"
        seen[one] += 1
        line = source.count("\n", 0, start) + 1
        ident = one if seen[one] == 1 else f"{one} #{seen[one]}"
        found.append(Change(file, line, function, kind, start, end, before, after, ident))
    return found


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.source = source
        lines = source.encode().splitlines(keepends=True)
        self._lines = [line.decode() for line in lines]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self.scope: list[str] = []
        self.found: list[tuple[str, str, int, int, str]] = []

    def at(self, line: int, column: int) -> int:
        """Offset in characters of a place that the parser gives in bytes."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.at(node.lineno, node.col_offset),
            self.at(node.end_lineno, node.end_col_offset),
        )

    def add(self, kind: str, span: tuple[int, int], after: str) -> None:
        self.found.append((".".join(self.scope), kind, *span, after))

    def between(self, left: ast.AST, right: ast.AST, sign: str) -> tuple[int, int] | None:
        """Where a sign stands between two operands."""
        begin, end = self.span(left)[1], self.span(right)[0]
        place = self.source.find(sign, begin, end)
        return None if place < 0 else (place, place + len(sign))

    # what is walked through, and what is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.scope.append(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self._body(node.body)
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        self._body(node.body)
        self.scope.pop()

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._turned(node.test)
        self.generic_visit(node)

    # what is changed

    def _turned(self, test: ast.expr) -> None:
        single = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not single and not isinstance(test, ast.UnaryOp):  # these have a change of their own
            begin, end = self.span(test)
            self.add("boolean", (begin, end), f"not ({self.source[begin:end]})")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._turned(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators,
                                   strict=False):  # fmt: skip
            sign, other = COMPARE[type(op).__name__]
            if span := self.between(left, right, sign):
                self.add("compare", span, other)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        pair = ARITHMETIC.get(type(node.op).__name__)
        texts = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.DictComp)
        plain = not any(isinstance(s, texts) or (isinstance(s, ast.Constant) and isinstance(
            s.value, str | bytes)) for s in (node.left, node.right))  # fmt: skip
        if pair and plain and (span := self.between(node.left, node.right, pair[0])):
            self.add("arithmetic", span, pair[1])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            if span := self.between(left, right, sign):
                self.add("boolean", span, other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert):
            self.add("boolean", self.span(node), self.source[slice(*self.span(node.operand))])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add("boolean", self.span(node), repr(not value))
        elif isinstance(value, int):
            self.add("number", self.span(node), str(value + 1))
        elif isinstance(value, float):
            other = 1.0 if value == 0 else 0.01 if abs(value) <= TOLERANCE else value / 2
            self.add("number", self.span(node), repr(other))

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in SWAPPED:
            self.add("function", self.span(node), SWAPPED[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in SWAPPED:
            end = self.span(node)[1]
            self.add("function", (end - len(node.attr), end), SWAPPED[node.attr])
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant)
                                           and node.value.value is None):  # fmt: skip
            self.add("return", self.span(node), "return None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add("statement", self.span(node), "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def _left_out(self, node: ast.stmt) -> None:
        self.add("statement", self.span(node), "pass")
        self.generic_visit(node)

    visit_Raise = visit_Continue = visit_Break = _left_out
    visit_AugAssign = visit_Delete = _left_out

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Subscript | ast.Attribute) for t in node.targets):
            self.add("statement", self.span(node), "pass")
        self.generic_visit(node)


def of_package(root: Path, package: str) -> Iterator[tuple[str, list[Change]]]:
    """(file, changes) of each file of a package, or of a part, in which there is what to change."""
    inside = root / "src" / "rheostat"
    for path in sorted({*(inside / package).rglob("*.py"), *inside.glob(f"{package}*.py")}):
        if found := changes(path, root):
            yield found[0].file, found
