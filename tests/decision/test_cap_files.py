"""Caps that are files: what is written is what stands, within what the hardware states."""

from __future__ import annotations

import os

import pytest

from rheostat.decision.actuate import watchdog as guard
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.apply import CapChange, put_back
from rheostat.decision.actuate.cap_files import AmdGpus, Powercap
from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.errors import DataError, MeterUnavailable
from tests.decision.emulated_nodes import rehearsal


def package(root, number, *, long="200000000", short="250000000", most="300000000"):
    zone = root / f"intel-rapl:{number}"
    zone.mkdir(parents=True)
    (zone / "name").write_text(f"package-{number}\n")
    for i, (kind, uw) in enumerate((("long_term", long), ("short_term", short), ("peak", "1"))):
        (zone / f"constraint_{i}_name").write_text(kind + "\n")
        (zone / f"constraint_{i}_power_limit_uw").write_text(uw + "\n")
        (zone / f"constraint_{i}_max_power_uw").write_text(most + "\n")


def card(root, number, cap="250000000", least="100000000", most="300000000"):
    folder = root / f"card{number}" / "device" / "hwmon" / "hwmon3"
    folder.mkdir(parents=True)
    (folder / "power1_cap").write_text(cap + "\n")
    (folder / "power1_cap_min").write_text(least)
    (folder / "power1_cap_max").write_text(most)
    return f"card{number}/device/hwmon/hwmon3/power1_cap"


def test_a_smaller_number_leaves_nothing_of_the_larger_one(tmp_path) -> None:
    place = card(tmp_path, 0)
    gpus = AmdGpus(tmp_path)
    gpus.put(place, 99.5)
    assert (tmp_path / place).read_text() == "99500000\n"
    assert gpus.get(place) == 99.5
    assert gpus.standing() == [99.5]


def test_a_cap_of_a_node_is_spread_over_its_packages_and_both_their_limits(tmp_path) -> None:
    package(tmp_path, 0)
    package(tmp_path, 1, long="100000000", short="90000000")
    cpus = Powercap(tmp_path)
    writes = {w.address: w.watts for w in cpus.writes(300.0)}
    assert writes == {f"intel-rapl:{p}/constraint_{c}_power_limit_uw": 150.0
                      for p in (0, 1) for c in (0, 1)}  # fmt: skip
    assert cpus.standing() == [250.0 + 100.0]  # at any instant: the larger limit of each
    assert len(cpus.writes(600.0)) == 4
    with pytest.raises(DataError, match=r"intel-rapl:0: at most 300 W, got 300\.5 W") as caught:
        cpus.writes(601.0)
    assert len(caught.value.problems) == 2


def test_a_most_of_0_states_nothing(tmp_path) -> None:
    package(tmp_path, 0, most="0")
    assert [w.watts for w in Powercap(tmp_path).writes(900.0)] == [900.0, 900.0]


def test_a_gpu_is_capped_within_what_it_states(tmp_path) -> None:
    places = [card(tmp_path, 0), card(tmp_path, 1, least="", most="")]
    gpus = AmdGpus(tmp_path)
    assert [(w.address, w.watts) for w in gpus.writes(100.0)] == [(p, 100.0) for p in places]
    assert len(gpus.writes(300.0)) == 2
    for watts in (99.0, 301.0):
        with pytest.raises(DataError, match=f"expected 100 to 300 W, got {watts:g} W") as caught:
            gpus.writes(watts)
        assert len(caught.value.problems) == 1


def test_what_is_not_there_is_told(tmp_path) -> None:
    with pytest.raises(MeterUnavailable, match="no processor package under"):
        Powercap(tmp_path).packages()
    with pytest.raises(MeterUnavailable, match="no AMD GPU with a power cap"):
        AmdGpus(tmp_path).writes(100.0)
    package(tmp_path, 0)
    for file in tmp_path.glob("*/constraint_*_name"):
        file.write_text("other")
    with pytest.raises(MeterUnavailable, match="show energy but no limit to set"):
        Powercap(tmp_path).limits()
    place = card(tmp_path, 0, cap="much")
    with pytest.raises(DataError, match="expected microwatts"):
        AmdGpus(tmp_path).get(place)


def test_caps_are_put_back_lower_first_and_raised_once_the_lower_ones_hold() -> None:
    r = rehearsal({"a": {"cap_w": 50.0}, "b": {"cap_w": 100.0}}, lag_s=1.0)
    done = [CapChange("a|cap_w|emulated", 100.0, 50.0), CapChange("b|cap_w|emulated", 50.0, 100.0)]
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        r.sleep(seconds)

    assert put_back(done, r.panel(), settle_s=1.5, sleep=sleep) == 2
    assert waits == [1.5]
    r.sleep(1.0)
    assert set(r.caps.values()) == {100.0, 50.0}
    assert max(watts for _, watts in r.seen) <= 150.0
    for one in (done[:1], done[1:]):
        assert put_back(one, r.panel(), settle_s=1.5, sleep=sleep) == 1
    assert waits == [1.5]  # nothing to wait for


def test_a_guard_says_that_it_watches_and_ends_with_its_input(tmp_path) -> None:
    process = guard.start(tmp_path / "journal", DeviceAddress(tree=str(tmp_path)), 0.0)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) == 0  # nothing was changed, nothing is put back
    process.stdout.close()


def test_every_line_of_a_journal_is_on_the_device_and_so_is_its_name(tmp_path, monkeypatch) -> None:
    synced, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), real(fd)))
    book = CapJournal(tmp_path / "journal")
    book.write(CapEntry("n1|cap_w|a", 100.0, 50.0))
    file, folder = (os.stat(p).st_ino for p in (book.path, tmp_path))
    assert synced == [file, folder]
    book.write(CapEntry("n1|cap_w|b", 100.0, 50.0))
    assert synced == [file, folder, file]
    synced.clear()
    book.close()
    assert synced == [folder]  # the journal has its other name for good
