"""Which runs count for the choice of caps, what is said of the others, and the plain methods."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rheostat import Knob, table
from rheostat.decision.caps import (
    _baselines,
    _between,
    _grid,
    _runs,
    _setting_text,
    _with_default,
    choose_caps,
)
from rheostat.errors import DataError
from rheostat.explanation.choices.caps import _sentences, caps_facts
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.completion.alone import Corners, Line, Process
from rheostat.prediction.completion.table import CapTable

KNOBS = ("cpu_cap_w", "gpu_cap_w")
GRID = np.array([(c, g) for c in (100.0, 200.0) for g in (100.0, 300.0)])
KNOWN = CapTable(("a", "b"), KNOBS, GRID, np.array([[0.4, 0.6, 0.8, 1.0], [0.9, 0.9, 1.0, 1.0]]))


def test_a_setting_is_written_with_its_knobs() -> None:
    assert _setting_text(KNOBS, (100.0, 2.5)) == "cpu_cap_w=100, gpu_cap_w=2.5"


def test_applications_without_a_run_at_the_highest_setting_are_left_out_by_name() -> None:
    runs = table({"app": ["a", "a", "b", "c", "d"], "cpu_cap_w": [200.0, 100.0, 100.0, 200.0,
    100.0],
                  "gpu_cap_w": [300.0, 300.0, 300.0, 300.0, 100.0],
                  "runtime_s": [1.0] * 5})  # fmt: skip
    kept, notes = _with_default(runs)
    assert kept.frame["app"].to_list() == ["a", "a", "c"]
    assert notes == ("left out, no run at cpu_cap_w=200, gpu_cap_w=300: b, d",)
    again, nothing = _with_default(kept)
    assert again.frame.equals(kept.frame)
    assert nothing == ()
    capless = runs.select(["app", "runtime_s"])
    assert _with_default(capless)[0] is capless
    nameless = runs.select([*KNOBS, "runtime_s"])
    assert _with_default(nameless)[0] is nameless
    blank = runs.with_columns((), cpu_cap_w=pl.Series([None] * 5, dtype=pl.Float64))
    with pytest.raises(DataError, match="column cpu_cap_w has no value"):
        _with_default(blank)


def test_runs_of_a_setting_are_the_mean_of_their_logs_and_those_outside_are_named() -> None:
    tried = table({"app": ["x", "x", "y", "x", "x", "x"], "runtime_s": [4.0, 9.0, 7.0, 5.0, 3.0,
    0.0],
                   "cpu_cap_w": [100.0, 100.0, 100.0, 150.0, 250.0, 200.0],
                   "gpu_cap_w": [100.0, 100.0, 100.0, 300.0, 300.0, 300.0]})  # fmt: skip
    found, notes = _runs(KNOWN, tried, "x")
    assert found == {(100.0, 100.0): pytest.approx(6.0), (150.0, 300.0): pytest.approx(5.0)}
    assert notes == ("cpu_cap_w=250, gpu_cap_w=300 is not used: known are "
                     "cpu_cap_w 100 to 200, gpu_cap_w 100 to 300",
                     "left out, of x: a cap, a count or the runtime is not known or not above 0: "
                     "1 rows")  # fmt: skip
    assert _runs(KNOWN, tried.select([*KNOBS, "runtime_s"]), "x")[0][100.0, 100.0] == (
        pytest.approx((4.0 * 9.0 * 7.0) ** (1 / 3))
    )
    with pytest.raises(DataError) as caught:
        _runs(KNOWN, table({"cpu_cap_w": [100.0]}), "x")
    assert list(caught.value.problems) == [
        "column gpu_cap_w is missing", "column runtime_s is missing",
        "present: cpu_cap_w"]  # fmt: skip


def test_values_asked_for_are_combined_with_those_known_of_the_other_knobs() -> None:
    assert _grid(KNOWN, []) == []
    assert _grid(KNOWN, [Knob("cpu_cap_w", (150, 100))]) == [
        (100.0, 100.0), (100.0, 300.0), (150.0, 100.0), (150.0, 300.0)]  # fmt: skip
    with pytest.raises(DataError) as caught:
        _grid(KNOWN, [Knob("cpu_cap_w", (150,)), Knob("nodes", (2,)), Knob("gpus", (2,))])
    assert list(caught.value.problems) == [
        f"{k} is no knob of this table: cpu_cap_w, gpu_cap_w" for k in ("nodes",
        "gpus")]  # fmt: skip
    with pytest.raises(DataError) as caught:
        _grid(KNOWN, [Knob("cpu_cap_w", (99, 200, 201))])
    assert [p.split(" is ")[0] for p in caught.value.problems] == [
        "cpu_cap_w=99, gpu_cap_w=100", "cpu_cap_w=99, gpu_cap_w=300",
        "cpu_cap_w=201, gpu_cap_w=100", "cpu_cap_w=201, gpu_cap_w=300"]  # fmt: skip


@pytest.mark.parametrize(("new", "more"), [(5, ""), (6, " and 1 more"), (8, " and 3 more")])
def test_settings_at_which_nobody_ran_are_added_and_the_first_five_named(new, more) -> None:
    settings = [(110.0 + i, 100.0) for i in range(new)]
    longer, (note,) = _between(KNOWN, [*settings[::-1], settings[0], (200.0, 300.0)])
    assert len(longer.values) == 4 + new
    listed = "; ".join(f"cpu_cap_w={c:g}, gpu_cap_w=100" for c, _ in settings[:5])
    assert note == f"no known application ran at {listed}{more}: theirs are interpolated there"
    assert np.isnan(longer.speed[:, longer.index(settings[0])]).all()


def test_nothing_new_leaves_the_table_as_it_is() -> None:
    assert _between(KNOWN, [(200.0, 300.0)]) == (KNOWN, ())


def test_plain_methods_keep_what_saves_most_within_the_loss_and_the_measured_as_measured() -> None:
    row = np.array([0.5, np.nan, 0.9, 1.0])
    assert _baselines(KNOWN, [3], row, 0.1, 0.9) == ()
    found = {b.name: b for b in _baselines(KNOWN, [2, 3], row, 0.1, 0.9)}
    assert set(found) == {"line", "gp_low"}
    line = Line().fit(KNOWN).fill([2, 3], row[[2, 3]])
    low = Process().fit(KNOWN).bound([2, 3], row[[2, 3]], 0.9)
    for name, speed in (("line", line), ("gp_low", low)):
        speed[[2, 3]] = row[[2, 3]]
        assert found[name].speed == pytest.approx(speed)
        fits = [i for i in range(4) if speed[i] >= 0.9 - 1e-9]
        assert 2 in fits  # exactly at the loss
        assert found[name].kept == max(fits, key=lambda i: KNOWN.saved_w[i])
    every = {b.name: b for b in _baselines(KNOWN, [0, 1, 2, 3],
                                           np.array([0.5, 0.7, 0.9, 1.0]), 0.1, 0.9)}  # fmt: skip
    assert Corners().fit(KNOWN).possible([0, 1, 2, 3]) == ("bilinear" in every)
    single = CapTable(("a", "b"), ("cap_w",), np.array([[100.0], [200.0]]), KNOWN.speed[:, 1:3])
    assert {b.name for b in _baselines(single, [0, 1], np.array([0.7, 1.0]), 0.1, 0.9)} == {
        "line", "gp_low"}  # fmt: skip


def test_without_a_run_at_the_default_that_is_next_and_nothing_is_promised() -> None:
    runs = capped_runs(4, seed=4, cpu_caps=(140.0, 200.0), gpu_caps=(150.0, 250.0))
    own = runs.rows((pl.col("app") == "app01") & (pl.col("cpu_cap_w") < 200))
    for tried in (own, own.rows(np.zeros(len(own), dtype=bool))):
        advised = choose_caps(runs, tried, "app01", loss=0.07, risk=0.8)
        assert not advised.ready
        assert advised.next_setting == advised.kept.setting == advised.known.default
        assert (advised.kept.saved_w, advised.kept.probability) == (0.0, 1.0)
        assert (advised.loss, advised.risk, advised.needed) == (0.07, 0.8, math.inf)
        assert advised.baselines == ()
        assert "app01" not in advised.known.apps
    two = runs.rows(pl.col("app").is_in(["app01", "app02"]))
    with pytest.raises(DataError, match="expected two or more beside app01"):
        choose_caps(two, own, "app01")
    whole = choose_caps(runs, runs.rows(pl.col("app") == "app01"), "app01", loss=0.07, risk=0.8)
    assert whole.ready
    assert whole.row[whole.known.default] == 1.0
    assert np.isfinite(whole.row).all()
    assert (whole.loss, whole.risk) == (0.07, 0.8)
    assert len(whole.baselines) >= 2


def test_no_run_is_asked_for_that_cannot_save_more() -> None:
    """Below a cap that lost too much is no help, nor above one that held."""
    caps, speed = (150.0, 200.0, 250.0, 300.0, 350.0, 400.0), (0.6, 0.75, 0.87, 0.95, 0.99, 1.0)
    each = {"gpu_cap_w": [*caps] * 4, "app": [f"k{i}" for i in range(4) for _ in caps]}
    runs = table({**each, "runtime_s": [100 / s**p for p in (0.7, 0.9, 1.1, 1.3) for s in speed]})
    own = table({"app": ["new"] * 3, "gpu_cap_w": [250.0, 300.0, 400.0],
                 "runtime_s": [100 / 0.87, 100 / 0.95, 100.0]})  # fmt: skip
    advised = choose_caps(runs, own, "new", loss=0.1)
    assert advised.known.values[advised.kept.setting].tolist() == [300.0]
    assert advised.next_setting == -1
    assert "No other setting is worth a run" in _sentences(caps_facts(advised))[-1]
    lower = choose_caps(runs, own, "new", loss=0.2)
    assert lower.known.values[lower.next_setting].tolist() == [200.0]
