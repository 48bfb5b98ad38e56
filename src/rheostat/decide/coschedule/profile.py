"""What is known of an application on 1, 2, ... GPUs, and what is foretold from a short look.

A profile has one mode per number of GPUs (and cap): runtime, power, and three signals of a brief
run, summed over GPUs.  EcoSched foretells relative runtimes from the signals alone: where memory is
active at all, an application runs as much faster as its memory is busier; else its floating-point
units or clocks are looked at, per GPU.  A mode that loses more than a tolerance is not considered.

Notation
--------
g  GPUs      s(g)  signal      nrt(g) = max s / s(g)  foretold runtime over the best
P(g)  watts of all its GPUs      ne(g) = P nrt over its least      nedp(g) = P nrt^2 over its least

References
----------
Zheng, Papka, Lan: Towards energy efficient co-scheduling in HPC, arXiv 2604.17640 (2026); rules as
in the released code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError


@dataclass(frozen=True)
class Mode:
    """An application on ``gpus`` GPUs under ``cap_w``; power is that of all its GPUs together."""

    app: str
    gpus: int
    runtime_s: float
    power_w: float
    cap_w: float | None = None
    dram: float = float("nan")
    fp: float = float("nan")
    clock: float = float("nan")

    @property
    def energy_j(self) -> float:
        """Runtime times power."""
        return self.runtime_s * self.power_w


Profiles = Mapping[str, tuple[Mode, ...]]


def profiles_of(jobs: JobTable, app: str = "app") -> dict[str, tuple[Mode, ...]]:
    """Modes by application from a table with ``gpus``, ``runtime_s`` and ``power_w``.

    ``dram_active``, ``fp_active`` and ``sm_clock`` are the signals, ``cap_w`` a cap; repeated rows
    of a mode are averaged.  All that is missing or not positive is told at once.

    >>> from rheostat.core.vocabulary import table
    >>> t = table({"app": ["a", "a"], "gpus": [1, 2], "runtime_s": [9.0, 5.0],
    ...            "power_w": [100.0, 200.0]})
    >>> [(m.gpus, m.energy_j) for m in profiles_of(t)["a"]]
    [(1, 900.0), (2, 1000.0)]
    """
    jobs.require(app, "gpus", "runtime_s", "power_w")
    names = [app, "gpus", *(["cap_w"] if "cap_w" in jobs.columns else [])]
    signals = [c for c in ("dram_active", "fp_active", "sm_clock") if c in jobs.columns]
    frame = jobs.frame.group_by(names, maintain_order=True).mean().sort(names)
    found: dict[str, list[Mode]] = {}
    problems = []
    for row in frame.select([*names, "runtime_s", "power_w", *signals]).rows(named=True):
        if not (row["gpus"] and (row["runtime_s"] or 0) > 0 and (row["power_w"] or 0) > 0):
            problems.append(f"{row[app]} on {row['gpus']} GPUs: runtime and power must be positive")
            continue
        found.setdefault(str(row[app]), []).append(
            Mode(
                str(row[app]), int(row["gpus"]), float(row["runtime_s"]), float(row["power_w"]),
                row.get("cap_w"), *(_number(row.get(c)) for c in ("dram_active", "fp_active",
                                                                   "sm_clock")),
            )
        )  # fmt: skip
    if problems:
        raise DataError("profiles", problems)
    return {name: tuple(modes) for name, modes in found.items()}


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def signal(modes: Sequence[Mode]) -> Array:
    """The signal s(g) of each mode; NaN where an application was not looked at.

    >>> a = Mode("a", 1, 1, 1, dram=0.2), Mode("a", 2, 1, 1, dram=0.3)
    >>> signal(a).tolist()
    [0.2, 0.3]
    >>> signal([Mode("b", 2, 1, 1, dram=0.0, fp=0.6)]).tolist()
    [0.3]
    """
    g = np.array([m.gpus for m in modes], dtype=float)
    dram, fp, clock = (np.array([getattr(m, n) for m in modes]) for n in ("dram", "fp", "clock"))
    if (np.nan_to_num(dram) > 0).any():
        return dram
    if (np.nan_to_num(fp) > 0).any():
        return fp / g
    return clock / g


@dataclass(frozen=True)
class Foretold:
    """Modes of one application with what is foretold of each: nrt, ne and nedp, (m,) each."""

    modes: tuple[Mode, ...]
    nrt: Array
    ne: Array
    nedp: Array

    def within(self, tolerance: float) -> Foretold:
        """Modes that lose at most ``tolerance``; the best one if none does."""
        keep = self.nrt <= 1 + tolerance + 1e-12
        if not keep.any():
            keep = self.nrt == self.nrt.min()
        modes = tuple(m for m, k in zip(self.modes, keep, strict=True) if k)
        return Foretold(modes, self.nrt[keep], self.ne[keep], self.nedp[keep])


def foretell(modes: Sequence[Mode], *, by: str = "signal") -> Foretold:
    """Relative runtime and energy of each mode, ``by`` the "signal" or the measured "runtime".

    A mode whose signal is 0 is foretold never to end.
    """
    if by == "runtime":
        runtime = np.array([m.runtime_s for m in modes])
        nrt = runtime / runtime.min()
    else:
        s = signal(modes)
        if not np.isfinite(s).all() or not s.max() > 0:
            told = "not every mode has a signal (dram_active, fp_active or sm_clock)"
            raise DataError(modes[0].app, [told, "take by='runtime'"])
        nrt = np.divide(s.max(), s, out=np.full(len(s), np.inf), where=s > 0)
    power = np.array([m.power_w for m in modes])
    ne, nedp = power * nrt, power * nrt**2
    return Foretold(tuple(modes), nrt, ne / ne.min(), nedp / nedp.min())
