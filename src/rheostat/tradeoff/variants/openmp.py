"""OpenMP pragmas for loops: which clauses a loop needs, and the source with them put in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Loop, Node, identifiers
from rheostat.tradeoff.variants.dependence import Dependence, dependence
from rheostat.tradeoff.variants.loop_blocks import is_rest
from rheostat.tradeoff.variants.subscripts import CONFLICT, SAFE

STATIC, DYNAMIC, GUIDED = "static", "dynamic", "guided"
COLLAPSE, ATOMIC, ARRAY, SCAN, ACCESS = "collapse", "atomic", "array", "scan", "access"
Plan = Mapping[int, str]
"""Where pragmas stand: the option by the place of the loop in the text."""


class PragmaSites:
    """The loops of a source that may be shared among threads, and how.

    Parameters
    ----------
    source : CSource
        A serial program.

    Examples
    --------
    >>> text = "void f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = 2 * a[i]; }"
    >>> sites = PragmaSites(CSource(text))
    >>> plan = {loop.start: sites.options(loop)[0] for loop in sites.loops}
    >>> print(sites.text(plan))
    void f(long n, double *a) {
    #pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) a[i] = 2 * a[i]; }
    """

    def __init__(self, source: CSource) -> None:
        self.source = source
        every = [dependence(source, loop) for loop in source.loops]
        self.by_start = {d.loop.start: d for d in every
                         if self._options(d) and not self._is_short(d.loop)}  # fmt: skip
        self.loops = [d.loop for d in self.by_start.values()]

    def dependence(self, loop: Loop) -> Dependence:
        """What is known of a loop."""
        return self.by_start[loop.start]

    def options(self, loop: Loop) -> tuple[str, ...]:
        """Ways to share a loop, the likeliest first."""
        return self._options(self.by_start[loop.start])

    def _options(self, d: Dependence) -> tuple[str, ...]:
        if d.level == CONFLICT:
            return ()
        if d.scan is not None:
            return (SCAN,) if len(d.reasons) == 1 else ()
        if d.updated:
            sized = all(self.section(d, name) for name in d.updated)
            return (*((ARRAY,) if sized else ()), *(() if d.contended else (ATOMIC,)))
        collapse = (COLLAPSE,) if self._nested(d) is not None else ()
        access = (ACCESS,) if d.shared_reads and self._single_accesses(d) else ()
        if self._uneven(d.loop):
            return (DYNAMIC, *access, STATIC, GUIDED, *collapse)
        return (STATIC, *access, DYNAMIC, GUIDED, *collapse)

    def _is_short(self, loop: Loop) -> bool:
        """Whether a loop, or one around it, has the few iterations that steps of several left."""
        return any(is_rest(self.source, x) for x in (loop, *self.source.around(loop)))

    def _uneven(self, loop: Loop) -> bool:
        """Whether loops within run as often as its variable says: a triangle."""
        bounds = (b for x in self.source.inside(loop) for b in (x.low, x.high))
        return any(loop.variable in identifiers(self.source, b) for b in bounds)

    def outermost(self, loops: list[Loop]) -> list[Loop]:
        """Those of ``loops`` that lie in no other of them."""
        return [x for x in loops if not any(x in self.source.inside(y) for y in loops)]

    @cached_property
    def weights(self) -> dict[int, int]:
        """Depth of the nest that a loop is part of, callers' loops counted: a guess at its work."""
        return {x.start: self._weight(x, frozenset()) for x in self.loops}

    def _weight(self, loop: Loop, seen: frozenset[str]) -> int:
        inside = self.source.inside(loop)
        height = max((len(self.source.around(x)) for x in inside), default=0)
        around = len(self.source.around(loop))
        whiles = sum(x.type in ("while_statement", "do_statement") for x in walk(loop.node))
        callers = self._callers(loop.function) if loop.function not in seen else []
        above = max((self._weight_of(x, seen | {loop.function}) for x in callers), default=0)
        return max(height, around) + 1 + whiles + above

    def _weight_of(self, loop: Loop, seen: frozenset[str]) -> int:
        callers = [] if loop.function in seen else self._callers(loop.function)
        above = max((self._weight_of(x, seen | {loop.function}) for x in callers), default=0)
        return len(self.source.around(loop)) + 1 + above

    def _callers(self, function: str) -> list[Loop]:
        """Loops that call a function."""
        return [x for x in self.source.loops if function in self._called(x)]

    def _called(self, loop: Loop) -> set[str]:
        return identifiers(self.source, loop.node) & set(self.source.functions)

    def called_within(self, loop: Loop) -> set[str]:
        """Functions that run inside a loop."""
        names = self._called(loop)
        for _ in range(len(self.source.functions)):
            more = {
                f
                for n in names
                for f in identifiers(self.source, self.source.functions[n])
                if f in self.source.functions
            }
            names |= more
        return names

    def text(self, plan: Plan) -> str:
        """The source with the pragmas of a plan."""
        edits = [e for start, option in plan.items() for e in self._edits(start, option)]
        return self.source.edited(edits)

    def _edits(self, start: int, option: str) -> list[Edit]:
        d = self.by_start[start]
        parts = ["#pragma omp parallel for", *self._clauses(d, option)]
        edits = [self._line(d.loop.node, " ".join(parts))]
        if option == SCAN and d.scan is not None:
            end = d.scan.statement.parent.end_byte
            edits.append((end, end, f"\n#pragma omp scan inclusive({d.scan.name})"))
        if option == ATOMIC:
            places = [a.statement for accesses in d.updated.values() for a in accesses]
            edits += [self._line(p.parent, "#pragma omp atomic") for p in places]
        if option == ACCESS:
            edits += [
                self._line(p, f"#pragma omp atomic {kind}") for p, kind in self._single_accesses(d)
            ]
        return edits

    def _clauses(self, d: Dependence, option: str) -> list[str]:
        inner = self._nested(d) if option == COLLAPSE else None
        parts = ["collapse(2)"] if inner is not None else []
        if option in (DYNAMIC, GUIDED):
            parts.append(f"schedule({option})")
        elif option != SCAN:
            parts.append("schedule(static)")
        own = {inner.loop.variable} if inner is not None else set()
        parts += [
            f"{name}({', '.join(sorted(values - own))})"
            for name, values in (("private", d.private), ("lastprivate", d.lastprivate))
            if values - own
        ]
        if d.scan is not None and option == SCAN:
            parts.append(f"reduction(inscan, + : {d.scan.name})")
        for operator in sorted(set(d.reductions.values())):
            names = [n for n, o in sorted(d.reductions.items()) if o == operator]
            parts.append(f"reduction({operator} : {', '.join(names)})")
        if option == ARRAY:
            parts.append(f"reduction(+ : {', '.join(self.section(d, n) for n in d.updated)})")
        return parts

    def _nested(self, d: Dependence) -> Dependence | None:
        """The loop that is all of another's body and has bounds of its own."""
        body = d.loop.body
        parts = [x for x in body.named_children if x.type != "comment"]
        single = body if body.type == "for_statement" else parts[0] if len(parts) == 1 else None
        if single is None or body.type not in ("for_statement", "compound_statement"):
            return None
        inner = next((x for x in self.source.loops if x.start == single.start_byte), None)
        if inner is None or d.loop.variable in (
            identifiers(self.source, inner.low) | identifiers(self.source, inner.high)
        ):
            return None
        below = dependence(self.source, inner)
        return below if below.level == SAFE == d.level and not below.reductions else None

    def section(self, d: Dependence, name: str) -> str:
        """An array as a reduction names it: whole if its size is declared, else with a length."""
        function = self.source.functions[d.loop.function]
        text = self.source.text_of(function)
        whole, plain = self.source.text, re.escape(name)
        if re.search(
            rf"\b(?:double|float|int|long|unsigned|size_t)\s[^;]*\b{plain}\s*\[[^\]]+\]", whole
        ):
            return name
        made = re.search(rf"\b{plain}\s*=\s*(?:\([^()]*\)\s*)?calloc\(([^;,]+),", text)
        made = made or re.search(
            rf"\b{plain}\s*=\s*(?:\([^()]*\)\s*)?malloc\(([^;]+?)\s*\*\s*sizeof\b", text
        )
        made = made or re.search(
            rf"\b{plain}\s*=\s*(?:\([^()]*\)\s*)?malloc\(sizeof\s*\([^()]*\)\s*\*\s*([^;]+?)\)\s*[;,]",
            text,
        )
        return f"{name}[:{made[1].strip()}]" if made else ""

    def _single_accesses(self, d: Dependence) -> list[tuple[Node, str]]:
        """Statements that only read or only write a shared element, if all accesses are such."""
        places = []
        for a in (a for accesses in d.shared_reads.values() for a in accesses):
            node = a.node
            while node.parent.type in ("subscript_expression", "parenthesized_expression"):
                node = node.parent
            assignment = node.parent
            statement = assignment.parent
            if assignment.type != "assignment_expression" or (
                statement.type != "expression_statement"
                or self.source.text_of(assignment.child_by_field_name("operator")) != "="
            ):
                continue
            left = assignment.child_by_field_name("left") == node
            places.append((statement, "write" if left else "read"))
        return places

    def _line(self, node: Node, pragma: str) -> Edit:
        """A line before a node, as far in as the node."""
        at = node.start_byte
        line_start = self.source.bytes.rfind(b"\n", 0, at) + 1
        before = self.source.bytes[line_start:at].decode()
        if before.strip():
            indent = before[: len(before) - len(before.lstrip())]
            return at, at, f"\n{indent}{pragma}\n{indent}"
        return at, at, f"{pragma}\n{before}"
