"""A journal is not believed: only a device's own caps are put back, and all that can be are."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheostat.cli import run
from rheostat.decision.actuate import watchdog as guard
from rheostat.decision.actuate.actuators import DeviceAddress, write_tree
from rheostat.decision.actuate.apply import apply, restore, steps
from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.decision.budget.cap_plan import CapPlan
from rheostat.errors import DataError, NotPermitted, RheostatError

BEFORE, AFTER = {"cpu_cap_w": 180.0, "gpu_cap_w": 250.0}, {"cpu_cap_w": 140.0, "gpu_cap_w": 200.0}
SHORT = "powercap/intel-rapl:0/constraint_1_power_limit_uw"
CARD = "drm/card0/device/hwmon/hwmon0/power1_cap"


def made(folder: Path) -> tuple[DeviceAddress, CapJournal]:
    """Two nodes under lowered caps, and the journal of it."""
    for node in ("n1", "n2"):
        write_tree(folder / "tree", node, cpu_w=180.0, gpu_w=250.0)
    where, book = DeviceAddress(tree=str(folder / "tree")), CapJournal(folder / "journal")
    panel = where.panel(["n1", "n2"], BEFORE)
    plan = [CapPlan(node, BEFORE, AFTER) for node in ("n1", "n2")]
    apply(steps(plan, panel), panel, book, sleep=lambda _: None)
    return where, book


def contents(folder: Path) -> dict[str, int]:
    files = [*folder.rglob("*power_limit_uw"), *folder.rglob("power1_cap")]
    return {str(f.relative_to(folder)): int(f.read_text()) for f in files}


def original(folder: Path) -> dict[str, int]:
    return {k: 250_000_000 if k.endswith("cap") else 90_000_000 for k in contents(folder)}


def restored(where: DeviceAddress, book: CapJournal, capsys) -> tuple[int, str]:
    capsys.readouterr()
    argv = ["budget", "restore", "--tree", where.tree, "--journal", str(book.path)]
    return run([*argv, "--settle", "0"]), capsys.readouterr().err


HOSTILE = {
    "absolute": lambda t: CapEntry(f"n1|cpu_cap_w|{t}/victim", 7.0, 1.0).line(),
    "upwards": lambda t: CapEntry("n1|cpu_cap_w|../../../victim", 7.0, 1.0).line(),
    "node upwards": lambda t: CapEntry("../tree/n1|gpu_cap_w|" + CARD[4:], 7.0, 1.0).line(),
    "node absolute": lambda t: CapEntry(f"{t}/tree/n1|gpu_cap_w|" + CARD[4:], 7.0, 1.0).line(),
    "no cap": lambda t: CapEntry(
        "n1|cpu_cap_w|" + SHORT[9:-14] + "max_power_uw", 7.0, 400.0
    ).line(),
    "negative": lambda t: CapEntry("n3|cpu_cap_w|" + SHORT[9:], -5.0, 70.0).line(),
    "nothing": lambda t: CapEntry("n3|cpu_cap_w|" + SHORT[9:], 0.0, 70.0).line(),
    "more than it states": lambda t: CapEntry("n3|cpu_cap_w|" + SHORT[9:], 401.0, 70.0).line(),
    "1e300": lambda t: CapEntry("n3|gpu_cap_w|" + CARD[4:], 1e300, 70.0).line(),
    "infinite": lambda t: '["n3|gpu_cap_w|x", 1e999, 70.0, 1]',
    "NaN": lambda t: '["n3|gpu_cap_w|x", NaN, 70.0, 1]',
    "a huge integer": lambda t: f'["n3|gpu_cap_w|x", {"9" * 400}, 70.0, 1]',
    "no checksum": lambda t: '["n3|gpu_cap_w|x", 70.0, 70.0]',
    "true": lambda t: '["n3|gpu_cap_w|x", true, 70.0, 1]',
    "no place": lambda t: CapEntry("n3", 70.0, 60.0).line(),
    "unknown knob": lambda t: CapEntry("n1|fan_rpm|x", 70.0, 60.0).line(),
    "no such node": lambda t: CapEntry("n9|cpu_cap_w|x", 70.0, 60.0).line(),
    "deep": lambda t: "[" * 100_000,
    "an object": lambda t: '{"schema": "other"}',
    "not UTF-8": lambda t: "\udcff\udcfe",
    "empty": lambda t: "",
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_that_cannot_be_is_told_and_all_others_are_put_back(tmp_path, capsys, name, first):
    where, book = made(tmp_path)
    write_tree(tmp_path / "tree", "n3", cpu_w=140.0, gpu_w=200.0)
    (tmp_path / "victim").write_text("1000000\n")  # holds what the line says was written last
    untouched = {k: v for k, v in contents(tmp_path / "tree").items() if k.startswith("n3")}
    bad = HOSTILE[name](tmp_path).encode("utf-8", "surrogateescape") + b"\n"
    lines = book.path.read_bytes()
    book.path.write_bytes(bad + lines if first else lines + bad)
    code, err = restored(where, book, capsys)
    assert code == 1
    assert "all others were put back" in err
    assert contents(tmp_path / "tree") == original(tmp_path / "tree") | untouched
    assert (tmp_path / "victim").read_text() == "1000000\n"
    assert book.path.exists()  # what could not be put back is not forgotten
    assert restored(where, book, capsys)[0] == 1  # and again


@st.composite
def damages(draw):
    """A piece of the journal replaced: place from 0 to 1, how many bytes, by what."""
    instead = st.binary(max_size=12) | st.sampled_from([b"\n", b"9", b"-", b"e300", b"|../"])
    return draw(st.floats(0, 1)), draw(st.integers(0, 60)), draw(instead)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(damages(), min_size=1, max_size=3))
def test_after_any_damage_a_cap_is_as_before_or_as_it_was_left(tmp_path, capsys, damage):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    where, book = made(folder)
    left, whole = contents(folder / "tree"), book.path.read_bytes()
    torn = whole
    for at, gone, instead in damage:
        i = int(at * len(torn))
        torn = torn[:i] + instead + torn[i + gone :]
    book.path.write_bytes(torn)
    code, _ = restored(where, book, capsys)
    before, now = original(folder / "tree"), contents(folder / "tree")
    intact = {json.loads(x)[0] for x in torn.split(b"\n")[:-1] if x in whole.split(b"\n")[1:-1]}
    for place, watts in now.items():
        node, kind, address = place.split("/", 2)
        knob = "cpu_cap_w" if kind == "powercap" else "gpu_cap_w"
        assert watts in (before[place], left[place])
        if f"{node}|{knob}|{address}" in intact:
            assert watts == before[place]
    assert code == 0 or book.path.exists()


def test_a_damaged_journal_does_not_stop_the_guard(tmp_path, monkeypatch, capsys):
    where, book = made(tmp_path)
    lines = book.path.read_bytes().split(b"\n")
    lines[3] = b"\xff" + lines[3]
    book.path.write_bytes(b"\n".join(lines))
    lost = json.loads(lines[3][1:])[0].split("|")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    assert guard.watch(book.path, where, 0.0) == 1
    assert "line 4: " in capsys.readouterr().err
    now, before = contents(tmp_path / "tree"), original(tmp_path / "tree")
    different = {k for k in now if now[k] != before[k]}
    assert different == {f"{lost[0]}/powercap/{lost[2]}"}


def test_a_device_that_is_gone_does_not_stop_the_others(tmp_path):
    where, book = made(tmp_path)
    (tmp_path / "tree" / "n1" / CARD).unlink()
    done = restore(book, guard.panel_of(book, where), sleep=lambda _: None)
    assert done.places == 9
    assert len(done.problems) == 1
    assert "no AMD GPU" in done.problems[0]
    assert contents(tmp_path / "tree") == original(tmp_path / "tree")


def test_what_could_not_be_put_back_is_not_changed(tmp_path):
    write_tree(tmp_path / "tree", "n1", cpu_w=180.0, gpu_w=250.0)
    (tmp_path / "tree" / "n1" / CARD).write_text("800000000\n")  # above what it states
    where = DeviceAddress(tree=str(tmp_path / "tree"))
    panel = where.panel(["n1"], BEFORE)
    before = contents(tmp_path / "tree")
    with pytest.raises(NotPermitted, match="expected 0 to 750 W, got 800 W"):
        apply(steps([CapPlan("n1", BEFORE, AFTER)], panel), panel, CapJournal(tmp_path / "j"))
    assert contents(tmp_path / "tree") == before


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc", "a|b", "a\nb", "\0", ".hidden"])
def test_a_node_is_a_name_and_no_path(tmp_path, name):
    with pytest.raises(DataError, match="is no name of a node"):
        DeviceAddress(tree=str(tmp_path)).panel([name], BEFORE)


def test_a_kill_before_the_first_line_leaves_nothing_to_restore(tmp_path, capsys):
    where, book = made(tmp_path)
    book.path.write_text("")
    assert restored(where, book, capsys) == (0, "0 caps put back\n")


@pytest.mark.parametrize("what", ["folder", "pipe", "missing", "/dev/zero"])
def test_what_is_no_journal_is_one_message(tmp_path, capsys, what):
    where, _ = made(tmp_path)
    path = Path(what) if what.startswith("/") else tmp_path / what
    if what == "folder":
        path.mkdir()
    if what == "pipe":
        os.mkfifo(path)
    code, err = restored(where, CapJournal(path), capsys)
    assert code == 1
    assert err.startswith(f"rheostat: {path}: ")
    assert err.count("\n") == 1


def test_a_guard_that_does_not_start_is_an_error_and_ended(tmp_path, monkeypatch):
    where, book = made(tmp_path)
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho what\nexec sleep 3\n")
    other.chmod(0o755)
    guards, begin = [], guard.subprocess.Popen
    monkeypatch.setattr(guard.sys, "executable", str(other))
    monkeypatch.setattr(
        guard.subprocess, "Popen", lambda *a, **k: guards.append(begin(*a, **k)) or guards[0]
    )
    with pytest.raises(RheostatError, match="did not start: nothing changed"):
        guard.start(book.path, where)
    with guards[0] as ended:
        assert ended.wait(10) == -signal.SIGKILL
