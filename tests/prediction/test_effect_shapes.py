"""Shapes of what a knob does: perfect scaling, departures from it, bends and names."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.prediction.effects import shapes
from rheostat.prediction.effects.shapes import SHAPES, affine, logs, shape_of, speed_up


def test_nodes_divide_work_and_add_watts_and_no_other_number_does():
    nodes, clock = (shape_of(pl.Series(n, [1, 2, 4])) for n in ("nodes", "clock"))
    quantities = ("runtime_s", "power_w", "power_max_w", "energy_j", "cost")
    assert [nodes.exponent(q) for q in quantities] == [-1.0, 1.0, 1.0, 0.0, 0.0]
    assert [clock.exponent(q) for q in quantities] == [0.0] * 5
    for parallel in ("gpus", "cores", "threads", "tasks", "ranks"):
        assert shape_of(pl.Series(parallel, [1, 2])).parallel


def test_a_number_has_a_line_and_half_a_square_of_its_logarithm():
    shape = shape_of(pl.Series("clock", [1.0, 4.0, 4.0]))
    x = np.log([1.0, 8.0]) - 2 * np.log(4) / 3
    wanted = np.stack([x, x * x / 2], axis=-1)
    values = pl.Series([1.0, 8.0])
    for columns in (shape.request, shape.curve("runtime_s").columns):
        assert columns(values) == pytest.approx(wanted)
    assert shape.curve("runtime_s").mean.tolist() == [0, 0]
    assert shape.curve("runtime_s").scale.tolist() == [0.5, 0.5]
    assert shape.logarithmic


def test_names_have_a_column_each_but_the_commonest():
    shape = shape_of(pl.Series("governor", ["b", "a", "a", "c", "c", "c", None]))
    assert (shape.logarithmic, shape.parallel) == (False, False)
    assert shape.request(pl.Series(["a", "c", "b", "x", None])).tolist() == [
        [1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]  # fmt: skip
    assert shape.plain.scale.tolist() == [0.5, 0.5]
    assert shape.plain.mean.tolist() == [0.0, 0.0]
    assert shape_of(pl.Series("turbo", [0, 1, 1])).request(pl.Series([0, 1])).tolist() == [[1], [0]]
    one = shape_of(pl.Series("governor", ["a", "a"]))
    assert one.request(pl.Series(["a", "b"])).tolist() == [[1], [0]]


def test_what_is_not_positive_has_no_logarithm():
    assert logs(pl.Series([1, 0, -2, None])).tolist() == pytest.approx([0, *[np.nan] * 3],
                                                                       nan_ok=True)  # fmt: skip


@pytest.mark.parametrize("quantity", ["runtime_s", "power_w"])
def test_departures_of_nodes_start_at_none_and_end_at_the_most_nodes(quantity):
    curve = shape_of(pl.Series("nodes", [1, 4096])).curve(quantity)
    wide = curve.columns(pl.Series([1, 4096, 5000]))
    assert wide.shape == (3, SHAPES)
    assert wide[0] == pytest.approx(np.zeros(SHAPES), abs=1e-12)
    assert wide[1].min() > 0
    assert wide[2].tolist() == wide[1].tolist()
    assert (curve.scale.tolist(), len(curve.mean)) == ([1.0] * SHAPES, SHAPES)


@pytest.mark.parametrize(("family", "curve", "within"), [
    (speed_up, lambda n: np.log(1 + 0.01 * (n - 1) + 1e-5 * n * (n - 1)), 0.3),
    (speed_up, lambda n: np.log(1 + 0.003 * (n - 1)), 0.2),
    (affine, lambda n: np.log((1 + 0.4 / n) / 1.4) - 0.03 * np.log(n), 0.02),
])  # fmt: skip
def test_curves_of_the_laws_are_sums_of_the_shapes(family, curve, within):
    grid, shapes, _ = family()
    wanted = curve(np.exp(grid))
    fit = shapes.T @ np.linalg.lstsq(shapes.T, wanted, rcond=None)[0]
    assert np.abs(fit - wanted).max() < within


@pytest.mark.parametrize("floor", [0.05, 0.2, 0.4])
def test_a_part_that_no_node_shortens_is_as_likely_as_curves_of_the_family(floor):
    """Of weights with a prior of one, and 20 runs at each setting with a noise of 5 %."""
    grid, shapes, mean = speed_up()
    nodes = 2.0 ** np.arange(8)
    x = np.stack([np.interp(np.log(nodes), grid, s) for s in shapes], axis=-1)
    wanted = np.log(nodes * (floor + (1 - floor) / nodes**0.9))
    worth = 20 / 0.05**2
    weights = np.linalg.solve(
        worth * x.T @ x + np.eye(SHAPES), worth * x.T @ wanted + mean
    )  # fmt: skip
    assert np.abs(x @ weights - wanted).max() < 0.03
    assert ((weights - mean) ** 2).sum() < 12


def test_run_times_slow_by_contention_coherency_and_what_caches_no_longer_hold(monkeypatch):
    monkeypatch.setattr(shapes, "_principal", lambda curves: curves)
    curves, rng = speed_up.__wrapped__(), np.random.default_rng(0)
    n = np.exp(np.linspace(0.0, np.log(4096), 120))
    shared, talked = 10 ** rng.uniform(-5, -0.7, 600), 10 ** rng.uniform(-8, -2.5, 600)
    most = rng.uniform(0, 0.6, 600)
    gain = np.where(rng.random(600) < 0.5, most, 0.0)  # half of all programs come to fit a cache
    fits = rng.uniform(0, 5, 600)  # at so many doublings of the nodes half of the gain is there
    assert curves.shape == (1200, 120)
    for i in range(0, 600, 37):
        held = 1 / (1 + np.exp(-2 * (np.log2(n) - fits[i])))
        slower = 1 + shared[i] * (n - 1) + np.minimum(talked[i] * n * (n - 1), 4.0)
        assert curves[i] == pytest.approx(
            np.log(slower * (1 - gain[i] * held) / (1 - gain[i] * held[0])))  # fmt: skip


def wandering(rng, first, step, ends, grid):
    """Exponents go straight between seven places, by steps of so much, within their ends."""
    walk = rng.normal(0, step, (600, 7)).cumsum(axis=1)
    at = np.clip(rng.uniform(*first, (600, 1)) + walk, *ends)
    made = np.zeros((600, len(grid)))
    for i in range(600):
        exponent = np.interp(grid, np.linspace(grid[0], grid[-1], 7), at[i])
        made[i, 1:] = np.cumsum((exponent[1:] + exponent[:-1]) / 2 * np.diff(grid))
    return made


def test_half_of_the_curves_are_of_no_law(monkeypatch):
    monkeypatch.setattr(shapes, "_principal", lambda curves: curves)
    grid = np.linspace(0.0, np.log(4096), 120)
    rng = np.random.default_rng(0)
    for low, high in ((-5, -0.7), (-8, -2.5), (0, 0.6), (0, 1), (0, 5)):
        rng.uniform(low, high, 600)
    wanted = wandering(rng, (-0.1, 1.0), 0.22, (-0.35, 1.25), grid)
    assert speed_up.__wrapped__()[600:] == pytest.approx(wanted)


def test_watts_per_node_fall_by_what_is_shared_and_by_waiting(monkeypatch):
    monkeypatch.setattr(shapes, "_principal", lambda curves: curves)
    curves, rng = affine.__wrapped__(), np.random.default_rng(0)
    grid = np.linspace(0.0, np.log(4096), 120)
    shared, waiting = 10 ** rng.uniform(-2, 0.7, 600), rng.uniform(-0.02, 0.1, 600)
    for i in range(0, 600, 37):
        alone = (1 + shared[i] / np.exp(grid)) / (1 + shared[i])
        assert curves[i] == pytest.approx(np.log(alone) - waiting[i] * grid)
    wanted = wandering(rng, (-0.3, 0.05), 0.1, (-0.6, 0.1), grid)
    assert curves[600:] == pytest.approx(wanted)


def test_shapes_are_principal_and_weights_over_the_curves_have_a_spread_of_one():
    rng = np.random.default_rng(3)
    curves = rng.standard_normal((40, 8)) @ np.diag([9, 8, 7, 6, 5, 4, 0.2, 0.1]) @ (
        np.linalg.qr(rng.standard_normal((8, 8)))[0])  # fmt: skip
    _, made, mean = shapes._principal(curves)
    weights = curves @ np.linalg.pinv(made)
    assert weights.std(axis=0) == pytest.approx(np.ones(SHAPES))
    assert weights.mean(axis=0) == pytest.approx(mean)
    assert (made[:, -1] > 0).all()
    assert np.abs(weights @ made - curves).max() < 1.0  # all but the two least
    gram = made @ made.T
    assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-8)
    assert (np.diff(np.diag(gram)) < 0).all()
