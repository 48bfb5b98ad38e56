"""Policies of one table are run under one convention for overdue jobs, whatever they are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.decision.policies.tree_priority import SITE
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.simulation.policies.event_policy import EventPolicy
from rheostat.simulation.policies.overdue import agreed, conventions, under, usual
from rheostat.simulation.simulate import simulate_run
from rheostat.training.distill.decision_states import FULL
from rheostat.training.rl.agent_policy import AgentPolicy

LEAF = {"feature": [-1], "threshold": [0], "left": [-1], "right": [-1], "value": [0.0]}


class FirstThatFits(EventPolicy):
    seen = np.empty(0)

    def choose(self, state):
        for k in range(len(state.procs)):
            if state.procs[k] <= state.free:
                self.seen = state.end_s if state.now_s == 2 else self.seen
                return [k]
        return []


@pytest.fixture
def families(tmp_path):
    """A policy of each family."""
    names = ("fcfs", "easy", "conservative", "wfp3+easy", "multifactor+easy", "agent:ours")
    trust = {"guard": [1.0, 0.12, 0.9], "trust": [0.2, 0.9, -0.3, 0.1, 0.1, 0.5]}
    for name, features, facts in (("site", SITE, {}), ("queue", FULL, trust)):
        PriorityTree.of(features, facts, **LEAF).save(tmp_path / f"{name}.json")
    trees = (f"tree:{tmp_path / name}.json+easy" for name in ("site", "queue"))
    return [*map(open_policy, (*names, *trees)), FirstThatFits(), AgentPolicy(None, "agent")]


def test_every_pair_of_families_is_run_under_one_convention(families):
    for asked in (None, "past", "now", "extend"):
        for pair in combinations(families, 2):
            both = set(conventions(pair[0])) & set(conventions(pair[1]))
            if asked is not None and asked not in both:
                with pytest.raises(DataError, match=f"agent .*in the past.* got {asked}"):
                    agreed(pair, asked)
                continue
            how = agreed(pair, asked)
            assert how in both
            assert how == asked or asked is None
            assert {usual(under(policy, how)) for policy in pair} == {how}


def test_what_all_have_by_themselves_stays_and_else_estimates_are_extended(families):
    plain = {usual(p) for p in families if p.name not in ("agent:ours", "tree:queue+easy")}
    assert plain == {"past"}
    assert agreed([open_policy("easy"), open_policy("agent:ours")], None) == "extend"
    assert agreed([open_policy("agent:ours"), AgentPolicy(None)], None) == "past"
    assert agreed([open_policy("easy")], None, default="extend") == "extend"
    with pytest.raises(DataError, match="expected one of past, now, extend"):
        agreed([open_policy("easy")], "soon")


OVERRUN = table(
    {"job_id": [1, 2, 3], "submit_s": [0.0, 1.0, 2.0], "cores": [3, 4, 1],
     "runtime_s": [100.0, 5.0, 4.0], "time_limit_s": [1.5, 5.0, 40.0]}
)  # fmt: skip


def test_a_policy_of_ones_own_sees_the_ends_of_the_convention():
    ends = {}
    for how in ("past", "now", "extend"):
        policy = under(FirstThatFits(), how)
        simulate_run(OVERRUN, policy, 4)
        ends[how] = policy.seen.tolist()
    assert ends == {"past": [1.5], "now": [2.0], "extend": [61.5]}


def test_ours_follows_the_convention_asked_for():
    starts = {
        how: simulate(OVERRUN, "agent:ours", 4, overdue=how).frame["start_s"].to_list()
        for how in ("past", "extend")
    }
    assert starts["past"] == simulate(OVERRUN, "easy", 4).frame["start_s"].to_list()
    assert starts["extend"] == simulate(OVERRUN, "agent:ours", 4).frame["start_s"].to_list()
    assert np.isfinite(starts["extend"]).all()
