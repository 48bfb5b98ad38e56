"""What the runs beside a trial's job say of it takes noise off, and adds no bias."""

from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.prediction.effects.neighbours import beside
from rheostat.prediction.effects.unlike_jobs import of_turned
from rheostat.prediction.effects.weighed_rows import less_neighbours


def runs(seed, again, effect=-0.7, n=4000):
    """Problems that are run again or not, and jobs that chance turned by a factor of four."""
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, 20, n)
    order = np.argsort(cell, kind="stable")
    new = rng.random(n) >= again
    size = np.empty(n)
    size[order] = rng.normal(0, 0.7, n)[np.maximum.accumulate(np.where(new, np.arange(n), 0))]
    turned = rng.random(n) < 0.05
    moved = turned * rng.choice([-1.4, 1.4], n)
    y = size + effect * moved + 0.05 * rng.normal(size=n)
    return y, moved, cell, turned


def exponent(y, moved, turned, off=0.0, surer=1.0):
    x, left = (moved * surer)[turned], ((y - off) * surer)[turned]
    return float(x @ left / (x @ x))


def test_the_trial_is_as_unbiased_and_surer():
    plain, taken = [], []
    for seed in range(60):
        y, moved, cell, turned = runs(seed, again=0.6)
        q = y + 0.6 * moved  # the effect that is taken off the neighbours may be somewhat wrong
        off, surer = beside(q, np.zeros(len(y)), cell, turned)
        assert (off[~turned] == 0).all()
        plain.append(exponent(y, moved, turned))
        taken.append(exponent(y, moved, turned, off, surer))
    assert np.mean(taken) == pytest.approx(-0.7, abs=3 * np.std(taken) / np.sqrt(60))
    assert np.std(taken) < 0.5 * np.std(plain)


def test_neighbours_that_say_nothing_change_nothing():
    y, moved, cell, turned = runs(1, again=0.0)
    off, surer = beside(y - moved * -0.7, np.zeros(len(y)), cell, turned)
    assert np.std(off[turned]) < 0.15 * np.std(y)
    assert surer.max() < 1.1
    alone = beside(y, np.zeros(len(y)), np.arange(len(y)), turned)
    assert not alone[0].any()
    assert (alone[1] == 1).all()


def test_what_neighbours_say_is_a_line_of_each_class_of_their_distance():
    """Written out: eight classes by the distance of both neighbours, one more with one of them."""
    rng = np.random.default_rng(2)
    n, cell = 700, np.sort(rng.integers(0, 50, 700))
    q, betrayed = np.cumsum(rng.normal(0, 0.4, n)), rng.normal(0, 0.3, n)
    turned = rng.random(n) < 0.2
    mean, apart = np.full(n, np.nan), np.full(n, np.nan)
    for i in range(n):
        near = [q[j] for j in (i - 1, i + 1) if 0 <= j < n and cell[j] == cell[i]]
        mean[i] = np.mean(near) if near else np.nan
        apart[i] = abs(near[0] - near[1]) if len(near) == 2 else np.nan
    edges = np.quantile(apart[np.isfinite(apart)], np.arange(1, 8) / 8)
    kind = np.array([8 if np.isnan(a) else int((edges < a).sum()) for a in apart])
    kind[np.isnan(mean)] = -1
    off, surer = beside(q, betrayed, cell, turned)
    plain = np.var((q - betrayed)[~turned])
    for k in range(9):
        known, here = (kind == k) & ~turned, (kind == k) & turned
        assert (known.sum() >= 30, here.sum() > 0) == (True, True)
        x = np.column_stack([mean, betrayed])
        line = x @ np.linalg.lstsq(x[known], q[known], rcond=None)[0]
        assert off[here] == pytest.approx((line - betrayed)[here])
        rest = np.var((q - line)[known]) + 0.03**2
        assert surer[here] == pytest.approx(np.full(here.sum(), max(plain / rest, 1.0) ** 0.5))
    assert (off[~turned] == 0).all()
    assert (surer[~turned] == 1).all()
    few, _ = beside(q[:31], betrayed[:31], np.zeros(31, int), np.arange(31) == 5)
    assert not few.any()  # thirty that ran as asked, in nine classes


def test_a_turned_job_is_one_of_its_application_however_well_its_neighbours_tell_its_problem():
    """Jobs differ in what a setting does to them, by .2 of an exponent where nodes gain nothing."""
    y, moved, cell, turned = runs(1, again=0.9)
    run, zero = np.where(turned, moved, 0.0)[:, None], np.zeros(len(y), dtype=int)
    rows = SimpleNamespace(app=zero, cell=cell, turned=turned, log_run=run, log_asked=0 * run)
    hierarchy = SimpleNamespace(weights=np.full((1, 2, 1), 1.0), noise=np.full(2, 0.7))
    flat = np.column_stack([run, y])
    own = of_turned(hierarchy, rows, run, -1.0)
    assert own == pytest.approx(0.2 * np.abs(moved))
    assert of_turned(hierarchy, rows, 0 * run, -1.0) == pytest.approx(0.06 * np.abs(moved))
    one = np.ones_like(flat)
    alone = less_neighbours(one, flat, hierarchy, rows, 1, 0 * own)[:, 0]
    weight = less_neighbours(one, flat, hierarchy, rows, 1, own)[:, 0]
    assert 0.7**2 / weight**2 == pytest.approx(0.7**2 / alone**2 + own**2)
    assert alone[turned].max() > 5
    assert weight[turned].max() < 0.7 / (0.2 * 1.4)
