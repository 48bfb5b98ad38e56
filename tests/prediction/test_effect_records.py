"""Records of problems and sizes, written out: slopes, placebos, and what is believed of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.prediction.effects import by_request
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
from tests.prediction.effect_rows import rows


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
    turned = (rng.random(n) < 0.5) * (0.5 + (asked - 2) ** 2)  # goes with the request
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


def test_where_most_runs_are_of_no_problem_none_is_believed_but_those_surely_alike():
    """A user's arrays of many inputs made the honest scripts beside them unbelieved."""
    cell = np.repeat([0, 1], [80, 40])
    asked, problem = np.log(2.0) * (np.arange(120) // 10 % 2), np.arange(120) // 20
    draws = np.random.default_rng(11).standard_normal(120)
    jobs = rows(120, cell=cell, problem=problem, log_asked=asked[:, None])
    alike = np.where(cell == 1, 0.12, 1.0) * draws  # and not surely
    assert (examine(jobs, alike, 1, "script", ()).rows.problem < 0).all()
    sure = np.where(cell == 1, 0.01, 1.0) * draws
    found = examine(jobs, sure, 1, "script", ()).rows.problem
    assert (found < 0).tolist() == (cell == 0).tolist()
    one = np.where(problem == 5, 0.01, 1.0) * draws  # one problem of a cell that is not
    found = examine(jobs, one, 1, "script", ()).rows.problem
    assert (found < 0).tolist() == (problem != 5).tolist()
    few = np.where(np.arange(120) < 10, 0.01, 1.0) * draws  # of many some always seem alike
    assert (examine(jobs, few, 1, "script", ()).rows.problem < 0).all()
    other = examine(replace(jobs, cell=1 - cell), alike, 1, "script", ())
    assert (other.rows.problem < 0).all()
    half = np.repeat([0, 1], 60)  # no more than half of the runs: not most
    y = np.where(half == 0, 0.01, 1.0) * np.random.default_rng(11).standard_normal(120)
    found = examine(replace(jobs, cell=half), y, 1, "script", ()).rows.problem
    assert (found < 0).tolist() == (half == 1).tolist()
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
