"""What is known of an application on 1, 2, ... GPUs, and what is predicted from a short look.

A profile has one mode per number of GPUs (and cap): runtime, power, and three signals of a brief
run, summed over GPUs.  EcoSched predicts relative runtimes from the signals alone: where memory is
active at all, an application runs as much faster as its memory is busier; else its floating-point
units or clocks are looked at, per GPU.  A mode that loses more than a tolerance is not considered.

Notation
--------
g  GPUs      s(g)  signal      nrt(g) = max s / s(g)  predicted runtime over the best
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
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.tables import rows_said


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

SIGNALS = ("dram_active", "fp_active", "sm_clock")
RANGE = {
    "gpus": (1, 1e4), "runtime_s": (1e-6, 1e9), "power_w": (1e-6, 1e8), "cap_w": (1e-6, 1e8),
    **dict.fromkeys(SIGNALS, (0, 1e9)),
}  # fmt: skip
"""What a profile may hold; anything else is in another unit, or an error of the file."""


def profiles_of(jobs: JobTable) -> dict[str, tuple[Mode, ...]]:
    """Modes by application from a table with ``gpus``, ``runtime_s`` and ``power_w``.

    ``dram_active``, ``fp_active`` and ``sm_clock`` are the signals, ``cap_w`` a cap; repeated rows
    of a mode are averaged, those cut off are not used.

    Raises
    ------
    DataError
        What is missing, not a number or not within `RANGE`; all at once.

    >>> from rheostat.core.vocabulary import table
    >>> t = table({"app": ["a", "a"], "gpus": [1, 2], "runtime_s": [9.0, 5.0],
    ...            "power_w": [100.0, 200.0]})
    >>> [(m.gpus, m.energy_j) for m in profiles_of(t)["a"]]
    [(1, 900.0), (2, 1000.0)]
    """
    jobs.require("app", "gpus", "runtime_s", "power_w")
    jobs = jobs.finished()
    problems = _problems(jobs.frame)
    if problems:
        raise DataError("profiles", problems)
    names = ["app", "gpus", *(["cap_w"] if "cap_w" in jobs.columns else [])]
    signals = [c for c in SIGNALS if c in jobs.columns]
    frame = jobs.frame.group_by(names, maintain_order=True).mean().sort(names)
    profiles: dict[str, list[Mode]] = {}
    for row in frame.select([*names, "runtime_s", "power_w", *signals]).rows(named=True):
        profiles.setdefault(str(row["app"]), []).append(
            Mode(
                str(row["app"]), int(row["gpus"]), float(row["runtime_s"]), float(row["power_w"]),
                row.get("cap_w"), *(_number(row.get(c)) for c in SIGNALS),
            )
        )  # fmt: skip
    return {name: tuple(modes) for name, modes in profiles.items()}


def _problems(frame: pl.DataFrame) -> list[str]:
    nameless = (frame["app"].is_null().arg_true() + 1).to_list()
    problems = [f"app: missing in {rows_said(nameless)}"] if nameless else []
    for name, (least, most) in RANGE.items():
        if name in frame.columns:
            problems += _outside(frame[name], least, most)
    return problems


def _outside(column: pl.Series, least: float, most: float) -> list[str]:
    """What is wrong with a column; caps and signals may be missing."""
    values = column.cast(pl.Float64, strict=False).to_numpy()
    bad = ~((values >= least) & (values <= most))
    if column.name == "gpus":
        bad |= values != np.floor(values)
    if column.name in (*SIGNALS, "cap_w"):
        bad &= column.is_not_null().to_numpy()
    if not bad.any():
        return []
    kind = "whole numbers" if column.name == "gpus" else "numbers"
    got = ", ".join(str(v) for v in column.filter(pl.Series(bad))[:3])
    rows = rows_said((np.flatnonzero(bad) + 1).tolist())
    return [f"{column.name}: expected {kind} from {least:g} to {most:g}, got {got} in {rows}"]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def has_signals(profiles: Profiles) -> bool:
    """Whether every mode has a signal to predict from, so that EcoSched can be used as published.

    >>> looked_at, not_looked_at = Mode("a", 1, 1, 1, dram=0.2), Mode("a", 1, 1, 1)
    >>> has_signals({"a": (looked_at,)}), has_signals({"a": (not_looked_at,)})
    (True, False)
    """
    return all(bool(np.isfinite(s).all() and s.max() > 0) for s in map(signal, profiles.values()))


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
        return np.asarray(dram)
    if (np.nan_to_num(fp) > 0).any():
        return np.asarray(fp / g)
    return np.asarray(clock / g)


@dataclass(frozen=True)
class PredictedProfile:
    """Modes of one application with what is predicted of each: nrt, ne and nedp, (m,) each."""

    modes: tuple[Mode, ...]
    nrt: Array
    ne: Array
    nedp: Array

    def within(self, tolerance: float) -> PredictedProfile:
        """Modes that lose at most ``tolerance``; the best one if none does."""
        keep = self.nrt <= 1 + tolerance + 1e-12
        if not keep.any():
            keep = self.nrt == self.nrt.min()
        modes = tuple(m for m, k in zip(self.modes, keep, strict=True) if k)
        return PredictedProfile(modes, self.nrt[keep], self.ne[keep], self.nedp[keep])


def predict(modes: Sequence[Mode], *, by: str = "signal") -> PredictedProfile:
    """Relative runtime and energy of each mode, ``by`` the "signal" or the measured "runtime".

    A mode whose signal is 0 is predicted never to end.
    """
    if by == "runtime":
        runtime = np.array([m.runtime_s for m in modes])
        nrt = runtime / runtime.min()
    else:
        s = signal(modes)
        if not has_signals({modes[0].app: tuple(modes)}):
            problem = "not every mode has a signal (dram_active, fp_active or sm_clock)"
            raise DataError(modes[0].app, [problem, "take by='runtime'"])
        nrt = np.divide(s.max(), s, out=np.full(len(s), np.inf), where=s > 0)
    power = np.array([m.power_w for m in modes])
    ne, nedp = power * nrt, power * nrt**2
    return PredictedProfile(tuple(modes), nrt, ne / ne.min(), nedp / nedp.min())
