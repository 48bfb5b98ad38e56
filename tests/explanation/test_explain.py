"""`rh.explain` takes whatever rheostat returns, by one table, and says what it takes."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import rheostat as rh
from rheostat.decision.backtest import backtest
from rheostat.decision.decide import decide
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.errors import DataError
from rheostat.explanation.explainer_table import EXPLAINERS, explainer_of
from rheostat.explanation.formats.html import page
from rheostat.explanation.narrate import Narrative
from rheostat.measurement.synthetic import World
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.measurement.synthetic.counter_runs import write_pcm
from rheostat.prediction.compare import compare
from rheostat.questions.explain import explain
from rheostat.recipes.mummi import recording

NODES = np.array([1.0, 2.0, 4.0, 8.0])


def front() -> rh.Front:
    draws = {"runtime_s": (100 + 900 / NODES)[None], "power_w": (100 * NODES)[None]}
    return rh.Front(rh.table({"nodes": [1, 2, 4, 8]}), rh.Outcome(draws), ("runtime_s", "energy_j"))


@pytest.fixture(scope="module")
def jobs() -> rh.JobTable:
    return rh.prepared(World(seed=0).jobs(300))


@pytest.fixture(scope="module")
def things(jobs: rh.JobTable, tmp_path_factory) -> dict[str, tuple[object, dict[str, object]]]:
    """A thing of every class in the table, made as users make it, and what stands beside it."""
    from rheostat.core.decision import Decision
    from rheostat.prediction.counters.counter_model import CounterModel
    from rheostat.prediction.counters.leverage import leverage
    from rheostat.prediction.effects.identification import Identification
    from rheostat.prediction.importance import permutation_importance
    from rheostat.simulation.learned_priority.priority import LearnedPriority
    from rheostat.simulation.learned_priority.scoring_network import length
    from rheostat.simulation.simulate import simulate_run

    model = rh.Surrogate("lightgbm", targets=("runtime_s", "power_w")).fit(jobs)
    knob = rh.Knob("nodes", [1, 2, 4])
    caps = capped_runs(11, noise=0.0, cpu_caps=(140, 200), gpu_caps=(150, 250))
    own = caps.rows(caps.frame["app"].to_numpy() == "app03").rows([0, 3])
    profiles = tmp_path_factory.mktemp("profiles") / "profiles.csv"
    profiles.write_text("app,gpus,runtime_s,power_w\na,1,100,200\na,2,60,390\nb,1,50,150\n")
    known = rh.read_profiles(profiles)
    queue = rh.read_queue("a*2,b", known)
    pcm = write_pcm(profiles.with_name("pcm.csv"), n_apps=4, caps_w=(80, 160, 240), intervals=3)
    counters = recording([pcm])
    counter_model = CounterModel("ridge").fit(counters)
    tree = simple_tree()
    choice = front().choose(rh.Knee())
    return {
        "core.front.Front": (front(), {"requested": {"nodes": 8}}),
        "core.decision.Assignment": (choice, {"front": front()}),
        "core.decision.Decision": (Decision((choice,)), {}),
        "decision.decide.Advice": (decide(jobs, model, knob), {}),
        "decision.backtest.Backtest": (backtest(jobs, rh.Surrogate("lightgbm"), knob), {}),
        "decision.trials.trial.Trial": (rh.plan_trial(jobs, 0.2), {}),
        "decision.budget.allocate_power.BudgetPlan": (
            rh.allocate_power(rh.node_fleet(caps, start="lowest"), rh.PowerLimits(4000.0)), {}
        ),
        "decision.caps.CapAdvice": (rh.choose_caps(caps, own, "app03"), {}),
        "decision.policies.priority_tree.PriorityTree": (tree, {}),
        "prediction.importance.Importance": (
            permutation_importance(model, jobs, "runtime_s", repeats=2), {}
        ),
        "prediction.compare.Row": (compare({"lightgbm": model}, jobs, jobs), {}),
        "prediction.effects.identification.Identification": (
            Identification(True, 0, 0, 0, (), float("nan"), 0.0), {}
        ),
        "prediction.counters.leverage.WhatIf": (leverage(counter_model, counters), {}),
        "prediction.counters.counter_model.CounterModel": (counter_model, {"job": counters}),
        "core.jobs.JobTable": (rh.simulate(jobs, "easy", 4000).schedule, {}),
        "simulation.result.Simulation": (
            [simulate_run(jobs, p, rh.Machine(4000)) for p in ("easy", "sjf+easy")], {}
        ),
        "simulation.coschedule.node_simulation.NodeRun": (
            list(rh.coschedule(known, queue, node=rh.Node(((0, 1),), 50.0)).runs), {}
        ),
        "simulation.learned_priority.priority.LearnedPriority": (
            LearnedPriority((0.0,) * length(0)), {}
        ),
    }  # fmt: skip


def simple_tree() -> PriorityTree:
    """Short jobs first where few processors are asked for, others by their wait."""
    features = tuple(TreeFeature(n) for n in ("ask", "wait"))
    return PriorityTree.of(
        features, feature=[0, -1, -1], threshold=[300.0, 0.0, 0.0], left=[1, -1, -1],
        right=[2, -1, -1], value=[0.0, 2.0, 1.0], support=[9, 6, 3],
        slope=[[-1], [0], [1]], scale=[[1.0], [60.0], [60.0]], steep=[[1.0], [-1.0], [1.0]],
    )  # fmt: skip


def test_the_public_name_is_the_one_with_every_entry():
    assert rh.explain is explain


def test_every_entry_names_a_class_that_exists():
    for name in EXPLAINERS:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(import_module(module), kind), type), name


@pytest.mark.slow
def test_a_thing_of_every_class_is_tried_here(things):
    assert {f"rheostat.{name}" for name in things} == set(EXPLAINERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPLAINERS))
def test_every_class_is_explained_in_words_and_as_a_page(things, name):
    thing, beside = things[name.removeprefix("rheostat.")]
    first = thing[0] if isinstance(thing, list) else thing
    assert f"{type(first).__module__}.{type(first).__qualname__}" == name
    said = rh.explain(thing, **beside)
    assert isinstance(said, Narrative)
    assert any(s.sentences for s in said.sections)
    assert said.facts
    assert max(map(len, str(said).splitlines())) <= 100
    assert "</html>" in page(said)


def test_what_cannot_be_explained_is_one_error_that_lists_what_can():
    for thing in (3, [], ["a", 1], [front(), 2]):
        with pytest.raises(DataError) as error:
            rh.explain(thing)
        (problem,) = error.value.problems
        assert all(e.words in problem for e in EXPLAINERS.values())
    with pytest.raises(DataError, match="expected one Front, got 2"):
        rh.explain([front(), front()])
    with pytest.raises(DataError, match="a schedule from simulate, without start_s"):
        rh.explain(rh.table({"nodes": [1]}))


def test_a_class_that_inherits_is_explained_as_its_parent():
    class Ours(rh.Front):
        pass

    assert explainer_of(Ours) is EXPLAINERS["rheostat.core.front.Front"]
    assert explainer_of(dict) is None


def test_a_choice_says_the_same_with_and_without_a_list():
    choice = front().choose(rh.Knee())
    assert str(rh.explain([choice], front=front())) == str(rh.explain(choice, front=front()))
