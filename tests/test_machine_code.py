"""Machine code is kept where this user alone can write, and made in memory elsewhere."""

from __future__ import annotations

import errno
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

sys.path.insert(0, str(Path(__file__).parent / "cli"))
from malformed import TEXTS

from rheostat import _machine_code
from rheostat._machine_code import can_keep, code_folder, kept

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(_machine_code, "_said", [])
    can_keep.cache_clear()


def doubled(x):
    return 2 * x


def test_machine_code_is_kept_in_a_folder_of_ones_own(tmp_path, caplog):
    made = kept(doubled, str(tmp_path / "mine"))
    assert made(3) == 6
    assert list((tmp_path / "mine").rglob("*.nbc"))
    assert not caplog.records


def test_another_copy_of_the_same_sources_finds_it(tmp_path):
    """A checkout elsewhere, a container, a release installed anew: numba asks for path and time."""
    hits = []
    for place in ("one", "two"):
        made = kept(parted(tmp_path / place, 2), str(tmp_path / "mine"))
        assert made(3.0) == 1.5
        hits.append(sum(made.stats.cache_hits.values()))
    assert hits == [0, 1]


def test_a_function_that_changed_is_compiled_anew_though_its_folder_is_named_by_others(tmp_path):
    """Functions of other packages are kept with those of the engines that they call."""
    said = [kept(parted(tmp_path / f"by{n}", n), str(tmp_path / "mine"))(6.0) for n in (2, 3)]
    assert said == [3.0, 2.0]


def parted(place, by):
    """``part(x)`` of a file of its own: x over a number."""
    place.mkdir()
    (place / "parts.py").write_text(f"def part(x):\n    return x / {by}\n")
    spec = importlib.util.spec_from_file_location("parts", place / "parts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.part


@pytest.mark.parametrize("kind", ["read-only", "others", "no home"])
def test_where_it_cannot_be_kept_it_is_made_in_memory_and_that_is_said_once(kind, tmp_path, caplog):
    folder = {"read-only": "/proc/mine", "no home": "~/.cache", "others": str(tmp_path / "open")}[
        kind
    ]
    if kind == "others":
        Path(folder).mkdir(mode=0o777)
        Path(folder).chmod(0o777)
    with caplog.at_level(logging.WARNING):
        assert kept(doubled, folder)(3) == 6
        assert kept(doubled, folder + "/b")(4) == 8
    assert len(caplog.records) == 1
    assert "NUMBA_CACHE_DIR" in caplog.messages[0]
    assert folder in caplog.messages[0]
    assert not list(tmp_path.rglob("*.nb?"))


def test_a_cache_that_others_may_write_to_is_not_read(tmp_path):
    """What lies there is a pickle, which would run."""
    folder = tmp_path / "mine"
    assert kept(doubled, str(folder))(3) == 6
    index = next(folder.rglob("*.nbi"))
    index.write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    folder.chmod(0o777)
    can_keep.cache_clear()
    assert kept(doubled, str(folder))(3) == 6
    assert not Path("ran").exists()


def test_a_full_disk_stops_nothing(tmp_path, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert kept(doubled, str(tmp_path / "mine"))(3) == 6
    assert "No space left" in caplog.text


def test_the_folder_has_another_name_after_any_change(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    source = tmp_path / "a.py"
    source.write_text("a = 1")
    first = Path(code_folder("x", [source]))
    assert first.parent == tmp_path / "kept"
    first.mkdir(parents=True)
    month = first.stat().st_mtime - 31 * 86_400
    os.utime(first, (month, month))
    assert code_folder("x", [source]) == str(first)
    assert first.exists()
    source.write_text("a = 2")
    assert code_folder("x", [source]) != str(first)
    assert not first.exists()


HLO = """HloModule x

ENTRY %main (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  ROOT %a = f32[2]{0} add(f32[2]{0} %p, f32[2]{0} %p)
}
"""


def _read_only(here: Path, *words: str, folder: Path | None = None) -> CompletedProcess[str]:
    """Python where nothing but ``here`` can be written, as nobody, the package's folder as home."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap not installed: no file system can be made read-only")
    walls = ["bwrap", "--unshare-user", "--uid", "65534", "--gid", "65534", "--ro-bind", "/", "/"]
    walls += ["--dev", "/dev", "--proc", "/proc", "--bind", str(here), str(here)]
    walls += ["--chdir", str(folder or here)]
    if subprocess.run([*walls, "true"], capture_output=True, check=False).returncode:
        pytest.skip("bubblewrap may not make namespaces here")
    unset = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    home = {k: v for k, v in os.environ.items() if k not in unset}
    home |= {"HOME": str(ROOT), "TMPDIR": str(here)}
    call = [*walls, sys.executable, "-B", *words]
    return subprocess.run(call, env=home, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_core_of_the_suite_passes_where_nothing_can_be_written(tmp_path):
    suite = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "not slow"]
    done = _read_only(tmp_path, *suite, "tests/core", folder=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(("call", "compiles"), [
    ("llm rank r.jsonl", True), ("simulate trace.swf --policy easy", True),
    ("summary trace.swf", True), ("front runs.csv --where app=a --knob nodes=1,2,4", False),
    ("dnn import x.hlo", False),
])  # fmt: skip
def test_what_compiles_works_where_nothing_can_be_written(call, compiles, tmp_path):
    """As in a container whose file system is read-only, the home and this package with it, and
    whose user is nobody in particular.
    """
    rows = [
        {"prompt": f"say {i % 3} words {i}", "output_tokens": 5 + 9 * (i % 3)} for i in range(60)
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "x.hlo").write_text(HLO)
    (tmp_path / "trace.swf").write_text(TEXTS["trace.swf"])
    runs = [f"a,{n},{100 / n + i},{200 * n}" for n in (1, 2, 4) for i in range(5)]
    (tmp_path / "runs.csv").write_text("\n".join(["app,nodes,runtime_s,power_w", *runs]))
    done = _read_only(tmp_path, "-m", "rheostat", *call.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr.count("machine code cannot be kept") == compiles
    assert ("Read-only file system" in done.stderr) == compiles
    assert "Traceback" not in done.stderr


def test_a_variable_that_numba_does_not_understand_is_one_line():
    code = "import rheostat.cli as c; c._keep_to_one_line(); import rheostat.simulation.engine.jit"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_NUM_THREADS": "many"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.count("NUMBA_NUM_THREADS") == done.stderr.count("\n") == 1
