"""What an agent looks at, and the two rewards that are compared, by their definitions."""

from __future__ import annotations

import pytest
from trees_lib.irl import irl, teacher
from trees_lib.reward_audit import habits, looks_at, per_second, so_far, waiting

from rheostat.training.distill.fit_tree import value_tree
from rheostat.training.distill.value_tree import WITH_WAIT, met
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.episode import Episode
from tests.training.test_values import SIZE, Shortest, week


def test_the_published_settings():
    assert Shortest.setup == teacher(gamma=0.99)
    assert irl() == {"depth": 10, "critical": 3, "rounds": 5}
    assert irl(faithful=False, rounds=1)["rounds"] == 1


def test_rewards_are_sums_over_the_jobs_that_wait_now():
    jobset = prepare(week(), SIZE)
    episode = Episode(jobset, Shortest.setup)
    while episode.waiting < 4:
        episode.view()
        episode.choose(0)
    w, t = waiting(episode)
    assert len(w) == episode.waiting
    assert (w >= 0).all()
    assert per_second(w, t) == pytest.approx(-sum(1 / x for x in t))
    assert so_far(w, t) == pytest.approx(-sum((a + b) / b for a, b in zip(w, t, strict=True)))


def test_an_audit_sees_by_what_an_agent_chooses():
    states, _, _ = met(Shortest(), prepare(week(), SIZE), features=WITH_WAIT)
    assert habits(states)["shortest request"] == 1.0
    found = looks_at(value_tree(states, 3), states)
    assert found["request_s"] > 0.95
    assert sum(found.values()) == pytest.approx(1.0)
