"""``rheostat fit``: learn from a log once, forecast often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options import workers as w
from rheostat.cli.options.declared import argument, option, written

Files = Annotated[list[Path], argument("A job log, or the parts of one.", "FILE...")]


@asks("fit", w.on_workers, o.table, o.shown, files="jobs")
def fit(
    files: Files,
    out: Annotated[Path, written("Where the model goes.", "--out", "-o")] = Path("model.rheo"),
    kind: o.Kind = "auto",
    test_fraction: o.TestFraction = 0.2,
    knobs: Annotated[
        str, option("Columns that will be turned; only the law model needs to know.")
    ] = "nodes",
    seed: o.Seed = 0,
    out_of_core: Annotated[bool, option("Never hold all jobs in memory.", "--out-of-core")] = False,
    memory: w.Memory = "8GB",
    work: Annotated[
        Path | None,
        option("Folder from where an interrupted out-of-core fit goes on.", file_okay=False),
    ] = None,
    known: o.Known = None,
) -> None:
    """Learn from a job log and save the model; says how right it is on the newest jobs.

    The saved model has learnt from all finished jobs of FILE; the scores come from a model that had
    not seen the newest of them.

    Several FILES in time order (the months of a trace, say), --out-of-core, --dask and --slurm make
    an XGBoost or LightGBM model part by part; what --test-fraction holds back is then not
    learned from.
    """
