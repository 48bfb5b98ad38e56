"""Commands that measure, and repairs: what is read of a command, what a repair leaves out."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement import repairs
from rheostat.measurement.commands.command import TOO_SHORT, Command, parse


def prints(text: str) -> str:
    return f"printf '{{{{{text}}}}}' {{nodes}}"


def test_a_printed_value_counts_by_its_name_alone() -> None:
    assert parse("1\n\n2.5\n  \n") == {}
    assert parse('{"runtime_s": 1, "ok": true, "note": "x", "power_w": 2.5}') == {
        "runtime_s": 1.0, "power_w": 2.5}  # fmt: skip
    assert parse('{"runtime_s": 1}\n{"runtime_s": 2}\n{broken\n0.000000') == {"runtime_s": 2.0}
    assert parse("") == parse("true") == parse('"x"') == parse("[1]") == {}


@pytest.mark.parametrize("printed", ["NaN", "1e400", "9" * 400, "-Infinity"])
def test_a_number_that_is_not_finite_is_told_and_not_replaced(printed) -> None:
    jobs = table({"nodes": [1]})
    timed = Command(f"echo '{{{{\"runtime_s\": {printed}}}}}'")
    assert np.isnan(timed(jobs)["runtime_s"]).all()
    assert "printed runtime_s nan, not above 0" in timed.notes[0].message
    metered = Command(f'echo \'{{{{"runtime_s": 2, "energy_j": {printed}}}}}\'', ["energy_j"])
    assert np.isnan(metered(jobs)["energy_j"]).all()
    assert "energy_j: the command printed no finite number" in metered.notes[0].message


def test_a_line_that_python_cannot_read_is_no_measurement() -> None:
    for line in ('{"runtime_s": ' + "9" * 10_000 + "}", '{"a": ' * 100_000 + "}" * 100_000):
        assert parse(line) == {}
        assert parse('{"runtime_s": 2}\n' + line) == {"runtime_s": 2.0}


def test_a_checksum_is_no_time_and_a_time_that_is_none_is_refused() -> None:
    jobs = table({"nodes": [1]})
    summed = Command("echo 0.000000")
    assert 0 < summed(jobs)["runtime_s"][0, 0] < 60
    assert "runtime_s: measured around the command, its start included" in [
        n.message for n in summed.notes
    ]
    none = Command(prints('"runtime_s": 0.0%s') + "0")
    assert np.isnan(none(table({"nodes": [0]}))["runtime_s"]).all()
    assert "printed runtime_s 0, not above 0" in none.notes[0].message


def test_short_runs_warn_and_each_figure_says_where_it_came_from() -> None:
    jobs = table({"nodes": [4, 8]})
    short = Command(prints('"runtime_s": 0.00%s, "power_w": 9'), ["energy_j"])
    short(jobs)
    assert [n.message for n in short.notes] == [
        "runtime_s, power_w: printed by the command", TOO_SHORT]  # fmt: skip
    long = Command(prints('"runtime_s": %s'))
    long(jobs)
    assert [n.message for n in long.notes] == ["runtime_s: printed by the command"]


def test_a_printed_run_time_is_read_in_the_unit_its_name_says():
    line = """printf '{{"runtime_ms": 80000, "energy_kJ": %s}}' {nodes}"""
    measure = Command(line, ["runtime_s", "energy_j"])
    outcome = measure(table({"nodes": [2]}))
    assert outcome.mean("runtime_s") == [80.0]
    assert outcome.mean("energy_j") == [2000.0]
    assert [n.message for n in outcome.notes] == ["runtime_s, energy_j: printed by the command"]


def test_a_printed_time_of_something_is_not_taken_for_the_run_time_and_that_is_said():
    measure = Command("""echo '{{"time_ms": 80000}}'""")
    outcome = measure(table({"nodes": [2]}))
    assert outcome.mean("runtime_s")[0] < 80.0
    assert "time_ms: not taken for the run time; print runtime_s or runtime_ms" in [
        n.message for n in outcome.notes
    ]


def test_warm_up_runs_do_not_count_and_a_wrong_output_measures_nothing(tmp_path) -> None:
    count = tmp_path / "count"
    line = f"echo {{nodes}} >> {count}; echo right {{nodes}}; " + prints('"runtime_s": %s')
    jobs = table({"nodes": [2, 4]})
    found = Command(line, warm_up=2, repeat=2, check=r"^right \d")(jobs)
    assert found["runtime_s"].tolist() == [[2.0, 4.0], [2.0, 4.0]]
    assert count.read_text() == "2\n" * 4 + "4\n" * 4
    checked = Command(line, check="cmd: grep -q 'right 4' && test {nodes} = 4")
    np.testing.assert_equal(checked(jobs)["runtime_s"], [[math.nan, 4.0]])
    assert "its output is wrong: grep -q 'right 4' && test 2 = 4 ended" in checked.notes[0].message
    wrong = Command(line, warm_up=3, repeat=2, check="left")
    assert np.isnan(wrong(jobs.rows([0]))["runtime_s"]).all()
    assert "nothing matches 'left'" in wrong.notes[0].message
    assert count.read_text().endswith("4\n2\n4\n2\n")  # a warm-up that fails is the last run
    assert wrong.program.endswith("# check left")
    with pytest.raises(DataError, match="expected a regular expression, or cmd:"):
        Command(line, check="(")


def test_a_command_is_run_as_often_as_asked_and_fails_with_a_note() -> None:
    jobs = table({"nodes": [1, 2]})
    some = Command("test {nodes} = 1 && " + prints('"runtime_s": 5%s'), ["runtime_s"])
    found = some(jobs)
    np.testing.assert_equal(found["runtime_s"], [[51.0, math.nan]])
    assert "ended with status 1" in found.notes[-1].message
    slow = Command("sleep 9", timeout_s=0.05)(jobs.rows([0]))
    assert np.isnan(slow["runtime_s"]).all()
    assert "took longer than 0.05 s" in slow.notes[0].message
    failed = Command("false", ["energy_j"])(jobs)
    assert set(failed.names) == {"runtime_s", "energy_j"}
    assert np.isnan(failed["energy_j"]).all()
    mixed = Command('test {nodes} = 1 && echo \'{{"runtime_s": 2, "power_w": 3}}\'', ["energy_j"])
    np.testing.assert_equal(mixed(jobs)["energy_j"], [[6.0, math.nan]])
    with pytest.raises(DataError, match="must be one of nodes; got"):
        Command("echo {cores}")(jobs)
    with pytest.raises(DataError, match="gave runtime_s, not energy_j"):
        Command("echo 3", ["energy_j"])(jobs)
    assert Command("echo '{{\"runtime_s\": 2, \"energy_j\": 8}}'", ["power_w"])(
        jobs.rows([0])).mean("power_w").tolist() == [4.0]  # fmt: skip


def test_a_value_reaches_the_shell_as_it_is() -> None:
    odd = table({"name": ["a b; echo 7"], "nodes": [3]})
    line = """sh -c 'test "$1" = "a b; echo 7" && echo "{{\\"runtime_s\\": $2}}"' sh """
    line += "{name} {nodes}"
    assert Command(line)(odd)["runtime_s"].tolist() == [[3.0]]


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
