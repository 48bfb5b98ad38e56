"""A trial inside a log is found where chance chose, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import rheostat as rh
from rheostat.decision.trials.found_trial import TAKEN, with_found_trial
from rheostat.prediction.features.requested_settings import DRAWN


def log(seed, *, by_user=False, by_size=0.0, drawn=False, received=True, scale=3, **more):
    """4,500 jobs; 8 % ran at four times or a quarter of what they asked, or at random."""
    rng = np.random.default_rng(seed)
    n = 1500 * scale
    user, size = rng.integers(0, 12, n), np.exp(rng.normal(0, 0.7, n))
    asked = 2 ** np.clip(np.rint(3 + np.log2(size) + rng.normal(0, 0.7, n)), 0, 6).astype(int)
    part = rng.random(n) < (0.96 * (user == 0) if by_user else 0.08)
    up = rng.random(n) < 1 / (1 + np.exp(-by_size * np.log(size)))
    ran = np.where(part, np.where(up, asked * 4, np.maximum(asked // 4, 1)), asked)
    ran = np.where(part, rng.choice([1, 4, 16], n), asked) if drawn else ran
    columns = {
        "app": rng.choice(list("abcd"), n), "user": [f"u{k}" for k in user],
        "submit_s": 60.0 * np.arange(n), "memory_b": 4e10 * size,
    }  # fmt: skip
    columns |= {"nodes": asked, "nodes_alloc": ran} if received else {"nodes": ran}
    return rh.table({**columns, **{name: part for name in more}}), part


def test_jobs_that_chance_moved_are_a_trial_and_it_is_said():
    jobs, part = log(0)
    found = with_found_trial(jobs, "nodes")
    moved = found.frame["nodes"] != found.frame["nodes_requested"]
    assert found.frame["nodes_requested"].equals(jobs.frame["nodes"].alias("nodes_requested"))
    assert moved.sum() <= part.sum()
    assert moved.sum() > 0.8 * part.sum()
    assert TAKEN in found.notes[-1].message


def test_few_jobs_that_nobody_named_are_no_trial():
    jobs, part = log(0, scale=1)
    found = with_found_trial(jobs, "nodes")
    assert 30 < part.sum() < 300
    assert "nodes_requested" not in found.columns
    assert "fewer than 300 do not tell chance from reasons" in found.notes[-1].message


@pytest.mark.parametrize(("made", "column"), [({"by_user": True}, "user"),
                                              ({"by_size": 6.0}, "memory_b")])  # fmt: skip
def test_users_or_sizes_that_tell_who_moved_are_reasons(made, column):
    jobs, _ = log(1, **made)
    found = with_found_trial(jobs, "nodes")
    assert "nodes_requested" not in found.columns
    assert f"; {column} tells which or at what" in found.notes[-1].message


def test_a_column_that_names_drawn_jobs_is_believed_where_applications_do_not_tell_the_setting():
    jobs, part = log(2, drawn=True, received=False, randomized=True)
    found = with_found_trial(jobs, "nodes")
    moved = (found.frame["nodes"] != found.frame["nodes_requested"]).to_numpy()
    assert not moved[~part].any()
    assert moved[part].mean() > 0.5
    assert "named by column randomized" in found.notes[-1].message


@pytest.mark.parametrize("seed", range(3))
def test_what_was_asked_for_beside_what_was_given_is_tested_too(seed):
    """Where all jobs that ran otherwise are those of a few users, nobody drew them."""
    made, _ = log(seed, received=False)
    asked = made.frame["nodes"]  # what ran here
    rng = np.random.default_rng(seed)
    few = made.frame["user"].is_in(["u1", "u2", "u3"]).to_numpy() & (rng.random(len(made)) < 0.2)
    by_chance = rng.random(len(made)) < 0.05
    for part, believed in ((few, False), (by_chance, True)):
        ran = np.where(part, asked.to_numpy() * 2, asked.to_numpy())
        stated = rh.table({**made.frame.drop("nodes").to_dict(as_series=False),
                           "nodes": ran, "nodes_requested": asked.to_list()})  # fmt: skip
        found = with_found_trial(stated, "nodes")
        assert ("nodes_requested" in found.columns) == believed
        assert believed or "user tells which or at what" in found.notes[-1].message


def test_a_log_whose_jobs_all_are_named_as_drawn_is_a_trial_where_users_do_not_tell_it():
    rng = np.random.default_rng(3)
    user, nodes = rng.integers(0, 8, 900), 2 ** rng.integers(0, 4, 900)
    columns = {"app": rng.choice(list("ab"), 900), "user": [f"u{k}" for k in user],
               "submit_s": 60.0 * np.arange(900), "randomized": [1] * 900}  # fmt: skip
    drawn = with_found_trial(rh.table({**columns, "nodes": nodes}), "nodes")
    assert drawn.frame[DRAWN].all()
    assert TAKEN in drawn.notes[-1].message
    chosen = with_found_trial(rh.table({**columns, "nodes": nodes * 2 ** (user % 2)}), "nodes")
    assert DRAWN not in chosen.columns
    assert "user tells at what nodes" in chosen.notes[-1].message


def test_advice_of_a_drawn_log_is_for_more_nodes_where_nodes_share_their_watts():
    """T = 3000 m / n and 900 W + 300 W a node: each doubling takes less energy, and is believed."""
    rng = np.random.default_rng(5)
    n, m = 2 ** rng.integers(0, 5, 1200), np.exp(rng.normal(0, 0.3, 1200))
    runtime = 3000 * m / n * np.exp(rng.normal(0, 0.03, 1200))
    columns = {
        "app": rng.choice(list("abcdef"), 1200), "user": rng.choice(list("uvw"), 1200),
        "submit_s": 60.0 * np.arange(1200), "nodes": n, "runtime_s": runtime,
        "power_w": 900 + 300.0 * n,
    }  # fmt: skip
    jobs = rh.table({**columns, "randomized": [True] * 1200})
    advice = rh.decide(jobs, knobs="nodes=1,2,4,8,16")
    table = advice.table()
    advised = table.filter(table["status"] == "advised")
    assert (advised["nodes"] > advised["nodes_requested"]).sum() > 700
    assert "chance drew the setting of every job" in advice.log.sentences[0]


def test_advice_of_a_drawn_log_is_for_settings_that_save():
    """T = 3000 m / n^0.5 of a hidden size m, 300 W a node: fewer nodes take less energy."""
    rng = np.random.default_rng(4)
    n, m = 2 ** rng.integers(0, 5, 1200), np.exp(rng.normal(0, 0.5, 1200))
    runtime = 3000 * m / n**0.5 * np.exp(rng.normal(0, 0.03, 1200))
    jobs = rh.table({
        "app": rng.choice(list("abcdef"), 1200), "user": rng.choice(list("uvw"), 1200),
        "submit_s": 60.0 * np.arange(1200), "nodes": n, "runtime_s": runtime,
        "power_w": 300.0 * n, "randomized": [True] * 1200,
    })  # fmt: skip
    advice = rh.decide(jobs, knobs="nodes=1,2,4,8,16", slowdown=100)
    table = advice.table()
    advised = table.filter(table["status"] == "advised")
    assert len(advised) > 300
    assert (advised["nodes"] < advised["nodes_requested"]).all()
