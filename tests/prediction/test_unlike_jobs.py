"""How unlike jobs of one application are is learned of problems that ran at several settings."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.effects.unlike_jobs import MOST, UNLIKE, of_problems, own_change


def runs(problems, spread, seed=0, noise=0.05, each=3):
    """(y, rows) of problems that run ``each`` times at two settings, an e-fold apart."""
    rng = np.random.default_rng(seed)
    problem = np.repeat(np.arange(problems), 2 * each)
    at = np.tile(np.repeat([1.0, 2.0], each), problems)
    y = (1 + spread * rng.standard_normal(problems)[problem]) * at
    y += rng.standard_normal(problems)[problem] + noise * rng.standard_normal(len(at))
    zero = np.zeros(len(at), dtype=int)
    return y, SimpleNamespace(app=zero, cell=zero, problem=problem, log_run=at[:, None])


def spread_of(y, rows):
    return of_problems(y, rows.log_run, np.ones((1, 1)), 1, rows, -1.0)


@pytest.mark.parametrize("spread", [0.4, 0.8])
def test_the_spread_between_problems_is_found_beside_noise(spread):
    assert spread_of(*runs(500, spread, noise=0.3)) == pytest.approx(spread, rel=0.15)


def test_alike_problems_few_problems_and_single_settings_leave_the_usual_spread():
    assert spread_of(*runs(500, 0.0)) == UNLIKE
    assert spread_of(*runs(10, 0.8)) == UNLIKE
    y, rows = runs(500, 0.8)
    alone = SimpleNamespace(**{**vars(rows), "problem": np.arange(len(y))})
    assert spread_of(y, alone) == UNLIKE
    assert spread_of(*runs(500, 50.0)) == MOST


@pytest.mark.parametrize(("exponent", "power"), [(-1.0, 0.5), (0.0, 1.0)])
def test_a_small_turn_of_nodes_meets_a_step_less_often_and_not_less_of_it(exponent, power):
    """Time in steps: of 39 nodes against 32 half of the jobs notice nothing, others twice the time.

    Of a knob that divides no work, as a cap, what a turn does shrinks with it.
    """
    turned = -np.log(2) * np.array([1 / 16, 1 / 4, 1.0])
    change = np.stack([turned * (exponent + 1)] * 2)  # departs by one exponent
    drawn = own_change(change, turned, np.zeros(3, dtype=bool), exponent, 0.5, np.ones((2, 3)))[0]
    assert drawn[2] == pytest.approx(-0.5 * np.log(2))
    assert drawn / drawn[2] == pytest.approx(np.array([1 / 16, 1 / 4, 1.0]) ** power)


def test_a_problem_that_ran_often_answers_once():
    """A hundred runs of an odd problem do not outweigh fifty problems that are alike."""
    y, rows = runs(50, 0.0)
    odd = np.repeat([1.0, 2.0], 50)
    both = SimpleNamespace(
        app=np.zeros(len(y) + 100, dtype=int), cell=np.zeros(len(y) + 100, dtype=int),
        problem=np.append(rows.problem, np.full(100, 50)),
        log_run=np.append(rows.log_run, odd)[:, None],
    )  # fmt: skip
    assert spread_of(np.append(y, 2.5 * odd), both) == UNLIKE


def kinked(seed, n=1500):
    """A log of scripts whose problems fit into memory at nodes of their own.

    Returns it, and of each script its application, log2 of those nodes and the factor below them.
    """
    rng = np.random.default_rng(seed)
    script = rng.integers(0, 150, n)
    app, fits, factor = rng.integers(0, 5, 150), rng.integers(1, 6, 150), rng.uniform(1.2, 2.5, 150)
    level = np.clip(fits[script] + rng.integers(-2, 3, n), 0, 6)
    runtime = 5000 / 2.0**level * np.where(level < fits[script], factor[script], 1.0)
    log = table({
        "app": [f"a{a}" for a in app[script]], "user": [f"u{a}" for a in app[script]],
        "script": [f"s{s}" for s in script], "submit_s": np.arange(n, dtype=float),
        "nodes": 2**level, "runtime_s": runtime * rng.lognormal(0, 0.03, n),
        "power_w": 300.0 * 2**level,
    })  # fmt: skip
    return log, app, fits, factor


@pytest.mark.parametrize("seed", [0, 1])
def test_what_half_of_the_nodes_do_to_jobs_of_scripts_never_seen_is_held(seed):
    log, app, fits, factor = kinked(seed)
    model = WithinApplication(("nodes",)).fit(log)
    assert model.identification_.by == "repeats"
    asked = np.clip(fits + np.random.default_rng(seed + 50).integers(-2, 3, 150), 1, 6)
    jobs = {"app": [f"a{a}" for a in app], "user": [f"u{a}" for a in app],
            "script": [f"new{i}" for i in range(150)], "job_id": np.arange(150)}  # fmt: skip
    wanted = Column("nodes_requested", "", Moment.SUBMIT, "as submitted")

    def forecast(level):
        plain = table({**jobs, "nodes": 2**level})
        return model.predict(plain.with_columns([wanted], nodes_requested=2**asked))["runtime_s"]

    change = np.log(forecast(asked - 1) / forecast(asked))
    low, high = np.quantile(change, [0.05, 0.95], axis=0)
    true = np.log(2 * np.where(asked == fits, factor, 1.0))
    assert np.mean((low <= true) & (true <= high)) >= 0.85
