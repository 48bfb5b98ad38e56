"""Applications that lend each other strength: what pulls, what stays wide, and how wide."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.prediction.effects.hierarchy import (
    PRIOR_WORTH,
    Prior,
    _cluster_weights,
    _drawn,
    _noise,
    _State,
    learn,
)


def world(apps=60, each=20, between=0.5, noise=0.2, seed=0):
    """One slope per application, normal around 2."""
    rng = np.random.default_rng(seed)
    app, slopes = np.repeat(np.arange(apps), each), 2 + between * rng.standard_normal(apps)
    x = rng.standard_normal((len(app), 1))
    return x, slopes[app] * x[:, 0] + noise * rng.standard_normal(len(app)), app, slopes


def prior(q=1, between=0.5):
    return Prior(np.zeros(q), np.full(q, 9.0), np.full(q, between), np.zeros(q, dtype=int))


def fitted(x, y, app, *, before=None, draws=400, seed=0):
    rng, size = np.random.default_rng(seed), int(app.max()) + 1
    before = before or prior(x.shape[1])
    return learn(x, y, app, app, before, np.zeros(size), draws=draws, rng=rng)


def test_departures_have_the_tails_of_student_s_t_and_not_of_the_normal_law():
    """Of an application with few runs and of one not seen."""
    x, y, app, _ = world(apps=40, each=4)
    made = fitted(x, y, app, draws=6000)
    for who in (0, -1):
        away = made.weights[:, who, 0] - np.median(made.weights[:, who, 0])
        far, near = np.quantile(np.abs(away), [0.985, 0.5])
        assert 4.3 < far / near < 5.6  # 5.0 of 5 degrees of freedom, 3.6 of the normal law


def state(slopes, said, between, before, spread=None):
    """Applications whose own answers ``slopes`` have the precisions ``said``, one weight each."""
    precision = np.asarray(said, float)[:, None, None]
    made = _State(precision, precision[..., 0] * np.asarray(slopes, float)[:, None], before)
    return made, np.full((1, 1), between if spread is None else spread)


def by_hand(slopes, said, spread, before):
    """Precision of each answer as of the population, its mean, its variance; then each answer."""
    weight = 1 / (spread + 1 / np.asarray(said, float))
    total = weight.sum() + 1 / before.sd[0] ** 2
    mean = (weight @ slopes + before.mean[0] / before.sd[0] ** 2) / total
    own = 1 / (np.asarray(said, float) + 1 / spread)
    return mean, 1 / total, own * (np.asarray(said) * slopes + mean / spread), own


SLOPES, SAID = np.array([1.0, 2.0, 4.0]), np.array([4.0, 1.0, 25.0])


def test_the_population_is_the_mean_of_answers_weighed_by_what_they_are_worth():
    before = Prior(np.array([0.5]), np.array([2.0]), np.array([0.3]), np.zeros(1, dtype=int))
    made, spread = state(SLOPES, SAID, 0.7, before)
    mean, covariance, shrink = made.population(spread)
    centre, own = made.applications(mean, spread, shrink)
    wanted = by_hand(SLOPES, SAID, 0.7, before)
    assert (mean.item(), covariance.item()) == pytest.approx(wanted[:2])
    assert centre[:, 0] == pytest.approx(wanted[2])
    assert own[:, 0, 0] == pytest.approx(wanted[3])


def test_the_spread_between_applications_is_what_is_expected_of_it_and_the_prior():
    """One round of expectation-maximisation, written out."""
    before = Prior(np.zeros(1), np.array([2.0]), np.array([0.3]), np.zeros(1, dtype=int))
    made, start = state(SLOPES, SAID, 0.7, before)
    weight = np.array([1.0, 3.0, 0.5])
    mean, unsure, centre, own = by_hand(SLOPES, SAID, 0.7, before)
    pull = 1 / (1 + 0.7 * SAID) - 1
    square = own + pull**2 * unsure + (centre - mean) ** 2
    wanted = (weight @ square + PRIOR_WORTH * 0.3**2) / (weight.sum() + PRIOR_WORTH)
    assert made.spread(start, 1, weight).item() == pytest.approx(wanted)
    assert made.spread(start, 2, weight).item() == pytest.approx(
        made.spread(np.full((1, 1), wanted), 1, weight).item())  # fmt: skip


def test_weights_of_different_blocks_do_not_go_together():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((5, 3, 3))
    precision, blocks = root @ np.swapaxes(root, 1, 2), np.array([0, 0, 1])
    before = Prior(np.zeros(3), np.ones(3), np.ones(3), blocks)
    made = _State(precision, rng.standard_normal((5, 3)), before)
    spread = made.spread(np.eye(3), 3, np.ones(5))
    assert (spread[2, :2] == 0).all()
    assert spread[0, 1] != 0
    assert spread == pytest.approx(spread.T)


def test_the_noise_of_an_application_is_its_own_and_that_of_all():
    """(own squares + 8 times the common variance) / (own degrees of freedom + 8)."""
    rng = np.random.default_rng(2)
    app = np.repeat([0, 1, 2], [40, 10, 2])
    x, spread = rng.standard_normal((52, 1)), np.array([0.5, 2.0, 9.0])[app]
    y, lost = 3 * x[:, 0] + spread * rng.standard_normal(52), np.array([1.0, 1.0, 1.0])
    squares, free = [], np.array([38.0, 8.0, 0.0])
    for a in range(3):
        own, gram = app == a, float(x[app == a, 0] @ x[app == a, 0])
        slope = float(x[own, 0] @ y[own]) / (gram + 1e-3 * (1 + gram))
        squares.append(float(((y - slope * x[:, 0])[own] ** 2).sum()) * (free[a] > 0))
    common = sum(squares) / 46.0
    wanted = [np.sqrt((s + 8 * common) / (f + 8)) for s, f in zip(squares, free, strict=True)]
    assert _noise(x, y, app, lost) == pytest.approx([*wanted, np.sqrt(common)])
    assert _noise(x[:2], y[:2], app[:2], lost) == pytest.approx([np.std(y[:2])] * 4)
    assert _noise(0 * x, 0 * y, app, lost) == pytest.approx(
        np.sqrt(8e-8 / (np.array([*free, 0.0]) + 8)))  # fmt: skip


def test_a_column_that_hardly_varies_is_held_by_the_ridge():
    """A thousandth of one and of the mean square of the columns."""
    x = np.array([[0.1, 0.0], [-0.1, 0.02], [0.1, -0.02], [-0.1, 0.0], [0.0, 0.1]])
    y, zero = np.array([1.0, -1.0, 1.2, -0.9, 0.4]), np.zeros(5, dtype=int)
    gram = x.T @ x
    slope = np.linalg.solve(gram + 1e-3 * (1 + np.trace(gram) / 2) * np.eye(2), x.T @ y)
    common = ((y - x @ slope) ** 2).sum() / (5 - 1 - 2)
    assert _noise(x, y, zero, np.ones(1)) == pytest.approx([common**0.5] * 2)


def test_clusters_are_drawn_as_smooth_weights_of_mean_one():
    """The weight of an application is its own times those of its users, by their shares."""
    app, user = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    made = _cluster_weights(app, user, 3, 500, np.random.default_rng(3))
    again = np.random.default_rng(3)
    by_user, by_app = again.exponential(size=(500, 2)), again.exponential(size=(500, 3))
    share = np.array([[0.75, 0.25], [0.0, 1.0], [0.0, 0.0]])
    wanted = by_app * (by_user @ share.T)
    assert made == pytest.approx(3 * wanted / wanted.sum(axis=1, keepdims=True))


def test_draws_have_the_covariance_that_is_asked_for():
    wanted = np.array([[2.0, -0.6], [-0.6, 0.5]])
    drawn = _drawn(wanted, (20_000, 2), np.random.default_rng(4))
    assert np.cov(drawn.T) == pytest.approx(wanted, abs=0.05)
    assert drawn.mean(axis=0) == pytest.approx([0, 0], abs=0.04)


def test_many_runs_keep_their_answer_few_are_pulled_and_none_is_as_wide_as_the_population():
    x, y, app, slopes = world(apps=40, each=30)
    few = (app != 7) | (np.arange(len(app)) % 30 == 0)
    made = fitted(x[few], y[few], app[few], draws=300)
    centre, wide = made.weights.mean(axis=0)[:, 0], made.weights.std(axis=0)[:, 0]
    others = np.arange(40) != 7
    assert np.abs(centre[:-1] - slopes)[others].max() < 0.2
    assert wide[:-1][others] == pytest.approx(np.full(39, 0.2 / np.sqrt(30) * np.sqrt(5 / 3)),
                                             rel=0.6)  # fmt: skip
    assert centre[-1] == pytest.approx(slopes.mean(), abs=0.15)
    assert wide[-1] == pytest.approx(0.5 * np.sqrt(5 / 3), rel=0.25)
    assert made.mean.std() == pytest.approx(0.5 / np.sqrt(40), rel=0.5)
    assert made.noise == pytest.approx(np.full(41, 0.2), rel=0.35)
    assert wide[7] > 2 * wide[:-1][others].mean()
