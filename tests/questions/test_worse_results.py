"""What failed is not taken by a forecast, and a worse result is not taken without a word."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat import table
from rheostat.questions.settings.worse_results import worse_results

TOOK = {"batch_size": [64, 128, 256], "runtime_s": [900.0, 700.0, 500.0]}


def worse(column, values, taken=256):
    return list(worse_results(table({**TOOK, column: values}), {"batch_size": taken}))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("final_loss", [1.0, 1.1, 1.9]),
        ("top1", [0.76, 0.75, 0.6]),
        ("test accuracy", [76, 75, 60]),
        ("val_acc", [0.9131, 0.9098, 0.8714]),  # of what is missed half as much again
        ("max_error", [1e-12, 3e-12, 0.7]),
        ("rel_err", [0.0, 0.0, 0.7]),
        ("n_errors", [0, 0, 900]),
    ],
)
def test_a_worse_result_is_named_with_the_settings_that_are_alike(column, values):
    (said,) = worse(column, values)
    assert f"batch size 256 has a {column} of {values[2]:.3g}, batch size 64 one of" in said
    assert "--knob batch_size=64,128 compares" in said
    assert worse(column, values, taken=128) == []


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("final_loss", [1.0, 1.1, 1.2]),  # as different as seeds make it
        ("top1", [0.76, 0.75, 0.74]),
        ("val_acc", [0.9985, 0.9981, 0.9971]),
        ("reward", [1250.0, 1240.0, 1205.0]),
        ("log_likelihood", [-9.0, -8.0, -1.0]),
        ("packet_loss", [0.1, 0.2, 0.9]),
        ("max_error", [1e-12, 3e-12, 9e-12]),
        ("max_error", [0.0, 0.0, 1e-6]),  # of numbers of fewer bits
        ("n_errors", [3, 3, 3]),
        ("cells", [10, 20, 30]),
    ],
)
def test_alike_results_and_other_columns_are_not(column, values):
    assert worse(column, values) == []


def runs(failed):
    settings = {"nodes": [1, 2, 4, 8], "runtime_s": [800.0, 410.0, 230.0, 150.0]}
    power = {"power_w": [400.0, 790.0, 1600.0, 3200.0]}
    return table({**settings, **power, "censored": [False, failed, False, False]})


def test_a_setting_of_which_every_run_failed_is_not_taken_by_its_forecast():
    asked = {"knobs": "nodes=1,2,4,8", "rule": "deadline=10min"}
    assert rh.front(runs(False), **asked).choice.setting == {"nodes": 2}
    answer = rh.front(runs(True), **asked)
    assert answer.choice.setting == {"nodes": 4}
    assert any("2 nodes: no run there ended well" in note for note in answer.notes)


def test_it_is_forecast_where_nothing_else_was_asked():
    answer = rh.front(runs(True), knobs="nodes=2")
    assert answer.choice.setting == {"nodes": 2}
    assert any("1 of 1 runs did not end well" in note for note in answer.notes)
