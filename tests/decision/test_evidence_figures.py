"""Figures of evidence to the last word: variation, accuracy, E-values, hints and grades."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.core.front import Objective
from rheostat.core.outcome import GRADES
from rheostat.decision.accuracy import Accuracy, accuracy, accuracy_facts
from rheostat.decision.admissible import evidence, graded, only
from rheostat.decision.batch_choice import choose
from rheostat.decision.batch_fronts import stack
from rheostat.decision.evidence import Variation, e_value, variation
from rheostat.decision.tabulate import advice_table
from rheostat.errors import DataError
from rheostat.prediction.features.requested_settings import as_requested
from rheostat.tradeoff.rules import Weighted


@pytest.mark.parametrize(("within", "more"), [
    (0.25, ", and 25 % of the variance of nodes lies within applications"), (math.nan, ""),
    (0.0, ", and 0 % of the variance of nodes lies within applications"),
])  # fmt: skip
def test_variation_is_one_sentence(within, more) -> None:
    assert Variation("nodes", 1234, 0.5, 0.75, within).words() == (
        "50 % of 1,234 applications, with 75 % of the jobs, ran at two settings of nodes or "
        f"more{more}."
    )


def test_variation_is_of_logs_where_all_is_positive_and_of_users_where_no_application_is() -> None:
    data = {"user": ["u", "u", "v", "v", None, "v"], "x": [1.0, 4.0, 2.0, 8.0, 5.0, None]}
    logs = np.log([1.0, 4.0, 2.0, 8.0])
    found = variation(table(data), "x")
    inside = (np.var(logs[:2]) + np.var(logs[2:])) / 2
    assert found.within == pytest.approx(inside / np.var(logs))
    assert (found.applications, found.two_settings, found.two_settings_jobs) == (2, 1.0, 1.0)
    plain = variation(table(data | {"x": [0.0, 4.0, 2.0, 8.0, 5.0, math.inf]}), "x")
    assert plain.within == pytest.approx((4.0 + 9.0) / 2 / np.var([0.0, 4.0, 2.0, 8.0]))
    both = variation(table(data | {"app": ["a"] * 6}), "x")
    assert both.applications == 1
    assert variation(table({"app": ["a"], "x": [None]}), "x") is None
    assert variation(table({"app": ["a"], "kind": ["x"]}), "kind") is None
    assert variation(table({"app": ["a"]}), "x") is None


@pytest.mark.parametrize(("change", "values"), [
    ((1.0, 0.5, 2.0), (2 + math.sqrt(2), 1.5 + math.sqrt(0.75))),
    ((-0.5, -0.6, -0.2), (2 + math.sqrt(2), 1.25 + math.sqrt(1.25 * 0.25))),
    ((0.0, -0.1, 0.1), (1.0, 1.0)), ((-1.0, -1.0, -1.0), (math.inf, math.inf)),
    ((0.5, 0.0, 1.0), (1.5 + math.sqrt(0.75), 1.0)), ((-0.1, -0.2, 0.0), (1.0 / 0.9 + math.sqrt(
        (1 / 0.9) * (1 / 0.9 - 1)), 1.0)),
])  # fmt: skip
def test_an_e_value_is_by_its_formula_at_the_mean_and_the_nearest_end(change, values) -> None:
    assert e_value(change) == pytest.approx(values)


def test_an_unknown_change_has_no_e_value() -> None:
    assert math.isnan(e_value((math.nan, math.nan, math.nan))[0])


def test_accuracy_is_of_runs_that_ended_and_covers_both_ends() -> None:
    draws = np.tile(np.arange(101.0)[:, None], (1, 6))
    draws[:, 5] = np.nan
    jobs = table({"runtime_s": [5.0, 95.0, 96.0, 50.0, None, 1.0], "power_w": [1.0] * 6,
                  "censored": [False, False, False, True, False, False]})  # fmt: skip
    out = Outcome({"runtime_s": draws, "power_w": np.full((1, 6), np.nan)})
    found = accuracy(out, jobs, ["runtime_s", "power_w", "energy_j"], 0.9)
    assert list(found) == ["runtime_s", "power_w"]
    one = found["runtime_s"]
    assert (one.rows, one.coverage, one.level) == (3, pytest.approx(2 / 3), 0.9)
    assert one.error == pytest.approx(1 - 50 / 96)  # the middle one of three
    levels = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    assert [x for x, _ in one.curve] == list(levels)
    assert [c for _, c in one.curve] == pytest.approx([0.0] * 8 + [2 / 3, 1.0])
    assert found["power_w"].rows == 0
    assert math.isnan(found["power_w"].error)
    assert accuracy_facts({"q": Accuracy(2, 0.1, 0.8, 0.9, ())}) == {
        "q": {"rows": 2, "error": 0.1, "coverage": 0.8, "level": 0.9,
              "far_below": False}}  # fmt: skip


class Graded:
    """Two nodes are borrowed, the rest measured; energy falls with nodes."""

    def __init__(self, grade=True):
        self.grade = grade

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")
        grade = np.where(n == 2, GRADES.index("borrowed"), GRADES.index("measured"))
        return Outcome({"runtime_s": 9.0 / n[None], "energy_j": 90.0 - n[None]}, n * 1.0, (),
                       grade if self.grade else None)  # fmt: skip


JOBS = table({"job_id": [1, 2, 3], "user": ["u", "v", "w"], "nodes": [1, 2, 3]})
SPACE = Space.of(Knob("nodes", [1, 2, 4]))


def fronts(grade=True):
    objectives = (Objective.of("runtime_s"), Objective.of("energy_j"))
    return stack(JOBS, Graded(grade), SPACE, objectives)


def test_the_evidence_of_a_change_is_the_weaker_of_both_settings() -> None:
    many = fronts()
    names = [[GRADES[g] for g in row] for row in evidence(many)]
    assert names[0] == ["measured", "borrowed", "measured", "measured"]
    assert names[1] == ["borrowed"] * 4  # the request itself is borrowed
    assert graded(many, ["measured"]).tolist() == [[n == "measured" for n in row] for row in names]
    assert evidence(fronts(grade=False)) is graded(fronts(grade=False), ["measured"]) is None


def test_what_is_not_allowed_has_no_forecast_and_the_rest_is_as_it_was() -> None:
    many = fronts()
    assert only(many, np.ones((3, 4), dtype=bool)) is many
    allowed = np.array([[True, False, True, True]] * 3)
    kept = only(many, allowed)
    seen = np.isfinite(kept.draws("energy_j")[0])
    assert seen.tolist() == (allowed & np.isfinite(many.draws("energy_j")[0])).tolist()
    assert kept.flat.outcome.support.tolist() == many.flat.outcome.support.tolist()
    assert kept.flat.outcome.grade.tolist() == many.flat.outcome.grade.tolist()


def test_a_hint_stands_where_only_others_speak_for_another_setting() -> None:
    many, rule = fronts(), Weighted({"energy_j": 1})
    hints = choose(many, rule, [], 0.9)
    own = choose(only(many, graded(many, ["measured"])), rule, [], 0.9)
    assert (own.status.tolist(), hints.status.tolist()) == (
        ["advised", "abstained", "advised"], ["advised"] * 3)  # fmt: skip
    made = advice_table(JOBS, own, ["nodes"], hints)
    frame = made.frame
    assert frame["nodes"].to_list() == [4, 2, 4]
    assert frame["nodes_requested"].to_list() == [1, 2, 3]
    assert frame["nodes_hint"].to_list() == [None, 4, None]
    assert frame["energy_j_change_hint"].to_list() == [None, pytest.approx(86 / 88 - 1), None]
    assert frame["evidence"].to_list() == ["measured", "borrowed", "measured"]
    assert frame["support"].to_list() == [4.0, 2.0, 4.0]
    assert frame["energy_j_advised"].to_list() == [86.0, None, 86.0]
    assert frame["energy_j_requested"].to_list() == [89.0, None, 87.0]
    assert made.schema["energy_j_advised_low"].unit == "J"
    assert made.schema["energy_j_change"].unit == ""
    assert made.schema["nodes"].meaning == "advised nodes"
    plain = advice_table(JOBS, choose(fronts(grade=False), rule, [], 0.9), ["nodes"])
    assert "evidence" not in plain.columns
    assert "nodes_hint" not in plain.columns


def test_every_job_stands_at_every_setting_and_last_as_it_is() -> None:
    many = fronts()
    assert many.flat.alternatives.frame["nodes"].to_list() == [1, 2, 4, 1, 1, 2, 4, 2, 1, 2, 4, 3]
    assert many.requested.tolist() == [0, 1, 3]
    assert np.isnan(many.draws("runtime_s")[0]).tolist() == [
        [False, False, False, True], [False, False, False, True], [False] * 4]  # fmt: skip
    assert many.flat.alternatives.frame["user"].to_list() == ["u"] * 4 + ["v"] * 4 + ["w"] * 4
    assert many.base({"nodes": 4}).tolist() == [2] * 3
    assert many.base(None).tolist() == [2, 2, 2]
    with pytest.raises(DataError, match=r"no alternative has .*3"):
        many.base({"nodes": 3})
    ran = table({"nodes": [4, 8], "nodes_requested": [16, None]})
    asked = as_requested(ran, ["nodes"])
    assert asked.schema["nodes_requested"].meaning == "nodes as submitted"
