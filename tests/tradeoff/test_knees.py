"""Knees of many fronts, against one front after the other peeled by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import Knob, Space
from rheostat.core.dominance import knee_index
from rheostat.errors import DataError
from rheostat.tradeoff.many_fronts import fronts, knee_heights
from rheostat.tradeoff.propose import Exhaustive, Sobol
from rheostat.tradeoff.variants.best_of_k import reduction_at_k


def dominates(a, b) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True)) and tuple(a) != tuple(b)


def heights(rows) -> list[float]:
    """Of one front: layer after layer, the share of the range above the chord."""
    result = [math.inf] * len(rows)
    left = [i for i, r in enumerate(rows) if all(map(math.isfinite, r))]
    layer = 0
    while left:
        on = [i for i in left if not any(dominates(rows[j], rows[i]) for j in left)]
        left = [i for i in left if i not in on]
        z = np.array([rows[i] for i in on])
        if (z > 0).all():
            z = np.log(z)
        span = z.max(axis=0) - z.min(axis=0)
        ranged = (z - z.min(axis=0)) / np.where(span > 0, span, 1.0)
        bent = ranged.sum(axis=1) / max(1, (span > 0).sum()) - 0.5
        first = len({tuple(p) for p in z}) < 3
        for i, place, height in zip(on, ranged[:, 0], bent, strict=True):
            result[i] = 3 * layer + (place if first else height)
        layer += 1
    return result


CELL = st.sampled_from([math.nan, 0.0, 0.5, 1.0, 2.0, 3.0, 7.0, -1.0])


@settings(deadline=None, max_examples=120)
@given(st.integers(1, 3).flatmap(lambda m: st.lists(
    st.lists(st.lists(CELL, min_size=m, max_size=m), min_size=6, max_size=6), min_size=1,
    max_size=3)))  # fmt: skip
def test_heights_of_many_fronts_are_those_of_each(jobs) -> None:
    found = knee_heights(np.array(jobs))
    mask = fronts(np.array(jobs))
    for job, mine, on in zip(jobs, found, mask, strict=True):
        assert mine == pytest.approx(heights(job), abs=1e-10)
        assert on.tolist() == [
            all(map(math.isfinite, r)) and not any(dominates(s, r) for s in job
                                                   if all(map(math.isfinite,
                                                   s))) for r in job]  # fmt: skip


def test_equal_heights_go_to_the_better_first_objective() -> None:
    one = np.array([[[8.0, 1.0], [1.0, 8.0], [4.0, 2.0], [2.0, 4.0]]])  # all on the chord
    found = knee_heights(one)[0]
    assert found == pytest.approx([0.0] * 4, abs=1e-11)
    assert np.argsort(found).tolist() == [1, 3, 2, 0]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([None, -0.5, 0.0, 0.2, 0.7]), min_size=1, max_size=6), st.data())
def test_the_best_of_k_is_the_mean_over_all_choices_of_k(reductions, data) -> None:
    from itertools import combinations

    k = data.draw(st.integers(1, len(reductions)))
    values = [0.0 if r is None else r for r in reductions]
    for kept, own in ((False, values), (True, [max(v, 0.0) for v in values])):
        every = [max(c) for c in combinations(own, k)]
        assert reduction_at_k(reductions, k, keeps_original=kept) == pytest.approx(np.mean(every))
    for wrong in (0, len(reductions) + 1):
        with pytest.raises(DataError, match=f"expected 1 to {len(reductions)}"):
            reduction_at_k(reductions, wrong)


def test_even_points_pass_over_what_is_taken_and_leftovers_come_too() -> None:
    few = Space.of([Knob("a", [1, 2, 3]), Knob("b", [1, 2])])
    asker = Sobol(few, seed=2)
    first = asker.ask(4).frame.rows()
    rest = asker.ask(9).frame.rows()
    assert len(set(first) | set(rest)) == 6
    assert (len(first), len(rest)) == (4, 2)
    again = Sobol(few, seed=2)
    assert [again.ask(1).frame.rows()[0] for _ in range(4)] == first
    assert Sobol(few, seed=3).ask(4).frame.rows() != first
    none = Sobol(Space((Knob("x", low=0.0, high=1.0),), (lambda s: False,)))
    with pytest.raises(DataError, match="the constraints allowed none of 16384 points"):
        none.ask(1)
    assert Exhaustive(few).ask(3).frame.rows() == [(1, 1), (1, 2), (2, 1)]
    with pytest.raises(DataError, match="endless or too large to list: use Sobol"):
        Exhaustive(Knob("x", low=0.0, high=1.0)).ask(1)


def test_of_two_the_first_objective_does_not_win_by_what_nobody_notices() -> None:
    """64 nodes are 0.1 % faster than 16 for 3.4 times the energy; 4 % faster is told apart."""
    noise = np.array([[91.02, 1540.0], [91.1, 454.0]])
    faster = np.array([[87.5, 1540.0], [91.1, 454.0]])
    cheap = np.array([[91.02, 454.3], [91.1, 454.0]])
    heights = knee_heights(np.stack([noise, noise[::-1], faster, cheap]))
    assert heights.argmin(axis=1).tolist() == [1, 0, 0, 0]
    assert [knee_index(y) for y in (noise, noise[::-1], faster, cheap)] == [1, 0, 0, 0]
