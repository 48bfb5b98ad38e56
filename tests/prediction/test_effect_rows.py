"""Rows of a log weighed by what they tell, and every draw that is learned of them, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from rheostat.prediction.effects import weighed_rows
from rheostat.prediction.effects.hierarchy import (
    AGAIN,
    ROUNDS,
    TAIL,
    Prior,
    _cluster_weights,
    _noise,
    _State,
    learn,
)
from rheostat.prediction.effects.job_noise import job_noise
from rheostat.prediction.effects.neighbours import beside
from rheostat.prediction.effects.problem_levels import fit_problem_levels
from rheostat.prediction.effects.unlike_jobs import of_turned, wary
from rheostat.prediction.effects.weighed_rows import (
    even,
    group_means,
    guess_slopes,
    less_neighbours,
    problem_variances,
    unlike_runs,
)
from rheostat.prediction.intervals import PERMUTATIONS, row_hash
from tests.prediction.effect_rows import rows


def test_every_draw_is_the_posterior_of_its_own_draw_of_the_population():
    """Bayes' rule for each draw and application: (P + 1/S)^-1 (h + m/S), with Student's tails."""
    data, draws, size, q = np.random.default_rng(0), 5, 4, 2
    app, user = np.repeat([0, 1, 3], [6, 5, 4]), np.arange(15) % 3
    x = data.standard_normal((15, q)) * (app != 1)[:, None]  # application 1 never varies
    y = x @ [2.0, -1.0] + 0.3 * data.standard_normal(15)
    prior = Prior(np.array([1.0, 0.0]), np.array([3.0, 2.0]), np.array([0.4, 0.7]), np.arange(q))
    lost = np.array([1.0, 1.0, 0.0, 1.0])
    made = learn(x, y, app, user, prior, lost, draws=draws, rng=np.random.default_rng(9))

    rng, noise = np.random.default_rng(9), _noise(x, y, app, lost)
    telling = [0, 3]
    precision = np.stack([x[app == a].T @ x[app == a] / noise[a] ** 2 for a in telling])
    evidence = np.stack([x[app == a].T @ y[app == a] / noise[a] ** 2 for a in telling])
    state = _State(precision, evidence, prior)
    plain = state.spread(np.diag([0.16, 0.49]), ROUNDS, np.ones(2))
    weight = _cluster_weights(app, user, size, draws, rng)[:, telling]
    normal = rng.standard_normal((draws, q))
    tail = np.sqrt(TAIL / rng.chisquare(TAIL, (draws, size + 1, 1)))
    strange = rng.standard_normal((draws, 3, q))
    own = rng.standard_normal((draws, 2, q))
    for b in range(draws):
        spread = state.spread(plain, AGAIN, weight[b])
        middle, covariance, _ = state.population(spread)
        middle = middle + np.linalg.cholesky(covariance) @ normal[b]
        assert made.mean[b] == pytest.approx(middle, abs=1e-6)
        for i, a in enumerate([1, 2, size]):
            away = np.linalg.cholesky(spread) @ strange[b, i]
            wanted = middle + tail[b, a] * away
            assert made.weights[b, a] == pytest.approx(wanted, abs=1e-6)
        for i, a in enumerate(telling):
            inverse = np.linalg.inv(spread)
            posterior = np.linalg.inv(precision[i] + inverse)
            centre = posterior @ (evidence[i] + inverse @ middle)
            wanted = centre + tail[b, a] * (np.linalg.cholesky(posterior) @ own[b, i])
            assert made.weights[b, a] == pytest.approx(wanted, abs=1e-6)
    assert made.noise.tolist() == noise.tolist()


def test_problems_add_the_variance_that_runs_of_one_do_not_show():
    """Henderson's method of moments: what is expected of squares with and without problems."""
    problem, cell = np.array([3, 3, 3, 8, 8, 1, 1, 1, 1]), np.array([0] * 5 + [1] * 4)
    rest = np.array([1.0, 2.0, 3.0, -3.0, -3.0, 0.5, -0.5, 0.1, -0.1])
    within = (2.0 + 0.0 + 0.52) / (9 - 3)
    free = 9 - (3**2 / 5 + 2**2 / 5 + 4**2 / 4)
    excess = (rest @ rest - within * (9 - 2)) / free
    assert problem_variances(rest, problem, cell) == pytest.approx((within, excess))
    assert problem_variances(rest, np.arange(9), cell) == (1.0, 0.0)
    flat = np.array([1.0, -1.0, 1.0, -1.0])
    assert problem_variances(flat, np.array([0, 0, 1, 1]), np.zeros(4, int)) == (2.0, 0.0)
    assert problem_variances(0 * flat, np.array([0, 0, 1, 1]), np.zeros(4, int)) == (1e-9, 0.0)
    three = problem_variances(np.array([1.0, -1.0, 0.0]), np.array([0, 0, 1]), np.zeros(3, int))
    assert three[0] == pytest.approx(2.0)
    wide = rest * 2
    same, between = problem_variances(rest, problem, cell)
    apart = np.sqrt(max(wide @ wide / 9 - same, between))
    assert wide @ wide / 9 - same > between
    assert unlike_runs(wide, rest, problem, cell) == pytest.approx((apart, between))
    assert unlike_runs(0 * wide, rest, problem, cell) == pytest.approx((np.sqrt(between), between))
    assert unlike_runs(wide, rest, np.arange(9), cell) == (0.0, 0.0)


def test_problems_that_many_users_run_add_no_more_variance_than_there_is():
    """Drawn with known variances, each problem in several cells, as scripts that a group shares."""
    rng, n = np.random.default_rng(11), 6000
    problem, cell = rng.integers(0, 150, n), rng.integers(0, 200, n)
    drawn = rng.normal(0, 0.5, 150)[problem] + rng.normal(0, 2.0, 200)[cell]
    drawn += rng.normal(0, 0.2, n)
    rest = drawn - (np.bincount(cell, drawn) / np.bincount(cell))[cell]
    within, between = problem_variances(rest, problem, cell)
    assert (within, between) == (pytest.approx(0.04, rel=0.05), pytest.approx(0.25, rel=0.15))
    once = problem_variances(rest[:3] - rest[:3].mean(), np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert once == (1.0, 0.0)  # no run of a problem is left when both means are taken


def test_guesses_follow_requests_and_sizes_by_application():
    """Ridge to the slope of all, ten runs strong; columns of requests share one scale."""
    rng, n = np.random.default_rng(10), 30
    app, cell = np.arange(n) % 2, np.arange(n) % 4
    request = rng.standard_normal((n, 2)) * [1.0, 3.0]
    size, guess = 0.01 * rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
    made = guess_slopes(rows(n, app=app, cell=cell, request=request, size=size, guess=guess), 3)
    less = lambda v: np.stack([c - np.array([c[cell == k].mean() for k in range(4)])[cell]  # noqa: E731
                               for c in v.T], axis=1)  # fmt: skip
    x, g = less(np.concatenate([request, size], axis=1)), less(guess)
    common = np.linalg.lstsq(x, g, rcond=None)[0]
    scale = (x[:, :2] ** 2).mean()
    pull = 10.0 * np.diag([scale, scale, (x[:, 2] ** 2).mean()])
    for a in range(2):
        mine = app == a
        wanted = np.linalg.solve(x[mine].T @ x[mine] + pull, x[mine].T @ g[mine] + pull @ common)
        assert made[a] == pytest.approx(wanted)
    assert made[2] == pytest.approx(common)
    assert made[3] == pytest.approx(common)
    assert made.shape == (4, 3, 2)
    still = guess_slopes(
        rows(n, app=app, cell=cell, request=0 * request, size=size, guess=guess), 2
    )
    assert np.isfinite(still).all()


def test_what_runs_of_a_problem_share_counts_by_how_little_is_their_own():
    """Generalised least squares: the mean of k runs is weighed by w / (w + k b)."""
    rng = np.random.default_rng(21)
    problem, cell = np.repeat(np.arange(12), 3), np.repeat([0, 1], 18)
    x = rng.standard_normal((36, 2))
    y = x @ [1.0, -2.0] + rng.standard_normal(12)[problem] + 0.1 * rng.standard_normal(36)
    flat = np.column_stack([x, y])
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    within, between = problem_variances(rest, problem, cell)
    assert between > 10 * within
    kept = np.sqrt(within / (within + 3 * between))
    means = flat.reshape(12, 3, 3).mean(axis=1)[problem]
    assert even(flat, problem, cell) == pytest.approx(flat - (1 - kept) * means)
    single = flat[:4]
    assert even(single, np.arange(4), np.zeros(4, int)) == pytest.approx(single)


def test_a_turned_job_is_taken_less_what_its_neighbours_say_and_weighed_by_that(monkeypatch):
    """Of the outcome what the setting does is taken off first; requests betray the rest."""
    weights = np.stack([np.full((3, 3), 1.0), np.full((3, 3), 3.0)])  # 2 in the mean of draws
    weights[:, -1] = 9.0
    flat = np.arange(8.0).reshape(2, 4)
    hierarchy = SimpleNamespace(weights=weights, noise=np.array([0.5, 0.6, 9.0]))
    jobs = rows(2, app=np.array([0, 1]), cell=np.array([4, 5]), turned=np.array([True, False]))
    seen = []
    told = np.array([0.25, 0.0]), np.array([2.0, 1.0])
    monkeypatch.setattr(weighed_rows, "beside", lambda *given: seen.append(given) or told)
    own, level = np.array([0.3, 0.0]), np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    made = less_neighbours(level, flat, hierarchy, jobs, 1, own)
    left, betrayed, cell, turned = seen[0]
    assert left.tolist() == [3.0 - 0.0, 7.0 - 8.0]
    assert betrayed.tolist() == [2 * (1 + 2), 2 * (5 + 6)]
    assert (cell.tolist(), turned.tolist()) == ([4, 5], [True, False])
    surer = np.sqrt(np.array([0.25 / (0.25 / 4 + 0.09), 1.0]))
    assert made == pytest.approx(np.array([[1, 2, 3, 3.75], [5, 6, 7, 8.0]]) * surer[:, None])
    assert level[0, 3] == 4.0


def test_levels_of_problems_are_of_rows_that_have_one():
    rest, code = np.array([7.0, 1.0, 3.0, -2.0]), np.array([-1, 0, 0, 1])
    noise, request = np.array([9.0, 0.4, 0.6, 0.5]), np.array([[0.0], [2.0], [4.0], [8.0]])
    made = fit_problem_levels(rest, request, code, noise, 1.0)
    own = np.array([1 / (1 + 0.25 / 2), 1 / 1.25])
    assert made.level == pytest.approx(own * [2.0, -2.0])
    assert made.sd == pytest.approx(0.5 * np.sqrt(1 + own / [2, 1]))
    assert made.request.tolist() == [[3.0], [8.0]]
    assert fit_problem_levels(rest, request, np.full(4, -1), noise, 1.0) is None


def test_what_a_setting_does_to_one_job_is_spread_by_how_its_application_scales():
    """0.2 of the log turned where nodes gain nothing, 0.3 of that at perfect division."""
    weights = np.zeros((2, 3, 3))
    weights[:, 0, :2] = [[1.0, 2.0], [3.0, 4.0]]  # the mean of its draws is 2 and 3
    weights[:, 2] = 99.0  # of an application not seen
    away = np.array([[0.1, 0.2], [0.0, 0.3], [0.5, 0.5]])
    jobs = rows(3, app=np.array([0, 1, 0]), log_asked=np.array([[1.0], [2.0], [3.0]]),
                log_run=np.array([[2.0], [1.0], [3.0]]))  # fmt: skip
    made = of_turned(SimpleNamespace(weights=weights), jobs, away, -1.0)
    departed = np.array([0.2 + 0.6, 0.0])
    assert made[:2] == pytest.approx(0.2 * (0.3 + 0.7 * departed))
    assert made[2] == 0.0


def test_thirty_jobs_that_ran_as_asked_tell_what_a_neighbour_says():
    """Pairs of users' runs; the first of some was turned."""
    for plain in (29, 30):
        n = 2 * plain
        turned = np.arange(n) % 2 == 0
        q = np.random.default_rng(1).standard_normal(plain).repeat(2)
        off, surer = beside(q, np.zeros(n), np.arange(n) // 2, turned)
        assert (off[turned] != 0).all() == (plain == 30)
        assert (surer[turned] > 1).all() == (plain == 30)
    same = beside(np.full(60, 0.3), np.zeros(60), np.arange(60) // 2, np.arange(60) % 2 == 0)
    assert same[1].tolist() == [1.0] * 60  # never less sure


def test_means_of_groups_and_the_bad_half_of_a_forecast():
    values = np.array([[1.0, 4.0], [3.0, 0.0], [5.0, 5.0]])
    assert group_means(values, np.array([7, 7, 2])).tolist() == [[2, 2], [2, 2], [5, 5]]
    assert wary(np.array([[-0.3], [0.0], [0.6]]))[:, 0] == pytest.approx([0.0, 0.0, 0.5])


def test_a_job_s_scores_are_orders_of_normal_quantiles_that_its_hash_chooses():
    orders = np.stack([np.random.default_rng(i).permutation(4) for i in range(PERMUTATIONS)])
    coded = rows(2, cell=np.array([3, 5]), app=np.array([1, 0]), size=np.array([[2.0], [4.0]]),
                 log_asked=np.array([[0.5], [0.7]]), guess=np.array([[6.0], [8.0]]))  # fmt: skip
    group = row_hash(np.array([[3.0, 1.0], [5.0, 0.0]]))
    quantiles = norm.ppf([1 / 8, 3 / 8, 5 / 8, 7 / 8])
    unnamed, named = pl.DataFrame({"x": [0, 0]}), pl.DataFrame({"job_id": [11, 12]})
    for frame, more in ((unnamed, np.empty((2, 0))), (named, np.array([[11.0], [12.0]]))):
        facts = np.array([[3.0, 0.5, 2.0, 6.0], [5.0, 0.7, 4.0, 8.0]])
        mine = row_hash(np.concatenate([facts, more], axis=1))
        made = job_noise(frame, coded, orders, 3)
        assert len(made) == 3
        for i, (shared, own) in enumerate(made):
            for n in range(2):
                for got, number in ((shared, int(group[n])), (own, int(mine[n]))):
                    order = orders[number // PERMUTATIONS**i % PERMUTATIONS]
                    assert got[:, n] == pytest.approx(quantiles[order])
