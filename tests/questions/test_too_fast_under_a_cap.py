"""A run far faster under a lower cap than under higher ones did not do the same work."""

from __future__ import annotations

import pytest

from rheostat import table
from rheostat.questions.budget.capped_runs import capped
from rheostat.questions.listener import Silent, listening

ROWS = [("a", 200, 95.0), ("a", 250, 90.0), ("a", 300, 85.0), ("b", 200, 50.0), ("b", 300, 45.0)]


class Noted(Silent):
    """Keeps notes."""

    def __init__(self):
        self.said = []

    def notes(self, messages):
        self.said += messages


def runs(odd=None, more=()):
    rows = [odd if odd and odd[:2] == row[:2] else row for row in ROWS] + list(more)
    apps, caps, seconds = zip(*rows, strict=True)
    return table({"app": apps, "cap_w": caps, "runtime_s": seconds})


def kept(jobs):
    heard = Noted()
    with listening(heard):
        left = capped(jobs, (), "")
    return len(left), [text for text in heard.said if text.startswith("left out")]


@pytest.mark.parametrize("odd", [("a", 250, 9.4), ("a", 200, 40.0), ("b", 200, 2.0)])
def test_a_run_faster_than_any_under_a_higher_cap_is_left_out(odd):
    count, said = kept(runs(odd))
    assert count == len(ROWS) - 1
    assert f"{odd[0]} at {odd[1]} W took {odd[2]:.3g} s" in said[0]


@pytest.mark.parametrize(
    "jobs",
    [
        runs(),
        runs(("a", 200, 60.0)),  # as far as other load goes
        runs(("a", 300, 2.0)),  # under the highest cap nothing tells
        runs(("a", 200, 9.4), more=[("a", 200, 9.5)]),  # it ran so twice
    ],
)
def test_other_runs_stay(jobs):
    assert kept(jobs)[0] == len(jobs)
