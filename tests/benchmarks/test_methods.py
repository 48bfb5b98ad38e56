"""Every method asks each setting once, is reproducible, and BoTorch's fast fit is BoTorch's fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from nodecount_lib.methods import REGISTRY
from nodecount_lib.methods.trees import improvement
from nodecount_lib.metric import hypervolume
from nodecount_lib.pools import Pool, make_pool
from nodecount_lib.replay import BUDGETS, Case, replay


def made(app: str, serial: float) -> Pool:
    n = np.repeat(np.arange(1.0, 7.0), 4)
    cap = np.tile([150.0, 200.0, 250.0, 300.0], 6)
    runtime = (serial + 100 / n) * (300 / cap) ** 0.4
    power = n * (50 + 0.8 * cap)
    y = np.stack([runtime, power, runtime * power], axis=1)
    settings = np.column_stack([n, cap])
    return make_pool(
        f"m/{app}", "m", app, knobs=("nodes", "cap_w"), settings=settings, y=y, source=""
    )


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(made("a", 5.0), [made("b", 1.0), made("c", 20.0)])


QUICK = {"random", "nsga2", "optuna-tpe", "botorch", "paper-lgbm", "ours"}
NAMES = [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in REGISTRY]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_rows_and_no_setting_twice(name: str, case: Case, monkeypatch) -> None:
    monkeypatch.setattr("nodecount_lib.replay.BUDGETS", (0, 2, 6))
    first, second = (replay(REGISTRY[name], case, 3) for _ in range(2))
    timeless = [
        [{k: v for k, v in r.items() if k != "cpu_s"} for r in rows] for rows in (first, second)
    ]
    assert timeless[0] == timeless[1]
    assert [r["evaluations"] for r in first if r["objectives"] == "runtime,power"] == [0, 2, 6]


def test_a_spent_pool_scores_everything() -> None:
    pool = made("a", 5.0)
    small = Pool(pool.name, pool.family, pool.app, pool.knobs, pool.settings[:12], pool.log_y[:12])
    last = [r for r in replay(REGISTRY["random"], Case(small, []), 0) if r["budget"] == BUDGETS[-1]]
    assert {r["evaluations"] for r in last} == {12}
    assert {(r["hv_fraction"], r["hv_attainable"], r["regret"]) for r in last} == {(1.0, 1.0, 0.0)}


def test_improvement_is_the_hypervolume_gained() -> None:
    rng = np.random.default_rng(0)
    measured, draws = rng.random((5, 2)), rng.random((3, 7, 2)) * 1.2
    reference = np.array([1.0, 1.0])
    inside = measured[(measured < 1).all(axis=1)]
    gains = improvement(draws, measured, reference)
    for s in range(3):
        for i in range(7):
            both = np.concatenate([inside, draws[s, i][None]])
            gained = hypervolume(both, 1.0) - hypervolume(inside, 1.0)
            assert gains[s, i] == pytest.approx(gained, abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [2, 5, 12])
def test_fast_fit_reaches_the_optimum_of_botorch(n: int) -> None:
    torch = pytest.importorskip("torch")
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from nodecount_lib.methods.gpfit import fit_map

    pool = made("a", 5.0)
    rows = np.random.default_rng(n).choice(pool.n, n, replace=False)
    data = torch.tensor(pool.x[rows]), torch.tensor(-pool.log_y[rows][:, [0, 2]])

    def objective(model) -> np.ndarray:
        model.train()
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        return mll(model(*model.train_inputs), model.train_targets).detach().numpy()

    fast, theirs = fit_map(SingleTaskGP(*data)), SingleTaskGP(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_gpytorch_mll(ExactMarginalLogLikelihood(theirs.likelihood, theirs))
    assert (objective(fast) >= objective(theirs) - 1e-4).all()
