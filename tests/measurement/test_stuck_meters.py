"""A sensor that says its last reading on and on, and readings that repeat for another reason."""

from __future__ import annotations

import numpy as np
import pytest

import rheostat as rh

HEADS = "timestamp, index, power.draw [W]"


def noted(file, watts, *, busy=None, every_s=2):
    """What is said of a stuck sensor where GPU 0 works and GPU 1 reads ``watts``."""
    rng, lines = np.random.default_rng(7), [HEADS + (", utilization.gpu [%]" if busy else "")]
    for k, w in enumerate(watts):
        minute, second = divmod(k * every_s, 60)
        at = f"2026/10/09 {8 + minute // 60:02d}:{minute % 60:02d}:{second:02d}.050"
        for gpu, drawn in ((0, f"{rng.normal(640, 8):.2f}"), (1, w)):
            share = f", {99 if gpu == 0 else busy[k]} %" if busy else ""
            lines.append(f"{at}, {gpu}, {drawn} W{share}")
    file.write_text("\n".join(lines) + "\n")
    return [n.message for n in rh.read(file).notes if "stuck" in n.message]


def scattered(mean, count):
    return [f"{w:.2f}" for w in np.random.default_rng(8).normal(mean, 4, count)]


def test_a_sensor_that_stops_is_noted_with_its_time_and_its_joules(tmp_path):
    """Of 600 s, 550 at 71.32 W and in use are 39 kJ that nobody measured."""
    watts = [*scattered(71, 25), *["71.32"] * 276]
    (said,) = noted(tmp_path / "smi.csv", watts, busy=[0] * 25 + [99] * 276)
    assert said.startswith("GPU 1: reads exactly 71.32 W from 50 s to 600 s after its first sample")
    assert "99 % in use, while its other readings change" in said
    assert "39226 J of its energy hang on that reading and are not measured" in said


def test_one_that_never_changes_beside_others_that_do_is_noted(tmp_path):
    (said,) = noted(tmp_path / "smi.csv", ["71.32"] * 200)
    assert "while those of GPU 0 change" in said
    assert "or the device rests" in said


@pytest.mark.parametrize(
    "watts",
    [
        ["71"] * 200,  # in whole watts
        ["71.00"] * 150 + ["300.00", "310.00"] * 25,  # so, too
        ["4.3"] * 200,  # a tenth of a watt is much of it
        scattered(71, 100) + ["71.32"] * 59,  # too few
        [w for w in scattered(300, 8) for _ in range(90)],  # read anew every 180 s
        ["71.32"] * 100 + ["75.62", "79.92", "84.22", "92.82"] * 20,  # steps of 4.3 W
        scattered(300, 200),
        scattered(61, 60) + ["300.00"] * 200,  # held at a power limit
    ],
)
def test_readings_that_repeat_for_another_reason_are_not(tmp_path, watts):
    assert noted(tmp_path / "smi.csv", watts) == []


def test_what_is_not_in_use_may_read_the_same(tmp_path):
    watts = [*scattered(300, 60), *["71.32"] * 200]
    assert noted(tmp_path / "a.csv", watts, busy=[99] * 60 + [0] * 200) == []
    assert len(noted(tmp_path / "b.csv", watts, busy=[99] * 60 + [0] * 199 + [5])) == 1


def test_many_samples_within_two_minutes_are_not(tmp_path):
    watts = [*scattered(300, 60), *["300.12"] * 110]
    assert noted(tmp_path / "a.csv", watts, every_s=1) == []
    assert len(noted(tmp_path / "b.csv", watts, every_s=2)) == 1


def test_where_nothing_changes_a_model_wrote_it(tmp_path):
    rows = [f"2026-10-09 08:{k // 30:02d}:{2 * (k % 30):02d},300.25,71.32" for k in range(200)]
    (file := tmp_path / "power.csv").write_text("\n".join(["time,n1_W,n2_W", *rows]) + "\n")
    assert not any("stuck" in n.message for n in rh.read(file).notes)
