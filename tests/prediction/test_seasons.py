"""Regular runs: the season that is found, the line beside it, models saved before there were."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import ModelFileError
from rheostat.prediction.iteration_time.adaptive import EXPERTS, AdaptiveForecaster
from rheostat.prediction.iteration_time.forecast import NOTHING
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.iteration_time.seasons import LEVEL, LONGEST, SEASON, SeasonBank
from rheostat.prediction.saved_models.persist import load, save


def regular(period, count=200, noise=0.01, drift=0.0, seed=0):
    """Log times of a pattern with noise, and what is without the noise."""
    rng = np.random.default_rng([period, seed])
    true = np.resize(0.15 * rng.standard_normal(period), count) + drift * np.arange(count)
    return true + noise * rng.standard_normal(count), true


@pytest.mark.parametrize("period", [1, 7, 24, 45, LONGEST])
def test_the_period_is_found_and_its_phases_are_learned_to_the_noise(period):
    bank, (seen, true) = SeasonBank(), regular(period, 230)
    for z in seen[:200]:
        bank.observe(float(z))
    assert bank.period == period
    assert bank.forecast(30) == pytest.approx(true[200:], abs=0.03)
    bank.skip(13)  # nobody saw these: the pattern moves on
    assert bank.forecast(17) == pytest.approx(true[213:], abs=0.03)


def test_a_smoother_is_holt_and_winters_step_by_step():
    """Period 3 written out; nothing here is so far off that it is cut."""
    seen = regular(3, 60, noise=0.02)[0]
    bank, level, season = SeasonBank(), 0.0, [0.0] * 3
    scale = 0.1
    for t, z in enumerate(seen):
        if not t:
            level = z
        error = z - level - season[t % 3]
        cut = float(np.clip(error, -3 * scale, 3 * scale))
        size = 1.25 * min(abs(error), 4 * scale)
        scale = max(scale + max(0.05, 1 / (t + 2)) * (size - scale), 1e-4)
        gain = max(1 / (t // 3 + 1), SEASON)
        season[t % 3] += gain * (error if t < 6 else cut)
        level += max(1 / (t + 1), LEVEL) * cut * (1.0 if t >= 3 else 0.3)
        bank.observe(float(z))
    assert (bank.level[2], bank.season[2, :3].tolist()) == (
        pytest.approx(level), pytest.approx(season))  # fmt: skip


@pytest.mark.parametrize("period", [1, 12])
def test_a_line_is_followed_where_its_halves_agree_and_not_where_they_turn(period):
    bank, turned = SeasonBank(), SeasonBank()
    seen, true = regular(period, 180, drift=0.004)
    for t, z in enumerate(seen[:150]):
        bank.observe(float(z))
        turned.observe(float(z) - 0.008 * max(t - 126, 0))
    assert bank.along_line(30) == pytest.approx(true[150:], abs=0.04)
    assert np.abs(bank.forecast(30) - true[150:]).max() > 0.1
    last_season = turned.along_line(60)[period : 2 * period].mean()
    assert turned.along_line(60)[-period:].mean() == pytest.approx(last_season)


def test_few_iterations_have_no_line_and_a_jump_is_a_new_level_with_the_old_pattern():
    bank, (seen, true) = SeasonBank(), regular(6, 130)
    for t, z in enumerate(seen[:100]):
        bank.observe(float(z))
        if t == 10:
            assert bank.along_line(3).tolist() == bank.forecast(3).tolist()
    bank.jump()
    assert bank.along_line(30).tolist() == bank.forecast(30).tolist()
    bank.observe(float(seen[100]) + 0.7)
    assert bank.forecast(29) == pytest.approx(true[101:] + 0.7, abs=0.05)


def test_a_regular_run_is_forecast_near_its_noise_of_one_percent_thirty_ahead():
    """Mean absolute noise is 0.8 %; the pattern before had 1.0 to 10 %, Holt-Winters 1.0 to 1.2."""
    for period, drift in ((13, 0.0), (17, 0.002)):
        model, (seen, _) = AdaptiveForecaster(), regular(period, drift=drift)
        errors = []
        for t, z in enumerate(seen):
            if t >= 80 and t + 30 <= len(seen):
                said = model.forecast(30).time_s
                errors.append(np.abs(said / np.exp(seen[t : t + 30]) - 1.0)[[0, 7, 29]])
            model.observe(float(np.exp(z)))
        assert np.mean(errors, axis=0).max() < 0.0125


def test_a_model_saved_before_there_were_seasons_is_loaded_and_goes_on(tmp_path):
    model = AdaptiveForecaster()
    for time_s in [1.0, 1.1, 2.0] * 12:
        model.observe(time_s)
    said, old = model.forecast(6).time_s, len(EXPERTS) - 2
    del model.seasons
    model.weights = model.weights[:, :old] / model.weights[:, :old].sum(axis=1, keepdims=True)
    model.asked = [a[:, :old] for a in model.asked]
    model.last = (NOTHING, model.last[1][:, :old])
    again = load(save(IterationModel({"a": model}), tmp_path / "old")).of("a")
    assert again.forecast(6).time_s == pytest.approx(said, rel=0.01)
    assert again.weights.sum(axis=1) == pytest.approx(np.ones(30))
    for time_s in [1.0, 1.1, 2.0] * 12:
        again.observe(time_s)
    assert again.forecast(3).time_s == pytest.approx([1.0, 1.1, 2.0], rel=0.01)
    again.weights = again.weights[:, :3]
    with pytest.raises(ModelFileError, match=r"expected weights of the shape \(30, 10\)"):
        load(save(IterationModel({"a": again}), tmp_path / "bad"))


def test_intervals_of_a_season_hold_far_ahead_once_it_was_found() -> None:
    """They are in the season's own errors, not in those of the pattern, which fall for long."""
    pattern, noise, ran = np.array([1.0, 1.02, 1.0, 1.31, 0.97]), 0.008, 110
    held = []
    for seed in range(8):
        draw = np.random.default_rng(seed)
        model = AdaptiveForecaster()
        for i in range(ran):
            model.forecast(30)
            model.observe(pattern[i % 5] * np.exp(draw.normal(0.0, noise)))
        said = model.forecast(30)
        truth = pattern[(ran + np.arange(30)) % 5][:, None] * np.exp(
            draw.normal(0.0, noise, (30, 500))
        )
        inside = (said.low_s[:, None] <= truth) & (truth <= said.high_s[:, None])
        held.append(inside[15:].mean())
    assert np.mean(held) > 0.8
