"""Readings of a meter that counts on are told from energies of runs by the watts of their steps."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs

NODES, SECONDS, KJ = (1, 2, 4, 8), (400, 210, 115, 70), (152, 160, 175, 213)


def noted(tmp_path, energies, nodes=NODES, seconds=SECONDS):
    rows = "".join(f"{n},{s},{e}\n" for n, s, e in zip(nodes, seconds, energies, strict=True))
    (file := tmp_path / "runs.csv").write_text(f"nodes,time_s,energy_kJ\n{rows}")
    return [n for n in read_runs(file).notes if "grows from row to row" in n.message]


def test_a_meter_that_counts_on_is_named(tmp_path):
    (note,) = noted(tmp_path, [sum(KJ[: i + 1]) for i in range(4)])
    assert "W per node" in note.message


@pytest.mark.parametrize(
    "energies",
    [KJ, [152, 200, 300, 500], [152, 312, 300, 700]],
)
def test_energies_of_runs_are_not(energies, tmp_path):
    assert noted(tmp_path, energies) == []


def test_equal_runs_tell_nothing(tmp_path):
    assert noted(tmp_path, [100, 101, 102, 103], (1, 1, 1, 1), (400, 400, 400, 400)) == []
