"""The student of an agent's values, part by part: what it is shown, thinned, judged, kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from rheostat.core.machine import Machine
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import RUN, SUBMIT
from rheostat.training.distill import value_tree
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.fidelity import certificate, loss
from rheostat.training.distill.steps import Steps
from rheostat.training.distill.value_tree import (
    WINDOW,
    WITH_WAIT,
    Student,
    ValueStates,
    _ranked,
    _thinned,
    critical_only,
    facts_of,
    imitate_agent,
    imitate_values,
    is_student,
    judged,
    met,
    slowdowns,
)
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode
from tests.simulation.conftest import trace
from tests.training.test_values import SIZE, Shortest, week

NAMES = tuple(f.name for f in WITH_WAIT)


def by_request():
    """The tree that puts the shortest request first, as `Shortest` does."""
    return PriorityTree.of(WITH_WAIT, feature=[-1], threshold=[0.0], left=[-1], right=[-1],
                           value=[0.0], slope=[NAMES.index("request_s")], scale=[50.0],
                           steep=[-1.0])  # fmt: skip


def dense(n):
    """Jobs that come three times as fast as those of `week`."""
    jobs = week(n=n)
    return trace(jobs.numpy("submit_s") // 3, *(jobs.numpy(c) for c in (
        "runtime_s", "cores", "time_limit_s")))  # fmt: skip


def pairs(k, crowd=None, features=WITH_WAIT):
    two = np.full(k, 2)
    x = np.arange(2.0 * k * len(features)).reshape(2 * k, -1)
    return States(features, x, np.arange(0, 2 * k, 2), two, np.arange(2.0 * k),
                  two if crowd is None else np.asarray(crowd))  # fmt: skip


def test_a_student_sees_size_request_wait_and_how_busy_the_machine_is():
    jobs = trace([0, 5, 7], [100, 50, 10], [3, 4, 2], [120, 60, 30])
    episode = Episode(prepare(jobs, 4), DrasConfig(window=4))
    episode.view()
    episode.choose(0)
    episode.view()
    episode.choose(0)
    episode.view()
    told = facts_of(episode)
    now = episode.now_s
    waits = {4.0: now - 5, 2.0: now - 7}
    assert [f.name for f in WITH_WAIT] == ["procs", "request_s", "busy", "wait_s"]
    for procs, request, busy, wait in told:
        assert request == {4.0: 60.0, 2.0: 30.0}[procs]
        assert (busy, wait) == (1 - episode.free / 4, waits[procs])
    assert len(told) >= 1
    assert facts_of(episode, WITH_WAIT[:1]).tolist() == told[:, :1].tolist()


def test_who_plays_and_who_judges_and_how_far_it_is():
    """The student puts the longest first; the teacher's values are those of its own opinion."""
    longest = PriorityTree.of(WITH_WAIT, feature=[-1], threshold=[0.0], left=[-1], right=[-1],
                              value=[0.0], slope=[1], scale=[50.0], steep=[1.0])  # fmt: skip
    jobs, said = prepare(week(n=60), SIZE), []
    student = Student(longest, Shortest.setup)
    states, played, spent = met(Shortest(), jobs, student, features=WITH_WAIT,
                                progress=lambda *a: said.append(a))  # fmt: skip
    np.testing.assert_array_equal(played.starts, student.play(jobs).starts)
    own, alone, _ = met(Shortest(), jobs, features=WITH_WAIT)
    assert (alone.starts != played.starts).any()
    for some in (states, own):
        assert some.rows.min() == 2
        assert (some.crowd >= some.rows).all()
        assert (some.first == np.concatenate([[0], np.cumsum(some.rows)[:-1]])).all()
        asked = np.log1p(some.x[:, 1]) / np.log1p(30 * 86_400.0)
        np.testing.assert_allclose(some.value, -asked, rtol=1e-5)
        assert len(some.x) == some.rows.sum()
    assert said[0] == (0, 60)
    assert said[-1] == (60, 60)
    assert set(spent) == {"teacher_s", "tree_s"}
    assert 0 <= spent["teacher_s"] < 0.1
    assert 0 < spent["teacher_s"] + spent["tree_s"] < 0.1


def test_seconds_are_of_whoever_answered_over_the_decisions(monkeypatch):
    class Clock:
        now = 0.0

        def process_time(self):
            return self.now

    clock = Clock()

    class Slow(Shortest):
        def answers(self, view):
            clock.now += 2.0
            return super().answers(view)

    class SlowTree:
        def predict(self, x):
            clock.now += 0.5
            return -x[:, 1]

    monkeypatch.setattr(value_tree, "time", clock)
    student = Student(SlowTree(), Shortest.setup)
    _, _, spent = met(Slow(), prepare(dense(40), SIZE), student)
    assert spent == {"teacher_s": pytest.approx(2.0), "tree_s": pytest.approx(0.5)}
    _, _, spent = met(Slow(), prepare(dense(40), SIZE))
    assert spent == {"teacher_s": pytest.approx(2.0), "tree_s": 0.0}


def test_jobs_that_never_wait_together_are_nothing_to_choose_from():
    with pytest.raises(DataError, match="expected a moment with two jobs to choose from"):
        met(Shortest(), prepare(trace([0, 100, 200], [5] * 3, [1] * 3), SIZE))


def test_only_decisions_of_a_larger_crowd_are_critical():
    states = pairs(4, [2, 3, 4, 9])
    assert critical_only(states, 3).crowd.tolist() == [4, 9]
    assert critical_only(states, 8).value.tolist() == [6.0, 7.0]
    with pytest.raises(DataError, match="more than 9 jobs wait, found none; learn from more jobs"):
        critical_only(states, 9)


def test_of_more_rows_than_can_be_learned_from_every_so_many_decisions_are_left(monkeypatch):
    states = pairs(7)
    for most, kept in ((14, 7), (13, 4), (7, 4), (5, 3)):
        monkeypatch.setattr(value_tree, "MOST_ROWS", most)
        some = _thinned(states)
        assert len(some) == kept
        assert (some is states) == (kept == 7)
        assert some.value[0] == 0.0


def test_the_last_fifth_of_each_part_chooses_among_trees(monkeypatch):
    seen = []
    monkeypatch.setattr(value_tree, "best_tree", lambda *given: seen.append(given))
    _ranked([pairs(10), pairs(5)], 3)
    ((learn, hold, depth),) = seen
    assert (len(learn), len(hold), depth) == (8 + 4, 2 + 1, 3)
    assert hold.value.tolist() == [16.0, 17.0, 18.0, 19.0, 8.0, 9.0]
    assert learn.value[-1] == 7.0


def test_a_judgement_is_the_two_schedules_side_by_side():
    jobs, seen = prepare(week(seed=7, n=80), SIZE), []
    learned, _, _ = met(Shortest(), prepare(week(n=60), SIZE), features=WITH_WAIT)
    shorter = Student(by_request(), Shortest.setup)
    result = judged(Shortest(), jobs, ValueStates(shorter, (), learned),
                    progress=lambda *a: seen.append(a))  # fmt: skip
    states, played, _ = met(Shortest(), jobs, shorter, features=WITH_WAIT)
    own, alone, _ = met(Shortest(), jobs, features=WITH_WAIT)
    assert result["student"] == played.metrics()
    assert result["teacher"] == alone.metrics()
    np.testing.assert_array_equal(result["each"][0], slowdowns(played))
    np.testing.assert_array_equal(result["each"][1], slowdowns(alone))
    assert result["loss_between"] == loss(*result["each"], jobs.jobs[:, SUBMIT])
    for name in ("mean_wait_s", "mean_bounded_slowdown"):
        told = result["student"][name] / result["teacher"][name] - 1
        assert result["loss"][name] == pytest.approx(told)
    assert (result["nodes"], result["leaves"], result["depth"]) == (1, 1, 0)
    assert result["certificate"] == certificate(shorter.tree, states, learned=learned)
    assert result["on_teachers_way"] == certificate(shorter.tree, own, learned=learned)
    assert seen[0] == (0, 160)
    assert (80, 160) in seen
    assert seen[-1] == (160, 160)
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)


def test_slowdowns_of_an_episode_are_bounded_at_ten_seconds():
    episode = Student(by_request(), Shortest.setup).play(prepare(dense(40), SIZE))
    jobs = episode.trace.jobs
    wait, run = episode.starts - jobs[:, SUBMIT], jobs[:, RUN]
    wanted = np.maximum((wait + run) / np.maximum(run, 10.0), 1.0)
    np.testing.assert_allclose(slowdowns(episode), wanted)


def test_the_tree_kept_is_the_round_s_of_the_least_slowdown(monkeypatch):
    """Rounds of trees that put the longest, the shortest and the longest first."""
    made = iter([1.0, -1.0, 1.0])

    def told(states, depth, seed=0):
        return PriorityTree.of(states.features, feature=[-1], threshold=[0.0], left=[-1],
                               right=[-1], value=[0.0], slope=[1], scale=[50.0],
                               steep=[next(made)])  # fmt: skip

    monkeypatch.setattr(value_tree, "value_tree", told)
    stages = []
    steps = Steps(lambda *a: stages.append(a))
    result = imitate_values(Shortest(), prepare(week(n=80), SIZE), critical=None, rounds=3,
                            steps=steps)  # fmt: skip
    assert result.student.tree.steep.tolist() == [[-1.0]]
    slow = [r["mean_bounded_slowdown"] for r in result.rounds]
    assert slow[1] < slow[0]
    assert [r["nodes"] for r in result.rounds] == [1.0] * 3
    assert result.student.tree.support.tolist() == [len(result.learned.x)]
    assert ("round 1 of 3: a tree is grown", 0, 1) in stages
    assert any(s.startswith("round 3 of 3: 1 nodes, bounded slowdown") for s, *_ in stages)


def test_each_round_learns_from_all_that_was_met_before(monkeypatch):
    sizes = []
    plain = value_tree.value_tree
    monkeypatch.setattr(
        value_tree,
        "value_tree",
        lambda states, depth: sizes.append(len(states)) or plain(states, depth),
    )
    result = imitate_values(Shortest(), prepare(week(n=60), SIZE), critical=None, rounds=3,
                            depth=3)  # fmt: skip
    assert sizes[0] < sizes[1] < sizes[2] == len(result.learned)


def test_a_tree_of_an_agent_says_of_whom_it_is_and_how_near_it_comes(tmp_path):
    stages = []
    jobs = dense(250)
    tree = imitate_agent(Shortest(), jobs, Machine(SIZE), name="mine", rounds=1, depth=1,
                         progress=lambda *a: stages.append(a),
                         checkpoint=tmp_path / "kept")  # fmt: skip
    assert tree.facts["teacher"] == "mine"
    assert [f.name for f in tree.used] == ["request_s"]
    assert tree.facts["certificate"]["agreement"]["mean"] == 1.0
    assert tree.facts["slowdown"]["tree"] == tree.facts["slowdown"]["teacher"] >= 1.0
    assert (tree.facts["loss"]["mean"], tree.facts["plays"]) == (0.0, WINDOW)
    assert stages[0] == ("the agent schedules 200 jobs", 0, 200)
    said = [a for a in stages if a[0].startswith("certificate: tree and agent schedule the 50")]
    assert said[-1][1:] == (100, 100)
    assert not (tmp_path / "kept").exists()
    assert is_student(tree)
    assert Student.of(tree).setup == Shortest.setup
    test = prepare(jobs.rows(np.arange(200, 250)), SIZE)
    alone = Student.of(tree).play(test).metrics()["mean_bounded_slowdown"]
    assert tree.facts["slowdown"]["tree"] == alone


def test_a_tree_of_an_order_is_no_student():
    tree = PriorityTree.of([TreeFeature("a")], feature=[-1], threshold=[0.0], left=[-1],
                           right=[-1], value=[0.0])  # fmt: skip
    assert not is_student(tree)
    with pytest.raises(DataError, match="got one of an order"):
        Student.of(tree)
