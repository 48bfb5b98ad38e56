"""Parts of the forecasts of iteration times as closed forms, each step written out."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from benchmarks.noise_floor import _around, noise_floor, regimes
from rheostat.errors import DataError
from rheostat.prediction.iteration_time.adaptive import (
    EXPERTS,
    AdaptiveForecaster,
    mixture_median,
)
from rheostat.prediction.iteration_time.change import RegimeTracker
from rheostat.prediction.iteration_time.client_group import RECENT
from rheostat.prediction.iteration_time.clients import ClientForecasts, ClientGroup
from rheostat.prediction.iteration_time.cycles import CycleBank
from rheostat.prediction.iteration_time.endings import NeighbourEndings
from rheostat.prediction.iteration_time.forecast import HORIZON, NOTHING, Neighbour, Surroundings
from rheostat.prediction.iteration_time.hand_over import HandOver
from rheostat.prediction.iteration_time.interval import AdaptiveIntervals, _overlap
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.iteration_time.response import NeighbourResponse
from rheostat.prediction.iteration_time.simple_forecasters import BASELINES, SimpleForecaster


def neighbour(name="b", since=0.25, usual=1.0, running=True, share=np.nan):
    return Neighbour(name, since, usual, running, share)


# ---------------------------------------------------------------- patterns


class Filter:
    """One period of the bank, phase by phase."""

    def __init__(self, n):
        self.n, self.slip, self.level, self.scale, self.seen, self.score = n, 0.01, 0.0, 0.1, 0, 0.0
        self.belief = [1.0] + [0.0] * (n - 1)
        self.slipped, self.mean, self.count, self.own = ([0.0] * n for _ in range(4))
        self.total = 0

    def observe(self, z):
        n = self.n
        if not self.total:
            self.level = z
        error = z - self.level - sum(b * m for b, m in zip(self.belief, self.mean, strict=True))
        if not self.seen:
            self.level, error = self.level + error, 0.0
        away = [z - self.level - m for m in self.mean]
        weight = [(1 + (a / self.scale) ** 2 / 4.0) ** -2.5 for a in away]
        likely = sum(b * w for b, w in zip(self.belief, weight, strict=True))
        self.score = 0.99 * self.score + np.log(likely) - np.log(self.scale)
        odd = sum(s * w for s, w in zip(self.slipped, weight, strict=True)) / 2 / likely
        self.slip += (odd - self.slip) / (100.0 + self.total)
        after = [b * w / likely for b, w in zip(self.belief, weight, strict=True)]
        self.count = [min(c + b, 40.0) for c, b in zip(self.count, after, strict=True)]
        off = [z - self.level - o for o in self.own]
        own = zip(self.own, after, off, self.count, strict=True)
        self.own = [o + b * f / max(c, 1.0) for o, b, f, c in own]
        between = sum(o**2 - self.scale**2 / max(c, 1.0)
                      for o, c in zip(self.own, self.count, strict=True)) / n  # fmt: skip
        prior = min(max(self.scale**2 / max(between, 1e-12), 0.03), 4.0)
        self.mean = [o * c / (c + prior) for o, c in zip(self.own, self.count, strict=True)]
        cut = min(max(error, -3 * self.scale), 3 * self.scale)
        self.seen, self.total = self.seen + 1, self.total + 1
        self.level += max(1 / (self.seen + 1), 1 / 40) * cut
        rate = max(1 / (min(self.seen, self.total) + 3), 2 / 40)
        self.scale = np.sqrt((1 - rate) * self.scale**2 + rate * max(cut**2, 1e-8) * 1.1)
        self.belief, self.slipped = self.moved(after)

    def moved(self, belief):
        slipped = [self.slip * (belief[i] + belief[i - 2 if self.n > 1 else 0])
                   for i in range(self.n)]  # fmt: skip
        on = [(1 - 2 * self.slip) * belief[i - 1] for i in range(self.n)]
        return [a + b for a, b in zip(on, slipped, strict=True)], slipped


def test_filters_of_periods_do_what_is_written_phase_by_phase():
    rng = np.random.default_rng(0)
    series = 0.1 * rng.standard_normal(70) + np.tile([0.0, 0.0, 0.4], 24)[:70] + 1.0
    series[50] += 3.0
    bank, filters = CycleBank(4), [Filter(n) for n in (1, 2, 3, 4)]
    for z in series:
        bank.observe(float(z))
        for one in filters:
            one.observe(float(z))
    for k, one in enumerate(filters):
        assert bank.level[k] == pytest.approx(one.level)
        assert bank.scale[k] == pytest.approx(one.scale)
        assert bank.slip[k, 0] == pytest.approx(one.slip)
        assert bank.score[k] == pytest.approx(one.score)
        for name in ("mean", "belief", "count"):
            assert getattr(bank, name)[k, : k + 1] == pytest.approx(getattr(one, name)), name
    assert bank.best == 2
    ahead, said = filters[2].belief, []
    for _ in range(5):
        order = np.argsort(filters[2].mean)
        place = int((np.cumsum(np.array(ahead)[order]) < 0.5 * sum(ahead)).sum())
        said.append(filters[2].level + np.array(filters[2].mean)[order][place])
        assert bank._ahead(5, 2)[len(said) - 1] == pytest.approx(ahead)
        ahead, _ = filters[2].moved(ahead)
    assert bank.forecast(5) == pytest.approx(said)
    likely = sum(b * (1 + ((0.7 - filters[2].level - m) / filters[2].scale) ** 2 / 4) ** -2.5
                 for b, m in zip(filters[2].belief, filters[2].mean, strict=True))  # fmt: skip
    assert bank.log_likelihood(0.7) == pytest.approx(np.log(likely / filters[2].scale))
    bank.skip(2)
    for _ in range(2):
        filters[2].belief, filters[2].slipped = filters[2].moved(filters[2].belief)
    assert bank.belief[2, :3] == pytest.approx(filters[2].belief)
    bank.shift(-0.5)
    filters[2].level, filters[2].seen = filters[2].level - 0.5, 0
    for z in (0.3, 0.9):
        bank.observe(z)
        filters[2].observe(z)
    assert bank.level[2] == pytest.approx(filters[2].level)
    assert bank.scale[2] == pytest.approx(filters[2].scale)


# ---------------------------------------------------------------- changes


def settled(level=0.0, n=40, spread=0.05):
    tracker = RegimeTracker()
    for z in level + spread * np.random.default_rng(1).standard_normal(n):
        tracker.observe(float(z), NOTHING)
    return tracker


def test_an_iteration_six_scales_off_begins_a_doubt():
    tracker = settled()
    bank = tracker.bank
    at, scale = bank.forecast(1)[0], bank.scale[bank.best]
    calm, odd = copy.deepcopy(tracker), copy.deepcopy(tracker)
    calm.observe(at + 5.9 * scale, NOTHING)
    odd.observe(at + 6.1 * scale, NOTHING)
    assert (calm.other, calm.doubt_at, odd.doubt_at) == (None, 0, 40)
    likelihoods = [bank.log_likelihood(at + 3 * scale) for bank in (odd.other, odd.bank)]
    odd.observe(at + 3 * scale, NOTHING)  # only what comes after it is evidence
    assert odd.evidence == pytest.approx(likelihoods[0] - likelihoods[1])
    assert odd.reason(NOTHING) == "an iteration was far from its forecast"
    assert calm.reason(NOTHING) == ""


@pytest.mark.parametrize(("jump", "changed"), [(1.0, True), (-1.0, True)])
def test_before_the_next_iteration_the_side_answers_that_costs_less_if_wrong(jump, changed):
    """Too short an answer costs exp(jump) - 1 of it, too long a one 1 - exp(-jump): the longer."""
    tracker = settled()
    tracker.observe(jump, NOTHING)
    step = float(tracker.other.forecast(1)[0] - tracker.bank.forecast(1)[0])
    for ended, flat in ((1.0, 1.0), (1.0, 9.0), (9.0, 1.0)):
        tracker.changes, tracker.outliers = ended, flat
        true = ended / (ended + flat)
        wanted = true * abs(np.exp(-step) - 1) > (1 - true) * abs(np.exp(step) - 1)
        assert (tracker.current is tracker.other) is bool(wanted)
        assert tracker.start == (40 if wanted else 0)


def test_further_iterations_decide_a_doubt():
    changed, odd = settled(), settled()
    for z in (1.0, 1.02, 0.99):
        changed.observe(z, NOTHING)
    assert (changed.other, changed.at, changed.since) == (None, [40], 40)
    assert (changed.changes, changed.outliers) == (2.0, 1.0)
    assert changed.reason(NOTHING) == "the level changed 3 iterations ago"
    for _ in range(3):
        assert changed.reason(NOTHING)
        changed.observe(1.0, NOTHING)
    assert changed.reason(NOTHING) == ""
    for z in (1.0, 0.0, 0.01):
        odd.observe(z, NOTHING)
    assert (odd.other, odd.at, odd.changes, odd.outliers) == (None, [], 1.0, 2.0)
    open_ = settled()
    open_.observe(1.0, NOTHING)
    for _ in range(12):
        assert open_.other is not None
        open_.evidence = 0.0
        middle = 0.5 * (open_.bank.forecast(1)[0] + open_.other.forecast(1)[0])
        open_.observe(float(middle), NOTHING)
    assert open_.other is None  # after twelve the larger one decides


@pytest.mark.parametrize(("evidence", "long", "open_", "outliers"), [
    (0.0, False, True, 1.0), (4.0, False, True, 1.0), (-4.0, False, True, 1.0),
    (0.0, True, False, 2.0), (0.1, True, False, 1.0), (4.1, False, False, 1.0),
    (-4.1, False, False, 2.0),
])  # fmt: skip
def test_evidence_decides_beyond_its_limit_or_by_its_sign_when_the_doubt_is_long(
    evidence, long, open_, outliers
):
    """Both banks are alike, so that the iteration itself says nothing."""
    tracker = settled()
    tracker.other, tracker.evidence = copy.deepcopy(tracker.bank), evidence
    tracker.doubt_at = tracker.count - 12 * long
    tracker.observe(0.0, NOTHING)
    assert (tracker.other is not None, tracker.outliers) == (open_, outliers)
    assert tracker.changes == 1.0 + (not open_ and outliers == 1.0)


def test_a_slow_drift_is_a_change_once_it_has_added_up():
    """Errors of 2.5 scales add 2 at each: the fifth passes 8."""
    tracker = settled()
    tracker.sums[:] = 0.0
    for k in range(5):
        assert tracker.at == []
        k_best = tracker.bank.best
        z = tracker.bank.forecast(1)[0] + 2.5 * tracker.bank.scale[k_best]
        tracker.observe(float(z), NOTHING)
        assert (tracker.at == [44]) is (k == 4)
        if k < 4:
            assert tracker.sums.tolist() == pytest.approx([2.0 * (k + 1), 0.0])
    assert tracker.bank.seen == 5
    assert tracker.sums.tolist() == [0.0, 0.0]


def test_who_ended_and_who_began_moves_the_expectation_by_the_traffic_that_is_left():
    tracker = settled()
    names = [("a", 0.3), ("b", 0.5), ("c", np.nan), ("d", 0.1)]
    now = Surroundings(tuple(neighbour(n, running=n != "d", share=s) for n, s in names))
    tracker.observe(0.0, now)
    assert tracker.moved(now) == []
    after = Surroundings(tuple(neighbour(n, running=n == "d", share=s) for n, s in names))
    assert [n.name for n in tracker.moved(after)] == ["a", "b", "c", "d"]
    assert tracker.reason(after) == "a has ended, b has ended, c has ended, d has begun"
    assert tracker.expected(after) == pytest.approx(0.5 * np.log(1 - 0.8))
    assert tracker.expected(now) == 0.0
    every = Surroundings((*(neighbour(n, running=False, share=0.6) for n in "abc"), neighbour("d")))
    assert tracker.expected(every) == pytest.approx(0.5 * np.log(0.01))
    assert tracker.moved(Surroundings(now.neighbours[:2])) == []
    tracker.observe(-0.8, after)
    assert (tracker.at, tracker.since, tracker.quiet) == ([41], 41, 0)


# ---------------------------------------------------------------- neighbours


def test_which_neighbours_end_is_drawn_subset_by_subset():
    """After 10 and 30 iterations, h ahead: h / (10 + h) and h / (30 + h)."""
    endings = NeighbourEndings()
    for t in range(30):
        endings.observe(Surroundings((neighbour("a", running=t < 10), neighbour("b"))))
    assert endings.run == {"a": 10, "b": 30}
    around = Surroundings((neighbour("a", share=0.2), neighbour("b", share=0.7)))
    drops, chances = endings._outcomes(list(around.neighbours), np.array([5.0]))
    a, b = 5 / 15, 5 / 35
    wanted = {0.0: (1 - a) * (1 - b), np.log(0.3): (1 - a) * b, np.log(0.8): a * (1 - b),
              np.log(0.1): a * b}  # fmt: skip
    assert dict(zip(drops.round(9), chances[:, 0], strict=True)) == pytest.approx(
        {round(float(k), 9): v for k, v in wanted.items()})  # fmt: skip
    reach = endings.reach(around, 5, 0.1)
    both, first = a * b, a * b + (1 - a) * b
    assert both < 0.1 < first
    assert reach[4] == pytest.approx(np.log(0.3))
    crowd = Surroundings(tuple(neighbour(str(i), share=0.01 * i) for i in range(8)))
    assert endings.reach(crowd, 1, 1e-12)[0] == pytest.approx(np.log(1 - 0.27))  # the six largest
    assert endings.reach(Surroundings((neighbour("z", share=1.0),)), 1, 0.1)[0] == np.log(0.01)


def test_what_phases_do_is_recursive_least_squares():
    """Weighted by 0.995 to the age, with a ridge of 10 that the forgetting does not wear off."""
    response, rng = NeighbourResponse(ports=True), np.random.default_rng(3)
    weights, spread, past = np.zeros(7), np.eye(7) / 10.0, [0.0, 0.0]
    for t in range(30):
        phase, port, error = rng.uniform(), rng.standard_normal(), 0.1 * rng.standard_normal()
        error *= 50.0 if t == 9 else 1.0
        given = Surroundings((neighbour(since=2 * phase, usual=2.0),), np.array([port]))
        response.observe(error, given, 0.1)
        turn = 2 * np.pi * phase
        row = np.array(
            [np.sin(turn), np.cos(turn), np.sin(2 * turn), np.cos(2 * turn), *past, port]
        )
        target = min(max(error / 0.1, -3.0), 3.0)
        gain = spread @ row / (0.995 + row @ spread @ row)
        weights = weights + gain * (target - row @ weights)
        spread = (spread - np.outer(gain, row @ spread)) / 0.995 + 0.005 / 10.0 * np.eye(7)
        past = [target, past[0]]
    assert response.weights == pytest.approx(weights)
    now = Surroundings((neighbour(since=0.5, usual=2.0),), np.array([1.5]))
    said = response.forecast(3, np.log([1.0, 2.0, 4.0]), now)
    for step, ahead in enumerate((0.0, 1.0, 3.0)):
        turn, own = 2 * np.pi * (0.5 + ahead) / 2.0, ahead / max(step, 1) / 2.0
        fade = [np.exp(-2 * (np.pi * k * 0.1 * own) ** 2 * step) for k in (1, 2)]
        lags = {0: past, 1: [0.0, past[0]], 2: [0.0, 0.0]}[step]
        row = [fade[0] * np.sin(turn), fade[0] * np.cos(turn), fade[1] * np.sin(2 * turn),
               fade[1] * np.cos(2 * turn), *lags, 0.8**step * 1.5]  # fmt: skip
        assert said[step] == pytest.approx(0.1 * np.clip(row @ weights, -3.0, 3.0))
    rests = Surroundings((neighbour(running=False),), np.array([0.0]))
    assert response.forecast(2, np.zeros(2), rests)[1] == pytest.approx(
        0.1 * np.clip(weights[5] * past[0], -3, 3))  # fmt: skip
    assert response.forecast(2, np.zeros(2), NOTHING).tolist() == [0.0, 0.0]
    assert NeighbourResponse().forecast(2, np.zeros(2), now).tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- the mixture


def test_the_median_of_a_mixture_balances_its_sides():
    centres, weights = np.array([[0.0, 1.0, 4.0]]), np.array([[0.5, 0.3, 0.2]])
    at = mixture_median(centres, weights, 0.7)[0]
    assert (weights[0] * np.tanh((centres[0] - at) / 0.7)).sum() == pytest.approx(0.0, abs=1e-3)
    assert 0.0 < at < 1.0


def test_experts_say_what_their_names_say_and_are_weighed_by_their_errors():
    model, rng = AdaptiveForecaster(horizon=2), np.random.default_rng(2)
    times = np.exp(0.05 * rng.standard_normal(60))
    for t in times[:-1]:
        model.observe(float(t))
    z = np.log(times[:-1])
    said = model._experts(NOTHING)
    weights = 0.8 ** np.arange(40)[::-1]
    wanted = {"last": z[-1], "mean-10": np.log(times[-11:-1].mean()),
              "recent-median": np.median(z[-9:]), "regime-median": np.median(z),
              "ewma": np.average(z[-40:], weights=weights)}  # fmt: skip
    for name, value in wanted.items():
        assert said[:, EXPERTS.index(name)] == pytest.approx([value] * 2)
    before, asked, scale = model.weights.copy(), model.asked[-1], model.scale
    now = float(np.log(times[-1]))
    model.observe(float(times[-1]))
    for h, due in enumerate((said[0], asked[1])):
        loss = np.abs(now - due) / scale
        moved = before[h] * np.exp(-(1.0 / (h + 1) ** 0.25) * np.minimum(loss - loss.min(), 4.0))
        assert model.weights[h] == pytest.approx(0.99 * moved / moved.sum() + 0.01 / 10)
    model.observe(1.6)
    said, before, scale = model._experts(NOTHING), model.weights.copy(), model.scale
    model.observe(1.0)
    loss = np.abs(0.0 - said[0]) / scale
    assert (loss - loss.min()).max() > 4.5  # what counts at most: four scales
    moved = before[0] * np.exp(-np.minimum(loss - loss.min(), 4.0))
    assert model.weights[0] == pytest.approx(0.99 * moved / moved.sum() + 0.01 / 10)
    mixed = model._mixed(model._experts(NOTHING))
    model.skip(1)
    assert model.asked == []
    alone = model.weights.copy()
    alone[:, 0] = 0.0
    experts = model._experts(NOTHING)
    assert model._mixed(experts) == pytest.approx(mixture_median(experts, alone, model.scale))
    assert mixed.shape == (2,)


def test_a_model_answers_for_thirty_iterations_by_application():
    model = AdaptiveForecaster()
    model.observe(2.0)
    assert model.forecast(99).time_s == pytest.approx(np.full(30, 2.0))
    both = IterationModel({"a": model, "b": AdaptiveForecaster()})
    assert both.of("a") is model
    assert both.forecast("a", 2).time_s == pytest.approx([2.0, 2.0])


def test_nothing_is_known_before_the_first_iteration():
    assert (NOTHING.neighbours, NOTHING.ports.tolist()) == ((), [])
    assert AdaptiveForecaster(horizon=2).weights.sum(axis=1) == pytest.approx([1.0, 1.0])
    said = AdaptiveForecaster().forecast(3)
    assert np.isnan([*said.time_s, *said.low_s, *said.high_s]).all()
    assert (said.simulate, said.reason) == (True, "nothing was seen yet")


def test_levels_of_intervals_move_with_misses_and_stay_between_a_half_and_one():
    intervals = AdaptiveIntervals(2, 0.9)
    assert intervals.width(2.0).tolist() == [5.0, 5.0]  # two and a half scales at first
    intervals.answered(np.zeros(2), 2.0)
    intervals.observe(1.0)
    assert intervals.level == pytest.approx([0.9 - 0.05 * 0.1, 0.9])
    assert intervals.errors == [[0.5], []]
    intervals.answered(np.zeros(2), 1.0)
    intervals.observe(9.0)
    assert intervals.level == pytest.approx([0.895 + 0.05 * 0.9, 0.9 + 0.05 * 0.9 / 2**0.25])
    assert intervals.errors == [[0.5, 9.0], [4.5]]
    low, high = intervals.ends(np.zeros(2), 1.0, np.array([-9.0, 0.0]))
    further = (4.5 * 1.1 + 8 * 2 * 2.5) / (1 + 8 * 2)  # one error, two of which say as much as one
    assert [*low, *high] == pytest.approx([-9.0, -further, 2.5, further])
    for grows, level in ((2.0, 1.0), (1.0, 0.5)):  # always missed, then always met
        for t in range(200):
            intervals.answered(np.zeros(2), 1.0)
            intervals.observe(grows**t)
        assert intervals.level.tolist() == [level, level]
    assert [len(e) for e in intervals.errors] == [120, 120]
    assert len(intervals.pending) == 2  # no more than can still be judged
    intervals.forget_answers()
    intervals.observe(1e9)
    assert intervals.level.tolist() == [0.5, 0.5]


# ---------------------------------------------------------------- baselines and the floor


def test_baselines_are_their_formulas_on_a_long_series():
    times = np.exp(0.3 * np.random.default_rng(4).standard_normal(200))
    said = {name: rule(times, 2) for name, rule in BASELINES.items()}
    assert said["mean-10"] == pytest.approx(times[-10:].mean())
    assert said["recent-median"] == np.median(times[-9:])
    assert said["ewma"] == pytest.approx(
        np.average(times[-40:], weights=0.8 ** np.arange(39, -1, -1))
    )
    middle = np.log(np.median(times[-9:]))
    z = np.log(times[-120:]) - middle
    x = np.array([z[i : i + 4] for i in range(116)])
    weights = np.linalg.solve(x.T @ x + 0.1 * np.eye(4), x.T @ z[4:])
    one = z[-4:] @ weights
    two = np.array([*z[-3:], one]) @ weights
    assert said["ar"] == pytest.approx(np.exp(middle + two))
    assert BASELINES["ar"](times[:11], 1) == pytest.approx(np.median(times[2:11]))
    assert BASELINES["ar"](times[:12], 1) != pytest.approx(np.median(times[3:12]))
    for growth in (0.5, -0.5):  # exp(2.5) after the next, but no farther than exp(2)
        runaway = np.exp(growth * np.arange(30.0))
        middle = np.median(runaway[-9:])
        assert BASELINES["ar"](runaway, 1) == pytest.approx(middle * np.exp(4 * growth), rel=1e-3)
    model = SimpleForecaster("mean-10", horizon=2)
    assert np.isnan(model.forecast(2).time_s).all()
    model.observe(2.0)
    model.observe(8.0)
    assert model.intervals.errors == [[pytest.approx(np.log(4.0))], []]
    assert model.forecast(1).time_s.tolist() == pytest.approx([5.0])


def test_the_floor_takes_the_others_of_the_same_regime():
    rng = np.random.default_rng(5)
    z, whole = rng.standard_normal(24), [slice(0, 9), slice(9, 24)]
    for window, period in ((0, 1), (3, 1), (10, 5), (0, 20)):
        for i, said in enumerate(_around(z, whole, window, period)):
            inside = [j for j in range(24) if (j < 9) == (i < 9) and j != i]
            near = [j for j in inside if (j - i) % period == 0
                    and (not window or abs(j - i) <= window)]  # fmt: skip
            assert said == np.median(z[near or inside])
    assert [s.start for s in regimes(np.repeat([1.0, 9.0], [5, 5]))] == [0, 5]
    assert [s.start for s in regimes(np.repeat([1.0, 9.0], [4, 5]))] == [0]
    assert regimes(np.array([2.0])) == [slice(0, 1)]
    assert noise_floor(np.array([2.0, 3.0])) == pytest.approx([3.0, 2.0])
    step = np.exp(0.1 * np.tile([1.0, -1.0], 10) + np.repeat([0.0, 0.5], 10))
    noise = 0.2 / 0.954
    drop = 10 * 0.5**2 / 2
    assert (drop > 8.0 * np.log(20) * noise**2) == (len(regimes(step)) == 2)


# ---------------------------------------------------------------- clients


def test_ranks_are_learned_once_all_have_reported_and_before_an_answer_once_most_have():
    group = ClientGroup(ranks=3)
    group.report(1, [1.0, 1.0])
    group.report(2, [2.0])
    assert group.learned == 0
    group.report(3, [9.0])
    assert group.learned == 1
    assert group.forecaster.logs == pytest.approx([np.log(2.0)])
    group.report(2, [3.0])
    group.learn()  # two of three
    assert group.learned == 2
    # the medians of the clocks of two ranks, 2 and 5 s, less the 2 s where the first one ended
    assert group.forecaster.logs[-1] == pytest.approx(np.log(1.5))
    alone = ClientGroup(ranks=4)
    alone.report(1, [1.0])
    alone.report(2, [])
    alone.learn()
    assert alone.learned == 0


def test_a_client_that_asks_again_gets_what_comes_after():
    service = ClientForecasts({1: "a", 2: "a"})
    for client in (1, 2):
        assert service.report(client, [1.0, 1.0, 3.0, float("nan"), 0.0, -1.0] * 9) == 27
    whole = service.forecast(1, 6)
    assert [*service.forecast(2, 2), *service.forecast(2, 4)] == whole
    far = service.forecast(2, HORIZON)
    group = service.groups["a"]
    assert len(far) == HORIZON
    assert group.asked == {1: 6, 2: 6 + HORIZON}
    planned = group.forecaster.forecast(HORIZON).time_s.tolist()
    assert whole + far[:-6] == planned
    behind = copy.deepcopy(group.forecaster)
    behind.skip(HORIZON)
    assert far[-6:] == behind.forecast(6).time_s.tolist()
    skipped = copy.deepcopy(group.forecaster)
    skipped.skip(6)
    service.report(1, [1.0])
    assert (group.asked, group.closed) == ({2: 6 + HORIZON}, True)
    assert group.forecaster.skipped
    assert group.forecaster.forecast(3).time_s.tolist() == skipped.forecast(3).time_s.tolist()
    service.report(2, [1.0])
    assert group.asked == {}


def test_who_has_nothing_reported_has_no_forecast():
    service = ClientForecasts(others="rest")
    with pytest.raises(DataError, match="no forecast yet: nothing was reported or loaded for rest"):
        service.forecast(5, 2)
    assert service.groups == {}
    named = ClientForecasts({1: "a", 2: "a", 3: "a", 4: "b"})
    named.report(1, [1.0, 4.0])
    named.report(2, [])
    named.report(3, [])
    answer = named.forecast(3, 2)  # from the one that has reported
    assert named.groups["a"].learned == 2
    assert answer == named.groups["a"].forecaster.forecast(2).time_s.tolist()
    assert all(1.0 < time < 4.0 for time in answer)
    with pytest.raises(DataError, match="for b"):
        named.forecast(4, 1)


def test_a_server_holds_4096_forecasts_and_fifty_million_records():
    service = ClientForecasts()
    service.groups = {str(n): ClientGroup for n in range(4095)}
    service.report(1, [1.0])
    with pytest.raises(DataError, match="at most 4,096 clients without an application, got one"):
        service.report(2, [1.0])
    service.kept = 50_000_000 - 3
    assert service.report(1, [1.0, 1.0]) == 0  # two, and the place of the report
    with pytest.raises(DataError, match="50,000,000 are here"):
        service.report(1, [])


def test_applications_are_handed_over_together_and_each_once():
    service = ClientForecasts({1: "a", 2: "b"}, most_error=0.01)
    for k in range(80):  # a takes 1 s an iteration, b 2 s
        service.report(1, [1.0])
        if k % 2:
            service.report(2, [2.0])
    assert service.hand_over(1) == []  # b has not said yet that it may
    assert service.hand_over(2) == pytest.approx([2.0] * 15)  # as long as 30 of a
    assert service.until_s == pytest.approx(80.0 + 30.0)
    assert service.hand_over(1) == pytest.approx([1.0] * 30)
    assert service.hand_over(1) == service.hand_over(2) == []  # these are under way
    service.report(1, [1.0])
    service.report(2, [2.0])
    assert service.hand_over(1) == []  # simulation has begun anew


def test_from_five_to_fourteen_iterations_are_simulated_between_windows():
    control, stretches, run = HandOver(0.01), [], 0
    for _ in range(5000):
        if steps := control.window(np.ones(30)):
            control.forecast(np.ones(steps))
            stretches.append(run)
            run = 0
        else:
            control.simulated(np.ones(30), 1.0)
            run += 1
    assert set(stretches[1:]) == set(range(5, 15))
    assert stretches[0] == 12  # eight errors of the shortest window


def test_intervals_hold_nine_of_ten_where_nothing_else_is_asked_for():
    draw, intervals = np.random.default_rng(0), AdaptiveIntervals(1)
    held = []
    for z in draw.standard_normal(3000):
        low, high = intervals.answered(np.zeros(1), 1.0)
        held.append(low[0] <= z <= high[0])
        intervals.observe(float(z))
    assert np.mean(held[100:]) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("wanders", [0.3, 1.0])
def test_far_intervals_of_a_short_series_hold_as_many_as_near_ones(wanders):
    """30 steps ahead after 35 to 60 iterations, of a random walk alone and below noise."""
    held = []
    for seed in range(40):
        draw, intervals = np.random.default_rng(seed), AdaptiveIntervals(30)
        level = wanders * np.cumsum(draw.standard_normal(90))
        z = level + (wanders < 1.0) * draw.standard_normal(90)
        for t in range(60):
            low, high = intervals.answered(np.full(30, level[max(t - 1, 0)]), 1.0)
            held += [low[29] <= z[t + 29] <= high[29]] * (t >= 35)
            intervals.observe(float(z[t]))
    assert 0.85 <= np.mean(held) <= 0.95


def test_errors_overlap_as_far_as_neighbours_are_alike():
    assert _overlap(np.ones(10_000), 29) == pytest.approx(30.0)
    assert _overlap(np.resize([1.0, -1.0], 10_000), 29) == pytest.approx(1.29)
    assert _overlap(np.zeros(4), 10) == 6.0  # what is not known of four is the half


def test_without_telemetry_there_are_no_numbers_about_ports():
    assert (Surroundings().ports.shape, Surroundings().neighbours) == ((0,), ())


def test_the_floor_of_noise_alone_takes_all_others_of_the_regime():
    times = np.exp(0.1 * np.random.default_rng(3).standard_normal(40))
    others = [np.median(np.delete(np.log(times), i)) for i in range(40)]
    assert noise_floor(times) == pytest.approx(np.exp(others))


def test_an_answer_knows_what_most_clients_have_reported_though_its_own_has_not():
    group = ClientGroup(ranks=3)
    group.report(1, [1.0, 1.0])
    for client in (2, 3):
        group.report(client, [1.0] * 5)
    group.ahead(1, 1)
    assert group.learned == 5


def test_a_neighbour_s_usual_iteration_is_the_median_of_its_newest():
    group = ClientGroup()
    group.report(1, [2.0])
    one = group.as_neighbour("b", 2.5, 0.25)
    assert one == Neighbour("b", 0.5, 2.0, True, 0.25)
    assert ClientGroup(begun_s={1: 4.0}).as_neighbour("b", 4.5, 0.5).usual_s == 0.0
    group.report(1, [8.0] + [float(k) for k in range(1, RECENT + 1)])
    end = 10.0 + sum(range(1, RECENT + 1))
    assert group.as_neighbour("b", end, 0.25).usual_s == np.median(np.arange(1, RECENT + 1))


def test_what_was_learned_before_begins_anew_where_it_is_taken_over():
    before, after = ClientForecasts({1: "a"}), ClientForecasts({1: "a"})
    before.report(1, [1.0, 2.0] * 9)
    after.take(before.model())
    learned = before.groups["a"].forecaster, after.groups["a"].forecaster
    assert learned[1].logs == learned[0].logs
    assert [len(f.intervals.pending) for f in learned] == [17, 0]


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_a_simple_forecast_of_each_step_is_that_of_its_rule(name):
    model, times = SimpleForecaster(name, horizon=3), np.exp(np.sin(np.arange(24.0)))
    for time in times:
        model.observe(float(time))
    assert model.forecast(3).time_s == pytest.approx([BASELINES[name](times, h) for h in (1, 2, 3)])
