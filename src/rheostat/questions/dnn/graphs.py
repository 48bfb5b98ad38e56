"""`dnn.read`: what one run of a graph of operations costs, by class of operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.graph import Graph
from rheostat.core.jobs import Note
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import kind_in
from rheostat.errors import QuestionError
from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs
from rheostat.measurement.graphs.read_graph import open_graph
from rheostat.measurement.graphs.step_source import CODE, open_step
from rheostat.prediction.saved_models.persist import load, save
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import parse_pairs

HEAD = ("op_class", "count", "flops", "bytes", "transcendentals", "intensity")


@dataclass(frozen=True, kw_only=True, repr=False)
class GraphAnswer(Answer):
    """Graphs of operations and what they cost.

    Parameters
    ----------
    graphs : tuple of Graph
        As they were read.
    """

    schema: ClassVar[str] = "rheostat.dnn-import/1"
    graphs: tuple[Graph, ...]

    def report(self) -> Report:
        """A table a graph."""
        return Report("", [Section(g.name, (heading(g),), _grid(g)) for g in self.graphs])

    def facts(self) -> Mapping[str, Any]:
        """Costs in all and by class, and what is not known."""
        return {"graphs": [_facts(g) for g in self.graphs]}

    def grids(self) -> tuple[Grid, ...]:
        """A row a class of operation."""
        return tuple(_grid(g) for g in self.graphs)

    def beside(self) -> tuple[str, ...]:
        """What each graph is."""
        return tuple(map(heading, self.graphs))


def _opened(source: str, sizes: Mapping[str, int]) -> Graph:
    """A graph kept, read, or of the code that is named."""
    code = CODE.fullmatch(source)
    if code and code[1] and not Path(source).exists():
        step = open_step(source)
        listener.notes([Note(text) for text in step.notes])
        return step.graph
    return load(source, ["graph"]) if kind_in(source) else open_graph(source, sizes)


@question
def read(
    sources: str | Sequence[str],
    *,
    sizes: Sequence[str] | Mapping[str, str] = (),
    out: Path | None = None,
) -> GraphAnswer:
    """Read graphs of operations and say what one run costs by class of operation.

    Parameters
    ----------
    sources : str or sequence of str
        Files with a graph, or ``module:function`` or ``FILE.py:NAME`` (their code is run).
    sizes : sequence of str or mapping
        Sizes that a model of ONNX or ``torch.export`` leaves open, as ``N=32``.
    out : path, optional
        Keep the one graph in this file.

    Returns
    -------
    GraphAnswer
        With ``graphs``.

    Raises
    ------
    DataError
        A source is none of the known formats, or damaged.
    """
    named = [sources] if isinstance(sources, str) else list(sources)
    if out is not None and len(named) > 1:
        raise QuestionError("--out", [f"expected one SOURCE with it, got {len(named)}"])
    given = parse_pairs(sizes, "--size")
    if odd := [v for v in map(str, given.values()) if not v.isdecimal() or int(v) < 1]:
        raise QuestionError("--size", [f"expected a whole number from 1, got {odd[0]!r}"])
    numbers = {name: int(value) for name, value in given.items()}
    graphs = tuple(_opened(s, numbers) for s in named)
    for graph in graphs:
        listener.notes(graph.notes)
    if out is not None:
        listener.line(f"wrote {save(graphs[0], out)}")
    return GraphAnswer(graphs=graphs)


def heading(graph: Graph) -> str:
    """Operations, edges and what goes in."""
    facts = total_costs(graph)
    weights = "" if facts["parameters"] is None else f", {facts['parameters']:,} parameters"
    above = f"{graph.name}: {facts['nodes']:,} operations, {facts['edges']:,} edges, "
    return above + f"{facts['inputs']:,} inputs of {facts['input_elements']:,} numbers{weights}"


def _facts(graph: Graph) -> dict[str, Any]:
    return {"name": graph.name, **total_costs(graph), "classes": costs_by_class(graph).to_dicts(),
            "notes": [n.message for n in graph.notes]}  # fmt: skip


def _grid(graph: Graph) -> Grid:
    """Classes and their sum."""
    facts = _facts(graph)
    total = {"op_class": "all", "count": facts["nodes"], **facts,
             "intensity": facts["flops"] / facts["bytes"] if facts["bytes"] else None}  # fmt: skip
    return Grid(HEAD, tuple(tuple(row[c] for c in HEAD) for row in (*facts["classes"], total)))
