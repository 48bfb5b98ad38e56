"""Forecasters of iteration times at their edges: begun anew, skipped, jumped, held back."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import noise_floor as noise_floors
from benchmarks.noise_floor import noise_floor, regimes
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.change import RegimeTracker
from rheostat.prediction.iteration_time.cycles import CycleBank
from rheostat.prediction.iteration_time.forecast import (
    NOTHING,
    Neighbour,
    Surroundings,
)
from rheostat.prediction.iteration_time.response import _phases
from rheostat.prediction.iteration_time.seasons import LEAST_LINE, SeasonBank

# ---------------------------------------------------------------- forecasters


def test_what_nobody_saw_moves_both_sides_of_a_doubt_on():
    tracker = RegimeTracker()
    for k in range(60):
        tracker.observe(0.3 * (k % 3 == 0), NOTHING)
    tracker.observe(5.0, NOTHING)
    assert tracker.other is not None
    before = [bank.belief.copy() for bank in (tracker.bank, tracker.other)]
    tracker.skip(1)
    for bank, belief in zip((tracker.bank, tracker.other), before, strict=True):
        np.testing.assert_array_equal(bank.belief, bank._moved(belief)[0])


def test_a_run_that_begins_knows_of_no_neighbour_and_is_judged_by_no_answer_of_before():
    model = AdaptiveForecaster(horizon=3)
    near = Surroundings((Neighbour("b", 0.1, 1.0, True, 0.5),))
    for time in (1.0, 1.2, 0.9, 1.1):
        model.observe(time, near)
    assert (model.endings.run, len(model.intervals.pending)) == ({"b": 4}, 3)
    model.begin()
    assert (model.endings.run, model.change.running, model.last) == ({}, None, None)
    assert model.intervals.pending == []
    assert len(model.logs) == 4
    for response in model.responses:
        response.past[:] = 7.0
    model.observe(1.0, near)
    model.skip(2)
    assert all((r.past == 0).all() for r in model.responses)
    assert (model.intervals.pending, model.asked, model.skipped) == ([], [], True)
    model.observe(1.0, near)
    assert not model.skipped


def test_a_neighbour_that_ends_begins_the_seasons_and_the_answers_anew():
    model = AdaptiveForecaster(horizon=3)
    on, off = (Surroundings((Neighbour("b", 0.1, 1.0, r, 0.5),)) for r in (True, False))
    for time in (1.0, 1.2, 0.9, 1.1):
        model.observe(time, on)
    assert model.seasons.seen == 4
    model.observe(0.7, off)
    assert model.seasons.seen == 1
    assert len(model.intervals.pending) == 1
    model.observe(0.7, off)
    assert model.seasons.seen == 2


def test_a_known_phase_that_differs_by_far_more_than_the_noise_is_used_in_full():
    """Of a deviation a share count / (count + prior), the prior from 0.03 to 4 iterations."""
    sharp, noise = CycleBank(4), CycleBank(4)
    rng = np.random.default_rng(0)
    for k in range(60):
        sharp.observe(2.0 * (k % 2) + 1e-3 * rng.standard_normal())
        noise.observe(0.1 * rng.standard_normal())
    shares = sharp.mean[1, :2] / sharp.unshrunk[1, :2]
    np.testing.assert_allclose(shares, sharp.count[1, :2] / (sharp.count[1, :2] + 0.03))
    held = noise.mean[3] / noise.unshrunk[3]
    np.testing.assert_allclose(held, noise.count[3] / (noise.count[3] + 4.0))


def test_after_a_jump_the_first_iteration_is_the_level_in_its_phase():
    bank = SeasonBank()
    for k in range(122):
        bank.observe(0.5 * (k % 6 == 2))
    bank.jump()
    season = bank.season[np.arange(60), 122 % np.arange(1, 61)]
    assert season[5] > 0.1
    bank.observe(3.0)
    np.testing.assert_allclose(bank.level, 3.0 - season, atol=1e-9)
    assert np.ptp(bank.forecast(6)) == pytest.approx(0.5, abs=0.05)


def test_a_line_needs_forty_iterations_of_which_each_third_was_seen():
    bank = SeasonBank()
    for k in range(LEAST_LINE):
        bank.observe(0.01 * k)
    assert bank.along_line(2) == pytest.approx([0.4, 0.41], abs=0.02)
    bank = SeasonBank()
    for _ in range(12):
        bank.observe(1.0)
    bank.skip(30)
    assert bank.along_line(2).tolist() == bank.forecast(2).tolist()


def test_a_phase_is_as_far_as_the_time_since_the_mark_and_a_rest_is_none():
    near = Neighbour("b", 0.5, 2.0, True)
    np.testing.assert_allclose(_phases(near, np.zeros(1), 0.0), [[1.0, 0.0, 0.0, -1.0]], atol=1e-12)
    for rests in (Neighbour("b", 0.5, 2.0, False), Neighbour("b", 0.5, 0.0, True)):
        assert not _phases(rests, np.zeros(2), 0.0).any()
        assert _phases(rests, np.zeros(2), 0.0).shape == (2, 4)


def test_the_floor_follows_a_pattern_and_cuts_at_small_steps_without_noise():
    rng = np.random.default_rng(6)
    pattern = np.exp(np.tile([0.0, 0.0, 0.3, 0.0], 12) + 0.02 * rng.standard_normal(48))
    known = noise_floor(pattern)
    assert np.abs(known / pattern - 1).mean() < 0.03
    assert [s.start for s in regimes(np.repeat([1.0, 1.1, 1.0], [20, 20, 20]))] == [0, 20, 40]


def test_what_the_experts_say_is_worked_out_once_for_each_iteration(monkeypatch):
    model, asked = AdaptiveForecaster(horizon=2), []
    each = model._each
    monkeypatch.setattr(model, "_each", lambda around: asked.append(around) or each(around))
    model.observe(1.0)
    near, same = (Surroundings((Neighbour("b", 0.1, 1.0, True, 0.5),)) for _ in range(2))
    first = model.forecast(1, near).time_s
    assert model.forecast(1, near).time_s == first
    model.observe(1.1, near)
    assert asked == [near]
    model.forecast(1, same)
    model.forecast(1, near)
    assert [a is b for a, b in zip(asked[1:], (same, near), strict=True)] == [True, True]


def test_where_cuts_are_chance_the_floor_is_the_median_of_all_others(monkeypatch):
    z = 0.1 * np.random.default_rng(4).standard_normal(40)
    pairs = [slice(k, k + 2) for k in range(0, 40, 2)]
    monkeypatch.setattr(noise_floors, "regimes", lambda times: pairs)
    whole = [np.median(np.delete(z, i)) for i in range(40)]
    assert noise_floor(np.exp(z)) == pytest.approx(np.exp(whole))
