"""Every registered policy keeps the promises of a policy; each check fails on one that does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.decision.policies.tree_priority import SITE
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import NAMES, open_policy
from rheostat.simulation.policies.event_policy import ClusterState, EventPolicy
from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.simulate import simulate_run
from rheostat.testing import policies as promise

PROCS = promise.PROCS
ORDERS = [f"{order}{far}" for order in PRIORITY_FUNCTIONS for far in ("", "+easy", "+conservative")]
LEAF = {"feature": [-1], "threshold": [0], "left": [-1], "right": [-1], "value": [0.0]}


@pytest.mark.parametrize("name", [*NAMES, *ORDERS[1:], "agent:ours", "best-of-past"])
def test_every_policy_with_a_name_keeps_every_promise(name):
    promise.check_policy(open_policy(name))


@pytest.mark.parametrize("ties", ["event", "batch"])
@pytest.mark.parametrize("overdue", ["past", "now", "extend"])
def test_however_ties_and_overdue_jobs_are_taken(ties, overdue):
    promise.check_policy(open_policy("sjf+easy", ties=ties, overdue=overdue))


def trees():
    from rheostat.training.distill.decision_states import FULL

    shortest = {"slope": [1], "scale": [3600.0], "steep": [-1.0]}
    yield "site", PriorityTree.of(SITE, **LEAF, **shortest)
    facts = {"guard": [1.0, 0.12, 0.9], "trust": [0.2, 0.9, -0.3, 0.1, 0.1, 0.5]}
    yield "queue", PriorityTree.of(FULL, facts, **LEAF, **shortest)


@pytest.mark.parametrize("far", ["", "+easy"])
@pytest.mark.parametrize(("kind", "tree"), trees(), ids=lambda v: v if isinstance(v, str) else "")
def test_trees_keep_every_promise(kind, tree, far, tmp_path):
    tree.save(tmp_path / f"{kind}.json")
    policy = open_policy(f"tree:{tmp_path / kind}.json{far}")
    assert policy.name == f"tree:{kind}{far}"
    promise.check_policy(policy)


def agents():
    from rheostat.training.distill.value_tree import PUBLISHED, Student
    from rheostat.training.rl.actor import Actor
    from rheostat.training.rl.actor_critic_config import ActorCriticConfig
    from rheostat.training.rl.agent import Agent
    from rheostat.training.rl.dras_config import DrasConfig

    small = DrasConfig(window=5, hidden=(8, 4))
    yield "pg", Agent(small, PROCS)
    yield "dql", Agent(replace(small, method="dql"), PROCS)
    yield "ppo", Actor(ActorCriticConfig(window=8, hidden=(8, 4)))
    short = PriorityTree.of(PUBLISHED, **LEAF, slope=[1], scale=[3600.0], steep=[-1.0])
    yield "tree", Student(short, replace(small, method="dql"))


def test_agents_keep_every_promise():
    pytest.importorskip("torch")
    from rheostat.training.rl.agent_policy import AgentPolicy

    for name, agent in agents():
        promise.check_policy(AgentPolicy(agent, name), traces=2)


class ShortestThatFits(EventPolicy):
    """Starts the shortest job that fits, and the next."""

    name = "shortest that fits"

    def choose(self, state: ClusterState):
        free = state.free
        for k in np.argsort(state.estimate_s, kind="stable"):
            if state.procs[k] <= free:
                free -= state.procs[k]
                yield k


def first_come(state: ClusterState):
    free = state.free
    for k, procs in enumerate(state.procs):
        free -= procs
        if free < 0:
            return
        yield k


class FirstCome(EventPolicy):
    name = "first come"

    def choose(self, state):
        return first_come(state)


def test_a_policy_of_ones_own_keeps_them_and_gives_the_starts_of_the_engine():
    promise.check_policy(ShortestThatFits())
    for seed in range(5):
        jobs = promise.busy_trace(PROCS, seed)
        one, two = (simulate_run(jobs, p, PROCS).jobs for p in (FirstCome(), "fcfs"))
        assert one.numpy("start_s").tolist() == two.numpy("start_s").tolist()


class Broken:
    """FCFS with EASY, after which `spoil` changes the starts."""

    name = "broken"

    def __init__(self, spoil):
        self.spoil = spoil

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        plan = batch_policy("easy").plan(problem)
        start = plan.start_s.copy()
        return replace(plan, start_s=self.spoil(start, problem.load, np.random.default_rng()))


def forgets_one(start, load, rng):
    start[7] = np.nan
    return start


def starts_early(start, load, rng):
    start[0] -= 1.0
    return start


def takes_too_much(start, load, rng):
    return load.submit_s.copy()


def draws_without_a_seed(start, load, rng):
    start[-1] += rng.random()
    return start


def peeks_at_run_times(start, load, rng):
    """Nothing is wrong with it but what it knows."""
    order = np.argsort(load.run_s, kind="stable")
    now = load.submit_s[-1]
    for j in order:
        start[j] = now
        now += load.run_s[j]
    return start


def peeks_at_submissions(start, load, rng):
    """The first job waits where many come later."""
    start[0] = load.submit_s[-1]
    free = start[0] + load.run_s[0]
    for j in range(1, len(start)):
        start[j] = free
        free += load.run_s[j]
    return start


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (forgets_one, "never start"),
        (starts_early, "start before they are submitted"),
        (takes_too_much, r"jobs run on \d+ of 16 processors"),
        (draws_without_a_seed, "start otherwise the second time"),
        (peeks_at_run_times, "not known yet"),
        (peeks_at_submissions, "not known yet"),
    ],
)
def test_each_promise_can_be_broken(spoil, message):
    with pytest.raises(AssertionError, match=message):
        promise.check_policy(Broken(spoil))


def test_a_job_that_is_lost_or_there_twice_is_found():
    jobs = promise.busy_trace(PROCS, 0)
    run = simulate_run(jobs, "easy", PROCS)
    for rows in (np.arange(1, len(jobs)), np.r_[0, np.arange(len(jobs))]):
        with pytest.raises(AssertionError, match="not every job"):
            promise.starts_every_job_once(replace(run, jobs=run.jobs.rows(rows)), jobs)


class Clairvoyant:
    """EASY with true run times; says so, or does not."""

    name = "clairvoyant"

    def __init__(self, says_so):
        self.says_so = says_so

    def plan(self, problem):
        plan = batch_policy("sjf+easy").plan(replace(problem, estimates="perfect"))
        return replace(plan, clairvoyant=self.says_so)


def test_who_says_that_it_is_clairvoyant_may_look_and_who_does_not_is_found():
    promise.check_policy(Clairvoyant(says_so=True))
    with pytest.raises(AssertionError, match="not known yet"):
        promise.check_policy(Clairvoyant(says_so=False))


def chooses(*places):
    class Chosen(EventPolicy):
        name = "chosen"

        def choose(self, state):
            return places

    return Chosen()


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ((), "never start"),
        ((5,), "expected different places from 0 to 0"),
        ((0, 0), "expected different places"),
        ((-1,), "expected different places"),
        ((0, 1), "expected jobs of at most 4 processors together, got 6"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(places, message):
    from rheostat.core.vocabulary import table

    two = (0, 0) if places == (0, 1) else (0, 1)
    jobs = table({"submit_s": two, "runtime_s": [5, 5], "time_limit_s": [5, 5], "cores": [3, 3]})
    with pytest.raises(DataError, match=message):
        simulate_run(jobs, chooses(*places), 4)
