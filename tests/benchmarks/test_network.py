"""The benchmark of iteration times: what folders of others give, and which are left out."""

from __future__ import annotations

import json
import sys

import network
import pytest
from network_changes import beside_ours

KEYS = {"run", "app", "method", "horizon", "seed", "mape", "coverage", "ms_per_answer"}


def run_at(folder, ranks: int, jobs: int, work: str = "") -> None:
    """A folder with a log of so many iterations of each job, and jobs with their terminals."""
    folder.mkdir(parents=True)
    lines = [
        f"ITERATION {i} node {r + 10 * j} job {j} rank {r} time {1e6 * (i + 1) * (j + 1) + r}"
        for j in range(jobs) for i in range(16 - 3 * j) for r in range(ranks + j)
    ]  # fmt: skip
    (folder / "iterations.txt").write_text("\n".join(lines) + "\n")
    if work:
        (folder / "wl.conf").write_text(work)
        (folder / "alloc.conf").write_text("".join(
            " ".join(str(r + 10 * j) for r in range(ranks + j)) + "\n" for j in range(jobs)
        ))  # fmt: skip


def called(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["network.py", "--quick", "--json", *map(str, words)])
    network.main()


def test_folders_of_others_have_rows_and_a_bad_one_is_one_message(tmp_path, monkeypatch, capsys):
    run_at(tmp_path / "simgrid72", 2, 2, "2 nekbone 0 0\n3 ./hacc.json 0 0\n")
    run_at(tmp_path / "plain", 1, 1)
    run_at(tmp_path / "short", 1, 1)
    (tmp_path / "short" / "iterations.txt").write_text("ITERATION 0 node 0 job 0 rank 0 time 5\n")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "iterations.txt").write_text("hello\n")
    (tmp_path / "notes").mkdir()
    called(monkeypatch, "--data", tmp_path)
    out, err = capsys.readouterr()
    rows = json.loads(out)["rows"]
    assert all(set(r) == KEYS for r in rows)
    assert {(r["run"], r["app"]) for r in rows} == {
        ("simgrid72", "nekbone"), ("simgrid72", "hacc"), ("plain", "job-0")}  # fmt: skip
    assert {r["method"] for r in rows} == {"ours", "last", "running-median", "mean-10",
                                           "noise-floor"}  # fmt: skip
    assert {r["horizon"] for r in rows} == {1, 8}
    assert max(r["mape"] for r in rows) < 1e-3
    said = [line for line in err.splitlines() if "left out" in line]
    assert [line.split(" is left out: ")[0] for line in said] == ["bad", "notes", "short, job-0"]
    assert "got none in 1 lines" in said[0]


def test_one_application_is_asked_for_by_name_and_one_run_by_its_folder(
    tmp_path, monkeypatch, capsys
):
    run_at(tmp_path / "one", 2, 2, "2 nekbone 0 0\n3 ./hacc.json 0 0\n")
    called(monkeypatch, "--data", tmp_path / "one", "--app", "hacc")
    assert {r["app"] for r in json.loads(capsys.readouterr().out)["rows"]} == {"hacc"}
    with pytest.raises(SystemExit, match="expected one of hacc, nekbone, got milc"):
        called(monkeypatch, "--data", tmp_path / "one", "--app", "milc")
    with pytest.raises(SystemExit, match="no run in"):
        called(monkeypatch, "--data", tmp_path / "none")


def test_savings_are_compared_run_by_run_whatever_their_order():
    """Ours saves 2 to 4 points more on each run: an interval of the means would hold 0."""
    rows = [
        {"run": "steady", "seed": seed, "method": method, "saved": (10 * seed + more) / 100,
         "error": 0.02 if method == "last" and seed < 2 else 0.01}
        for method, flip in (("last", 1), ("ours", -1))
        for seed in range(10)[::flip]
        for more in [(2 + seed % 3) * (method == "ours")]
    ]  # fmt: skip
    (line,) = beside_ours(rows)
    assert line.startswith("ours less last: 2.9 [2.4, 3.4] points of the iterations saved, 20.0 [")
    assert line.endswith("points of the runs within 1 %; saves more on 10, less on 0 of 10")
