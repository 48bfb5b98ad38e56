"""A syntax tree of the library of integer sets as C, with the statements of the original in it."""

from __future__ import annotations

import re
from typing import Any

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.affine_loops import AffineRegion, Isl, NotAffineError
from rheostat.tradeoff.variants.loop_blocks import indent_of

SHARED, UNEVEN, WIDE = "shared", "uneven", "wide"
PRAGMAS = {SHARED: "#pragma omp parallel for", WIDE: "#pragma omp simd",
           UNEVEN: "#pragma omp parallel for schedule(dynamic)"}  # fmt: skip
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pdiv_q": "/", "pdiv_r": "%",
             "zdiv_r": "%", "eq": "==", "le": "<=", "lt": "<", "ge": ">=", "gt": ">", "and_": "&&",
             "or_": "||", "and_then": "&&", "or_else": "||"}  # fmt: skip
Tree = Any  # islpy.AstNode, islpy.AstExpr


class AffineText:
    """What stands in the place of a region.

    Parameters
    ----------
    isl : module
        The library.
    region : AffineRegion
        Whose statements are printed.
    """

    def __init__(self, isl: Isl, region: AffineRegion) -> None:
        self.isl, self.region = isl, region
        self.by_name = {s.name: s for s in region.statements}
        touched = [a for s in region.statements for a in s.accesses]
        scalars = {a.name for a in touched if not a.subscripts or a.fields}
        self.arrays = sorted({a.name for a in touched if a.name.isidentifier()} - scalars)
        self.renamed: dict[str, str] = {}
        self.operators = {getattr(isl.ast_expr_op_type, n): o for n, o in OPERATORS.items()}

    def text(self, tree: Tree) -> str:
        """The loops, in a block with the sizes as constants.

        Parameters
        ----------
        tree : islpy.AstNode
            With marks where pragmas stand.

        Returns
        -------
        str
            C.
        """
        source = self.region.source
        space = indent_of(source, self.region.nodes[0].start_byte)
        sizes = [f"{space}  const long {p} = {n};" for n, p in self.region.sizes.items()]
        lines = self._node(tree, f"{space}  ")
        own = r"\b(?:[pc]\d+|\w+_alone)\b"
        if set(re.findall(own, "\n".join([*sizes, *lines]))) & set(re.findall(own, source.text)):
            raise NotAffineError("a name of the loops' own is taken")
        return "\n".join(["{", *sizes, *lines, f"{space}}}"])

    def _node(self, node: Tree, space: str, mark: str = "") -> list[str]:
        kinds, kind = self.isl.ast_node_type, node.get_type()
        if kind == kinds.for_:
            return self._loop(node, space, mark)
        if kind == kinds.mark:
            return self._node(node.mark_get_node(), space, mark or node.mark_get_id().name)
        if kind == kinds.block:
            items = node.block_get_children()
            each = (items.get_ast_node(k) for k in range(items.n_ast_node()))
            return [line for item in each for line in self._node(item, space, mark)]
        if kind == kinds.if_:
            return self._branch(node, space, mark)
        return [f"{space}{self._statement(node.user_get_expr())}"]

    def _loop(self, node: Tree, space: str, mark: str) -> list[str]:
        name, first = self._value(node.for_get_iterator()), self._value(node.for_get_init())
        body = node.for_get_body()
        if node.for_is_degenerate():
            within = self._node(body, f"{space}  ", mark)
            return [f"{space}{{", f"{space}  const long {name} = {first};", *within, f"{space}}}"]
        end, step = self._value(node.for_get_cond()), self._value(node.for_get_inc())
        head = f"for (long {name} = {first}; {end[1:-1]}; {name} += {step}) {{"
        what, _, where = mark.partition(" ")  # a loop of one iteration is no loop any more
        before = [f"{space}{PRAGMAS[what]}"] if where == name else []
        if not before or what == WIDE:
            return [*before, f"{space}{head}", *self._node(body, f"{space}  "), f"{space}}}"]
        self.renamed = {a: f"{a}_alone" for a in self.arrays}
        within = self._node(body, f"{space}  ")
        used = [(a, n) for a, n in self.renamed.items()
                if re.search(rf"\b{n}\b", "\n".join(within))]  # fmt: skip
        self.renamed = {}
        # within a shared loop compilers forget that nothing else points at an array
        own = [f"{space}  __typeof__(&{a}[0]) __restrict {n} = {a};" for a, n in used]
        return [*before, f"{space}{head}", *own, *within, f"{space}}}"]

    def _branch(self, node: Tree, space: str, mark: str) -> list[str]:
        lines = [f"{space}if ({self._value(node.if_get_cond())}) {{",
                 *self._node(node.if_get_then_node(), f"{space}  ", mark)]  # fmt: skip
        if node.if_has_else_node():
            other = self._node(node.if_get_else_node(), f"{space}  ", mark)
            lines += [f"{space}}} else {{", *other]
        return [*lines, f"{space}}}"]

    def _value(self, e: Tree) -> str:
        """An expression, in parentheses if it has an operator."""
        kinds, kind = self.isl.ast_expr_type, e.get_type()
        if kind == kinds.op:
            return self._operation(e)
        return str(e.get_id().name) if kind == kinds.id else str(e.get_val().to_str())

    def _operation(self, e: Tree) -> str:
        operations, op = self.isl.ast_expr_op_type, e.get_op_type()
        parts = [self._value(e.get_op_arg(k)) for k in range(e.get_op_n_arg())]
        if op in self.operators:
            return f"({parts[0]} {self.operators[op]} {parts[1]})"
        if op == operations.minus:
            return f"(-{parts[0]})"
        if op in (operations.min, operations.max):
            return self._extreme(parts, "<" if op == operations.min else ">")
        if op == operations.fdiv_q:
            low, by = parts
            return f"({low} < 0 ? -(({by} - 1 - {low}) / {by}) : {low} / {by})"
        if op in (operations.cond, operations.select):
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        raise NotAffineError(f"an expression of the library's: {op}")

    def _extreme(self, parts: list[str], sign: str) -> str:
        text, *rest = parts
        for part in rest:
            text = f"({text} {sign} {part} ? {text} : {part})"
        return text

    def _statement(self, call: Tree) -> str:
        """A statement of the original with its loops' variables put in."""
        s = self.by_name[self._value(call.get_op_arg(0))]
        values = {v: self._value(call.get_op_arg(k + 1)) for k, v in enumerate(s.iterators)}
        values |= self.renamed
        source, low = self.region.source, int(s.node.start_byte)
        text, last, parts = source.bytes, low, []
        for x in walk(s.node):
            if x.type == "identifier" and source.text_of(x) in values:
                parts += [text[last : x.start_byte].decode(), values[source.text_of(x)]]
                last = int(x.end_byte)
        return "".join([*parts, text[last : s.node.end_byte].decode()])
