"""Numbers that data as they are drawn leave free, and that other data show to be needed, or not."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.altered import other_data
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.reached import mutant_runs
from tests.measurement.code.test_other_data import INPUTS, LACKING, _program

RISES = ("static int up; up = i && a[i] > a[i - 1] ? up + 1 : 0; "
         "if (up < LIMIT) sum += a[i] / 7.0;")  # fmt: skip
"""Twelve in a row come once in many millions of numbers that are drawn."""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_number_is_needed_where_other_data_show_it_and_one_that_is_wrong_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    monkeypatch.setattr(mutant_runs, "inputs_of", lambda case: [
        INPUTS.draw(rng, (0, 1)) for _ in range(96)])  # fmt: skip
    monkeypatch.setattr(other_data, "MOST_CPU_S", 5.0)
    monkeypatch.setattr(other_data, "MARKED_CPU_S", 5.0)
    for seconds in ("COUNTED_S", "MUTANTS_S", "ROOM_S"):
        monkeypatch.setattr(mutant_runs, seconds, 30.0)
    said = {}
    with verifier(_program({"SUMMED": RISES.replace("LIMIT", "4 * argc")}), seed=3) as one:
        for limit in ("12", "13"):
            candidate = _program({"SUMMED": RISES.replace("LIMIT", limit)})
            found = mutant_runs.never_shown(Case(candidate, one.reference))
            said[limit] = [f.message for f in found if "nothing shows" in f.message]
    assert said["12"] == []
    assert [m for m in said["13"] if "14 or 12 in the place of 13" in m]
