"""Choices of many jobs at once, against one job after the other in plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.core.front import Objective
from rheostat.core.outcome import GRADES
from rheostat.decision.batch_choice import (
    BatchChoice,
    _added,
    _relative,
    assignments,
    choose,
    spread,
)
from rheostat.decision.batch_fronts import stack
from rheostat.tradeoff.limits import Deadline, MaxSlowdown
from rheostat.tradeoff.rules import Knee, Weighted

NODES = (1, 2, 4)


class Drawn:
    """Five draws of runtime and energy per row; some rows have no forecast."""

    def __init__(self, seed, blank=0.25):
        self.seed, self.blank = seed, blank

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        rng = np.random.default_rng(self.seed)
        n = len(jobs)
        t, e = rng.integers(10, 99, (2, 5, n)).astype(float)
        t[:, rng.random(n) < self.blank] = np.nan
        e = np.where(np.isnan(t), np.nan, e)
        grade = rng.integers(0, len(GRADES), n)
        return Outcome({"runtime_s": t, "energy_j": e * 100.0, "power_w": e * 100.0 / t},
                       rng.integers(1, 9, n).astype(float), (), grade)  # fmt: skip


def fronts(seed, blank=0.25):
    jobs = table({"job_id": [f"j{i}" for i in range(9)], "nodes": [1, 2, 3, 4, 5, 1, 2, 3, 4]})
    objectives = (Objective.of("runtime_s"), Objective.of("energy_j"))
    return stack(jobs, Drawn(seed, blank), Space.of(Knob("nodes", NODES)), objectives)


CLUSTER = np.array([0, 1, 0, 2, 1, 0, 2, 2, 1])


@pytest.mark.parametrize("seed", range(6))
def test_choices_of_all_jobs_are_those_of_each_alone(seed) -> None:
    many, rule = fronts(seed), Weighted({"runtime_s": 1, "energy_j": 2})
    limit, level = Deadline(60.0), 0.8
    chosen = choose(many, rule, [limit], level, CLUSTER)
    t, e = many.draws("runtime_s"), many.draws("energy_j")
    sums = {q: np.zeros((2, 5, 3)) for q in ("runtime_s", "energy_j")}
    for j in range(9):
        request = many.requested[j]
        assert request == (NODES.index(n) if (n := [1, 2, 3, 4, 5, 1, 2, 3, 4][j]) in NODES else 3)
        score = {}
        there = [s for s in range(4) if np.isfinite(t[:, j, s]).all()]
        for s in there:
            if max(np.median(t[:, j, s]), t[:, j, s].mean()) <= 60.0:
                score[s] = np.log(t[:, j, s].mean()) + 2 * np.log(e[:, j, s].mean())
        order = sorted(score, key=lambda s: score[s])
        status = ("abstained" if not there else "infeasible" if not order
                  else "kept" if order[0] == request else "advised")  # fmt: skip
        pick = order[0] if order else request
        assert (chosen.status[j], chosen.pick[j]) == (status, pick)
        assert chosen.second[j] == (order[1] if len(order) > 1 else -1)
        assert chosen.settings["nodes"][j] == ([*NODES, [1, 2, 3, 4, 5, 1, 2, 3, 4][j]][pick])
        row = j * 4 + pick
        assert chosen.support[j] == many.flat.outcome.support[row]
        both = bool(order) and np.isfinite(t[:, j, request]).all()
        assert chosen.compared[j] == both
        for q, draws in (("runtime_s", t), ("energy_j", e)):
            after, before = draws[:, j, pick], draws[:, j, request]
            ends = [after.mean(), *np.quantile(after, [0.1, 0.9])] if order else [np.nan] * 3
            assert [v[j] for v in chosen.advised[q]] == pytest.approx(ends, nan_ok=True)
            assert chosen.requested[q][j] == pytest.approx(before.mean(), nan_ok=True)
            ratio = after / before - 1
            ends = [after.mean() / before.mean() - 1, *np.quantile(ratio, [0.1, 0.9])]
            wanted = ends if both else [np.nan] * 3
            assert [v[j] for v in chosen.change[q]] == pytest.approx(wanted, nan_ok=True)
            if both:
                sums[q][0, :, CLUSTER[j]] += after
                sums[q][1, :, CLUSTER[j]] += before
        watts = chosen.advised["power_w"][0][j]
        if order:
            assert watts == pytest.approx(e[:, j, pick].mean() / t[:, j, pick].mean())
            assert chosen.advised["power_w"][1][j] <= watts <= chosen.advised["power_w"][2][j]
        else:
            assert np.isnan(watts)
    for q, (after, before) in sums.items():
        assert chosen.sums[q][0] == pytest.approx(after)
        assert chosen.sums[q][1] == pytest.approx(before)
    again = choose(many, rule, [limit], level)
    assert again.sums["energy_j"][0] == pytest.approx(sums["energy_j"][0].sum(1, keepdims=True))
    free = choose(many, rule, [], level)
    assert "infeasible" not in free.status


def test_rules_and_limits_that_compare_are_asked_as_for_each_job_alone() -> None:
    many = fronts(3, blank=0.0)
    for limit in (MaxSlowdown(1.3), MaxSlowdown(1.3, against={"nodes": 2})):
        excess = many.excess(limit)
        for j in range(9):
            assert excess[j] == pytest.approx(limit.excess(many.front(j)), nan_ok=True)
        rule = Weighted({"energy_j": 1}, counted=limit)
        score = many.score(rule)
        for j in range(9):
            assert score[j] == pytest.approx(rule.score(many.front(j)))
        score = many.score(limit)
        for j in range(9):
            mine = limit.score(many.front(j))
            assert np.argsort(score[j], kind="stable")[0] == np.argsort(mine, kind="stable")[0]
    knee = many.score(Knee())
    for j in range(9):
        assert knee[j] == pytest.approx(Knee().score(many.front(j)))

    class Plain:
        def score(self, front):
            return front.mean("energy_j")

        def excess(self, front):
            return front.mean("runtime_s") / 50 - 1

    for j in range(9):
        assert many.score(Plain())[j] == pytest.approx(Plain().score(many.front(j)), nan_ok=True)
        assert many.excess(Plain())[j] == pytest.approx(Plain().excess(many.front(j)), nan_ok=True)
    asked = many.base("requested")
    assert asked.tolist() == many.requested.tolist()


def test_reasons_hold_the_numbers_of_their_job() -> None:
    many, rule, limit = fronts(1), Weighted({"runtime_s": 1, "energy_j": 2}), Deadline(60.0)
    chosen = choose(many, rule, [limit], 0.8)
    made = {a.job: a for a in assignments(many, chosen, rule, [limit], ["nodes"])}
    held = [j for j in range(9) if chosen.status[j] in ("advised", "kept")]
    assert list(made) == [f"j{j}" for j in held]
    e = many.flat.mean("energy_j")
    for j in held:
        one, two = made[f"j{j}"], int(chosen.second[j])
        assert one.setting == {"nodes": chosen.settings["nodes"][j]}
        assert one.because.rule == str(rule)
        assert one.because.limits == (str(limit),)
        assert one.because.support == chosen.support[j]
        assert one.because.numbers["runtime_s"] == tuple(v[j] for v in chosen.advised["runtime_s"])
        if two < 0:
            assert (one.because.runner_up, one.because.compared) == (None, {})
        else:
            nodes = many.flat.alternatives.frame["nodes"][j * 4 + two]
            assert one.because.runner_up == {"nodes": nodes}
            ratio = e[j * 4 + chosen.pick[j]] / e[j * 4 + two]
            assert one.because.compared["energy_j"] == pytest.approx(ratio)
        grade = chosen.grade[j]
        assert one.because.evidence == (None if grade < 0 else GRADES[grade])


def test_blocks_are_joined_and_clusters_that_come_later_are_added_behind() -> None:
    one, two = np.array([[1.0, 2.0]]), np.array([[10.0, 20.0, 30.0]])
    after, before = _added([(one, two), (two, one)])
    assert after.tolist() == before.tolist() == [[11.0, 22.0, 30.0]]
    many = fronts(2)
    whole = choose(many, Knee(), [], 0.9, CLUSTER)
    twice = BatchChoice.joined([whole, whole])
    assert twice.pick.tolist() == [*whole.pick, *whole.pick]
    assert twice.quantities == whole.quantities
    assert twice.sums["energy_j"][1] == pytest.approx(2 * whole.sums["energy_j"][1])
    assert twice.settings["nodes"] == whole.settings["nodes"] * 2


def test_a_spread_is_the_mean_and_the_ends_of_its_level() -> None:
    draws = np.arange(101.0)[:, None]
    assert [float(v[0]) for v in spread(draws, 0.9)] == pytest.approx([50.0, 5.0, 95.0])
    assert [float(v[0]) for v in _relative(draws + 100, np.full((101, 1), 100.0), 0.5)] == (
        pytest.approx([0.5, 0.25, 0.75])
    )
