"""A simulation that asks: SimGrid, the server's rule of hand-over, what is saved and what it costs.

    python benchmarks/network_hybrid.py [--iterations N] [--seeds N] [--json]

Each run is simulated whole, and once more asking before every iteration whether it has to be
simulated, by the protocol of CODES's director.  Nothing of the rule was chosen on SimGrid.  A row:

    skipped      share of the iterations of both applications that were forecast
    cpu_saved    share of the CPU seconds of the simulation, those of the server's answers counted
    error        of the end of each application, against the whole simulation
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import polars as pl

from rheostat.core.outcome import Array
from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.generate import SPENT, generate_network_run, without_simgrid
from rheostat.measurement.network.iteration_log import read_iteration_log
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.simulation.network.director import DirectorService

APPS = {0: "halo", 1: "allreduce"}
PLACE, MOST_ERROR = Dragonfly(9, 4, 2, 2), 0.01


def main() -> None:
    """Rows of all seeds."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--json", action="store_true", help="one JSON document")
    args.add_argument("--iterations", type=int, default=200, help="of each application")
    args.add_argument("--seeds", type=int, default=3, help="of placement and noise")
    given = args.parse_args()
    if why := without_simgrid():
        sys.exit(why)
    rows = [compared(seed, given.iterations) for seed in range(given.seeds)]
    if given.json:
        print(json.dumps({"rows": rows}))
        return
    for r in rows:
        errors = ", ".join(f"{100 * e:+.2f} %" for e in r["error"])
        print(f"seed {r['seed']}: {100 * r['skipped']:.0f} % skipped, CPU time "
              f"{100 * r['cpu_saved']:.0f} % less, ends {errors}")  # fmt: skip


def compared(seed: int, iterations: int) -> dict[str, Any]:
    """One run, whole and asking."""
    _, end_s, cpu_s = simulated(seed, iterations, None)
    skipped, ends_s, less_s = simulated(seed, iterations, MOST_ERROR)
    return {"seed": seed, "iterations": iterations, "skipped": skipped / (2 * iterations),
            "cpu_s": cpu_s, "cpu_saved": 1.0 - less_s / cpu_s,
            "error": (ends_s / end_s - 1.0).tolist()}  # fmt: skip


def simulated(seed: int, iterations: int, most_error: float | None) -> tuple[int, Array, float]:
    """Iterations that were forecast, the end of each application, CPU seconds."""
    with TemporaryDirectory() as made:
        service = DirectorService(ClientForecasts(APPS, most_error=most_error), Path(made))
        spent_s = [0.0]

        def ask(message: bytes) -> bytes:
            begun = process_time()
            reply = service.answer(message)
            spent_s[0] += process_time() - begun
            return reply

        generate_network_run(made, PLACE, iterations=iterations, seed=seed, ask=ask)
        spent = json.loads((Path(made) / SPENT).read_text())
        marks, _ = read_iteration_log(Path(made) / "iterations.txt")
    end_s = marks.group_by("job").agg(pl.col("time_s").max()).sort("job")["time_s"].to_numpy()
    answers_s = 0.0 if most_error is None else spent_s[0]
    return sum(spent["skipped"].values()), end_s, spent["cpu_s"] + answers_s


if __name__ == "__main__":
    main()
