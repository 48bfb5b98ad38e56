"""Jobs at other settings, told from runs of the same application: parts that are closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.effects import WithinApplication, plausible, unlike_jobs
from rheostat.prediction.effects.effect_prior import effect_prior
from rheostat.prediction.effects.job_noise import _numbers
from rheostat.prediction.effects.weighed_rows import even, steady


def log(n=240, seed=0, **more):
    """Two applications of two users; limits are a guess that follows the nodes asked for."""
    rng = np.random.default_rng(seed)
    nodes, app = rng.choice([1, 2, 4, 8], n), np.arange(n) % 2
    limit = 1000.0 * nodes ** (0.2 + 0.6 * app) * np.exp(0.1 * rng.standard_normal(n))
    return table({
        "app": np.array(["a", "b"])[app], "user": np.array(["u", "v"])[np.arange(n) // 2 % 2],
        "nodes": nodes, "submit_s": np.arange(n, dtype=float), "time_limit_s": limit,
        "runtime_s": (100.0 + 50 * app) / nodes * np.exp(0.05 * rng.standard_normal(n)),
        "power_w": (200.0 + 10 * app) * nodes, **more,
    })  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return WithinApplication(("nodes",)).fit(log())


def asked(**more):
    return table({"app": ["a", "b"], "user": ["u", "v"], "nodes": [4, 2],
                  "time_limit_s": [900.0, 900.0], **more})  # fmt: skip


def test_the_least_watts_of_a_node_are_those_of_the_most_frugal_run(fitted):
    assert fitted.least_w_ == {"nodes": pytest.approx(200.0)}
    clock = WithinApplication(("clock",), targets=("power_w",), n_draws=8)
    assert clock.fit(log(clock=np.tile([1.0, 2.0], 120))).least_w_ == {}
    timed = WithinApplication(("nodes",), targets=("runtime_s",), n_draws=8).fit(log())
    assert timed.least_w_ == {}


def test_a_guess_is_told_by_its_application_s_slope_on_the_request_pulled_to_all(fitted):
    """(X'X + 10 runs) b = X'g + 10 runs of the slope of all, rows less their user's mean."""
    frame, coding = log().frame, fitted.coding_
    rows = coding.rows(frame)
    request, guess = rows.request.copy(), np.log(frame["time_limit_s"].to_numpy())
    for cell in np.unique(rows.cell):
        here = rows.cell == cell
        request[here] -= request[here].mean(axis=0)
        guess[here] -= guess[here].mean()
    common = np.linalg.lstsq(request, guess, rcond=None)[0]
    pull = 10.0 * np.mean(request**2) * np.eye(2)
    for app in (0, 1):
        x, g = request[rows.app == app], guess[rows.app == app]
        wanted = np.linalg.solve(x.T @ x + pull, x.T @ g + pull @ common)
        assert fitted.follow_[app, :, 0] == pytest.approx(wanted)
    assert fitted.follow_[2, :, 0] == pytest.approx(common)
    assert fitted.follow_[:2, 0, 0] == pytest.approx([0.2, 0.8], abs=0.06)
    columns = fitted._columns(rows, "runtime_s")
    own = rows.guess[:, 0] - (rows.request * fitted.follow_[rows.app, :, 0]).sum(axis=1)
    assert columns[:, -1] == pytest.approx(own)


def test_effects_are_the_shapes_requests_what_the_log_can_be_told_and_sizes_are_wide(fitted):
    """The finer shapes are off (a thousandth) unless a recorded size is what tells."""
    curve = fitted.coding_.shapes[0].curve("runtime_s")
    p = curve.scale.shape[0]
    prior = effect_prior(fitted.coding_, fitted.identification_, "runtime_s", p + 4, p, 2)
    finer = [1e-3] * (p - 4)
    assert prior.sd == pytest.approx([*[1.0] * 4, *finer, 1.5, 0.75, 2.0, 2.0])
    assert prior.between[:4] == pytest.approx([0.7] * 4)
    assert prior.between[p:] == pytest.approx([0.2, 0.1, 0.2, 0.2])
    assert prior.mean[:4].tolist() == curve.mean[:4].tolist()
    assert prior.mean[4:].tolist() == [0.0] * p
    assert prior.blocks.tolist() == [*[0] * p, 1, 1, 2, 3]
    sized = replace(fitted.identification_, sizes=("memory_b",))
    prior = effect_prior(fitted.coding_, sized, "runtime_s", p + 4, p, 2)
    assert prior.sd[:p].tolist() == [1.0] * p
    assert prior.mean[:p].tolist() == curve.mean.tolist()


def test_a_forecast_depends_on_the_job_and_not_on_where_it_stands(fitted):
    both = fitted.predict(asked())
    turned = fitted.predict(asked().rows(np.array([1, 0])))
    for target in ("runtime_s", "power_w"):
        assert turned.draws[target].tolist() == both.draws[target][:, ::-1].tolist()
    assert both.draws["runtime_s"].shape == (64, 2)
    assert both.grade.tolist() == [3, 3]
    numbered = fitted.predict(asked(job_id=[7, 8]))
    assert numbered.draws["runtime_s"].tolist() != both.draws["runtime_s"].tolist()
    again = fitted.predict(asked(job_id=[7, 9]))
    assert again.draws["runtime_s"][:, 0].tolist() == numbered.draws["runtime_s"][:, 0].tolist()
    assert again.draws["runtime_s"][:, 1].tolist() != numbered.draws["runtime_s"][:, 1].tolist()
    with pytest.raises(NotFitted):
        WithinApplication().predict(asked())


def test_the_level_of_an_application_is_met_and_a_stranger_is_as_the_usual(fitted):
    said = fitted.predict(asked(user=["u", "u"]))
    assert np.median(said.draws["runtime_s"], axis=0) == pytest.approx([25.0, 75.0], rel=0.1)
    assert np.median(said.draws["power_w"], axis=0) == pytest.approx([800.0, 420.0], rel=0.05)
    strange = fitted.predict(asked(app=["z", "a"], nodes=[4, 4]))
    middle = np.median(strange.draws["runtime_s"], axis=0)
    assert 25.0 < middle[0] < 37.5
    wide = np.log(strange.draws["runtime_s"]).std(axis=0)
    assert wide[0] > 1.5 * wide[1]


def test_far_from_all_runs_it_abstains_and_says_where(fitted):
    out = fitted.predict(asked(nodes=[4, 4096]))
    assert np.isnan(out.draws["runtime_s"][:, 1]).all()
    assert np.isfinite(out.draws["runtime_s"][:, 0]).all()
    ((rows, count),) = [(n.rows, n.count) for n in out.notes if "no prediction" in n.message]
    assert (rows, count) == ((1,), 1)
    assert not fitted.predict(asked()).notes
    many = table({"app": ["a"] * 25, "user": ["u"] * 25, "nodes": [4096] * 25,
                  "time_limit_s": [9.0] * 25})  # fmt: skip
    ((rows, count),) = [(n.rows, n.count) for n in fitted.predict(many).notes]
    assert (rows, count) == (tuple(range(20)), 25)


def test_what_was_learned_from_must_be_there_to_be_asked_about(fitted):
    with pytest.raises(DataError) as said:
        fitted.predict(table({"user": ["u"], "nodes": [4]}))
    assert "app" in str(said.value)
    assert "time_limit_s" in str(said.value)


def test_a_trial_whose_problems_come_in_a_row_tells_more(monkeypatch):
    """The same jobs in another order say nothing of their neighbours."""
    monkeypatch.setattr(unlike_jobs, "UNLIKE", 0.0)  # how much jobs differ no trial of a few tells
    rng, n = np.random.default_rng(4), 600
    size, asked_for = np.repeat(rng.normal(0, 0.8, n // 5), 5), rng.choice([4, 8], n)
    turned = rng.random(n) < 0.2
    nodes = np.where(turned, 4 * asked_for, asked_for)
    runtime = 1000.0 * np.exp(size + 0.03 * rng.standard_normal(n)) / nodes
    wide = []
    for order in (np.arange(n), rng.permutation(n)):
        jobs = table({"app": ["a"] * n, "user": ["u"] * n, "submit_s": np.arange(n, dtype=float),
                      "nodes": nodes[order], "nodes_requested": asked_for[order],
                      "runtime_s": runtime[order], "power_w": 200.0 * nodes[order]})  # fmt: skip
        model = WithinApplication(("nodes",), n_draws=64).fit(jobs)
        assert model.identification_.by == "trial"
        pair = table({"app": ["a"] * 2, "user": ["u"] * 2, "job_id": [1, 1], "nodes": [4, 16],
                      "nodes_requested": [4, 4]})  # fmt: skip
        draws = np.log(model.predict(pair).draws["runtime_s"])
        gain = draws[:, 1] - draws[:, 0]
        assert np.median(gain) == pytest.approx(-np.log(4), abs=0.4)
        wide.append(gain.std())
    assert wide[0] < 0.6 * wide[1]


def test_rows_are_learned_in_order_of_time_and_then_of_their_outcomes():
    values = np.array([[3.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    assert steady(pl.DataFrame({"x": [1, 2, 3]}), values).tolist() == [2, 0, 1]
    when = pl.DataFrame({"submit_s": [5.0, 0.0, 5.0]})
    assert steady(when, values).tolist() == [1, 2, 0]


def test_an_id_is_its_number_or_a_checksum_of_its_text():
    assert _numbers(pl.Series([3, None, 5])).tolist() == [3.0, -1.0, 5.0]
    assert _numbers(pl.Series(["a", "b", None])).tolist() == [3904355907.0, 1908338681.0, 0.0]


def test_a_knob_of_one_name_and_a_size_that_is_a_guess_are_no_obstacle():
    runs = log(governor=["a"] * 240)
    model = WithinApplication(("nodes", "governor"), sizes=("time_limit_s",), n_draws=16).fit(runs)
    assert (model.coding_.sizes, model.coding_.guesses) == (("time_limit_s",), ())
    out = model.predict(asked(governor=["a", "a"]))
    assert np.median(out.draws["runtime_s"], axis=0) == pytest.approx([25.0, 75.0], rel=0.15)


def trial_of(n=800, seed=4):
    """A log in which one job in five ran at a quarter or at twice of what it asked for."""
    rng = np.random.default_rng(seed)
    asked_for = rng.choice([8, 16, 32], n)
    nodes = np.where(rng.random(n) < 0.2, asked_for * rng.choice([0.25, 2.0], n), asked_for)
    return table({
        "app": ["a"] * n, "user": ["u"] * n, "submit_s": np.arange(n, dtype=float),
        "nodes": nodes.astype(int), "nodes_requested": asked_for,
        "runtime_s": 900.0 / nodes**0.8 * np.exp(0.05 * rng.standard_normal(n)),
        "power_w": 200.0 * nodes,
    })  # fmt: skip


def test_a_trial_tells_nothing_beyond_what_it_turned_to():
    model = WithinApplication(("nodes",), n_draws=16).fit(trial_of())
    asked = table({"app": ["a"] * 5, "user": ["u"] * 5, "nodes": [2, 4, 16, 32, 64],
                   "nodes_requested": [16] * 5})  # fmt: skip
    out = model.predict(asked)
    assert np.isfinite(out.mean("runtime_s")).tolist() == [False, True, True, True, False]
    assert [n.count for n in out.notes if n.message == plausible.BEYOND] == [2]


def test_jobs_of_an_application_differ_where_its_nodes_gain_nothing():
    """At perfect division smaller and larger problems alike are done in a quarter of the time."""
    turned = np.full(2, np.log(4))
    flat, divided = unlike_jobs.room(np.array([0.0, -np.log(4)]), turned, -1.0) / turned
    assert flat == pytest.approx(1.0)
    assert divided == pytest.approx(0.3)


def test_a_time_limit_that_knows_the_run_time_does_not_hide_what_nodes_do():
    """T = 60 m / n^0.9, and larger problems m ask for more nodes: half of the nodes take 2^0.9."""
    rng = np.random.default_rng(5)
    count, app = 1200, rng.choice(list("abcd"), 1200)
    m = np.exp(rng.normal(3, 1, count))
    nodes = 2 ** np.clip(np.rint(np.log2(m) + rng.normal(0, 1, count)), 0, 6).astype(int)
    runtime = 60 * m / nodes**0.9 * np.exp(rng.normal(0, 0.03, count))
    log = table({"app": app, "user": rng.choice(list("uvw"), count), "nodes": nodes,
                 "submit_s": 60.0 * np.arange(count), "memory_b": 1e9 * m,
                 "time_limit_s": 2.5 * runtime + 600, "runtime_s": runtime,
                 "power_w": 300.0 * nodes})  # fmt: skip
    model = WithinApplication().fit(log)
    some = log.rows(nodes > 1)
    asked = Column("nodes_requested", "", Moment.SUBMIT, "")
    half = some.with_columns([asked], nodes_requested=some.frame["nodes"],
                             nodes=some.frame["nodes"] // 2)  # fmt: skip
    ratio = model.predict(half).mean("runtime_s") / model.predict(some).mean("runtime_s")
    assert np.nanmedian(ratio) == pytest.approx(2**0.9, rel=0.05)


def test_of_problems_whose_runs_are_all_alike_only_differences_between_runs_are_left():
    problem, turned = np.repeat(np.arange(40), 3), np.tile([-1.0, 0.0, 1.0], 40)
    y = 3.0 * turned + np.random.default_rng(0).normal(size=40)[problem]
    left = even(np.column_stack([turned, y]), problem, np.zeros(120, dtype=int))
    assert left[:, 1] == pytest.approx(3.0 * left[:, 0], abs=1e-3)
    assert np.abs(left[:, 1]).max() > 1.0


def test_memory_in_proportion_to_the_problem_tells_an_application_with_a_floor():
    """Users give larger problems more nodes; 25 % of the time is the same on any nodes."""
    rng, n = np.random.default_rng(0), 600
    size = np.exp(0.8 * rng.standard_normal(n))
    level = 3 + 0.7 * np.log2(size) + 0.7 * rng.standard_normal(n)
    nodes = 2 ** np.clip(np.rint(level), 0, 7).astype(int)

    def seconds(at):
        return 3600 * size * (0.25 + 0.75 / at)

    log = table({
        "app": ["a", "b"] * (n // 2), "user": ["u"] * n, "nodes": nodes,
        "submit_s": 60.0 * np.arange(n), "memory_b": np.rint(2.0**33 * size),
        "runtime_s": seconds(nodes) * np.exp(0.05 * rng.standard_normal(n)),
        "power_w": 300.0 * nodes,
    })  # fmt: skip
    fitted = WithinApplication(("nodes",)).fit(log)
    some = np.flatnonzero(nodes >= 8)
    asked = Column("nodes_requested", "", Moment.SUBMIT, "as submitted")
    as_asked = log.rows(some).with_columns([asked], nodes_requested=nodes[some])
    half = as_asked.with_columns((), nodes=nodes[some] // 2)
    change = fitted.predict(half)["runtime_s"] / fitted.predict(as_asked)["runtime_s"]
    assert np.isfinite(change).all()
    true = seconds(nodes / 2)[some] / seconds(nodes)[some]
    assert np.abs(np.log(change.mean(axis=0) / true)).max() < 0.1
