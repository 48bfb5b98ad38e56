"""What a machine pays for: idle watts, tariff and grid carbon, as the compiled core wants them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.errors import DataError

Price = tuple[np.ndarray, np.ndarray, np.ndarray, float, float]


@dataclass(frozen=True)
class Bill:
    """Watts of an idle processor (NaN: not known), prices per kilowatt-hour (None: not known)."""

    idle_w: float
    tariff: Series | None
    carbon: Series | None

    def core(self) -> tuple[float, Price, Price]:
        """For `rheostat.simulation.engine.env_bill`; an unknown price is never charged."""
        return self.idle_w, _price(self.tariff), _price(self.carbon)

    def check(self, weights: dict[str, float], watts: np.ndarray) -> None:
        """Refuse rewards that nobody can count: all that is missing at once."""
        asked = [name for name in ("energy", "cost", "carbon") if weights.get(name)]
        problems, dark = [], int((~np.isfinite(watts)).sum())
        if asked and dark:
            problems.append(
                f"{dark:,} of {len(watts):,} jobs have no watts: expected a column power_w, or "
                "busy_w of the machine (a TOML file with procs, busy_w and idle_w)"
            )
        if asked and not np.isfinite(self.idle_w):
            problems.append(
                "expected idle_w of the machine, watts of an idle processor: jobs alone draw the "
                "same under every schedule (idle_w = 0 counts no idle power)"
            )
        for name, series, key in (
            ("cost", self.tariff, "tariff_per_kwh"),
            ("carbon", self.carbon, "carbon_g_per_kwh"),
        ):
            if name in asked and series is None:
                problems.append(f"expected {key} under [power] in the machine's TOML file")
        if problems:
            raise DataError(", ".join(asked), problems)


NOTHING = Bill(float("nan"), None, None)


def bill_of(machine: Machine) -> Bill:
    """The prices of a machine."""
    return Bill(machine.idle_w, machine.tariff_per_kwh, machine.carbon_g_per_kwh)


def watts_of(jobs: JobTable, machine: Machine) -> np.ndarray:
    """Watts of each job: measured, else of its processors when busy, else NaN."""
    given = jobs.numpy("power_w") if "power_w" in jobs.schema else np.full(len(jobs), np.nan)
    procs = jobs.numpy("procs")
    return np.where(np.isfinite(given), given, machine.busy_w * procs)


def _price(series: Series | None) -> Price:
    if series is None:
        return np.zeros(1), np.zeros(1), np.zeros(1), 0.0, 0.0
    moments, values = np.asarray(series.from_s), np.asarray(series.values)
    sums = np.concatenate(([0.0], np.cumsum(np.diff(moments) * values[:-1])))
    turn = float(series.repeat_s)
    return moments, values, sums, turn, float(sums[-1] + (turn - moments[-1]) * values[-1])
