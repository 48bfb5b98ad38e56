"""The best of k against every subset."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import DataError
from rheostat.tradeoff.variants.best_of_k import reduction_at_k

REDUCTIONS = st.lists(st.none() | st.floats(-1, 1), min_size=1, max_size=8)


@given(REDUCTIONS, st.data(), st.booleans())
@settings(deadline=None)
def test_it_is_the_mean_over_all_subsets(reductions, data, keeps_original) -> None:
    k = data.draw(st.integers(1, len(reductions)))
    counted = [0.0 if e is None else e for e in reductions]
    counted = [max(e, 0.0) for e in counted] if keeps_original else counted
    expected = np.mean([max(some) for some in combinations(counted, k)])
    value = reduction_at_k(reductions, k, keeps_original=keeps_original)
    assert value == pytest.approx(expected, abs=1e-12)


def test_failures_count_as_nothing_gained() -> None:
    assert reduction_at_k([0.35] * 81 + [None] * 19, 1) == pytest.approx(0.2835)


@pytest.mark.parametrize("k", [0, 3])
def test_k_beyond_the_candidates_is_refused(k) -> None:
    with pytest.raises(DataError, match="expected 1 to 2"):
        reduction_at_k([0.1, 0.2], k)
