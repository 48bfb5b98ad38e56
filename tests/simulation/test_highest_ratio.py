"""The tournament by ratio of waiting to cost: whom it names is who a look at all would find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.simulation.serving import highest_ratio as kinetic

COMPILED = ("tournament", "place", "highest_ratio", "_meet", "_ahead_s")


@pytest.fixture(scope="module")
def plain():
    """As it is written, not compiled: seconds less."""
    with pytest.MonkeyPatch.context() as patch:
        for name in COMPILED:
            function = getattr(kinetic, name)
            patch.setattr(kinetic, name, getattr(function, "py_func", function))
        yield kinetic


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), grid=st.sampled_from([1, 8, 2**40]),
    spread=st.sampled_from([1.0, 1e-13, 1e6]), start_s=st.sampled_from([0.0, 1e9]),
)  # fmt: skip
def test_the_winner_is_the_one_a_scan_finds_while_requests_come_and_go(
    plain, seed, grid, spread, start_s
):
    """Coarse grids give ties, a small spread of costs ties but for the last digits.

    Often it is asked at the last moment that it says a winner holds.
    """
    rng, n = np.random.default_rng(seed), 30
    cost = 1.0 + spread * np.ceil(grid * rng.random(n)) / grid
    submit = start_s + np.cumsum(np.floor(grid * rng.exponential(1.0, n)) / grid)
    tree, waits, now, coming = plain.tournament(n), [], start_s, 0
    while coming < n or waits:
        last = tree[1][1]
        now = last if now < last < now + 9.0 else now + np.floor(grid * rng.exponential()) / grid
        while coming < n and submit[coming] <= now:
            plain.place(tree, coming, coming, now, submit, cost)
            waits.append(coming)
            coming += 1
        if waits:
            best = max(waits, key=lambda i: ((now - submit[i]) / cost[i], -i))
            assert plain.highest_ratio(tree, now, submit, cost) == best
            assert tree[1][1] >= now
            leaves = best if rng.random() < 0.5 else int(rng.choice(waits))
            plain.place(tree, leaves, -1, now, submit, cost)
            waits.remove(leaves)
    assert plain.highest_ratio(tree, now, submit, cost) == -1


def test_nobody_is_asked_again_before_somebody_can_overtake(plain):
    """10 s waited for a cost of 10 against 1 s for a cost of 2: level after 10 / 8 s."""
    submit, cost = np.array([0.0, 9.0]), np.array([10.0, 2.0])
    tree = plain.tournament(2)
    for row in (0, 1):
        plain.place(tree, row, row, 10.0, submit, cost)
    assert plain.highest_ratio(tree, 10.0, submit, cost) == 0
    assert tree[1][1] == pytest.approx(10.0 + (10 * 2 - 1 * 10) / (10 - 2), rel=1e-6)
    assert plain.highest_ratio(tree, 11.25, submit, cost) == 0
    assert plain.highest_ratio(tree, 11.5, submit, cost) == 1
    assert tree[1][1] == math.inf
