"""Completing a row under caps: closed forms, calibration, targets on the measured tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.errors import DataError, NotFitted
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.completion.alone import Corners, Line, Process, corners
from rheostat.prediction.completion.cap_choice import keep, next_try
from rheostat.prediction.completion.curves import costs, linear, nearest, whole
from rheostat.prediction.completion.kernels import additive, bases
from rheostat.prediction.completion.mixture import CapMixture, Completion
from rheostat.prediction.completion.model import CapModel
from rheostat.prediction.completion.table import CapTable, cap_table


@pytest.fixture(scope="module")
def known() -> CapTable:
    return cap_table(capped_runs(30, noise=0.01, seed=5))


@pytest.fixture(scope="module")
def model(known: CapTable) -> CapModel:
    return CapModel().fit(known.only(range(18)))


def test_speed_is_relative_to_the_default(known: CapTable) -> None:
    assert known.values[known.default].tolist() == [200.0, 250.0]
    assert known.speed[:, known.default] == pytest.approx(1.0)
    assert known.speed.shape == (30, 77)
    assert known.saved_w.max() == 160.0


def test_an_application_without_its_default_is_named() -> None:
    runs = capped_runs(2)
    gone = runs.rows(
        ~((pl.col("app") == "app01") & (pl.col("cpu_cap_w") == 200) & (pl.col("gpu_cap_w") == 250))
    )
    with pytest.raises(DataError, match="app01 has no run at the default, cpu_cap_w=200"):
        cap_table(gone)


def test_bases_are_covariances_that_vanish_at_the_default() -> None:
    depth = np.random.default_rng(0).random((12, 2))
    depth[0] = 0.0
    for basis in bases(depth):
        assert np.linalg.eigvalsh(basis).min() > -1e-10
        assert basis[0] == pytest.approx(0.0)


def test_an_additive_curve_is_taken_apart_exactly(known: CapTable) -> None:
    depth = known.depth
    curve = -0.2 * depth[:, 0] ** 2 - 0.1 * depth[:, 1]
    parts = additive(curve, depth)
    assert parts[0] == pytest.approx(-0.2 * depth[:, 0] ** 2, abs=1e-9)
    assert parts[1] == pytest.approx(-0.1 * depth[:, 1], abs=1e-9)


def test_the_posterior_is_the_textbook_one(known: CapTable) -> None:
    """One component, written out: joint normal of default-relative runs, conditioned."""
    model = CapMixture().fit(known.only(range(18)))
    tried, row = [3, 40], known.speed[20]
    found = model.complete(tried, row[tried])
    c, n = 7, known.values.shape[0]
    s2, k = model.noise_[c] ** 2, model.covariance_[c]
    runs = k + s2 * (np.eye(n) + 1.0)
    gain = runs[:, tried] @ np.linalg.inv(runs[np.ix_(tried, tried)])
    mean = model.mean_[c] + gain @ (np.log(row[tried]) - model.mean_[c][tried])
    variance = np.diag(runs - gain @ runs[tried])
    others = np.setdiff1d(np.arange(n), [*tried, known.default])
    assert found.mean[c][others] == pytest.approx(mean[others], abs=1e-6)
    assert found.sd[c][others] ** 2 == pytest.approx(variance[others], abs=1e-7)
    assert found.weight.sum() == pytest.approx(1.0)


def test_bounds_are_reached_as_often_as_they_say(known: CapTable, model: CapModel) -> None:
    held = []
    for row in known.speed[18:]:
        tried = [0, 10, 66]
        found = model.complete(tried, row[tried])
        others = np.setdiff1d(np.arange(77), [*tried, known.default])
        held.append((row >= found.bound(0.9))[others].mean())
    assert 0.8 <= np.mean(held) <= 1.0


def test_bound_and_probability_agree(known: CapTable, model: CapModel) -> None:
    found = model.complete([0], known.speed[20, [0]])
    bound = found.bound(0.9)
    other = 30
    assert found.reaches(float(bound[other]))[other] == pytest.approx(0.9, abs=1e-3)


def test_the_first_try_is_low_and_the_default_is_never_asked_for(model, known) -> None:
    nothing = model.complete([known.default], np.ones(1))
    first = next_try(model, nothing, known.saved_w, 0.05)
    assert known.depth[first].sum() > 0.8  # teaches most where curves have had room to fall
    tried = [known.default]
    for _ in range(6):
        seen = model.complete(tried, known.speed[20, tried])
        tried.append(next_try(model, seen, known.saved_w, 0.05))
    assert len(set(tried)) == 7


def test_what_is_kept_is_safe_or_the_default() -> None:
    never = Completion(np.ones(1), np.full((1, 3), -1.0), np.full((1, 3), 0.01), ())
    kept = keep(never, np.array([50.0, 20.0, 0.0]), 0.05, 0.9, 2)
    assert (kept.setting, kept.saved_w) == (2, 0.0)


def test_what_was_tried_and_held_is_safe_whatever_is_needed() -> None:
    seen = Completion(np.ones(1), np.array([[-0.02, 0.0, 0.0]]), np.full((1, 3), 1e-6), (0, 2))
    assert keep(seen, np.array([50.0, 80.0, 0.0]), 0.05, np.inf, 2).setting == 0
    assert keep(seen, np.array([50.0, 80.0, 0.0]), 0.05, 0.9, 2).setting == 1


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_promise_holds_at_every_number_of_tries(known: CapTable, model: CapModel, n) -> None:
    kept = []
    for row in known.speed[18:]:
        tried = [known.default]
        while len(tried) <= n:
            seen = model.complete(tried, row[tried])
            tried.append(next_try(model, seen, known.saved_w, 0.05))
        seen = model.complete(tried, row[tried])
        needed = model.needed(tried, row[tried], 0.05, 0.9)
        k = keep(seen, known.saved_w, 0.05, needed, known.default)
        kept.append((k.saved_w, row[k.setting] < 0.95))
    saved, broken = np.mean(kept, axis=0)
    assert broken <= 0.1
    assert saved > {1: 0, 2: 20, 3: 40, 6: 80}[n]


@pytest.mark.slow
def test_the_risk_that_is_stated_is_used() -> None:
    """More is saved than where 90 % is asked of each setting, at no more than one in ten over."""
    saved, broken = [], []
    for seed in range(3, 9):
        t = cap_table(capped_runs(40, seed=seed))
        model, tried = CapModel().fit(t.only(range(18))), [t.default, 30, 44]
        for row in t.speed[18:]:
            seen = model.complete(tried, row[tried])
            asked = (0.9, model.needed(tried, row[tried], 0.05, 0.9))
            kept = [keep(seen, t.saved_w, 0.05, p, t.default).setting for p in asked]
            saved.append(t.saved_w[kept])
            broken.append(row[kept[1]] < 0.95)
    strict, used = np.mean(saved, axis=0)
    assert used > 1.05 * strict
    assert np.mean(broken) <= 0.1


def relatives() -> CapTable:
    """Six programs with six inputs each: a program has its own shape, an input its own depth."""
    watts = np.arange(100.0, 201.0, 10.0)
    place = (200.0 - watts) / 100.0
    rng = np.random.default_rng(4)
    shapes = [np.interp(place, [0, 0.25, 0.5, 0.75, 1], np.sort(np.r_[0, rng.random(3), 1]))
              for _ in range(6)]  # fmt: skip
    loss = [shape * depth for shape in shapes for depth in rng.uniform(0.08, 0.2, 6)]
    speed = np.exp(-np.array(loss) + 0.002 * rng.standard_normal((36, 11)) * (place > 0))
    names = tuple(f"program {i // 6} input {i % 6}" for i in range(36))
    return CapTable(names, ("cap_w",), watts[:, None], speed)


def test_a_program_that_is_new_is_not_taken_for_an_input_of_a_known_one() -> None:
    """Left out alone, each would be predicted from its program's inputs, and these be believed."""
    t, tried, missed = relatives(), [10, 0, 5], []
    for program in range(6):
        model = CapModel().fit(t.only([i for i in range(36) if i // 6 != program]))
        for row in t.speed[6 * program : 6 * program + 6]:
            missed.append(np.abs(model.complete(tried, row[tried]).speed() / row - 1).mean())
    assert np.mean(missed) < 0.0075  # 0.0080 where they are left out alone


def test_too_few_known_applications_promise_nothing_untried(known: CapTable) -> None:
    tried = [known.default, 30]
    eight, nine = (CapModel().fit(known.only(range(n))) for n in (8, 9))
    speed = known.speed[20, tried]
    assert eight.needed(tried, speed, 0.05, 0.9) == np.inf
    assert nine.needed(tried, speed, 0.9, 0.9) == 0.5
    assert nine.needed(tried, speed, 0.9, 0.95) == np.inf


def humps(depths: list[float]) -> CapTable:
    """Applications alike at both ends of one cap; in the middle each loses as much as given."""
    watts = np.arange(100.0, 201.0, 10.0)
    middle = np.sin(np.pi * (watts - 100) / 100)
    rng = np.random.default_rng(0)
    speed = np.array([1.0 - d * middle - 0.08 * (200 - watts) / 100 for d in depths])
    speed *= np.exp(0.002 * rng.standard_normal(speed.shape))
    speed /= speed[:, -1:]
    return CapTable(tuple(f"a{i}" for i in range(len(depths))), ("cap_w",), watts[:, None], speed)


def test_what_others_hide_between_the_tries_forbids_untried_settings() -> None:
    """At 150 W every third application loses 10 % more, which runs at both ends do not show."""
    plain, odd = humps([0.0] * 18), humps([0.0, 0.0, 0.1] * 6)
    tried = [10, 0]
    speed = np.array([1.0, 0.92])
    assert CapModel().fit(plain).needed(tried, speed, 0.05, 0.9) < 0.9
    model = CapModel().fit(odd)
    found = model.complete(tried, speed)
    needed = model.needed(tried, speed, 0.05, 0.9)
    rash, kept = (keep(found, odd.saved_w, 0.05, p, odd.default).setting for p in (0.9, needed))
    assert (odd.speed[:, rash] < 0.95).mean() > 0.1
    assert (odd.speed[:, kept] < 0.95).mean() == 0


def test_ways_are_weighed_by_what_they_missed() -> None:
    """Where all differ in degree only, the line along costs is right and gets the weight."""
    watts = np.arange(100.0, 201.0, 10.0)
    shape = np.where(watts < 140, (140 - watts) / 40, 0.0)
    speed = np.exp(-np.linspace(0.05, 0.5, 12)[:, None] * shape)
    t = CapTable(tuple("abcdefghijkl"), ("cap_w",), watts[:, None], speed)
    model = CapModel().fit(t.only(range(0, 11)))
    guess = model.complete([10, 0], speed[11, [10, 0]]).speed()
    assert guess == pytest.approx(speed[11], abs=0.005)
    straight = Line().fit(t).fill([10, 0], speed[11, [10, 0]])
    assert np.abs(straight - speed[11]).mean() > 0.1


def test_a_line_is_the_piecewise_line_in_one_dimension() -> None:
    x = np.array([0.0, 0.1, 0.4, 0.5, 0.8, 1.0])[:, None]
    y = np.array([0.0, -0.2, -0.9])
    tried = [1, 3, 4]
    assert linear(x, tried, y) == pytest.approx(np.interp(x[:, 0], x[tried, 0], y), abs=1e-6)


def test_holes_are_filled_from_the_row_itself() -> None:
    x = np.linspace(0, 1, 5)[:, None]
    rows = np.array([[0.0, np.nan, 2.0, np.nan, 4.0], [5.0, 5.0, 5.0, 5.0, 5.0]])
    filled = whole(rows, x)
    assert filled[0] == pytest.approx([0, 1, 2, 3, 4], abs=1e-6)
    assert np.isnan(rows[0, 1])


def test_costs_only_grow_as_caps_fall_and_counts_are_free() -> None:
    depth = np.linspace(0, 1, 5)[:, None]
    wavy = np.array([0.0, -0.1, -0.05, -0.2, -0.3])
    assert (np.diff(costs(wavy, depth, [0])[:, 0]) < 0).all()
    assert costs(wavy, depth, [])[:, 0] == pytest.approx(wavy - 1e-3 * depth[:, 0])


def test_nearest_applications_are_the_closest_where_tried() -> None:
    rows = np.arange(5.0)[:, None] * np.ones((5, 4))
    assert nearest(rows, [0], np.array([4.0])) == pytest.approx(4.0, abs=1e-4)
    assert nearest(rows, [], np.zeros(0)) == pytest.approx(2.0)


def test_corners_restore_a_bilinear_table(known: CapTable) -> None:
    u, v = known.depth.T
    truth = 1.0 - 0.2 * u - 0.1 * v + 0.05 * u * v
    at = corners(known)
    assert known.values[at].tolist() == [[200, 250], [200, 150], [140, 250], [140, 150]]
    assert Corners().fit(known).fill(at, truth[at]) == pytest.approx(truth)
    assert np.isnan(Corners().fit(known).fill(at[:3], truth[at[:3]])).all()


def test_the_bound_of_a_process_is_below_its_mean_and_meets_it_at_runs(known: CapTable) -> None:
    process, tried = Process().fit(known), [known.default, 0, 40]
    speed = known.speed[20, tried]
    mean, low = process.fill(tried, speed), process.bound(tried, speed, 0.9)
    assert (low <= mean).all()
    assert (mean - low)[tried].max() < 0.5 * (mean - low).max()


def test_the_number_of_gpus_is_a_knob_beside_the_cap() -> None:
    gpus, cap = np.meshgrid([1.0, 2.0, 4.0], [150.0, 200.0, 250.0], indexing="ij")
    parts = [
        pl.DataFrame({"app": f"a{i}", "gpus": gpus.ravel(), "gpu_cap_w": cap.ravel(),
                      "runtime_s": ((1 - s + 4 * s / gpus) * (250 / cap) ** 0.1).ravel()})
        for i, s in enumerate(np.linspace(0.05, 0.95, 12))
    ]  # fmt: skip
    from rheostat.core.vocabulary import table

    t = cap_table(table(pl.concat(parts)))
    assert t.knobs == ("gpu_cap_w", "gpus")
    assert t.values[t.default].tolist() == [250.0, 4.0]
    assert t.saved_w[t.index((150.0, 1.0))] == 850.0
    model = CapModel().fit(t.only(range(11)))
    tried = [t.default, t.index((250.0, 1.0)), t.index((150.0, 4.0))]
    found = model.complete(tried, t.speed[11, tried])
    assert np.abs(found.speed() / t.speed[11] - 1).mean() < 0.03


def test_settings_that_nobody_ran_are_between_those_that_were(known: CapTable) -> None:
    more = known.with_settings([(145.0, 205.0), (140.0, 150.0)])
    assert len(more.values) == len(known.values) + 1
    assert more.default == more.index((200.0, 250.0))
    assert more.covers((145.0, 205.0))
    assert not more.covers((139.0, 205.0))
    model = CapModel().fit(more.only(range(18)))
    new = more.index((145.0, 205.0))
    tried = [more.default, more.index((140.0, 150.0))]
    speed = model.complete(tried, more.speed[20, tried]).speed()
    around = [more.index((c, g)) for c in (140.0, 150.0) for g in (200.0, 210.0)]
    assert speed[around].min() <= speed[new] <= speed[around].max()


def test_one_cap_alone_works() -> None:
    runs = capped_runs(8, cpu_caps=(200.0,), noise=0.005, seed=2)
    table = cap_table(runs.select(["app", "gpu_cap_w", "runtime_s"]))
    model = CapModel().fit(table.only(range(7)))
    found = model.complete([0], table.speed[7, [0]])
    assert np.abs(found.speed() / table.speed[7] - 1).mean() < 0.02


def test_unfitted_says_so() -> None:
    for model in (CapMixture(), CapModel()):
        with pytest.raises(NotFitted):
            model.complete([0], np.ones(1))
