"""Is the choice better than the next settings, or did its few runs happen to be quick?

Notation
--------
k  runs of a setting      s  standard deviation of one run's logarithm, pooled over repeats
t  90 % point of Student's distribution with as many degrees as repeats tell
settings whose logarithms differ by less than  t s sqrt(1/k1 + 1/k2)  are not told apart; that many
runs of each tell a difference d:  2 (1.645 s / d)^2
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rheostat.core.decision import Assignment
from rheostat.core.front import Front
from rheostat.core.outcome import Array
from rheostat.core.units import plain_name
from rheostat.explanation.number_words import listed, setting_words

LEVEL, USUAL = 0.9, 0.03
"""How surely settings are to differ, and what runs of one setting usually differ by."""
FEWEST_FREE, UNLIKE = 4, 100.0
"""Degrees of freedom of other settings, and times of their variance that a disturbed run makes."""
ENOUGH, NAMED = 20, 3
"""Runs of each setting beyond which a difference is nothing that anybody would pay for."""


@dataclass(frozen=True)
class Indistinct:
    """Settings that are not told apart from the choice, the first one's largest difference.

    ``noise`` is that of one run and ``known`` whether repeats tell it; ``runs`` of each setting
    would tell the difference, 0 where no few would.
    """

    settings: tuple[Mapping[str, Any], ...]
    quantity: str
    apart: float
    noise: float
    known: bool
    runs: int

    def words(self, chosen: Mapping[str, Any]) -> str:
        """One sentence."""
        named = [setting_words(s) for s in (chosen, *self.settings)]
        what = plain_name(self.quantity)
        by = f"their {what} is {100 * self.apart:.2g} % apart" if self.apart else f"equal {what}"
        noise = f"{100 * self.noise:.2g} %"
        seen = f"runs of one setting differ by {noise}"
        seen = seen if self.known else f"nothing ran twice, and runs usually differ by {noise}"
        whichever = "take either" if len(self.settings) == 1 else "take any of them"
        tell = f"{self.runs} runs of each would tell" if self.runs else whichever
        return f"Not told apart by so few runs: {listed(named)}; {by}, {seen}. {tell.capitalize()}."


def indistinct(front: Front | None, choice: Assignment) -> Indistinct | None:
    """Which of the next best measured settings are not told apart from the choice, if any.

    Only measured settings with too few runs for an interval; what the rule judges by has to be
    alike, all of it, and a setting that is worse in another objective is none to take.
    """
    row, judged = choice.index, choice.because.judged
    if front is None or front.repeats is None or not judged or not front.ranged()[row]:
        return None
    alike: list[tuple[int, str, float, float, bool]] = []
    noises = {q: _noise(front, q) for q in {*judged, *(o.name for o in front.objectives)}}
    for other in (r for r in choice.because.next_rows if front.ranged()[r]):
        if _clearly_worse(front, row, other, noises):
            continue
        each = [(q, *_apart(front, q, row, other, noises[q])) for q in judged]
        if all(gap <= held for _, gap, held in each):
            quantity, gap, _ = max(each, key=lambda e: e[1])
            alike.append((other, quantity, gap, *noises[quantity][:2]))
    if not alike or all(gap == 0 and known and not noise for _, _, gap, noise, known in alike):
        return None
    settings = tuple(front.setting(other) for other, *_ in alike[:NAMED])
    _, quantity, gap, noise, known = alike[0]
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    runs = math.ceil(2 * (z * noise / gap) ** 2) if gap > 0 else math.inf
    runs = max(runs, int(front.repeats[row]) + 1)
    return Indistinct(settings, quantity, gap, noise, known, int(runs) if runs <= ENOUGH else 0)


def _clearly_worse(
    front: Front, row: int, other: int, noises: Mapping[str, tuple[float, bool, float]]
) -> bool:
    """Whether another setting is worse in some objective beyond noise, and better in none."""
    worse = []
    for o in front.objectives:
        gap, held = _apart(front, o.name, row, other, noises[o.name])
        less = o.sign * (front.middle(o.name)[other] - front.middle(o.name)[row]) < 0
        worse += [not less] if gap > held else []
    return bool(worse) and all(worse)


def _apart(
    front: Front, name: str, row: int, other: int, noise: tuple[float, bool, float]
) -> tuple[float, float]:
    """Difference of logarithms of two settings, and the one that noise explains."""
    values, runs = front.middle(name)[[row, other]], np.asarray(front.repeats)[[row, other]]
    if not (values > 0).all():
        return math.inf, 0.0
    spread, _, t = noise
    return abs(float(np.log(values[0] / values[1]))), t * spread * math.sqrt((1 / runs).sum())


def _noise(front: Front, name: str) -> tuple[float, bool, float]:
    """Standard deviation of one run's logarithm, whether repeats tell it, and its t."""
    from scipy.special import stdtrit

    square, free = 0.0, 0
    every = list(_runs(front, name))
    for logs in _undisturbed(every) if every else []:
        square += float(((logs - logs.mean()) ** 2).sum())
        free += len(logs) - 1
    if not free:
        return USUAL, False, NormalDist().inv_cdf((1 + LEVEL) / 2)
    return math.sqrt(square / free), True, float(stdtrit(free, (1 + LEVEL) / 2))


def _undisturbed(runs: list[Array]) -> list[Array]:
    """Logarithms of runs by setting without the one run that makes its setting unlike all others.

    >>> quiet = [np.array([0.0, 0.01, 0.02]), np.array([1.0, 1.01, 1.02])]
    >>> [len(v) for v in _undisturbed([*quiet, np.array([2.0, 2.01, 3.0])])]
    [3, 3, 2]
    """
    most = max(range(len(runs)), key=lambda i: runs[i].var(ddof=1))
    others = [v for i, v in enumerate(runs) if i != most]
    square, free = sum(len(v) * v.var() for v in others), sum(len(v) - 1 for v in others)
    at = runs[most]
    rest = np.delete(at, np.abs(at - np.median(at)).argmax())
    if free < FEWEST_FREE or len(rest) < 2:
        return runs
    most_like = UNLIKE * square / free
    odd = 0 < most_like < at.var(ddof=1) and rest.var(ddof=1) <= most_like
    return [*others, rest] if odd else runs


def _runs(front: Front, name: str) -> Iterable[Array]:
    """Logarithms of the runs of each setting that ran more than once."""
    draws = front.draws(name)
    for row in np.flatnonzero(np.asarray(front.repeats) > 1):
        there = draws[:, row if draws.shape[1] > 1 else 0]
        there = there[np.isfinite(there)][: int(np.asarray(front.repeats)[row])]
        if len(there) > 1 and (there > 0).all():
            yield np.log(there)
