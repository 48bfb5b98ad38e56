"""What is a column, judged by its name?  Roles of a table of measured runs.

Names are lower-cased and cut into words (`powerCap_W` is power, cap, w).  Order matters: a power
*limit* is a knob before it is a power, a mean clock is a measurement before it is a knob.  A TOML
file beside the CSV overrides every guess: see docs/systems/nodecount.md, "Your own tables".
"""

# ruff: noqa: SIM905 - word lists read better than quoted ones
from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

MEASURED = set(
    """
    mean avg average std min max median actual measured observed peak var p95 util
    """.split()
)
IGNORED = set(
    """
    id index repeat rep run trial seed timestamp date start end temp path file notes note
    unnamed
    """.split()
)
KNOBS = set(
    """
    nodes node hosts host nnodes gpus ngpus gcds threads nthreads cores ncores procs nprocs
    ranks tasks ntasks freq frequency clock mhz ghz cap pcap powercap limit batch batchsize bs
    dop tp pp dp workers streams ppn
    """.split()
)
CLOCK = set("freq frequency clock mhz ghz".split())
CLOCKED = set("core mem memory gpu cpu sm uncore".split())
COUNTED = set("gpu node host thread core proc process rank task cpu worker".split())
COUNTS = set("count num n number total nr no per".split())
RUNTIME = set(
    """
    runtime time elapsed wall walltime duration seconds makespan latency wallclock
    """.split()
)
RATE = set(
    """
    throughput rate ips fps qps tps fom performance perf speed gflops mflops flops
    """.split()
)
POWER = set("power watt watts pwr".split())
ENERGY = set("energy joule joules kwh wh".split())
APP = set(
    """
    app application bench benchmark workload kernel program code model network dataset job input
    size problem suite class optimizer name phase precision
    """.split()
)
MACHINE = set(
    """
    machine cluster system gpu device arch architecture platform partition hardware cpu
    accelerator server host node
    """.split()
)
UNITS = {
    "ms": 1e-3,
    "us": 1e-6,
    "min": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
    "kw": 1e3,
    "mw": 1e6,
    "kj": 1e3,
    "mj": 1e6,
    "kwh": 3.6e6,
    "wh": 3600.0,
}


@dataclass
class Roles:
    """Columns by role; candidates of a measured quantity, best first."""

    app: list[str] = field(default_factory=list)
    machine: list[str] = field(default_factory=list)
    knobs: list[str] = field(default_factory=list)
    runtime: list[str] = field(default_factory=list)
    rate: list[str] = field(default_factory=list)
    power: list[str] = field(default_factory=list)
    energy: list[str] = field(default_factory=list)
    other_text: list[str] = field(default_factory=list)

    def missing(self) -> str | None:
        """What a table of measured runs must have and this one lacks, or None."""
        lacks = []
        if not self.knobs:
            lacks.append("a knob (nodes, gpu_count, threads, frequency, cap, batch size)")
        if not self.runtime and not self.rate:
            lacks.append("a runtime or throughput")
        if not self.power and not self.energy:
            lacks.append("a power or energy")
        return "no column looks like " + ", nor ".join(lacks) if lacks else None

    def describe(self) -> str:
        """One line that says what was taken for what."""
        parts = {
            "app": self.app,
            "machine": self.machine,
            "knobs": self.knobs,
            "runtime": self.runtime[:1],
            "rate": self.rate[:1],
            "power": self.power[:1],
            "energy": self.energy[:1],
        }
        return "; ".join(f"{k} = {' + '.join(v)}" for k, v in parts.items() if v)


def words(name: str) -> list[str]:
    """Lower-case words of a column name.

    >>> words("powerCap_W"), words("num-GPUs"), words("iters_per_s")
    (['power', 'cap', 'w'], ['num', 'gpus'], ['iters', 'per', 's'])
    """
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|^(num|n|avg)(?=[A-Z])", r"\1_", name)
    return [w for w in re.split(r"[^a-z0-9]+", split.lower()) if w]


def role_of(name: str, *, numeric: bool) -> str | None:  # noqa: PLR0911 - one line a role
    """Role of one column, or None.

    >>> names = ("gpu_count", "power_cap_w", "avg_power", "time_per_epoch")
    >>> [role_of(n, numeric=True) for n in names]
    ['knob', 'knob', 'power', 'runtime']
    >>> role_of("gpu", numeric=False), role_of("gpu", numeric=True)
    ('machine', 'knob')
    >>> role_of("iters_per_s", numeric=True), role_of("", numeric=True)
    ('rate', None)
    >>> [role_of(n, numeric=True) for n in ("mem_mhz", "coreF", "memF", "mem_gb")]
    ['knob', 'knob', 'knob', None]
    """
    w = words(name)
    s = set(w)
    if not w:  # an index that was written without a name
        return None
    if not numeric:
        return (
            "app"
            if s & APP and not s & IGNORED
            else "machine"
            if s & MACHINE and not s & IGNORED
            else None
        )
    if _is_knob(s):
        return "knob"
    if s & ENERGY or w[-1] in ("j", "kj"):
        return None if "per" in s and not s & {"iter", "epoch", "step", "token"} else "energy"
    if s & POWER or w[-1] in ("w", "kw"):
        return "power"
    if s & RATE or (len(w) > 2 and w[-2] == "per" and w[-1] in ("s", "sec", "second")):
        return "rate"
    if s & RUNTIME and not s & (IGNORED | {"limit", "submit", "wait", "queue"}):
        return "runtime"
    return "app" if s & {"size", "problem", "input"} else None


def _is_knob(s: set[str]) -> bool:
    if s & (MEASURED | IGNORED | RUNTIME | RATE) or s & ENERGY:
        return False
    if s & CLOCK or ("f" in s and s & CLOCKED):
        return True
    if s & {"util", "utilization", "mem", "memory"}:
        return False
    counted = bool(s & COUNTED) and (bool(s & COUNTS) or len(s) == 1)
    budget = bool(s & POWER) and bool(s & {"budget", "setting", "set", "target"})
    return (
        counted
        or budget
        or bool(s & KNOBS and not (s & POWER and not s & {"cap", "limit", "pcap"}))
    )


def _rank(name: str) -> tuple[int, int]:
    """Prefer totals and means; distrust extremes, spreads, parts of a node and idle values."""
    s = set(words(name))
    bad = len(
        s
        & {
            "std",
            "min",
            "max",
            "peak",
            "idle",
            "var",
            "p95",
            "median",
            "predicted",
            "pred",
            "norm",
            "normalized",
            "relative",
            "rel",
            "error",
        }
    )
    good = len(s & {"total", "mean", "avg", "average", "node", "exact", "wall"})
    return (bad - good, len(name))


def guess_roles(frame: pl.DataFrame) -> Roles:
    """Roles of all columns by name and type; columns without any value are passed over."""
    found = Roles()
    target = {
        "knob": found.knobs,
        "power": found.power,
        "energy": found.energy,
        "rate": found.rate,
        "runtime": found.runtime,
        "app": found.app,
        "machine": found.machine,
    }
    for name, dtype in frame.schema.items():
        if frame[name].null_count() == len(frame):
            continue
        numeric = dtype.is_numeric()
        role = role_of(name, numeric=numeric)
        if role:
            target[role].append(name)
        elif dtype == pl.String:
            found.other_text.append(name)
    for quantity in (found.runtime, found.rate, found.power, found.energy):
        quantity.sort(key=_rank)
    return found


def told_roles(path: Path) -> Roles | None:
    """Roles from `<table>.toml` or `mapping.toml` beside the table, or None."""
    for side in (path.with_suffix(".toml"), path.parent / "mapping.toml"):
        if side.exists():
            columns = tomllib.loads(side.read_text())["columns"]
            return Roles(**{k: [v] if isinstance(v, str) else list(v) for k, v in columns.items()})
    return None


def unit_of(name: str) -> float:
    """Factor to SI by the last word of the name (`runtime_ms`, `energy_kWh`); 1 if it says
    nothing."""
    return UNITS.get((words(name) or [""])[-1], 1.0)
