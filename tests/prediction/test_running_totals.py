"""Counters read as totals since the start of a run, and a table that lacks one for the law."""

from __future__ import annotations

import pytest

from rheostat.core.jobs import Column, Moment
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.counters.counter_columns import RUNNING, running_totals
from rheostat.recipes.mummi import study, usable

RATES = [Column("ipc", "", Moment.END), Column("misses", "", Moment.END)]


def read_each_second(step=1.0, **more):
    seconds = [1.0, 1.0 + step, 3.0, 4.0, 5.0] * 2
    misses = [9.0, 20.0, 21.0, 40.0, 55.0, 3.0, 4.0, 8.0, 20.0, 21.0]
    ipc = [1.0, 1.2, 0.9, 1.1, 1.0, 2.0, 2.1, 1.9, 2.2, 2.0]
    power = [100.0 + 9.0 * i for i in ipc]
    read = {"runtime_s": seconds, "misses": misses, "ipc": ipc, "power_w": power, **more}
    return table({"app": ["a"] * 5 + ["b"] * 5, **read}, RATES)


def test_what_only_grows_with_the_clock_of_each_run_is_a_running_total():
    assert running_totals(read_each_second()) == ["misses"]
    seen = usable(read_each_second())
    assert seen.ignored["misses"] == RUNNING
    assert "ipc" in seen.jobs.columns


def test_runs_of_their_own_lengths_hold_no_running_totals():
    assert running_totals(read_each_second(step=0.5)) == []
    falling = [9.0, 20.0, 19.0, 40.0, 55.0] * 2
    assert running_totals(read_each_second(misses=falling)) == []


def test_a_table_of_running_totals_alone_is_refused_with_what_to_write():
    alone = read_each_second().select(["app", "runtime_s", "misses", "power_w"])
    with pytest.raises(DataError, match="misses: a running total since the start of each run"):
        study(alone)


def test_a_law_without_busy_cores_names_the_methods_that_need_none():
    with pytest.raises(DataError, match=r"need no such count: cap, mummi, .*forest"):
        study(read_each_second(), methods=("law",))
