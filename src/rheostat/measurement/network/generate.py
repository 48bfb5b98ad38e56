"""A generated run: SimGrid under the system's Python, as a folder that `read_network_run` takes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

import numpy as np

from rheostat.core.storage.files import replace_file
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.port_series import PortSeries, write_ports

PYTHON = "/usr/bin/python3"
SCRIPT = Path(__file__).with_name("simgrid_run.py")
TEXTS = ("iterations.txt", "wl.conf", "alloc.conf", "net.conf")
SPENT = "spent.json"
WINDOW_S, LEAST_TERMINALS = 250e-6, 12


def without_simgrid() -> str:
    """Why SimGrid cannot be used here; empty where it can."""
    if not Path(PYTHON).exists():
        return f"{PYTHON} is not there"
    asked = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, check=False)
    return "" if asked.returncode == 0 else "SimGrid is missing: apt install python3-simgrid"


def generate_network_run(
    folder: str | Path,
    network: Dragonfly,
    *,
    iterations: int = 60,
    load: float = 0.1,
    seed: int = 0,
    ask: Callable[[bytes], bytes] | None = None,
) -> Path:
    """Simulate a halo exchange, an all-reduce and random traffic whose load changes.

    Parameters
    ----------
    folder
        Made if needed; files of these names in it are replaced.
    network
        Sizes, with one global link per pair of groups.
    iterations
        Of each application.
    load
        Share of a terminal's bandwidth that each source of noise sends.
    seed
        Of the placement and the noise.
    ask
        Answers requests of the director's protocol, from job 0 and job 1: they need not simulate
        what the operation ``hand-over`` has predictions for.  ``spent.json`` says how much that
        was, and the CPU seconds of the simulation.

    Raises
    ------
    RheostatError
        SimGrid is not installed, or ended with an error.
    """
    if why := without_simgrid():
        raise RheostatError(why)
    if network.routers_per_group * network.global_ports != network.groups - 1:
        raise DataError("Dragonfly", ["expected one global link between two groups"])
    if network.terminals < LEAST_TERMINALS:
        raise DataError("Dragonfly", [f"expected {LEAST_TERMINALS} terminals or more"])
    sizes = (network.groups, network.routers_per_group, network.terminals_per_router,
             network.global_ports, iterations, seed, load)  # fmt: skip
    with TemporaryDirectory() as made:
        words = [PYTHON, str(SCRIPT), made, *map(str, sizes)]
        with TemporaryFile() as errors:
            code = _simulated(words, errors, ask)
            errors.seek(0)
            if code:
                last = errors.read()[-300:].decode(errors="replace")
                raise RheostatError(f"SimGrid ended with {code}: {last}")
        for name in (*TEXTS, *([SPENT] if ask is not None else [])):
            replace_file(Path(folder) / name, (Path(made) / name).read_bytes())
        write_ports(Path(folder) / "ports.npz", _ports(Path(made) / "links.csv", network))
    return Path(folder)


def _simulated(
    words: Sequence[str], errors: IO[bytes], ask: Callable[[bytes], bytes] | None
) -> int:
    """Run the simulation and answer what it asks; its exit code."""
    if ask is None:
        return subprocess.run(words, stdout=errors, stderr=errors, check=False).returncode
    with subprocess.Popen([*words, "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=errors) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            process.stdin.write(ask(line.rstrip(b"\n")) + b"\n")
            process.stdin.flush()
        return process.wait()


def _ports(path: Path, network: Dragonfly) -> PortSeries:
    """Bytes are known, the other quantities are none in a model of flows."""
    head, *rows = path.read_text().splitlines()
    places = np.array([h.split(".") for h in head.split(",")], int)
    traffic = np.array([[float(v) for v in r.split(",")] for r in rows])
    values = np.zeros((len(rows), network.routers, network.radix, 5))
    values[:, places[:, 0], places[:, 1], 1] = traffic
    return PortSeries(WINDOW_S * np.arange(1.0, len(rows) + 1), values)
