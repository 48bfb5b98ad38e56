"""Few runs: which settings are not told apart from the choice, and how many runs would tell."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import table
from rheostat.core.front import Front
from rheostat.core.outcome import Outcome
from rheostat.explanation.choices.choice import explain_choice
from rheostat.explanation.choices.front import front_facts, front_table
from rheostat.explanation.choices.indistinct import indistinct
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.rules import Knee, Weighted

FASTEST = Weighted({"runtime_s": 1})


def front(*runs, energy=None):
    """Settings of one knob, each with the run times given."""
    most = max(map(len, runs))
    seconds = np.full((most, len(runs)), np.nan)
    for i, times in enumerate(runs):
        seconds[: len(times), i] = times
    draws = {"runtime_s": seconds}
    if energy is not None:
        draws["energy_j"] = np.where(np.isfinite(seconds), np.array(energy, float), np.nan)
    threads = table({"threads": list(range(1, len(runs) + 1))})
    repeats = np.array(list(map(len, runs)))
    return Front(threads, Outcome(draws), tuple(draws), repeats, ("threads",))


def found(ran, rule=FASTEST, limits=()):
    return indistinct(ran, ran.choose(rule, limits))


def test_single_runs_one_per_cent_apart_are_not_told_apart():
    alike = found(front([10.0], [5.0], [5.05]))
    assert [s["threads"] for s in alike.settings] == [3]
    assert (alike.quantity, alike.known) == ("runtime_s", False)
    assert alike.apart == pytest.approx(0.01, rel=0.01)
    said = alike.words({"threads": 2})
    assert said.startswith("Not told apart by so few runs: 2 threads and 3 threads; their runtime")
    assert "nothing ran twice" in said


def test_settings_that_differ_by_more_than_runs_do_are_told_apart():
    assert found(front([10.0], [5.0], [6.0])) is None
    assert found(front([10.0, 10.1], [5.0, 5.05], [5.4])) is None


def test_repeats_tell_what_runs_differ_by_and_how_many_would_tell():
    """Runs that differ by 10 % hide a difference of 10 %, and some ten of each show it."""
    noisy = found(front([10.0, 11.0, 9.0], [5.0], [5.5]))
    assert noisy.known
    assert noisy.noise == pytest.approx(0.1, rel=0.05)
    assert 4 <= noisy.runs <= 8
    assert f"{noisy.runs} runs of each would tell" in noisy.words({"threads": 2}).lower()
    equal = found(front([10.0, 11.0, 9.0], [5.0], [5.0]))
    assert equal.runs == 0
    assert equal.words({"threads": 2}).endswith("Take either.")


def test_equal_times_of_a_program_without_noise_need_no_word():
    assert found(front([10.0, 10.0], [5.0, 5.0], [5.0, 5.0])) is None


def test_only_what_the_rule_compares_has_to_be_alike():
    ran = front([10.0], [5.0], [5.05], energy=[100.0, 400.0, 300.0])
    assert found(ran) is not None
    assert found(ran, Knee()) is None
    assert found(ran, Deadline(20.0)) is None
    close = front([10.0], [5.0], [5.05], energy=[100.0, 101.0, 300.0])
    assert found(close, Deadline(20.0)).quantity == "energy_j"


def test_a_setting_that_costs_more_for_the_same_is_no_alternative():
    """As fast, and a third more energy; one that takes less energy is named."""
    assert found(front([10.0], [5.0], [5.05], energy=[100.0, 300.0, 400.0])) is None
    assert found(front([10.0], [5.0], [5.05], energy=[100.0, 400.0, 300.0])) is not None


def test_a_setting_that_misses_the_limit_is_no_rival():
    ran = front([10.0], [5.0], [5.05], energy=[100.0, 400.0, 405.0])
    assert found(ran, Weighted({"energy_j": 1}), [Deadline(5.02)]) is None


def test_forecasts_are_not_judged_by_runs():
    ran = front([10.0], [5.0], [5.05])
    forecast = Front(ran.alternatives, ran.outcome, ran.objectives, np.array([1, 0, 0]), ran.turned)
    assert found(forecast) is None


def test_one_run_has_no_interval_in_any_document():
    ran = front([10.0], [5.0, 5.2])
    once, twice = front_facts(ran)["front"]
    assert np.isnan(once["intervals"]["runtime_s"]).all()
    assert once["interval_is"] == "unknown: one run"
    assert (twice["intervals"]["runtime_s"], twice["support"]) == ([5.0, 5.2], 2.0)
    grid = front_table(ran, None, None)
    row = dict(zip(grid.heads, grid.rows[0], strict=True))
    assert row["runtime_s"] == (10.0, pytest.approx(np.nan, nan_ok=True), pytest.approx(
        np.nan, nan_ok=True))  # fmt: skip


def test_the_choice_says_it():
    ran = front([10.0], [5.0], [5.05])
    (decide, _), _ = explain_choice(ran.choose(FASTEST), ran)
    assert any(s.startswith("Not told apart by so few runs") for s in decide.sentences)


def test_a_disturbed_run_at_another_setting_is_no_noise_of_all():
    quiet = [5.0, 5.01, 4.99], [5.3, 5.31, 5.29]
    assert found(front([6.0, 6.01, 20.0], *quiet)) is None
    uneven = found(front([6.0, 7.0, 5.0], *quiet))  # no run of it stands apart
    assert uneven.noise > 0.05
