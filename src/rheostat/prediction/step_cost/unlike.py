"""Networks unlike all that were run: the roofline answers, as wrong as on families left out.

What a step is made of are shares of its time by a roofline: starts, arithmetic and traffic by kind
of operation.  How unlike two steps are is the Hellinger distance of these shares, 0 to 1, in which
a kind that one of them lacks counts even where it is small.  Networks closer than `UNLIKE` are of
one family; a network further than that from all that were run belongs to none.  For it single
networks left out prove nothing, as their like stayed: its interval is as wide as families left out
were wrong, and as kinds of operations that were never timed may be.  The roofline answers half, as
nothing tells the two apart there; more of a step with more than half of its time in those kinds;
all of one on a machine where few families were run, whose thirty rates of the additive model are
not told apart: many networks of two families are two.

Notation
--------
n  rows      J  entries of `cost_terms`      K  kinds      D  devices      g  families
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from rheostat.prediction.step_cost.additive import AdditiveCost, Array, Codes, fit_additive
from rheostat.prediction.step_cost.stacking import FEWEST
from rheostat.prediction.step_cost.terms import TERMS
from rheostat.prediction.step_cost.transfer import Known

ALIKE, UNLIKE = 0.05, 0.1
"""Distances below which a step is of a family, and above which it is of none."""
SPREAD, NEVER_TIMED = 0.3, 1.8
"""Log error of a roofline where all kinds were timed, and for each share of the time in kinds that
never were: what six families of PROFET's networks and both kinds of layers of Justus et al. showed
when they were left out."""
PRIOR_FAMILIES = 3.0
"""Families that these two count for: few, as both tables are of GPUs and other machines differ."""
EQUAL = 0.5
"""The roofline's share of the answer, chosen on families of PROFET's networks left out: equal
shares, which are hard to beat where nothing says who is right."""
FEW_TIMES = 2.0
"""So many times as far off at least where fewer than `FEWEST` families say how far."""
ARITHMETIC = ("convolution_f_narrow", "matmul_f_padded", "elementwise_f")
"""Of products as a device does it, in whole lanes: what few channels or rows leave idle counts."""
TRAFFIC = ("convolution_b", "depthwise_b", "matmul_b", "elementwise_b", "normalization_b",
           "reduction_b", "movement_b", "gather_b")  # fmt: skip
KINDS = {"convolution": ("convolution_f_narrow", "convolution_b"), "depthwise": ("depthwise_b",),
         "matmul": ("matmul_f_padded", "matmul_b"),
         "elementwise": ("elementwise_f", "elementwise_b"),
         "normalization": ("normalization_b",), "reduction": ("reduction_b",),
         "movement": ("movement_b",), "gather": ("gather_b",),
         "starting operations": ("launches",)}  # fmt: skip
FURTHER = ("transcendentals", "rearranged_b", "reduced_b", "selected_b", "divided_b")
"""Parts of the traffic and arithmetic above that tell families from one another."""
_PARTS = ("launches", *ARITHMETIC, *TRAFFIC, *FURTHER)
_PLACES = [TERMS.index(c) for c in _PARTS]
_RATE = np.array([0] + [1] * len(ARITHMETIC) + [2] * (len(TRAFFIC) + len(FURTHER)))
_RATE[_PARTS.index("transcendentals")] = 1
_ONCE = len(_PARTS) - len(FURTHER)
_KIND = np.array([[p in parts for p in _PARTS] for parts in KINDS.values()], dtype=float)


@dataclass(frozen=True)
class Unlike:
    """What is said of networks of no family.

    ``seen`` (n, parts) is what the runs were made of; answers are ``times`` `SPREAD` off, and
    by `NEVER_TIMED` besides, as sure as ``freedom`` families make that.  Where families are ``few``
    the roofline answers alone.
    """

    roofline: AdditiveCost
    seen: Array
    times: float
    freedom: float
    few: bool

    @staticmethod
    def of(known: Known, log_y: Array, devices: int) -> Unlike:
        """From n runs on devices of D codes, each of their families left out in turn."""
        roofline = _fit(known, log_y, devices)
        made = _made_of(known.terms, roofline)
        family = families(made, known.app)
        off = []
        for out in (family == f for f in range(int(family.max()) + 1)):
            if not out.all():
                less, asked = _fit(known.of(~out), log_y[~out], devices), known.of(out)
                expected = _expected(_never_timed(made[out], made[~out]))
                error = log_y[out] - less.predict(roofline_terms(asked.terms), asked.device)
                off.append(float(np.mean((error / expected) ** 2)))
        freedom = PRIOR_FAMILIES + len(off)
        times = float(np.sqrt((PRIOR_FAMILIES + sum(off)) / freedom))
        few = int(family.max()) + 1 < FEWEST
        return Unlike(roofline, made, max(times, FEW_TIMES) if few else times, freedom, few)

    def share(self, rows: Known) -> Array:
        """How much of the answer is that of a network of no family, 0 to 1, (n,).

        None on a device that was never run, whose speed is less sure than anything here.
        """
        near = _distance(_made_of(rows.terms, self.roofline), self.seen).min(axis=1)
        share = np.clip((near - ALIKE) / (UNLIKE - ALIKE), 0.0, 1.0)
        new = (rows.app < 0) & (rows.device < self.roofline.devices - 1)
        return np.asarray(np.where(new, share, 0.0))

    def never_timed(self, rows: Known) -> Array:
        """Share of the time by kind of operation beyond what any run had of it, (n, K)."""
        return _never_timed(_made_of(rows.terms, self.roofline), self.seen)

    def predict(self, rows: Known) -> Array:
        """What the roofline says, in the logarithm, (n,)."""
        return self.roofline.predict(roofline_terms(rows.terms), rows.device)

    def draws(self, rows: Known, levels: Array, others: Array) -> Array:
        """Logarithms at these levels of probability, (levels, n); ``others`` (n,) have a part."""
        novel = self.never_timed(rows)
        weight = 1.0 if self.few else np.clip(novel.sum(axis=1), EQUAL, 1.0)
        said = weight * self.predict(rows) + (1.0 - weight) * others
        spread = _expected(novel, self.times)
        return np.asarray(said + student.ppf(levels, self.freedom)[:, None] * spread)


def roofline_terms(terms: Array) -> Array:
    """Starts, arithmetic and traffic of each row, (n, 3).

    Examples
    --------
    >>> row = np.zeros((1, len(TERMS)))
    >>> row[0, [TERMS.index("matmul_f_padded"), TERMS.index("matmul_b")]] = 2.0, 0.5
    >>> roofline_terms(row).tolist()
    [[0.0, 2.0, 0.5]]
    """
    parts, rate = terms[:, _PLACES[:_ONCE]], _RATE[:_ONCE]
    return np.stack([parts[:, rate == k].sum(axis=1) for k in range(3)], axis=1)


def families(made: Array, app: Codes) -> Codes:
    """Family of each row, from 0: runs of one network, and networks that are alike, together.

    Examples
    --------
    >>> made = np.array([[1.0, 0.0], [0.99, 0.01], [0.0, 1.0]])
    >>> families(made, np.array([0, 1, 2])).tolist()
    [0, 0, 1]
    """
    alike = _distance(made, made) < UNLIKE
    return np.asarray(connected_components(alike | (app[:, None] == app[None]))[1], dtype=np.int64)


def _made_of(terms: Array, roofline: AdditiveCost) -> Array:
    """Shares of the time by part, on a device with the rates that all have in common."""
    parts = terms[:, _PLACES] * roofline.rates[-1][_RATE]
    return np.asarray(parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300))


def _distance(a: Array, b: Array) -> Array:
    return np.asarray(cdist(np.sqrt(a), np.sqrt(b)) / np.sqrt(2.0))


def _never_timed(made: Array, seen: Array) -> Array:
    return np.asarray(np.maximum(made @ _KIND.T - (seen @ _KIND.T).max(axis=0), 0.0))


def _expected(never_timed: Array, times: float = 1.0) -> Array:
    """Log error, (n,)."""
    return np.asarray(np.hypot(times * SPREAD, NEVER_TIMED * never_timed.sum(axis=1)))


def _fit(known: Known, log_y: Array, devices: int) -> AdditiveCost:
    return fit_additive(roofline_terms(known.terms), log_y, known.device, devices)
