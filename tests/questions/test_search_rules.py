"""A limit that is the rule steers what is measured next as one beside the rule does."""

from __future__ import annotations

import pytest

import rheostat as rh

KNOBS = ["nodes=1,2,4,8,16,32", "ghz=1.2,1.6,2.0,2.6"]
DEADLINE = "deadline=120s"


def runs(*settings: tuple[int, float]) -> rh.JobTable:
    seconds = [8 + 640 / n * (0.35 + 0.65 * 2.6 / g) + 1.1 * n for n, g in settings]
    watts = [n * (110 + 105 * (g / 2.6) ** 2.4) + 60 for n, g in settings]
    return rh.table({
        "nodes": [n for n, _ in settings], "ghz": [g for _, g in settings],
        "runtime_s": seconds, "energy_j": [t * w for t, w in zip(seconds, watts, strict=True)],
    })  # fmt: skip


@pytest.mark.slow
def test_a_deadline_as_the_rule_steers() -> None:
    known = runs((1, 2.6), (32, 1.2), (4, 2.0), (16, 2.0))
    as_rule = rh.next_settings(known, knobs=KNOBS, rule=DEADLINE, seed=1).settings
    beside = rh.next_settings(known, knobs=KNOBS, limits=[DEADLINE], seed=1).settings
    assert as_rule == beside
