"""Acquisitions against an independent implementation, constraints, batches, and a known optimum."""

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.errors import DataError
from rheostat.testing.proposers import bowl
from rheostat.tradeoff.limits import Deadline, NodeHours, PowerCap
from rheostat.tradeoff.propose import (
    Exhaustive,
    ExpectedHypervolume,
    NoisyHypervolume,
    ParEGO,
    Sobol,
    Thompson,
)
from rheostat.tradeoff.propose.acquisition import hypervolume_improvement
from rheostat.tradeoff.propose.bridge import drawn_model, first_outputs, noisy_hypervolume
from rheostat.tradeoff.propose.candidate_view import look
from rheostat.tradeoff.propose.climb import climbable
from rheostat.tradeoff.search import search

NODES = Space((Knob("nodes", [1, 2, 4, 8, 16, 32, 64]),))


class Law:
    """Knows runtime and power up to noise of its draws; fit remembers what it was shown."""

    def __init__(self, spread=0.1, draws=64):
        self.spread, self.draws = spread, draws

    def fit(self, jobs):
        self.shown = jobs
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")
        noise = np.random.default_rng(0).normal(0, self.spread, (2, self.draws, len(n)))
        return Outcome(
            {
                "runtime_s": (10 + 90 / n) * np.exp(noise[0]),
                "power_w": 400 * n * np.exp(noise[1]),
            }
        )


def truth(jobs):
    return Law(spread=0.0, draws=1).predict(jobs)


def test_expected_hypervolume_over_draws_equals_botorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y = rng.normal(size=(40, 12, 2))  # draws x (8 candidates, 4 told) x objectives
    reference = np.array([0.8, 0.9])
    exact = hypervolume_improvement(y[:, :8], y[:, 8:], reference).mean(axis=0)
    model, sampler = drawn_model(-y)
    rows = torch.arange(12, dtype=torch.double)[:, None]
    with torch.no_grad():
        acquisition = noisy_hypervolume(
            model, reference, rows[8:], objective=first_outputs(2), sampler=sampler
        )
        botorch = acquisition(rows[:8, None]).exp().numpy()
    assert botorch == pytest.approx(exact, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("fixed", [(), (2,), (0, 3)])
def test_a_batch_is_greedy_in_botorchs_joint_criterion(fixed):
    """Given pending rows, both score the joint improvement less what the pending ones bring."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    y = rng.normal(size=(40, 9, 2))
    reference = np.array([0.8, 0.9])
    told = [6, 7, 8]
    known = np.concatenate([y[:, told], y[:, list(fixed)]], axis=1)
    exact = hypervolume_improvement(y[:, :6], known, reference).mean(axis=0)
    model, sampler = drawn_model(-y)
    rows = torch.arange(9, dtype=torch.double)[:, None]
    with torch.no_grad():
        acquisition = noisy_hypervolume(
            model,
            reference,
            rows[told],
            objective=first_outputs(2),
            sampler=sampler,
            pending=rows[list(fixed)] if fixed else None,
        )
        botorch = acquisition(rows[:6, None]).exp().numpy()
    picks = [i for i in range(6) if i not in fixed]
    assert np.argmax(botorch[picks]) == np.argmax(exact[picks])


def test_a_pending_setting_changes_the_next_question():
    def start():
        proposer = ExpectedHypervolume(NODES, model=Law(), seed=0)
        told = NODES.alternatives(None, [{"nodes": 8}, {"nodes": 4}])
        proposer.tell(told, truth(told))
        return proposer

    one_by_one = start()
    first = one_by_one.ask(1).frame["nodes"][0]
    second = one_by_one.ask(1).frame["nodes"][0]
    together = start().ask(2).frame["nodes"].to_list()
    assert first != second
    assert together[0] == first
    assert len(set(together)) == 2


def test_a_certain_model_asks_for_the_setting_that_adds_most():
    reference = (101.0, 1e8)
    proposer = ExpectedHypervolume(NODES, model=Law(spread=1e-9), reference=reference, initial=2)
    everything = truth(NODES.alternatives())
    y = np.log(np.column_stack([everything["runtime_s"][0], everything["energy_j"][0]]))
    told = NODES.alternatives(None, [{"nodes": 1}, {"nodes": 64}])
    proposer.tell(told, truth(told))
    gain = hypervolume_improvement(y[None], y[[0, 6]], np.log(reference))[0]
    assert proposer.ask(1).frame["nodes"][0] == NODES.settings()[int(np.argmax(gain))]["nodes"]


@pytest.mark.parametrize("cls", [ExpectedHypervolume, NoisyHypervolume, ParEGO, Thompson])
def test_limits_steer_the_search(cls):
    limits = (Deadline(35), PowerCap(7000), NodeHours(0.1))
    fits = {4, 8, 16}  # 32.5 s, 1600 W ... 15.6 s, 6400 W; 32 nodes draw 12.8 kW
    proposer = cls(NODES, model=Law(spread=0.02), limits=limits, initial=2, seed=1)
    told = NODES.alternatives(None, [{"nodes": 1}, {"nodes": 64}])
    proposer.tell(told, truth(told))
    asked = search(proposer, truth, 3).alternatives.frame["nodes"].to_list()
    assert set(asked) == fits


def test_a_prior_answers_before_anything_is_measured():
    past = NODES.alternatives()
    measured = truth(past)
    past = past.with_columns(
        table({"runtime_s": [1.0], "power_w": [1.0]}).schema.values(),
        runtime_s=measured["runtime_s"][0],
        power_w=measured["power_w"][0],
    )
    model = Law()
    proposer = ExpectedHypervolume(NODES, model=model, prior=past)
    assert len(proposer.ask(2)) == 2
    assert len(model.shown) == 7
    told = NODES.alternatives(None, [{"nodes": 8}])
    proposer.tell(told, truth(told))
    proposer.ask(1)
    assert len(model.shown) == 8
    assert {"runtime_s", "power_w"} <= set(model.shown.columns)


def test_job_columns_accompany_every_setting():
    job = table({"app": ["lbm"], "nodes": [3], "runtime_s": [9.0]})
    asked = Sobol(NODES, job=job).ask(2)
    assert asked.columns == ("app", "nodes")
    assert asked.frame["app"].to_list() == ["lbm", "lbm"]


def test_three_objectives_go_to_botorch():
    objectives = ("runtime_s", "energy_j", "node_hours")
    with pytest.raises(DataError, match="NoisyHypervolume"):
        ExpectedHypervolume(NODES, objectives)
    proposer = NoisyHypervolume(NODES, objectives, model=Law(), seed=0)
    front = search(proposer, truth, 5)
    assert len(set(front.alternatives.frame["nodes"])) == 5
    assert front.values.shape == (5, 3)


def test_a_maximised_objective_is_searched_on_plain_axes():
    def measure(jobs):
        n = jobs.numpy("nodes")[None]
        return Outcome({"rate": n / (1 + 0.02 * n), "power_w": 400.0 * n})

    from rheostat import Objective

    class Model(Law):
        def predict(self, jobs):
            exact = measure(jobs)
            return Outcome({k: np.repeat(exact[k], 8, axis=0) for k in exact.names})

    space = NODES
    proposer = ExpectedHypervolume(space, (Objective("rate", "max"), "power_w"), model=Model())
    front = search(proposer, measure, 7)
    assert front.mask.all()
    on_log = ExpectedHypervolume(
        space, (Objective("rate", "max"), "power_w"), model=Model(), log=True
    )
    with pytest.raises(DataError, match="log=False"):
        search(on_log, measure, 4)


def test_a_model_that_abstains_everywhere_does_not_stop_the_search():
    class Silent(Law):
        def predict(self, jobs):
            blank = np.full((4, len(jobs)), np.nan)
            return Outcome({"runtime_s": blank, "power_w": blank})

    front = search(ExpectedHypervolume(NODES, model=Silent()), truth, 7)
    assert len(front) == 7


def test_wrong_results_are_refused_with_reasons():
    space = Space((Knob("compiler", ["gcc", "icx"]),))
    proposer = Exhaustive(space)
    with pytest.raises(DataError, match="'pgi' is not one of"):
        proposer.tell(table({"compiler": ["pgi"]}), Outcome({"runtime_s": np.ones((1, 1))}))
    with pytest.raises(DataError, match="compiler is missing"):
        proposer.tell(table({"nodes": [1]}), Outcome({"runtime_s": np.ones((1, 1))}))
    with pytest.raises(DataError, match="1 rows but outcomes for 2"):
        proposer.tell(table({"compiler": ["gcc"]}), Outcome({"runtime_s": np.ones((1, 2))}))
    with pytest.raises(DataError, match="endless"):
        Exhaustive(Knob("cap_w", low=1, high=2)).ask(1)
    with pytest.raises(DataError, match="allowed none"):
        Sobol(Space((Knob("cap_w", low=1, high=2),), (lambda s: False,))).ask(1)


def test_the_gradient_is_used_where_it_can_be():
    ranges = Space((Knob("cap_w", low=100.0, high=400.0), Knob("compiler", ["gcc", "icx"])))
    assert climbable(NoisyHypervolume(ranges))
    assert not climbable(NoisyHypervolume(NODES))
    assert not climbable(NoisyHypervolume(ranges, model=Law()))
    assert not climbable(NoisyHypervolume(ranges, ("runtime_s", "node_hours")))
    assert not climbable(NoisyHypervolume(Space(ranges.knobs, (lambda s: True,))))
    proposer = NoisyHypervolume(ranges, limits=[PowerCap(1.4)], seed=0)
    front = search(proposer, lambda jobs: bowl(ranges, jobs), 4)
    assert front.alternatives.frame["cap_w"].is_between(100, 400).all()
    again = search(
        NoisyHypervolume(ranges, limits=[PowerCap(1.4)], seed=0), lambda jobs: bowl(ranges, jobs), 4
    )
    assert np.array_equal(front.values, again.values)


def test_view_says_when_a_reference_has_the_wrong_length():
    told = search(Exhaustive(NODES), truth, 2)
    with pytest.raises(DataError, match="expected 2 values"):
        look(([{"nodes": 1}] * 2, [], []), told, told, reference=(1.0,))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cls", [NoisyHypervolume, ExpectedHypervolume])
def test_branin_currin_reaches_nine_tenths_of_the_known_hypervolume(cls):
    problems = pytest.importorskip("botorch.test_functions.multi_objective")
    torch = pytest.importorskip("torch")
    problem = problems.BraninCurrin(negate=False)

    def measure(jobs):
        x = torch.tensor(np.stack([jobs.numpy("a"), jobs.numpy("b")], axis=-1))
        f = problem(x).numpy()
        return Outcome({"branin": f[:, :1].T, "currin": f[:, 1:].T})

    space = Space((Knob("a", low=0.0, high=1.0), Knob("b", low=0.0, high=1.0)))
    proposer = cls(space, ("branin", "currin"), reference=(18.0, 6.0), log=False, initial=6, seed=0)
    front = search(proposer, measure, 30)
    assert front.hypervolume((18.0, 6.0)) / problem._max_hv >= 0.9
