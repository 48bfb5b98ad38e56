"""A machine is a number or a file; all that is wrong in the file is told at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat.core.machine import Machine, Partition, RandomFailures, Rules, Window
from rheostat.core.series import Series
from rheostat.errors import DataError

FILE = """
name = "small"
[[partition]]
name = "a"
procs = 8
gpus = 2
idle_w = 50
busy_w = 100
sleep_after_s = 60
sleep_w = 5
wake_s = 10
wake_w = 80
[[partition]]
name = "b"
procs = 4
idle_w = 40
[power]
cap_w = { from_s = [0, 60], value = [900, 700], repeat_s = 120 }
tariff_per_kwh = 0.2
[[maintenance]]
from_s = 10
to_s = 20
partition = "b"
[[failure]]
at_s = 5
repair_s = 6
[failures]
mtbf_s = 1e6
repair_s = 60
[rules]
kill = "limit"
arrays = true
"""


def test_a_file_becomes_a_site(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text(FILE)
    site = Machine.load(path)
    assert (site.procs, site.name, site.plain) == (12, "small", False)
    assert site.partitions[0] == Partition(8, "a", 2, 50, 100, 0, 0, 60, 5, 10, 80)
    assert math.isnan(site.partitions[1].busy_w)
    assert site.cap_w.at(np.array([0.0, 60.0, 120.0])).tolist() == [900.0, 700.0, 900.0]
    assert site.tariff_per_kwh == Series.of(0.2)
    assert site.maintenance == (Window(10, 20, "b"),)
    assert site.random_failures == RandomFailures(1e6, 60)
    assert site.rules == Rules(kill="limit", arrays=True)


def test_a_number_is_a_plain_machine_and_watts_do_not_change_that():
    assert Machine.load("64") == Machine(64)
    assert Machine(64).plain
    assert Machine(64, idle_w=50.0, tariff_per_kwh=Series.of(0.2)).plain
    assert not Machine(64, rules=Rules(kill="limit")).plain


def test_every_mistake_is_told_at_once():
    facts = {
        "speed": 1,
        "partition": [
            {"procs": 0, "name": "a"},
            {"procs": 4, "colour": "red"},
            {"procs": 4, "sleep_after_s": 5, "idle_w": -1},
        ],
        "power": {"cap_w": {"from_s": [0, 0], "value": [1, 2]}, "volts": 3},
        "maintenance": [{"from_s": 5, "to_s": 5}],
        "rules": {"kill": "always", "requeue": -1},
        "failures": 3,
    }
    with pytest.raises(DataError) as caught:
        Machine.from_mapping(facts, "site.toml")
    told = str(caught.value)
    for part in (
        "speed is not known",
        "partition 1: procs",
        "colour is not known",
        "partition 3: idle_w",
        "ascending",
        "volts is not known",
        "from_s < to_s",
        "kill: expected never or limit",
        "requeue",
        "failures: expected a table",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "procs is missing"),
        ({"procs": 4, "power": {"cap_w": 500}}, "idle_w of every partition"),
        ({"procs": 4, "maintenance": [{"from_s": 0, "to_s": 1, "partition": "x"}]}, "not one of"),
        ({"partition": [{"procs": 4, "name": "a"}] * 2}, "different names"),
        ({"procs": 5, "partition": [{"procs": 4}]}, "sum of the partitions"),
    ],
)
def test_what_does_not_go_together_is_an_error(facts, said):
    with pytest.raises(DataError, match=said):
        Machine.from_mapping(facts)


def test_a_series_repeats_in_both_directions_and_tells_its_changes():
    day = Series((0.0, 6.0), (1.0, 2.0), repeat_s=10.0)
    assert day.at(np.array([-3.0, -5.0, 26.0])).tolist() == [2.0, 1.0, 2.0]
    assert day.changes(-5.0, 16.0).tolist() == [-4.0, 0.0, 6.0, 10.0, 16.0]
    once = Series((5.0, 8.0), (1.0, 2.0))
    assert once.at(np.array([0.0, 8.0, 99.0])).tolist() == [1.0, 2.0, 2.0]
    assert once.changes(5.0, 99.0).tolist() == [8.0]


@pytest.mark.parametrize("given", [True, "5", {"from_s": [0]}, {"from_s": [0], "value": [1, 2]},
                                   {"from_s": [1], "value": [1], "repeat_s": 5}])  # fmt: skip
def test_a_series_that_is_none_is_an_error(given):
    with pytest.raises(DataError):
        Series.of(given)
