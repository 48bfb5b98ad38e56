"""Levels of users' applications: how far they are pulled, how far off, what drifts."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.prediction.effects.levels import EffectLevels, centred, drift, fit_levels, mean_errors


def test_a_row_is_placed_with_the_narrowest_group_that_is_known():
    levels = EffectLevels(np.zeros(6), np.zeros((6, 1)), np.zeros(6), 3)
    places = levels.place(np.array([2, 0, -1, -1, -1]), np.array([1, 0, 0, 1, -1]))
    assert places.tolist() == [2, 0, 3, 4, 5]


def rows():
    """Five users of three applications, (x, y, cell, app)."""
    rng = np.random.default_rng(0)
    cell = np.repeat(np.arange(5), [2, 7, 1, 4, 3])
    return (rng.standard_normal((17, 2)), rng.standard_normal(17), cell,
            np.array([0, 0, 1, 1, 2])[cell])  # fmt: skip


def test_a_level_is_the_mean_of_its_rows_pulled_to_its_application_s():
    x, y, cell, app = rows()
    weights, errors = np.array([[1.0, 0.2], [-0.5, 0.0], [0.3, 0.3]]), np.arange(1, 6) / 50
    made = fit_levels(x, y, cell, app, weights, errors)
    gaps, means = [], []
    for c in range(5):
        own, a = cell == c, int(app[cell == c][0])
        inside = app == a
        up, across = y[own].mean() - y[inside].mean(), x[own].mean(0) - x[inside].mean(0)
        gaps.append(up - across @ weights[a])
        means.append((y[inside].mean(), x[inside].mean(0), up, across))
    share = np.array([[2 / 9, 7 / 9, 0, 0, 0], [0, 0, 1 / 5, 4 / 5, 0], [0, 0, 0, 0, 1]])
    of = np.array([0, 0, 1, 1, 2])
    spread = np.eye(5) - share[of]  # how a gap is made of the levels of cells
    chance = (spread**2 @ errors).sum()
    between = (np.sum(np.array(gaps) ** 2) - chance) / (spread**2).sum()
    assert between > 0.01
    of_app = share**2 @ (between + errors)
    for c, (error, (level, place, up, across)) in enumerate(zip(errors, means, strict=True)):
        own = between / (between + error)
        assert made.y[c] == pytest.approx(level + own * up)
        assert made.x[c] == pytest.approx(place + own * across)
        assert made.sd[c] == pytest.approx(np.sqrt(own * error + (1 - own) ** 2 * of_app[of[c]]))
    of_apps = [y[app == a].mean() for a in range(3)]
    assert made.y[5:] == pytest.approx([*of_apps, np.mean(of_apps)])
    assert made.x[7] == pytest.approx(x[app == 2].mean(0))
    assert made.x[8] == pytest.approx(np.mean([x[app == a].mean(0) for a in range(3)], axis=0))
    assert made.sd[5:] == pytest.approx([*np.sqrt(between + of_app), np.std(of_apps)])


def test_users_that_do_not_differ_are_their_application_and_one_application_says_little():
    x, cell = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    made = fit_levels(x, np.array([1.0, 3.0, 2.0, 2.0]), cell, 0 * cell, np.zeros((1, 1)),
                      np.full(2, 0.5))  # fmt: skip
    assert made.y == pytest.approx([2.0] * 4)
    assert made.sd[2:] == pytest.approx([0.5, 1.0], rel=1e-3)
    two = fit_levels(x, np.array([1.0, 3.0, 8.0, 8.0]), cell, cell, np.zeros((2, 1)),
                     np.full(2, 0.5))  # fmt: skip
    assert two.sd[-1] == pytest.approx(3.0)
    assert two.sd[:2] == pytest.approx(np.sqrt([0.5, 0.5]))


def test_a_level_is_as_far_off_as_it_says():
    """Users of applications with one, two or five users, drawn from known spreads."""
    rng = np.random.default_rng(3)
    app = np.repeat(np.arange(3000), np.tile([1, 2, 5], 1000))
    runs = rng.integers(1, 9, len(app))
    true = rng.normal(0, 3, 3000)[app] + 0.5 * rng.standard_normal(len(app))
    cell = np.repeat(np.arange(len(app)), runs)
    y = true[cell] + 0.8 * rng.standard_normal(len(cell))
    x, error = np.zeros((len(cell), 1)), 0.64 / runs
    made = fit_levels(x, y, cell, app[cell], np.zeros((3000, 1)), error)
    off = (made.y[: len(app)] - true) / made.sd[: len(app)]
    for users in (1, 2, 5):
        alike = np.bincount(app)[app] == users
        assert off[alike].std() == pytest.approx(1.0, abs=0.05)


def test_a_mean_of_few_problems_is_as_unsure_as_they_are_few():
    cell, problem = np.array([0, 0, 0, 0, 1, 1]), np.array([5, 5, 5, 6, 7, 8])
    made = mean_errors(cell, np.full(6, 1.0), 0.0, problem, 0.9)
    assert made == pytest.approx([0.1 / 4 + 0.9 * 10 / 16, 0.5])
    assert mean_errors(cell, np.full(6, 2.0), 0.3, np.arange(6), 0.0) == pytest.approx(
        [2 * (0.3 + 0.7 / 4), 2 * (0.3 + 0.7 / 2)]
    )


def test_what_the_halves_of_a_cell_have_in_common_is_the_drift():
    """Their squared distance less what chance makes of it, halved, beside the variance within."""
    cell = np.array([0, 1] * 4 + [1, 1, 1, 0, 0, 2, 2, 2, 2, 2])
    rest = np.random.default_rng(1).standard_normal(len(cell)) + 2.0 * (np.arange(len(cell)) > 7)
    gaps, within = 0.0, 0.0
    for c, known in ((0, True), (1, True), (2, False)):
        own = rest[cell == c]
        first, second = own[: len(own) // 2], own[len(own) // 2 :]
        assert (min(len(first), len(second)) >= 3) == known
        if known:
            squares = sum(((h - h.mean()) ** 2).sum() for h in (first, second))
            variance = squares / (len(own) - 2)
            chance = variance * (1 / len(first) + 1 / len(second))
            gaps += (first.mean() - second.mean()) ** 2 - chance
            within += variance
    assert drift(rest, cell) == pytest.approx(gaps / 2 / (gaps / 2 + within))
    assert 0.2 < drift(rest, cell) < 0.9
    assert drift(np.repeat([0.0, 9.0], 5) + 0.01 * np.arange(10) % 3, np.zeros(10, int)) == 0.9
    assert drift(np.array([0.0, 9.0, 5.0, 0.0, 9.0]), np.zeros(5, int)) == 0.0
    assert drift(np.zeros(8), np.zeros(8, int)) == 0.0


def test_groups_are_centred_column_by_column():
    values, code = np.array([[1.0, 5.0], [3.0, 5.0], [8.0, 0.0]]), np.array([2, 2, 0])
    assert centred(values, code).tolist() == [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
