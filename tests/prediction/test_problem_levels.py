"""Runs of a problem that a log names tell what its next run takes."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import table
from rheostat.core.jobs import Moment
from rheostat.decision.accuracy import accuracy
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.effects.problem_levels import ProblemLevels


def log_of_scripts(n=900, seed=0, noise=0.03):
    """Two applications, six users, each with eight scripts; larger problems ask for more nodes."""
    rng = np.random.default_rng(seed)
    app, user, script = (rng.integers(0, k, n) for k in (2, 6, 8))
    size = rng.normal(0, 0.8, (2, 6, 8))[app, user, script]
    ask = 2.0 + 0.5 * size + rng.normal(0, 0.6, n)
    nodes = (2 ** np.clip(np.round(ask / np.log(2)), 0, 6)).astype(int)
    runtime = 4000 * np.exp(size) * (0.05 + 1 / nodes**0.9)
    runtime *= np.exp(noise * rng.standard_normal(n))
    names = [f"{a}.{u}.{s}" for a, u, s in zip(app, user, script, strict=True)]
    return table({
        "app": [f"a{a}" for a in app], "user": [f"u{u}" for u in user], "script": names,
        "submit_s": np.arange(n, dtype=float), "nodes": nodes, "runtime_s": runtime,
        "power_w": 300.0 * nodes * np.exp(0.02 * rng.standard_normal(n)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return WithinApplication(("nodes",)).fit(log_of_scripts().rows(np.arange(700)))


def test_a_new_run_of_a_script_takes_what_its_runs_took(fitted):
    new = log_of_scripts().rows(np.arange(700, 900))
    assert fitted.identification_.by == "repeats"
    found = accuracy(fitted.predict(new.known_at(Moment.SUBMIT)), new, ["runtime_s"])["runtime_s"]
    assert found.error < 0.05
    assert found.coverage >= 0.85
    assert not found.far_below


def test_a_script_that_never_ran_is_as_uncertain_as_its_user_s_problems_are_unlike(fitted):
    new = log_of_scripts(seed=0).rows(np.arange(700, 900))
    strange = new.with_columns((), script=[f"new{i}" for i in range(200)])
    out = fitted.predict(strange.known_at(Moment.SUBMIT))
    found = accuracy(out, new, ["runtime_s"])["runtime_s"]
    assert 0.2 < found.error < 1.0
    assert found.coverage >= 0.8


def test_what_a_setting_changes_is_the_same_whatever_the_level(fitted):
    """The level of a problem is of all its settings."""
    pair = {"app": ["a0"] * 2, "user": ["u0"] * 2, "job_id": [1, 1], "nodes": [4, 16],
            "nodes_requested": [4, 4]}  # fmt: skip
    known, strange = (
        np.log(fitted.predict(table({**pair, "script": [s] * 2})).draws["runtime_s"])
        for s in ("0.0.0", "none")
    )
    assert np.diff(known) == pytest.approx(np.diff(strange), abs=1e-6)


def test_known_problems_are_placed_where_they_ran_and_others_where_their_user_is():
    levels = ProblemLevels(np.array([[5.0, 25.0], [7.0, 49.0]]), np.array([0.4, -0.6]),
                           np.array([0.1, 0.2]))  # fmt: skip
    seen, columns = np.array([0, -1, 1]), np.arange(12.0).reshape(3, 4)
    asked = levels.as_asked(columns, seen, 1)
    assert asked.tolist() == [[0, 5, 25, 3], [4, 5, 6, 7], [8, 7, 49, 11]]
    assert columns.tolist() == np.arange(12.0).reshape(3, 4).tolist()
    level, shared, own = levels.placed(seen, np.full(3, 0.3), np.full(3, 0.9))
    assert level.tolist() == [0.4, 0.0, -0.6]
    assert shared.tolist() == [0.0, 0.3, 0.0]
    assert own.tolist() == [0.1, 0.9, 0.2]
