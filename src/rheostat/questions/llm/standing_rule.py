"""A simple rule that no measurement contradicts stands, unless the law is surer than its record.

Where all of n pairs of measured configurations that differ in their placement alone came out as a
rule says, the next one does with probability (n + 1) / (n + 2) (Laplace's rule of succession).
The law's choice is taken in place of the rule's where the law is surer than that of its gain.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr

from rheostat.core.front import Front, Rule
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.recipes.energylens import PRECISION, RULES, SAME_WORK

LEAST = 9
"""Pairs without which nothing is said of a rule: its next answer would be less than 91 % sure."""
PLAIN = tuple(RULES)[:2]
"""Rules that ask no forecast."""
ENERGY = "energy_per_token_j"
ALIKE = ("app", "batch_cap", "power_cap_w", PRECISION, *SAME_WORK)
"""What a pair has in common, where it is known before a run."""


@dataclass(frozen=True)
class StandingRule:
    """A rule of choice but for one row, which comes first."""

    otherwise: Rule
    row: int
    because: str

    def score(self, front: Front) -> Array:
        """Score of every row of ``front``, (n,)."""
        score = np.array(self.otherwise.score(front), dtype=float)
        score[self.row] = np.nanmin(score) - 1.0
        return score

    def __str__(self) -> str:
        return self.because


def unbroken(runs: JobTable) -> dict[str, int]:
    """Rules that were right in every measured pair, `LEAST` or more, and in how many.

    Parameters
    ----------
    runs
        Measured configurations.  A pair is of one service with requests of one length, at one
        batch cap, precision and power cap; pairs between which a rule knows no difference are no
        evidence.
    """
    groups = [c for c in ALIKE if c in runs.columns and runs.schema[c].known <= Moment.SUBMIT]
    pairs = [
        pair
        for _, group in runs.frame.filter(pl.col(ENERGY) > 0).group_by(groups, maintain_order=True)
        for pair in itertools.combinations(group.rows(named=True), 2)
    ]
    made = {}
    for name in PLAIN:
        ranked = [(a, b) for a, b in pairs if RULES[name](a) != RULES[name](b)]
        right = [(RULES[name](a) < RULES[name](b)) == (a[ENERGY] < b[ENERGY]) for a, b in ranked]
        if len(right) >= LEAST and all(right):
            made[name] = len(right)
    return made


def surer(mean: Array, covariance: Array, pairs: int) -> bool:
    """Whether the first of two rows takes less, surer than a rule right in all ``pairs``.

    >>> tight, wide = 1e-4 * np.eye(2), np.eye(2)
    >>> surer(np.array([0.0, 0.1]), tight, 12), surer(np.array([0.0, 0.1]), wide, 12)
    (True, False)
    """
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    sure = ndtr((mean[1] - mean[0]) / np.sqrt(max(variance, 1e-12)))
    return bool(sure > (pairs + 1) / (pairs + 2))


def standing(
    law: ServingLaw, runs: JobTable, front: Front, rule: Rule, row: int, simple: Mapping[str, int]
) -> StandingRule | None:
    """The simple rule that is followed in place of ``rule``, or None.

    Parameters
    ----------
    law, runs
        The law, and the measurements that it was fitted to.
    front, rule, row
        Settings, the rule of choice and the row that it takes.
    simple
        Row of each simple rule.
    """
    for name, pairs in unbroken(runs).items():
        if name not in simple:
            continue
        both = front.alternatives.rows([row, simple[name]])
        taken, other = (RULES[name](setting) for setting in both.frame.rows(named=True))
        if taken == other:  # it knows no difference
            continue
        if not surer(*law.posterior(Configurations.of(both), [ENERGY]), pairs):
            words = (
                f"{name}: right in all {pairs} measured pairs, and the law is less sure of better"
            )
            return StandingRule(rule, simple[name], words)
    return None
