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
