"""Choosing from a front, missing draws, tables and spaces: what each promises at its edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheostat.core.decision import Assignment, Because, Decision
from rheostat.core.dominance import knee_index, non_dominated
from rheostat.core.front import Front, Objective
from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Outcome
from rheostat.core.report import Chart, Grid
from rheostat.core.space import Knob, Space, powers_of_two
from rheostat.core.vocabulary import column, table
from rheostat.errors import DataError, Infeasible

NAN = np.nan


@dataclass(frozen=True)
class Score:
    values: tuple[float, ...]

    def score(self, front: Front) -> np.ndarray:
        return np.array(self.values)


@dataclass(frozen=True)
class Excess(Score):
    """Misses a limit by what it is given."""

    def excess(self, front: Front) -> np.ndarray:
        return np.array(self.values)

    score = None


def front(runtime, power, support=None, objectives=("runtime_s", "power_w")) -> Front:
    draws = {k: np.atleast_2d(np.asarray(v, float)) for k, v in (("runtime_s", runtime),
                                                                 ("power_w", power))}  # fmt: skip
    n = draws["runtime_s"].shape[1]
    jobs = table({"job_id": [7] * n, "nodes": [2**i for i in range(n)]})
    held = None if support is None else np.asarray(support, float)
    return Front(jobs, Outcome(draws, held), objectives)


def test_ties_go_to_the_first_row_and_the_runner_up_is_the_next() -> None:
    choice = front([1, 1, 1], [1, 1, 1], [4, 5, 6]).choose(Score((2.0, 1.0, 1.0)))
    assert choice.index == 1
    assert choice.because.runner_up == {"nodes": 4}
    assert choice.because.support == 5.0
    assert choice.because.compared == {"runtime_s": 1.0, "power_w": 1.0}


def test_a_row_without_score_value_or_known_limit_is_not_chosen() -> None:
    asked = front([NAN, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    limit = Excess((0.0, NAN, 0.1, 0.0, -1.0))
    assert asked.choose(Score((0.0, 0.0, 0.0, np.inf, 9.0)), limit).index == 4
    assert asked.choose(Score((0.0, 0.0, 0.0, NAN, 9.0)), limit).because.runner_up is None
    assert asked.choose(Score((0.0, 0.0, 0.0, 5.0, 9.0)), limit).index == 3  # an excess of 0 holds


def test_one_row_left_has_no_runner_up() -> None:
    because = front([1, 2], [2, 1]).choose(Score((1.0, np.inf))).because
    assert because.runner_up is None
    assert because.compared == {}
    assert because.support is None


def test_several_limits_hold_together_and_the_nearest_misses_least_at_worst() -> None:
    asked = front([1, 2, 3], [3, 2, 1])
    limits = (Excess((0.5, 0.1, -1.0)), Excess((-1.0, 0.2, 0.3)))
    with pytest.raises(Infeasible, match=r"nearest is nodes=2, 20\.0 % over") as caught:
        asked.choose(Score((0.0, 0.0, 0.0)), limits)
    assert caught.value.nearest == 1
    both = asked.choose(Score((0.0, 1.0, 2.0)), (Excess((1.0, 0.0, 0.0)), Excess((0.0, 1.0, 0.0))))
    assert both.index == 2


def test_the_nearest_row_is_one_that_can_be_judged() -> None:
    with pytest.raises(Infeasible) as caught:
        front([NAN, 2], [1, 1]).choose(Score((0.0, 0.0)), Excess((0.1, 0.9)))
    assert caught.value.nearest == 1
    with pytest.raises(Infeasible, match="no setting meets finite objectives") as caught:
        front([1, 2], [1, 1]).choose(Score((np.inf, np.inf)))
    assert caught.value.nearest == 0


def test_the_numbers_of_a_choice_are_mean_and_ends_of_ninety_per_cent() -> None:
    draws = np.linspace(0.0, 100.0, 101)[:, None] * np.array([[1.0, 2.0]])
    because = front(draws, np.ones((101, 2))).choose(Score((1.0, 0.0))).because
    assert because.numbers["runtime_s"] == pytest.approx((100.0, 10.0, 190.0))
    assert because.compared["runtime_s"] == pytest.approx(2.0)


def test_quantities_come_from_draws_derivations_or_columns() -> None:
    asked = front([[3600.0, 7200.0], [7200.0, 7200.0]], [[2.0, 2.0], [4.0, 4.0]])
    assert asked.mean("node_hours").tolist() == [1.5, 4.0]
    assert asked.mean("energy_j").tolist() == [(7200 + 4 * 7200) / 2, 3 * 7200.0]
    assert asked.mean("nodes").tolist() == [1.0, 2.0]
    assert asked.interval("runtime_s", 0.5)[0][0] == 3600 + 900
    assert asked.hypervolume((7200.0, 4.0)) == pytest.approx((7200 - 5400) * (4 - 3))
    with pytest.raises(DataError, match="needs two objectives"):
        front([1], [1], objectives=("runtime_s",)).hypervolume((1.0, 1.0))


def test_knobs_are_the_columns_that_differ() -> None:
    jobs = table({"job_id": [1, 1], "nodes": [4, 4]})
    same = Front(jobs, Outcome({"runtime_s": np.ones((1, 2))}), ("runtime_s",))
    assert same.knobs == ("job_id",)
    assert same.setting(1, ["nodes"]) == {"nodes": 4}
    assert front([1, 2], [2, 1]).knobs == ("nodes",)
    nameless = Front(table({"nodes": [1]}), Outcome({"runtime_s": np.ones((1, 1))}), ("runtime_s",))
    assert nameless.choose(Score((0.0,))).job is None


def test_objectives_have_a_sense_and_their_unit() -> None:
    assert [Objective.of(q).unit for q in ("runtime_s", "power_w", "energy_j", "edp_js",
                                           "node_hours", "speed")] == [
        "s", "W", "J", "J s", "node_h", ""]  # fmt: skip
    with pytest.raises(DataError, match="expected 'min' or 'max', got 'least'"):
        Objective("runtime_s", "least")


def test_the_knee_of_fewer_than_three_points_is_the_best_in_the_first_objective() -> None:
    assert knee_index(np.array([[2.0, 1.0], [1.0, 2.0]])) == 1
    assert knee_index(np.array([[NAN, 1.0], [5.0, 5.0]])) == 1
    with pytest.raises(DataError, match="finite"):
        knee_index(np.array([[NAN, 1.0]]))


def test_the_knee_takes_logs_only_where_all_values_are_positive() -> None:
    """On log axes (10, 20) bends more, on linear ones (30, 12) does; a 0 decides for linear."""
    rows = np.array([[1.0, 1000.0], [10.0, 20.0], [30.0, 12.0], [1000.0, 1.0]])
    logs = np.log(rows)
    span = np.ptp(logs, axis=0)
    assert knee_index(rows) == int(np.argmin(((logs - logs.min(axis=0)) / span).sum(axis=1)))
    shifted = rows - [0.0, 1.0]
    span = np.ptp(shifted, axis=0)
    low = ((shifted - shifted.min(axis=0)) / span).sum(axis=1)
    assert knee_index(shifted) == int(np.argmin(low))


def test_a_knee_at_equal_depth_is_the_better_one_in_the_first_objective() -> None:
    rows = np.array([[4.0, 0.0], [3.0, 1.0], [1.0, 3.0], [0.0, 4.0]])  # all on the chord
    assert knee_index(rows) == 3


cells = st.one_of(st.just(NAN), st.integers(0, 9).map(float))


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=cells))
def test_summaries_are_those_of_the_draws_that_are_there(values: np.ndarray) -> None:
    found = Outcome({"runtime_s": values})
    for row in range(values.shape[1]):
        there = values[:, row][np.isfinite(values[:, row])]
        mean, quarter = found.mean("runtime_s")[row], found.quantile("runtime_s", 0.25)[row]
        if len(there):
            assert mean == pytest.approx(there.mean())
            assert quarter == pytest.approx(np.quantile(there, 0.25))
        else:
            assert np.isnan([mean, quarter]).all()
        assert found.abstained[row] == (len(there) == 0)


def test_an_interval_leaves_out_as_much_below_as_above() -> None:
    draws = Outcome({"power_w": np.arange(101.0)[:, None]})
    assert [e[0] for e in draws.interval("power_w")] == pytest.approx([5.0, 95.0])
    assert [e[0] for e in draws.interval("power_w", 0.5)] == pytest.approx([25.0, 75.0])


def test_an_outcome_without_draws_is_empty_and_one_with_other_shapes_is_refused() -> None:
    nothing = Outcome({})
    assert (len(nothing), nothing.names, nothing.abstained.tolist()) == (0, (), [])
    with pytest.raises(DataError, match="shape"):
        Outcome({"runtime_s": np.ones(3)})
    two = Outcome({"a": np.ones((2, 3)), "b": np.ones((5, 3))}, np.array([1.0, 2.0, 3.0]))
    assert len(two) == 3  # as many rows, not as many draws
    some = two.rows(np.array([2, 0]))
    assert (len(some), some.support.tolist()) == (2, [3.0, 1.0])
    assert Outcome({"a": np.ones((1, 2))}).rows(np.array([True, False])).support is None
    assert Outcome({"a": np.array([[1.0, NAN]]), "b": np.array([[NAN, 1.0]])}).abstained.all()


def test_energy_is_not_derived_from_a_power_that_is_derived_from_it() -> None:
    assert "energy_j" not in Outcome({"runtime_s": np.ones((1, 1))})
    assert "edp_js" in Outcome({"runtime_s": np.full((1, 1), 2.0), "power_w": np.full((1, 1), 3.0)})
    made = Outcome({"runtime_s": np.full((1, 1), 2.0), "power_w": np.full((1, 1), 3.0)})
    assert made.mean("edp_js")[0] == 12.0
    measured = Outcome.measured(table({"runtime_s": [4.0, None]}), "runtime_s")
    assert measured["runtime_s"][0, 0] == 4.0
    assert np.isnan(measured["runtime_s"][0, 1])


@given(arrays(float, st.tuples(st.integers(0, 8), st.just(3)),
              elements=st.integers(0, 3).map(float)))  # fmt: skip
def test_every_row_off_the_front_is_beaten_by_one_on_it(y: np.ndarray) -> None:
    mask = non_dominated(y)
    for row in y[~mask]:
        assert any((f <= row).all() and (f < row).any() for f in y[mask])
    assert mask.any() == bool(len(y))


# tables


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 1.1])
def test_a_split_takes_a_share_between_none_and_all(fraction) -> None:
    with pytest.raises(DataError, match="expected 0 < fraction < 1"):
        table({"submit_s": [1, 2]}).split_by_time(fraction)


def test_a_split_keeps_equal_times_together_and_an_empty_table_empty() -> None:
    past, recent = table({"submit_s": [4, 1, 2, 2, 2]}).split_by_time(0.4)
    assert past.frame["submit_s"].to_list() == [1, 2, 2, 2]
    assert recent.frame["submit_s"].to_list() == [4]
    past, recent = table({"submit_s": [3, 1, 2]}).split_by_time(0.01)
    assert past.frame["submit_s"].to_list() == [1]
    empty = table({"submit_s": pl.Series([], dtype=pl.Int64)})
    assert [len(t) for t in empty.split_by_time(0.5)] == [0, 0]
    past, _ = table({"end_s": [3, 1, 2], "submit_s": [1, 2, 3]}).split_by_time(0.4, by="end_s")
    assert past.frame["end_s"].to_list() == [1]


def test_a_job_is_found_by_number_or_text_and_has_all_its_rows() -> None:
    jobs = table({"job_id": [1, 2, 1], "nodes": [4, 5, 6]})
    assert jobs.job("1").frame["nodes"].to_list() == [4, 6]
    assert table({"job_id": ["7_1", "8"]}).job("7_1").frame["job_id"].to_list() == ["7_1"]
    with pytest.raises(DataError, match="not in this table of 3 rows; job_id runs from 1 to 2"):
        jobs.job(9)


def test_a_table_without_the_column_it_needs_says_which() -> None:
    jobs = table({"nodes": [1]})
    for ask in (
        lambda: jobs.job(1),
        lambda: jobs.split_by_time(0.5),
        lambda: jobs.numpy("job_id"),
        lambda: jobs.select(["job_id"]),
        lambda: Space.of(Knob("cap_w", [1])).scale(jobs),
    ):
        with pytest.raises(DataError, match=r"column (job_id|submit_s|cap_w) is missing; present"):
            ask()


def test_columns_are_added_from_arrays_scalars_texts_and_expressions() -> None:
    jobs = table({"nodes": [1, 2]})
    made = jobs.with_columns(
        [Column("x", "", Moment.SUBMIT)] + [column(n) for n in ("user", "cores", "threads")],
        x=np.array([5, 6]), user="ann", cores=8, threads=pl.col("nodes") * 2,
    )  # fmt: skip
    assert made.frame.rows() == [(1, 5, "ann", 8, 2), (2, 6, "ann", 8, 4)]
    assert len(made.noted(Note("a"), Note("b")).notes) == 2


def test_what_is_known_at_a_moment_was_known_at_every_later_one() -> None:
    jobs = table({"nodes": [1], "start_s": [2.0], "end_s": [3.0]})
    assert [jobs.known_at(m).columns for m in Moment] == [
        ("nodes",), ("nodes", "start_s"), ("nodes", "start_s", "end_s")]  # fmt: skip
    jobs.refuse_later_than(Moment.START, ["nodes", "start_s", "unheard_of"])


# knobs


@pytest.mark.parametrize(
    ("knob", "log"),
    [
        (Knob("n", [1, 4]), True),
        (Knob("n", [1, 3.99]), False),
        (Knob("n", [0, 4]), False),
        (Knob("n", low=1, high=4), True),
        (Knob("n", [1, 100], log=False), False),
        (Knob("n", [1, 2], log=True), True),
        (Knob("n", ["a", "b"]), False),
    ],
)
def test_a_knob_that_spans_a_factor_of_four_scales_by_ratio(knob, log) -> None:
    assert knob.log == log


def test_a_knob_keeps_names_in_order_and_numbers_sorted_once() -> None:
    assert Knob("c", ["b", "a", "b"]).values == ("b", "a")
    assert Knob("c", ["b", "a", "c"]).scale(["b", "a", "c"]).tolist() == [0.0, 0.5, 1.0]
    assert Knob("c", ["only"]).scale(["only"]).tolist() == [0.0]
    assert Knob("n", [np.int64(3), 1, 3]).values == (1, 3)
    assert type(Knob("n", [np.int64(3)]).values[0]) is int
    assert not Knob("f", [True, False]).numeric
    assert Knob("n", [5]).scale([5]).tolist() == [0.0]
    fixed = Knob("n", low=5, high=5)
    assert (fixed.scale([5]).tolist(), fixed.unscale(0.3), fixed.finite) == ([0.0], 5.0, False)
    with pytest.raises(DataError, match="expected values, or low <= high"):
        Knob("n", [])


def test_values_are_read_off_a_scale_at_the_nearest() -> None:
    knob = Knob("cap_w", [100, 200, 300])
    assert [knob.unscale(u) for u in (0.0, 0.24, 0.26, 0.74, 0.76, 1.0)] == [
        100, 100, 200, 200, 300, 300]  # fmt: skip
    assert Knob("n", low=1, high=100).unscale(0.5) == pytest.approx(10.0)
    assert Knob("n", low=100, high=200).unscale(0.25) == pytest.approx(125.0)


def test_powers_of_two_hold_both_ends() -> None:
    assert powers_of_two(1, 8) == (1, 2, 4, 8)
    assert powers_of_two(5, 7) == ()


def test_a_space_turns_the_last_knob_fastest_and_leaves_out_what_is_not_allowed() -> None:
    space = Space((Knob("nodes", [1, 2]), Knob("cap_w", [200, 300])),
                  (lambda s: s["nodes"] * s["cap_w"] != 400,))  # fmt: skip
    assert space.names == ("nodes", "cap_w")
    assert [tuple(s.values()) for s in space.settings()] == [(1, 200), (1, 300), (2, 300)]
    corners = space.sample(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))
    assert [tuple(s.values()) for s in corners] == [(1, 200), (2, 300)]
    assert space.scale(table({"cap_w": [300, 200], "nodes": [1, 2]})).tolist() == [[0, 1], [1, 0]]
    assert Space.of(space) is space
    mixed = Space.of([Knob("nodes", [1]), Knob("cap_w", low=1, high=2)])
    assert not mixed.finite
    with pytest.raises(DataError, match=r"^Space: cap_w is a range"):
        mixed.settings()


def test_alternatives_keep_what_was_known_and_only_that() -> None:
    job = table({"user": ["u"], "nodes": [64], "end_s": [9.0], "tile": [3]},
                [Column("tile", "B", Moment.SUBMIT, "edge")])  # fmt: skip
    made = Space.of(Knob("nodes", [1, 2])).alternatives(job, [{"nodes": 5}])
    assert made.frame.to_dicts() == [{"user": "u", "tile": 3, "nodes": 5}]
    assert made.schema["tile"].unit == "B"
    with pytest.raises(DataError, match="got 0 rows"):
        Space.of(Knob("nodes", [1])).alternatives(job.rows([]))


def test_a_table_must_have_what_its_schema_names() -> None:
    with pytest.raises(DataError, match="schema names nodes, the frame has not"):
        JobTable(pl.DataFrame({"user": ["a"]}), table({"user": ["a"], "nodes": [1]}).schema)


def test_plain_values_say_nothing_unless_told() -> None:
    made = Assignment(None, {}, Because("any"))
    assert made.index == -1  # of no front
    assert (made.because.limits, made.because.runner_up, made.because.support) == (
        (), None, None)  # fmt: skip
    assert len(Decision()) == 0
    chart = Chart("line", (), ("x", "y"))
    assert not chart.log
    assert Grid(("a",), ()).marked is None


class _Least:
    def score(self, front):
        return front.values[:, 0]


def _with_a_gap(draws, repeats=(1, 0, 1)):
    """Two settings that took 10 and 20 s, and one between them that a model speaks for."""
    runtime = np.array([[10.0, x, 20.0] for x in draws])
    nodes = table({"nodes": [1, 2, 4]})
    return Front(nodes, Outcome({"runtime_s": runtime}), ("runtime_s",), np.array(repeats))


@pytest.mark.parametrize(
    ("draws", "taken", "tried"),
    [
        ([4.0, 11.0] * 10, 1, {"nodes": 2}),  # better on average, not surely
        ([9.0] * 17 + [11.0] * 3, 1, {"nodes": 2}),  # surer, yet not enough
        ([9.0] * 18 + [11.0] * 2, 2, None),
        ([12.0] * 20, 1, None),  # nothing to be tried
    ],
)
def test_a_forecast_is_taken_before_a_measurement_only_if_it_is_surely_better(draws, taken, tried):
    choice = _with_a_gap(draws).choose(_Least())
    assert (choice.setting["nodes"], choice.because.try_next) == (taken, tried)
    if tried:
        assert choice.because.runner_up == {"nodes": 2}


def test_where_no_measured_setting_meets_the_limit_a_forecast_is_taken():
    class Under:
        def excess(self, front):
            return front.values[:, 0] / 9.0 - 1.0

    choice = _with_a_gap([4.0, 11.0] * 10).choose(_Least(), Under())
    assert (choice.setting["nodes"], choice.because.try_next) == (2, None)


def test_few_repeats_show_their_range_and_a_front_names_all_its_knobs():
    runtime = np.column_stack([np.arange(40.0) + 10, np.r_[5.0, 9.0, [NAN] * 38]])
    nodes = table({"nodes": [1, 2], "cap_w": [200, 200]})
    told = Front(nodes, Outcome({"runtime_s": runtime}), ("runtime_s",), np.array([40, 2]),
                 ("nodes", "cap_w"))  # fmt: skip
    low, high = told.interval("runtime_s")
    assert (low.tolist(), high.tolist()) == ([11.95, 5.0], [47.05, 9.0])
    assert told.ranged().tolist() == [False, True]
    assert told.setting(1) == {"nodes": 2, "cap_w": 200}
    assert [np.array([k, k]).tolist() for k in (18, 19)
            if Front(nodes, Outcome({"runtime_s": runtime[:2]}), ("runtime_s",),
                     np.array([k, k])).ranged().any()] == [[18, 18]]  # fmt: skip
