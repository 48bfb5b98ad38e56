"""Reading and writing of files: ordinary ones only, whole or not at all."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat.core.storage import archive, bounded_read
from rheostat.core.storage.file_kinds import HEADER
from rheostat.core.storage.files import (
    named_errors,
    ordinary_file,
    read_json,
    read_text,
    read_toml,
    replace_file,
    replacing,
)
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, ModelFileError


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_pipe_a_device_and_a_folder_are_refused_before_they_are_opened(pipe, tmp_path):
    """Opening the pipe would wait for ever, and /dev/zero has no end."""
    for path, what in ((pipe, "a pipe or a device"), ("/dev/zero", "a pipe or a device"),
                       (tmp_path, "a folder"), (tmp_path / "none", "no such file"),
                       ("a\0b", "no such file"), ("x" * 5000, "File name too long")):  # fmt: skip
        for read in (ordinary_file, read_text, read_json, read_toml):
            with pytest.raises(DataError, match=what):
                read(path)


@pytest.mark.parametrize(
    ("content", "read", "said"),
    [
        (b"", read_text, "empty"),
        (b'{"a": "\xe9"}', read_json, "line 1 is not UTF-8"),
        (b"[" * 100_000, read_json, "nested too deep"),
        (b"a = " + b"[" * 100_000, read_toml, "expected TOML, got"),
        (b'{"a": NaN}', read_json, "NaN is no finite number"),
        (b"[1e999]", read_json, "1e999 is no finite number"),
        (b"9" * 5000, read_json, "expected JSON, got"),
        (b"a = 1\n[b]\nc = [1, nan]", read_toml, r"b.c\[1\]: expected a finite number, got nan"),
        (b"," * 10_000_000, read_json, "expected JSON, got"),
        (b"," * 10_000_000, read_toml, "expected TOML, got"),
    ],
)
def test_a_document_that_is_none_is_one_clear_error(tmp_path, content, read, said):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=said) as told:
        read(tmp_path / "x")
    assert len(str(told.value)) < 500 + len(str(tmp_path))


def failing(draft: Path) -> None:
    draft.write_text("half")
    raise OSError(28, "No space left on device", str(draft))


def test_a_write_that_fails_leaves_the_file_that_was_there_and_names_it(tmp_path):
    good = tmp_path / "good.csv"
    good.write_text("whole")
    with pytest.raises(OSError, match="No space") as told, replacing(good) as draft:
        failing(draft)
    assert told.value.filename == str(good)
    assert good.read_text() == "whole"
    assert os.listdir(tmp_path) == ["good.csv"]


def test_what_is_written_is_on_the_device_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(os, "fsync", lambda _fd: steps.append("fsync"))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("rename"), rename(a, b)))
    with replacing(tmp_path / "a" / "b.txt") as draft:
        draft.write_text("x")
    assert steps == ["fsync", "rename", "fsync"]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as draft:
        draft.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    with replacing("/dev/null") as draft:
        draft.write_text("gone")
    assert Path("/dev/null").is_char_device()


def broken(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def law(path: Path) -> None:
    from rheostat.prediction.saved_models.persist import save
    from rheostat.prediction.scaling_law import LawGP

    nodes = np.array([1, 2, 4, 8])
    runs = table({"app": ["a"] * 4, "nodes": nodes, "runtime_s": 100 / nodes + 5.0,
                  "power_w": 300.0 * nodes})  # fmt: skip
    save(LawGP().fit(runs), path)


def ranker(path: Path) -> None:
    from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority

    LearnedPriority.load(SHIPPED).save(path)


def jobs(path: Path) -> None:
    table({"job_id": [1], "runtime_s": [2.0]}).write_parquet(path)


def swf(path: Path) -> None:
    from rheostat.measurement.job_logs.swf import write_swf

    write_swf(table({"job_id": [1], "runtime_s": [2.0]}), path)


def page(path: Path) -> None:
    from rheostat.cli.output import write_files
    from rheostat.core.report import Report

    write_files(Report("x", ()), path)


@pytest.mark.parametrize("write", [law, ranker, jobs, swf, page])
def test_every_writer_keeps_the_good_file_when_the_new_one_cannot_be_finished(
    tmp_path, monkeypatch, write
):
    path = tmp_path / "kept"
    write(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="No space"):
        write(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["kept"]


def test_no_writer_opens_its_target_by_itself():
    """Whoever writes a file of the user's goes through `replacing`: a new writer cannot forget."""
    import re

    import rheostat

    kept = {  # append-only journals, trees that stand in for a machine's, downloads in pieces,
        # members of an archive in memory, folders that are temporary or made for one run
        "core/graph.py", "measurement/code/workbench.py", "measurement/network/simgrid_run.py",
        "measurement/code/reached/mutant_runs.py", "measurement/code/altered/guided_streams.py",
        "measurement/code/reached/margins_on_data.py",
        "core/storage/files.py", "measurement/fetch/resume.py",
        "measurement/synthetic/counter_runs.py",
        "prediction/out_of_core/binned_file.py", "measurement/job_logs/job_store.py",
        "measurement/slurm/accounting.py", "questions/demonstration/demo_site.py",
        "service/access.py",  # appends a digest, its file made for the owner alone
    }  # fmt: skip
    root = Path(rheostat.__file__).parent
    raw = re.compile(
        r"\.write_(text|bytes|csv)\(|frame\.write_parquet\(|open\([^)]*[\"']w|np\.save\(|"
        r"os\.replace\("
    )
    found = {
        str(f.relative_to(root))
        for f in root.rglob("*.py")
        for line in f.read_text().splitlines()
        if raw.search(line) and not re.search(r">>>|^\s*\.\.\. |draft|replace_file", line)
    }
    assert {f for f in found if not f.startswith("decision/actuate/")} <= kept


def test_an_archive_of_parts_comes_back_and_nothing_beyond_the_limit_is_unpacked(
    tmp_path, monkeypatch
):
    parts = {"a.bin": bytes(1000), "w.safetensors": bytes(1000)}
    made = archive.Archive("kind", 3, {"x": [1]}, parts, {"numpy": "2"})
    archive.write_archive(tmp_path / "one", made)
    archive.write_archive(tmp_path / "two", made)
    assert archive.read_archive(tmp_path / "one") == made
    data = (tmp_path / "one").read_bytes()
    assert data == (tmp_path / "two").read_bytes()
    with zipfile.ZipFile(tmp_path / "one") as packed:
        sizes = {i.filename: i.compress_size for i in packed.infolist()}
        total = sum(i.file_size for i in packed.infolist())
    assert sizes["w.safetensors"] == 1000 > sizes["a.bin"]
    monkeypatch.setattr(bounded_read, "MOST_B", total)
    assert archive.read_archive(tmp_path / "one") == made
    monkeypatch.setattr(bounded_read, "MOST_B", total - 1)
    with pytest.raises(ModelFileError, match=r"its parts unpack to [\d,]+ bytes, at most"):
        archive.read_archive(tmp_path / "one")
    (tmp_path / "two").write_bytes(data.replace(b"w.safe", b"v.safe", 1))
    with pytest.raises(ModelFileError, match="checksum"):
        archive.read_archive(tmp_path / "two")


def test_an_archive_without_a_header_or_nested_beyond_all_is_refused(tmp_path):
    for name, inside, said in (("other.json", "{}", "no header of rheostat"),
                               (HEADER, "[" * 100_000, "nested too deep")):  # fmt: skip
        with zipfile.ZipFile(tmp_path / "f", "w") as packed:
            packed.writestr(name, inside)
        with pytest.raises(ModelFileError, match=said):
            archive.read_archive(tmp_path / "f")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_names_the_file_that_did_not_fit(tmp_path):
    """Errors of write and flush have no file name of themselves."""
    full = tmp_path / "runs.csv"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as told:
        replace_file(full, b"x" * 9999)
    assert told.value.filename == "/dev/full"
    (tmp_path / "other").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as told, replacing(tmp_path / "a"):
        (tmp_path / "other").write_text("x")
    assert told.value.filename == str(tmp_path / "a")
    with pytest.raises(OSError, match="No space left") as told, named_errors("journal"):
        Path("/dev/full").write_text("x")
    assert told.value.filename == "journal"
    with pytest.raises(OSError, match="No space left") as told, named_errors("schedule"):
        pl.DataFrame({"a": ["x" * 99] * 999}).write_csv("/dev/full")
    assert told.value.filename == "schedule"
