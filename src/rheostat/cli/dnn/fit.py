"""``rheostat dnn fit``: learn what training steps take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.dnn import network_options as n
from rheostat.cli.options.declared import argument, option, written


@asks("dnn.fit", o.table, o.shown)
def fit(
    runs: Annotated[
        Path,
        argument(
            "Measured training runs: PROFET, Justus, records with graphs, or a table with "
            "app, device, batch_size and runtime_s (--map, --column).",
            "TABLE",
        ),
    ],
    out: Annotated[Path, written("Where the model goes.", "--out", "-o")] = Path("dnn.rheo"),
    target: Annotated[
        str, option("Quantities to learn, comma-separated.  [default: those there]")
    ] = "",
    graphs: n.Graphs = None,
    next_count: Annotated[
        int,
        option(
            "Also name so many configurations to measure: those that reduce the error on "
            "--device most.",
            "--next",
            min=0,
            max=10_000,
        ),
    ] = 0,
    wanted: Annotated[
        list[str] | None,
        option(
            "Whose predictions --next is to improve, as app=VGG16.  [default: all of TABLE]",
            "--wanted",
        ),
    ] = None,
    device: Annotated[
        str, option("Where those are to be measured.  [default: the device least run]")
    ] = "",
    where: o.Where = None,
    seed: o.Seed = 0,
) -> None:
    """Learn what training steps take, and save the model; says how right it is.

    The errors are those on runs, and on whole networks, that were left out; the trivial baseline
    beside them is the median of the device's other runs at the same batch size.
    """
