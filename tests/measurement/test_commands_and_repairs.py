"""Commands that measure, and repairs: what is read of a command, what a repair leaves out."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement import repairs
from rheostat.measurement.command import Command, parse


def test_the_last_line_is_the_measurement() -> None:
    assert parse("1\n\n2.5\n  \n") == {"runtime_s": 2.5}
    assert parse('{"runtime_s": 1, "ok": true, "note": "x", "power_w": 2.5}') == {
        "runtime_s": 1.0, "power_w": 2.5}  # fmt: skip
    assert parse("") == parse("true") == parse('"x"') == parse("[1]") == {}


def test_a_command_is_run_as_often_as_asked_and_fails_with_a_note() -> None:
    jobs = table({"nodes": [1, 2]})
    twice = Command("echo {nodes}", repeat=2)(jobs)
    assert twice["runtime_s"].tolist() == [[1.0, 2.0], [1.0, 2.0]]
    some = Command("test {nodes} = 1 && echo 5", ["runtime_s"])
    found = some(jobs)
    np.testing.assert_equal(found["runtime_s"], [[5.0, math.nan]])
    assert [n.message for n in found.notes] == ["test 2 = 1 && echo 5: ended with status 1"]
    slow = Command("sleep 9", timeout_s=0.05)(jobs.rows([0]))
    assert np.isnan(slow["runtime_s"]).all()
    assert "took longer than 0.05 s" in slow.notes[0].message
    failed = Command("false", ["energy_j"])(jobs)
    assert set(failed.names) == {"runtime_s", "energy_j"}
    assert np.isnan(failed["energy_j"]).all()
    mixed = Command('test {nodes} = 1 && echo \'{{"runtime_s": 2, "power_w": 3}}\'', ["energy_j"])
    np.testing.assert_equal(mixed(jobs)["energy_j"], [[6.0, math.nan]])
    own = Command("echo done")(jobs.rows([0]))
    assert 0 < own["runtime_s"][0, 0] < 60  # the wall time stands in
    with pytest.raises(DataError, match="must be one of nodes; got"):
        Command("echo {cores}")(jobs)
    with pytest.raises(DataError, match="gave runtime_s, not energy_j"):
        Command("echo 3", ["energy_j"])(jobs)
    assert Command("echo '{{\"runtime_s\": 2, \"energy_j\": 8}}'", ["power_w"])(
        jobs.rows([0])).mean("power_w").tolist() == [4.0]  # fmt: skip


def test_a_value_reaches_the_shell_as_it_is() -> None:
    odd = table({"name": ["a b; echo 7"], "nodes": [3]})
    found = Command("x={name}; test \"$x\" = 'a b; echo 7' && echo {nodes}")(odd)
    assert found["runtime_s"].tolist() == [[3.0]]


def test_a_repair_says_what_it_left_out_and_changes_nothing_else() -> None:
    jobs = table({"nodes": [2, 0, 4, None], "nodes_alloc": [4, 2, 0, 1], "gpus": [8, 4, 4, 4],
                  "runtime_s": [5.0, 0.0, None, 7.0], "power_w": [8.0, 8.0, 8.0, None],
                  "censored": [False, True, None, True]})  # fmt: skip
    done = repairs.complete_only(jobs)
    assert done.frame["gpus"].to_list() == [8, 4]
    assert "left out 2 censored rows of 4" in done.notes[-1].message
    assert repairs.per_node_power(jobs).frame["power_per_node_w"].to_list() == [
        2.0,
        4.0,
        None,
        None,
    ]
    asked = jobs.select(["nodes", "power_w"])
    assert repairs.per_node_power(asked).frame["power_per_node_w"].to_list() == [
        4.0,
        None,
        2.0,
        None,
    ]
    each = repairs.per_node_requests(jobs)
    assert each.frame["gpus_per_node"].to_list() == [4.0, None, 1.0, None]
    assert "gpus" not in each.columns
    known = repairs.known_runtime(jobs)
    assert known.frame["runtime_s"].to_list() == [5.0, 7.0]
    assert "left out 2 rows of 4 without runtime" in known.notes[-1].message
    for repair in (repairs.complete_only, repairs.per_node_power, repairs.per_node_requests,
                   repairs.known_runtime):  # fmt: skip
        with pytest.raises(DataError, match="is missing"):
            repair(table(pl.DataFrame({"user": ["a"]})))
