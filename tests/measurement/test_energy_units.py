"""Energy in another unit than its name says is named where a table is read, with what to type."""

from __future__ import annotations

import polars as pl
import pytest

from rheostat import read
from rheostat.cli import run


@pytest.mark.parametrize(("name", "energy", "said"), [
    ("energy_j", 2.88e6, None), ("energy_kWh", 0.8, None), ("energy_j", 0.8, "energy_kWh"),
    ("energy_j", 800.0, "energy_Wh"), ("energy_j", 2880.0, "energy_kJ"),
    ("energy_j", 2.88e9, "energy_mJ"), ("energy_j", 2.88e12, "energy_uJ"),
])  # fmt: skip
def test_watts_that_no_node_draws_point_at_the_unit(tmp_path, capsys, name, energy, said) -> None:
    file = tmp_path / "log.csv"
    rows = {"job_id": range(20), "nodes": [2] * 20, "runtime_s": [3600.0] * 20, name: [energy] * 20}
    pl.DataFrame(rows).write_csv(file)
    doubts = [n.message for n in read(file).notes if "W per node" in n.message]
    assert [said in d for d in doubts] == [True] * (said is not None)
    run(["summary", str(file)])
    assert ("W per node" in capsys.readouterr().err) == (said is not None)


def test_energy_without_a_unit_that_cannot_be_joules_is_asked_for(tmp_path, capsys) -> None:
    """Six runs of 1 to 32 nodes; the column is in kWh and does not say so."""
    file = tmp_path / "runs.csv"
    rows = {"app": ["a"] * 6, "nodes": [1, 2, 4, 8, 16, 32]}
    rows["elapsed"] = [36000.0 / n for n in rows["nodes"]]
    unsaid = pl.DataFrame({**rows, "energy": [5.0, 5.1, 5.3, 5.8, 6.6, 8.3]})
    unsaid.write_csv(file)
    code = run(["front", str(file), "--knob", "nodes=1..32"])
    err = " ".join(capsys.readouterr().err.split())
    assert code == 1
    assert "energy has no unit, and as joules it is" in err
    assert "energy_kWh (energy_J where they are)" in err
    unsaid.rename({"energy": "energy_kWh"}).write_csv(file)
    assert read(file).numpy("energy_j")[0] == 5.0 * 3.6e6
