"""Ordinary tables of strangers are read as they are meant: names, means, days, outlets."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.measurement.read import read


def test_names_of_runs_beside_their_numbers_are_no_applications(tmp_path):
    rows = [f"a{k}f3,run-{cap}-{k},{cap},{90 - cap // 10}" for cap in (200, 300) for k in (0, 1)]
    (file := tmp_path / "runs.csv").write_text(
        "\n".join(["Run ID,Name,power_limit_w,wall_s", *rows])
    )
    assert "app" not in read(file).columns
    other = file.read_text().replace("run-200-0", "hpl").replace("run-200-1", "hpcg")
    file.write_text(other.replace("run-300-0", "lulesh"))
    assert "app" in read(file).columns


@pytest.mark.parametrize("heading", ["mittlere Leistung [kW]", "puissance moyenne (kW)"])
def test_a_mean_in_other_languages_is_one(tmp_path, heading):
    (file := tmp_path / "runs.csv").write_text(f"Knoten,Laufzeit [s],{heading}\n1,90,0.4\n")
    assert read(file).frame["power_w"].to_list() == [400.0]


def test_power_of_the_package_and_memory_together_is_that_of_the_run(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("threads,seconds,package_and_dram_W\n1,90,60\n")
    assert read(file).frame["power_w"].to_list() == [60.0]


def test_a_day_is_no_setting(tmp_path):
    rows = ["03.11.2026;1;90;40", "04.11.2026;1;91;40", "03.11.2026;2;50;80", "04.11.2026;2;51;80"]
    heads = "Datum;Knoten;Laufzeit [s];Leistung [W]"
    (file := tmp_path / "runs.csv").write_text("\n".join([heads, *rows]))
    answer = rh.front(file, rule="deadline=60")
    assert answer.choice.setting == {"nodes": 2}


def test_an_outlet_without_readings_is_in_no_name(tmp_path):
    rows = [f'"2026-10-05 09:{m:02d}:00","{129 + m % 3} W","","95 W"' for m in range(9)]
    file = tmp_path / "pdu.csv"
    file.write_text("\n".join(['"Time","node01","node02","sw01"', *rows]))
    assert read(file).frame["device"].to_list() == ["node01", "sw01"]
