"""``rheostat dnn import``: what a step of deep learning costs, from its graph of operations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.graph import Graph


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files with a graph: HLO text, ONNX, a torch.export program (.pt2), records as "
            "steps.jsonl#0, or a graph kept before; or module:function, which returns a JAX "
            "function or a torch module and its inputs.",
            metavar="SOURCE...",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep the graph in this file.", writable=True),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option("--size", help="A size that an ONNX model leaves open, as N=32."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Read graphs of operations, and print what one run costs by class of operation.

    FLOPs, transcendentals and bytes follow XLA's cost analysis; loops count as often as they run.
    Nothing is compiled, and no accelerator is needed.
    """
    from rheostat.cli.output import put_json, tell, tell_notes
    from rheostat.core.file_kinds import kind_in as saved_kind
    from rheostat.measurement.graphs.read_graph import open_graph
    from rheostat.prediction import persist

    if out is not None and len(sources) > 1:
        raise typer.BadParameter(f"expected one SOURCE with --out, got {len(sources)}")
    sizes = _sizes(size)
    graphs = [
        persist.load(source, ["graph"]) if saved_kind(source) else open_graph(source, sizes)
        for source in sources
    ]
    for graph in graphs:
        tell_notes(graph.notes)
    if out is not None:
        persist.save(graphs[0], out)
        tell(f"wrote {out}")
    if json:
        put_json("rheostat.dnn-import/1", {"graphs": [_facts(g) for g in graphs]})
        return
    for number, graph in enumerate(graphs):
        print("\n" * (number > 0) + _table(graph))


def _sizes(flags: list[str] | None) -> dict[str, int]:
    """Whole numbers by name."""
    from rheostat.questions.parse import parse_pairs

    given = parse_pairs(flags, "--size")
    if odd := [v for v in given.values() if not v.isdecimal() or int(v) < 1]:
        raise typer.BadParameter(f"expected a whole number from 1, got {odd[0]!r}")
    return {name: int(value) for name, value in given.items()}


def _facts(graph: Graph) -> dict[str, Any]:
    from rheostat.measurement.graphs.graph_costs import costs_by_class, total_costs

    return {"name": graph.name, **total_costs(graph), "classes": costs_by_class(graph).to_dicts(),
            "notes": [n.message for n in graph.notes]}  # fmt: skip


def _table(graph: Graph) -> str:
    """Classes, their sum, and what goes in, as tab-separated lines."""
    facts = _facts(graph)
    head = ("op_class", "count", "flops", "bytes", "transcendentals", "intensity")
    total = {"op_class": "all", "count": facts["nodes"], **facts,
             "intensity": facts["flops"] / facts["bytes"] if facts["bytes"] else None}  # fmt: skip
    lines = [[_cell(row[c]) for c in head] for row in (*facts["classes"], total)]
    weights = "" if facts["parameters"] is None else f", {facts['parameters']:,} parameters"
    above = f"{graph.name}: {facts['nodes']:,} operations, {facts['edges']:,} edges, "
    above += f"{facts['inputs']:,} inputs of {facts['input_elements']:,} numbers{weights}"
    return "\n".join([above, "\t".join(head), *("\t".join(line) for line in lines)])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
