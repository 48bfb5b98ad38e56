"""What a trial is read to say, against regressions written out with a column for every cell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, t

from rheostat import plan_trial, table
from rheostat.decision.trials.trial_size import trial_for, trial_result, trial_size, with_trial

ASKED, RAN, TIME = "nodes_requested", "nodes", "runtime_s"


def log(seed: int = 0, apps: int = 3):
    """Two users' runs of each application on 1 to 16 nodes, of 1 s upward, a third turned.

    Two rows have a value of 0, which has no logarithm.
    """
    rng = np.random.default_rng(seed)
    n = 16 * apps
    asked = 2 ** rng.integers(0, 5, n)
    ran = np.where(rng.random(n) < 0.35, np.maximum(asked // 2, 1), asked)
    time = np.maximum(np.rint(40 * rng.lognormal(0, 1, n) / ran), 1.0)
    ran[3], time[7] = 0, 0.0
    return table({"job_id": np.arange(n), "app": [f"a{i % apps}" for i in range(n)],
                  "user": [f"u{(i // apps) % 2}" for i in range(n)],
                  RAN: ran, ASKED: asked, TIME: time})  # fmt: skip


def dummies(codes) -> np.ndarray:
    return (np.asarray(codes)[:, None] == np.unique(codes)).astype(float)


def unexplained(values, columns):
    return values - columns @ (np.linalg.pinv(columns) @ values)


def slope(x, y, cluster):
    """Through zero, with the 90 % interval of the clustered standard error."""
    value = (x @ y) / (x @ x)
    sums = np.array([(x * (y - value * x))[cluster == c].sum() for c in np.unique(cluster)])
    n = len(sums)
    half = t.ppf(0.95, n - 1) * np.sqrt((sums**2).sum() * n / (n - 1)) / (x @ x)
    return value, value - half, value + half


@pytest.mark.parametrize("seed", range(3))
def test_a_trial_is_the_slope_within_users_applications_at_equal_requests(seed) -> None:
    runs = log(seed)
    good = runs.frame.filter((pl.col(RAN) > 0) & (pl.col(TIME) > 0))
    assert (good[RAN] == 1).any()  # a node or a second is a run like any other
    assert (good[TIME] == 1).any()
    app, cell = good["app"].to_numpy(), (good["app"] + good["user"]).to_numpy()
    request, y = np.log(good[ASKED].to_numpy()), np.log(good[TIME].to_numpy())
    x = np.log(good[RAN].to_numpy()) - request
    given = np.column_stack([request, request**2])
    rest = [np.zeros(len(y)), np.zeros(len(y))]
    for a in np.unique(app):
        here = app == a
        for out, v in zip(rest, (x, y), strict=True):
            out[here] = unexplained(v[here], np.column_stack([dummies(cell[here]), given[here]]))
    whole = np.column_stack([dummies(cell), x])
    found = trial_result(runs, RAN)
    assert found.by_trial == pytest.approx(slope(*rest, np.arange(len(y))))
    assert found.by_log == pytest.approx(
        slope(unexplained(request, whole), unexplained(y, whole), app)
    )
    assert (found.knob, found.turned, found.applications) == (RAN, (x != 0).sum(), 3)


def test_one_application_in_a_trial_says_nothing_and_two_do() -> None:
    runs = log(apps=2)
    still = pl.Series(RAN, np.where(runs.frame["app"] == "a0", runs.frame[ASKED], runs.frame[RAN]))
    assert trial_result(runs, RAN).applications == 2
    assert trial_result(runs.with_columns((), nodes=still), RAN) is None
    assert trial_result(runs.select([RAN, ASKED, TIME]), RAN) is None


def test_the_jobs_needed_follow_from_the_spread_of_the_past_and_the_turns_planned() -> None:
    past = log(5)
    good = past.frame.filter(pl.col(TIME) > 0)
    cell, app = (good["app"] + good["user"]).to_numpy(), good["app"].to_numpy()
    y, x = np.log(good[TIME].to_numpy()), np.log(good[ASKED].to_numpy())
    own = [x * (app == a) for a in np.unique(app)]  # a slope for each application
    rest = unexplained(y, np.column_stack([dummies(cell), *own]))
    spread = np.sqrt((rest @ rest) / (len(y) - 6 - 3))
    queue = table({"job_id": range(200), RAN: [4, 16] * 100})
    plan = plan_trial(queue, share=0.2, factors=(0.5, 4.0))
    turned = plan.table.frame.filter(pl.col("takes_part"))
    lever = np.sqrt(np.mean(np.log(turned[RAN] / turned[ASKED]).to_numpy() ** 2))
    for before, s in ((None, 0.5), (past, spread), (past.rows(range(29)), 0.5)):
        size = trial_size(plan, before, 0.1)
        one = norm.ppf(0.95) * np.hypot(s / lever, 0.4)
        assert size.spread == pytest.approx(s)
        assert size.needed == np.ceil((one / 0.1) ** 2)
        assert size.reached == pytest.approx(one / np.sqrt(len(turned)))
        assert size.share == pytest.approx(0.2 * size.needed / len(turned))
        assert (size.measured, size.expected) == (before is past, len(turned))
    nobody = trial_size(plan_trial(queue, share=0.0, factors=(0.5, 4.0)), None, 0.1)
    assert nobody.needed == np.ceil((norm.ppf(0.95) * np.hypot(0.5 / np.log(4), 0.4) / 0.1) ** 2)
    assert trial_size(plan, None, 1e9).needed == 1


def test_a_log_of_thirty_runs_tells_its_spread_and_one_without_freedom_does_not() -> None:
    plan = plan_trial(table({"job_id": range(200), RAN: [4, 16] * 100}), share=0.2)
    thirty = log(1).rows(range(8, 38))
    assert trial_size(plan, thirty).measured
    assert not trial_size(plan, thirty.rows(range(29))).measured
    alone = thirty.with_columns((), user=[f"u{i}" for i in range(30)])
    assert not trial_size(plan, alone).measured


def test_the_trial_for_a_log_goes_as_high_as_the_log_did() -> None:
    past = log(2)
    expected = trial_size(plan_trial(past, 0.3, RAN, high=16), past)
    assert trial_for(past, RAN, 0.3) == expected
    assert trial_for(past.select([RAN, TIME]), RAN) is None
    named = table({"job_id": [1], "partition": ["a"]})
    assert trial_for(named, "partition") is None


def test_jobs_that_did_not_run_as_planned_are_noted_with_the_first_twenty() -> None:
    n = 30
    plan = table({"job_id": [*range(n), 0], RAN: [4] * n + [4], ASKED: [8] * (n - 1) + [4, 8],
                  "takes_part": [True] * (n - 1) + [False, True]})  # fmt: skip
    ran = table({"job_id": range(n + 1), RAN: [4] * 3 + [8] * (n - 2)})
    made = with_trial(ran, plan, RAN)
    assert made.frame[ASKED].to_list() == [8] * (n - 1) + [4, 8]  # the last is not of the plan
    (note,) = made.notes
    assert note.message.startswith("of the trial did not run as planned")
    assert note.rows == tuple(range(3, 23))
    assert note.count == n - 4  # a job that did not take part runs as it likes
    as_planned = with_trial(ran.rows(range(3)), plan, RAN)
    assert as_planned.notes == ()
    assert as_planned.schema[ASKED].meaning == "nodes as submitted"


def test_a_job_ran_as_planned_where_it_was_given_what_the_plan_says() -> None:
    """`sacct` keeps what was asked for beside it (ReqNodes, AllocNodes)."""
    plan = table({"job_id": [1, 2, 3], "nodes": [2, 2, 8], "nodes_requested": [8, 8, 8],
                  "takes_part": [True, True, False]})  # fmt: skip
    log = table({"job_id": [1, 2, 3], "nodes": [8, 8, 4], "nodes_alloc": [2, 4, None]})
    made = with_trial(log, plan, "nodes")
    assert made.frame["nodes"].to_list() == [2, 4, 4]
    assert made.frame["nodes_requested"].to_list() == [8, 8, 8]
    assert [n.rows for n in made.notes] == [(1,)]
