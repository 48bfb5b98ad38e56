"""What planning believes of each way a job may run: for how long, and with how many watts.

Three sources, best first: a model, what the user said, and the truth, which no site has.  Whenever
the last is used the plan is clairvoyant and says so.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.simulation.power import job_watts
from rheostat.simulation.site.moldable import JobOptions, gpus_of
from rheostat.simulation.workload import Array, Estimates, Workload

BLIND = "alternative without time limit: planned with its true run time (clairvoyant)"


def believed_watts(given: Array | Outcome | None, rows: int) -> Array | None:
    """Watts per row of the trace, NaN where nothing is believed; or None."""
    if given is None:
        return None
    watts = given.mean("power_w") if isinstance(given, Outcome) else np.asarray(given, float)
    if watts.shape != (rows,):
        raise DataError("power_w", [f"expected {rows} watts, got shape {watts.shape}"])
    odd = (watts < 0) | np.isinf(watts)
    if odd.any():
        problem = f"expected watts >= 0, or NaN where none are known, got {watts[odd][0]:g}"
        raise DataError("power_w", [problem])
    return watts


def planned_watts(
    machine: Machine, load: Workload, ways: JobOptions, part: Array, believed: Array | None
) -> tuple[Array, bool]:
    """(watts with which each way is planned, is any of them a measurement that a cap uses?)."""
    actual = job_watts(machine, part[ways.job], ways.procs, gpus_of(machine, ways), ways.watts)
    guess = ways.expect_w
    if believed is not None:
        guess = np.where(ways.row < 0, believed[load.row][ways.job], guess)
        nobody = np.full(len(guess), np.nan)
        busy = job_watts(machine, part[ways.job], ways.procs, gpus_of(machine, ways), nobody)
        guess = np.where(np.isnan(guess), busy, guess)  # where the model abstains
    unknown = ~np.isfinite(guess)
    planned = np.where(unknown, actual, guess)
    if machine.cap_w is None:
        return planned, False
    if np.isnan(planned).any():
        missing = int(np.isnan(planned).sum())
        raise DataError(
            "power cap",
            [f"{missing} jobs have no power_w: give busy_w of the machine, or power_w=..."],
        )
    return planned, bool((unknown & np.isfinite(ways.watts)).any())


def asked_seconds(
    kind: Estimates, jobs: JobTable, load: Workload, ways: JobOptions
) -> tuple[Array, bool, tuple[Note, ...]]:
    """(estimate of each way, is it clairvoyant, notes).

    Given seconds hold for rigid jobs.  An alternative brings its limit; one without is planned with
    what a model predicts, or else with the truth.
    """
    guess = np.where(np.isfinite(ways.expect_s), ways.expect_s, ways.run_s)
    asked = np.where(np.isfinite(ways.ask_s), ways.ask_s, guess)
    blind = ~np.isfinite(ways.ask_s) & ~np.isfinite(ways.expect_s)
    notes = (Note(BLIND, (), int(blind.sum())),) if blind.any() else ()
    if isinstance(kind, np.ndarray | list):
        given = np.asarray(kind, float)
        if given.shape != (len(jobs),) or not (given[load.row] >= 0).all():
            raise DataError("estimates", [f"expected {len(jobs)} seconds >= 0, got {given.shape}"])
        return np.where(ways.row < 0, given[load.row][ways.job], asked), bool(blind.any()), notes
    if kind not in ("user", "perfect"):
        problem = (
            "expected user, perfect or seconds, one per row: learned ones need a plain machine"
        )
        raise DataError(f"estimates {kind} on a site", [problem])
    if kind == "perfect":
        return ways.run_s, True, ()
    return asked, load.unasked > 0 or bool(blind.any()), notes
