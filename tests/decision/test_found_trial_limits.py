"""How many jobs make a trial, which column names them, and how sure the test of reasons is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.decision.trials import found_trial
from rheostat.decision.trials.found_trial import (
    DRAWN,
    PERMUTATIONS,
    TAKEN,
    _most,
    _statistic,
    reasons,
    with_found_trial,
)


def moved(n, count, *, user=None, **more):
    """``n`` jobs that asked for 8 nodes, of which the ``count`` that chance chose got 16."""
    part = np.random.default_rng(count).permutation(n) < count
    columns = {"submit_s": np.arange(float(n)), "nodes": [8] * n,
               "nodes_alloc": np.where(part, 16, 8)}  # fmt: skip
    if user is not None:
        columns["user"] = user(part)
    return table({**columns, **{k: v(part) for k, v in more.items()}}), part


def users(n):
    return lambda _: [f"u{k % 7}" for k in range(n)]


def said(found):
    return found.notes[-1].message if found.notes else ""


@pytest.mark.parametrize(("count", "outcome"), [
    (29, ""), (30, "fewer than 300"), (299, "fewer than 300"), (300, TAKEN), (2000, TAKEN),
    (2001, ""),
])  # fmt: skip
def test_jobs_that_nobody_named_are_a_trial_from_300_up_to_half_of_them(count, outcome):
    log, part = moved(4000, count, user=users(4000))
    found = with_found_trial(log, "nodes")
    assert (outcome in said(found)) if outcome else found.notes == log.notes
    assert ("nodes_requested" in found.columns) == (outcome == TAKEN)
    assert found.frame["nodes"].to_list() == np.where(part, 16, 8).tolist()
    if outcome == TAKEN:
        assert found.frame["nodes_requested"].to_list() == [8] * 4000
        assert found.notes[-1].count == count


@pytest.mark.parametrize(("count", "taken"), [(29, False), (30, True), (200, True), (201, False)])
def test_jobs_that_a_column_names_are_a_trial_from_30_up_to_half_of_them(count, taken):
    log, _ = moved(400, count, user=users(400), random=lambda part: part)
    assert (TAKEN in said(with_found_trial(log, "nodes"))) == taken


@pytest.mark.parametrize(("count", "tested"), [(29, False), (30, True), (200, True), (201, False)])
def test_a_request_of_the_log_itself_is_tested_from_30_up_to_half_of_the_jobs(count, tested):
    log, part = moved(400, count, user=lambda part: np.where(part, "eve", "bob"))
    stated = table(log.frame.select("submit_s", "user", nodes="nodes_alloc", nodes_requested=8))
    found = with_found_trial(stated, "nodes")
    assert ("nodes_requested" not in found.columns) == tested
    assert (found is stated) != tested
    assert found.frame["nodes"].to_list() == np.where(part, 16, 8).tolist()


def test_a_job_whose_request_or_share_is_not_known_did_not_run_otherwise():
    log, part = moved(4000, 400, user=users(4000))
    gaps = np.flatnonzero(~part)[:500]
    unknown = np.isin(np.arange(4000), gaps)
    asked = pl.when(pl.Series(unknown)).then(None).otherwise(pl.col("nodes"))
    found = with_found_trial(table(log.frame.with_columns(nodes=asked)), "nodes")
    assert found.notes[-1].count == 400
    assert found.frame["nodes_requested"].null_count() == len(gaps)
    got = pl.when(pl.Series(unknown)).then(None).otherwise(pl.col("nodes_alloc"))
    found = with_found_trial(table(log.frame.with_columns(nodes_alloc=got)), "nodes")
    assert found.notes[-1].count == 400
    assert found.frame["nodes"].to_list() == np.where(part, 16, 8).tolist()


@pytest.mark.parametrize("cells", [
    lambda part: [False] * len(part),
    lambda part: np.where(part, "yes", "perhaps"),
    lambda part: [""] * len(part),
])  # fmt: skip
def test_a_column_that_does_not_say_yes_of_some_and_no_of_others_names_nobody(cells):
    log, _ = moved(4000, 400, user=users(4000), experiment=cells)
    note = said(with_found_trial(log, "nodes"))
    assert TAKEN in note
    assert "named by column" not in note


def test_words_for_yes_and_no_name_jobs_in_any_case():
    log, _ = moved(400, 40, user=users(400), trial=lambda part: np.where(part, " Yes", "FALSE"))
    assert "named by column trial" in said(with_found_trial(log, "nodes"))


def test_where_nothing_could_tell_the_note_says_that_nothing_was_tested():
    nothing = f"no column of users, applications or sizes that could be tested: {TAKEN}"
    found = with_found_trial(moved(400, 40, random=lambda part: part)[0], "nodes")
    assert nothing.removesuffix(f": {TAKEN}") in said(found)
    assert TAKEN in said(found)
    drawn = table({"submit_s": np.arange(90.0), "nodes": [2, 4, 8] * 30, "random": [True] * 90})
    found = with_found_trial(drawn, "nodes")
    assert nothing in said(found)
    assert found.frame[DRAWN].all()


@pytest.mark.parametrize(("kept", "asked"), [
    (("app", "user"), {"a u": 4, "a v": 16, "b u": 32, "b v": 32}),
    (("app",), {"a u": 8, "a v": 8, "b u": 32, "b v": 32}),
    ((), dict.fromkeys(("a u", "a v", "b u", "b v"), 24)),
])  # fmt: skip
def test_drawn_jobs_would_have_asked_for_what_their_user_s_application_does(kept, asked):
    """Where the user is not known, or neither is, the median is that of the jobs that are left."""
    usual = {"a u": [4, 4, 4, 8], "a v": [16, 16, 16, 8], "b u": [32] * 4, "b v": [32] * 4}
    rows = [(who, n) for who, some in usual.items() for n in some * 25]
    rng = np.random.default_rng(0)
    drawn = [(who, int(n)) for who in usual for n in rng.permutation([2, 64] * 20)]
    who, nodes = zip(*rows, *drawn, strict=True)
    log = table({
        "app": [w[0] for w in who], "user": [w[2] for w in who], "nodes": list(nodes),
        "random": [False] * len(rows) + [True] * len(drawn),
        "submit_s": np.arange(float(len(who))),
    })  # fmt: skip
    found = with_found_trial(log.select([c for c in log.columns if c in (
        *kept, "nodes", "random", "submit_s")]), "nodes")  # fmt: skip
    assert TAKEN in said(found)
    assert found.frame["nodes"].to_list() == list(nodes)
    got = found.frame["nodes_requested"].to_list()
    assert got[: len(rows)] == list(nodes[: len(rows)])
    assert got[len(rows) :] == [asked[w] for w in who[len(rows) :]]


def judged(user, y, asked=None):
    log = table({"user": user, "submit_s": np.arange(float(len(y)))})
    return reasons(log, ["user"], np.asarray(y, float), np.asarray(asked or [1.0] * len(y)))


def test_what_a_column_tells_to_the_last_job_has_the_least_chance_there_is():
    part = np.arange(100) < 30
    assert judged(np.where(part, "a", "b"), part) == (1 / (PERMUTATIONS + 1), "user")
    log = table({"user": np.where(part, "a", "b")})
    assert reasons(log, [], part.astype(float), np.ones(100)) == (1.0, "")


def test_of_few_jobs_the_chance_is_that_of_all_their_orders():
    """Of the 20 ways to choose 3 of 6 jobs, 2 have all of one user's: 0.1, within 4 errors."""
    chance, _ = judged(list("aaabbb"), [1, 1, 1, 0, 0, 0])
    assert chance == pytest.approx(0.1, abs=4 * (0.1 * 0.9 / PERMUTATIONS) ** 0.5)


def test_what_requests_tell_is_no_reason():
    """Users who ask for other amounts are turned more often, at equal requests as often."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 2, 2000)
    asked = np.where(rng.random(2000) < 0.2 + 0.6 * user, 64.0, 1.0)
    y = (rng.random(2000) < np.where(asked > 1, 0.4, 0.05)).astype(float)
    names = [f"u{k}" for k in user]
    assert judged(names, y, asked.tolist())[0] > 0.05
    assert judged(names, y)[0] < 0.01


def test_users_whose_requests_are_all_alike_tell_nothing_at_equal_requests():
    """Each user asks for an amount of their own: sums within it are nought but for rounding."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 7, 900)
    y = np.where(rng.random(900) < 0.1 + 0.1 * user, np.log(3), 0.0)
    assert judged([f"u{k}" for k in user], y, (2.0**user).tolist())[0] == 1.0


def test_a_small_user_beside_four_large_ones_is_noticed():
    """One in ten jobs is turned, but all of a user's who has one job in fifty."""
    rng = np.random.default_rng(0)
    user = rng.choice([f"u{k}" for k in range(4)], 1000).astype(object)
    y = rng.random(1000) < 0.1
    user[:20], y[:20] = "few", True
    assert judged(user.tolist(), y)[0] < 0.01


def test_where_chance_drew_the_test_says_so_in_nine_of_ten_logs():
    rng = np.random.default_rng(1)
    user = [f"u{k % 5}" for k in range(300)]
    chances = [judged(user, rng.random(300) < 0.2)[0] for _ in range(12)]
    assert 0.25 < np.mean(chances) < 0.75  # 0.5, within three errors of 1 / sqrt(12 * 12)


def test_without_the_setting_or_the_time_of_submission_nothing_is_looked_for():
    log, _ = moved(400, 100, user=users(400), random=lambda part: part | True)
    assert "by chance" in with_found_trial(log, "nodes").schema[DRAWN].meaning
    for less in (log.select(["submit_s", "random", "user", "nodes_alloc"]),
                 log.select(["nodes", "random", "user", "nodes_alloc"])):  # fmt: skip
        assert with_found_trial(less, "nodes") is less


def test_the_newest_twenty_thousand_jobs_are_tested(monkeypatch):
    """The one before them is left out, by whom and at what it ran."""
    seen, n = [], 20_001
    monkeypatch.setattr(found_trial, "PERMUTATIONS", 2)
    monkeypatch.setattr(found_trial, "left",
                        lambda values, s: seen.append(values) or values)  # fmt: skip
    y, size = np.arange(float(n)), np.arange(n) + 5
    reasons(table({"submit_s": y, "memory_b": size}), ["memory_b"], y, np.ones(n))
    moved, turned, rank = seen
    assert (moved[0], len(moved), len(turned)) == (1.0, 20_000, 20_000)
    assert rank.tolist() == np.arange(1, n).tolist()
    seen.clear()
    reasons(table({"memory_b": size[:7]}), ["memory_b"], y[:7], np.ones(7))
    assert [len(v) for v in seen] == [7, 7, 7]


def test_the_statistic_is_the_spread_of_groups_or_a_correlation_and_has_a_most():
    """Cauchy and Schwarz: reached where the outcome is the column itself."""
    groups, y = np.array([0, 0, 1, 2, 2, 2]), np.array([1.0, -3.0, 2.0, 1.0, 1.0, -2.0])
    assert _statistic(groups, y) == pytest.approx(4 / 2 + 4 / 1 + 0.0)
    number = np.array([1.0, -1.0, 0.0, 2.0, 0.0, -2.0])
    assert _statistic(number, -y) == _statistic(number, y) == pytest.approx(1 + 3 + 2 + 4)
    assert (_most(groups, y), _most(number, y)) == pytest.approx((20.0, np.sqrt(10.0 * 20.0)))
    own = np.array([4.0, 4.0, -1.0, 2.0, 2.0, 2.0])
    assert _statistic(groups, own) == pytest.approx(_most(groups, own))
    assert _statistic(number, 3 * number) == pytest.approx(_most(number, 3 * number))


def test_what_is_left_at_equal_requests_is_off_the_mean_of_its_stratum():
    values, s = np.array([1.0, 3.0, 8.0, 1e-13]), np.array([0, 0, 1, 1])
    assert found_trial.left(values, s) == pytest.approx([-1.0, 1.0, 4.0, -4.0])
    rounded = np.array([1e6 + 1e-7, 1e6, 5.0])
    assert found_trial.left(rounded, np.array([0, 0, 1])).tolist() == [0.0, 0.0, 0.0]
    assert found_trial.left(np.array([0.5, -0.5]), np.zeros(2, int)).tolist() == [0.5, -0.5]


def test_moved_is_the_log_of_received_over_asked_where_both_are_known():
    ran, asked = np.array([4.0, 0.0, np.nan, 2.0, 3.0]), np.array([2.0, 2.0, 2.0, 0.0, 3.0])
    assert found_trial._moved(ran, asked).tolist() == [np.log(2.0), 0.0, 0.0, 0.0, 0.0]


def test_a_column_of_names_is_groups_and_one_of_numbers_ranks_at_equal_requests():
    s = np.array([0, 0, 1, 1])
    named = found_trial._column(pl.Series(["b", None, "a", "b"]), s)
    assert named.tolist() == [2, 0, 1, 2]
    ranks = found_trial._column(pl.Series([10, 40, 20, 90]), s)
    assert ranks.tolist() == [-1.0, 1.0, -1.0, 1.0]
    missing = found_trial._column(pl.Series([1.0, None, 5.0, 9.0]), np.zeros(4, int))
    assert missing == pytest.approx([-1.5, 0.0, 0.0, 1.5])  # typical, beside the one in the middle


def test_jobs_ran_at_what_they_were_given_where_that_is_a_number_above_none():
    """Whatever the reason: what was not drawn by chance ran there as well."""
    log = table({"submit_s": [1.0, 2.0, 3.0], "nodes": [4, 4, 4], "nodes_alloc": [8, 0, None]})
    assert with_found_trial(log, "nodes").frame["nodes"].to_list() == [8, 4, 4]
    alone = log.select(["submit_s", "nodes"])
    assert with_found_trial(alone, "nodes") is alone
    modes = table({"submit_s": [1.0, 2.0], "mode": ["eco", "fast"]})
    assert with_found_trial(modes, "mode") is modes
    why, _ = moved(4000, 400, user=lambda part: np.where(part, "eve", "bob"))
    found = with_found_trial(why, "nodes")
    assert "there were reasons" in said(found)
    assert "nodes_requested" not in found.columns
    assert found.frame["nodes"].to_list() == why.frame["nodes_alloc"].to_list()


def test_of_jobs_that_a_column_names_the_others_were_not_turned():
    """They ran at what they were given too, and that counts as what they had asked for."""
    log, part = moved(400, 100, user=users(400), random=lambda part: part)
    given = np.where(part, 16, np.where(np.arange(400) % 7 == 0, 4, 8))
    found = with_found_trial(table(log.frame.with_columns(nodes_alloc=pl.Series(given))), "nodes")
    assert found.notes[-1].count == 100
    assert found.frame["nodes"].to_list() == given.tolist()
    assert found.frame["nodes_requested"].to_list() == np.where(part, 8, given).tolist()
