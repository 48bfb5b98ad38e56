"""Counters of made-up applications on a processor whose law of power is known.

Applications differ in how many cores they keep busy, how much they do per cycle, how much they
move, and how long they idle at the start; the processor slows down until its power fits under the
cap.  What a model should find is therefore known exactly, up to the sensor's noise.

Notation
--------
a  busy share      f, u  GHz of cores, uncore      i  work per cycle      m  bytes per second
P = 20 + 28 u + a f^1.5 (25 + 30 i) + 30 m / 1e11, held under 0.92 cap by lowering f and u
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheostat.core.storage.files import replace_file

CORES, FASTEST, SLOWEST, UNCORE = 40, 3.2, 0.8, 2.4
IDLE_W = 30.0
INTERVAL_S = 0.1


@dataclass(frozen=True)
class App:
    """What an application does, and for which share of its intervals."""

    name: str
    busy: float
    work: float
    moved: float
    idle: float


def apps(n: int, seed: int = 0) -> list[App]:
    """``n`` applications; some keep few cores busy, as serial programs do."""
    rng = np.random.default_rng(seed)
    return [
        App(
            f"app{k}",
            float(rng.uniform(0.02, 0.2) if k % 4 == 3 else rng.uniform(0.5, 1.0)),
            float(rng.uniform(0.1, 0.7)),
            float(rng.uniform(0.0, 1.2e11)),
            float(rng.uniform(0.0, 0.4)),
        )
        for k in range(n)
    ]


def power_w(busy: float, work: float, moved: float, f: float, u: float) -> float:
    """The law, in watts."""
    return float(20 + 28 * u + busy * f**1.5 * (25 + 30 * work) + 30 * moved / 1e11)


def clocks(app: App, cap_w: float) -> tuple[float, float]:
    """Core and uncore GHz that fit under the cap, or the slowest there are."""
    for x in np.linspace(1.0, 0.0, 61):
        f, u = SLOWEST + x * (FASTEST - SLOWEST), 0.8 + x * (UNCORE - 0.8)
        if power_w(app.busy, app.work, app.moved * f / FASTEST, f, u) <= 0.92 * cap_w:
            break
    return f, u


def write_pcm(
    path: str | Path,
    *,
    n_apps: int = 8,
    caps_w: Sequence[float] = (80, 120, 160, 200, 240),
    intervals: int = 30,
    noise: float = 0.01,
    seed: int = 0,
) -> Path:
    """Write intervals of every application under every cap as PCM's CSV with ``app`` and cap."""
    rng = np.random.default_rng(seed)
    lines = ["app,cpu_cap_w,Time,EXEC,CFREQ,READ,WRITE,INST,PhysIPC%,Proc Energy (Joules),"
             "DRAM Energy (Joules),UncFREQ (Ghz)"]  # fmt: skip
    for app in apps(n_apps, seed):
        for cap in caps_w:
            f, u = clocks(app, cap)
            for k in range(intervals):
                idle = k < app.idle * intervals
                lines.append(_line(app, cap, k, idle, (f, u), noise * rng.normal()))
    replace_file(path, "\n".join(lines) + "\n")
    return Path(path)


def _line(
    app: App, cap: float, k: int, idle: bool, clock: tuple[float, float], error: float
) -> str:
    f, u = (1.0, 0.3) if idle else clock
    busy = 0.0005 if idle else app.busy * (1 + 0.1 * np.sin(k))
    moved = 0.0 if idle else app.moved * f / FASTEST
    watts = (IDLE_W if idle else min(power_w(busy, app.work, moved, f, u), 0.95 * cap)) * (
        1 + error
    )
    inst = CORES * busy * f * 1e3 * app.work * 4 * INTERVAL_S
    t = k * INTERVAL_S
    gb = moved / 1e9 * INTERVAL_S
    cells = (app.name, f"{cap:g}", f"10:00:{t:06.3f}", inst / 8000, f, 0.6 * gb, 0.4 * gb, inst,
             100 * app.work, watts * INTERVAL_S,
             (5 + 12 * moved / 1e11) * INTERVAL_S, u)  # fmt: skip
    return ",".join(c if isinstance(c, str) else f"{c:.6g}" for c in cells)
