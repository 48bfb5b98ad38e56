"""A run of the size SMART was published with, 1,056 terminals: cost to read and forecast it.

    python benchmarks/network_large.py [--iterations N] [--smart]

The files are synthesized in the formats of CODES: two applications of 512 ranks and telemetry of
264 routers of 15 ports every 250 us.  Their numbers are drawn, so errors say nothing here.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.folder import read_network_run
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.recipes.smart import OURS, backtest, method, smart

NETWORK, RANKS, WINDOW_NS = Dragonfly(33, 8, 4, 4), 512, 250_000
SIZES = {"num_groups": 33, "num_routers": 8, "num_cns_per_router": 4, "num_global_channels": 4}


def main() -> None:
    """Write, read, forecast; each with its CPU seconds and the memory until then."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--iterations", type=int, default=120)
    args.add_argument("--smart", action="store_true", help="also one epoch of SMART (torch)")
    given = args.parse_args()
    with TemporaryDirectory() as folder:
        begun = process_time()
        written = write(Path(folder), given.iterations, np.random.default_rng(0))
        say(f"written, {written / 1e6:.0f} MB of telemetry", begun)
        begun = process_time()
        run = read_network_run(folder)
    say(f"read, {len(run.ports.end_s)} windows, {run.network.ports} ports", begun)  # type: ignore[union-attr]
    for app in run.applications:
        begun, tested = process_time(), backtest(run, app, method(OURS))
        say(f"{app} forecast, {tested.ms_per_answer:.2f} ms an answer", begun)
    if given.smart:
        begun = process_time()
        model = smart(run, "milc", config=SmartConfig(epochs=1))
        for time_s in run.iteration_s("milc")[: model.train]:
            model.observe(float(time_s))
        say(f"SMART trained for an epoch on {model.train} iterations", begun)
        begun = process_time()
        model.forecast(1)
        say("SMART answered", begun)


def say(what: str, begun: float) -> None:
    """A line with CPU seconds since, and the most memory so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{what}: {process_time() - begun:.3f} CPU-s, {most:.2f} GB")


def write(folder: Path, iterations: int, rng: np.random.Generator) -> int:
    """Configuration, marks and telemetry; bytes of the last."""
    (folder / "net.conf").write_text("".join(f'{k}="{v}";\n' for k, v in SIZES.items()))
    (folder / "wl.conf").write_text(f"{RANKS} milc 0 0\n{RANKS} lammps 0 0\n32 synthetic1 0 5000\n")
    places = np.split(rng.permutation(NETWORK.terminals), [RANKS, 2 * RANKS])
    (folder / "alloc.conf").write_text("".join(" ".join(map(str, p)) + "\n" for p in places))
    lines, end = [], 0.0
    for job, usual in enumerate((1.0e6, 1.4e6)):
        marks = np.cumsum(usual * np.exp(rng.normal(0.0, 0.04, iterations)))
        for i, when in enumerate(marks):
            lines += [f"ITERATION {i} node {t} job {job} rank {r} time {when + r:.3f}\n"
                      for r, t in enumerate(places[job])]  # fmt: skip
        end = max(end, float(marks[-1]))
    (folder / "iterations.txt").write_text("".join(lines))
    return telemetry(folder / "ross-stats-analysis-lps.bin", int(end // WINDOW_NS), rng)


def telemetry(path: Path, windows: int, rng: np.random.Generator) -> int:
    """Records of routers as CODES writes them; their bytes."""
    radix, shape = NETWORK.radix, (NETWORK.routers, NETWORK.radix)
    kinds: list[Any] = [
        ("head", "<u8", 5), ("size", "<i4"), ("flag", "<i4"), ("router", "<u8"), ("end", "<f8"),
        ("skip", "V56"), ("busy", "<f8", radix), ("traffic", "<i8", radix),
        ("stalled", "<u8", radix), ("occupancy", "<i4", radix), ("queued", "<i4", radix),
    ]  # fmt: skip
    records = np.zeros(NETWORK.routers, kinds)
    records["size"], records["flag"] = 72 + 32 * radix, 3
    records["router"] = np.arange(NETWORK.routers)
    with path.open("wb") as file:
        for w in range(windows):
            records["end"] = WINDOW_NS * (w + 1.0)
            records["busy"] = rng.uniform(0.0, 1e4, shape)
            for name, most in (("traffic", 1_000_000), ("stalled", 50), ("occupancy", 16_384)):
                records[name] = rng.integers(0, most, shape)
            file.write(records.tobytes())
    return path.stat().st_size


if __name__ == "__main__":
    main()
