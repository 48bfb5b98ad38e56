"""`check_meter`: what every source of watts and joules promises, for ours and for those of others.

A meter is read over a window in which its hardware moved by a known amount.  The checks: every
domain has a name of its own, samples come in the order of the domains, the sum is what was spent,
trust is one of four words and has a reason unless a sensor measured it, and a meter that cannot
read says why instead of saying zero.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rheostat.measurement.meters import Session
from rheostat.measurement.meters.reading import MEASURED, STATES, UNAVAILABLE, EnergyMeter


def check_meter(
    make: Callable[[], EnergyMeter],
    *,
    spend: Callable[[], None],
    energy_j: float,
    closed: Callable[[], EnergyMeter] | None = None,
    window_s: float = 0.05,
) -> None:
    """Check the meter that ``make`` gives, on hardware or on a recording of it.

    Parameters
    ----------
    make : callable
        Gives the meter.
    spend : callable
        Moves the hardware by ``energy_j`` joules, over all domains that are part of no other.
    energy_j : float
        Joules that ``spend`` moves.
    closed : callable, optional
        Gives the same meter where it cannot read anything.
    window_s : float
        Seconds that are measured.

    Raises
    ------
    AssertionError
        Names everything the meter breaks, all at once.
    """
    meter = make()
    problems = [f"cannot be read: {why}"] if (why := meter.why()) else []
    domains = meter.domains() if not why else []
    names = [d.name for d in domains]
    if len(set(names)) < len(names):
        problems.append(f"two domains have one name: {names}")
    if not why and len(meter.sample()) != len(domains):
        problems.append(f"{len(meter.sample())} numbers for {len(domains)} domains")
    if not problems:
        problems += _window(meter, spend, energy_j, window_s)
    if closed is not None:
        problems += _silent(closed())
    if problems:
        raise AssertionError(f"{getattr(meter, 'name', meter)}: " + "; ".join(problems))


def _window(
    meter: EnergyMeter, spend: Callable[[], None], energy_j: float, window_s: float
) -> list[str]:
    with Session([meter], interval_s=10 * window_s) as session:
        spend()
        time.sleep(window_s)
    measured, problems = session.measured, []
    if not math.isclose(measured.energy_j, energy_j, rel_tol=0.01):
        problems.append(f"{energy_j:g} J were spent, {measured.energy_j:g} J were told")
    for r in measured.readings:
        if r.state not in STATES:
            problems.append(f"{r.domain} is {r.state!r}, expected one of {', '.join(STATES)}")
        if r.state != MEASURED and not r.why:
            problems.append(f"{r.domain} is {r.state} and does not say why")
    return problems


def _silent(meter: EnergyMeter) -> list[str]:
    """A closed meter says why, and a session with it has no number."""
    with Session([meter]) as session:
        pass
    measured = session.measured
    problems = [] if measured.silent else ["cannot read and does not say why"]
    if measured.state != UNAVAILABLE or not math.isnan(measured.energy_j):
        problems.append(f"cannot read and tells {measured.energy_j:g} J")
    return problems
