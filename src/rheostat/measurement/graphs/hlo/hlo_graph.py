"""From a module of HLO to a graph of operations with their costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.core.graph import Graph, op_graph
from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.graphs.hlo.hlo_check import branches_of
from rheostat.measurement.graphs.hlo.hlo_costs import HloCost, compute, is_depthwise, moved
from rheostat.measurement.graphs.hlo.hlo_instruction import (
    CALLS,
    HloComputation,
    HloInstruction,
    HloModule,
)
from rheostat.measurement.graphs.hlo.hlo_loops import trip_count
from rheostat.measurement.graphs.hlo.hlo_module import read_module
from rheostat.measurement.graphs.hlo.hlo_opcodes import class_of
from rheostat.measurement.graphs.hlo.hlo_types import HloType

PASSED = ("call", "fusion", "while", "async-start")
"""Whose operands are the parameters of what they call."""
SLICES = ("slice", "dynamic-slice", "gather")


def from_hlo(text: str, name: str = "") -> Graph:
    """The graph of operations in an HLO text.

    Parameters
    ----------
    text : str
        What XLA dumps (``--xla_dump_to``) or ``as_text()`` gives, optimised or not.
    name : str
        What errors and the graph are called; the module's own name by default.

    Returns
    -------
    Graph
        A node per instruction of every computation, with `rheostat.core.graph.OP_COLUMNS`; a
        constant or part of a tuple that nothing uses is left out.

    Raises
    ------
    DataError
        The text is no HLO, damaged or cut off; with the line.

    Examples
    --------
    >>> graph = from_hlo('''HloModule m
    ... ENTRY e {
    ...   a = f32[2,3]{1,0} parameter(0)
    ...   b = f32[3,4]{1,0} parameter(1)
    ...   ROOT c = f32[2,4]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    >>> graph.name, graph.numpy("flops").tolist(), graph.edges.tolist()
    ('m', [0.0, 0.0, 48.0], [[0, 1], [2, 2]])
    """
    module = read_module(text, name or "HLO text")
    return _HloGraphBuilder(module, name or module.name).graph()


@dataclass
class _HloGraphBuilder:
    module: HloModule
    name: str
    notes: list[Note] = field(default_factory=list)
    costs: dict[str, HloCost] = field(default_factory=dict)

    def graph(self) -> Graph:
        order = self._callers_first()
        self.fused = self._fused()
        for name in reversed(order):
            self.costs[name] = self._total(self.module.computations[name])
        self.times = self._times(order)
        places = {
            (c.name, i): k
            for k, (c, i) in enumerate(
                (c, i) for c in self.module.computations.values() for i in c.instructions
            )
        }
        rows = [self._row(c, i) for c in self._each() for i in c.instructions.values()]
        columns = {k: [r[k] for r in rows] for k in rows[0]}
        edges = [
            (places[c.name, a], places[c.name, i.name])
            for c in self._each()
            for i in c.instructions.values()
            for a in i.operands
        ]
        edges += [(places[a], places[b]) for a, b in self._called_edges()]
        array = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        return op_graph(self.name, columns, array, self._unknown(columns))

    def _each(self) -> Iterator[HloComputation]:
        yield from self.module.computations.values()

    def _callers_first(self) -> list[str]:
        """Names of computations, each after all that call it."""
        done: dict[str, bool] = {}
        order: list[str] = []
        for start in [self.module.entry.name, *self.module.computations]:
            stack = [(start, False)]
            while stack:
                name, left = stack.pop()
                if left:
                    done[name] = True
                    order.append(name)
                elif name not in done:
                    done[name] = False
                    stack.append((name, True))
                    stack += [(n, False) for n in _calls(self.module.computations[name])]
                elif not done[name]:
                    line = self.module.computations[name].line
                    problem = f"line {line}: expected no computation that calls itself, got {name}"
                    raise DataError(self.name, [problem])
        return order[::-1]

    def _fused(self) -> set[str]:
        inside: set[str] = set()
        more = [n for c in self._each() for i in c.instructions.values() if i.opcode == "fusion"
                for n in i.computations("calls")]  # fmt: skip
        while more:
            name = more.pop()
            if name not in inside:
                inside.add(name)
                more += _calls(self.module.computations[name])
        return inside

    def _total(self, computation: HloComputation) -> HloCost:
        """Of one execution with what it calls, a loop's body once."""
        total = HloCost()
        for made in computation.instructions.values():
            total += self._own(computation, made)
            if made.opcode == "conditional":
                total += self.costs[self._dearest(made)]
            elif made.opcode in ("call", "fusion", "while", "async-start"):
                for attribute in ("calls", "to_apply", "body", "condition"):
                    for name in made.computations(attribute):
                        total += self.costs[name]
        return total

    def _dearest(self, made: HloInstruction) -> str:
        return max(branches_of(made), key=lambda n: np.nan_to_num(self.costs[n].flops))

    def _own(self, computation: HloComputation, made: HloInstruction) -> HloCost:
        types = [computation.instructions[n].type for n in made.operands]
        cost = compute(made, types, lambda name: self.costs[name])
        inside = computation.name in self.fused
        return HloCost(
            cost.flops, cost.transcendentals, 0.0 if inside else self._bytes(made, types)
        )

    def _bytes(self, made: HloInstruction, types: list[HloType]) -> float:
        if made.opcode != "fusion":
            return moved(made, types)
        called = self.module.computations[made.computations("calls")[0]]
        return _written(called) + sum(_read(called, p) for p in called.parameters)

    def _times(self, order: list[str]) -> dict[str, float]:
        times = dict.fromkeys(self.module.computations, 0.0)
        times[self.module.entry.name] = 1.0
        for name in order:
            computation = self.module.computations[name]
            for made in computation.instructions.values():
                for called, count in self._runs(computation, made):
                    times[called] += times[name] * count
        return times

    def _runs(self, computation: HloComputation, made: HloInstruction) -> list[tuple[str, float]]:
        """What an instruction runs, and how often."""
        if made.opcode == "while":
            trips = trip_count(made, computation.instructions, self.module.computations)
            if trips is None:
                said = f"line {made.line}: loop {made.name} runs as often as data say; counted once"
                self.notes.append(Note(said))
                trips = 1
            return [
                (made.computations("body")[0], trips),
                (made.computations("condition")[0], trips + 1),
            ]
        if made.opcode == "conditional":
            return [(self._dearest(made), 1.0)]
        if made.opcode in ("call", "fusion", "async-start"):
            return [(n, 1.0) for a in ("calls", "to_apply") for n in made.computations(a)]
        return []

    def _row(self, computation: HloComputation, made: HloInstruction) -> dict[str, Any]:
        cost, dearest, inner = self._own(computation, made), made, computation
        kind = class_of(made.opcode)
        if made.opcode == "fusion":
            inner = self.module.computations[made.computations("calls")[0]]
            kind, dearest = self._class_inside(inner)
        return {
            "opcode": made.opcode, "op_class": kind, "dtype": made.type.dtype,
            "shape": [max(d, 0) for d in made.type.dims], "flops": cost.flops, "bytes": cost.bytes,
            "transcendentals": cost.transcendentals, "times": self.times[computation.name],
            "fused": computation.name in self.fused,
            "depthwise": is_depthwise(dearest, [inner.instructions[n].type
                                                for n in dearest.operands]),
        }  # fmt: skip

    def _class_inside(self, computation: HloComputation) -> tuple[str, HloInstruction]:
        """Class of what costs most; where nothing computes, of how data are moved; and which."""
        inside = list(computation.instructions.values())
        work = [(self._own(computation, i), class_of(i.opcode) or "other", i) for i in inside]
        cost, kind, dearest = max(work, key=lambda w: w[0].flops + w[0].transcendentals)
        if cost.flops + cost.transcendentals > 0:
            return kind, dearest
        moved = any(k == "gather_scatter" for _, k, _ in work)
        return "gather_scatter" if moved else "data_movement", dearest

    def _called_edges(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Operands to the parameters of what is called, and its root to the caller."""
        for c in self._each():
            for made in c.instructions.values():
                for attribute in CALLS:
                    for k, name in enumerate(made.computations(attribute)):
                        called = self.module.computations[name]
                        for operand, parameter in self._passed(made, attribute, k, called):
                            yield (c.name, operand), (name, parameter)
                        yield (name, called.root.name), (c.name, made.name)

    def _passed(
        self, made: HloInstruction, attribute: str, place: int, called: HloComputation
    ) -> list[tuple[str, str]]:
        names = [p.name for p in called.parameters]
        if made.opcode in PASSED:
            return list(zip(made.operands, names, strict=False))
        if made.opcode == "conditional":
            branch = place + (attribute == "false_computation")
            return [(made.operands[1 + branch], n) for n in names]
        return []

    def _unknown(self, columns: dict[str, list[Any]]) -> list[Note]:
        rows = [k for k, f in enumerate(columns["flops"]) if math.isnan(f)]
        said = "calls into libraries: their FLOPs are not known and are not in the totals"
        return [*self.notes, *([note_rows(said, rows)] if rows else [])]


def _calls(computation: HloComputation) -> list[str]:
    return [n for i in computation.instructions.values() for a in CALLS for n in i.computations(a)]


def _read(called: HloComputation, parameter: HloInstruction) -> float:
    """Bytes that a fusion reads of an operand: slices alone, if that is all it takes of it."""
    users = [i for i in called.instructions.values() if parameter.name in i.operands]
    if users and all(u.opcode in SLICES and u.operands[0] == parameter.name for u in users):
        return min(parameter.type.size_b, sum(u.type.size_b for u in users))
    if users and all(u.opcode == "dynamic-update-slice" and u.operands[0] == parameter.name
                     for u in users):  # fmt: skip
        return 0.0
    return parameter.type.size_b if users else 0.0


def _written(called: HloComputation) -> float:
    """Bytes that a fusion writes: of an update in place, the update."""
    if called.root.opcode == "dynamic-update-slice":
        return called.instructions[called.root.operands[1]].type.size_b
    return called.root.type.size_b
