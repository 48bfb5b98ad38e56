"""Job numbers that begin anew are other jobs; those of a requeued job are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.measurement.slurm.sacct import read_sacct

HEAD = "JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocNodes"
FIRST = "7|ann|NODE_FAIL|2026-05-01T00:00:00|2026-05-01T00:00:00|2026-05-01T01:00:00|3600|2"


@pytest.mark.parametrize(
    ("second", "jobs", "earlier_node_h"),
    [
        ("7|ann|CD|2026-05-01T01:00:00|2026-05-01T09:00:00|2026-05-01T10:00:00|3600|2", 1, 2),
        ("7|bob|CD|2026-05-01T01:00:00|2026-05-01T09:00:00|2026-05-01T10:00:00|3600|2", 2, 0),
        ("7|ann|CD|2026-08-01T00:00:00|2026-08-01T00:00:00|2026-08-01T01:00:00|3600|2", 2, 0),
    ],
    ids=["requeued", "of another user", "months later"],
)  # fmt: skip
def test_a_number_of_two_runs_is_one_job_where_slurm_could_requeue_it(
    tmp_path: Path, second: str, jobs: int, earlier_node_h: float
) -> None:
    log = tmp_path / "jobs.psv"
    log.write_text("\n".join([HEAD, FIRST, second, ""]))
    table = read_sacct(log)
    assert len(table) == jobs
    assert table.frame["runtime_s"].sum() == 3600.0 * jobs
    hours = (
        table.frame["requeued_node_hours"].sum() if "requeued_node_hours" in table.columns else 0
    )
    assert hours == earlier_node_h
    assert any("begin anew" in note.message for note in table.notes) == (jobs == 2)
