"""A spreadsheet is read as the table in it; what cannot be is refused with what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import rheostat as rh
from rheostat.errors import DataError
from tests.measurement.workbooks import Cell, write_workbook

RUNS: list[list[Cell]] = [
    ["Nodes", "Run", "Time (min)", "Energy (Wh)"],
    [1, 1, 10.0, 50.0],
    [1, 2, 10.5, 52.0],
    [2, 1, 5.5, 55.0],
    [2, 2, 5.6, 56.0],
]
CSV = "\n".join(",".join(map(str, row)) for row in RUNS)


def as_csv(folder: Path, text: str = CSV) -> rh.JobTable:
    file = folder / "runs.csv"
    file.write_text(text)
    return rh.read(file)


def test_a_sheet_is_read_as_its_csv(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "runs.xlsx", {"Sheet1": RUNS})
    assert rh.read(book).frame.equals(as_csv(tmp_path).frame)
    assert rh.front(book, rule="deadline=6min").choice.setting == {"nodes": 2}


def test_rows_and_columns_without_a_word_are_none(tmp_path: Path) -> None:
    rows = [[None] * 5, *([None, *row] for row in RUNS[:3]), [None] * 5,
            *([None, *row] for row in RUNS[3:])]  # fmt: skip
    book = write_workbook(tmp_path / "runs.xlsx", {"Sheet1": rows})
    assert rh.read(book).frame.equals(as_csv(tmp_path).frame)


def test_a_title_with_a_comma_above_a_table_is_no_heading(tmp_path: Path) -> None:
    words: list[list[Cell]] = [[*row, "first" if i else "Remark"] for i, row in enumerate(RUNS)]
    title: list[Cell] = ["miniFE on n12, October", *[None] * 4]
    jobs = rh.read(write_workbook(tmp_path / "runs.xlsx", {"Sheet1": [title, *words]}))
    assert {"nodes", "Remark"} <= set(jobs.columns)
    assert any("not read: miniFE on n12, October" in n.message for n in jobs.notes)


def test_sheets_of_remarks_are_passed_over(tmp_path: Path) -> None:
    sheets = {"Read me": [["Sweep of October"]], "Runs": RUNS, "Empty": []}
    book = write_workbook(tmp_path / "runs.xlsx", sheets)
    assert len(rh.read(book)) == 4


def test_two_tables_are_refused_by_name(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "runs.xlsx", {"A100": RUNS, "H100": RUNS[:3]})
    with pytest.raises(DataError, match=r"got 2 in A100 \(5 rows\), H100 \(3 rows\); save"):
        rh.read(book)


def test_an_accounting_log_in_a_workbook_is_one(tmp_path: Path) -> None:
    heads: list[Cell] = ["JobID", "User", "Submit", "Start", "End", "NNodes", "State"]
    day = "2026-10-01T"
    job: list[Cell] = [
        7,
        "ann",
        f"{day}08:00:00",
        f"{day}08:10:00",
        f"{day}09:00:00",
        4,
        "COMPLETED",
    ]
    jobs = rh.read(write_workbook(tmp_path / "october.xlsx", {"jobs": [heads, job]}))
    assert jobs.numpy("runtime_s").tolist() == [3000.0]


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "runs.xlsx", {"Sheet1": RUNS})
    with zipfile.ZipFile(book, "a", zipfile.ZIP_DEFLATED) as members:
        members.writestr("xl/sharedStrings.xml", b" " * (65 << 20))
    with pytest.raises(DataError, match="unpacks to more than"):
        rh.read(book)


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "runs.xlsx", {"Sheet1": RUNS})
    with zipfile.ZipFile(tmp_path / "cut.xlsx", "w") as members:
        members.writestr("xl/workbook.xml", zipfile.ZipFile(book).read("xl/workbook.xml")[:90])
    with pytest.raises(DataError, match=r"cannot be read.*save its sheet as CSV"):
        rh.read(tmp_path / "cut.xlsx")
