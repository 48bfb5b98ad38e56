"""Break the contents of every kind of model file, make its checksum anew, and ask what it says.

``python -m tests.prediction.fuzz_models FOLDER TRIALS SEED...`` prints a line per trial before it
is made, so that the last one is known where the process ends, and every error that is not ours.
"""

from __future__ import annotations

import random
import resource
import sys
import traceback
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from rheostat.core.storage.archive import Archive, read_archive, write_archive
from rheostat.errors import RheostatError
from rheostat.prediction.saved_models.persist import load, save
from tests.broken_contents import broken_arrays, broken_bytes, broken_json
from tests.prediction.test_persist import JOBS, MAKE, predicting

MOST_B = 16 * 2**30
"""Address space of this process: no file may make it ask for more."""


def broken(archive: Archive, rng: random.Random) -> Archive:
    """The archive with one thing in it changed."""
    if not archive.parts or rng.random() < 0.5:
        return replace(archive, contents=broken_json(archive.contents, rng))
    name = rng.choice(sorted(archive.parts))
    change = broken_arrays if name.endswith(".npz") and rng.random() < 0.8 else broken_bytes
    return replace(archive, parts={**archive.parts, name: change(archive.parts[name], rng)})


def main(folder: Path, trials: int, seeds: list[int]) -> None:
    """Every kind, so many trials of each seed."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    more = {f"surrogate of {name}": lambda name=name: predicting(_surrogate(name), JOBS)
            for name in ("xgboost", "lightgbm")}  # fmt: skip
    for kind, make in (MAKE | more).items():
        model, ask = make()
        archive = read_archive(save(model, folder / "sound"))
        for seed in seeds:
            for trial in range(trials):
                print(f"{kind} seed {seed} trial {trial}", flush=True)
                write_archive(folder / "f", broken(archive, random.Random(f"{kind}{seed}{trial}")))
                try:
                    ask(load(folder / "f"))
                except RheostatError:
                    pass
                except BaseException:  # noqa: BLE001 - polars panics outside of Exception
                    print("FAILED", traceback.format_exc(limit=-4), flush=True)
    print("done")


def _surrogate(name: str) -> object:
    from rheostat.prediction.surrogate.surrogate import Surrogate

    return Surrogate(name)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_B, MOST_B))
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(s) for s in sys.argv[3:]])
