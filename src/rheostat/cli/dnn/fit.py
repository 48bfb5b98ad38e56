"""``rheostat dnn fit``: learn what training steps take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.dnn import network_options as n


def fit(
    runs: Annotated[
        Path,
        typer.Argument(
            help="Measured training runs: PROFET, Justus, records with graphs, or a table with "
            "app, device, batch_size and runtime_s (--map, --column).",
            metavar="TABLE",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the model goes.", writable=True,
                           dir_okay=False)
    ] = Path("dnn.rheo"),
    target: Annotated[
        str, typer.Option(help="Quantities to learn, comma-separated.  [default: those there]")
    ] = "",
    graphs: n.Graphs = None,
    next_count: Annotated[
        int,
        typer.Option("--next", min=0, max=10_000, help="Also name so many configurations to "
                     "measure: those that reduce the error on --device most."),
    ] = 0,
    wanted: Annotated[
        list[str] | None,
        typer.Option("--wanted", help="Whose predictions --next is to improve, as app=VGG16.  "
                     "[default: all of TABLE]"),
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where those are to be measured.  [default: the device least run]")
    ] = "",
    where: o.Where = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:  # fmt: skip
    """Learn what training steps take, and save the model; says how right it is.

    The errors are those on runs, and on whole networks, that were left out; the trivial baseline
    beside them is the median of the device's other runs at the same batch size.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.dnn import fit as ask

    with printed(json=json) as put:
        put(ask(runs, targets=target, graphs=graphs, next_count=next_count, wanted=wanted or (),
                device=device, where=where or (), seed=seed, out=out, format=form, columns=mapped,
                renamed=column or ()))  # fmt: skip
