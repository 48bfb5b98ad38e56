"""Every registered proposer keeps the contract, and the contract can fail."""

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space
from rheostat.prediction.gp import encode
from rheostat.testing import proposers as contract
from rheostat.testing.proposers import bowl, check_proposer
from rheostat.tradeoff.propose import (
    NSGA2,
    PROPOSERS,
    Exhaustive,
    ExpectedImprovement,
    Modelled,
    Sobol,
)
from rheostat.tradeoff.search import search

GRID = Space((Knob("nodes", [1, 2, 4, 8, 16, 32]), Knob("cap_w", range(100, 320, 20))))
MIXED = Space(
    (
        Knob("cap_w", low=100.0, high=400.0),
        Knob("nodes", [1, 2, 4, 8]),
        Knob("compiler", ["gcc", "icx", "aocc"]),
    ),
    (lambda s: s["nodes"] * s["cap_w"] <= 2000,),
)
# Not after the front: the first two look at no result, then a model is learnt, then one objective.
# NSGA-II is, but needs generations.
NOT_AFTER_THE_FRONT = {"exhaustive", "sobol", "uncertain", "improvement", "nsga2"}


class QuickProcess:
    """A Gaussian process in numpy, its length scale the likeliest of four: any Predictor does."""

    def __init__(self, space):
        self.space = space

    def fit(self, jobs):
        self.x = encode(self.space, jobs)
        y = np.log(np.column_stack([jobs.numpy("runtime_s"), jobs.numpy("power_w")]))
        self.mean, self.scale = y.mean(axis=0), y.std(axis=0) + 0.05
        self.y = (y - self.mean) / self.scale
        self.length = max((0.4, 0.8, 1.6, 3.2), key=self.likelihood)
        return self

    def kernel(self, a, b):
        return np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(axis=-1) / self.length**2)

    def noisy(self):
        return self.kernel(self.x, self.x) + 1e-4 * np.eye(len(self.x))

    def likelihood(self, length):
        self.length = length
        k = self.noisy()
        return -np.linalg.slogdet(k)[1] - 0.5 * (self.y * np.linalg.solve(k, self.y)).sum()

    def predict(self, jobs):
        x = encode(self.space, jobs)
        across = self.kernel(x, self.x)
        half = np.linalg.solve(self.noisy(), across.T)
        cov = self.kernel(x, x) - across @ half + 1e-6 * np.eye(len(x))
        z = np.random.default_rng(0).standard_normal((2, 32, len(x))) @ np.linalg.cholesky(cov).T
        mean = (half.T @ self.y).T[:, None]
        draws = np.exp(self.mean[:, None, None] + self.scale[:, None, None] * (mean + z))
        return Outcome({"runtime_s": draws[0], "power_w": draws[1]})


def quick(cls):
    def make(space, seed):
        more = {"model": QuickProcess(space)} if issubclass(cls, Modelled) else {}
        return cls(space, seed=seed, **more)

    return make


@pytest.mark.parametrize("name", PROPOSERS)
def test_contract_on_a_grid(name):
    # Scoring with BoTorch takes its time; the slow test below compares it with chance.
    after = name not in NOT_AFTER_THE_FRONT and name != "nehvi"
    check_proposer(quick(PROPOSERS[name]), GRID, beats_random=after, seeds=2, budget=12)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PROPOSERS if n != "exhaustive"])
def test_contract_on_mixed_knobs_with_a_constraint(name):
    after = name in ("hypervolume", "parego")  # ten results are too few for the others here
    check_proposer(quick(PROPOSERS[name]), MIXED, beats_random=after, seeds=2, budget=10)


def test_nsga2_beats_chance_given_a_few_generations():
    space = Space(tuple(Knob(n, low=0.0, high=1.0) for n in "abcd"))

    def breed(space, seed):
        return NSGA2(space, seed=seed, population=10)

    contract.finds_more_than_chance(breed, space, budget=100, seeds=2, batch=10)


def test_single_objective_search_finds_its_end_of_the_front():
    for quantity in ("runtime_s", "energy_j", "power_w", "edp_js"):
        chance, best = [], []
        for seed in range(2):
            proposer = ExpectedImprovement(
                GRID, quantity=quantity, model=QuickProcess(GRID), seed=seed
            )
            front = search(proposer, lambda jobs: bowl(GRID, jobs), 10)
            best.append(front.mean(quantity).min())
            everything = bowl(GRID, GRID.alternatives())[quantity][0]
            rng = np.random.default_rng(seed)
            chance += [rng.choice(everything, 10, replace=False).min() for _ in range(50)]
        assert np.mean(best) < np.mean(chance), quantity


class Wrong(Sobol):
    """Sobol with one promise broken at a time."""

    broken = ""

    def propose(self, n, rng):
        found = super().propose(n, rng)
        if self.broken == "outside" and found:
            found[0] = {**found[0], "nodes": 3}
        if self.broken == "forbidden" and found:
            found[0] = {**found[0], "nodes": 8, "cap_w": 400.0}
        if self.broken == "too many":
            found = super().propose(n + 1, rng)
        if self.broken == "nothing left":
            found = found[: len(self.space.settings()) - len(self.history) - 1]
        if self.broken == "chance" and found:
            free = self.free()
            found = [free[int(np.random.default_rng().integers(len(free)))]][:n]
        if self.broken == "order" and len(self.history):
            last = self.history._parts[-1][0].frame["cap_w"][-1]
            found = sorted(self.free(), key=lambda s: abs(s["cap_w"] - last))[:n]
        return found

    def taken(self, setting):
        if self.broken == "duplicates":
            return False
        if self.broken == "pending":
            return self.key(setting) in self._observed
        if self.broken == "retry":
            return super().taken(setting) and not self._failed(setting)
        return super().taken(setting)

    def _failed(self, setting):
        front = self.front
        keys = front.alternatives.select(self.space.names).frame.rows()
        bad = {k for k, v in zip(keys, front.values, strict=True) if np.isnan(v).any()}
        return self.key(setting) in bad


def wrong(fault):
    def make(space, seed):
        proposer = Wrong(space, seed=seed)
        proposer.broken = fault
        return proposer

    return make


@pytest.mark.parametrize(
    ("fault", "check", "space"),
    [
        ("outside", contract.asks_inside, GRID),
        ("forbidden", contract.asks_inside, MIXED),
        ("too many", contract.asks_inside, GRID),
        ("duplicates", contract.asks_no_duplicates, GRID),
        ("pending", contract.asks_no_duplicates, GRID),
        ("nothing left", contract.stops_when_exhausted, Space((Knob("nodes", [1, 2, 4]),))),
        ("chance", contract.repeats_itself, GRID),
        ("order", contract.forgets_the_order_of_telling, GRID),
        ("retry", contract.bears_missing_values, Space((Knob("nodes", [1, 2, 4, 8, 16]),))),
    ],
)
def test_each_promise_can_be_broken(fault, check, space):
    check(wrong(""), space)
    with pytest.raises(AssertionError):
        check(wrong(fault), space)


def test_a_proposer_that_prefers_bad_settings_loses_to_chance():
    class Worst(Exhaustive):
        def propose(self, n, rng):
            jobs = self.space.alternatives(None, self.free())
            worth = bowl(self.space, jobs)["runtime_s"][0] * bowl(self.space, jobs)["energy_j"][0]
            return [self.free()[i] for i in np.argsort(-worth)[:n]]

    with pytest.raises(AssertionError, match="random"):
        contract.finds_more_than_chance(
            lambda space, seed: Worst(space, seed=seed), GRID, budget=8, seeds=2
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hypervolume", "nehvi"])
def test_contract_with_the_default_gaussian_process(name):
    cls = PROPOSERS[name]
    check_proposer(lambda space, seed: cls(space, seed=seed), GRID, seeds=2, budget=8)


def test_every_proposer_finishes_a_search_with_its_own_default_model():
    for name, cls in PROPOSERS.items():
        front = search(
            cls(Knob("nodes", [1, 2, 4, 8])),
            lambda jobs: bowl(Space((Knob("nodes", [1, 2, 4, 8]),)), jobs),
            3,
        )
        assert len(front) == 3, name
