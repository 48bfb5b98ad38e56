"""Joules of a host and of a card: the message offers each, and their sum, as one types it."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError

ROWS = "threads,time_s,energy_host_J,energy_card_J\n1,9.0,700,80\n2,5.0,600,70\n4,4.0,900,60\n"


def test_the_sum_is_offered_and_can_be_typed(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text(ROWS)
    offered = "energy_j=energy_host_J+energy_card_J"
    with pytest.raises(DataError) as refused:
        rh.front(runs, knobs="threads=1,2,4")
    assert f"--column {offered}: their sum" in str(refused.value)
    answer = rh.front(runs, knobs="threads=1,2,4", renamed=[offered], rule="weighted=energy_j:1")
    assert answer.choice.setting["threads"] == 2
    assert answer.front.mean("energy_j").tolist() == [780, 670, 960]


def test_readings_of_a_meter_are_not_proposed_as_the_energy_of_runs() -> None:
    runs = rh.table({"nodes": [1, 2, 4, 8], "runtime_s": [90.0, 50.0, 30.0, 20.0],
                     "meter_j": [48212.2, 48213.1, 48214.1, 48215.3]})  # fmt: skip
    with pytest.raises(DataError, match="meter_j only grows from row to row") as refused:
        rh.front(runs, knobs="nodes=1,2,4,8")
    assert "--column" not in str(refused.value)
