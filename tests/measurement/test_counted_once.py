"""Zones of a processor and totals of racks beside their parts: no joule counts twice unsaid."""

from __future__ import annotations

import pytest

import rheostat as rh


def zones(file, watts, host=""):
    """A counter of microjoules for each zone, every 30 s."""
    head = "timestamp,host,zone,energy_uj" if host else "timestamp,zone,energy_uj"
    before = f"{host}," if host else ""
    rows = [
        f"2026-10-06T09:{k // 2:02d}:{30 * (k % 2):02d},{before}{zone},{(9 + k * w * 30) * 10**6}"
        for k in range(40)
        for zone, w in watts.items()
    ]
    file.write_text("\n".join([head, *rows]) + "\n")
    return [n.message for n in rh.read(file).notes]


@pytest.mark.parametrize("host", ["", "n1"])
@pytest.mark.parametrize("part", ["core", "uncore", "pp0", "psys"])
def test_packages_and_memory_alone_are_added_up(tmp_path, part, host):
    """185 + 173 + 26 W for 1170 s, without 139 W that a package has already."""
    watts = {"package-0": 185, "package-1": 173, part: 139, "dram": 26}
    said = next(m for m in zones(tmp_path / "rapl.csv", watts, host) if "together" in m)
    assert said.startswith("3 of 4 together: 449280 J, 384 W in the mean")
    assert part in said


def test_what_is_no_part_of_a_package_is_added(tmp_path):
    said = zones(tmp_path / "a.csv", {"package-0": 185, "dram": 26})
    assert any(m.startswith("all 2 together: 246870 J") for m in said)
    said = zones(tmp_path / "b.csv", {"core": 185, "dram": 26})
    assert any(m.startswith("all 2 together: 246870 J") for m in said)


def test_nested_zones_without_names_are_not_added(tmp_path):
    said = zones(tmp_path / "a.csv", {"intel-rapl:0": 185, "intel-rapl:0:0": 139})
    assert not any("together" in m for m in said)


def side_by_side(file, heads, *series):
    rows = [
        f"2026-10-09 12:{k:02d}:00,{','.join(str(w + k % 3) for w in series)}" for k in range(40)
    ]
    file.write_text("\n".join(["Time," + ",".join(f"{h} (W)" for h in heads), *rows]) + "\n")
    return [n.message for n in rh.read(file).notes if "called a total" in n.message]


@pytest.mark.parametrize("name", ["rack total", "rack", "Total", "Summe Rack"])
def test_a_total_that_is_more_than_its_parts_is_noted(tmp_path, name):
    (said,) = side_by_side(tmp_path / "pdu.csv", ["n1 A", "n1 B", name], 260, 255, 660)
    assert said.startswith(f"{name} is called a total, of 661 W in the mean beside 517 W of the")


def test_racks_beside_racks_are_no_totals(tmp_path):
    assert not side_by_side(tmp_path / "a.csv", ["rack 1", "rack 2"], 260, 600)
    assert not side_by_side(tmp_path / "b.csv", ["rack", "n1"], 260, 600)
    assert not side_by_side(tmp_path / "c.csv", ["n1 total", "n2 total"], 260, 600)
    assert not side_by_side(tmp_path / "d.csv", ["small", "subtotals"], 260, 600)
