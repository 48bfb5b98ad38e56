"""Advice at submission: the model believes, the rule chooses, the simulation runs the truth."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.machine import Machine
from rheostat.core.outcome import Outcome
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.sized_jobs import Advise, sized
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.rules import Weighted
from tests.simulation.conftest import trace


class Believes:
    """Predicts what a function of the cores says; remembers what it was shown."""

    def __init__(self, runtime, power=lambda n: 100.0 * n):
        self.laws = {"runtime_s": runtime, "power_w": power}

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        self.shown = jobs
        cores = jobs.numpy("cores")
        return Outcome({q: f(cores)[None, :] for q, f in self.laws.items()})


JOBS = trace([0, 0], [10, 10], [2, 2])
WAYS = table(
    {"job_id": [1, 1, 1, 2, 2], "cores": [2, 4, 1, 1, 8], "runtime_s": [10.0, 7.0, 20.0, 20.0, 4.0],
     "power_w": [210.0, 430.0, 90.0, 95.0, 900.0]}
)  # fmt: skip
FASTEST = Weighted({"runtime_s": 1.0})
LEAST_ENERGY = Weighted({"energy_j": 1.0})


def test_the_rule_chooses_by_what_the_model_believes_and_the_truth_runs():
    amdahl = Believes(lambda n: 2 + 16 / n)
    fast = simulate_run(JOBS, "easy", 16, alternatives=WAYS, sized_by=Advise(amdahl, FASTEST))
    assert fast.jobs.frame["cores"].to_list() == [4, 8]
    assert fast.jobs.frame["runtime_s"].to_list() == [7.0, 4.0]
    assert fast.jobs.frame["alternative"].to_list() == [1, 4]
    assert fast.jobs.frame["power_w"].to_list() == [430.0, 900.0]
    frugal = simulate_run(
        JOBS, "easy", 16, alternatives=WAYS, sized_by=Advise(amdahl, LEAST_ENERGY)
    )
    assert frugal.jobs.frame["cores"].to_list() == [1, 1]
    wrong = Believes(lambda n: 5.0 * n)  # believes that more cores take longer
    slow = simulate_run(JOBS, "easy", 16, alternatives=WAYS, sized_by=Advise(wrong, FASTEST))
    assert slow.jobs.frame["cores"].to_list() == [1, 1]
    assert slow.jobs.frame["runtime_s"].to_list() == [20.0, 20.0]


def test_an_advised_job_waits_for_its_size_though_another_would_fit():
    jobs = trace([0, 0], [6, 10], [3, 2])
    ways = WAYS.rows(WAYS.frame["job_id"] == 1)
    ways = table({**ways.frame.to_dict(), "job_id": [2, 2, 2]})
    free = simulate_run(jobs, "easy", 4, alternatives=ways)
    assert free.jobs.frame["cores"].to_list() == [3, 1]
    told = simulate_run(
        jobs, "easy", 4, alternatives=ways, sized_by=Advise(Believes(lambda n: 16 / n), FASTEST)
    )
    assert told.jobs.frame["cores"].to_list() == [3, 4]
    assert told.jobs.frame["start_s"].to_list() == [0.0, 6.0]


def test_the_model_is_shown_nothing_from_after_submission():
    model = Believes(lambda n: 16 / n)
    simulate_run(JOBS, "easy", 16, alternatives=WAYS, sized_by=Advise(model, FASTEST))
    assert set(model.shown.columns) == {"job_id", "submit_s", "time_limit_s", "cores"}
    assert model.shown.frame["cores"].to_list() == WAYS.frame["cores"].to_list()


def test_planning_believes_the_model_too():
    """Without limits the run time is planned as predicted; so is power under a cap."""
    jobs = trace([0, 1, 1], [10, 9, 3], [2, 4, 2])
    ways = table({"job_id": [1], "cores": [2], "runtime_s": [10.0], "power_w": [300.0]})
    blind = simulate_run(jobs, "easy", 4, alternatives=ways)
    assert blind.clairvoyant
    told = simulate_run(
        jobs, "easy", 4, alternatives=ways, sized_by=Advise(Believes(lambda n: 3 + 0 * n))
    )
    assert not told.clairvoyant
    assert told.jobs.frame["estimate_s"].to_list()[0] == 3.0
    assert blind.jobs.frame["start_s"].to_list() == [0.0, 10.0, 1.0]
    assert told.jobs.frame["start_s"].to_list() == [0.0, 10.0, 19.0]  # no hole before second 3
    machine = Machine(4, idle_w=0.0, busy_w=100.0, cap_w=Series.of(250.0))
    with pytest.raises(DataError, match="no row"):
        simulate_run(jobs.rows([0]), "easy", machine, alternatives=ways)
    short = Advise(Believes(lambda n: 3 + 0 * n))
    over = simulate_run(jobs.rows([0]), "easy", machine, alternatives=ways, sized_by=short)
    assert (over.account.cap_excess_w, over.clairvoyant) == (50.0, False)


def test_a_job_that_cannot_be_judged_keeps_its_ways():
    silent = Believes(lambda n: np.where(n == 8, np.nan, 16 / n))
    kept = sized(JOBS, WAYS, Advise(silent, FASTEST))
    assert kept.keep.tolist() == [False, True, False, True, False]
    late = sized(JOBS, WAYS, Advise(Believes(lambda n: 16 / n), FASTEST, Deadline("3s")))
    assert late.keep.tolist() == [True, True, True, False, True]
    assert late.notes[0].count == 1


def test_advice_needs_alternatives():
    with pytest.raises(DataError, match="alternatives"):
        simulate_run(JOBS, "easy", 4, sized_by=Advise(Believes(lambda n: n)))


def test_a_plain_machine_with_watts_counts_energy_as_a_site_does():
    from rheostat.decision.policies.batch_policy import batch_policy
    from rheostat.simulation.site.simulate_site import simulate_site

    rng = np.random.default_rng(3)
    columns = [np.sort(rng.integers(0, 90, 50)), rng.integers(0, 20, 50), rng.integers(1, 5, 50)]
    machine = Machine(8, idle_w=50.0, busy_w=120.0, tariff_per_kwh=Series.of(0.2))
    jobs = trace(*columns)
    plain = simulate_run(jobs, "easy", machine)
    site = simulate_site(jobs, batch_policy("easy"), machine)
    assert plain.account.metrics() == pytest.approx(site.account.metrics(), nan_ok=True)
    assert plain.account.cost == pytest.approx(plain.account.total_j / 3.6e6 * 0.2)
    assert simulate_run(jobs, "easy", 8).account is None
