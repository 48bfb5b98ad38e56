"""`rheostat read` and `rheostat fetch`: results on stdout, the rest on stderr, one document."""

from __future__ import annotations

import gzip
import json

import pytest

from rheostat.cli import run
from rheostat.core.jobs import JobTable
from rheostat.measurement.fetch import sources


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("n,t,fans_W\n1,60,100\n2,35,190\n4,-1,370\n")
    return path


def test_a_pipe_gets_tab_separated_columns_and_the_notes_go_to_stderr(runs, capsys):
    flags = ["--column", "nodes=n", "--column", "runtime_s=t", "--known", "fans_w=end"]
    assert run(["read", str(runs), *flags]) == 0
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["column", "unit", "known", "missing", "min", "median", "max",
                       "meaning"]  # fmt: skip
    assert {r[0]: (r[1], r[2]) for r in rows[1:]} == {
        "nodes": ("", "SUBMIT"), "runtime_s": ("s", "END"), "fans_w": ("W", "END")}  # fmt: skip
    assert "runs.csv, read as runs: 2 of 3 rows (1 left out) are here, with 3 columns." in err
    assert "note: runtime_s is negative (row 3)" in err


def test_json_is_one_document_with_counts_and_notes(runs, tmp_path, capsys):
    (tmp_path / "m.toml").write_text('[columns]\nnodes = "n"\nruntime_s = "t"\n')
    out_file = tmp_path / "out.parquet"
    argv = ["read", str(runs), "--json", "--map", str(tmp_path / "m.toml"), "--out", str(out_file)]
    assert run(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "rheostat.read/1"
    assert (found["format"], found["rows"], found["dropped"]) == ("runs", 2, 1)
    gone = next(n for n in found["notes"] if n["dropped"])
    assert gone["rows"] == [2]
    assert found["columns"][0] == {"column": "nodes", "unit": "", "known": "SUBMIT", "missing": 0,
                                   "min": 1, "median": 1.5, "max": 2,
                                   "meaning": "from n"}  # fmt: skip
    assert JobTable.read_parquet(out_file).frame["nodes"].to_list() == [1, 2]


def test_wrong_files_and_wrong_flags_have_their_exit_codes(runs, tmp_path, capsys):
    assert run(["read", str(tmp_path / "nothing")]) == 1
    assert "no such file" in capsys.readouterr().err
    assert run(["read", str(runs), "--column", "nodes"]) == 2
    assert run(["read", str(runs), "--format", "tape"]) == 1
    assert "expected one of rheostat, store, adastra" in capsys.readouterr().err


def test_fetch_prints_the_path_and_says_how_it_was_checked(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sources, "ARCHIVE", "http://127.0.0.1:9")
    assert run(["fetch", "swf:KTH-SP2-1996-2.1-cln", "--cache", str(tmp_path)]) == 1
    assert "run the same command again" in capsys.readouterr().err
    line = "1 0 10 100 4 -1 -1 8 3600 2048 1 3 2 7 1 -1 -1 -1\n"
    data = gzip.compress(line.encode())
    file = tmp_path / "KTH-SP2-1996-2.1-cln.swf.gz"
    file.write_bytes(data)
    import hashlib

    url = "http://127.0.0.1:9/l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz"
    entry = {"url": url, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (tmp_path / "fetched.json").write_text(json.dumps({file.name: entry}))
    argv = ["fetch", "swf:KTH-SP2-1996-2.1-cln", "--cache", str(tmp_path)]
    assert run(argv) == 0
    out, err = capsys.readouterr()
    assert out.strip() == str(file)
    assert "checksum as at the first download" in err
    assert run([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checked"] == "lock"
    assert run(["fetch", "pm1000"]) == 1
