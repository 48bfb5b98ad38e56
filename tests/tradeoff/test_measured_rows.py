"""Runs at settings: which are found, how they are filled up with forecasts, and their grades."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Column, Knob, Moment, Outcome, Space, table
from rheostat.core.outcome import GRADES
from rheostat.errors import DataError, Infeasible
from rheostat.tradeoff.all_settings import front
from rheostat.tradeoff.measured_cells import (
    MeasuredSettings,
    better_unmeasured,
    expected_front,
    filled,
    lengthened,
    measured,
    measured_all,
    repeated,
    tell_runs,
)
from rheostat.tradeoff.propose import Sobol
from rheostat.tradeoff.rules import Weighted

RUNS = table({"nodes": [1, 2, 2, 4, 4], "runtime_s": [9.0, 4.0, 6.0, None, 3.0],
              "power_w": [10.0, 20.0, 30.0, 40.0, None], "app": ["a"] * 5})  # fmt: skip
ASKED = table({"nodes": [4, 2, 8, 1]})


def cells(wanted, runs=RUNS, knobs=("nodes",)):
    found = measured(ASKED, runs, knobs, wanted)
    return {i: rows.tolist() for i, rows in found.cells.items()}


def test_runs_count_where_they_hold_all_that_is_wanted() -> None:
    assert cells(["runtime_s"]) == {0: [4], 1: [1, 2], 3: [0]}
    assert cells(["power_w"]) == {0: [3], 1: [1, 2], 3: [0]}
    assert cells(["runtime_s", "power_w"]) == cells(["energy_j"]) == {1: [1, 2], 3: [0]}
    assert cells([]) == cells(["runtime_s"])
    assert cells(["itl_s"]) == cells(["runtime_s"])  # nobody measures it
    assert cells(["runtime_s"], knobs=("nodes", "cap_w")) == {}
    assert cells(["runtime_s"], RUNS.rows(np.zeros(5, dtype=bool))) == {}
    assert cells(["edp_js"], RUNS.select(["nodes", "runtime_s"])) == {}
    cut = table({**RUNS.frame.to_dict(as_series=False), "censored": [i == 1 for i in range(5)]})
    assert cells(["runtime_s"], cut) == {0: [4], 1: [2], 3: [0]}
    found = measured(ASKED, RUNS, ["nodes"], ["runtime_s"])
    assert found.missing(4).tolist() == [2]
    space = Space.of(Knob("nodes", [1, 2, 4, 8]))
    job = table({"app": ["a"]})
    for settings, held in (([{"nodes": 1}, {"nodes": 4}], True), ([{"nodes": 8}], False),
                           ([{"nodes": 1}, {"nodes": 8}], False)):  # fmt: skip
        assert measured_all(job, RUNS, space, settings, ["runtime_s"]) is held
    assert measured_all(job, None, space, [{"nodes": 1}], ["runtime_s"]) is False


def test_measurements_are_repeated_with_their_mean_and_forecasts_cycled() -> None:
    assert repeated(np.array([1.0, 3.0]), 5).tolist() == [1.0, 3.0, 1.0, 3.0, 2.0]
    assert repeated(np.array([1.0, 3.0]), 4).tolist() == [1.0, 3.0] * 2
    assert lengthened(np.array([[1.0], [2.0]]), 3).tolist() == [[1.0], [2.0], [1.0]]


@pytest.mark.parametrize("draws", [1, 3])
def test_rows_are_measured_where_they_were_and_forecast_elsewhere(draws) -> None:
    own = measured(ASKED, RUNS, ["nodes"], ["runtime_s"])
    ours = Outcome({"runtime_s": np.full((draws, 1), 2.5), "other": np.ones((draws, 1))},
                   np.array([7.0]))  # fmt: skip
    made = filled(ASKED, own, ours, ["nodes"])
    assert made.names == ("runtime_s",)
    deep = max(draws, 2)
    assert made["runtime_s"].shape == (deep, 4)
    assert made.mean("runtime_s").tolist() == [3.0, 5.0, 2.5, 9.0]
    assert made["runtime_s"][:2, 1].tolist() == [4.0, 6.0]
    assert made.support.tolist() == [1.0, 2.0, 7.0, 1.0]
    names = [GRADES[g] for g in made.grade]
    assert names == ["measured", "measured", "borrowed", "measured"]  # 8 is beyond 1 to 4
    nothing = MeasuredSettings(own.runs, own.values, {})
    four = Outcome({"runtime_s": np.full((draws, 4), 2.5)})
    blank = filled(ASKED, nothing, four, ["nodes"])
    assert {GRADES[g] for g in blank.grade} == {"borrowed"}
    assert blank.support.tolist() == [0.0] * 4
    whole = filled(ASKED.rows(np.array([0, 1])), measured(ASKED.rows(np.array([0, 1])), RUNS,
                   ["nodes"], ["runtime_s"]), None, ["nodes"])  # fmt: skip
    assert whole.mean("runtime_s").tolist() == [3.0, 5.0]


def test_what_lies_between_the_own_runs_is_interpolated_and_other_words_are_borrowed() -> None:
    runs = table({"nodes": [2, 8], "kind": ["x", "y"], "runtime_s": [9.0, 4.0]})
    asked = table({"nodes": [2, 2, 8, 1, 9, 4, 5], "kind": ["x", "y", "x", "x", "y", "z", "x"]})
    own = measured(asked, runs, ["nodes", "kind"], ["runtime_s"])
    forecast = np.full((1, 6), 5.0)
    forecast[0, 5] = np.nan
    made = filled(asked, own, Outcome({"runtime_s": forecast}), ["nodes", "kind"])
    assert [GRADES[g] for g in made.grade] == [
        "measured", "interpolated", "interpolated", "borrowed", "borrowed", "borrowed",
        "none"]  # fmt: skip


def test_a_search_is_told_settings_that_its_space_allows_with_their_repeats() -> None:
    space = Space.of([Knob("nodes", [1, 2, 4])])
    sobol = Sobol(space, ("runtime_s",))
    runs = table({"nodes": [2, 2, 3, None, 4], "runtime_s": [4.0, 6.0, 1.0, 1.0, None]})
    assert tell_runs(sobol, runs) == 1
    assert sobol.front.draws("runtime_s").ravel().tolist() == [4.0, 6.0]
    ranged = Sobol(Knob("cap_w", low=100.0, high=200.0), ("runtime_s",))
    given = table({"cap_w": [99.0, 100.0, 150.0, 200.0, 201.0], "runtime_s": [1.0] * 5})
    assert tell_runs(ranged, given) == 3


class Model:
    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None]
        return Outcome({"runtime_s": 8.0 / n, "itl_s": 1.0 / n}, np.full(n.shape[1], 2.0))


def test_a_front_is_measured_where_it_was_and_the_models_elsewhere() -> None:
    job, knob = table({"app": ["a"], "nodes": [1]}), Knob("nodes", [1, 2, 4])
    wanted = ("runtime_s",)
    alone = front(job, Model(), knob, wanted)
    assert alone.mean("runtime_s").tolist() == [8.0, 4.0, 2.0]
    elsewhere = front(job, Model(), knob, wanted, runs=table({"nodes": [16], "runtime_s": [1.0]}))
    assert elsewhere.mean("runtime_s").tolist() == [8.0, 4.0, 2.0]
    assert elsewhere.mean("itl_s").tolist() == [1.0, 0.5, 0.25]  # all that the model says
    runs = table({"nodes": [1, 2], "runtime_s": [9.0, 5.0]})
    some = front(job, Model(), knob, wanted, runs=runs)
    assert some.mean("runtime_s").tolist() == [9.0, 5.0, 2.0]
    assert front(job, None, Knob("nodes", [1, 2]), wanted,
    runs=runs).mean("runtime_s").tolist() == [
        9.0, 5.0]  # fmt: skip
    for given in (None, runs, table({"nodes": [16], "runtime_s": [1.0]})):
        with pytest.raises(DataError, match="expected a model for them"):
            front(job, None, knob, wanted, runs=given)
    even = front(job, Model(), knob, wanted, constraints=[lambda s: s["nodes"] != 2])
    assert even.alternatives.frame["nodes"].to_list() == [1, 4]
    listed = front(job, Model(), knob, wanted, settings=[{"nodes": 4}, {"nodes": 2}])
    assert listed.mean("runtime_s").tolist() == [2.0, 4.0]
    with pytest.raises(Infeasible, match="leave no setting of the knobs") as caught:
        front(job, Model(), knob, wanted, constraints=[lambda s: False])
    assert caught.value.nearest == -1
    usual = table({"nodes": [1], "runtime_s": [1.0]})
    assert front(job, Model(), knob, wanted, runs=usual).objectives[0].meaning == ""
    epoch = Column("runtime_s", "s", Moment.END, "seconds of an epoch")
    meant = usual.with_columns([epoch], runtime_s=[1.0])
    assert front(job, Model(), knob, wanted, runs=meant).objectives[0].meaning == epoch.meaning


class Guess(Sobol):
    """Expects half the runtime at twice the nodes."""

    def forecast(self, settings):
        nodes = np.array([s["nodes"] for s in settings], dtype=float)
        return Outcome({"runtime_s": np.stack([7.0 / nodes, 9.0 / nodes])})


def test_the_expected_front_is_measured_where_it_was() -> None:
    space = Space.of(Knob("nodes", [1, 2, 4]))
    guess, blind = Guess(space, ("runtime_s",)), Sobol(space, ("runtime_s",))
    assert expected_front(guess) is None  # nothing was measured
    runs = table({"nodes": [1, 2], "runtime_s": [9.0, 6.0]})
    for searcher in (guess, blind):
        tell_runs(searcher, runs)
    expected = expected_front(guess)
    assert expected.mean("runtime_s").tolist() == [9.0, 6.0, 2.0]
    assert expected_front(blind) is None
    rule = Weighted({"runtime_s": 1})
    assert better_unmeasured(guess, rule).setting == {"nodes": 4}
    assert better_unmeasured(blind, rule) is None
    tell_runs(guess, table({"nodes": [4], "runtime_s": [5.0]}))
    assert better_unmeasured(guess, rule) is None
    tell_runs(blind, table({"nodes": [4], "runtime_s": [5.0]}))
    assert expected_front(blind).mean("runtime_s").tolist() == [9.0, 6.0, 5.0]
