"""The Gaussian process goes through what was measured, spreads between, says where it ends."""

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.errors import DataError, NotFitted

torch = pytest.importorskip("torch")
pytest.importorskip("botorch")
from rheostat.prediction import gp as module  # noqa: E402
from rheostat.prediction.gp import GaussianProcess, encode  # noqa: E402

NODES = Knob("nodes", range(1, 65))


def runs(n):
    n = np.asarray(n, dtype=float)
    return table({"nodes": n, "runtime_s": 10 + 990 / n, "power_w": 300 * n})


def test_it_goes_through_the_measured_and_spreads_between():
    model = GaussianProcess(NODES).fit(runs([1, 40, 64]))
    out = model.predict(runs([1, 64, 8]))
    assert out.mean("runtime_s")[:2] == pytest.approx([1000.0, 25.47], rel=0.02)
    low, high = out.interval("runtime_s")
    width = np.log(high / low)
    assert width[2] > 3 * width[:2].max()
    assert low[2] < 10 + 990 / 8 < high[2]


def test_the_same_seed_gives_the_same_bytes_and_leaves_torchs_generator_alone():
    before = torch.random.get_rng_state()
    first, second = (
        GaussianProcess(NODES, seed=3).fit(runs([1, 8, 64])).predict(runs(range(1, 65)))
        for _ in range(2)
    )
    assert all(first[n].tobytes() == second[n].tobytes() for n in first.names)
    assert torch.equal(before, torch.random.get_rng_state())
    other = GaussianProcess(NODES, seed=4).fit(runs([1, 8, 64])).predict(runs([20]))
    assert not np.array_equal(other["runtime_s"], first["runtime_s"][:, [19]])


def test_draws_are_joint():
    model = GaussianProcess(NODES).fit(runs([1, 64]))
    logs = np.log(model.predict(runs([19, 20]))["runtime_s"])
    assert np.std(logs[:, 0] - logs[:, 1]) < 0.3 * np.std(logs[:, 0])


def test_many_rows_are_drawn_by_paths_with_the_same_moments(monkeypatch):
    model = GaussianProcess(NODES, n_draws=2000).fit(runs([1, 6, 40]))
    rows = runs([2, 6, 20, 64])
    exact = np.log(model.predict(rows)["runtime_s"])
    monkeypatch.setattr(module, "_JOINT", 0)
    paths = np.log(model.predict(rows)["runtime_s"])
    assert paths.mean(axis=0) == pytest.approx(exact.mean(axis=0), abs=0.08)
    assert paths.std(axis=0) == pytest.approx(exact.std(axis=0), rel=0.25, abs=0.02)


def test_outside_the_range_it_abstains_with_a_note():
    out = GaussianProcess(Knob("nodes", [1, 4, 16])).fit(runs([1, 16])).predict(runs([4, 32]))
    assert out.abstained.tolist() == [False, True]
    assert out.notes[0].rows == (1,)
    assert "range" in out.notes[0].message


def test_missing_values_are_passed_over_and_too_few_are_an_error():
    jobs = runs([1, 4, 16])
    gap = jobs.with_columns([jobs.schema["power_w"]], power_w=np.array([300.0, np.nan, 4800.0]))
    out = GaussianProcess(NODES).fit(gap).predict(runs([1]))
    assert out.mean("power_w") == pytest.approx([300.0], rel=0.05)
    nothing = jobs.with_columns([jobs.schema["power_w"]], power_w=np.full(3, np.nan))
    with pytest.raises(DataError, match="power_w: expected at least 2 values, got 0"):
        GaussianProcess(NODES).fit(nothing)
    with pytest.raises(NotFitted):
        GaussianProcess(NODES).predict(jobs)


def test_values_that_are_not_positive_are_learnt_as_they_are():
    jobs = table({"nodes": [1.0, 8.0, 64.0], "gain": [-1.0, 0.0, 2.0]})
    out = GaussianProcess(NODES, ("gain",)).fit(jobs).predict(jobs)
    assert out.mean("gain") == pytest.approx([-1.0, 0.0, 2.0], abs=0.1)


def test_names_are_unordered_inputs():
    space = Space((Knob("nodes", [1, 2, 4]), Knob("compiler", ["gcc", "icx", "aocc"])))
    x = encode(space, table({"nodes": [1, 4], "compiler": ["icx", "aocc"]}))
    assert x.tolist() == [[0, 0, 1, 0], [1, 0, 0, 1]]
    jobs = table(
        {
            "nodes": [1, 2, 4, 1, 2, 4],
            "compiler": ["gcc"] * 3 + ["icx"] * 3,
            "runtime_s": [80.0, 40.0, 20.0, 40.0, 20.0, 10.0],
            "power_w": [1.0, 2.0, 4.0, 1.0, 2.0, 4.0],
        }
    )
    out = GaussianProcess(space).fit(jobs).predict(jobs)
    assert isinstance(out, Outcome)
    assert out.mean("runtime_s") == pytest.approx(jobs.numpy("runtime_s"), rel=0.1)
    assert out.mean("energy_j") == pytest.approx([80, 80, 80, 40, 40, 40], rel=0.1)


def test_a_constant_quantity_is_predicted_constant():
    jobs = table({"nodes": [1.0, 8.0, 64.0], "power_w": [5.0] * 3, "runtime_s": [3.0, 2.0, 1.0]})
    out = GaussianProcess(NODES).fit(jobs).predict(runs([1, 20]))
    assert out.mean("power_w") == pytest.approx([5.0, 5.0], rel=0.05)
