"""What tells the effect of a setting: which source, from how much, and how far it may mislead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.prediction.effects.believed import Believed
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.identification import Identification, identify

NAN = float("nan")
LATE = np.ones(1, dtype=bool)
NOTHING = Identification(False, 9, 3, 9, (), NAN, 1.5)


@pytest.mark.parametrize(("more", "by", "answers"), [
    ({}, "nothing", False), ({"sizes": ("memory_b",), "misled": 0.41}, "size", False),
    ({"sizes": ("memory_b",), "misled": 0.4}, "size", True),
    ({"sizes": ("memory_b",), "misled": -0.4}, "size", True),
    ({"sizes": ("memory_b",), "misled": -0.41}, "size", False),
    ({"repeats": 10, "sizes": ("memory_b",), "misled": 0.4}, "repeats", True),
    ({"repeats": 10, "misled": 0.41}, "repeats", False),
    ({"turned": 10, "conflict": "the forecast"}, "trial", False),
    ({"turned": 10, "repeats": 10}, "trial", True),
    ({"designed": True, "turned": 10}, "design", True),
])  # fmt: skip
def test_the_strongest_source_counts_and_a_rough_size_answers_nothing(more, by, answers):
    found = replace(NOTHING, **more)
    assert (found.by, found.answers) == (by, answers)


@pytest.mark.parametrize(("more", "quantity", "mean", "sd", "between"), [
    ({"designed": True}, "runtime_s", [0, 0], [1e-3, 5e-4], [1e-3, 5e-4]),
    ({}, "runtime_s", [0, 0], [1.5, 0.75], [0.2, 0.1]),
    ({"turned": 10}, "power_w", [0, 0], [1.5, 0.75], [0.2, 0.1]),
    ({"sizes": ("m",), "misled": -0.3}, "runtime_s", [-0.15, 0], [0.15, 0.075], [0.15, 0.075]),
    ({"sizes": ("m",), "misled": 0.01}, "runtime_s", [0.005, 0], [0.03, 0.015], [0.03, 0.015]),
    ({"sizes": ("m",), "misled": 0.3}, "power_w", [0, 0], [0.03, 0.015], [0.03, 0.015]),
])  # fmt: skip
def test_what_requests_may_betray_before_any_data(more, quantity, mean, sd, between):
    """At the slope of a knob and, half as much, at its bend."""
    made = replace(NOTHING, **more).selection(quantity, np.array([True, False]))
    for got, wanted in zip(made, (mean, sd, between), strict=True):
        assert got == pytest.approx(np.array(wanted))


def rows(n=400, seed=0, moved=0, **more):
    """Log requests that follow the size half as far, in two applications."""
    rng = np.random.default_rng(seed)
    size = rng.standard_normal((n, 1))
    request = 0.5 * size + 0.8 * rng.standard_normal((n, 1))
    app, zero = np.arange(n) % 2, np.zeros(n, dtype=int)
    made = Rows(app, zero, zero, np.arange(n), {}, np.arange(n) < moved, request, size,
                np.zeros((n, 0)), request, request, zero - 1)  # fmt: skip
    return replace(made, **more), rng.standard_normal(n)


def test_a_size_that_explains_a_share_misleads_by_what_it_misses():
    """slope x follow x (1 - R^2) / R^2, with R^2 at equal requests, of jobs that ran as asked."""
    made, noise = rows(moved=50)
    y = 0.4 * made.size[:, 0] - 0.7 * made.request[:, 0] + 0.3 * noise
    y[:50] += 100.0  # jobs of a trial tell nothing of why others asked
    found = identify(made, made.request, made.size, y, ("memory_b",), designed=False)
    s, r, t = made.size[50:, 0], made.request[50:, 0], y[50:]
    own = r[:, None] * (made.app[50:, None] == np.unique(made.app))
    rest = lambda v: v - own @ np.linalg.lstsq(own, v, rcond=None)[0]  # noqa: E731
    left, size = rest(t), rest(s)
    slope = size @ left / (size @ size)
    share = slope**2 * (size @ size) / (left @ left)
    assert 0.1 < share < 0.6
    assert found.reliability == pytest.approx(share)
    assert found.misled == pytest.approx(slope * (r @ s) / (r @ r) * (1 - share) / share)
    assert (found.turned, found.turned_apps, found.repeats) == (50, 2, 0)
    one = identify(replace(made, turned=np.arange(400) == 3), made.request, made.size, y,
                   ("memory_b",), designed=True)  # fmt: skip
    assert (one.turned, one.turned_apps, one.designed, one.by) == (1, 1, True, "design")


def test_applications_that_scale_each_in_its_own_way_hide_no_size():
    """A floor and a code that halves with twice the nodes: at equal requests the size tells all."""
    made, noise = rows()
    slope = np.where(made.app == made.app[0], -0.05, -1.0)
    y = 0.4 * made.size[:, 0] + slope * made.request[:, 0] + 0.01 * noise
    found = identify(made, made.request, made.size, y, ("memory_b",), designed=False)
    assert found.reliability > 0.99
    few = replace(made, app=np.arange(400) // 10)  # too few of each to know how it scales
    assert identify(few, few.request, few.size, y, ("m",), designed=False).reliability < 0.9


def test_what_bounds_nothing_misleads_by_the_most_there_is():
    made, noise = rows()
    none = identify(made, made.request, made.size, noise, (), designed=False)
    assert (none.misled, none.by) == (1.5, "nothing")
    assert np.isnan(none.reliability)
    useless = identify(made, made.request, made.size, noise, ("m",), designed=False)
    assert useless.reliability < 0.1
    assert useless.misled == 1.5
    steep = identify(made, 0.01 * made.request, made.size, -9 * made.size[:, 0] + 6 * noise,
                     ("m",), designed=False)  # fmt: skip
    assert steep.misled == -1.5
    still = identify(made, 0 * made.request, made.size, 9 * made.size[:, 0], ("m",), designed=False)
    assert (still.reliability, still.misled) == (pytest.approx(1.0), 1.5)
    same = identify(made, made.request, made.size, 0 * noise, ("m",), designed=False)
    assert (same.reliability, same.misled) == (0.0, 1.5)


def test_a_problem_that_ran_at_two_requests_is_a_repeat():
    asked = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.5], [2.0, 0.0], [2.0, 1e-12], [0.0, 2.0]])
    made, noise = rows(6, problem=np.array([4, 9, 9, 7, 7, 2]), log_asked=asked)
    assert identify(made, made.request, made.size, noise, (), designed=False).repeats == 1
    again = replace(made, problem=np.array([4, 4, 4, 7, 7, 7]))
    assert identify(again, made.request, made.size, noise, (), designed=False).repeats == 2
    near = replace(made, log_asked=asked * [1.0, 0.01])  # 0.005 apart is apart
    assert identify(near, made.request, made.size, noise, (), designed=False).repeats == 1
    every = replace(made, problem=np.array([4, 9, 9, 7, 4, 7]))
    assert identify(every, made.request, made.size, noise, (), designed=False).repeats == 3


def test_of_several_settings_the_one_that_misleads_most_counts():
    made, noise = rows()
    second = 0.1 * made.size + np.random.default_rng(5).standard_normal((400, 1))
    request = np.concatenate([second, made.request], axis=1)
    both = replace(made, log_asked=request)
    y = 0.4 * made.size[:, 0] + 0.3 * noise
    found = identify(both, request, made.size, y, ("m",), designed=False)
    own = np.hstack([request * (made.app == a)[:, None] for a in np.unique(made.app)])
    rest, left = (v - own @ np.linalg.lstsq(own, v, rcond=None)[0] for v in (made.size[:, 0], y))
    slope = rest @ left / (rest @ rest)
    share = slope**2 * (rest @ rest) / (left @ left)
    each = slope * np.linalg.lstsq(request, made.size[:, 0], rcond=None)[0] * (1 - share) / share
    assert abs(each[1]) > 2 * abs(each[0]) > 0
    assert found.misled == pytest.approx(each[1])


@pytest.mark.parametrize(("problems", "by_problem", "by_size", "misled"), [
    (10, 0.25, 0.9, 0.25), (9, 0.25, 0.9, 0.9), (10, NAN, 0.9, 0.9), (9, 0.25, 0.01, None),
    (9, 0.25, NAN, None),
])  # fmt: skip
def test_what_the_records_leave_open_bounds_the_error(problems, by_problem, by_size, misled):
    """That of problems from ten on; else the larger one of the size's two bounds, with its sign."""
    made, noise = rows()
    n = 2 * problems
    problem = np.where(np.arange(400) < n, np.arange(400) // 2, np.arange(400))
    made = replace(made, problem=problem)
    y = -0.4 * made.size[:, 0] - 0.7 * made.request[:, 0] + 0.3 * noise
    alone = identify(made, made.request, made.size, y, ("m",), designed=False)
    assert -0.5 < alone.misled < -0.05
    believed = Believed(made, by_problem, by_size, np.zeros(2), ("said",), LATE)
    found = identify(made, made.request, made.size, y, ("m",), designed=False, believed=believed)
    assert (found.repeats, found.doubts, alone.doubts) == (problems, ("said",), ())
    wanted = alone.misled if misled is None else misled
    sign = 1 if by_problem == misled else np.sign(wanted) if misled is None else -1
    assert found.misled == pytest.approx(sign * abs(wanted))


def test_a_record_that_too_few_problems_vary_in_says_why_it_does_not_count():
    asked = np.column_stack([np.log([1.0, 2.0, 1.0, 2.0, 4.0, 4.0]), np.zeros(6)])
    made, noise = rows(6, problem=np.array([6, 6, 7, 7, 8, 3]), log_asked=asked)
    few = identify(made, made.request, made.size, noise, (), designed=False, record="script")
    assert few.doubts == (
        "script does not count as the same problem: 2 of its 3 problems ran at two settings or "
        "more, and 10 are needed",
    )
    unbelieved = Believed(
        made, NAN, NAN, np.zeros(1), ("script is not believed for 6 of 6 runs",), LATE
    )
    for how in ({"designed": True}, {"designed": False, "believed": unbelieved}):
        found = identify(made, made.request, made.size, noise, (), record="script", **how)
        assert not any("does not count" in d for d in found.doubts)
