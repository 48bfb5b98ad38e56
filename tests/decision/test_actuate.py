"""Caps are set and put back: on a tree of files in the kernel's format, after kill -9 too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rheostat.decision.actuate.actuators import DeviceAddress, write_tree
from rheostat.decision.actuate.apply import apply, restore, steps
from rheostat.decision.actuate.cap_files import Powercap
from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.decision.actuate.device import Write
from rheostat.decision.actuate.nvml_caps import NvmlCaps
from rheostat.decision.actuate.watchdog import panel_of
from rheostat.decision.budget.cap_plan import SCHEMA, CapPlan, read_plan
from rheostat.errors import DataError, MeterUnavailable, NotPermitted


def caps(cpu_w: float, gpu_w: float) -> dict[str, float]:
    return {"cpu_cap_w": cpu_w, "gpu_cap_w": gpu_w}


PLAN = [
    CapPlan("n1", caps(180, 250), caps(140, 200)),
    CapPlan("n2", caps(140, 150), caps(160, 220)),
]


@pytest.fixture
def tree(tmp_path: Path) -> DeviceAddress:
    write_tree(tmp_path / "tree", "n1", cpu_w=180.0, gpu_w=250.0)
    write_tree(tmp_path / "tree", "n2", cpu_w=140.0, gpu_w=150.0)
    return DeviceAddress(tree=str(tmp_path / "tree"))


def panel(tree: DeviceAddress):
    return tree.panel(["n1", "n2"], ["cpu_cap_w", "gpu_cap_w"])


def contents(tree: DeviceAddress) -> dict[str, int]:
    root = Path(tree.tree)
    files = [*root.rglob("*power_limit_uw"), *root.rglob("power1_cap")]
    return {str(f.relative_to(root)): int(f.read_text()) for f in files}


def asleep(_: float) -> None:
    return None


def test_a_plan_is_applied_and_put_back_to_the_microwatt(tree, tmp_path) -> None:
    before, book = contents(tree), CapJournal(tmp_path / "journal")
    todo = steps(PLAN, panel(tree))
    assert len(todo) == 10  # two packages with two limits each, and a GPU, on each node
    assert [s.to_w < s.before_w for s in todo.lower] == [True] * 5
    assert not todo.moved
    assert apply(todo, panel(tree), book, sleep=asleep) == 10
    assert contents(tree)["n1/powercap/intel-rapl:1/constraint_1_power_limit_uw"] == 70_000_000
    assert contents(tree)["n2/drm/card0/device/hwmon/hwmon0/power1_cap"] == 220_000_000
    assert len(steps(PLAN, panel(tree))) == 0  # twice is once
    assert restore(book, panel(tree), sleep=asleep).places == 10
    assert contents(tree) == before
    with pytest.raises(DataError, match="nothing to restore"):
        restore(book, panel(tree), sleep=asleep)


@pytest.mark.parametrize(
    "content", [b"somebody else's notes", b"x\n", b'{"schema": "rheostat.journal/1"}\n', b"\0" * 9]
)
def test_a_journal_is_never_begun_in_a_file_of_something_else(tree, tmp_path, content) -> None:
    before, file = contents(tree), tmp_path / "journal"
    file.write_bytes(content)
    with pytest.raises(DataError, match="expected a journal of caps, got"):
        apply(steps(PLAN, panel(tree)), panel(tree), CapJournal(file), sleep=asleep)
    assert (contents(tree), file.read_bytes()) == (before, content)


def test_nothing_is_changed_while_the_journal_could_not_be_restored_from(tree, tmp_path) -> None:
    before, file = contents(tree), tmp_path / "journal"
    apply(steps(PLAN, panel(tree)), panel(tree), CapJournal(file), sleep=asleep)
    whole, after = file.read_bytes(), contents(tree)
    assert after != before
    back = [CapPlan(n.node, n.after, n.before) for n in PLAN]
    file.write_bytes(whole.replace(b"n1|", b"n3|", 1))
    with pytest.raises(DataError, match=r"line 2: is not what was written.*restore from it first"):
        apply(steps(back, panel(tree)), panel(tree), CapJournal(file), sleep=asleep)
    assert contents(tree) == after
    file.write_bytes(whole[:-5])  # the last line is torn, as by a kill: its cap was not set yet
    apply(steps(back, panel(tree)), panel(tree), CapJournal(file), sleep=asleep)
    assert contents(tree) == before


def test_two_plans_in_a_row_go_back_to_the_beginning(tree, tmp_path) -> None:
    before, book = contents(tree), CapJournal(tmp_path / "journal")
    apply(steps(PLAN, panel(tree)), panel(tree), book, sleep=asleep)
    other = [CapPlan("n1", PLAN[0].after, {"cpu_cap_w": 100.0})]
    apply(steps(other, panel(tree)), panel(tree), book, sleep=asleep)
    restore(book, panel(tree), sleep=asleep)
    assert contents(tree) == before


def test_what_somebody_else_set_is_left_alone(tree, tmp_path) -> None:
    book = CapJournal(tmp_path / "journal")
    apply(steps(PLAN, panel(tree)), panel(tree), book, sleep=asleep)
    card = Path(tree.tree) / "n2/drm/card0/device/hwmon/hwmon0/power1_cap"
    card.write_text("99000000\n")
    left = restore(book, panel(tree), sleep=asleep).left
    assert list(left.values()) == [99.0]
    assert card.read_text() == "99000000\n"


def test_a_plan_made_for_other_caps_says_so(tree) -> None:
    moved = steps([CapPlan("n1", {"cpu_cap_w": 200.0}, {"cpu_cap_w": 140.0})], panel(tree)).moved
    assert moved == {"n1 cpu_cap_w": (200.0, 180.0)}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_without_the_privilege_nothing_is_changed(tree, tmp_path) -> None:
    locked = Path(tree.tree) / "n2/powercap/intel-rapl:0/constraint_0_power_limit_uw"
    locked.chmod(0o444)
    before = contents(tree)
    with pytest.raises(NotPermitted, match="no permission to write: run as root"):
        apply(steps(PLAN, panel(tree)), panel(tree), CapJournal(tmp_path / "j"), sleep=asleep)
    assert contents(tree) == before
    assert not (tmp_path / "j").exists()


def test_a_refusal_is_told_before_anything_is_changed(tree, tmp_path, monkeypatch) -> None:
    before = contents(tree)
    monkeypatch.setattr(os, "access", lambda path, mode: "intel-rapl:1" not in str(path))
    with pytest.raises(NotPermitted) as told:
        apply(steps(PLAN, panel(tree)), panel(tree), CapJournal(tmp_path / "j"), sleep=asleep)
    assert len(told.value.problems) == 4  # every one of them at once
    assert contents(tree) == before


def test_a_write_that_fails_halfway_undoes_the_others(tree, tmp_path, monkeypatch) -> None:
    before, calls, put = contents(tree), [], Powercap.put

    def fails_once(self, address, watts):
        calls.append(address)
        if len(calls) == 3:
            raise OSError("the firmware said no")
        put(self, address, watts)

    monkeypatch.setattr(Powercap, "put", fails_once)
    with pytest.raises(OSError, match="the firmware said no; 3 caps put back"):
        apply(steps(PLAN, panel(tree)), panel(tree), CapJournal(tmp_path / "j"), sleep=asleep)
    assert contents(tree) == before


def test_a_torn_last_line_names_a_cap_that_was_not_changed(tmp_path) -> None:
    book = CapJournal(tmp_path / "j")
    book.write(CapEntry("n1|cpu_cap_w|a", 100.0, 90.0))
    with book.path.open("a") as file:
        file.write('["n1|cpu_cap_w|b", 100.')
    assert [e.place for e in book.entries()[0]] == ["n1|cpu_cap_w|a"]
    book.write(CapEntry("n1|cpu_cap_w|c", 80.0, 70.0))
    assert [e.place for e in book.entries()[0]] == ["n1|cpu_cap_w|a", "n1|cpu_cap_w|c"]
    assert book.entries()[1] == []
    book.path.write_bytes(b"rub\xffish\n" + book.path.read_bytes())
    found, problems = book.entries()
    assert [e.place for e in found] == ["n1|cpu_cap_w|a", "n1|cpu_cap_w|c"]
    assert [p.split(":")[0] for p in problems] == ["line 1"]


KILLED = """
import sys, time
from pathlib import Path
from rheostat.decision.actuate import watchdog as guard
from rheostat.decision.actuate.apply import apply, steps
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.budget.cap_plan import read_plan
where, plan, journal = DeviceAddress.of(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
nodes, _ = read_plan(plan)
panel = where.panel([n.node for n in nodes], ["cpu_cap_w", "gpu_cap_w"])
keep = guard.start(journal, where, 0.0) if sys.argv[4] == "yes" else None
apply(steps(nodes, panel), panel, CapJournal(journal), settle_s=float(sys.argv[5]))
print("applied", flush=True)
time.sleep(60)
"""


def plan_file(path: Path) -> Path:
    nodes = [{"node": n.node, "before": n.before, "after": n.after} for n in PLAN]
    path.write_text(json.dumps({"schema": SCHEMA, "nodes": nodes}))
    return path


def start(
    tree: DeviceAddress, tmp_path: Path, guarded: str, settle: float
) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", KILLED, tree.text(), str(plan_file(tmp_path / "plan.json")),
            str(tmp_path / "j"), guarded, str(settle)]  # fmt: skip
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def test_after_kill_9_the_guard_puts_everything_back(tree, tmp_path) -> None:
    before = contents(tree)
    process = start(tree, tmp_path, "yes", 0.0)
    assert process.stdout is not None
    assert process.stdout.readline() == "applied\n"
    assert contents(tree) != before
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 60
    while not (tmp_path / "j.restored").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert contents(tree) == before


def test_killed_between_lowering_and_raising_restore_finds_what_was_done(tree, tmp_path) -> None:
    before = contents(tree)
    process = start(tree, tmp_path, "no", 60.0)  # waits for the lowered caps to hold
    until = time.monotonic() + 60
    card = "n1/drm/card0/device/hwmon/hwmon0/power1_cap"
    while contents(tree)[card] != 200_000_000 and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    book = CapJournal(tmp_path / "j")
    assert contents(tree)["n2/drm/card0/device/hwmon/hwmon0/power1_cap"] == 150_000_000
    restore(book, panel_of(book, tree), sleep=asleep)
    assert contents(tree) == before


def test_hardware_limits_are_told(tree, tmp_path) -> None:
    with pytest.raises(DataError, match="at most 400 W, got 500 W"):
        steps([CapPlan("n1", {}, {"cpu_cap_w": 1000.0})], panel(tree))
    with pytest.raises(DataError, match="expected 0 to 750 W, got 900 W"):
        steps([CapPlan("n1", {}, {"gpu_cap_w": 900.0})], panel(tree))
    with pytest.raises(MeterUnavailable, match="no processor package"):
        Powercap(tmp_path).writes(100.0)
    for limit in (Path(tree.tree) / "n1/powercap").rglob("constraint*"):
        limit.unlink()
    with pytest.raises(MeterUnavailable, match="no limit to set"):
        Powercap(Path(tree.tree) / "n1/powercap").writes(100.0)


def test_a_plan_file_tells_all_its_mistakes(tmp_path) -> None:
    path = plan_file(tmp_path / "plan.json")
    assert [n.node for n in read_plan(path)[0]] == ["n1", "n2"]
    given = json.loads(path.read_text())
    given["nodes"][0]["after"]["cpu_cap_w"] = -5
    del given["nodes"][1]["before"]
    path.write_text(json.dumps(given))
    with pytest.raises(DataError) as told:
        read_plan(path)
    assert len(told.value.problems) == 2
    path.write_text('{"schema": "other"}')
    with pytest.raises(DataError, match="expected a plan"):
        read_plan(path)


class Library:
    """NVML as the vendor's library behaves, for two GPUs; setting needs root."""

    class NVMLError(Exception):
        pass

    def __init__(self, root: bool) -> None:
        self.root, self.limit = root, {0: 250_000, 1: 250_000}

    def nvmlInit(self):  # noqa: N802
        return None

    def nvmlDeviceGetCount(self):  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, i):  # noqa: N802
        return i

    def nvmlDeviceGetPowerManagementLimitConstraints(self, gpu):  # noqa: N802
        return 100_000, 250_000

    def nvmlDeviceGetPowerManagementLimit(self, gpu):  # noqa: N802
        return self.limit[gpu]

    def nvmlDeviceSetPowerManagementLimit(self, gpu, limit):  # noqa: N802
        if not self.root:
            raise self.NVMLError("Insufficient Permissions")
        self.limit[gpu] = limit


def test_nvml_sets_milliwatts_on_every_gpu_and_tells_a_missing_privilege() -> None:
    gpus = NvmlCaps(Library(root=True))
    for write in gpus.writes(180.0):
        gpus.put(write.address, write.watts)
    assert gpus.driver.limit == {0: 180_000, 1: 180_000}
    assert gpus.get("gpu1") == 180.0
    assert gpus.refusals([Write("gpu0", 250.0)]) == []
    assert gpus.refusals([Write("gpu2", 200.0), Write("gpu1", 1e300)]) == [
        "'gpu2' is no GPU here", "gpu1: expected 100 to 250 W, got 1e+300 W"]  # fmt: skip
    assert gpus.standing() == [180.0, 180.0]
    with pytest.raises(DataError, match="gpu1: expected 100 to 250 W, got 90 W"):
        gpus.writes(90.0)
    refused = NvmlCaps(Library(root=False)).refusals([Write("gpu0", 200.0)])
    assert refused == ["gpu0: Insufficient Permissions: run as root, or from the site's prolog"]
