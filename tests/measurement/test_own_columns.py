"""Columns of a site's own beside those of sacct, and what is received there and not asked for."""

from __future__ import annotations

import pytest

import rheostat as rh

HEAD = "JobID|JobName|User|State|Submit|Start|End|ElapsedRaw"
ROW = "{}|wrf|ana|COMPLETED|2026-08-01T00:00:00|2026-08-01T00:01:00|2026-08-01T00:11:00|600"


def log(path, heads, cells):
    rows = [f"{ROW.format(k)}|{c}" for k, c in enumerate(cells, 1)]
    path.write_text("\n".join([f"{HEAD}|{heads}", *rows]) + "\n")
    return path


def test_columns_of_a_site_s_own_stay(tmp_path):
    file = log(tmp_path / "s.txt", "NNodes|script|randomized|EnergyJ|cells",
               ["2|12e4|1|9000|1000", "4|0a1b|0|8000|2000"])  # fmt: skip
    jobs = rh.read(file)
    assert jobs.frame["script"].to_list() == ["12e4", "0a1b"]
    assert jobs.frame["randomized"].to_list() == [1, 0]
    assert jobs.frame["cells"].to_list() == [1000, 2000]
    assert jobs.frame["energy_j"].to_list() == [9000, 8000]
    assert any("beside those of sacct: script, randomized" in n.message for n in jobs.notes)


def test_a_field_is_taken_for_one_of_ours(tmp_path):
    file = log(tmp_path / "s.txt", "NNodes|WorkDir|Size_GB", ["2|/a|16", "4|/b|32"])
    jobs = rh.read(file, options={"columns": {"script": "WorkDir", "memory_b": "Size_GB*1e9"}})
    assert jobs.frame["script"].to_list() == ["/a", "/b"]
    assert jobs.frame["memory_b"].to_list() == pytest.approx([16e9, 32e9])
    with pytest.raises(rh.errors.DataError, match="mapped column Sript is missing"):
        rh.read(file, options={"columns": {"script": "Sript"}})


def test_columns_of_components_are_those_of_the_job(tmp_path):
    file = log(tmp_path / "s.txt", "NNodes|script", ["2|a", "4|b"])
    file.write_text(file.read_text().replace("\n2|", "\n1+1|").replace("\n1|", "\n1+0|"))
    assert rh.read(file).frame["script"].to_list() == ["a"]


@pytest.mark.parametrize(("heads", "cells", "asked", "received"), [
    ("ReqNodes|NNodes|NCPUS", "2|4|160", None, 160), ("ReqCPUS|NCPUS", "80|160", 80, 160),
    ("NNodes|NCPUS", "4|160", 160, None), ("ReqCPUS|NCPUS|AllocCPUS", "80|160|170", 80, 170),
])  # fmt: skip
def test_cpus_of_a_job_that_ran_were_received(tmp_path, heads, cells, asked, received):
    """NCPUS is AllocCPUS; it stands for what was asked for where nothing else tells that."""
    jobs = rh.read(log(tmp_path / "s.txt", heads, [cells])).frame
    assert jobs["cores"][0] == asked
    assert jobs["cores_alloc"][0] == received
