"""What a plan for shared GPUs says first: the best, by how much, and what it gives up."""

from __future__ import annotations

from typing import Any

from rheostat.explanation.schedules.coschedule import coschedule_report


def plan(policy: str, makespan_s: float, energy_j: float, wait_s: float) -> dict[str, Any]:
    return {"policy": policy, "makespan_s": makespan_s, "energy_j": energy_j,
            "edp_js": makespan_s * energy_j, "mean_wait_s": wait_s}  # fmt: skip


def said(*plans: dict[str, Any], objective: str = "edp") -> tuple[str, ...]:
    job = {"job_id": "a", "node": 0, "gpus": 1, "gpu_ids": "0", "start_s": 0.0, "end_s": 60.0,
           "energy_j": 600.0}  # fmt: skip
    facts = {"policies": plans, "objective": objective, "crowd": 0.05, "nodes": 1, "node_gpus": 2,
             "best": plans[0]["policy"], "schedule": [job]}  # fmt: skip
    return coschedule_report(facts).sections[0].sentences


def test_the_best_stands_first_with_what_it_gives_up() -> None:
    first, price, sure = said(plan("packed", 100.0, 5e3, 30.0), plan("list", 90.0, 8e3, 40.0))
    assert first == (
        "packed is best in energy times makespan: 1 job in 1m 40s with 5 kJ, \u221231 % beside "
        "list, the nearest."
    )
    assert price == "Its price: makespan 1m 40s for 1m 30s under list."
    assert "nothing ran" in sure


def test_a_plan_that_is_best_in_all_gives_up_nothing() -> None:
    _, price, _ = said(plan("packed", 100.0, 5e3, 30.0), plan("list", 110.0, 8e3, 40.0))
    assert price.startswith("Its price: none of the plans")


def test_plans_alike_are_told_so_and_one_alone_has_no_other() -> None:
    alike, _, _ = said(plan("a", 100.0, 5e3, 1.0), plan("b", 100.0, 5e3, 1.0), objective="energy")
    assert alike.endswith("as good as b, the nearest.")
    only, _, _ = said(plan("a", 100.0, 5e3, 1.0))
    assert only.endswith("with 5 kJ.")
