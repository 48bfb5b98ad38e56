"""Imitation: decisions from a schedule, trees that keep a teacher's order, certificates."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rheostat.core.storage.files import seal, unsealed
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.decision.policies.tree_priority import SITE
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.simulation.simulate import simulate_run
from rheostat.training.distill import fit_tree as fit
from rheostat.training.distill.dagger import (
    DistillConfig,
    TrainingState,
    _watch,
    imitate,
)
from rheostat.training.distill.decision_states import (
    FULL,
    DistillTrace,
    States,
    joined,
    of_order,
    watched,
)
from rheostat.training.distill.fidelity import certificate, loss
from rheostat.training.distill.fit_tree import OUTER, grown, places, polishes, stakes_of, value_tree
from rheostat.training.distill.grow_tree import bent, cut, grow
from rheostat.training.distill.slurm_weights import slurm_lines, weights_of
from tests.simulation.conftest import trace

SIZE = 16


def loaded(seed=0, n=400, unit=1):
    """More work than the machine can do at once; times in units of so many seconds."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 7 * n, n))
    run = np.where(rng.random(n) < 0.2, rng.integers(60, 120, n), rng.integers(1, 12, n))
    ask = np.maximum(1, (run * rng.uniform(1.0, 3.0, n)).astype(int))
    return trace(unit * submit, unit * run, rng.integers(1, SIZE // 2 + 1, n), unit * ask)


@pytest.fixture(scope="module")
def trial():
    return DistillTrace.of(loaded(), SIZE)


def scored(name):
    return of_order(PRIORITY_FUNCTIONS[name])


def drawn(k=60, d=3, seed=0):
    """Decisions of drawn jobs, of a value that is a sum of their features."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(2, 9, k)
    first = np.concatenate([[0], np.cumsum(rows)[:-1]])
    x = rng.uniform(1, 10, (rows.sum(), d))
    names = tuple(TreeFeature(f"f{i}") for i in range(d))
    return States(names, x, first, rows, x @ np.array([3.0, -1.0, 0.0][:d]), rows)


# ---------------------------------------------------------------- decisions


def test_decisions_are_the_jobs_submitted_and_not_started(trial):
    start = trial.starts(batch_policy("sjf+easy"))
    states = watched(trial, start, scored("sjf"), features=SITE, most=10_000)
    load, since = trial.load, trial.load.submit_s[0]
    moments = 0
    for k in range(len(states)):
        rows = slice(states.first[k], states.first[k] + states.rows[k])
        now = states.asked[rows.start, 0] + since
        waits = np.flatnonzero((load.submit_s <= now) & (start >= now))
        assert sorted(states.job[rows]) == waits.tolist()
        np.testing.assert_array_equal(states.x[rows, 1], load.ask_s[states.job[rows]])
        waited = now - load.submit_s[states.job[rows]]
        np.testing.assert_array_equal(states.x[rows, 4], waited / load.ask_s[states.job[rows]])
        moments += 1
    every = np.unique(np.concatenate([load.submit_s, start + load.run_s]))
    busy = lambda t: load.procs[(start < t) & (start + load.run_s > t)].sum()  # noqa: E731
    met = 0
    for now in every:
        waits = (load.submit_s <= now) & (start >= now)
        met += waits.sum() > 1 and load.procs[waits].min() <= SIZE - busy(now)
    assert moments == met > 100


def test_features_of_a_watched_schedule_are_those_the_engine_decides_by(trial):
    """A tree on the whole table, fitted to nothing, schedules as its own scores say."""
    tree = PriorityTree.of(FULL, feature=[-1], threshold=[0], left=[-1], right=[-1], value=[0],
                   slope=[0], scale=[5.0], steep=[-1.0])  # fmt: skip
    by_request = simulate_run(trial.jobs, tree, SIZE).jobs.numpy("start_s")
    np.testing.assert_array_equal(
        by_request, simulate_run(trial.jobs, "sjf+easy", SIZE).jobs.numpy("start_s")
    )


def test_choosing_decisions_keeps_their_rows():
    states = drawn()
    some = states.only(np.array([3, 7]))
    rows = [slice(states.first[k], states.first[k] + states.rows[k]) for k in (3, 7)]
    np.testing.assert_array_equal(some.x, np.concatenate([states.x[r] for r in rows]))
    both = joined([some, states.only(np.array([1]))])
    assert both.rows.tolist() == [*states.rows[[3, 7]], states.rows[1]]
    np.testing.assert_array_equal(both.value[both.first], states.value[states.first[[3, 7, 1]]])
    assert both.asked is both.job is None


def test_decisions_put_together_keep_what_their_jobs_asked_for_where_all_of_them_say_it():
    count = len(drawn().x)
    said = replace(drawn(), asked=np.arange(4.0 * count).reshape(-1, 4), job=np.arange(count))
    first, second = said.only(np.array([5, 2])), said.only(np.array([0]))
    both = joined([first, second])
    np.testing.assert_array_equal(both.asked, [*first.asked, *second.asked])
    np.testing.assert_array_equal(both.job, [*first.job, *second.job])
    half = joined([first, replace(second, asked=None)])
    assert half.asked is None
    np.testing.assert_array_equal(half.job, both.job)


# ---------------------------------------------------------------- trees


def test_places_are_the_teachers_order_and_ties_stay_as_they_arrived():
    states = drawn(k=2)
    states.value[:] = 0.0
    assert places(states).tolist() == [*range(states.rows[0]), *range(states.rows[1])]


def test_a_tree_of_values_is_scikit_learns():
    from sklearn.tree import DecisionTreeRegressor

    states = drawn(k=200)
    other = DecisionTreeRegressor(max_depth=5, random_state=0).fit(states.x, states.value)
    told = value_tree(states, 5).predict(states.x.astype(np.float32))
    np.testing.assert_allclose(told, other.predict(states.x), rtol=1e-12)


def test_growing_finds_two_lines():
    """Worth rises with one feature on one side of a threshold, and falls on the other."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, (3000, 3))
    scale = np.median(x[:, 0])
    u = np.where(x[:, 1] <= 4, 1.0, -2.0) * bent(x[:, 0], scale) + np.where(x[:, 1] <= 4, 0, 3)
    tree = grow(tuple(TreeFeature(n) for n in "abc"), x, u, np.ones(len(x)), 2)
    assert tree.feature[0] == 1
    assert tree.threshold[0] == pytest.approx(4.0, abs=0.3)
    # quantiles are its thresholds: a question falls near 4, not on it
    assert np.corrcoef(tree.predict(x), u)[0, 1] > 0.99


def test_a_tree_cut_short_keeps_the_first_questions():
    states = drawn(k=300)
    tree = grow(states.features, states.x, states.value, np.ones(len(states.x)), 4)
    short = cut(tree, 2)
    assert short.depth == 2 < tree.depth
    assert short.feature[0] == tree.feature[0]
    assert cut(tree, 4).predict(states.x).tolist() == tree.predict(states.x).tolist()
    assert len(cut(tree, 0).leaves) == 1


def test_two_slopes_tell_an_order_that_one_cannot():
    states, test = drawn(k=400), drawn(k=200, seed=9)
    stub = cut(grow(states.features, states.x, states.value, np.ones(len(states.x)), 0), 0)
    alike = []
    for slopes in (1, 2):
        tree = polishes(stub, states, np.ones(len(states)), slopes)[-1]
        alike.append(certificate(tree, test)["agreement"]["mean"])
    assert alike[1] > max(0.93, alike[0])
    assert polishes(stub, states, np.ones(len(states)), 2)[-1].slope.shape == (1, 2)


def test_slopes_of_several_scales_add_up_to_a_quotient(monkeypatch):
    """Worth is one quantity over another, each over four orders of magnitude."""
    rng = np.random.default_rng(4)

    def quotients(k):
        x = np.exp(rng.uniform(np.log(1), np.log(1e4), (4 * k, 2)))
        at = np.arange(0, 4 * k, 4)
        rows = np.full(k, 4)
        return States((TreeFeature("a"), TreeFeature("b")), x, at, rows, x[:, 0] / x[:, 1], rows)

    states, test = quotients(600), quotients(300)
    stub = grow(states.features, states.x, states.value, np.ones(len(states.x)), 0)
    alike = []
    for outer in ((), OUTER):
        monkeypatch.setattr(fit, "OUTER", outer)
        tree = polishes(stub, states, np.ones(len(states)), 6)[-1]
        alike.append(certificate(tree, test)["agreement"]["mean"])
    assert alike[1] > 0.95 > alike[0]


def test_a_decision_counts_as_much_as_is_at_stake():
    """Two kinds of decisions ask for opposite orders; the tree sides with those that matter."""
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 10, (400, 1))
    sign = np.repeat(np.where(np.arange(200) < 80, 9.0, -1.0), 2)
    two = np.arange(0, 400, 2)
    states = States((TreeFeature("a"),), x, two, np.full(200, 2), sign * x[:, 0], np.full(200, 2))
    towards = [
        polishes(grown(states, 0, matter), states, matter, 2)[-1].predict([[1.0], [9.0]])
        for matter in (stakes_of(states), np.ones(len(states)))
    ]
    assert towards[0][1] > towards[0][0]
    assert towards[1][1] < towards[1][0]


# ---------------------------------------------------------------- imitation


@pytest.fixture(scope="module")
def learned():
    """SJF, imitated on one trace."""
    return imitate("sjf", loaded(n=500), SIZE, depth=2, rounds=2, decisions=150)


@pytest.mark.slow
def test_a_teacher_that_is_one_rule_is_imitated_exactly(learned):
    facts = learned.tree.facts
    assert facts["certificate"]["agreement"]["mean"] == 1.0
    assert [f.name for f in learned.tree.used] == ["request_s"]
    assert facts["slowdown"]["tree"] == facts["slowdown"]["teacher"]
    unseen = loaded(seed=5)
    rules = (learned.tree, "sjf+easy")
    own, sjf = (simulate_run(unseen, rule, SIZE).jobs.numpy("start_s") for rule in rules)
    np.testing.assert_array_equal(own, sjf)


def test_a_tree_read_back_schedules_the_same(learned, tmp_path):
    learned.tree.save(tmp_path / "a.json")
    again = PriorityTree.load(tmp_path / "a.json")
    again.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    run = simulate_run(loaded(), open_policy(f"tree:{tmp_path / 'a.json'}+easy"), SIZE)
    assert run.policy.name == "tree:a+easy"
    assert not run.clairvoyant


def test_the_same_seed_gives_the_same_tree(learned):
    again = imitate("sjf", loaded(n=500), SIZE, depth=2, rounds=2, decisions=150)
    assert (
        again.tree.predict(learned.learned.x).tolist()
        == learned.tree.predict(learned.learned.x).tolist()
    )
    assert again.rounds == learned.rounds


def test_a_distillation_that_was_interrupted_goes_on_to_the_same_tree(learned, tmp_path):
    how = {"depth": 2, "rounds": 2, "decisions": 150, "checkpoint": tmp_path / "kept"}

    def stop(stage, done, of):
        assert 0 <= done <= of
        if stage.startswith("round 2 of 2: decisions"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imitate("sjf", loaded(n=500), SIZE, progress=stop, **how)
    kept = tmp_path / "kept" / "round-0.json"
    first = kept.stat().st_mtime_ns
    stages = []

    def listen(stage, _done, _of):
        assert kept.stat().st_mtime_ns == first or not stages
        stages.append(stage)

    again = imitate("sjf", loaded(n=500), SIZE, progress=listen, **how)
    decisions = [a for a in stages if a == "round 2 of 2: decisions to learn from"]
    assert len(decisions) == 2  # to make trees of, to choose among them
    assert "round 1 of 2: trees are grown" not in stages
    assert "round 2 of 2: trees are grown" in stages
    assert again.tree.facts == learned.tree.facts
    assert (
        again.tree.predict(learned.learned.x).tolist()
        == learned.tree.predict(learned.learned.x).tolist()
    )
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_that_was_cut_off_is_made_again(learned, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "round-0.json").write_text('{"schema": "rheo')
    how = {"depth": 2, "rounds": 2, "decisions": 150, "checkpoint": tmp_path / "kept"}
    again = imitate("sjf", loaded(n=500), SIZE, **how)
    assert again.tree.facts == learned.tree.facts


def test_a_certificate_counts_what_it_says():
    states = drawn(k=100)
    first = PriorityTree.of(
        states.features, feature=[-1], threshold=[0], left=[-1], right=[-1], value=[0]
    )
    facts = certificate(first, states, learned=states.only(np.arange(5)))
    own = states.best(states.value)
    assert facts["agreement"]["mean"] == pytest.approx(np.mean(own == states.first))
    part = [states.value[o] - states.value[f] for o, f in zip(own, states.first, strict=True)]
    assert facts["regret"]["mean"] == pytest.approx(np.mean(np.array(part) / states.spread()))
    assert facts["chance"] == pytest.approx(np.mean(1 / states.rows))
    assert facts["agreement"]["low"] <= facts["agreement"]["mean"] <= facts["agreement"]["high"]
    again = certificate(first, states, learned=states.only(np.arange(5)), seed=0)
    assert again == facts != certificate(first, states, learned=states.only(np.arange(5)), seed=1)


def test_a_loss_is_of_the_mean_and_its_interval_knows_blocks_and_repetitions():
    week = 7 * 86_400.0 * np.repeat(np.arange(4), 2)
    his = np.full(8, 2.0)
    alike = loss(np.full(8, 2.2), his, week)
    assert [round(v, 12) for v in alike.values()] == [0.1, 0.1, 0.1]
    repeated = loss(np.array([his * 1.1, his * 1.3]), np.array([his, his]), week)
    assert repeated["mean"] == pytest.approx(0.2)
    assert (repeated["low"], repeated["high"]) == (pytest.approx(0.1), pytest.approx(0.3))
    one_week = loss(np.where(week == 0, 3.0, 2.0), his, week)
    assert one_week["mean"] == pytest.approx(1 / 8)
    assert one_week["low"] == 0.0
    assert one_week["high"] >= 1 / 4


def test_draws_of_one_seed_are_not_those_of_the_next(trial):
    start, how = trial.starts(batch_policy("sjf+easy")), DistillConfig(decisions=40)
    teacher = TrainingState.of("sjf")
    drawn_by = [
        _watch(teacher, trial, replace(how, seed=s), start, number=n, part=0).asked[:, 0].tolist()
        for s, n in ((0, 0), (0, 1), (1, 0))
    ]
    assert drawn_by[0] != drawn_by[1] != drawn_by[2] != drawn_by[0]


def test_weights_of_slurm_are_read_back_and_keep_an_order_that_slurm_can_have(tmp_path):
    """First come, first served is age alone; every decision is kept."""
    found = weights_of("fcfs", loaded(n=600, unit=600), SIZE, decisions=300)
    file = tmp_path / "slurm.conf"
    file.write_text(slurm_lines(found))
    assert found.agreement["mean"] > 0.95
    assert found.priority.age == 10_000
    rule = open_policy(f"multifactor:{file}+easy")
    assert (rule.order.factors.age, rule.order.factors.size) == (
        found.priority.age, found.priority.size,
    )  # fmt: skip
    assert rule.order.factors.max_age_s == found.priority.max_age_s


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"depth": 99}, "depth"),
        ({"features": "all"}, "features"),
        ({"share": 1.5}, "share"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_wrong_settings_are_told(wrong, message):
    with pytest.raises(DataError, match=message):
        imitate("sjf", loaded(n=20), SIZE, **wrong)


def test_a_teacher_needs_a_formula():
    with pytest.raises(DataError, match="formula"):
        TrainingState.of("multifactor")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [0, -1, -1]}, "child"),
        ({"feature": [7, -1, -1]}, "column"),
        ({"threshold": [float("inf"), 0, 0]}, "Infinity is no finite number"),
        ({"right": [-1, -1, -1]}, "one child"),
        ({"value": [0.0, float("nan"), 0.0]}, "NaN is no finite number"),
    ],
)
def test_a_file_that_is_no_tree_is_refused(tmp_path, change, message):
    good = PriorityTree.of([TreeFeature("a")], feature=[0, -1, -1], threshold=[1.0, 0, 0], left=[1,
                   -1, -1], right=[2, -1, -1], value=[0.0, 1.0, 0.0])  # fmt: skip
    good.save(tmp_path / "t.json")
    facts = unsealed(json.loads((tmp_path / "t.json").read_text()), "t.json")
    facts["contents"] |= change
    (tmp_path / "t.json").write_text(json.dumps(seal(facts)))
    with pytest.raises(DataError, match=message):
        PriorityTree.load(tmp_path / "t.json")
    (tmp_path / "t.json").write_text(json.dumps({**facts, "sha256": "0"}))
    with pytest.raises(DataError, match=r"checksum|finite number"):
        PriorityTree.load(tmp_path / "t.json")
