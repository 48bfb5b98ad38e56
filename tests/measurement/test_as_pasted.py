"""Tables as people paste them: sacct's columns for people, prose under a table, a meter's gap."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read

HEADINGS = ("JobID", "JobName", "NNodes", "Submit", "Start", "End", "Elapsed", "State")
WIDTHS = (-12, 10, 8, 19, 19, 19, 10, 10)


def printed(*jobs: tuple[str, ...], rule: bool = True) -> str:
    def line(cells):
        return (
            " ".join(
                f"{c:{'<' if w < 0 else '>'}{abs(w)}}" for c, w in zip(cells, WIDTHS, strict=True)
            )
            + " "
        )

    dashes = [line(["-" * abs(w) for w in WIDTHS])] if rule else []
    return "\n".join([line(HEADINGS), *dashes, *map(line, jobs)]) + "\n"


def job(number: str, name: str, nodes: str = "4", state: str = "COMPLETED") -> tuple[str, ...]:
    at = "2026-09-01T08:{:02}:00"
    return (number, name, nodes, at.format(0), at.format(10), at.format(40), "00:30:00", state)


def test_sacct_as_printed_for_people_is_read_and_cut_names_are_said(tmp_path):
    """All but the ends of names is whole there; it was refused."""
    (file := tmp_path / "pasted.txt").write_text(printed(
        job("17", "lammps_wa+"), job("17.batch", "batch", ""), job("18", "vasp", "2", "CANCELLED+"),
        job("1234567890", "a name too long for its column")))  # fmt: skip
    jobs = read(file)
    assert jobs.frame.select("job_id", "app", "nodes", "runtime_s").rows() == [
        ("17", "lammps_wa+", 4, 1800.0), ("18", "vasp", 2, 1800.0)]  # fmt: skip
    said = {n.message: n.count for n in jobs.notes}
    assert said["names that end in + were cut, so that two may be one here: add -P to sacct for "
                "whole ones"] == 1  # fmt: skip
    assert next(c for m, c in said.items() if m.startswith("field count differs")) == 1
    file.write_text(printed(job("17", "vasp"), rule=False))
    with pytest.raises(DataError, match="without the dashes below its headings: add -P to sacct"):
        read(file)


def test_prose_below_a_table_is_no_broken_row(tmp_path):
    """It was counted as rows that have not as many cells as the headings."""
    text = "| nodes | time (s) |\n|---|---|\n| 1 | 90 |\n| 2 | 50 |\n\nNode 3 is new.\nSee 42.\n"
    (file := tmp_path / "notes.md").write_text(text)
    said = [n.message for n in read(file).notes]
    assert "around the table, not read: Node 3 is new.; See 42." in said
    assert not any("cells" in m for m in said)


def test_a_line_over_a_gap_stands_for_what_was_not_sampled(tmp_path):
    """The mean of all would be of the idle part, too, where the gap lies in the busy one."""
    rows = [f"{1_760_000_000 + t},{300 if t < 1200 else 900}" for t in range(0, 3600, 10)
            if not 1800 <= t < 2400]  # fmt: skip
    (file := tmp_path / "meter.csv").write_text("\n".join(["timestamp,power_W", *rows]) + "\n")
    jobs = read(file)
    assert jobs.frame["energy_j"][0] == pytest.approx(300 * 1190 + 6000 + 900 * 2390)
    assert any("610 s of 3590 s without samples, a straight line" in n.message for n in jobs.notes)
