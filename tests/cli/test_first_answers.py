"""Small things between a command and its first answer: hints, refusals in time, digits."""

from __future__ import annotations

import polars as pl
import pytest

from tests.cli.telling import told


@pytest.mark.parametrize(
    ("command", "missing"),
    [("simulate", "submit_s"), ("rank", "prompt"), ("calibrate", "submit_s")],
)
def test_a_table_of_other_names_is_told_which_option_names_them(command, missing, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("when,size_in,size_out\n1,2,3\n2,3,4\n")
    code, _, err = told(capsys, "llm", command, tmp_path / "t.csv")
    assert code == 1
    assert f"--column {missing}=THEIRS; it has when, size_in, size_out" in err


def test_a_figure_that_cannot_be_drawn_is_refused_before_the_runs(tmp_path, capsys):
    (tmp_path / "space.toml").write_text("[knobs]\nnodes = [1, 2]\n")
    ran = tmp_path / "ran"
    code, _, err = told(capsys, "search", tmp_path / "space.toml", "--objectives", "runtime_s",
                        "--measure", f"touch {ran}", "--figure", tmp_path / "f.svg")  # fmt: skip
    assert code == 2
    assert "a front is drawn of two --objectives" in " ".join(err.replace("│", " ").split())
    assert not ran.exists()


def test_advice_in_a_file_is_not_printed_as_well(log, model, tmp_path, capsys):
    call = ["decide", log, "--model", model]
    code, out, err = told(capsys, *call, "--out", tmp_path / "advice.csv")
    assert (code, out) == (0, "")
    assert f"wrote {tmp_path / 'advice.csv'}" in err
    assert len(pl.read_csv(tmp_path / "advice.csv")) == 500


def test_a_name_that_holds_the_delimiter_is_joined(tmp_path, capsys):
    lines = [
        "JobID|JobName|State|Submit|Start|End|NNodes|Elapsed",
        "1|a|b|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:02:00|1|00:01:00",
        "2|c|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:02:00|1|00:01:00",
    ]
    (tmp_path / "s.txt").write_text("\n".join(lines) + "\n")
    err = told(capsys, "read", tmp_path / "s.txt", "--option", "rejoin=End")[2]
    assert "--option rejoin=FIELD names the one that may hold it" in err
    code, out, err = told(capsys, "summary", tmp_path / "s.txt")
    assert code == 0
    assert "a field that holds the delimiter was joined again (row 1)" in err
    assert "2 jobs from 2026-10-01" in out
