"""Small cases of the effects of settings, written out: every draw, slope and refusal by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from rheostat import table
from rheostat.prediction.effects import WithinApplication, by_request, plausible
from rheostat.prediction.effects.believed import (
    FEWEST_TURNED,
    FOLLOWED,
    PARTLY,
    _placebo,
    _size_error,
    contradiction,
    examine,
    exponent_by_chance,
    moved_by_chance,
)
from rheostat.prediction.effects.by_request import SURE, fit_by_request
from rheostat.prediction.effects.doubts import (
    Slope,
    hidden_spread,
    moves_with_chance,
    noise_of_repeats,
    placebo,
    within_slope,
)
from rheostat.prediction.effects.effect_coding import Rows
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
from rheostat.prediction.effects.plausible import backwards, least_watts
from rheostat.prediction.effects.problem_levels import fit_problem_levels
from rheostat.prediction.effects.weighed_rows import (
    group_means,
    guess_slopes,
    problem_variances,
    room,
    unlike_runs,
    unlike_turned,
    wary,
)
from rheostat.prediction.intervals import PERMUTATIONS, row_hash


def rows(n=12, **more) -> Rows:
    """Jobs of one user's application that ran as they asked, at one node."""
    zero, none = np.zeros(n, dtype=np.int64), np.zeros((n, 0))
    made = Rows(zero, zero, zero, np.arange(n), {}, zero > 0, none, none, none, np.zeros((n, 1)),
                np.zeros((n, 1)), zero - 1)  # fmt: skip
    return replace(made, **more)


# hierarchy


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


# what a change depends on


def asked_and_turned(n=60, seed=3):
    """Jobs of three applications; a third ran at twice or half of what they asked for."""
    rng = np.random.default_rng(seed)
    asked = np.log(2.0) * rng.integers(0, 6, (n, 1))
    turned = np.arange(n) % 3 == 0
    ran = asked + np.where(turned, np.log(2.0) * rng.choice([-1, 1], n), 0.0)[:, None]
    app = np.arange(n) % 5
    return rows(n, app=app, cell=app, turned=turned, log_asked=asked, log_run=ran), rng


def test_the_slope_on_the_request_is_pulled_to_none_by_how_sure_it_is(monkeypatch):
    coded, rng = asked_and_turned()
    asked = coded.log_asked[:, 0]
    middle = asked[coded.turned].mean()
    z = (coded.log_run[:, 0] - asked) * (asked - middle)
    flat = np.column_stack([rng.standard_normal(60), 0.7 * z + 0.1 * rng.standard_normal(60)])
    told = within_slope(z, flat[:, 1], coded.cell, coded.app, flat[:, :1])
    assert told is not None
    made = fit_by_request(coded, flat, np.array([-1.0, 2.0]))
    kept = 1 - (SURE * told.error / told.value) ** 2
    assert 0.5 < kept < 1.0
    assert made.slope == pytest.approx(kept * told.value + told.error * np.array([-1.0, 2.0]))
    assert made.middle == pytest.approx(middle)
    assert made.of(coded) == pytest.approx(np.outer(made.slope, z))
    assert made.mean_of(coded) == pytest.approx(made.slope.mean() * z)
    none = fit_by_request(coded, flat, np.ones(3), by_trial=False)
    assert (none.slope.tolist(), none.middle) == ([0.0] * 3, 0.0)
    for value, there in ((SURE, False), (-SURE, False), (SURE + 1, True), (-SURE - 1, True)):
        monkeypatch.setattr(by_request, "within_slope", lambda *_, v=value: Slope(v, 1.0))
        found = fit_by_request(coded, flat, np.zeros(3))
        assert bool(found.slope.any()) is there
        assert found.middle == pytest.approx(middle)
    monkeypatch.setattr(by_request, "within_slope", lambda *_: None)
    assert fit_by_request(coded, flat, np.ones(3)).slope.tolist() == [0.0] * 3


# doubts


def test_a_slope_within_groups_is_that_of_least_squares_with_errors_by_cluster():
    """Frisch and Waugh; the sandwich of k clusters, times k / (k - 1)."""
    rng = np.random.default_rng(5)
    group, cluster = np.repeat(np.arange(6), 5), np.repeat(np.arange(10), 3)
    given = rng.standard_normal((30, 2))
    x = given @ [1.0, -2.0] + rng.standard_normal(30) + group
    y = 0.8 * x + given @ [3.0, 0.5] + 2.0 * group + 0.2 * rng.standard_normal(30)
    design = np.column_stack([x, given, np.eye(6)[group]])
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    left = x - design[:, 1:] @ np.linalg.lstsq(design[:, 1:], x, rcond=None)[0]
    rest = y - design @ weights
    sums = np.array([(left * rest)[cluster == c].sum() for c in range(10)])
    error = np.sqrt((sums**2).sum() * 10 / 9) / (left @ left)
    found = within_slope(x, y, group, cluster, given)
    assert (found.value, found.error) == pytest.approx((weights[0], error))
    assert within_slope(np.ones(30), y, group, cluster) is None
    two = np.where(np.arange(30) < 2, [*[1.0, -1.0] * 15], 0.0)
    assert within_slope(two, y, group, np.zeros(30, int)) is None
    assert within_slope(two, y, group, np.arange(30)) is not None
    small = within_slope(1e-3 * two, y, group, np.arange(30))
    assert small.value == pytest.approx((y[0] - y[1]) / 2e-3)
    still = np.concatenate([[1.0, -1.0, 1.0, -1.0], np.zeros(4)])
    pairs = np.repeat(np.arange(4), 2)
    told = within_slope(still, np.array([1.0, 0, 2, 0, 9, 0, 0, 9]), pairs, pairs)
    assert told.value == pytest.approx(0.75)  # of the two groups that vary, as the others do not
    assert told.error == pytest.approx(np.sqrt(2 * 0.5**2 * 2 / 1) / 4)


def test_exponents_differ_when_both_chance_and_advice_would_notice():
    one = Slope(0.5, 0.03)
    assert one.differs(Slope(0.5 + 0.201, 0.04))  # four errors of 0.05
    assert not one.differs(Slope(0.5 + 0.199, 0.04))
    assert not Slope(0.5, 1e-6).differs(Slope(0.6 - 1e-9, 0.0))
    assert Slope(0.5, 1e-6).differs(Slope(0.61, 0.0))
    assert not Slope(0.1, 0.0).differs(Slope(0.0, 0.0))
    assert not Slope(0.4, 0.1).differs(Slope(0.0, 0.0))
    assert Slope(1.0, 0.1).words() == "1.00 [0.84, 1.16]"


def test_what_runs_of_a_group_differ_by_beyond_noise_is_hidden():
    y, group = np.array([0.0, 0.4, 1.0, 1.0, 1.6, 7.0]), np.array([5, 5, 2, 2, 2, 9])
    spread = np.sqrt((2 * 0.2**2 + 2 * 0.2**2 + 0.4**2) / 3)
    assert hidden_spread(y, group, 0.1) == pytest.approx((spread, np.sqrt(spread**2 - 0.01)))
    assert hidden_spread(y, group, 1.0)[1] == 0.0
    assert np.isnan(hidden_spread(y, np.arange(6), 0.1)).all()


def test_a_placebo_is_the_slope_of_the_run_before_on_the_next_request():
    """Of each application by itself, at equal own requests, from twelve pairs on."""
    rng, n = np.random.default_rng(6), 90
    app = np.arange(n) % 3
    group = np.where(app == 2, np.arange(n), app)  # nothing follows in the third application
    asked, rest = rng.standard_normal(n), 0.02 * rng.standard_normal(n)
    for a in (0, 1):
        mine = np.flatnonzero(app == a)
        rest[mine[:-1]] += (0.5 if a == 0 else 0.05) * asked[mine[1:]]
    rest += 0.3 * asked**2  # what its own request tells is taken away
    found = placebo(rest, asked, group, app, 4)
    assert found.tolist() == [pytest.approx(0.5, abs=0.05), 0.0, 0.0, 0.0]
    mine = np.flatnonzero(app == 0)
    before, after = mine[:-1], mine[1:]
    own = np.column_stack([asked[before], asked[before] ** 2])
    told = within_slope(asked[after], rest[before], group[before], before, own)
    assert found[0] == told.value
    few = np.flatnonzero(app == 0)[:13]
    assert placebo(rest[few], asked[few], group[few], app[few], 1)[0] != 0.0
    assert placebo(rest[few[1:]], asked[few[1:]], group[few[1:]], app[few[1:]], 1)[0] == 0.0


def test_a_column_moves_with_chance_if_it_does_so_at_equal_requests():
    rng, n = np.random.default_rng(7), 200
    asked, cell = rng.uniform(0, 4, n), np.arange(n) % 4
    turned = (rng.random(n) < 0.5) * (asked**2 / 8 - 1.5 * asked + 2)  # goes with the request
    noise = 0.02 * rng.standard_normal(n)
    ran = asked + turned
    assert not moves_with_chance(2.0 * asked + 0.7 * asked**2 + noise, ran, asked, cell)
    assert not moves_with_chance(0.05 * turned + noise, ran, asked, cell)
    assert not moves_with_chance(9.0 * cell + noise, ran + cell, asked, cell)
    assert moves_with_chance(0.3 * turned + noise, ran, asked, cell)
    assert moves_with_chance(-0.3 * turned + noise, ran, asked, cell)
    assert not moves_with_chance(noise, asked, asked, cell)
    jobs = rows(n, cell=cell, turned=turned != 0, log_asked=asked[:, None],
                log_run=ran[:, None], size=noise[:, None],
                guess=np.stack([turned, noise], axis=1))  # fmt: skip
    assert moved_by_chance(jobs, ("size", "limit", "other")) == ("limit",)
    drawn = np.flatnonzero(turned)
    for count in (FEWEST_TURNED - 1, FEWEST_TURNED):
        only = np.isin(np.arange(n), drawn[:count])
        found = moved_by_chance(replace(jobs, turned=only), ("size", "limit", "other"))
        assert found == (("limit",) if count == FEWEST_TURNED else ())


# records


def test_chance_tells_an_exponent_at_equal_requests_and_sizes():
    coded, rng = asked_and_turned(90)
    asked, turned = coded.log_asked[:, 0], (coded.log_run - coded.log_asked)[:, 0]
    coded = replace(coded, size=rng.standard_normal((90, 1)))
    y = 0.6 * turned + 0.4 * asked**2 - asked + 2 * coded.size[:, 0] + coded.cell
    found = exponent_by_chance(coded, y)
    assert (found.value, found.error) == pytest.approx((0.6, 0.0), abs=1e-9)
    few = replace(coded, turned=np.arange(90) < FEWEST_TURNED - 1)
    assert exponent_by_chance(few, y) is None
    assert exponent_by_chance(replace(coded, turned=np.arange(90) < FEWEST_TURNED), y) is not None
    change = np.array([[0.5], [0.7]]) * turned
    assert contradiction(change, turned, Slope(0.6, 0.0)) == ""
    assert contradiction(change, turned, Slope(1.3, 0.0)) == (
        "its exponent is 0.60 [0.44, 0.76] for the jobs that chance turned, and 1.30 [1.30, 1.30]"
        " as they ran"
    )


def test_runs_that_differ_at_equal_settings_leave_the_exponent_open_in_part():
    """1.5 times what they hide over the spread of requests within a problem."""
    rng, n = np.random.default_rng(8), 400
    problem = np.arange(n) // 20
    asked = np.log(8.0) * ((np.arange(n) // 4) % 2)
    y = rng.normal(size=20)[problem] + 0.04 * np.tile([1.0, -1.0], n // 2)
    found = examine(rows(n, problem=problem, log_asked=asked[:, None]), y, 1, "script", ())
    assert found.words == ()
    assert found.by_problem == 0.0
    far = y + 0.3 * (np.arange(n) // 2 % 2)  # apart by more than true repeats
    found = examine(rows(n, problem=problem, log_asked=asked[:, None]), far, 1, "script", ())
    same = problem * 2 + (asked > 0)
    _, hidden = hidden_spread(far, same, noise_of_repeats(far, same, 0 * same))
    varied, _ = hidden_spread(asked, problem, 0.0)
    assert hidden > 0.1
    assert found.words == ()
    assert found.by_problem == pytest.approx(FOLLOWED * hidden / varied)


@pytest.mark.parametrize(("again", "judged"), [(7, False), (8, True)])
def test_a_script_is_judged_by_user_from_eight_runs_again_on(again, judged):
    """User 0's runs repeat, user 1's do not and are too few to outweigh them."""
    few = again + 2
    cell = np.repeat([0, 1], [80, few])
    asked = np.log(2.0) * np.concatenate([np.arange(80) // 10 % 2, np.arange(few) // (few - 2)])
    problem = np.concatenate([np.arange(80) // 20, np.full(few, 9)])
    rng = np.random.default_rng(11)
    y = np.where(cell == 0, 0.01, 1.0) * rng.standard_normal(80 + few)
    jobs = rows(80 + few, cell=cell, problem=problem, log_asked=asked[:, None])
    found = examine(jobs, y, 1, "script", ())
    assert found.rows.problem[:80].tolist() == problem[:80].tolist()
    assert (found.rows.problem[80:] < 0).all() == judged
    assert len(set(found.rows.problem.tolist())) == (4 + few if judged else 5)
    said = f"not believed for {few} of {80 + few} runs"
    assert [said in w for w in found.words] == ([True] if judged else [])


def test_where_most_runs_are_of_no_problem_none_is_believed():
    cell = np.repeat([0, 1], [80, 40])
    asked, problem = np.log(2.0) * (np.arange(120) // 10 % 2), np.arange(120) // 20
    y = np.where(cell == 1, 0.01, 1.0) * np.random.default_rng(11).standard_normal(120)
    jobs = rows(120, cell=cell, problem=problem, log_asked=asked[:, None])
    assert (examine(jobs, y, 1, "script", ()).rows.problem < 0).all()
    other = examine(replace(jobs, cell=1 - cell), y, 1, "script", ())
    assert (other.rows.problem < 0).all()
    good = np.where(cell == 0, 0.01, 1.0) * np.random.default_rng(11).standard_normal(120)
    assert (examine(jobs, good, 1, "script", ()).rows.problem < 0).tolist() == (cell == 1).tolist()


def test_what_the_sizes_leave_over_bounds_the_error_of_an_exponent():
    """Residuals of least squares within users' applications, each application by itself."""
    rng, n = np.random.default_rng(13), 60
    app, cell, turned = np.arange(n) // 20, np.arange(n) // 10, np.arange(n) % 10 == 0
    asked, size = rng.standard_normal((n, 1)), rng.standard_normal((n, 1))
    y = 0.8 * size[:, 0] - 0.6 * asked[:, 0] + cell + 0.5 * rng.standard_normal(n)
    jobs = rows(n, app=app, cell=cell, turned=turned, log_asked=asked, size=size)
    rest, varied = [], []
    flat = np.column_stack([y, asked, asked**2, size])
    flat = flat - np.array([flat[cell == c].mean(axis=0) for c in range(6)])[cell]
    for a in range(3):
        f = flat[(app == a) & ~turned]
        rest.append(f[:, 0] - f[:, 1:] @ np.linalg.lstsq(f[:, 1:], f[:, 0], rcond=None)[0])
        varied.append(f[:, 1] - f[:, 3:] @ np.linalg.lstsq(f[:, 3:], f[:, 1], rcond=None)[0])
    r, v = np.concatenate(rest), np.concatenate(varied)
    wanted = PARTLY * np.sqrt(r @ r / 48 - 0.02**2) / np.sqrt(v @ v / 48)
    assert _size_error(jobs, y) == pytest.approx(wanted)
    assert examine(jobs, y, 3, None, ("m",)).by_size == pytest.approx(wanted)
    assert np.isnan(examine(jobs, y, 3, None, ()).by_size)
    still = np.where(app[:, None] == 1, 2.0, asked)  # an application that never varies
    assert np.isfinite(_size_error(replace(jobs, log_asked=still), y))
    assert np.isnan(_size_error(replace(jobs, log_asked=0 * still), y))
    assert np.isnan(_size_error(replace(jobs, cell=np.arange(n)), y))
    exact = 0.8 * size[:, 0] - 0.6 * asked[:, 0]
    assert _size_error(jobs, exact) == 0.0


def test_the_run_before_is_that_of_the_problem_where_problems_are_named(monkeypatch):
    seen = []
    monkeypatch.setattr("rheostat.prediction.effects.doubts.placebo",
                        lambda *given: seen.append(given) or np.zeros(2))  # fmt: skip
    rng, turned = np.random.default_rng(14), np.arange(12) == 5
    jobs = rows(12, app=np.arange(12) % 2, cell=np.arange(12) % 4, turned=turned,
                log_asked=rng.standard_normal((12, 1)),
                problem=np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 8, 9]))  # fmt: skip
    y = rng.standard_normal(12)
    _placebo(jobs, y, 2)
    _placebo(replace(jobs, problem=np.arange(12)), y, 2)
    (rest, asked, group, app, apps), (_, _, plain, *_) = seen
    assert (group.tolist(), apps) == ([0, 1, 2, 3, 0, 2, 3, 0, 1, 4, 5], 2)
    assert app.tolist() == jobs.app[~turned].tolist()
    for value in (rest, asked):
        assert np.bincount(group, value) == pytest.approx(np.zeros(6), abs=1e-12)
    first = jobs.log_asked[[0, 4, 8], 0]
    assert asked[[0, 4, 7]] == pytest.approx(first - first.mean())
    assert plain.tolist() == jobs.cell[~turned].tolist()


# rows weighed by what they tell


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
    wide = rest * 2
    same, between = problem_variances(rest, problem, cell)
    apart = np.sqrt(max(wide @ wide / 9 - same, between))
    assert wide @ wide / 9 - same > between
    assert unlike_runs(wide, rest, problem, cell) == pytest.approx((apart, between))
    assert unlike_runs(0 * wide, rest, problem, cell) == pytest.approx((np.sqrt(between), between))
    assert unlike_runs(wide, rest, np.arange(9), cell) == (0.0, 0.0)


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
    still = guess_slopes(rows(n, app=app, cell=cell, request=0 * request, size=size, guess=guess), 2)
    assert np.isfinite(still).all()


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
    made = unlike_turned(SimpleNamespace(weights=weights), jobs, away, -1.0)
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


def test_means_of_groups_and_the_bad_half_of_a_forecast():
    values = np.array([[1.0, 4.0], [3.0, 0.0], [5.0, 5.0]])
    assert group_means(values, np.array([7, 7, 2])).tolist() == [[2, 2], [2, 2], [5, 5]]
    assert wary(np.array([[-0.3], [0.0], [0.6]]))[:, 0] == pytest.approx([0.0, 0.0, 0.5])


# draws of a job


def test_a_job_s_scores_are_orders_of_normal_quantiles_that_its_hash_chooses():
    orders = np.stack([np.random.default_rng(i).permutation(4) for i in range(PERMUTATIONS)])
    coded = rows(2, cell=np.array([3, 5]), app=np.array([1, 0]), size=np.array([[2.0], [4.0]]),
                 log_asked=np.array([[0.5], [0.7]]), guess=np.array([[6.0], [8.0]]))  # fmt: skip
    group = row_hash(np.array([[3.0, 1.0], [5.0, 0.0]]))
    quantiles = norm.ppf([1 / 8, 3 / 8, 5 / 8, 7 / 8])
    for frame, more in ((pl.DataFrame({"x": [0, 0]}), np.empty((2, 0))),
                        (pl.DataFrame({"job_id": [11, 12]}), np.array([[11.0], [12.0]]))):  # fmt: skip
        facts = np.array([[3.0, 0.5, 2.0, 6.0], [5.0, 0.7, 4.0, 8.0]])
        mine = row_hash(np.concatenate([facts, more], axis=1))
        made = job_noise(frame, coded, orders, 3)
        assert len(made) == 3
        for i, (shared, own) in enumerate(made):
            for n in range(2):
                for got, number in ((shared, int(group[n])), (own, int(mine[n]))):
                    order = orders[number // PERMUTATIONS**i % PERMUTATIONS]
                    assert got[:, n] == pytest.approx(quantiles[order])


# forecasts that nobody is given


def test_the_least_watts_are_per_unit_of_each_parallel_knob():
    frame = pl.DataFrame({"nodes": [1, 2, 4], "clock": [1.0, 2.0, 3.0], "gpus": [8, 4, 8]})
    watts = np.array([[300.0], [500.0], [2000.0]])
    found = least_watts(frame, ("nodes", "clock", "gpus"), watts)
    assert found == {"nodes": pytest.approx(250.0), "gpus": pytest.approx(37.5)}
    assert least_watts(frame, ("nodes",), np.empty((3, 0))) == {}
    gap = np.array([[np.nan], [500.0], [2000.0]])
    assert least_watts(frame, ("nodes",), gap) == {"nodes": pytest.approx(250.0)}


def test_times_within_the_square_of_the_nodes_are_possible_and_near_the_request_too():
    more, share = np.array([1.5, 1.5, 0.9, 1.0]), np.array([[0.6, 0.44, 0.64, 0.3]])
    assert backwards(np.log(share), more).tolist() == [False, True, True, False]


@pytest.fixture(scope="module")
def refusing():
    """A model whose forecasts are set below, two applications, least watts of a node 100."""
    n = np.tile([1, 2, 4, 8], 10)
    log = table({"app": np.repeat(["a", "b"], 20), "submit_s": np.arange(40.0), "nodes": n,
                 "runtime_s": 80.0 / n, "power_w": 100.0 * n})  # fmt: skip
    model = WithinApplication(("nodes",), n_draws=4).fit(log)
    model.placebo_ = np.array([0.0, -0.2, 0.0])
    model.identified_ = np.array([True, False, True])
    model.turned_to_ = np.zeros((2, 1))
    return model


def refused(model, by, change, *, moved=0.0, watts=100.0, **columns):
    """Reasons by row; ``change`` of log runtime and power, by row, with its draws of 0.1."""
    asked = {"nothing": {}, "size": {"sizes": ("m",)}, "trial": {"turned": 10}}[by]
    model.identification_ = replace(model.identification_, turned=0, repeats=0, sizes=(), **{})
    model.identification_ = replace(model.identification_, **asked)
    draws = np.array([-0.1, -0.05, 0.05, 0.1])[:, None]
    model._change = lambda target, rows, home: draws + np.array(change[target])
    model._moved = lambda target, app, away, begin=0: np.zeros((4, len(app))) + np.array(moved)
    frame = pl.DataFrame({"app": ["a"] * len(columns["nodes"]), **columns})
    coded = model.coding_.rows(frame)
    values = {"runtime_s": np.ones((4, len(frame))),
              "power_w": np.zeros((4, len(frame))) + np.array(watts)}  # fmt: skip
    found = model._not_believed(frame, coded, coded, values)
    return {reason: np.flatnonzero(wrong).tolist() for reason, wrong in found.items()}


def test_of_several_parallel_knobs_the_first_alone_counts_idle_watts():
    n = np.tile([1, 2, 4, 8], 10)
    log = table({"app": ["a"] * 40, "nodes": n, "gpus": 4 * n[::-1], "runtime_s": 80.0 / n,
                 "power_w": 100.0 * n})  # fmt: skip
    model = WithinApplication(("nodes", "gpus"), n_draws=4).fit(log)
    assert model.least_w_["gpus"] < model.least_w_["nodes"] == pytest.approx(100.0)
    frame = pl.DataFrame({"app": ["a"], "nodes": [2], "gpus": [4000]})
    coded = model.coding_.rows(frame)
    found = model._not_believed(frame, coded, coded, {"power_w": np.full((4, 1), 200.0)})
    assert not found[plausible.IMPOSSIBLE].any()


def test_a_forecast_that_chance_contradicts_is_said_to_conflict(monkeypatch):
    rng, n = np.random.default_rng(12), 300
    asked = rng.choice([8, 16, 32], n)
    nodes = np.where(np.arange(n) % 5 == 0, asked * rng.choice([0.25, 4.0], n), asked)
    log = table({"app": ["a"] * n, "user": ["u"] * n, "submit_s": np.arange(n, dtype=float),
                 "nodes": nodes.astype(int), "nodes_requested": asked,
                 "runtime_s": 900.0 / nodes**0.8})  # fmt: skip
    model = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=8).fit(log)
    assert model.identification_.conflict == ""
    steep = np.linspace(-1.51, -1.49, 8)[:, None]
    monkeypatch.setattr(WithinApplication, "_turned_changes",
                        lambda self, frame: (steep * np.ones(60), np.ones(60)))  # fmt: skip
    model = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=8).fit(log)
    assert model.identification_.conflict.startswith("the forecast: its exponent is -1.50 [")
    assert not model.identification_.answers


@pytest.fixture(scope="module")
def tried():
    """A trial of two applications, one of which gains nothing from nodes."""
    rng, n = np.random.default_rng(16), 400
    app, asked = np.arange(n) % 2, rng.choice([4, 8, 16], n)
    nodes = np.where(np.arange(n) % 5 == 0, asked * rng.choice([0.5, 2.0], n), asked).astype(int)
    log = table({"app": [f"a{a}" for a in app], "user": ["u"] * n, "nodes": nodes,
                 "nodes_requested": asked, "submit_s": np.arange(n, dtype=float),
                 "runtime_s": 900.0 * nodes ** (-0.9 * app) * np.exp(0.1 * rng.standard_normal(n)),
                 "power_w": 200.0 * nodes, "energy_j": 1e5 * np.exp(0.1 * rng.standard_normal(n)),
                 })  # fmt: skip
    targets = ("power_w", "runtime_s", "energy_j")
    return WithinApplication(("nodes",), targets=targets, n_draws=16, seed=3).fit(log)


def test_a_job_at_another_setting_is_one_of_its_application(tried):
    """Time and energy are wider by one spread for all settings; more nodes in their bad half."""
    asked = table({"app": ["a0", "a1", "a0", "a1"], "user": ["u"] * 4, "job_id": [1, 2, 3, 4],
                   "nodes": [8, 8, 4, 8], "nodes_requested": [4, 16, 4, 4]})  # fmt: skip
    coded, home = tried.coding_.rows(asked.frame), tried._home(asked.frame)
    noise = job_noise(asked.frame, coded, tried.orders_, 4)
    change = tried._change("runtime_s", coded, home)
    turned = np.log([2.0, 0.5, 1.0, 2.0])
    own = 0.2 * room(change.mean(axis=0), turned, -1.0) * noise[3][1]
    wide = np.exp(own + (turned > 0) * wary(change + own))
    out = tried.predict(asked)
    for i, target in enumerate(tried.targets):
        plain = np.exp(tried._draws(target, coded, *noise[i]))
        wanted = plain if target == "power_w" else plain * wide
        assert out[target] == pytest.approx(wanted)
    assert np.abs(wide[:, 0] / wide[:, 2] - 1).max() > 0.05
    assert home.log_run.tolist() == home.log_asked.tolist() == coded.log_asked.tolist()


def test_a_draw_is_level_request_effect_and_what_is_the_job_s_own(tried):
    """Written out for one job, of one target."""
    frame = pl.DataFrame({"app": ["a1"], "user": ["u"], "nodes": [8], "nodes_requested": [4]})
    fitted, coded = tried.fitted_["runtime_s"], tried.coding_.rows(frame)
    shared, own = np.linspace(-1, 1, 16)[:, None], np.linspace(2, -2, 16)[:, None]
    x = np.concatenate([coded.effect["runtime_s"], coded.request], axis=1)[0]
    levels, noise = fitted.levels, fitted.weights.noise[1]
    assert (levels.cells, fitted.problems) == (2, None)
    spread = np.sqrt(levels.sd[1] ** 2 + fitted.drift * noise**2)
    wanted = (fitted.weights.weights[:, 1] @ (x - levels.x[1]) + levels.y[1] - np.log(8.0)
              + fitted.by_request.of(coded)[:, 0] - tried.open_ * np.log(2.0)
              + spread * shared[:, 0] + np.sqrt(1 - fitted.drift) * noise * own[:, 0])  # fmt: skip
    assert tried._draws("runtime_s", coded, shared, own)[:, 0] == pytest.approx(wanted, abs=2e-9)
    home = tried._home(frame)
    effect = coded.effect["runtime_s"] - home.effect["runtime_s"]
    change = (fitted.weights.weights[:, 1, : effect.shape[1]] @ effect[0] - np.log(2.0)
              + fitted.by_request.of(coded)[:, 0] - tried.open_ * np.log(2.0))  # fmt: skip
    assert tried._change("runtime_s", coded, home)[:, 0] == pytest.approx(change)


def test_what_is_learned_of_a_trial_is_written_out(tried):
    """Turned farthest by a factor of two; nothing is open, and every application is told."""
    assert tried.turned_to_[:, 0] == pytest.approx(np.log([0.5, 2.0]))
    assert tried.open_.tolist() == [0.0] * 16
    assert tried.identified_.tolist() == [True] * 3
    assert tried.placebo_.tolist() == [0.0] * 3
    assert tried.doubted_ == {}
    assert tried.orders_.shape == (PERMUTATIONS, 16)
    orders = np.random.default_rng([3, 1])
    assert tried.orders_[1].tolist() == [orders.permutation(16) for _ in range(2)][1].tolist()


def test_what_problems_leave_open_and_which_applications_they_tell():
    """Half of the error, drawn around it; applications with two problems at several requests."""
    rng, n = np.random.default_rng(15), 240
    app = np.repeat(np.arange(4), 60)
    script = np.where(app == 3, 99, np.arange(n) // 5)
    nodes = np.where(app == 2, 4, rng.choice([2, 4, 8], n))
    log = table({"app": [f"a{a}" for a in app], "script": [f"s{s}" for s in script],
                 "submit_s": np.arange(n, dtype=float), "nodes": nodes,
                 "runtime_s": 100.0 / nodes * np.exp(0.1 * rng.standard_normal(n))})  # fmt: skip
    model = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=6, seed=5).fit(log)
    found = model.identification_
    assert (found.by, found.misled > 0) == ("repeats", True)
    normal = np.random.default_rng([5, 3]).standard_normal(6)
    assert model.open_ == pytest.approx(found.misled / 2 * (1 + normal))
    assert model.identified_.tolist() == [True, True, False, False, False]
    assert model.placebo_.shape == (5,)
    assert model.turned_to_.tolist() == [[0.0], [0.0]]
    asked = table({"app": ["a0"] * 2, "nodes": [4, 4], "nodes_requested": [4, 8]})
    coded = model.coding_.rows(asked.frame)
    left = model._left_open("runtime_s", coded)
    assert left == pytest.approx(np.outer(-model.open_, [0.0, np.log(0.5)]))
    assert not model._left_open("power_w", coded).any()


NONE = dict.fromkeys(plausible.REASONS, [])


def test_fewer_watts_than_idle_nodes_draw_are_impossible_whoever_chose(refusing):
    change = {"runtime_s": [0.0] * 3, "power_w": [0.0] * 3}
    for by in ("nothing", "trial", "size"):
        found = refused(refusing, by, change, watts=[80.0, 79.0, 320.1], nodes=[1, 1, 4])
        assert found == NONE | {plausible.IMPOSSIBLE: [1]}


def test_times_against_physics_are_impossible_unless_chance_chose(refusing):
    """Half of the nodes in a third of the time, four times in less than a sixteenth."""
    change = {"runtime_s": np.log([1 / 3, 0.9, 1 / 20, 1 / 10, 1 / 3, 1 / 3]),
              "power_w": np.zeros(6)}  # fmt: skip
    asked = [4, 4, 2, 2, None, 2]
    nodes = {"nodes": [2, 2, 8, 8, 2, 2], "nodes_requested": asked, "watts": 800.0}
    assert refused(refusing, "nothing", change, **nodes)[plausible.IMPOSSIBLE] == [0, 2]
    for by in ("trial", "size"):
        found = refused(refusing, by, change, **nodes)[plausible.IMPOSSIBLE]
        assert found == ([0, 2] if by == "size" else [])
    del nodes["nodes_requested"]
    assert refused(refusing, "nothing", change, **nodes)[plausible.IMPOSSIBLE] == []


@pytest.mark.parametrize("target", ["runtime_s", "power_w"])
def test_where_a_size_tells_two_forms_of_either_quantity_must_agree(refusing, target):
    change = {"runtime_s": np.zeros(3), "power_w": np.zeros(3)}
    nodes = {"nodes": [2, 2, 2], "watts": [800.0, 800.0, 1.0]}
    only = {target: [0.0, 0.5, 0.5]}
    draws = np.array([-0.1, -0.05, 0.05, 0.1])[:, None]

    def moved(name, app, away, begin=0):
        assert begin == refusing.fitted_[name].weights.weights.shape[2] - away.shape[1]
        return np.zeros((4, 3)) + np.array(only.get(name, 0.0))

    refused(refusing, "size", change, **nodes)
    refusing._change, refusing._moved = (lambda *_: draws + np.zeros(3)), moved
    frame = pl.DataFrame({"app": ["a"] * 3, "nodes": nodes["nodes"]})
    coded = refusing.coding_.rows(frame)
    values = {"runtime_s": np.ones((4, 3)), "power_w": np.ones((4, 1)) * nodes["watts"]}
    found = refusing._not_believed(frame, coded, coded, values)
    assert found[plausible.DISAGREE].tolist() == [False, True, False]  # the third is impossible
    assert found[plausible.IMPOSSIBLE].tolist() == [False, False, True]
    model = refused(refusing, "trial", change, moved=[0.0, 0.5, 0.5], **nodes)
    assert model[plausible.DISAGREE] == []


def test_an_application_that_tells_the_run_before_or_nothing_is_left_as_it_is(refusing):
    """A placebo of -0.2 moves a change of 2^0.4 by more than 5 %, and one of 2^0.3 by less."""
    change = {"runtime_s": np.zeros(4), "power_w": np.zeros(4)}
    app, near = ["b", "b", "a", "b"], [2.0, 2.0, 2.0, 2.0]
    frame = {"nodes": [2 * 2**0.4, 2 * 2**0.3, 2 * 2**0.4, 2.0], "nodes_requested": near}
    found = refused(refusing, "trial", change, watts=800.0, **frame, app=app)
    assert found == NONE | {plausible.BEFORE: [0], plausible.UNTOLD: [0, 1]}
    found = refused(refusing, "trial", change, watts=1.0, **frame, app=app)
    assert found[plausible.BEFORE] == []
    assert found[plausible.IMPOSSIBLE] == [0, 1, 2, 3]
    refusing.turned_to_ = np.array([[-0.1], [0.25]])
    try:
        found = refused(refusing, "trial", change, watts=800.0, **frame, app=app)
    finally:
        refusing.turned_to_ = np.zeros((2, 1))
    assert found[plausible.BEYOND] == [0, 2]
