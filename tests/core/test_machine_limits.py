"""The edges of what a machine may be: the last value that is taken, the first that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.machine import KEYS, Failure, Machine, Partition, RandomFailures, Rules, Window
from rheostat.core.series import Series
from rheostat.errors import DataError

INF, NAN = math.inf, math.nan
FITS = [
    (Machine, {"procs": 1}),
    (Machine, {"procs": 1, "idle_w": 0, "busy_w": 0.0}),
    (Machine, {"procs": 2, "idle_w": 1.0, "cap_w": Series.of(0.5)}),
    (Partition, {"procs": 1, "gpus": 0}),
    (Partition, {"procs": 1, "idle_w": 0.0, "busy_w": NAN, "gpu_idle_w": 0, "gpu_busy_w": 0}),
    (Partition, {"procs": 1, "sleep_after_s": 0.0, "idle_w": 1.0, "wake_w": 1.0, "wake_s": 0.0}),
    (Partition, {"procs": 1, "sleep_after_s": INF}),
    (Window, {"from_s": -1.0, "to_s": 0.0}),
    (Failure, {"at_s": -5.0, "repair_s": 0.0}),
    (RandomFailures, {"mtbf_s": 1e-3, "repair_s": 0.0, "seed": 0}),
    (Rules, {"kill": "limit", "requeue": 0, "array_limit": 0}),
]
REFUSED = [
    (Machine, {"procs": 0}, "procs: expected a whole number above 0, got 0"),
    (Machine, {"procs": 1.5}, "procs"),
    (Machine, {"procs": True}, "procs"),
    (Machine, {"procs": 1, "idle_w": -1}, "idle_w: expected watts of at least 0, got -1"),
    (Machine, {"procs": 1, "busy_w": "9"}, "busy_w"),
    (Machine, {"procs": 1, "cap_w": Series.of(5)}, "idle_w of every partition"),
    (Machine, {"procs": 1, "idle_w": 1, "cap_w": Series.of(0)}, "cap_w: expected watts above 0"),
    (Machine, {"procs": 3, "partitions": (Partition(2),)}, "sum of the partitions, got 3"),
    (Machine, {"procs": 4, "partitions": (Partition(2, "a"),) * 2}, "different names, got a, a"),
    (Machine, {"procs": 2, "maintenance": (Window(0, 1, "b"),)}, "partition b is not one of"),
    (Machine, {"procs": 2, "failures": (Failure(0, 1, "b"),)}, "partition b is not one of"),
    (Partition, {"procs": 0}, "procs"),
    (Partition, {"procs": 1, "gpus": -1}, "gpus: expected a whole number of at least 0, got -1"),
    *((Partition, {"procs": 1, w: -0.5}, f"{w}: expected watts")
      for w in ("idle_w", "busy_w", "gpu_idle_w", "gpu_busy_w", "sleep_w", "wake_w")),
    *((Partition, {"procs": 1, s: -0.5}, f"{s}: expected seconds")
      for s in ("sleep_after_s", "wake_s")),
    (Partition, {"procs": 1, "sleep_after_s": 5, "idle_w": 1}, "wake_w: expected watts, because"),
    (Partition, {"procs": 1, "sleep_after_s": 5, "wake_w": 1}, "idle_w: expected watts, because"),
    (Window, {"from_s": 1.0, "to_s": 1.0}, "from_s < to_s, got 1.0 and 1.0"),
    (Window, {"from_s": 1.0, "to_s": INF}, "from_s < to_s"),
    (Window, {"from_s": 1.0, "to_s": 2.0, "procs": -1}, "procs"),
    (Failure, {"at_s": INF, "repair_s": 1.0}, "at_s: expected a time"),
    (Failure, {"at_s": 0.0, "repair_s": -1.0}, "repair_s"),
    (Failure, {"at_s": 0.0, "repair_s": 1.0, "procs": 0}, "procs"),
    (RandomFailures, {"mtbf_s": 0, "repair_s": 1}, "mtbf_s: expected seconds above 0, got 0"),
    (RandomFailures, {"mtbf_s": -1, "repair_s": 1}, "mtbf_s"),
    (RandomFailures, {"mtbf_s": 1, "repair_s": -1}, "repair_s"),
    (RandomFailures, {"mtbf_s": 1, "repair_s": 1, "procs": 0}, "procs"),
    (RandomFailures, {"mtbf_s": 1, "repair_s": 1, "seed": -1}, "seed"),
    (Rules, {"requeue": -1}, "requeue"),
    (Rules, {"array_limit": -1}, "array_limit"),
    (Rules, {"kill": "no"}, "kill: expected never or limit, got 'no'"),
    (Rules, {"dependencies": 1}, "dependencies: expected true or false, got 1"),
    (Rules, {"arrays": "yes"}, "arrays: expected true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "facts"), FITS)
def test_the_last_value_that_fits_is_taken(kind, facts) -> None:
    made = kind(**facts)
    for name, value in facts.items():
        np.testing.assert_equal(getattr(made, name), value)


@pytest.mark.parametrize(("kind", "facts", "said"), REFUSED)
def test_the_first_value_that_does_not_fit_is_refused(kind, facts, said) -> None:
    with pytest.raises(DataError) as caught:
        kind(**facts)
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_nothing_is_enforced_or_assumed_unless_asked_for() -> None:
    assert Rules() == Rules("never", False, False, 0, 3)
    part = Partition(4)
    assert (part.gpus, part.gpu_idle_w, part.gpu_busy_w, part.sleep_w, part.wake_s) == (0,) * 5
    assert part.sleep_after_s == INF
    assert np.isnan([part.idle_w, part.busy_w, part.wake_w]).all()
    assert (Window(0, 1).procs, Failure(0, 1).procs, RandomFailures(1, 1).procs) == (0, 1, 1)
    assert RandomFailures(1, 1).seed == 0


def test_a_plain_machine_is_one_part_with_its_watts() -> None:
    (part,) = Machine(8, idle_w=3.0, busy_w=9.0).parts
    assert part == Partition(8, idle_w=3.0, busy_w=9.0)
    two = (Partition(3, "a"), Partition(5, "b"))
    assert Machine(8, partitions=two).parts == two


@pytest.mark.parametrize(
    "more",
    [
        {"partitions": (Partition(8, "a"),)},
        {"maintenance": (Window(0, 1),)},
        {"failures": (Failure(0, 1),)},
        {"random_failures": RandomFailures(1, 1)},
        {"cap_w": Series.of(100.0), "idle_w": 1.0},
        {"rules": Rules(arrays=True)},
    ],
)
def test_whatever_a_scheduler_must_plan_for_makes_a_site(more) -> None:
    assert not Machine(8, **more).plain
    assert Machine(8, carbon_g_per_kwh=Series.of(1.0)).plain


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"procs": 2, "power": 5}, "power: expected a table"),
        ({"procs": 2, "partition": 5}, "partition: expected tables, written [[partition]]"),
        ({"procs": 2, "maintenance": [5]}, "maintenance 1: expected a table"),
        ({"procs": 2, "failure": [{"at_s": 1}]}, "failure 1: missing 1 required positional"),
        ({"procs": 2, "rules": {"kil": 1}}, "rules: kil is not known; known: kill, dependencies"),
        ({"procs": 2, "colour": 1}, f"colour is not known; known: {', '.join(KEYS)}"),
        ({"name": "x"}, "procs is missing"),
        ({"procs": 2, "partition": [{"procs": 2}, 5]}, "partition 2: expected a table"),
        ({"procs": 0}, "procs: expected a whole number above 0"),
    ],
)
def test_one_mistake_in_a_file_is_one_problem(facts, said) -> None:
    with pytest.raises(DataError) as caught:
        Machine.from_mapping(facts, "site.toml")
    assert str(caught.value).startswith("site.toml: ")
    assert [said in p for p in caught.value.problems] == [True]


def test_idle_watts_count_under_a_cap_wherever_they_are_missing() -> None:
    parts = (Partition(1, "a", idle_w=1.0), Partition(1, "b"))
    with pytest.raises(DataError, match="idle_w of every partition"):
        Machine(2, partitions=parts, cap_w=Series.of(9))


def test_what_is_no_machine_file_is_told(tmp_path) -> None:
    with pytest.raises(DataError, match="expected a number of processors or a TOML file"):
        Machine.load(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_text("= 5")
    with pytest.raises(DataError, match="expected TOML"):
        Machine.load(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(DataError, match="not UTF-8"):
        Machine.load(tmp_path / "x.toml")


def test_a_mapping_is_read_and_not_changed() -> None:
    facts = {
        "procs": 2,
        "power": {"carbon_g_per_kwh": 300},
        "failures": {"mtbf_s": 9, "repair_s": 1},
    }
    made = Machine.from_mapping(facts)
    assert made.carbon_g_per_kwh == Series.of(300)
    assert made.random_failures == RandomFailures(9, 1)
    assert set(facts) == {"procs", "power", "failures"}
    assert Machine.from_mapping({"procs": 3}) == Machine(3)
    both = Machine.from_mapping({"procs": 3, "partition": [{"procs": 1, "name": "a"},
                                                           {"procs": 2, "name": "b"}]})  # fmt: skip
    assert both.procs == 3


moments = st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True).map(sorted)


@given(moments, st.lists(st.integers(-50, 120), max_size=8), st.data())
def test_a_series_has_the_value_of_the_last_moment_passed(begins, asked, data) -> None:
    values = [float(10 * i) for i in range(len(begins))]
    repeat = data.draw(st.sampled_from([0, begins[-1] + 1, begins[-1] + 7]))
    if repeat:
        begins = [b - begins[0] for b in begins]
    series = Series(tuple(map(float, begins)), tuple(values), float(repeat))
    for t, found in zip(asked, series.at(np.array(asked, dtype=float)), strict=True):
        now = t % repeat if repeat else t
        passed = [v for b, v in zip(begins, values, strict=True) if b <= now]
        assert found == (passed[-1] if passed else values[0])


@given(moments, st.integers(-60, 60), st.integers(0, 90), st.integers(0, 9))
def test_changes_are_the_moments_at_which_the_value_may_differ(begins, start, span, extra) -> None:
    begins = [b - begins[0] for b in begins]
    repeat = float(begins[-1] + 1 + extra)
    series = Series(tuple(map(float, begins)), tuple(map(float, begins)), repeat)
    inside = [t for t in range(start + 1, start + span + 1) if t % repeat in begins]
    assert series.changes(start, start + span).tolist() == inside


@pytest.mark.parametrize(
    ("begins", "values", "repeat", "said"),
    [
        ((), (), 0, "as many from_s as values, got 0 and 0"),
        ((0.0, 1.0), (1.0,), 0, "got 2 and 1"),
        ((0.0, 0.0), (1.0, 2.0), 0, "ascending"),
        ((1.0,), (1.0,), 5, "from 0 on and below repeat_s"),
        ((0.0, 5.0), (1.0, 2.0), 5, "from 0 on and below repeat_s"),
        ((0.0,), (1.0,), -1, "from 0 on and below repeat_s"),
        ((0.0,), (NAN,), 0, "expected numbers"),
        ((0.0,), (1.0,), INF, "expected numbers"),
    ],
)
def test_a_series_says_what_is_wrong_with_it(begins, values, repeat, said) -> None:
    with pytest.raises(DataError, match=said):
        Series(begins, values, repeat)
    assert Series((0.0, 4.9), (1.0, 2.0), 5).at(np.array([4.95])).tolist() == [2.0]


def test_a_series_from_a_file_refuses_what_it_does_not_know() -> None:
    with pytest.raises(DataError, match="until is not known"):
        Series.of({"from_s": [0], "value": [1], "until": 5})
    with pytest.raises(DataError, match="expected lists of numbers"):
        Series.of({"from_s": [0], "value": ["x"]})
    with pytest.raises(DataError, match="expected a number or from_s and value"):
        Series.of({"value": [1]})
    made = Series.of({"from_s": [0], "value": [1], "repeat_s": 9})
    assert Series.of(made) is made
    assert made.repeat_s == 9.0
