"""Constants of the guard are picked on the other logs, and never on the one they are judged on."""

from __future__ import annotations

import numpy as np
import pytest
from guard_choice import SETTINGS, SHIPPED, GuardedLog, page, picked


def log(slowdown: dict[int, float], longest: dict[int, float]) -> GuardedLog:
    """Two replays; what is not told of a setting is 1, or 1 x."""
    slow, wait = np.ones((2, len(SETTINGS))), np.ones((2, len(SETTINGS)))
    for k, value in slowdown.items():
        slow[:, k] = value
    for k, value in longest.items():
        wait[1, k] = value
    return GuardedLog("sjf+easy+1.5x", np.ones(2), slow, wait, wait, np.ones(1))


def test_the_quickest_setting_within_the_limit_on_all_others_is_picked() -> None:
    one, other = log({0: 0.5, 1: 0.7}, {0: 1.6}), log({0: 0.5, 2: 0.9}, {})
    assert picked([one, other]) == 1
    assert picked([other]) == 0
    nobody = log({}, dict.fromkeys(range(len(SETTINGS)), 2.0) | {3: 1.7})
    assert picked([nobody]) == 3


def test_a_log_has_no_say_in_its_own_constants() -> None:
    tight, wide = log({0: 0.5}, {0: 1.6}), log({0: 0.5, 1: 0.8}, {})
    rows = page({"tight": tight, "wide": wide})
    assert "| tight | sjf+easy+1.5x 1 | {:.2f}, {:g} | 0.500".format(*SETTINGS[0]) in rows[2]
    assert "1.60 x" in rows[2]
    assert "| {:.2f}, {:g} | 0.800".format(*SETTINGS[1]) in rows[3]
    assert "beyond 1.5 times that of FCFS with EASY in 1 of 4 replays, 1.60 x" in "".join(rows)
    assert sum("(ships)" in row for row in rows) == 1
    assert SETTINGS[SHIPPED] == pytest.approx((2.0, 2.0))
