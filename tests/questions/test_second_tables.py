"""A second table to learn from is read with the columns that are named for the first."""

from __future__ import annotations

from pathlib import Path

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.questions.inputs import beside

NAMED = ["runtime_s=1/speed", "energy_j=joule*1e3"]


@pytest.fixture
def their_table(tmp_path: Path) -> Path:
    file = tmp_path / "theirs.csv"
    file.write_text("app,threads,speed,joule\na,1,0.01,2\na,2,0.02,3\n")
    return file


def test_named_columns_are_those_of_the_second_table(their_table: Path) -> None:
    read = beside(their_table, NAMED, ["threads"])
    assert read.frame["runtime_s"].to_list() == [100.0, 50.0]
    assert read.frame["energy_j"].to_list() == [2000.0, 3000.0]


def test_a_second_table_may_have_headings_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "ours.csv"
    file.write_text("app,threads,runtime_s,joule\na,1,100,2\na,2,50,3\n")
    read = beside(file, NAMED, ["threads"])
    assert read.frame["runtime_s"].to_list() == [100.0, 50.0]
    assert read.frame["energy_j"].to_list() == [2000.0, 3000.0]


SACCT = (
    "JobID|JobName|State|Submit|Start|End|NNodes|ConsumedEnergyRaw\n"
    "1|lbm|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:11:00|2|9000\n"
)


def test_a_value_of_all_rows_reaches_a_second_log_that_has_no_such_column(tmp_path: Path) -> None:
    (file := tmp_path / "past.txt").write_text(SACCT)
    read = beside(file, ["randomized==1", "app==other", "user=Owner"], ["nodes"])
    assert read.frame["randomized"].to_list() == [1]
    assert read.frame["app"].to_list() == ["lbm"]


def test_what_would_turn_an_answer_round_is_refused_there_too(their_table: Path) -> None:
    with pytest.raises(DataError, match="--column"):
        beside(their_table, ["runtime_s:speed"], ["threads"])


def test_a_prior_without_names_of_programs_is_of_one(tmp_path: Path) -> None:
    rows = [f"{n},{cap},{90 / n**0.8 / cap},{cap * n**0.2}" for n in (1, 2, 4, 8) for cap in (1, 2)]
    (prior := tmp_path / "prior.csv").write_text("\n".join(["nodes,cap_w,time_s,energy_J", *rows]))
    (runs := tmp_path / "runs.csv").write_text("nodes,cap_w,time_s,energy_J\n1,1,200,2\n4,2,50,3\n")
    for objectives in ("runtime_s,energy_j", "runtime_s,energy_j,power_w"):
        answer = rh.next_settings(
            runs, knobs=["nodes=1,2,4,8", "cap_w=1,2"], prior=prior, objectives=objectives
        )
        assert len(answer.settings) == 1
        assert any("prior has no column app" in str(note) for note in answer.notes)
