"""Forecasts of jobs at other settings, written out term by term."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.prediction.effects import WithinApplication, predictor
from rheostat.prediction.effects.by_request import ByRequest
from rheostat.prediction.effects.job_noise import job_noise
from rheostat.prediction.effects.unlike_jobs import of_turned, room, wary
from rheostat.prediction.intervals import PERMUTATIONS
from tests.prediction.effect_rows import rows


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
    coded, home = tried.coding_.rows(asked.frame), tried.coding_.as_asked(asked.frame)
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
    home = tried.coding_.as_asked(frame)
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


def test_doubts_are_kept_of_the_sources_that_users_chose(tried):
    rng = np.random.default_rng(17)
    app = np.repeat([0, 1, 1], [6, 6, 6])
    problem = np.array([0, 0, 1, 1, 2, 3, *[4] * 3, 5, 5, 6, 7, 8, 9, 10, 11, 12])
    asked = rng.standard_normal((18, 1))  # two problems of the first application vary
    asked[9:11] = 1.0  # one of the second
    jobs = rows(18, app=app, problem=problem, log_asked=asked, log_run=asked + 0.2)
    model = WithinApplication(("nodes",), n_draws=2)
    model.coding_ = tried.coding_
    believed = SimpleNamespace(placebo=np.array([0.3, 0.4]))
    for more, by in (({"repeats": 10}, "repeats"), ({"sizes": ("m",)}, "size"), ({}, "nothing"),
                     ({"turned": 10}, "trial"), ({"designed": True}, "design")):  # fmt: skip
        plain = replace(tried.identification_, turned=0, repeats=0, sizes=(), designed=False)
        model.identification_ = replace(plain, misled=0.4, **more)
        assert model.identification_.by == by
        model._fit_doubts(jobs, believed)
        kept = by in ("repeats", "size")
        assert model.placebo_.tolist() == ([0.3, 0.4, 0.0] if kept else [0.0] * 3)
        assert model.doubted_ == ({"a0": 0.3, "a1": 0.4} if kept else {})
        told = [True, False, False] if by == "repeats" else [True] * 3
        assert model.identified_.tolist() == told
        ends = [0.2, 0.2] if by == "trial" else [0.0, 0.0]
        assert model.turned_to_[:, 0] == pytest.approx(ends)
        assert model.open_.any() == (by == "repeats")
        model._fit_doubts(jobs, None)
        assert model.placebo_.tolist() == [0.0] * 3


def test_weights_are_learned_of_rows_less_their_users_means_and_what_requests_make(monkeypatch):
    """What is handed to the hierarchy, and how far jobs of one application may differ."""
    given, own = [], []
    learned, less = predictor.learn, predictor.less_neighbours

    def spied(x, y, app, user, prior, lost, **more):
        given.append((x.copy(), y.copy(), lost))
        return learned(x, y, app, user, prior, lost, **more)

    def neighbours(level, flat, hierarchy, rows, effects, spread):
        own.append((hierarchy, effects, spread))
        return less(level, flat, hierarchy, rows, effects, spread)

    monkeypatch.setattr(predictor, "learn", spied)
    monkeypatch.setattr(predictor, "less_neighbours", neighbours)
    fixed = lambda rows, *_, by_trial: ByRequest(np.full(4, 0.5 * by_trial), 2.0)  # noqa: E731
    monkeypatch.setattr(predictor, "fit_by_request", fixed)
    rng, n = np.random.default_rng(18), 120
    app, user, asked = np.arange(n) % 2, np.where(np.arange(n) % 4 < 3, "u", "v"), 8
    asked = rng.choice([4, 8, 16], n)
    nodes = np.where(np.arange(n) % 5 == 0, asked * rng.choice([0.5, 2.0], n), asked).astype(int)
    log = table({"app": [f"a{a}" for a in app], "user": user, "nodes": nodes,
                 "nodes_requested": asked, "submit_s": np.arange(n, dtype=float),
                 "runtime_s": rng.lognormal(3, 0.3, n), "power_w": rng.lognormal(5, 0.3, n),
                 })  # fmt: skip
    model = WithinApplication(("nodes",), n_draws=4).fit(log)
    coded = model.coding_.rows(log.frame)
    home, cell = model.coding_.as_asked(log.frame), coded.cell
    less_mean = lambda v: v - np.array([v[cell == c].mean(axis=0) for c in range(3)])[cell]  # noqa: E731
    asked_for = coded.log_asked[:, 0]
    z = (coded.log_run[:, 0] - asked_for) * (asked_for - 2.0)
    assert len(given) == 4  # twice each
    for i, (target, exponent) in enumerate((("runtime_s", -1.0), ("power_w", 1.0))):
        x, y, lost = given[2 * i]
        assert lost.tolist() == [1.0, 2.0]  # users of each application
        left = np.log(log.numpy(target)) - exponent * coded.log_run[:, 0]
        left -= 0.5 * z * (target == "runtime_s")
        assert y == pytest.approx(less_mean(left))
        columns = np.concatenate([coded.effect[target], coded.request], axis=1)
        assert x == pytest.approx(less_mean(columns))
        hierarchy, effects, spread = own[i]
        assert effects == coded.effect[target].shape[1]
        away = coded.effect[target] - home.effect[target]
        wanted = of_turned(hierarchy, coded, away, exponent) * (target == "runtime_s")
        assert spread == pytest.approx(wanted)
    assert own[0][2].any()


def test_runs_of_one_problem_are_levelled_by_what_they_ask_for_in_the_mean(monkeypatch):
    """And what is left of each run by itself tells how they drift, and how unlike they are."""
    given, left, drifts, placed, errors = [], [], [], [], []
    learned, apart = predictor.learn, predictor.unlike_runs
    levelled, of_problems = predictor.fit_levels, predictor.fit_problem_levels

    def spied(x, *more, **how):
        given.append(x.copy())
        return learned(x, *more, **how)

    monkeypatch.setattr(predictor, "learn", spied)
    monkeypatch.setattr(predictor, "even", lambda flat, problem, cell: flat)
    monkeypatch.setattr(predictor, "drift", lambda *a: drifts.append(a) or 0.25)
    monkeypatch.setattr(predictor, "unlike_runs", lambda *a: left.append(a) or apart(*a))
    monkeypatch.setattr(predictor, "fit_levels", lambda *a: placed.append(a) or levelled(*a))
    meant = predictor.mean_errors
    monkeypatch.setattr(predictor, "mean_errors", lambda *a: errors.append(a) or meant(*a))
    monkeypatch.setattr(predictor, "fit_problem_levels",
                        lambda *a: placed.append(a) or of_problems(*a))  # fmt: skip
    monkeypatch.setattr(predictor, "less_neighbours", None)  # of a trial alone
    rng, n = np.random.default_rng(19), 120
    script = np.arange(n) // 4
    nodes = rng.choice([4, 8, 16], n)
    log = table({"app": ["a"] * n, "user": ["u", "v"] * 60, "script": [f"s{s}" for s in script],
                 "nodes": nodes, "submit_s": np.arange(n, dtype=float),
                 "runtime_s": 90 / nodes * rng.lognormal(0, 0.02, n)})  # fmt: skip
    model = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=4).fit(log)
    assert model.identification_.by == "repeats"
    coded, fitted = model.coding_.rows(log.frame), model.fitted_["runtime_s"]
    cell, problem = coded.cell, coded.problem
    less_mean = lambda v: v - np.array([v[cell == c].mean(axis=0) for c in range(2)])[cell]  # noqa: E731
    asked = np.array([coded.request[problem == p].mean(axis=0) for p in problem])
    effect = coded.effect["runtime_s"]
    alike = np.concatenate([effect, asked], axis=1)
    plain = np.concatenate([effect, coded.request], axis=1)
    assert given[0] == pytest.approx(less_mean(alike))
    y = np.log(log.numpy("runtime_s")) + coded.log_run[:, 0]
    point = fitted.weights.weights[:, 0].mean(axis=0)
    rest, other = less_mean(y - plain @ point), less_mean(y - alike @ point)
    assert left[0][0] == pytest.approx(rest)
    assert left[0][1] == pytest.approx(other)
    assert drifts[0][0] == pytest.approx(rest)
    assert fitted.drift == 0.25
    levels, problems = placed
    assert levels[0] == pytest.approx(plain)
    assert levels[1] == pytest.approx(y)
    assert errors[0][2] == 0.25
    assert errors[0][3].tolist() == problem.tolist()
    assert levels[5] == pytest.approx(meant(*errors[0]))
    ran = y - fitted.levels.of(alike, cell, coded.app, point[None])
    assert problems[0] == pytest.approx(ran)
    assert problems[1] == pytest.approx(asked)
    measured = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=4)
    measured.fit(table(log.frame.drop("submit_s").to_dict()))
    assert measured.fitted_["runtime_s"].drift == 0.0


def test_home_is_what_was_asked_for_unless_that_is_no_amount(tried):
    frame = pl.DataFrame({"app": ["a0"] * 4, "user": ["u"] * 4, "nodes": [8] * 4,
                          "nodes_requested": [4, 0, None, 1]})  # fmt: skip
    assert np.exp(tried.coding_.as_asked(frame).log_run[:, 0]) == pytest.approx(
        [4.0, 8.0, 8.0, 1.0]
    )
    bare = tried.coding_.as_asked(frame.drop("nodes_requested"))
    assert np.exp(bare.log_run[:, 0]) == pytest.approx([8.0] * 4)
