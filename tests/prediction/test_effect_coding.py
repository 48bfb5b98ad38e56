"""Columns of a log as rows of numbers: groups, problems, sizes, guesses, what was asked for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.prediction.effects.effect_coding import _asked_for, fit_coding
from rheostat.prediction.effects.shapes import SHAPES

LOG = pl.DataFrame({
    "app": ["a", "a", "b", None], "user": ["u", "v", "u", "u"], "nodes": [1, 2, 4, 8],
    "nodes_requested": [1, None, 2, 8], "clock": [2.0, 1.0, 1.0, 4.0],
    "memory_b": [1.0, 10.0, None, 100.0], "time_limit_s": [60, 60, 0, 600],
    "script": ["x", "x", "x", None],
})  # fmt: skip


def coded(frame=LOG, knobs=("nodes", "clock"), **more):
    how = {"by": None, "sizes": ("memory_b",), "problem": "script"} | more
    return fit_coding(frame, knobs, ("runtime_s", "power_w"), **how)


def test_groups_are_applications_and_their_users_and_the_unseen_have_none():
    made = coded()
    assert (made.by, made.within, made.problem) == (("app",), ("app", "user"), "script")
    rows = made.rows(LOG)
    assert rows.app.tolist() == [1, 1, 2, 0]  # of "", a and b
    assert len(set(rows.cell.tolist())) == 4
    assert rows.user.tolist() == [0, 1, 0, 0]
    other = made.rows(LOG.with_columns(pl.lit("z").alias("app")))
    assert (other.app.tolist(), other.cell.tolist()) == ([-1] * 4, [-1] * 4)
    assert made.rows(LOG.drop("app", "script")).app.tolist() == [-1] * 4
    assert made.rows(LOG.drop("user")).user.tolist() == [0] * 4
    of_users = coded(LOG.drop("app"))
    assert (of_users.by, of_users.within) == (("user",), ("user",))
    alone = coded(LOG.drop("app", "user"))
    assert (alone.by, alone.within, alone.apps) == ((), (), ("",))
    assert alone.rows(LOG).app.tolist() == [0] * 4
    assert coded(sizes=(), problem=None).rows(LOG).app.tolist() == [1, 1, 2, 0]
    assert made._code(LOG.select("app"), ("app",), made.apps).tolist() == [1, 1, 2, 0]
    both = coded(by=("user",))
    assert (both.by, both.within) == (("user",), ("user", "app"))


def test_a_problem_is_of_its_application_and_one_without_a_name_stands_alone():
    rows = coded().rows(LOG)
    assert len(set(rows.problem.tolist())) == 3  # a's x, b's x, the nameless
    assert rows.problem[0] == rows.problem[1]
    for made in (coded(problem=None), coded(problem="input"), coded(LOG.drop("script"))):
        assert made.problem is None
        assert made.rows(LOG).problem.tolist() == [0, 1, 2, 3]
    assert coded().rows(LOG.drop("script")).problem.tolist() == [0, 1, 2, 3]


def test_sizes_and_guesses_are_logarithms_and_the_missing_is_typical():
    rows = coded().rows(LOG)
    assert rows.size[:, 0] == pytest.approx(np.log([1.0, 10.0, 10.0, 100.0]))
    assert rows.guess[:, 0] == pytest.approx(np.log([60.0, 60.0, 60.0, 600.0]))
    named = coded(sizes=("memory_b", "time_limit_s"))
    assert (named.sizes, named.guesses) == (("memory_b", "time_limit_s"), ())
    assert named.rows(LOG).size.shape == (4, 2)
    assert named.rows(LOG).guess.shape == (4, 0)
    flat = coded(LOG.with_columns(pl.lit(5.0).alias("memory_b")))  # says nothing
    assert (flat.sizes, flat.guesses) == ((), ("time_limit_s",))
    knob = coded(knobs=("memory_b",))
    assert knob.sizes == ()
    assert coded(sizes=("app",)).sizes == ()
    assert coded(LOG.drop("memory_b", "time_limit_s")).rows(LOG).size.shape == (4, 0)
    empty = LOG.with_columns(pl.lit(None, dtype=pl.Float64).alias("memory_b"))
    assert coded(empty).sizes == ()


def test_what_was_asked_for_is_what_ran_unless_another_column_says():
    made = coded()
    rows = made.rows(LOG)
    assert rows.turned.tolist() == [False, False, True, False]
    assert rows.log_run == pytest.approx(np.log(LOG.select("nodes", "clock").to_numpy()))
    asked = np.log(np.array([1, 2, 2, 8]))
    assert rows.log_asked[:, 0] == pytest.approx(asked)
    centre = np.log([1, 2, 4, 8]).mean()
    assert rows.request[:, :2] == pytest.approx(
        np.stack([asked - centre, (asked - centre) ** 2 / 2], axis=-1))  # fmt: skip
    runtime, power = rows.effect["runtime_s"], rows.effect["power_w"]
    assert runtime.shape == (4, SHAPES + 2)
    assert runtime[0, :SHAPES] == pytest.approx(np.zeros(SHAPES), abs=1e-12)
    assert np.abs(power - runtime)[1:, :SHAPES].min() > 0
    assert power[:, SHAPES:].tolist() == runtime[:, SHAPES:].tolist()
    assert made.exponents("runtime_s").tolist() == [-1.0, 0.0]
    assert made.first_requests.tolist() == [0, 2]


def test_a_knob_of_names_has_no_logarithm():
    frame = LOG.with_columns(pl.Series("clock", ["lo", "hi", "lo", "hi"]))
    made = coded(frame)
    assert made.rows(frame).log_run[:, 1].tolist() == [0.0] * 4
    assert made.first_requests.tolist() == [0, 2]
    assert coded(frame, knobs=("clock", "nodes")).first_requests.tolist() == [0, 1]


def test_a_request_of_nothing_is_none_of_an_amount_and_a_setting_where_nothing_is_one():
    """Turbo 0 is off; 0 nodes were never asked for, and names are taken as they stand."""
    frame = pl.DataFrame({"turbo": [0, 1, 1], "turbo_requested": [1, 0, None],
                          "nodes": [1, 2, 4], "nodes_requested": [0, -1, 8],
                          "mode": ["a", "b", "b"], "mode_requested": ["b", None, "a"]})  # fmt: skip
    assert _asked_for(frame, "turbo").to_list() == [1, 0, 1]
    assert _asked_for(frame, "nodes").to_list() == [1, 2, 8]
    assert _asked_for(frame, "mode").to_list() == ["b", "b", "a"]
    assert _asked_for(frame.drop("mode_requested"), "mode").to_list() == ["a", "b", "b"]
    named = frame.with_columns(pl.Series("nodes_requested", ["0", "2", None]))
    assert _asked_for(named, "nodes").to_list() == ["0", "2", "4"]
    gone = coded().rows(LOG.with_columns(pl.Series("nodes", [None, 2, 4, 8])))
    assert gone.turned.tolist() == [False, False, True, False]
