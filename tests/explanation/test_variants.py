"""The report of a code search: what it cost and when that is paid back."""

from __future__ import annotations

import math

import pytest

from rheostat.explanation.programs.variants import on_front, payback_runs, search_report

FIGURES = {"runtime_s": 1.0, "original_runtime_s": 2.0, "energy_j": 6.0, "original_energy_j": 10.0,
           "memory_byte": math.nan, "original_memory_byte": math.nan,
           "energy_kind": "modelled"}  # fmt: skip
ROW = {"variant": "a", "proposer": "search", "change": "x", "flags": "-O2", "verdict": "accepted",
       "rejected_by": None, "diff_lines": 1.0, "changed": "text", "figures": FIGURES}  # fmt: skip


def words(cost, **figures) -> str:
    row = {**ROW, "figures": {**FIGURES, **figures}}
    report = search_report([row], row, {"seconds": 1.0, "cpu_s": 1.0, **cost}, {})
    return " ".join(s for section in report.sections for s in section.sentences)


def test_runs_until_the_search_is_paid_back() -> None:
    assert payback_runs(ROW, 101.0) == 26.0
    said = words({"energy_j": 101.0, "energy_kind": "modelled"})
    assert "Paid back after 26 runs" in said
    assert "0.5 of the original's time, 0.6 of its energy (modelled)" in said


@pytest.mark.parametrize(
    ("cost", "figures", "said"),
    [
        ({"energy_j": 9.0, "energy_kind": "modelled"}, {"energy_j": 11.0}, "Never paid back"),
        ({"energy_j": 9.0, "energy_kind": "modelled"}, {"energy_kind": "measured"}, "not known"),
        ({}, {}, "not known"),
    ],
)
def test_energies_of_two_kinds_are_not_compared(cost, figures, said) -> None:
    assert said in words(cost, **figures)


def test_the_ratio_is_that_of_runs_in_turns_with_its_interval() -> None:
    paired = {"runtime_ratio": 0.9, "runtime_ratio_low": 0.7, "runtime_ratio_high": 1.2,
              "time_change": "no significant change"}  # fmt: skip
    assert "0.9 of the original's time [0.7, 1.2] (no significant change)" in words({}, **paired)
    assert "built with -O2" in words({})


def test_nothing_accepted_keeps_the_original() -> None:
    row = {**ROW, "verdict": "rejected", "rejected_by": "races"}
    report = search_report([row], None, {"seconds": 1.0, "cpu_s": 1.0}, {})
    assert report.sections[0].sentences[0] == "no variant is accepted: the original stays."
    assert math.isnan(payback_runs({"figures": {**FIGURES, "energy_j": math.nan}}, 1.0))


def row(name: str, time: float, energy: float, memory: float, diff: float, kind="modelled"):
    figures = {"runtime_s": time, "original_runtime_s": 1.0, "energy_j": energy,
               "original_energy_j": 1.0, "memory_byte": memory, "original_memory_byte": 1.0,
               "energy_kind": kind}  # fmt: skip
    return {**ROW, "variant": name, "diff_lines": diff, "figures": figures}


def test_the_front_weighs_four_figures_and_never_two_kinds_of_energy() -> None:
    rows = [
        row("fast", 0.5, 0.9, 1.0, 9.0),
        row("small", 0.9, 0.9, 1.0, 1.0),
        row("lean", 0.9, 0.9, 0.5, 9.0),
        row("beaten", 0.9, 0.9, 1.0, 9.0),
        row("metered", 0.95, 0.95, 1.0, 9.0, "measured"),
        row("wrong", 0.1, 0.1, 0.1, 1.0) | {"verdict": "rejected"},
    ]
    assert on_front(rows) == [True, True, True, False, True, False]


def test_a_figure_that_nobody_has_does_not_empty_the_front() -> None:
    rows = [row("a", 0.5, math.nan, math.nan, 2.0), row("b", 0.6, math.nan, math.nan, 2.0)]
    assert on_front(rows) == [True, False]


def test_a_rung_that_did_not_run_says_nothing_on_the_page() -> None:
    states = (("output", "passed", ""), ("mapping", "not available", "clang not installed"))
    rungs = [dict(zip(("rung", "state", "reason"), s, strict=True)) for s in states]
    verdict = {"rungs": rungs, "flags": ["a.c:1: look"], "sandbox": "bubblewrap", "seed": 3,
               "notes": []}  # fmt: skip
    cost = {"seconds": 1.0, "cpu_s": 1.0}
    report = search_report([ROW], ROW, cost, {"a": "-x\n", "b": "-y\n"}, verdict)
    said = " ".join(s for section in report.sections for s in section.sentences)
    assert "1 of 2 rungs passed. Nothing is known of mapping: not available, clang not" in said
    assert "To be looked at: a.c:1: look." in said
    assert [s.listing for s in report.sections if s.listing] == ["-x\n", "-y\n"]


def test_figures_of_the_published_systems_stand_on_the_page() -> None:
    at_k = {"1": {"negative_counts": -0.1, "original_kept": 0.1}}
    chain = {"chain": 0, "model": "m", "answers": 2, "corrections": 1, "verified": True,
             "variant": "a"}  # fmt: skip
    facts = {"chains": [chain], "energy_reduction_at_k": at_k, "lassi": {"ratio": math.nan}}
    report = search_report([ROW], ROW, {"seconds": 1.0, "cpu_s": 1.0}, {}, chains=facts)
    grids = {s.title: s.grid.rows for s in report.sections if s.grid}
    assert grids["energy-reduction@k"] == ((1, -0.1, 0.1),)
    assert grids["chains of the model"] == ((0, "m", 2, 1, True, "a"),)
