"""`--column ours==value`, and run times that are one over a rate."""

from __future__ import annotations

import pytest

from rheostat.core.jobs import Moment
from rheostat.measurement.read import read

SACCT = (
    "JobID|User|Submit|Start|End|State|NNodes|NCPUS\n"
    "1|ann|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T10:11:00|COMPLETED|2|64\n"
)
CSV = "app,nodes,submit_s,runtime_s\nlbm,2,0,600\nlbm,4,60,320\n"


@pytest.mark.parametrize(("text", "rows"), [(SACCT, 1), (CSV, 2)])
def test_a_value_of_all_rows_is_known_before_they_run(tmp_path, text, rows):
    (file := tmp_path / "log.csv").write_text(text)
    jobs = read(file, options={"columns": {"randomized": "=1", "arm": "=half speed"}})
    assert jobs.frame["randomized"].to_list() == [1] * rows
    assert jobs.frame["arm"].to_list() == ["half speed"] * rows
    assert jobs.schema["randomized"].known is jobs.schema["arm"].known is Moment.SUBMIT


@pytest.mark.parametrize(
    ("heading", "seconds", "of"),
    [
        ("Performance (ns/day)", 86400 / 40, "one ns"),
        ("steps_per_h", 3600 / 40, "one step"),
        ("speed", 1 / 40, "one unit of speed"),
    ],
)
def test_one_over_a_rate_is_in_seconds_and_says_of_what(tmp_path, heading, seconds, of):
    (file := tmp_path / "rate.csv").write_text(f"threads,{heading},power_w\n8,40,180\n")
    jobs = read(file, options={"columns": {"runtime_s": f"1/{heading}"}})
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([seconds])
    assert any(f"the time of {of};" in n.message for n in jobs.notes)


def test_a_factor_after_one_over_a_rate_multiplies(tmp_path):
    (file := tmp_path / "rate.csv").write_text("threads,speed,power_w\n8,40,180\n")
    jobs = read(file, options={"columns": {"runtime_s": "1/speed*100"}})
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([2.5])
