"""The store of jobs: each job once, whatever order, state or kill."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.job_logs.job_store import JobStore, Merged
from rheostat.measurement.job_logs.node_sharing import (
    count_nodes,
    node_hours_in_use,
    nodes_of,
    shared_nodes,
)
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.slurm.accounting import sacct_pieces
from rheostat.measurement.slurm.sacct import read_sacct
from rheostat.questions.site.ingest import ingest

HEADER = "JobID|Cluster|State|Submit|Start|End|ElapsedRaw|NNodes|ConsumedEnergyRaw|NodeList\n"


def line(job, state, submit, start, end, energy="", nodes="n1"):
    elapsed = end - start if start != "Unknown" and end != "Unknown" else 0
    return f"{job}|lab|{state}|{submit}|{start}|{end}|{elapsed}|1|{energy}|{nodes}\n"


@pytest.fixture
def export(tmp_path):
    count = itertools.count()

    def write(*lines):
        path = tmp_path / f"export{next(count)}.txt"
        path.write_text(HEADER + "".join(lines))
        return path

    return write


def test_a_job_that_goes_on_is_there_once_with_its_latest_state(export, tmp_path):
    store = tmp_path / "store"
    seen = [
        export(line(7, "PENDING", 100, "Unknown", "Unknown", nodes="None assigned")),
        export(line(7, "RUNNING", 100, 150, 160)),
        export(line(7, "COMPLETED", 100, 150, 400)),
        export(line(7, "COMPLETED", 100, 150, 400, energy="5000")),
    ]
    assert [ingest(store, e).merged for e in seen] == [Merged(new=1)] + 3 * [Merged(changed=1)]
    for older in seen:
        assert ingest(store, older).merged == Merged(unchanged=1)
    row = read(store).frame.row(0, named=True)
    assert (row["state"], row["runtime_s"], row["energy_j"]) == ("COMPLETED", 250.0, 5000.0)


@pytest.mark.parametrize("order", itertools.permutations(range(3)), ids=str)
def test_the_order_of_exports_does_not_matter(export, tmp_path, order):
    parts = [
        export(
            line(1, "RUNNING", 100, 150, 160),
            line(2, "COMPLETED", 3_000_000, 3_100_000, 3_200_000, "7"),
        ),
        export(line(1, "COMPLETED", 100, 150, 900, "77"), line(3, "FAILED", 200, 210, 220)),
        export(
            line(2, "COMPLETED", 3_000_000, 3_100_000, 3_200_000), line(1, "RUNNING", 100, 150, 500)
        ),
    ]
    for k in order:
        ingest(tmp_path / "store", parts[k])
    frame = read(tmp_path / "store").frame.select("job_id", "state", "runtime_s", "energy_j")
    assert frame.rows() == [
        ("1", "COMPLETED", 750.0, 77.0), ("3", "FAILED", 10.0, None), ("2", "COMPLETED", 1e5, 7.0)
    ]  # fmt: skip


def test_a_requeued_run_that_never_ended_gives_way_and_a_reused_number_does_not(export, tmp_path):
    store = tmp_path / "store"
    ingest(store, export(line(7, "RUNNING", 100, 150, 160), line(8, "COMPLETED", 100, 150, 160)))
    ingest(
        store,
        export(
            line(7, "COMPLETED", 4_000_000, 4_100_000, 4_200_000),
            line(8, "FAILED", 5_000_000, 6_000_000, 7_000_000),
        ),
    )
    assert sorted(read(store).frame["job_id"].to_list()) == ["7", "8", "8"]


KILLED = """
import os, signal, sys
from rheostat.questions.site.ingest import ingest
left, replace = [int(sys.argv[3])], os.replace
def killed(*names):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    replace(*names)
os.replace = killed
ingest(sys.argv[1], sys.argv[2])
"""


@pytest.mark.slow
def test_killed_before_any_of_its_writes_it_ends_as_if_it_had_not_been(export, tmp_path):
    days = [
        line(k, "COMPLETED", 2_700_000 * k, 2_700_000 * k + 5, 2_700_000 * k + 65, k)
        for k in range(1, 4)
    ]
    whole, kills = export(*days), 0
    ingest(tmp_path / "whole", whole)
    wanted = read(tmp_path / "whole").frame
    for at in range(9):
        store = tmp_path / f"store{at}"
        call = [sys.executable, "-c", KILLED, str(store), str(whole), str(at)]
        code = subprocess.run(
            call, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
        ).returncode
        kills += code == -signal.SIGKILL
        ingest(store, whole)
        assert read(store).frame.equals(wanted), at
        if not code:
            break
    assert (kills, code) == (4, 0)  # the marker and three months


def test_energy_of_the_recorded_lab_is_counted_once(shared_data, tmp_path):
    whole = read_sacct(shared_data / "slurm" / "sacct_P.psv").frame["energy_j"].sum()
    for name in ("sacct_P.psv", "sacct_all_fields.psv", "sacct.json", "sacct_P.psv"):
        ingest(tmp_path, shared_data / "slurm" / name)
    jobs = read(tmp_path)
    assert (len(jobs), jobs.frame["energy_j"].sum()) == (18, whole)
    assert jobs.frame["shared"].sum() > 0


def test_both_dialects_of_json_go_in(shared_data, tmp_path):
    ingest(tmp_path, shared_data / "slurm" / "v24.11" / "sacct.json")
    assert ingest(tmp_path, shared_data / "slurm" / "v24.11" / "sacct_P.psv").merged.new == 0


def test_an_export_without_a_line_end_or_an_end_is_refused(tmp_path, monkeypatch):
    from rheostat.measurement import lines

    monkeypatch.setattr(lines, "LONGEST_B", 1000)
    (tmp_path / "x").write_text("JobID|State" + "|x" * 999 + "\n")
    for path, said in ((tmp_path / "x", "a line is longer"), ("/dev/zero", "device")):
        with pytest.raises(DataError, match=said):
            list(sacct_pieces(path))


@pytest.mark.parametrize("most", [1, 2, 5, 1000])
def test_pieces_of_an_export_are_the_whole(shared_data, most):
    path = shared_data / "slurm" / "sacct_P.psv"
    whole = read_sacct(path).frame.drop("shared")
    parts = [p.table().frame for p in sacct_pieces(path, lines_at_once=most)]
    assert len(parts) > 1 or most == 1000
    assert pl.concat(parts, how="diagonal_relaxed").equals(whole)


def test_a_waiting_array_is_no_job(export, tmp_path):
    lines = [
        line("5_[2-9]", "PENDING", 100, "Unknown", "Unknown"),
        line("5_1", "RUNNING", 100, 150, 160),
    ]
    answer = ingest(tmp_path / "store", export(*lines))
    assert (answer.merged.new, "have not started" in answer.notes[-1]) == (1, True)


def test_other_folders_and_later_stores_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="that is not empty"):
        JobStore(tmp_path, new=True)
    with pytest.raises(DataError, match="is no store of jobs"):
        JobStore(tmp_path)
    store = JobStore(tmp_path / "s", new=True)
    assert guess_format(store.folder) == "store"
    with pytest.raises(DataError, match="holds no job yet"):
        read(store.folder)
    store.marker.write_text(json.dumps({"schema": "rheostat.store/2"}))
    with pytest.raises(DataError, match="is of version 2, this release reads up to 1"):
        read(store.folder)


def test_two_writers_do_not_meet(export, tmp_path):
    store = JobStore(tmp_path / "s", new=True)
    with store.writing(), pytest.raises(DataError, match="being written by another"):
        ingest(store.folder, export(line(1, "COMPLETED", 1, 2, 3)))


def test_lists_of_nodes_unfold_as_scontrol_shows_them():
    assert nodes_of("a[1-3,09]x,b,c2") == ["a1x", "a2x", "a3x", "a09x", "b", "c2"]
    assert count_nodes("a[1-3,09]x,b,c2") == 6
    for bad in ("n[1-", "n[a]", "n]", "n[1-,3]", "n[3-1]", "n[1--2]"):
        with pytest.raises(DataError, match="node_list"):
            nodes_of(bad)
    with pytest.raises(DataError, match="more than"):
        nodes_of("n[1-999999999]")


def test_sharing_agrees_with_every_pair_compared():
    runs = [
        (f"n{(7 * k) % 4}", 3.0 * ((5 * k) % 17), 3.0 * ((5 * k) % 17) + 1 + k % 5)
        for k in range(60)
    ]
    frame = pl.DataFrame(runs, ["node_list", "start_s", "end_s"], orient="row")
    pairs = [
        any(i != j and a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for j, b in enumerate(runs))
        for i, a in enumerate(runs)
    ]
    assert shared_nodes(frame).to_list() == pairs
    assert shared_nodes(frame, names_at_once=3).to_list() == pairs  # in stretches of time
    assert 0 < sum(pairs) < len(pairs)


RUNS = st.tuples(*(st.integers(0, most) for most in (6, 4, 40, 30)))


@given(st.lists(RUNS, min_size=1, max_size=40), st.integers(1, 9))
@settings(deadline=None, max_examples=50)
def test_stretches_of_time_change_neither_company_nor_hours(jobs, names):
    rows, seconds = [], set()
    for low, more, start, runs in jobs:
        rows.append((f"n[{low}-{low + more}]", float(start), float(start + runs)))
        nodes, moments = range(low, low + more + 1), range(start, start + runs)
        seconds |= set(itertools.product(nodes, moments))
    frame = pl.DataFrame(rows, ["node_list", "start_s", "end_s"], orient="row")
    assert shared_nodes(frame, names).to_list() == shared_nodes(frame).to_list()
    assert math.isclose(node_hours_in_use(frame, names), len(seconds) / 3600.0)


def test_power_of_monitoring_stands_where_accounting_has_none(tmp_path):
    store = JobStore(tmp_path, new=True)
    store.merge(table({"job_id": ["1", "2"], "submit_s": [5.0, 6.0], "energy_j": [10.0, None]}))
    measured = {"job_id": ["1", "2"], "submit_s": [5.0, 6.0], "energy_j": [99.0, 20.0],
                "energy_source": ["prometheus"] * 2, "energy_covered": [1.0, 0.9],
                "power_w": [9.0, 2.0], "cluster": ["", ""]}  # fmt: skip
    store.merge(table(measured), "power")
    frame = store.read().frame
    assert frame["energy_j"].to_list() == [10.0, 20.0]
    assert frame["energy_source"].to_list() == ["accounting", "prometheus"]
    assert frame["energy_covered"].to_list() == [None, 0.9]


def test_joules_of_a_node_that_was_shared_give_way_to_those_of_the_job(tmp_path):
    store = JobStore(tmp_path, new=True)
    jobs = {"job_id": ["1", "2", "3"], "submit_s": [5.0] * 3, "start_s": [5.0, 6.0, 90.0],
            "end_s": [50.0, 60.0, 95.0], "node_list": ["n1", "n1", "n1"],
            "energy_j": [900.0] * 3, "power_w": [90.0] * 3}  # fmt: skip
    store.merge(table(jobs))
    measured = {"job_id": ["1", "2", "3"], "submit_s": [5.0] * 3, "energy_j": [40.0, None, 70.0],
                "energy_source": ["monitoring"] * 3, "energy_covered": [1.0, 0.1, 1.0],
                "power_w": [4.0, None, 7.0], "cluster": [""] * 3}  # fmt: skip
    store.merge(table(measured), "power")
    frame = store.read().frame.sort("job_id")
    assert frame["shared"].to_list() == [True, True, False]
    assert frame["energy_j"].to_list() == [40.0, 900.0, 900.0]
    assert frame["power_w"].to_list() == [4.0, 90.0, 90.0]
    assert frame["energy_source"].to_list() == ["monitoring", "accounting", "accounting"]


def test_lines_that_are_no_job_are_counted_and_stop_nothing(export, tmp_path):
    """Also where a piece, or a whole export, has no others."""
    good = line(7, "COMPLETED", 100, 150, 160)
    answer = ingest(tmp_path / "store", export(good, "8|a|b\n", "9|a|b\n"))
    assert answer.merged == Merged(new=1)
    assert [n for n in answer.notes if "field count differs" in n and "(2 rows)" in n]
    assert ingest(tmp_path / "store", export("8|a|b\n", "9|a|b\n")).merged == Merged()
