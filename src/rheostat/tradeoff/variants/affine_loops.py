"""Nests whose bounds and subscripts are sums of loop variables and sizes, as sets and relations.

The statements of neighbouring loops become integer sets of iterations, what they touch relations
between iterations and elements, by which a library of integer sets (isl) knows every dependence
exactly.  A subscript that is no such sum may be any element.  As elsewhere here, no two names are
taken to lie on one another: what comes of it has to be verified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import (
    READ,
    WRITE,
    Access,
    Body,
    declared_name,
    meet,
    only_computes,
)
from rheostat.tradeoff.variants.c_source import CSource, Loop, Node
from rheostat.tradeoff.variants.dependence import read_after
from rheostat.tradeoff.variants.polynomial import Polynomial, is_data, polynomial, split

Isl = Any  # islpy; the library is optional
MOST_STATEMENTS = 24
"""Of one region: what the library takes grows with the pairs of them."""


class NotAffineError(Exception):
    """A region that cannot be told in sums."""


@dataclass
class NestStatement:
    """An assignment with the loops around it.

    Parameters
    ----------
    name : str
        As the sets call it.
    node : tree_sitter.Node
        The statement.
    loops : tuple of Loop
        The outermost first.
    order : tuple of int
        Its place in the text at each depth.
    accesses : list of Access
        What it touches.
    """

    name: str
    node: Node
    loops: tuple[Loop, ...]
    order: tuple[int, ...]
    accesses: list[Access] = field(default_factory=list)

    @property
    def iterators(self) -> list[str]:
        """Variables of its loops."""
        return [x.variable for x in self.loops]


class AffineRegion:
    """Neighbouring loops, as sets.

    Parameters
    ----------
    source : CSource
        The file.
    nodes : sequence of tree_sitter.Node
        The loops, which stand one behind the other.

    Raises
    ------
    NotAffineError
        With what stands against it.
    """

    def __init__(self, source: CSource, nodes: Sequence[Node]) -> None:
        self.source, self.nodes = source, list(nodes)
        self._loops = {x.start: x for x in source.loops}
        self.statements: list[NestStatement] = []
        self.sizes: dict[str, str] = {}
        for place, node in enumerate(nodes):
            self._walk(node, (), (place,))
        if not 0 < len(self.statements) <= MOST_STATEMENTS:
            raise NotAffineError("no statements, or too many")
        self._touch()

    @property
    def depth(self) -> int:
        """Of its deepest nest."""
        return max(len(s.loops) for s in self.statements)

    def _walk(self, node: Node, loops: tuple[Loop, ...], order: tuple[int, ...]) -> None:
        if node.type == "for_statement":
            self._nest(node, loops, order)
        elif node.type == "compound_statement":
            parts = [x for x in node.named_children if x.type != "comment"]
            for place, part in enumerate(parts):
                self._walk(part, loops, (*order[:-1], place))
        elif (
            node.type == "expression_statement"
            and len(node.named_children) == 1
            and (node.named_children[0].type in ("assignment_expression", "update_expression"))
        ):
            self.statements.append(NestStatement(f"S{len(self.statements)}", node, loops, order))
        else:
            raise NotAffineError(f"line {node.start_point[0] + 1}: {node.type}")

    def _nest(self, node: Node, loops: tuple[Loop, ...], order: tuple[int, ...]) -> None:
        loop = self._loops.get(node.start_byte)
        if loop is None or loop.variable in {x.variable for x in loops}:
            raise NotAffineError(f"line {node.start_point[0] + 1}: a loop of another form")
        outside = node.child_by_field_name("initializer").type != "declaration"
        if outside and read_after(self.source, loop, loop.variable):
            raise NotAffineError(f"{loop.variable} is read behind its loop")
        self._walk(loop.body, (*loops, loop), (*order, 0))

    def _touch(self) -> None:
        """What each statement touches, and which names are sizes."""
        counters = {v for s in self.statements for v in s.iterators}
        every: list[Access] = []
        for node in self.nodes:
            body = Body(self.source, self._loops[node.start_byte])
            if body.leaves or body.local - counters:
                raise NotAffineError("declares a variable, or leaves a loop early")
            if not all(only_computes(self.source, c) for c in body.calls):
                raise NotAffineError("calls a function")
            every += body.accesses
        for s in self.statements:
            own = [a for a in every if s.node.start_byte <= a.node.start_byte < s.node.end_byte]
            s.accesses = [a for a in own if a.name not in s.iterators]
            left = counters - set(s.iterators)
            if any(a.name in left or (a.name in s.iterators and a.kind != READ) for a in own):
                raise NotAffineError("a loop's variable is changed, or used behind its loop")
        self._in_rows(counters)
        touched = [a for s in self.statements for a in s.accesses]
        self.arrays = {p: f"A{n}" for n, p in enumerate(sorted({a.place for a in touched}))}
        written = {a.place for a in touched if a.kind != READ}
        if any(p != q and meet(p, q) for p in written for q in self.arrays):
            raise NotAffineError("a struct is written whole and by field")
        self.changed = {a.name for a in touched if a.kind != READ} | counters
        self.floats = {
            declared_name(self.source, d)
            for n in walk(self.source.functions[self._loops[self.nodes[0].start_byte].function])
            if n.type in ("declaration", "parameter_declaration")
            and re.search(r"\b(?:float|double)\b", self.source.text_of(n))
            for d in n.children_by_field_name("declarator")
        }

    def _in_rows(self, counters: set[str]) -> None:
        """Elements told as ``a[i * n + j]`` as those of rows, where each is told with that size."""
        flat: dict[tuple[str, ...], list[Access]] = {}
        for a in (a for s in self.statements for a in s.accesses):
            flat.setdefault(a.place, []).append(a)
        by_rows: dict[int, tuple[Polynomial, ...]] = {}
        for mine in (x for x in flat.values() if all(len(a.subscripts) == 1 for a in x)):
            rows = [in_rows(a.subscripts[0], counters) for a in mine]
            if len({tuple(n for n, _ in x) for x in rows}) == 1:
                by_rows |= {id(a): tuple(p for _, p in x) for a, x in zip(mine, rows, strict=True)}
        for s in self.statements:
            s.accesses = [
                replace(a, subscripts=by_rows.get(id(a), a.subscripts)) for a in s.accesses
            ]

    def linear(self, p: Polynomial, iterators: Sequence[str]) -> str | None:
        """A sum as the library reads it; None where it is none, or hangs on what is changed."""
        terms = []
        for monomial, factor in p.items():
            if len(monomial) > 1:
                return None
            name = monomial[0] if monomial else ""
            if name in iterators:
                name = f"i{list(iterators).index(name)}"
            elif monomial:
                if is_data({monomial: 1}) or name in self.changed | self.floats:
                    return None
                if not re.fullmatch(r"[A-Za-z_]\w*", name):
                    return None
                name = self.sizes.setdefault(name, f"p{len(self.sizes)}")
            terms.append(f"{factor}{name}" if factor > 0 else f"({factor}{name})")
        return " + ".join(terms) or "0"

    def domain(self, s: NestStatement) -> str:
        """Its iterations."""
        limits, known = [], s.iterators
        for depth, loop in enumerate(s.loops):
            condition = loop.node.child_by_field_name("condition")
            operator = self.source.text_of(condition.child_by_field_name("operator"))
            step = self.step(loop)
            ends = [self.linear(polynomial(self.source, x, {}), known[:depth])
                    for x in (loop.low, loop.high)]  # fmt: skip
            right = operator in ("<", "<=") if step > 0 else operator in (">", ">=")
            if None in ends or not right:
                raise NotAffineError(f"line {loop.line}: bounds that are no sums")
            first = f"i{depth} >= {ends[0]}" if step > 0 else f"i{depth} <= {ends[0]}"
            limits += [first, f"i{depth} {operator} {ends[1]}"]
        return f"{self.iteration(s)} : {' and '.join(limits) or '1 = 1'}"

    def step(self, loop: Loop) -> int:
        """1 or -1."""
        text = re.sub(r"\s", "", loop.step)
        plain = re.fullmatch(
            rf"{loop.variable}(?:(\+\+|--)|(\+|-)=1)|(\+\+|--){loop.variable}", text
        )
        if plain is None:
            raise NotAffineError(f"line {loop.line}: steps of more than one")
        return 1 if "+" in text else -1

    def iteration(self, s: NestStatement) -> str:
        """An iteration by name."""
        return f"{s.name}[{', '.join(f'i{k}' for k in range(len(s.loops)))}]"

    def schedule(self, s: NestStatement, depth: int) -> str:
        """When an iteration runs, in the order of the text."""
        signs = ["-" if self.step(x) < 0 else "" for x in s.loops]
        parts = []
        for k in range(depth):
            parts.append(str(s.order[k]) if k < len(s.order) else "0")
            parts.append(f"{signs[k]}i{k}" if k < len(s.loops) else "0")
        parts.append(str(s.order[depth]) if depth < len(s.order) else "0")
        return f"{self.iteration(s)} -> [{', '.join(parts)}]"

    def touched(self, *, writes: bool) -> Iterator[str]:
        """Relations between iterations and elements."""
        for s in self.statements:
            for a in s.accesses:
                if (a.kind != READ) if writes else (a.kind != WRITE):
                    rank = len(a.subscripts)
                    ends = [self.linear(p, s.iterators) for p in a.subscripts]
                    limits = [f"a{k} = {e}" for k, e in enumerate(ends) if e is not None]
                    element = f"{self.arrays[a.place]}[{', '.join(f'a{k}' for k in range(rank))}]"
                    rule = f" : {' and '.join(limits)}" if limits else ""
                    yield f"{self.iteration(s)} -> {element}{rule}"

    def as_sets(self, isl: Isl) -> tuple[Isl, Isl]:
        """The iterations, and which of them need others before them.

        Parameters
        ----------
        isl : module
            The library.

        Returns
        -------
        pair
            A union set, and a union map from earlier to later iterations.
        """
        ranks: dict[tuple[str, ...], set[int]] = {}
        for a in (a for s in self.statements for a in s.accesses):
            ranks.setdefault(a.place, set()).add(len(a.subscripts))
        if any(len(r) > 1 for r in ranks.values()):
            raise NotAffineError("an array has several numbers of subscripts")
        depth = self.depth
        maps = [list(self.touched(writes=w)) for w in (False, True)]
        domains = [self.domain(s) for s in self.statements]
        times = [self.schedule(s, depth) for s in self.statements]
        head = f"[{', '.join(self.sizes.values())}] -> "
        domain = isl.UnionSet(f"{head}{{ {'; '.join(domains)} }}")
        when = isl.UnionMap(f"{head}{{ {'; '.join(times)} }}").intersect_domain(domain)
        reads, writes = (
            isl.UnionMap(f"{head}{{ {'; '.join(m)} }}").intersect_domain(domain) for m in maps
        )
        pairs = (
            writes.apply_range(reads.reverse())
            .union(reads.apply_range(writes.reverse()))
            .union(writes.apply_range(writes.reverse()))
        )
        return domain, pairs.intersect(when.lex_lt_union_map(when)).coalesce()


def in_rows(p: Polynomial, counters: set[str]) -> list[tuple[str, Polynomial]]:
    """One subscript as those of rows, the outermost first, with the sizes they were told by.

    Parameters
    ----------
    p : dict
        As of ``i * n + j``, whose j is taken to be below n.
    counters : set of str
        Variables of loops, which are no sizes.

    Returns
    -------
    list of pair
        An empty name, and the subscript as it is, where it is told by no size.

    Examples
    --------
    >>> in_rows({("i", "n"): 1, ("j",): 1}, {"i", "j"})
    [('', {('i',): 1}), ('n', {('j',): 1})]
    """
    products = [set(m) - counters for m in p if len(m) > 1 and set(m) & counters]
    sizes = sorted(set.intersection(*products)) if products else []
    if len(sizes) != 1:
        return [("", p)]
    (size,) = sizes
    row: Polynomial = {}
    for m, v in p.items():
        if size in m:
            where = m.index(size)
            row[(*m[:where], *m[where + 1 :])] = v
    return [*in_rows(row, counters), (size, {m: v for m, v in p.items() if size not in m})]


def regions(source: CSource) -> list[AffineRegion]:
    """Neighbouring loops of each function that can be told in sums, without those within."""
    result: list[AffineRegion] = []
    starts = {x.start for x in source.loops}
    for function in source.functions.values():
        for block in (x for x in walk(function) if x.type == "compound_statement"):
            if any(
                r.nodes[0].start_byte <= block.start_byte < r.nodes[-1].end_byte for r in result
            ):
                continue
            group: list[Node] = []
            for node in [*block.named_children, None]:
                if node is not None and node.type == "comment":
                    continue
                if node is not None and node.start_byte in starts and _region(source, [node]):
                    group.append(node)
                    continue
                if group and (whole := _region(source, group)):
                    result.append(whole)
                group = []
    return result


def _region(source: CSource, nodes: list[Node]) -> AffineRegion | None:
    try:
        made = AffineRegion(source, nodes)
        for s in made.statements:
            made.domain(s)
    except NotAffineError:
        return None
    return made


def moves_far(a: Access, variable: str) -> bool:
    """Whether an access moves by more than an element when a variable counts."""
    if not a.subscripts:
        return False
    parts = [split(p, variable) for p in a.subscripts]
    last = parts[-1]
    return any(p is None or bool(p[0]) for p in parts[:-1]) or (
        last is None or bool(set(last[0]) - {()}) or abs(last[0].get((), 0)) > 1
    )
