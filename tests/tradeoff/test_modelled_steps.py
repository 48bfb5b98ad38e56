"""Searches led by a model, step by step: when it is asked, what it learns, what it picks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Deadline, NodeHours, PowerCap
from rheostat.tradeoff.propose import Sobol
from rheostat.tradeoff.propose.improvement import ExpectedImprovement
from rheostat.tradeoff.propose.law_guided import HORIZON, LawGuided
from rheostat.tradeoff.propose.lookahead import plan, scaled
from rheostat.tradeoff.propose.modelled import Modelled

NODES = Space.of(Knob("nodes", [1, 2, 4, 8, 16]))


class Law:
    """Keeps what it was fitted to; runtime falls with nodes, draws differ by a tenth."""

    def __init__(self):
        self.seen = []

    def fit(self, jobs):
        self.seen.append(jobs)
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None]
        t = np.concatenate([0.9 * 100 / n, 1.1 * 100 / n])
        return Outcome({"runtime_s": t, "power_w": np.concatenate([50.0 * n, 60.0 * n])})


class Largest(Modelled):
    """Wants the most nodes, and among picked ones the next."""

    def score(self, view, rng):
        self.asked = view
        return np.array([float(s["nodes"]) for s in view.settings[: view.candidates]])


def search(cls=Largest, space=NODES, objectives=("runtime_s", "power_w"), **more):
    return cls(space, objectives, model=Law(), **more)


def tell(asker, *nodes, runtime=None):
    rows = asker.space.alternatives(asker.job, [{"nodes": n} for n in nodes])
    times = [100.0 / n for n in nodes] if runtime is None else runtime
    asker.tell(rows, Outcome({"runtime_s": np.array([times], dtype=float),
                              "power_w": np.array([[50.0 * n for n in nodes]])}))  # fmt: skip


def test_a_model_is_asked_after_as_many_as_there_are_knobs_and_one() -> None:
    asker = search()
    assert (asker.initial, asker.early()) == (2, True)
    assert asker.forecast([{"nodes": 4}]) is None
    tell(asker, 1)
    assert asker.early()
    tell(asker, 2, runtime=[math.nan])
    assert asker.early()  # a run without a value is none
    tell(asker, 4)
    assert not asker.early()
    asker.initial = 5
    assert asker.early()
    asker.initial = 3
    assert not asker.early()
    assert asker.forecast([{"nodes": 4}]).mean("runtime_s").tolist() == [25.0]
    informed = search(prior=table({"nodes": [2], "runtime_s": [1.0], "power_w": [1.0]}))
    assert (informed.initial, informed.early()) == (0, False)
    assert search(initial=7).initial == 7
    three = search(space=Space.of([Knob("nodes", [1, 2]), Knob("a", [1, 2]), Knob("b", [1, 2])]))
    assert three.initial == 4


def test_a_search_without_a_model_has_nothing_to_say_beforehand() -> None:
    asker = Sobol(NODES)
    assert asker.notes == ()
    assert asker.forecast([{"nodes": 4}]) is None


def test_it_learns_from_the_past_and_from_whole_results() -> None:
    prior = table({"nodes": [2], "runtime_s": [1.0], "power_w": [1.0]})
    asker = search(prior=prior)
    asker.refit()
    assert asker.model.seen[-1].frame["nodes"].to_list() == [2]
    tell(asker, 8, 16, runtime=[3.0, math.nan])
    asker.refit()
    assert asker.model.seen[-1].frame["nodes"].to_list() == [2, 8]
    assert asker.model.seen[-1].frame["runtime_s"].to_list() == [1.0, 3.0]


@pytest.mark.parametrize(("objectives", "limits", "targets"), [
    (("runtime_s", "energy_j"), (), ("runtime_s", "power_w")), (("runtime_s",), (), ("runtime_s",)),
    (("runtime_s", "node_hours"), (), ("runtime_s",)), (("itl_s", "runtime_s"), (), ("itl_s",
     "runtime_s")),
    (("runtime_s",), (PowerCap(5),), ("runtime_s", "power_w")), (("itl_s",), (), ("itl_s",)),
    (("runtime_s",), (NodeHours(5),), ("runtime_s",)), (("energy_j",), (), ("energy_j",)),
    (("itl_s",), (Deadline(5),), ("itl_s", "runtime_s")),
])  # fmt: skip
def test_what_is_learnt_is_runtime_and_power_where_the_rest_follows(
    objectives, limits, targets
) -> None:
    assert search(objectives=objectives, limits=limits).targets() == targets


def test_the_best_of_a_list_are_picked_one_after_the_other_and_none_twice() -> None:
    asker = search()
    tell(asker, 1, 2)
    assert asker.ask(2).frame["nodes"].to_list() == [16, 8]
    assert asker.asked.fixed[-1] == 2  # the last of three candidates
    assert asker.asked.settings[asker.asked.fixed[-1]] == {"nodes": 16}
    assert asker.ask(9).frame["nodes"].to_list() == [4]
    assert len(asker.ask(1)) == 0
    assert [asker.asked.settings[i]["nodes"] for i in asker.asked.fixed] == [16, 8]
    with pytest.raises(DataError, match="expected n >= 1, got 0"):
        asker.ask(0)


def test_told_settings_are_seen_again_where_that_is_wanted() -> None:
    class Again(Largest):
        rereads = True

    for cls, baseline in ((Largest, ()), (Again, (2, 3))):
        asker = search(cls)
        tell(asker, 1, 4)
        view = asker.view([{"nodes": 2}, {"nodes": 8}], [])
        assert view.baseline == baseline
        assert view.candidates == 2
        assert [s["nodes"] for s in view.settings] == [2, 8, 1, 4][: 2 + len(baseline)]


def test_an_improvement_of_another_quantity_is_learnt_too() -> None:
    asker = search(ExpectedImprovement, objectives=("runtime_s",), limits=(PowerCap(500),),
                   quantity="energy_j")  # fmt: skip
    assert asker.also() == ("energy_j", "power_w")
    assert asker._told_feasible().tolist() == []
    tell(asker, 1, 8, 16)
    assert asker._told_feasible().tolist() == [5000.0, 5000.0]  # 16 nodes draw 800 W
    view = asker.view([{"nodes": 2}, {"nodes": 16}], [])
    assert asker.score(view, np.random.default_rng(0)).tolist() == pytest.approx(
        [np.mean([max(0.0, -math.log(f)) for f in (0.9, 1.1 * 1.2)]), 0.0]
    )


GRID = Space.of([Knob("nodes", [1, 2, 4]), Knob("cap_w", [100, 200])])


class Believed(LawGuided):
    """Draws are given; candidates are all settings."""

    def _logs(self, settings):
        rng = np.random.default_rng(3)
        logs = {q: rng.normal(0, 1, (20, 6)) for q in ("runtime_s", "power_w")}
        return np.arange(6), logs


@pytest.mark.parametrize(("budget", "told", "n", "planned"), [
    (None, 0, 1, HORIZON), (4, 0, 1, 4), (4, 3, 1, 1), (4, 3, 2, 2), (99, 0, 1, HORIZON),
    (99, 0, 9, 9), (2, 2, 1, 1),
])  # fmt: skip
def test_a_plan_is_for_the_evaluations_left_and_the_next_six_at_most(
    budget, told, n, planned
) -> None:
    asker = Believed(GRID, ("runtime_s", "power_w"), budget=budget)
    every = asker.listed()
    for s in every[:told]:
        asker.tell(GRID.alternatives(None, [s]), Outcome({"runtime_s": np.ones((1, 1)),
                                                          "power_w": np.ones((1, 1))}))  # fmt: skip
    _, logs = asker._logs(every)
    y = scaled(np.stack([logs["runtime_s"], logs["power_w"]], axis=2))
    wanted = [every[i] for i in plan(y, range(told), planned)][:n]
    assert asker.propose(n, np.random.default_rng(0)) == wanted


def test_an_endless_space_is_sampled_once_and_what_was_told_stands_behind() -> None:
    asker = LawGuided([Knob("nodes", [1, 2]), Knob("cap_w", low=100.0, high=200.0)],
                      ("runtime_s", "power_w"), seed=4)  # fmt: skip
    first = asker.listed()
    assert 4_000 < len(first) <= 4_096
    assert len({asker.key(s) for s in first}) == len(first)
    assert asker.listed() == first
    own = [{"nodes": 2, "cap_w": 150.25}, {"nodes": 1, "cap_w": 101.5}]
    asker.tell(asker.space.alternatives(None, [*own, first[0]]), Outcome(
        {"runtime_s": np.ones((1, 3)), "power_w": np.ones((1, 3))}))  # fmt: skip
    asker._pending[asker.key({"nodes": 1, "cap_w": 100.5})] = {"nodes": 1, "cap_w": 100.5}
    later = asker.listed()
    assert later[: len(first)] == first
    assert later[len(first) :] == [{"nodes": 1, "cap_w": 100.5}, own[1], own[0]]
