"""The first sentence of compared policies: who waits least, how sure, and who pays."""

from __future__ import annotations

from typing import Any

import pytest

from rheostat.explanation.schedules.schedule_answer import answer_section


def policy(
    mean: float, most: float, change: Any = None, clairvoyant: bool = False
) -> dict[str, Any]:
    wait: dict[str, Any] = {"max": most}
    if change:
        wait |= dict(zip(("change", "change_low", "change_high"), change, strict=True))
    paired = {"wait_s": wait, "jobs_later": 0.19}
    return {"wait_s": {"mean": mean, "max": most}, "clairvoyant": clairvoyant, "paired": paired}


BASE = policy(7200.0, 36000.0) | {"paired": None}


def said(**others: Any) -> list[str]:
    sections = answer_section({"policies": {"easy": BASE} | others})
    return [s for section in sections for s in section.sentences]


def test_the_least_mean_wait_is_named_with_its_price() -> None:
    worse = policy(9000.0, 36000.0, (0.25, 0.1, 0.4))
    assert said(fcfs=worse, sjf=policy(3600.0, 72000.0, (-0.5, -0.6, -0.4))) == [
        "sjf has the least mean wait, 1h; under easy it is 2h: \u221250 % [\u221260 % \u221240 %].",
        "Its price: 19 % of the jobs start later; the longest wait is 20h instead of 10h.",
    ]


def test_a_change_that_may_be_none_is_no_answer() -> None:
    assert said(sjf=policy(7000.0, 36000.0, (-0.03, -0.1, 0.04)))[0].startswith("No policy is")
    assert len(said(sjf=policy(7000.0, 36000.0, (-0.03, -0.1, 0.04)))) == 1
    unknown = (-0.5, float("nan"), float("nan"))
    assert said(sjf=policy(3600.0, 36000.0, unknown))[0].startswith("No policy is told apart")


def test_the_first_policy_may_be_the_best() -> None:
    (only,) = said(fcfs=policy(9000.0, 36000.0, (0.25, 0.1, 0.4)))
    assert only.startswith("easy has the least mean wait, 2h; under fcfs, the nearest")


@pytest.mark.parametrize("others", [{}, {"sjf": BASE}])
def test_one_policy_alone_answers_nothing(others: dict[str, Any]) -> None:
    assert said(**others) == []


def test_who_knows_the_future_is_no_choice_where_another_is() -> None:
    oracle = policy(1.0, 1.0, (-0.9, -0.95, -0.8), clairvoyant=True)
    real = policy(3600.0, 36000.0, (-0.5, -0.6, -0.4))
    assert said(oracle=oracle, sjf=real)[0].startswith("sjf has")
    assert said(sjf=real)[1].endswith("the longest wait is 10h, as before.")
    assert said(oracle=oracle)[0].startswith("oracle has")


def test_where_nobody_waits_no_policy_can_help() -> None:
    assert said(sjf=policy(0.0, 0.0)) == ["Under easy nobody waits: no policy can shorten that."]
