"""Long tables and those with several lines of headings are read as a row per run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.runs.delimited import read_delimited
from rheostat.measurement.runs.long_tables import quantities_across
from rheostat.measurement.runs.reader import read_runs

RUNS = [(4, 440.0, 80.0), (4, 450.0, 81.0), (8, 240.0, 49.0)]


def long_table(*, unit: bool = True, energy: str = "kJ") -> str:
    """Three runs, the first two of one setting, that nothing but their order tells apart."""
    rows = ["threads,metric,value" + ",unit" * unit]
    for threads, time, joules in RUNS:
        rows += [f"{threads},runtime,{time}" + ",s" * unit]
        rows += [f"{threads},energy,{joules}" + f",{energy}" * unit]
    return "\n".join([*rows, ""])


def test_each_run_of_a_long_table_is_a_row(tmp_path: Path) -> None:
    (file := tmp_path / "long.csv").write_text(long_table())
    runs = read_runs(file)
    assert runs.frame["threads"].to_list() == [4, 4, 8]
    assert runs.frame["runtime_s"].to_list() == [440.0, 450.0, 240.0]
    assert runs.frame["energy_j"].to_list() == [80e3, 81e3, 49e3]
    assert any("read as 3 runs" in n.message for n in runs.notes)


def test_units_may_stand_in_the_names(tmp_path: Path) -> None:
    (file := tmp_path / "long.csv").write_text(
        long_table(unit=False).replace("energy", "energy_kJ").replace("runtime", "runtime_min")
    )
    runs = read_runs(file)
    assert runs.frame["runtime_s"].to_list() == [440.0 * 60, 450.0 * 60, 240.0 * 60]
    assert runs.frame["energy_j"].to_list() == [80e3, 81e3, 49e3]


def test_a_quantity_may_change_its_unit_by_the_row(tmp_path: Path) -> None:
    lines = long_table().replace("8,energy,49.0,kJ", "8,energy,49000,J")
    (file := tmp_path / "long.csv").write_text(lines)
    assert read_runs(file).frame["energy_j"].to_list() == [80e3, 81e3, 49e3]


def test_one_quantity_in_units_of_two_kinds_is_not_guessed(tmp_path: Path) -> None:
    lines = long_table().replace("8,energy,49.0,kJ", "8,energy,49,W")
    (file := tmp_path / "long.csv").write_text(lines)
    with pytest.raises(DataError, match="no runtime, power or energy"):
        read_runs(file)


def test_a_missing_quantity_is_null_and_words_stay_words(tmp_path: Path) -> None:
    lines = long_table(unit=False) + "16,runtime,130\n16,state,FAILED\n"
    (file := tmp_path / "long.csv").write_text(lines)
    runs = read_runs(file)
    assert runs.frame["runtime_s"].to_list() == [440.0, 450.0, 240.0, 130.0]
    assert runs.frame["energy_j"].to_list() == [80.0, 81.0, 49.0, None]
    assert runs.cut_off.tolist() == [False, False, False, True]


def test_what_pandas_writes_of_grouped_runs_is_read(tmp_path: Path) -> None:
    file = tmp_path / "agg.csv"
    file.write_text(
        ",,runtime_s,runtime_s,energy_kJ,energy_kJ\n,,mean,std,mean,std\napp,nodes,,,,\n"
        "lbm,1,800,9,270,3\nlbm,2,430,8,280,4\n"
    )
    runs = read_runs(file)
    assert runs.frame.select("app", "nodes").rows() == [("lbm", 1), ("lbm", 2)]
    assert runs.frame["runtime_s"].to_list() == [800.0, 430.0]
    assert runs.frame["energy_j"].to_list() == [270e3, 280e3]


def test_pandas_writes_its_grouped_runs_so() -> None:
    pandas = pytest.importorskip("pandas")
    from rheostat.measurement.runs.table_shapes import levels_joined

    runs = pandas.DataFrame({"n": [1, 1, 2], "time": [9.0, 7.0, 5.0]})
    text = runs.groupby("n").agg({"time": ["mean", "max"]}).to_csv()
    rows = levels_joined([line.split(",") for line in text.split()])
    assert rows == [["n", "time mean", "time max"], ["1", "8.0", "9.0"], ["2", "5.0", "5.0"]]


def test_a_table_of_words_keeps_its_rows() -> None:
    from rheostat.measurement.runs.table_shapes import levels_joined

    rows = [["app", "what"], ["mean", "max"], ["lbm", "min"]]
    assert levels_joined(rows) == rows


def test_a_name_in_the_first_row_of_a_block_is_that_of_all_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "merged.csv"
    file.write_text("Code,Nodes,Time [s]\nWRF,1,500\n,2,270\nAlya,1,800\n,2,410\n")
    runs = read_runs(file)
    assert runs.frame["app"].to_list() == ["WRF", "WRF", "Alya", "Alya"]
    file.write_text("Code,Nodes,Time [s]\nWRF,1,500\n,2,270\nWRF,1,510\n,2,410\n")
    assert read_runs(file).frame["app"].to_list() == ["WRF", None, "WRF", None]


def test_headings_that_stand_again_are_no_runs(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    file.write_text(
        "freq_MHz,elapsed_s,pkg_J\n1600,82.0,8102\nfreq_MHz,elapsed_s,pkg_J\n2000,74.1,8144\n"
    )
    runs = read_runs(file)
    assert runs.frame["runtime_s"].to_list() == [82.0, 74.1]
    assert any("headings stand again in 1 lines" in n.message for n in runs.notes)


def test_a_table_with_headings_of_sacct_keeps_columns_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(
        "JobID,User,App,Submit,Start,End,ElapsedRaw,ReqNodes,NNodes,EnergyJ,State\n"
        "1,u,lbm,2026-10-01T00:00:00,2026-10-01T00:01:00,2026-10-01T00:11:00,600,4,4,90000,COMPLETED\n"
    )
    runs = read(file)
    assert runs.frame.select("app", "energy_j", "runtime_s", "nodes_requested").row(0) == (
        "lbm", 90000.0, 600.0, 4)  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        "threads,metric,value,units\n4,runtime,440,1\n4,energy,80,2\n",  # numbers are no units
        "runtime,metric,value\n4,runtime,440\n4,energy,80\n",  # named as another column is
    ],
)
def test_columns_that_only_look_like_those_of_a_long_table_stay(tmp_path: Path, lines: str) -> None:
    (file := tmp_path / "odd.csv").write_text(lines)
    frame, notes = quantities_across(read_delimited(file)[0])
    assert len(frame) in (1, 2)
    assert {"4"} == {str(x) for x in frame[frame.columns[1]].to_list()}
    assert notes == [] or "read as" in notes[0].message
