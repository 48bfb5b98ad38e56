"""``rheostat dnn fit`` and ``predict``: what a training step takes, and what to request for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.dnn import network_options as n

Graphs = Annotated[
    Path | None,
    typer.Option(
        "--graphs", file_okay=False, exists=True,
        help="Folder where the files named in column graph lie.  [default: that of TABLE]",
    ),
]  # fmt: skip


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
    graphs: Graphs = None,
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
    from rheostat.cli.output import printed, tell
    from rheostat.prediction.saved_models.persist import save
    from rheostat.questions.dnn import fit as ask

    with printed(json=json) as put:
        answer = ask(runs, targets=target, graphs=graphs, next_count=next_count,
                     wanted=wanted or (), device=device, where=where or (), seed=seed, path=out,
                     format=form, columns=mapped, renamed=column or ())  # fmt: skip
        path = save(answer.model, out)
        tell(f"wrote {path}")
        put(answer)


def predict(
    source: Annotated[
        str,
        typer.Argument(
            help="A training step: my_train.py:step (its code is run), a graph's file (HLO, ONNX, "
            "torch.export), or a network by name, as resnet50. Or a model saved by rheostat dnn "
            "fit.",
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="With a model: runs to predict, a row each.", metavar="[TABLE]"),
    ] = None,
    name: Annotated[
        str,
        typer.Option("--model-name", help="With a model, instead of TABLE: a network by name."),
    ] = "",
    device: n.Devices = "",
    batch_size: n.Batch = None,
    image_px: n.ImagePx = 224,
    classes: n.Classes = 1000,
    optimizer: n.OwnOptimizer = "",
    precision_bits: n.PrecisionBits = None,
    gpus: n.Gpus = 1,
    samples: n.Samples = None,
    epochs: Annotated[float, typer.Option(min=0.0, help="Passes over the data.")] = 1.0,
    risk: Annotated[
        float, typer.Option(min=0.0001, max=0.5, help="Probability that the request is too small.")
    ] = 0.05,
    graphs: Graphs = None,
    html: o.Html = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    json: o.Json = False,
) -> None:
    """Say how long a training step takes on a GPU, in which memory, and whether it fits.

    my_train.py:step is a torch module's class, or a function step(batch_size) that returns a module
    or a JAX function, and its inputs; nothing is computed, no GPU is needed. Devices are known by
    their data sheets, and the answer says what it rests on, with 90 % intervals.

    With a model of rheostat dnn fit, the runs of TABLE or a network by name are predicted from the
    runs learned from, with time of a pass over the data, energy, and requests for a scheduler: the
    run needs more with probability --risk. The trivial baseline stands beside.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.dnn import predict as ask

    with printed(json=json, html=html) as put:
        put(ask(source, file, network=name, device=device, batch_size=batch_size,
                image_px=image_px, classes=classes, optimizer=optimizer,
                precision_bits=precision_bits, gpus=gpus, samples=samples, epochs=epochs,
                risk=risk, graphs=graphs, format=form, columns=mapped,
                renamed=column or ()))  # fmt: skip
