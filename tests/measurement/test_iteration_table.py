"""A table of iterations as a spreadsheet of another country writes it."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.network.iteration_table import read_iteration_table
from rheostat.measurement.tables import read_table


def test_commas_that_are_decimal_are_read_and_said(tmp_path):
    path = tmp_path / "iterations.csv"
    path.write_text("step;iteration_time_us\n0;500,21\n1;500,43\n")
    frame, notes = read_iteration_table(path)
    assert frame["time_s"].to_list() == pytest.approx([0.0, 500.21e-6, 1000.64e-6])
    assert [n.message for n in notes] == ["commas read as decimal ones: iteration_time_us"]
    with pytest.raises(DataError, match="commas read as decimal"):
        read_table(path)  # who takes no notes refuses what it would not say
