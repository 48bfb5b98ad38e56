"""Proposers with a model where it matters: gradients, breeding, scaling laws, ties of scores."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space
from rheostat.prediction.gp import encode
from rheostat.tradeoff.limits import Deadline, Limit, NodeHours, PowerCap
from rheostat.tradeoff.propose import NSGA2, ExpectedImprovement, NoisyHypervolume
from rheostat.tradeoff.propose.candidate_view import look
from rheostat.tradeoff.propose.climb import climbable, combinations, decode, reachable
from rheostat.tradeoff.propose.law_guided import HORIZON, LawGuided
from rheostat.tradeoff.propose.modelled import ranked
from rheostat.tradeoff.propose.nehvi import _outputs
from tests.tradeoff.small_fronts import GRID, NAN, RANGE, Law, Told, costs, front


def test_a_setting_is_read_back_from_its_inputs() -> None:
    space = Space((Knob("compiler", ["gcc", "icx", "aocc"]), RANGE, Knob("nodes", [1, 2, 4, 8]),
                   Knob("mode", ["a", "b"])))  # fmt: skip
    for setting in space.sample(np.random.default_rng(0).random((20, 4))):
        x = encode(space, space.alternatives(None, [setting]))[0]
        assert decode(space, x) == pytest.approx(setting)
    few = Space((Knob("nodes", [1, 2]), RANGE, Knob("mode", ["a", "b"])))
    held = combinations(few)
    assert held == [{0: 0.0, 2: 1.0, 3: 0.0}, {0: 0.0, 2: 0.0, 3: 1.0},
                    {0: 1.0, 2: 1.0, 3: 0.0}, {0: 1.0, 2: 0.0, 3: 1.0}]  # fmt: skip


def test_the_gradient_wants_a_range_a_process_and_few_combinations() -> None:
    pytest.importorskip("gpytorch")

    def may(space, *objectives, **more):
        return climbable(NoisyHypervolume(space, objectives or ("runtime_s", "energy_j"), **more))

    four, five = Knob("nodes", [1, 2, 3, 4]), Knob("nodes", [1, 2, 3, 4, 5])
    two = Knob("mode", ["a", "b"])
    assert may(RANGE)
    assert may((RANGE, four, two))  # eight combinations
    assert not may((RANGE, five, two))
    assert not may(RANGE, model=Law())
    assert not may(four)
    assert not may(Space((RANGE,), (lambda s: True,)))
    assert may(RANGE, limits=(PowerCap(5),))
    assert not may(RANGE, limits=(NodeHours(5),))
    assert reachable("edp_js", ("runtime_s", "power_w"))  # by way of the energy
    assert reachable("power_w", ("energy_j", "runtime_s"))
    assert not reachable("energy_j", ("runtime_s",))
    assert not reachable("node_hours", ("runtime_s", "power_w"))


def test_a_breeder_knows_by_how_much_a_setting_misses_its_limits() -> None:
    told = GRID.alternatives(None, [{"nodes": 8, "mode": "a"}, {"nodes": 1, "mode": "a"},
                                    {"nodes": 2, "mode": "b"}])  # fmt: skip
    breeder = NSGA2(GRID, limits=(PowerCap(40), Deadline(5)))
    assert breeder._known() == {}
    breeder.tell(told.rows([0, 1]), costs(told.rows([0, 1])))
    breeder.tell(told.rows([2]), Outcome({"runtime_s": np.full((1, 1), NAN),
                                          "power_w": np.ones((1, 1))}))  # fmt: skip
    known = breeder._known()
    assert known[8, "a"] == pytest.approx([1.0, 2.125, 170.0])  # 80 W under a cap of 40 W
    assert known[1, "a"] == pytest.approx([1.0, 10.0, 100.0])  # 10 s where 5 s are allowed
    assert (known[2, "b"] > 1e20).all()  # no value: worse than whatever has one


def test_a_plan_of_one_takes_the_best_alone_and_of_more_looks_ahead() -> None:
    pytest.importorskip("gpytorch")
    x = np.linspace(0, 1, 13)[None]
    draws = {"runtime_s": x, "energy_j": 1 - x, "power_w": x}

    def first(budget, n=1):
        search_ = LawGuided(Knob("nodes", range(1, 14)), budget=budget)
        search_._logs = lambda settings: (np.arange(13), draws)
        return search_.ask(n).frame["nodes"].to_list()

    assert first(1) == first(0) == [7]
    assert first(2) != [7]
    assert first(None) == first(HORIZON) == first(HORIZON + 3)
    assert len(first(2, n=3)) == 3


def test_improvement_is_taken_on_log_axes_only_where_everything_is_positive() -> None:
    knob = Knob("x", [1, 2, 3, 4])

    class Shifted:
        def __init__(self, least):
            self.least = least

        def fit(self, jobs):
            return self

        def predict(self, jobs):
            x = jobs.numpy("x")
            return Outcome({"cost": np.stack([x - 1 + self.least, 2 * (x - 1) + self.least])})

    for least, log in ((0.5, True), (0.0, False), (-0.5, False)):
        one = ExpectedImprovement(Space.of(knob), ("cost",), model=Shifted(least), initial=1)
        told = Space.of(knob).alternatives(None, [{"x": 3}, {"x": 4}])
        values = np.array([[2.0 + least, 3.0 + least]])
        one.tell(told, Outcome({"cost": values}))
        found = one.score(one.view([{"x": 1}, {"x": 2}], []), np.random.default_rng(0))
        draws = np.array([[0.0, 1.0], [0.0, 2.0]]) + least
        axis = np.log if log else np.asarray
        gain = np.clip(axis(np.array(2.0 + least)) - axis(draws), 0, None).mean(axis=0)
        assert found == pytest.approx(gain), least
    limited = ExpectedImprovement(Space.of(knob), ("cost",), model=Shifted(0.5), initial=1,
                                  limits=(Limit("cost", 3.0, ""),))  # fmt: skip
    told = Space.of(knob).alternatives(None, [{"x": 3}, {"x": 4}])
    limited.tell(told, Outcome({"cost": np.array([[3.5, 3.0]])}))
    assert limited._told_feasible().tolist() == [3.0]  # the limit holds with its value
    assert limited.quantity == "cost"


def logs(law: LawGuided) -> np.ndarray:
    """Log draws of runtime and power at all settings, (d, N, 2)."""
    expected = law.forecast(law.listed())
    return np.log(np.stack([expected["runtime_s"], expected["power_w"]], axis=2))


def test_a_scaling_law_believes_what_it_was_told() -> None:
    pytest.importorskip("gpytorch")
    nodes = Knob("nodes", [1, 2, 4, 8, 16])
    law = LawGuided(nodes, ("runtime_s", "power_w"), seed=1)
    told = Space.of(nodes).alternatives(None, [{"nodes": 1}, {"nodes": 16}])
    before = logs(law)
    law.tell(told, Outcome({"runtime_s": np.array([[900.0, 80.0]]),
                            "power_w": np.array([[100.0, 1500.0]])}))  # fmt: skip
    after = logs(law)
    assert after[:, [0, 4], 0].mean(axis=0) == pytest.approx(np.log([900.0, 80.0]), abs=0.1)
    assert after[:, [0, 4], 1].mean(axis=0) == pytest.approx(np.log([100.0, 1500.0]), abs=0.1)
    assert (after.std(axis=0) < 0.5 * before.std(axis=0)).all()
    asked = law.ask(2).frame["nodes"].to_list()
    assert len(set(asked)) == 2
    assert set(asked) <= {2, 4, 8}
    blind = Space.of(nodes).alternatives(None, [{"nodes": 2}])
    law.tell(blind, Outcome({"runtime_s": np.full((1, 1), NAN), "power_w": np.ones((1, 1))}))
    again = logs(law)
    np.testing.assert_allclose(again, after)  # a run without value teaches nothing


class Bowl:
    """Runtime is least at 237 W; the same at every draw."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        x = jobs.numpy("cap_w")[None, :]
        return Outcome({"runtime_s": 1 + ((x - 237) / 100) ** 2, "power_w": x})


def test_an_endless_space_is_looked_at_all_over_then_around_the_best() -> None:
    asked = Told(RANGE, ("runtime_s", "power_w"), model=Bowl(), initial=2, seed=3)
    told = Space.of(RANGE).alternatives(None, [{"cap_w": 100.0}, {"cap_w": 400.0}])
    asked.tell(told, Bowl().predict(told))
    (first,) = asked.ask(1).frame["cap_w"].to_list()
    assert first == pytest.approx(237, abs=0.5)
    last = asked.view_
    best = int(np.argmax(-last.y[:, : last.candidates, 0].mean(axis=0)))
    assert last.settings[best]["cap_w"] == first
    more = asked.ask(2).frame["cap_w"].to_list()
    assert len({first, *more}) == 3
    assert more == pytest.approx([237, 237], abs=2)
    near = asked.around([{"cap_w": 250.0}], 0.01, np.random.default_rng(0))
    caps = np.array([s["cap_w"] for s in near])
    assert 0.5 < np.std(caps[caps != 250.0]) / (0.01 * 300) < 1.5
    assert asked.unseen([{"cap_w": 5.0}, {"cap_w": 5.0}, {"cap_w": first}], [{"cap_w": 7.0}]) == [
        {"cap_w": 5.0}]  # fmt: skip
    assert asked.unseen([{"cap_w": 7.0}], [{"cap_w": 7.0}]) == []


def test_equal_scores_go_to_what_is_likely_to_fit_then_to_what_is_least_known() -> None:
    told = front(runtime_s=[[1.0, 2.0]], energy_j=[[9.0, 4.0]])
    draws = np.array([[3.0, 3.0, 2.0, 2.0], [3.0, 3.0, 6.0, 4.0]])
    guess = front(runtime_s=draws, energy_j=np.ones((2, 4)))
    view = look([[{}] * 4, [], []], guess, told, limits=(Deadline(4.5),))
    assert view.likely().tolist() == [1.0, 1.0, 0.5, 1.0]
    assert ranked(view, np.zeros(4)).tolist() == [3, 0, 1, 2]
    assert ranked(view, np.array([NAN, 1.0, 2.0, 0.0])).tolist() == [2, 1, 3, 0]


def test_a_candidate_without_forecast_is_handed_to_botorch_as_worse_than_the_reference() -> None:
    told = front(runtime_s=[[900.0, 1000.0]], energy_j=[[2.0, 1.0]])
    guess = front(runtime_s=[[950.0, NAN], [960.0, 950.0]], energy_j=[[1.5, NAN], [1.4, 1.5]])
    view = look([[{}] * 2, [], []], guess, told, limits=(Deadline(955),), log=False)
    out = _outputs(view, (Deadline(955),))
    assert out.shape == (2, 2, 3)
    assert (out[0, 1, :2] < -view.reference - view.span).all()
    assert out[0, 0] == pytest.approx([-950.0, -1.5, 1 - 950 / 955])
    assert out[1, 0, 2] < 0  # above the limit: nothing is left under it
