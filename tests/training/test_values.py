"""The published student: it learns an agent's values from its episodes, and plays them."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.simulation.simulate import simulate_run
from rheostat.training.distill.steps import Steps
from rheostat.training.distill.value_tree import (
    WITH_WAIT,
    Student,
    imitate_values,
    judged,
    met,
)
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras_config import DrasConfig
from tests.simulation.conftest import trace

SIZE = 16


def week(seed=0, n=150):
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 6 * n, n))
    run = np.where(rng.random(n) < 0.2, rng.integers(60, 120, n), rng.integers(1, 12, n))
    return trace(submit, run, rng.integers(1, SIZE // 2 + 1, n), 2 * run)


class Shortest:
    """An agent that wants the shortest request first; its values are exact."""

    setup = DrasConfig(method="dql", window=20, reward="dras_capacity")

    def fitting(self, jobset):
        return jobset

    def answers(self, view):
        return -view.jobs[: 2 * view.count : 2, 1].astype(float)


@pytest.fixture(scope="module")
def distilled():
    return imitate_values(Shortest(), prepare(week(), SIZE), depth=8, critical=1, rounds=2)


def test_a_student_learns_values_and_plays_episodes_it_has_not_seen(distilled):
    result = judged(Shortest(), prepare(week(seed=7), SIZE), distilled)
    assert result["certificate"]["agreement"]["mean"] > 0.9
    assert result["certificate"]["chance"] < 0.5
    assert abs(result["loss"]["mean_bounded_slowdown"]) < 0.1
    assert result["leaves"] == len(distilled.student.tree.leaves) <= 2**8


def test_a_student_whose_making_was_interrupted_becomes_the_same(distilled, tmp_path):
    class Stopping(Shortest):
        left = 200

        def answers(self, view):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().answers(view)

    how = {"depth": 8, "critical": 1, "rounds": 2}
    said = []
    with pytest.raises(KeyboardInterrupt):
        imitate_values(Stopping(), prepare(week(), SIZE), steps=Steps(None, tmp_path), **how)
    assert "teacher.npz" in {f.name for f in tmp_path.iterdir()}
    steps = Steps(lambda *told: said.append(told), tmp_path)
    again = imitate_values(Shortest(), prepare(week(), SIZE), steps=steps, **how)
    assert again.rounds == distilled.rounds
    np.testing.assert_array_equal(again.learned.x, distilled.learned.x)
    assert "the agent schedules 150 jobs" not in {stage for stage, _, _ in said}
    within = [(done, of) for stage, done, of in said if stage == "round 2 of 2: the tree schedules"]
    assert len(within) > 50
    assert within == sorted(within)
    assert within[-1] == (150, 150)
    assert next(tmp_path.iterdir())
    steps.forget()
    assert not tmp_path.exists()


def test_our_student_of_the_same_agent_is_one_rule():
    how = {"depth": 4, "critical": None, "rounds": 1, "features": WITH_WAIT, "ranked": True}
    distilled = imitate_values(Shortest(), prepare(week(), SIZE), **how)
    assert len(distilled.student.tree.leaves) == 1
    assert [f.name for f in distilled.student.tree.used] == ["request_s"]
    test = judged(Shortest(), prepare(week(seed=7), SIZE), distilled)
    assert test["certificate"]["agreement"]["mean"] == 1.0
    assert test["loss"]["mean_wait_s"] == 0.0


def test_only_critical_decisions_are_learned_from(distilled):
    assert distilled.learned.crowd.min() == 2
    states, episode, _ = met(Shortest(), prepare(week(), SIZE))
    assert states.crowd.max() > 5
    assert np.isfinite(episode.starts).all()


def test_a_single_job_is_no_decision_and_nobody_is_asked():
    class Asked(Shortest):
        counts: list[int] = []  # noqa: RUF012

        def answers(self, view):
            self.counts.append(view.count)
            return super().answers(view)

    states, episode, _ = met(Asked(), prepare(week(), SIZE))
    assert min(Asked.counts) == 2
    assert len(Asked.counts) == len(states) < episode.metrics()["decisions"]


def test_without_a_crowd_there_is_nothing_to_learn_from():
    with pytest.raises(DataError, match="more than 500 jobs wait"):
        imitate_values(Shortest(), prepare(week(), SIZE), critical=500)


def test_a_student_plays_from_its_file_like_any_policy(distilled, tmp_path):
    jobs = week(seed=3)
    distilled.student.to_facts().save(tmp_path / "s.json")
    run = simulate_run(jobs, open_policy(f"tree:{tmp_path / 's.json'}"), SIZE)
    played = distilled.student.play(prepare(jobs, SIZE))
    np.testing.assert_array_equal(run.jobs.numpy("start_s"), played.starts)
    assert run.policy.name == "tree:s"
    with pytest.raises(DataError, match="order"):
        Student.of(distilled.student.tree)
