"""No file makes its reader wait for ever, or ask for more memory than files of its kind take."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.jobs import JobTable
from rheostat.core.storage import bounded_read, file_kinds
from rheostat.core.storage.archive import read_archive
from rheostat.core.storage.bounded_read import checked_members, read_bytes
from rheostat.core.storage.file_kinds import describe_file, kind_in
from rheostat.core.storage.files import read_json
from rheostat.errors import DataError, ModelFileError
from rheostat.measurement import lines, parquet
from rheostat.measurement.graphs import read_graph as graph_files
from rheostat.measurement.graphs.read_graph import read_graph
from rheostat.measurement.network.port_series import read_ports
from rheostat.measurement.read import read
from rheostat.measurement.serving.frames import frame_of
from rheostat.simulation.comparison.sweep import finished
from rheostat.tradeoff.search_journal import SearchJournal


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A terabyte that takes no space."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**40)
    return tmp_path / "sparse"


def test_what_a_file_is_is_asked_without_waiting_for_a_pipe_or_reading_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        assert kind_in(path) is None
        assert describe_file(path) == "a pipe or a device"
        for opened in (read, read_graph, read_archive):
            with pytest.raises(DataError, match="got a pipe or a device"):
                opened(path)


def test_a_sparse_file_is_refused_before_it_is_read(sparse):
    assert kind_in(sparse) is None
    for opened in (read_bytes, read_archive, read, read_graph):
        with pytest.raises(DataError, match=r"expected|is binary data"):
            opened(sparse)


def test_packed_nothing_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "SMALL_B", 2**20)
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"app,nodes\n" + b"lbm,1\n" * 1_000_000))
    assert bomb.stat().st_size * 100 < 6_000_000
    with pytest.raises(DataError, match=r"unpacks to more than .* bytes"):
        list(lines.raw_lines(bomb))
    with pytest.raises(DataError, match="it goes on"):
        lines.whole(bomb)
    monkeypatch.setattr(lines, "LONGEST_B", 3)
    with pytest.raises(DataError, match="a line is longer"):
        list(lines.raw_lines(bomb))


def test_a_file_of_blank_lines_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BLANK", 10)
    for content, refused in ((b"a\n" + b"\r\n" * 10 + b"b\n", False), (b"\n" * 11, True)):
        (tmp_path / "log").write_bytes(gzip.compress(content, mtime=0))
        if refused:
            with pytest.raises(DataError, match="more than 10 blank lines"):
                list(lines.raw_lines(tmp_path / "log"))
        else:
            assert len(list(lines.raw_lines(tmp_path / "log"))) == 12


def test_members_of_a_zip_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_read, "MOST_B", 10_000)
    file = io.BytesIO()
    np.savez_compressed(file, t=np.zeros(1000), A=np.zeros(1000))
    with pytest.raises(ValueError, match=r"unpack to 16,\d+ bytes"):
        checked_members(zipfile.ZipFile(file))
    (tmp_path / "x.npz").write_bytes(file.getvalue())
    with pytest.raises(DataError, match=r"unpack to 16,\d+ bytes"):
        read_ports(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "model", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", '{"format": "rheostat"}')
        made.writestr("part", bytes(20_000))
    with pytest.raises(ModelFileError, match="damaged or of another kind"):
        read_archive(tmp_path / "model")


def test_a_parquet_file_of_few_bytes_and_very_many_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_read, "MOST_ROWS", 1000)
    pl.DataFrame({"nodes": np.ones(1_000_000, int)}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"unpacks to 1,000,000 rows, at most \d+"):
        parquet.scan(tmp_path / "x.parquet")


def test_tables_journals_and_results_have_a_size_and_rows(sparse, tmp_path, monkeypatch):
    for opened in (finished, csv_read, JobTable.read_parquet, held_journal):
        with pytest.raises(DataError, match="expected at most 4,096 MiB"):
            opened(sparse)
    monkeypatch.setattr(bounded_read, "MOST_ROWS", 1000)
    table({"nodes": np.ones(1_000_000, int)}).write_parquet(tmp_path / "x.parquet")
    for opened in (JobTable.read_parquet, csv_read):
        with pytest.raises(DataError, match="unpacks to 1,000,000 rows"):
            opened(tmp_path / "x.parquet")


def csv_read(path):
    return frame_of(path, "table of requests")


def held_journal(path):
    nobody = SimpleNamespace(space=None, objectives=[])
    with SearchJournal(path, nobody):
        pass


def test_what_is_all_brackets_or_too_long_a_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file_kinds, "MOST_OBJECTS_B", 2**20)
    monkeypatch.setattr(graph_files, "MOST_HLO_B", 1000)
    for name, text, said in (
        ("a.json", "{" + '"a": {},' * 10_000 + '"b": 1}', "would take more than 1 MiB"),
        ("b.jsonl", "[" + "[]," * 20_000 + "1]\n", "would take more than 1 MiB"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=said):
            read_json(tmp_path / name)
        assert kind_in(tmp_path / name) is None
    with pytest.raises(DataError, match="would take more than 1 MiB"):
        read_graph(f"{tmp_path / 'b.jsonl'}#0")
    (tmp_path / "x.hlo").write_text("HloModule x\n" + "\n" * 1000)
    with pytest.raises(DataError, match="expected at most"):
        read_graph(tmp_path / "x.hlo")


@pytest.mark.slow
def test_the_command_line_answers_of_a_device_and_a_pipe_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", str(tmp_path / "pipe")):
        command = [sys.executable, "-m", "rheostat", "dnn", "import", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
        assert done.returncode in {1, 2, 3}
        assert "got a pipe or a device" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_packed_file_that_is_no_graph_is_refused_by_its_beginning(tmp_path):
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(bytes(2**20)) * 60)
    tracemalloc.start()
    with pytest.raises(DataError, match="expected HLO text"):
        read_graph(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20
