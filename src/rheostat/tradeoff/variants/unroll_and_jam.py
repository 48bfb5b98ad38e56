"""Four rows of a nest at once: a loop unrolled, and the loops in its copies run as one.

A sum that is taken in its order waits for each addition, and no compiler may do otherwise.  Sums of
neighbouring rows do not wait for one another, and what they read in common is read once.  Each
keeps its order, so that nothing is rounded otherwise.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import (
    MEMORY,
    READ,
    WRITE,
    Access,
    Body,
    declared_name,
    meet,
)
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node, identifiers
from rheostat.tradeoff.variants.dependence import dependence, read_after
from rheostat.tradeoff.variants.loop_blocks import declared_type, indent_of
from rheostat.tradeoff.variants.loop_order import nested_in
from rheostat.tradeoff.variants.scalar_sums import ENDS
from rheostat.tradeoff.variants.subscripts import apart_by

JAMMED = "four rows summed at once"
"""What a variant of such a text says."""
ROWS = 4
PLAIN = ("declaration", "expression_statement", "if_statement", "compound_statement")
LEAVES = (*ENDS, "break_statement", "continue_statement", "switch_statement")
COSTS = ("call_expression", "subscript_expression", "update_expression", "assignment_expression")
"""What a bound must not hold that is to be worked out several times."""
INTEGERS = re.compile(r"\b(?:int|long|short|char|unsigned|signed|_?[Bb]ool|size_t|u?int\d+_t)\b")
ALONE = re.compile(r"__typeof__\(&\w+\[0\]\)|__restrict (\w+) = \w+;")
"""A pointer beside which no other points at an array: two statements of the tree."""
TIED = re.compile(r"\b(?:collapse|reduction|lastprivate|linear|ordered|simd)\b")
"""Clauses that say more of a loop's iterations than that they may run at once."""


def jammed(text: str, *, headers: str = "") -> str | None:
    """Loops around innermost loops that sum into a scalar, four iterations at a time.

    Parameters
    ----------
    text : str
        A C file.
    headers : str
        Text of the program's other files, whose macros it may use.

    Returns
    -------
    str or None
        None where there is no such loop, or its iterations need one another.

    Examples
    --------
    >>> print(jammed('''void f(int n, double *a, double b[n][n]) {
    ...   for (int i = 0; i < n; i++) {
    ...     double s = 0;
    ...     for (int k = 0; k < n; k++) s += b[i][k];
    ...     a[i] = s;
    ...   }
    ... }'''))
    void f(int n, double *a, double b[n][n]) {
      for (int i = 0; i < n - 3; i += 4) {
        double s = 0;
        double s_1 = 0;
        double s_2 = 0;
        double s_3 = 0;
        for (int k = 0; k < n; k++) {
          s += b[i][k];
          s_1 += b[(i + 1)][k];
          s_2 += b[(i + 2)][k];
          s_3 += b[(i + 3)][k];
        }
        a[i] = s;
        a[(i + 1)] = s_1;
        a[(i + 2)] = s_2;
        a[(i + 3)] = s_3;
      }
      for (int i = n / 4 * 4; i < n; i++) {
        double s = 0;
        for (int k = 0; k < n; k++) s += b[i][k];
        a[i] = s;
      }
    }
    """
    source = CSource(text, headers=headers)
    edits = [(x.start, int(x.node.end_byte), made) for x in source.loops
             if (made := _jammed(source, x)) is not None]  # fmt: skip
    return source.edited(edits) if edits else None


def _jammed(source: CSource, loop: Loop) -> str | None:
    """What stands in the place of a loop."""
    parent = loop.node.parent.type
    if parent not in ("compound_statement", "for_statement") or not _counts(source, loop):
        return None
    rows = _Rows(source, loop)
    if not rows.within or _is_tied(source, loop) or not rows.may_run_together():
        return None
    text, space = rows.text(), indent_of(source, loop.start)
    return text if parent == "compound_statement" else f"{{\n{space}{text}\n{space}}}"


def _counts(source: CSource, loop: Loop) -> bool:
    """Whether a loop counts up by one to an end that is cheap, in whole numbers with a sign."""
    step = re.sub(r"\s", "", loop.step)
    by_one = rf"{loop.variable}(?:\+\+|\+=1)|\+\+{loop.variable}"
    return bool(
        _operator(source, loop) in ("<", "<=")
        and re.fullmatch(by_one, step)
        and (_kind(source, loop) or declared_type(source, loop.function, loop.variable))
        in ("int", "long")
        and (_kind(source, loop) or not read_after(source, loop, loop.variable))
        and not any(x.type in COSTS for end in (loop.low, loop.high) for x in walk(end))
    )


def _operator(source: CSource, loop: Loop) -> str:
    condition = loop.node.child_by_field_name("condition")
    return source.text_of(condition.child_by_field_name("operator"))


def _kind(source: CSource, loop: Loop) -> str:
    """The type that a loop declares its variable with; empty where it does not."""
    first = loop.node.child_by_field_name("initializer")
    return source.text_of(first.child_by_field_name("type")) if first.type == "declaration" else ""


def _is_tied(source: CSource, loop: Loop) -> bool:
    """Whether a pragma says of a loop, or of one around it, what copies would break."""
    before = (x.node.prev_named_sibling for x in (*source.around(loop), loop))
    return any(x is not None and x.type == "preproc_call" and TIED.search(source.text_of(x))
               for x in before)  # fmt: skip


def _pieces(body: Node) -> list[Node]:
    """The statements of a body, those of a block that holds a loop one by one."""
    if body.type != "compound_statement":
        return [body]
    result: list[Node] = []
    for x in body.named_children:
        holds = x.type == "compound_statement" and any(y.type == "for_statement" for y in walk(x))
        result += _pieces(x) if holds else [x] if x.type != "comment" else []
    return result


class _Rows:
    """A loop, the pieces of its body, and the names of which each iteration has its own."""

    def __init__(self, source: CSource, loop: Loop) -> None:
        self.source, self.loop, self.pieces = source, loop, _pieces(loop.body)
        self.body, self.needs = Body(source, loop), dependence(source, loop)
        self.within = {x.start_byte: nested_in(source, loop, x)
                       for x in self.pieces if x.type == "for_statement"}  # fmt: skip
        self.plain = [x for x in self.pieces if x.start_byte not in self.within]
        self.counters = {x.variable for x in source.inside(loop)}
        alone = {x.start_byte: m[1] for x in self.plain
                 if (m := ALONE.fullmatch(source.text_of(x)))}  # fmt: skip
        self.once, self.pointers = set(alone), set(alone.values()) - {None}
        self.declared = [d for x in self.plain
                         if x.type == "declaration" and x.start_byte not in self.once
                         for d in x.children_by_field_name("declarator")]  # fmt: skip
        self.own = [declared_name(source, d) for d in self.declared]
        self.outside = sorted(self.needs.private - self.counters - set(self.own))

    def may_run_together(self) -> bool:
        """Whether several iterations may, and gain by it."""
        source, copied = self.source, (*self.own, *self.outside)
        names = [f"{n}_{r}" for n in copied for r in range(1, ROWS)]
        nodes = [d.child_by_field_name("declarator") or d for d in self.declared]
        return (
            all(x.type in PLAIN for x in self.plain)
            and not any(x.type in LEAVES for p in self.plain for x in walk(p))
            and not any(identifiers(source, x) & self.counters for x in self.plain)
            and all(d.type == "identifier" for d in nodes)
            and len(set(self.own)) == len(self.own)
            and not any(re.search(rf"\b{n}\b", source.text) for n in names)
            and all(self._is_inmost(x) for x in self.within.values())
            and any(self._waits(x) for x in self.within.values() if x)
            and self._apart()
        )

    def _is_inmost(self, inner: Loop | None) -> bool:
        """Whether a loop holds no other, and runs as often for each row."""
        if inner is None or any(x.type in LEAVES for x in walk(inner.body)):
            return False
        ends = [y for end in (inner.low, inner.high) for y in walk(end)]
        names = {self.source.text_of(y) for y in ends if y.type == "identifier"}
        changed = self.body.local | {a.name for a in self.body.accesses if a.kind != READ}
        return not names & (changed - self.counters) and not any(y.type in COSTS for y in ends)

    def _waits(self, inner: Loop) -> bool:
        """Whether a step of a loop needs a scalar of the step before that is no whole number."""
        for name in (*self.own, *self.outside):
            mine = [a.kind for a in self._accesses(name) if _stands_in(a, inner.node)]
            carried = mine and mine[0] != WRITE and mine != [READ] * len(mine)
            kind = declared_type(self.source, self.loop.function, name)
            if carried and kind and not INTEGERS.search(kind):
                return True
        return False

    def _apart(self) -> bool:
        """Whether no iteration touches what another does, but in one step of a loop within."""
        needs, local = self.needs, self.body.local
        shared = [*needs.shared_reads, *needs.updated]
        indexed = {a.name for a in self.body.accesses if a.subscripts} & local
        if needs.lastprivate - self.counters or needs.reductions or needs.scan is not None:
            return False
        if len(needs.reasons) != len(shared) or MEMORY & set(self.body.calls):
            return False
        if indexed - self.pointers or not all(map(self._is_set_first, self.outside)):
            return False
        moving = self.counters
        pointed = (n for n in indexed if not apart_by(
            self.source, self._accesses(n), self.loop.variable, moving))  # fmt: skip
        return all(map(self._apart_within, (*shared, *pointed)))

    def _accesses(self, name: str) -> list[Access]:
        return [a for a in self.body.accesses if meet(a.place, tuple(name.split(".")))]

    def _piece_of(self, a: Access) -> int:
        return next(int(x.start_byte) for x in self.pieces if _stands_in(a, x))

    def _is_set_first(self, name: str) -> bool:
        """Whether a scalar is set before a loop, which may never run, or used in that alone."""
        where = [self._piece_of(a) for a in self._accesses(name)]
        return where[0] not in self.within or len(set(where)) == 1

    def _apart_within(self, name: str) -> bool:
        """Whether rows touch the same elements of an array in the same step of one loop alone."""
        mine = self._accesses(name)
        where = {self._piece_of(a) for a in mine}
        inner = self.within.get(next(iter(where))) if len(where) == 1 else None
        return inner is not None and apart_by(
            self.source, mine, inner.variable, {self.loop.variable}
        )

    def text(self) -> str:
        """The loop in steps of several rows, and one over the rows that are left."""
        source, loop, v = self.source, self.loop, self.loop.variable
        space, operator = indent_of(source, loop.start), _operator(source, loop)
        low, high = (_closed(source, x, loop.function) for x in (loop.low, loop.high))
        kind = _kind(source, loop)
        first = f"for ({kind} {v}" if kind else f"for ({v}"
        lines = [f"{first} = {low}; {v} {operator} {high} - {ROWS - 1}; {v} += {ROWS}) {{"]
        lines += [f"{space}  __typeof__({n}) {', '.join(f'{n}_{r}' for r in range(1, ROWS))};"
                  for n in self.outside]  # fmt: skip
        for x in self.pieces:
            lines += [f"{space}  {line}" for line in self._together(x)]
        count = high if low == "0" else f"({high} - {low})"
        count = f"({count} + 1)" if operator == "<=" else count
        start = f"{'' if low == '0' else f'{low} + '}{count} / {ROWS} * {ROWS}"
        rest = f"{first} = {start}; {v} {operator} {high}; {v}++)"
        return "\n".join([*lines, f"{space}}}", f"{space}{rest} {source.text_of(loop.body)}"])

    def _together(self, piece: Node) -> list[str]:
        """A piece once for each row; of a loop its body."""
        inner = self.within.get(piece.start_byte)
        if inner is None:
            rows = range(1 if piece.start_byte in self.once else ROWS)
            return [self._copy(piece, r) for r in rows]
        begin, end = inner.head
        every = [f"  {self._copy(x, r)}" for r in range(ROWS) for x in _block(inner.body)]
        return [f"{self.source.bytes[begin:end].decode()} {{", *every, "}"]

    def _copy(self, node: Node, row: int) -> str:
        """A piece as of a later row."""
        source, v = self.source, self.loop.variable
        new = {n: f"{n}_{row}" for n in (*self.own, *self.outside)} | {v: f"({v} + {row})"}
        text, last, parts = source.bytes, int(node.start_byte), []
        for x in walk(node) if row else ():
            if x.type == "identifier" and source.text_of(x) in new:
                parts += [text[last : x.start_byte].decode(), new[source.text_of(x)]]
                last = int(x.end_byte)
        return "".join([*parts, text[last : node.end_byte].decode()])


def _stands_in(a: Access, node: Node) -> bool:
    return bool(node.start_byte <= a.node.start_byte < node.end_byte)


def _block(body: Node) -> list[Node]:
    """The statements of a body, as one block where it declares names."""
    every = [x for x in body.named_children if x.type != "comment"]
    plain = body.type == "compound_statement" and all(x.type != "declaration" for x in every)
    return every if plain else [body]


def _closed(source: CSource, node: Node, function: str) -> str:
    """An expression beside which any operator may stand: in parentheses if it is not short."""
    text = source.text_of(node)
    plain = node.type == "number_literal" or declared_type(source, function, text)
    return text if plain else f"({text})"
