"""Which measurement decides most: against the exact expectation of two settings."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.tradeoff.decisive import most_decisive


def expected_loss(mean, covariance, group, row, noise, rng):
    """Mean true cost of what is taken after measuring ``row``, by simulation."""
    truth = rng.multivariate_normal(mean, covariance, 20_000)
    seen = truth[:, row] + noise * rng.standard_normal(len(truth))
    slope = covariance[:, row] / (covariance[row, row] + noise**2)
    after = mean + np.outer(seen - mean[row], slope)
    taken = group[np.argmin(after[:, group], axis=1)]
    return truth[np.arange(len(truth)), taken].mean()


def test_the_row_named_first_is_the_one_whose_measurement_saves_most():
    rng = np.random.default_rng(0)
    right = 0
    for _ in range(12):
        root = rng.normal(0, 1, (4, 4))
        mean, spread = rng.normal(0, 0.5, 4), 0.1 * root @ root.T
        group = np.arange(4)
        loss = [expected_loss(mean, spread, group, r, 0.05, rng) for r in range(4)]
        right += loss[most_decisive(mean, spread, [group], 1)[0]] <= min(loss) + 0.02
    assert right >= 10


def test_nothing_is_named_where_all_is_decided_or_there_is_no_choice():
    sure = np.zeros((3, 3))
    assert most_decisive(np.arange(3.0), sure, [np.arange(3)], 3) == []
    assert most_decisive(np.arange(3.0), np.eye(3), [np.array([1])], 3) == []


def test_measured_rows_and_rows_named_before_are_not_named_again():
    named = most_decisive(np.zeros(5), np.eye(5), [np.arange(5)], 5, measured=[2])
    assert sorted(named) == [0, 1, 3, 4]


def test_of_two_rows_that_depend_on_a_third_the_third_is_named():
    """Both groups turn on what the shared row says: measuring it decides both."""
    base = np.array([[1.0, 0.97, 0.97], [0.97, 1.0, 0.9], [0.97, 0.9, 1.0]])
    spread = np.zeros((5, 5))
    spread[:3, :3] = base
    spread[3:, 3:] = 1e-6 * np.eye(2)
    mean = np.zeros(5)
    groups = [np.array([1, 3]), np.array([2, 4])]
    assert most_decisive(mean, spread, groups, 1, noise=0.01) == [0]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_more_are_named_than_asked(number):
    assert len(most_decisive(np.zeros(4), np.eye(4), [np.arange(4)], number)) == number
