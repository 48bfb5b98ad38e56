"""The law ensemble: laws found from three points, closed forms, a wrong prior dropped."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gpytorch")

import gpytorch
import torch

from rheostat.prediction.scaling_law import Job, LawEnsemble, hyper, structures
from rheostat.prediction.scaling_law.coordinates import Basis, Scale, both, law, matern
from rheostat.prediction.scaling_law.hyper import Curve
from rheostat.prediction.scaling_law.population import learn

NODES = np.arange(1.0, 17.0)[:, None]


def power_law(exponent: float, level: float, watts: float = 0.9, bump: float = 0.0) -> np.ndarray:
    x = np.log(NODES[:, 0])
    return np.stack([level + exponent * x + bump * np.sin(2 * x), 5.5 + watts * x])


def jobs(rng: np.random.Generator, count: int = 6) -> list[Job]:
    return [
        Job(NODES, power_law(rng.normal(-0.8, 0.15), rng.normal(7, 1), rng.normal(0.9, 0.03)))
        for _ in range(count)
    ]


def ensemble(past: list[Job], seed: int = 0, **options: int) -> LawEnsemble:
    return LawEnsemble(structures(NODES, ["nodes"], past), seed=seed, **options)


def mean_of(model: LawEnsemble) -> np.ndarray:
    return model.marginals()[0][:2]


def test_a_power_law_is_found_from_three_points():
    truth = power_law(-0.55, 9.0, 0.8)
    model = ensemble(jobs(np.random.default_rng(0)))
    for i in (0, 5, 15):
        model.tell(i, *truth[:, i])
    assert np.abs(mean_of(model) - truth).max() < 0.01


def test_without_past_jobs_the_physics_of_a_named_knob_points_the_right_way():
    truth = power_law(-0.9, 4.0)
    model = ensemble([])
    model.tell(3, *truth[:, 3])
    t, p = mean_of(model)
    assert t[15] < t[3] < t[0]
    assert p[15] > p[3] > p[0]


def test_measured_settings_have_their_value_in_every_draw():
    model = ensemble(jobs(np.random.default_rng(1)))
    model.tell(7, 1.25, 6.5)
    t, p = model.draws(32)
    assert (t[:, 7] == 1.25).all()
    assert (p[:, 7] == 6.5).all()
    assert t[:, 0].std() > 0


def test_evidence_is_the_normal_density():
    rng = np.random.default_rng(2)
    units = Scale.of(NODES[:4]).unit(NODES[:4])
    curve = Curve(units, np.array([True]), rng.normal(size=(2, 8)))
    z = rng.normal(size=(3, hyper.SHARED + 1))
    y = rng.normal(size=8)
    found = hyper.log_evidence(curve, z, y)
    for m in range(3):
        k = hyper.covariance(curve, z[m : m + 1])[0]
        for c in range(2):
            normal = torch.distributions.MultivariateNormal(torch.as_tensor(curve.means[c]), k)
            assert found[m, c] == pytest.approx(
                float(normal.log_prob(torch.as_tensor(y))), abs=1e-8
            )


def test_curves_looked_at_together_have_the_evidence_of_each_alone():
    """Of equal settings, with other settings among them, and with no past job in common."""
    rng = np.random.default_rng(4)
    longer = np.arange(1.0, 25.0)[:, None]
    past = [*jobs(rng, 3), Job(longer, rng.normal(size=(2, 24))), *jobs(rng, 2)]
    z = rng.normal(size=(3, hyper.SHARED + 1))
    for structure in structures(NODES, ["nodes"], past):
        together = hyper.log_evidence_of_each(structure.left_out, z)
        for j, curve in enumerate(structure.left_out):
            each = hyper.log_evidence(curve, z, curve.y)
            alone = np.logaddexp.reduce(each, axis=1) - np.log(each.shape[1])
            np.testing.assert_allclose(together[:, j], alone, rtol=1e-9)


def test_one_member_agrees_with_gpytorch_exact_gp():
    """With level, law and roughness terms given as a kernel, the posterior mean is the same."""
    model = ensemble([], members=1)
    truth = power_law(-0.7, 3.0)
    measured = [1, 6, 12]
    for i in measured:
        model.measured.append(i)
        model.logs.append(tuple(truth[:, i]))
        model.noise.append((0.0, 0.0))
    curve = model.structures[model.structure[0]].target
    k = hyper.covariance(curve, model.z[:1])[0]

    class Table(gpytorch.kernels.Kernel):
        def forward(self, a, b, diag=False, **_):
            full = k[a.long().ravel()][:, b.long().ravel()]
            return full.diagonal() if diag else full

    class Mean(gpytorch.means.Mean):
        def forward(self, x):
            return torch.as_tensor(curve.means[0])[x.long().ravel()]

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.m, self.k = Mean(), Table()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.m(x), self.k(x))

    at = torch.tensor(measured + [16 + i for i in measured], dtype=torch.float64)[:, None]
    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-12)
    ).double()
    likelihood.noise = 1e-10
    y = torch.as_tensor(np.array(model.logs).T.ravel())
    gp = Exact(at, y, likelihood).double().eval()
    every = torch.arange(32, dtype=torch.float64)[:, None]
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
        expected = gp(every).mean.numpy()
    (_, means, _), *_ = list(model._posteriors(np.array([0]), np.arange(16)))
    assert np.abs(means[0, 0] - expected).max() < 1e-4


def test_covariance_is_the_sum_of_its_terms():
    units = Scale.of(NODES[:3]).unit(NODES[:3])
    curve = Curve(units, np.array([True]), np.zeros((1, 6)), level_variance=(0.5, 0.25))
    z = np.zeros((1, hyper.SHARED + 1))
    h = {k: float(np.ravel(v)[0]) for k, v in hyper.named(z).items()}
    terms = law(units, np.array([True]))[:, 1:] * [1.0, 0.3]
    runtime = (
        h["local_t"] ** 2 * matern(units, units, h["length"])
        + h["slope"] ** 2 * terms @ terms.T
        + h["rough_t"] ** 2 * np.eye(3)
        + 0.5
    )
    found = hyper.covariance(curve, z)[0].numpy()
    assert np.abs(found[:3, :3] - runtime).max() < 1e-5
    assert np.abs(found - found.T).max() < 1e-12


def test_population_recovers_mean_and_spread_of_slopes():
    rng = np.random.default_rng(3)
    scale = Scale.of(NODES)
    units = scale.unit(NODES)
    slopes = rng.normal(-1.0, 0.2, 60)
    logs = [np.stack([5 + s * units[:, 0], 6 + 0 * units[:, 0]]) for s in slopes]
    basis = Basis.over(units, scale.numeric, count=8, length=0.5)
    found = learn(basis, [units] * 60, logs, prior_jobs=1.5)
    f = both(basis(units))
    rise = (f[15] - f[0]) / 2
    assert rise @ found.mean == pytest.approx(slopes.mean(), abs=0.05)
    assert np.sqrt(rise @ found.covariance @ rise) == pytest.approx(slopes.std(), rel=0.25)


@pytest.mark.parametrize("runs", [[4, 3, 5], [60, 40, 50]])
def test_the_population_is_that_of_the_information_form(runs):
    """One round against the textbook's: posterior precision F' N^-1 F + S^-1 of every job.

    With fewer runs than weights and with more; runs beside the weights count as noise.
    """
    rng = np.random.default_rng(5)
    units = [rng.uniform(-1, 1, (n, 2)) for n in runs]
    logs = [np.stack([3 - u[:, 0], 1 + u[:, 1]]) + rng.normal(0, 0.1, (2, len(u))) for u in units]
    basis = Basis.over(np.vstack(units), np.array([True, True]), count=6, length=0.5)
    found = [learn(basis, units, logs, prior_jobs=1.5, rounds=r) for r in (1, 2)]

    levels = np.array([y.mean(axis=1) for y in logs])
    size = basis(units[0]).shape[1]
    prior = np.kron(np.diag([1.0, 0.5]), np.diag(basis.variances(0.5, 0.3, 0.15, 0.1)))
    mean, covariance, noise = np.zeros(2 * size), prior, np.full(2, 0.03**2)
    for population in found:
        weights, spreads, squares, inverse = [], 0.0, np.zeros(2), np.linalg.inv(covariance)
        for u, y in zip(units, logs, strict=True):
            f, centred = basis(u), (y - levels.mean(axis=0)[:, None])
            n = np.repeat(noise, len(u))[:, None]
            spread = np.linalg.inv(both(f).T @ (both(f) / n) + inverse)
            weights.append(spread @ (both(f).T @ (centred.ravel() / n[:, 0]) + inverse @ mean))
            spreads = spreads + spread
            left = (centred.ravel() - both(f) @ weights[-1]) ** 2
            left += np.diag(both(f) @ spread @ both(f).T)
            squares += left.reshape(2, -1).sum(axis=1)
        of_mean = np.linalg.inv(9 * prior) + 3 * inverse
        mean = np.linalg.solve(of_mean, 3 * inverse @ np.mean(weights, axis=0))
        apart = np.array(weights) - mean
        covariance = (1.5 * prior + apart.T @ apart + spreads) / 4.5
        noise = np.clip((squares + 8 * 0.03**2) / (sum(runs) + 8), 0.003**2, 0.3**2)
        assert population.mean == pytest.approx(mean, abs=1e-6)
        assert population.covariance == pytest.approx(covariance, abs=1e-6)
        assert population.weights == pytest.approx(np.array(weights), abs=1e-6)


def test_jobs_measured_elsewhere_still_teach():
    """Each past job saw another third of the settings; the slope they share is learned.

    Sixteen-fold nodes are 2.2 in log runtime; without past jobs the error is several times larger.
    """
    rng = np.random.default_rng(4)
    past = []
    for j in range(9):
        at = np.arange(j % 3, 16, 3)
        past.append(Job(NODES[at], power_law(rng.normal(-0.8, 0.02), rng.normal(7, 1))[:, at]))
    model = ensemble(past)
    truth = power_law(-0.8, 6.0)
    model.tell(0, *truth[:, 0])
    assert np.abs(mean_of(model) - truth).max() < 0.2


def test_past_jobs_that_mislead_are_dropped():
    """All past jobs speed up with nodes; this one slows down: five runs are enough to see it."""
    truth = power_law(0.5, 5.0, 0.9, bump=0.3)
    model = ensemble(jobs(np.random.default_rng(5), 8))
    before = np.abs(mean_of(model)[0, 15] - mean_of(model)[0, 0] - (truth[0, 15] - truth[0, 0]))
    for i in (0, 3, 7, 11, 15):
        model.tell(i, *truth[:, i])
    assert before > 2.0
    assert np.abs(mean_of(model)[0, 3:] - truth[0, 3:]).max() < 0.06


def test_members_that_explain_the_runs_gain_weight():
    model = ensemble(jobs(np.random.default_rng(6)))
    before = model.weights.copy()
    model.measured.append(2)
    model.logs.append((9.0, 5.5))
    model.noise.append((0.0, 0.0))
    model._reweigh()
    own = model._own(model.z, model.structure)[0]
    there = (before > 1e-12) & (model.weights > 1e-12)
    gain = np.log(model.weights[there] / before[there]) - own[there]
    assert there.sum() >= 2
    assert np.ptp(gain) < 1e-8


def test_intervals_cover_jobs_drawn_from_the_same_law():
    hits = []
    for seed in range(6):
        rng = np.random.default_rng([7, seed])
        past = jobs(rng, 9)
        truth, past = past[0].logs, past[1:]
        model = ensemble(past, seed, trials=128, members=32)
        for i in (4, 12):
            model.tell(i, *truth[:, i])
        t, p = model.draws(200)
        for values, true in ((t, truth[0]), (p, truth[1])):
            low, high = np.quantile(values, [0.05, 0.95], axis=0)
            hits.append(np.delete((low <= true + 1e-6) & (true - 1e-6 <= high), [4, 12]).mean())
    assert np.mean(hits) >= 0.8


def test_same_seed_same_bytes():
    past = jobs(np.random.default_rng(8), 3)
    runs = []
    for _ in range(2):
        model = ensemble(past, seed=3, trials=64, members=16)
        model.tell(3, 4.0, 6.0)
        runs.append(model.draws(20)[0].tobytes())
    assert runs[0] == runs[1]


def test_names_are_coordinates_of_their_own():
    x = np.array([[1.0, 0], [2.0, 1], [4.0, 2]])
    units = Scale.of(x, names=[1]).unit(x)
    assert units.tolist() == [[-1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
    model = LawEnsemble(structures(x, ["nodes", "compiler"], [], named=[1]))
    model.tell(0, 1.0, 5.0)
    assert np.isfinite(model.draws(8)[0]).all()
