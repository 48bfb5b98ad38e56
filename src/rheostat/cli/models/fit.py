"""``rheostat fit``: learn from a log once, forecast often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

Files = Annotated[
    list[Path], typer.Argument(help="A job log, or the parts of one.", metavar="FILE...")
]


def fit(
    files: Files,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Where the model goes.", writable=True, dir_okay=False),
    ] = Path("model.rheo"),
    kind: o.Kind = "auto",
    test_fraction: o.TestFraction = 0.2,
    knobs: Annotated[
        str, typer.Option(help="Columns that will be turned; only the law model needs to know.")
    ] = "nodes",
    seed: o.Seed = 0,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="Never hold all jobs in memory.")
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Fit on Dask workers: tcp://host:8786, or local."),
    ] = None,
    slurm: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="Fit on Dask workers submitted to Slurm.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=10_000, help="Workers to start (local, Slurm).")
    ] = 2,
    memory: Annotated[str, typer.Option(help="Memory of one started worker.")] = "8GB",
    work: Annotated[
        Path | None,
        typer.Option(
            help="Folder from where an interrupted out-of-core fit goes on.", file_okay=False
        ),
    ] = None,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Learn from a job log and save the model; says how right it is on the newest jobs.

    The saved model has learnt from all finished jobs of FILE; the scores come from a model that had
    not seen the newest of them.

    Several FILES in time order (the months of a trace, say), --out-of-core, --dask and --slurm make
    an XGBoost or LightGBM model part by part; what --test-fraction holds back is then not
    learned from.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.models.fit import fit as ask
    from rheostat.questions.workers import workers_of

    with printed(json=json) as put:
        put(ask(files, out=out, method=kind, test_fraction=test_fraction, knobs=knobs, seed=seed,
                out_of_core=out_of_core, workers=workers_of(dask, slurm, workers, memory),
                work=work, format=form, columns=mapped))  # fmt: skip
