"""What a started job adds to the site's bill: energy, cost and carbon, counted when it starts.

A machine draws the watts of its running jobs and those of its idle processors, from the first
submission to the last end.  When a job starts its whole run is known to the simulator (not to the
agent), so all it will draw is counted there and then: its own watts, less the idle watts of the
processors it takes; and if it is now the last to end, the whole machine idles so much longer.
These sums telescope: over all jobs they are the energy of the site.

    Symbol    Shape  Meaning
    idle_w           watts of an idle processor
    moments   (k,)   when the price of a kilowatt-hour changes, s; the first price holds before it
    prices    (k,)   price from moments[i] until moments[i + 1], the last for ever
    sums      (k,)   integral of the price from moments[0] to moments[i]
    turn             seconds after which prices come again, whole turns costing ``round_``; or 0
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats
from rheostat.simulation.engine.env_layout import ENERGY, HORIZON, NEED, NOW, RUN, WATTS
from rheostat.simulation.engine.jit import borrowed, compiled

KWH_J, GRAM_KWH_J = 3.6e6, 3.6e9  # carbon is given in grams and rewarded in kilograms
Price = tuple[Floats, Floats, Floats, float, float]
"""Moments, prices, their integral to each moment, length of a turn, and the integral of one."""
Bill = tuple[float, Price, Price]
"""Power of an idle processor, W, and the prices of energy and of carbon."""


@compiled
def paid(price: Price, t: float) -> float:
    """Integral of a price from its first moment to ``t``, per kilowatt-hour and second."""
    moments, prices, sums, turn, round_ = price
    whole = 0.0
    if turn > 0:
        turns = np.floor(t / turn)
        whole, t = turns * round_, t - turns * turn
    k = max(int(np.searchsorted(moments, t, side="right")) - 1, 0)
    return whole + sums[k] + (t - moments[k]) * prices[k]


@borrowed
def charge(
    jobs: Floats,
    real: Floats,
    gain: Floats,
    job: int,
    size: int,
    bill: Bill,
) -> None:
    """Take from ``gain`` what the start of ``job`` adds to energy, cost and carbon."""
    idle_w, tariff, carbon = bill
    now, end = real[NOW], real[NOW] + jobs[job, RUN]
    more_w = jobs[job, WATTS] - jobs[job, NEED] * idle_w
    last = real[HORIZON]
    later = max(last, end)
    real[HORIZON] = later
    whole_w = size * idle_w
    gain[ENERGY] -= (more_w * (end - now) + whole_w * (later - last)) / KWH_J
    for k, price in enumerate((tariff, carbon)):
        own = more_w * (paid(price, end) - paid(price, now))
        rest = whole_w * (paid(price, later) - paid(price, last))
        gain[ENERGY + 1 + k] -= (own + rest) / (KWH_J, GRAM_KWH_J)[k]
