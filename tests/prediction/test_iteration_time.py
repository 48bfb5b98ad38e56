"""Forecasts of iteration times: patterns, changes, neighbours, intervals, the floor."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.noise_floor import noise_floor, regimes
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.cycles import PENALTY, CycleBank
from rheostat.prediction.iteration_time.endings import NeighbourEndings
from rheostat.prediction.iteration_time.forecast import Neighbour, Surroundings
from rheostat.prediction.iteration_time.interval import AdaptiveIntervals
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.iteration_time.response import NeighbourResponse
from rheostat.prediction.iteration_time.simple_forecasters import BASELINES, SimpleForecaster


def noisy(levels: np.ndarray, spread: float, seed: int = 0) -> np.ndarray:
    return levels * np.exp(np.random.default_rng(seed).normal(0.0, spread, len(levels)))


def one_ahead(model, times, around=None):
    """(forecast, low, high) of every iteration, each made before it was shown."""
    said = []
    for t, time_s in enumerate(times):
        given = around[t] if around else Surroundings()
        a = model.forecast(1, given)
        said.append((a.time_s[0], a.low_s[0], a.high_s[0]))
        model.observe(float(time_s), given)
    return np.array(said).T


def mape(said, times, begin):
    return float(np.mean(np.abs(said / times - 1.0)[begin:]))


def test_a_pattern_is_learned_and_kept_through_a_slip_and_a_change_of_level():
    pattern = np.tile([1.0] * 9 + [1.5], 12)
    levels = np.concatenate([pattern[:60], [1.0], pattern[:60]])
    levels[90:] *= 0.3
    times = noisy(levels, 0.02)
    said, _, _ = one_ahead(AdaptiveForecaster(), times)
    rest = [t for t in range(40, len(times)) if not 60 <= t <= 71 and not 90 <= t <= 93]
    assert np.mean(np.abs(said / times - 1.0)[rest]) < 0.04
    last, _, _ = one_ahead(SimpleForecaster("last"), times)
    assert np.mean(np.abs(last / times - 1.0)[rest]) > 0.08


def test_most_of_a_pattern_is_forecast_once_it_came_four_times():
    """What was held for chance at first does not hold the pattern back once it is one."""
    missed = []
    for seed in range(4):
        times = noisy(np.tile([1.0] * 9 + [1.4], 5), 0.02, seed)
        said, _, _ = one_ahead(AdaptiveForecaster(), times)
        missed.append(1.4 - said[-1])
    assert 0.0 < np.mean(missed) < 0.07


def test_the_pattern_goes_on_while_nobody_looks():
    model = AdaptiveForecaster()
    for time_s in [1.0, 1.0, 1.0, 2.0] * 15:
        model.observe(time_s)
    model.skip(2)
    assert model.forecast(4).time_s == pytest.approx([1.0, 2.0, 1.0, 1.0], rel=0.08)


@pytest.mark.slow
def test_steady_noise_is_forecast_as_well_as_by_the_running_median():
    for seed in range(3):
        times = noisy(np.ones(300), 0.04, seed)
        ours, _, _ = one_ahead(AdaptiveForecaster(), times)
        median, _, _ = one_ahead(SimpleForecaster("running-median"), times)
        assert mape(ours, times, 90) < mape(median, times, 90) + 0.001


def test_after_a_change_two_iterations_are_enough():
    times = noisy(np.repeat([4.0, 1.0, 3.0], 60), 0.03)
    model = AdaptiveForecaster()
    said, _, _ = one_ahead(model, times)
    for change in (60, 120):
        assert abs(said[change] / times[change] - 1.0) > 0.5  # nobody could know
        assert np.abs(said / times - 1.0)[change + 2 : change + 10].max() < 0.2
    assert model.change.at == [60, 120]


def test_an_outlier_is_no_change():
    times = noisy(np.ones(80), 0.02)
    times[50] = 3.0
    model = AdaptiveForecaster()
    said, _, _ = one_ahead(model, times)
    assert np.abs(said / times - 1.0)[52:].max() < 0.1
    assert model.change.at == []


def test_rare_long_iterations_cost_no_more_than_with_the_running_median():
    """Neither experts that follow them nor patterns seen in chance move the answer."""
    behind = []
    for seed in range(3):
        rng, levels = np.random.default_rng(seed), np.ones(160)
        at = np.cumsum(rng.integers(8, 40, 20))
        levels[at[at < 160]] = rng.uniform(2.0, 5.0, (at < 160).sum())
        times = noisy(levels, 0.04, seed)
        median = mape(one_ahead(SimpleForecaster("running-median", 1), times)[0], times, 50)
        behind.append(mape(one_ahead(AdaptiveForecaster(1), times)[0], times, 50) - median)
    assert np.mean(behind) < 0.0012


def test_it_asks_for_simulation_when_the_regime_changed_and_only_then():
    model, times = AdaptiveForecaster(), noisy(np.repeat([4.0, 1.0], 50), 0.03)
    asked = []
    for time_s in times:
        asked.append(model.forecast(1).simulate)
        model.observe(float(time_s))
    assert [t for t in range(10, 100) if asked[t]] == list(range(51, 56))


def beside(running: bool, share: float = 0.9) -> Surroundings:
    return Surroundings((Neighbour("b", 0.1, 1.0, running, share),))


def test_a_neighbour_that_ended_is_known_before_its_effect_was_seen():
    model = AdaptiveForecaster()
    for time_s in noisy(np.full(40, 4.0), 0.02):
        model.observe(float(time_s), beside(True))
    assert model.forecast(1, beside(True)).time_s[0] == pytest.approx(4.0, rel=0.03)
    ended = model.forecast(1, beside(False))
    assert ended.simulate
    assert ended.reason == "b has ended"
    # between no effect and the share of the traffic that is left, the middle of the logarithms
    assert ended.time_s[0] == pytest.approx(4.0 * 0.1**0.5, rel=0.03)
    model.observe(1.1, beside(False))
    assert model.forecast(1, beside(False)).time_s[0] == pytest.approx(1.1, rel=0.05)


def test_the_phase_of_a_neighbour_is_learned():
    phase = np.random.default_rng(1).uniform(0.0, 1.0, 300)
    times = noisy(1.0 + 0.2 * np.sin(2 * np.pi * phase), 0.02)
    around = [Surroundings((Neighbour("b", float(p), 1.0, True),)) for p in phase]
    with_phase, _, _ = one_ahead(AdaptiveForecaster(), times, around)
    without, _, _ = one_ahead(AdaptiveForecaster(), times)
    assert mape(with_phase, times, 90) < 0.4 * mape(without, times, 90)


def test_what_is_known_of_a_phase_fades_ahead():
    response, rng = NeighbourResponse(), np.random.default_rng(2)
    for phase in rng.uniform(0.0, 1.0, 200):
        given = Surroundings((Neighbour("b", phase, 1.0, True),))
        response.observe(0.3 * np.sin(2 * np.pi * phase), given, 0.1)
    ahead = response.forecast(20, np.zeros(20), Surroundings((Neighbour("b", 0.25, 1.0, True),)))
    assert ahead[0] == pytest.approx(0.3, abs=0.06)
    assert abs(ahead[10:]).max() < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_intervals_cover_also_through_changes(seed):
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.uniform(1.0, 6.0, 8), 60)
    times = noisy(levels, 0.05, seed) * np.where(
        np.arange(480) > 240, noisy(np.ones(480), 0.1), 1.0
    )
    _, low, high = one_ahead(AdaptiveForecaster(), times)
    inside = ((low <= times) & (times <= high))[60:]
    assert 0.85 <= inside.mean() <= 0.95


def test_far_intervals_hold_the_end_of_a_neighbour_that_nobody_announced():
    """Nine of ten at every step ahead, and narrow again once the neighbour is known to be gone."""
    inside, wide = {h: [] for h in (1, 8, 30)}, {"before": [], "after": []}
    for seed in range(3):
        end = 110
        times = noisy(np.where(np.arange(180) < end, 4.0, 1.3), 0.08, seed)
        model, said = AdaptiveForecaster(), []
        for t, time_s in enumerate(times):
            around = beside(t < end, 0.8)
            said.append(model.forecast(30, around))
            model.observe(float(time_s), around)
        for h, hits in inside.items():
            hits += [a.low_s[h - 1] <= times[t + h - 1] <= a.high_s[h - 1]
                     for t, a in enumerate(said[: len(times) - h + 1]) if t >= 40]  # fmt: skip
        for name, t in (("before", end - 1), ("after", end + 30)):
            wide[name].append(np.log(said[t].high_s[29] / said[t].low_s[29]))
    assert all(0.85 <= np.mean(hits) <= 0.95 for hits in inside.values())
    assert np.mean(wide["before"]) > 1.5
    assert np.mean(wide["after"]) < 0.5


def test_a_neighbour_that_has_run_long_is_not_expected_to_end_soon():
    around, endings = beside(True, 0.75), NeighbourEndings()
    for _ in range(95):
        endings.observe(around)
    reach = endings.reach(around, 30, 0.05)
    assert np.flatnonzero(reach)[0] + 1 == 6  # 6 / (95 + 6) is the first above 0.05
    assert reach[-1] == pytest.approx(np.log(0.25))
    assert not endings.reach(beside(False), 30, 0.05).any()
    assert not endings.reach(beside(True, np.nan), 30, 0.05).any()


def test_intervals_of_constant_errors_reach_their_share():
    intervals, rng = AdaptiveIntervals(1, 0.9), np.random.default_rng(0)
    hits = []
    for error in rng.normal(0.0, 1.0, 2000):
        low, high = intervals.answered(np.zeros(1), 1.0)
        intervals.observe(float(error))
        hits.append(low[0] <= error <= high[0])
    assert np.mean(hits[200:]) == pytest.approx(0.9, abs=0.012)


def test_the_floor_is_below_every_baseline_and_finds_the_regimes():
    times = noisy(np.repeat([2.0, 5.0, 2.5], 80), 0.05)
    assert [s.start for s in regimes(times)] == [0, 80, 160]
    floor = mape(noise_floor(times), times, 72)
    assert floor == pytest.approx(0.05 * np.sqrt(2 / np.pi), rel=0.15)
    for name in BASELINES:
        said, _, _ = one_ahead(SimpleForecaster(name, horizon=1), times)
        assert mape(said, times, 72) > floor


def test_single_long_iterations_do_not_lift_the_floor_above_the_running_median():
    rng = np.random.default_rng(0)
    times = noisy(np.where(rng.random(160) < 0.04, rng.uniform(2.0, 5.0, 160), 1.0), 0.04)
    said, _, _ = one_ahead(SimpleForecaster("running-median", horizon=1), times)
    assert mape(noise_floor(times), times, 50) < mape(said, times, 50) + 0.0005


def test_each_baseline_does_what_its_name_says():
    times = np.array([4.0, 1.0, 2.0, 2.0, 3.0, 9.0])
    values = {name: rule(times, 1) for name, rule in BASELINES.items()}
    assert values["last"] == 9.0
    assert values["mean-10"] == 3.5
    assert values["running-median"] == 2.5
    alternating = np.tile([1.0, 2.0], 40)
    assert BASELINES["ar"](alternating, 1) == pytest.approx(1.0, rel=0.1)
    assert BASELINES["ar"](alternating, 2) == pytest.approx(2.0, rel=0.1)


def test_the_bank_prefers_no_pattern_in_noise_and_the_right_period_in_a_pattern():
    bank = CycleBank()
    for z in np.random.default_rng(3).normal(0.0, 0.1, 300):
        bank.observe(float(z))
    assert abs(bank.forecast(30)).max() < 0.1
    bank = CycleBank()
    for t in range(200):
        bank.observe(0.5 if t % 7 == 3 else 0.0)
    assert (bank.best + 1) % 7 == 0


def test_what_no_model_knows_is_said():
    with pytest.raises(NotFitted):
        IterationModel().of("a")
    with pytest.raises(DataError, match="expected one of a, got 'b'"):
        IterationModel({"a": AdaptiveForecaster()}).of("b")


def test_neighbours_that_begin_with_the_run_are_no_change_and_a_later_one_is_dated():
    model = AdaptiveForecaster()
    times = noisy(np.repeat([2.0, 4.2], [50, 40]), 0.03)
    one_ahead(model, times, [beside(False), *[beside(True)] * 89])
    assert model.change.at == [50]


def test_a_longer_period_must_be_ahead_by_its_penalty():
    bank = CycleBank(8)
    for share, best in ((0.99, 0), (1.01, 7)):
        bank.score = share * PENALTY * bank.periods
        assert bank.best == best


def test_the_conformal_quantile_is_the_error_of_rank_level_times_n_plus_1():
    intervals = AdaptiveIntervals(1, 0.9)
    intervals.errors[0] = list(np.arange(19.0, 0.0, -1.0))
    assert intervals.width(2.0) == pytest.approx([2.0 * 18.0])
    intervals.level[0], intervals.scales = 0.925, None
    assert intervals.width(1.0) == pytest.approx([18.5])
    intervals.level[0], intervals.scales = 0.96, None
    assert intervals.width(1.0) == pytest.approx([19.0 * 1.1])
