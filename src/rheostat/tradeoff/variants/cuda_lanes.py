"""What threads of a warp tell each other, as shared memory between two barriers.

Each thread writes what it gives to a place of its own, all of the block come here, and each reads
what another gave.  That is more waiting than CUDA asks for, which changes nothing: threads of a CPU
take their turns.  A branch that some threads take holds no barrier then: all go through it, and a
flag of each thread says whether it takes part.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import LOOPS, CSource, Node
from rheostat.tradeoff.variants.cuda_helpers import code_of
from rheostat.tradeoff.variants.cuda_inline import type_of, types_in
from rheostat.tradeoff.variants.cuda_kernels import WITHIN_WARP

SHUFFLES = {"shfl": "lane_from", "shfl_down": "lane_down", "shfl_up": "lane_up",
            "shfl_xor": "lane_xor"}  # fmt: skip
VOTES = {"ballot": "{}1)", "any": "{}1) != 0", "all": "{}2) == 0"}
"""Of votes, which are 1 or 2, and 0 where a thread gave none."""
EXCHANGE = re.compile(r"__(shfl(?:_down|_up|_xor)?|ballot|any|all)(_sync)?")
WAIT = "__syncthreads();"
MOST = 1024
"""Threads that a block has at most."""


class _UnknownExchangeError(ValueError):
    """Something of a warp that has no such form."""


def with_lanes(text: str) -> str:
    """A text in which kernels exchange by shared memory what threads of a warp tell each other.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Kernels stay as they are where one of its exchanges has no rule; lines stay.

    Examples
    --------
    >>> text = "__global__ void k(int *a) { int v = 1; v += __shfl_down_sync(~0u, v, 4); }"
    >>> print(with_lanes(text).partition("int v = 1; ")[2])  # doctest: +NORMALIZE_WHITESPACE
    lanes_1[threadIdx.x] = v; __syncthreads();
    v += lanes_1[lane_down(threadIdx.x, 4)]; __syncthreads(); }
    """
    if not WITHIN_WARP.search(text):
        return text
    source = CSource(text, "tree_sitter_cuda")
    edits = []
    for function in source.definitions:
        body = function.child_by_field_name("body")
        if body is None or not WITHIN_WARP.search(code_of(source.text_of(body))):
            continue
        head = source.bytes[function.start_byte : body.start_byte].decode()
        if "__global__" in head:
            try:
                edits.append((body.start_byte, body.end_byte, _Lanes(source, function).text))
            except _UnknownExchangeError:
                continue
    return source.edited(edits)


class _Lanes:
    """A kernel whose threads exchange within warps."""

    def __init__(self, source: CSource, function: Node) -> None:
        self.source, self.function = source, function
        self.body = function.child_by_field_name("body")
        self.types = types_in(source, function)
        self.arrays: list[str] = []
        self.kind = ""  # of what was exchanged last
        self.votes: list[str] = []  # of the statement at hand: places that are zero again behind it
        self.flags = 0
        code = code_of(source.text_of(self.body))
        axes = [a for a in "xyz" if a == "x" or re.search(rf"\b(?:threadIdx|blockDim)\.{a}", code)]
        self.me, size = "threadIdx.x", "blockDim.x"
        for axis in axes[1:]:
            self.me += f" + {size} * threadIdx.{axis}"
            size += f" * blockDim.{axis}"

    @property
    def text(self) -> str:
        """The braces and what is in them."""
        inside = self._list(self.body.named_children, "")
        arrays = "".join(f" {a}" for a in self.arrays)
        first, last = self.body.named_children[0], self.body.named_children[-1]
        gap = self._between(self.body.start_byte + 1, first.start_byte)
        tail = self._between(last.end_byte, self.body.end_byte)
        made = f"{{{arrays}{gap}{inside}"
        lost = self._said(self.body).count("\n") - made.count("\n") - tail.count("\n")
        return made + "\n" * lost + tail

    def _between(self, start: int, end: int) -> str:
        return self.source.bytes[start:end].decode()

    def _said(self, node: Node) -> str:
        return self.source.text_of(node)

    def _new(self, name: str, number: int) -> str:
        while re.search(rf"\b{name}_{number}\b", self._said(self.function)):
            name += "_"
        return f"{name}_{number}"

    # ---- statements ----

    def _list(self, statements: list[Node], on: str) -> str:
        made, before = [], None
        for s in statements:
            gap = self._between(before.end_byte, s.start_byte) if before is not None else ""
            made.append(gap + self._statement(s, on))
            before = s
        return "".join(made)

    def _statement(self, node: Node, on: str) -> str:
        if not WITHIN_WARP.search(code_of(self._said(node))):
            return self._plain(node, on)
        if node.type == "compound_statement":
            return f"{{ {self._list(node.named_children, on)} }}"
        if node.type in LOOPS and node.type != "do_statement":
            body = node.child_by_field_name("body")
            head = self._between(node.start_byte, body.start_byte)
            if WITHIN_WARP.search(head):
                raise _UnknownExchangeError(head)
            return f"{head}{self._block(body, on)}"
        if node.type == "if_statement":
            return self._branch(node, on)
        if node.type in ("expression_statement", "declaration"):
            return self._exchanged(node, on)
        raise _UnknownExchangeError(node.type)

    def _block(self, node: Node, on: str) -> str:
        inner = node.named_children if node.type == "compound_statement" else [node]
        return f"{{ {self._list(inner, on)} }}"

    def _plain(self, node: Node, on: str) -> str:
        """A statement without an exchange, made by those that take part."""
        text = self._said(node)
        if not on or node.type == "comment":
            return text
        if node.type in ("break_statement", "continue_statement") or "__syncthreads" in text:
            raise _UnknownExchangeError(text)
        if node.type != "declaration":
            return f"if ({on}) {text}"
        return self._parted(node, on, lambda value: value)

    def _parted(
        self, node: Node, on: str, value_of: Callable[[str], str], *, exchanged: bool = False
    ) -> str:
        """A declaration whose first values only those give that take part."""
        kind = self._said(node.child_by_field_name("type"))
        kind = self.kind if kind == "auto" and exchanged else kind
        lines = []
        for d in node.children_by_field_name("declarator"):
            value = d.child_by_field_name("value")
            plain = self._said(d.child_by_field_name("declarator")) if value is not None else (
                self._said(d))  # fmt: skip
            if "auto" in kind or "&" in plain or "__shared__" in self._said(node):
                raise _UnknownExchangeError(plain)
            lines.append(f"{kind} {plain};")
            if value is not None:
                name = plain.replace("*", "").strip()
                lines.append(f"if ({on}) {name} = {value_of(self._said(value))};")
        return " ".join(lines)

    def _branch(self, node: Node, on: str) -> str:
        """Both sides of a branch, gone through by all threads of the block."""
        condition = node.child_by_field_name("condition")
        other = node.child_by_field_name("alternative")
        then = node.child_by_field_name("consequence")
        inside = self._between(then.start_byte, node.end_byte)
        if other is not None and other.type == "else_clause":
            other = other.named_children[-1]
        if re.search(r"\b__syncthreads\b", code_of(inside)):
            if on or WITHIN_WARP.search(self._said(condition)):
                raise _UnknownExchangeError(inside)
            tail = f" else {self._block(other, on)}" if other is not None else ""
            head = self._between(node.start_byte, then.start_byte)
            return f"{head}{self._block(then, on)}{tail}"
        self.flags += 1
        flag = self._new("takes_part", self.flags)
        before, said = self._read(condition, on)
        lines = [f"bool {flag} = false;", before, self._given(f"{flag} = {said};", on),
                 WAIT * bool(before) + self._cleared(), self._block(then, flag)]  # fmt: skip
        if other is not None:
            self.flags += 1
            rest = self._new("takes_part", self.flags)
            lines[0] += f" bool {rest} = false;"
            lines.insert(3, self._given(f"{rest} = !{flag};", on))
            lines.append(self._block(other, rest))
        return " ".join(x for x in lines if x)

    @staticmethod
    def _given(text: str, on: str) -> str:
        return f"if ({on}) {text}" if on else text

    def _exchanged(self, node: Node, on: str) -> str:
        text = self._said(node)
        if re.fullmatch(r"__syncwarp\s*\([^()]*\)\s*;", text):
            return WAIT
        before, said = self._read(node, on)
        if node.type == "declaration" and on:
            value = node.children_by_field_name("declarator")[0].child_by_field_name("value")
            if len(node.children_by_field_name("declarator")) != 1 or value is None:
                raise _UnknownExchangeError(text)
            rest = len(self._between(value.end_byte, node.end_byte))
            changed = said[: len(said) - rest].partition("=")[2].strip()
            said = self._parted(node, on, lambda _: changed, exchanged=True)
        elif on:
            said = f"if ({on}) {said}"
        return f"{before} {said} {WAIT}{self._cleared()}"

    def _cleared(self) -> str:
        """Votes are none again: who takes no part the next time has none."""
        names, self.votes = self.votes, []
        return "".join(f" {name}[{self.me}] = 0;" for name in names)

    # ---- exchanges ----

    def _read(self, node: Node, on: str) -> tuple[str, str]:
        """What is written and waited for before, and a text that reads it."""
        calls = [n for n in walk(node) if n.type == "call_expression"
                 and EXCHANGE.fullmatch(self._said(n.child_by_field_name("function")))]  # fmt: skip
        rest, edits = self._said(node), []
        lines = []
        for call in calls:
            if any(c != call and c.start_byte <= call.start_byte < c.end_byte for c in calls):
                raise _UnknownExchangeError("an exchange of an exchange")
            self._check_order(call, node)
            written, read = self._exchange(call, node)
            lines.append(self._given(written, on))
            edits.append((call.start_byte - node.start_byte, call.end_byte - node.start_byte, read))
        data = self.source.bytes[node.start_byte : node.end_byte]
        for start, end, read in sorted(edits, reverse=True):
            data = data[:start] + read.encode() + data[end:]
        rest = data.decode()
        if WITHIN_WARP.search(code_of(rest)):
            raise _UnknownExchangeError(rest)
        if calls and node.type == "declaration" and calls[0].parent.type == "init_declarator":
            rest = re.sub(r"\bauto\b", self.kind, rest, count=1)
        return (" ".join([*lines, WAIT]) if lines else ""), rest

    def _check_order(self, call: Node, top: Node) -> None:
        """What an operator may leave out is exchanged by all: there is no rule for that."""
        above, below = call.parent, call
        while below != top and above is not None:
            if above.type == "conditional_expression":
                raise _UnknownExchangeError("a condition")
            right = (
                above.child_by_field_name("right") if above.type == "binary_expression" else None
            )
            operator = above.child_by_field_name("operator")
            if right == below and self._said(operator) in ("&&", "||"):
                raise _UnknownExchangeError("a condition")
            above, below = above.parent, above

    def _exchange(self, call: Node, node: Node) -> tuple[str, str]:
        exchange = EXCHANGE.fullmatch(self._said(call.child_by_field_name("function")))
        assert exchange is not None
        given = call.child_by_field_name("arguments").named_children
        mask = self._said(given[0]) if exchange[2] else "~0u"
        given = given[1:] if exchange[2] else given
        name = self._new("lanes", len(self.arrays) + 1)
        place = f"{name}[{self.me}]"
        if exchange[1] in VOTES:
            if len(given) != 1:
                raise _UnknownExchangeError(exchange[0])
            self.arrays.append(f"__shared__ int {name}[{MOST}] = {{}};")
            self.votes.append(name)
            self.kind = "unsigned" if exchange[1] == "ballot" else "int"
            read = VOTES[exchange[1]].format(f"lane_votes({name}, {self.me}, {mask}, ")
            return f"{place} = ({self._said(given[0])}) ? 1 : 2;", f"({read})"
        if len(given) not in (2, 3):
            raise _UnknownExchangeError(exchange[0])
        kind = type_of(self.source, given[0], self.types) or self._result(call, node)
        self.arrays.append(f"__shared__ {kind} {name}[{MOST}] = {{}};")
        self.kind = kind
        rest = ", ".join([self.me, *map(self._said, given[1:])])
        within = "_within" * (exchange[1] == "shfl_xor" and len(given) == 3)
        read = f"{name}[{SHUFFLES[exchange[1]]}{within}({rest})]"
        return f"{place} = {self._said(given[0])};", read

    def _result(self, call: Node, node: Node) -> str:
        """The type of what the statement sets, where that of what is given is not in sight."""
        if node.type == "declaration":
            kind = self._said(node.child_by_field_name("type"))
            if "auto" not in kind:
                return kind
        inner = node.named_children[0] if node.type == "expression_statement" else node
        left = inner.child_by_field_name("left") if inner.type == "assignment_expression" else None
        kind = type_of(self.source, left, self.types) if left is not None else ""
        if not kind:
            raise _UnknownExchangeError(self._said(call))
        return kind
