"""Networks unlike all that were run: three laws answer together, as wrong as on families left out.

What a step is made of are shares of its time by a roofline: starts, arithmetic and traffic by kind
of operation.  How unlike two steps are is the Hellinger distance of these shares, 0 to 1, in which
a kind that one of them lacks counts even where it is small.  Networks closer than `UNLIKE` are of
one family; a network further than that from all that were run belongs to none.  For it single
networks left out prove nothing, as their like stayed: what the three laws of `EXPERTS` say is
averaged in the logarithm, by weights that make the mean most right on the families left out and
are drawn to equal ones.  Two rooflines err to either side, and each law has kinds of networks that
it gets wrong by much; the plain roofline never has less than a third, and answers alone where most
of the time goes to kinds of operations that were never timed, of which the others learned nothing.
The interval is as wide as families left out were wrong, as the laws are apart, and as kinds of
operations that were never timed may be.  On a machine where few families were run nothing tells
laws apart, nor the thirty rates of the additive model: the roofline of whole lanes answers.

Notation
--------
n  rows      J  entries of `cost_terms`      K  kinds      D  devices      E  experts
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from rheostat.prediction.step_cost.additive import AdditiveCost, Array, Codes, fit_additive
from rheostat.prediction.step_cost.stacking import FEWEST, folds
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
FEW_TIMES = 2.0
"""So many times as far off at least where fewer than `FEWEST` families say how far."""
EXPERTS = ("plain roofline", "roofline", "additive")
"""Laws: three rates with arithmetic as it is counted, three with it in whole lanes, a rate for each
of `TERMS`."""
LANES_ALONE = np.array([0.0, 1.0, 0.0])
MOSTLY = 0.5
"""Share of the time in kinds never timed above which laws other than the plain one have no say."""
TWELFTHS, LEAST_PLAIN, TO_EQUAL = 12, 4, 1.0
"""Weights are multiples of a twelfth, at least four of them the plain roofline's; a squared
distance of one from equal weights counts as much as a family that is off by one in the logarithm.
A third of that and three times as much give the same answers within 3 %."""
COUNTED = ("convolution_f", "line_f", "volume_f", "matmul_f", "elementwise_f")
ARITHMETIC = ("convolution_f_narrow", "line_f", "volume_f", "matmul_f_padded", "elementwise_f")
"""Of products as a device does it, in whole lanes: what few channels or rows leave idle counts."""
TRAFFIC = ("convolution_b", "depthwise_b", "matmul_b", "elementwise_b", "normalization_b",
           "reduction_b", "movement_b", "gather_b")  # fmt: skip
KINDS = {"convolution": ("convolution_f_narrow", "convolution_b"),
         "convolution in one dimension": ("line_f",),
         "convolution in three dimensions": ("volume_f",), "depthwise": ("depthwise_b",),
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

    ``experts`` are fitted, ``weights`` (E,) their parts of the answer; ``seen`` (n, parts) is what
    the runs were made of.  Answers are ``times`` `SPREAD` off, and by `NEVER_TIMED` besides, as
    sure as ``freedom`` families make that.
    """

    experts: tuple[AdditiveCost, ...]
    weights: Array
    seen: Array
    times: float
    freedom: float

    @staticmethod
    def of(known: Known, log_y: Array, law: AdditiveCost, seed: int = 0) -> Unlike:
        """From n runs and their additive law; parts of their families left out in turn."""
        experts = (*_rooflines(known, log_y, law.devices), law)
        made = _made_of(known.terms, experts[1])
        family = families(made, known.app)
        error, novel = np.full((len(EXPERTS), len(log_y)), np.nan), np.zeros(len(log_y))
        for out in folds(family, seed):
            if not out.all():
                less, y = known.of(~out), log_y[~out]
                own = fit_additive(less.terms, y, less.device, law.devices)
                laws = (*_rooflines(less, y, law.devices), own)
                error[:, out] = log_y[out] - _each(laws, known.of(out))
                novel[out] = _never_timed(made[out], made[~out]).sum(axis=1)
        count = int(family.max()) + 1
        left = [family == f for f in range(count)] if count > 1 else []
        weights = LANES_ALONE if count < FEWEST else _weights([error[:, f] for f in left])
        away = _together(weights, error, novel) / np.hypot(_expected(novel), _apart(weights, error))
        off = [float(np.mean(away[f] ** 2)) for f in left]
        freedom = PRIOR_FAMILIES + len(off)
        times = float(np.sqrt((PRIOR_FAMILIES + sum(off)) / freedom))
        least = FEW_TIMES if count < FEWEST else 0.0
        return Unlike(experts, weights, made, max(times, least), freedom)

    def share(self, rows: Known) -> Array:
        """How much of the answer is that of a network of no family, 0 to 1, (n,).

        None on a device that was never run, whose speed is less sure than anything here.
        """
        near = _distance(self._made_of(rows), self.seen).min(axis=1)
        share = np.clip((near - ALIKE) / (UNLIKE - ALIKE), 0.0, 1.0)
        new = (rows.app < 0) & (rows.device < self.experts[1].devices - 1)
        return np.asarray(np.where(new, share, 0.0))

    def never_timed(self, rows: Known) -> Array:
        """Share of the time by kind of operation beyond what any run had of it, (n, K)."""
        return _never_timed(self._made_of(rows), self.seen)

    def _made_of(self, rows: Known) -> Array:
        return _made_of(rows.terms, self.experts[1])

    def each(self, rows: Known) -> Array:
        """What each of `EXPERTS` says, in the logarithm, (E, n)."""
        return _each(self.experts, rows)

    def draws(self, rows: Known, levels: Array) -> Array:
        """Logarithms at these levels of probability, (levels, n)."""
        each = self.each(rows)
        novel = self.never_timed(rows).sum(axis=1)
        spread = np.hypot(_expected(novel, self.times), _apart(self.weights, each))
        said = _together(self.weights, each, novel)
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


def plain_terms(terms: Array) -> Array:
    """As `roofline_terms`, of arithmetic as it is counted."""
    counted = terms[:, [TERMS.index(c) for c in COUNTED]].sum(axis=1)
    return np.column_stack([roofline_terms(terms), counted])[:, [0, 3, 2]]


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
    return np.asarray(np.hypot(times * SPREAD, NEVER_TIMED * never_timed))


def _rooflines(known: Known, log_y: Array, devices: int) -> tuple[AdditiveCost, AdditiveCost]:
    both = plain_terms(known.terms), roofline_terms(known.terms)
    plain, lanes = (fit_additive(t, log_y, known.device, devices) for t in both)
    return plain, lanes


def _each(laws: tuple[AdditiveCost, ...], rows: Known) -> Array:
    terms = (plain_terms(rows.terms), roofline_terms(rows.terms), rows.terms)
    return np.array([law.predict(t, rows.device) for law, t in zip(laws, terms, strict=True)])


def _together(weights: Array, each: Array, novel: Array) -> Array:
    """What the experts say (E, n) as one, (n,); the plain roofline of what is mostly novel."""
    alone = (novel > MOSTLY) & (weights[0] > 0)
    return np.asarray(np.where(alone, each[0], weights @ each))


def _apart(weights: Array, each: Array) -> Array:
    """Spread of what the experts say around their mean, (n,)."""
    return np.asarray(np.sqrt(weights @ (each - weights @ each) ** 2))


def _weights(errors: list[Array]) -> Array:
    """Of the experts, whose errors (E, n) on each family count alike."""
    tried = np.array([w for w in product(range(TWELFTHS + 1), repeat=len(EXPERTS))
                      if sum(w) == TWELFTHS and w[0] >= LEAST_PLAIN]) / TWELFTHS  # fmt: skip
    wrong = sum(np.mean((tried @ error) ** 2, axis=1) for error in errors)
    far = ((tried - 1.0 / len(EXPERTS)) ** 2).sum(axis=1)
    return np.asarray(tried[np.argmin(wrong + TO_EQUAL * far)])
