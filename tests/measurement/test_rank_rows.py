"""Tables with a row for each rank of a run: one run each, as long as its slowest rank."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read

TIMES = {1: (9.0, 8.0), 2: (4.0, 4.4, 5.0, 4.1)}
REPEATS = [
    (nodes, rank, t * s) for s in (1, 2) for nodes in TIMES for rank, t in enumerate(TIMES[nodes])
]


def lines(rows: list[tuple[float, ...]], heads: str) -> str:
    return "\n".join([heads, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.mark.parametrize("order", ["as run", "by rank"])
@pytest.mark.parametrize("heading", ["rank", "MPI rank", "proc_id"])
def test_a_run_is_as_long_as_its_slowest_rank(tmp_path, order, heading):
    rows = REPEATS if order == "as run" else sorted(REPEATS, key=lambda row: row[1])
    (file := tmp_path / "runs.csv").write_text(lines(rows, f"nodes,{heading},time_s"))
    jobs = read(file)
    assert sorted(jobs.frame.select("nodes", "runtime_s").rows()) == [
        (1, 9.0), (1, 18.0), (2, 5.0), (2, 10.0),
    ]  # fmt: skip
    assert any("4 runs, each as long as its slowest rank" in n.message for n in jobs.notes)


def test_energy_is_summed_where_it_says_per_rank_and_refused_where_it_may_be_of_a_node(tmp_path):
    rows = [(*row, 100 + row[1]) for row in REPEATS]
    (each := tmp_path / "each.csv").write_text(lines(rows, "nodes,rank,time_s,energy_per_rank_J"))
    assert read(each).frame["energy_j"].to_list() == [201.0, 406.0] * 2
    (either := tmp_path / "either.csv").write_text(lines(rows, "nodes,rank,time_s,energy (J)"))
    with pytest.raises(DataError, match=r"--column 'energy_per_rank_j=energy \(J\)'"):
        read(either)
    named = {"columns": {"energy_per_rank_j": "energy (J)"}}
    assert read(either, options=named).frame["energy_j"].to_list() == [201.0, 406.0] * 2
    whole = [(*row, 300.0) for row in REPEATS]
    either.write_text(lines(whole, "nodes,rank,time_s,energy (J)"))
    assert read(either).frame["energy_j"].to_list() == [300.0] * 4


def test_a_rank_that_is_a_setting_or_a_place_in_a_list_is_no_part_of_a_run(tmp_path):
    (adapters := tmp_path / "lora.csv").write_text(lines(
        [(r, lr, 9.0 + r) for r in (8, 16, 32) for lr in (1, 2)], "rank,lr,time_s"))  # fmt: skip
    assert len(read(adapters)) == 6
    (best := tmp_path / "best.csv").write_text(lines(
        [(i, n, 9.0 + i) for i, n in enumerate((4, 2, 1) * 2)], "rank,nodes,time_s"))  # fmt: skip
    assert len(read(best)) == 6
