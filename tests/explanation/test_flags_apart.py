"""What flags save and what a rewriting saves are two figures."""

from __future__ import annotations

import math

import pytest

from rheostat.explanation.programs.flags_apart import (
    BOTH,
    FLAGS,
    TEXT,
    apart_facts,
    apart_section,
    saved_by,
)


def row(name: str, changed: str, flags: str, energy: float, by: str = "search", **more):
    figures = {"energy_ratio": energy, "runtime_ratio": energy, "energy_kind": "modelled"}
    return {"variant": name, "proposer": by, "changed": changed, "flags": flags,
            "verdict": "accepted", "rejected_by": None, "figures": figures, **more}  # fmt: skip


FAST = row("fast", FLAGS, "-O3", 0.44)
OTHER = row("other", FLAGS, "-Os", 0.9)
WRITTEN = row("written", TEXT, "-O2", 0.95)
TAKEN = row("taken", BOTH, "-O3", 0.39)
GCC = row("g", FLAGS, "-O2 -ftree-parallelize-loops=2", 0.2, "gcc")
ROWS = [GCC, OTHER, TAKEN, FAST, WRITTEN]


@pytest.mark.parametrize(
    ("taken", "flags", "rewriting"),
    [(TAKEN, 0.56, 0.05), (FAST, 0.56, 0.0), (WRITTEN, 0.0, 0.05), (GCC, 0.8, 0.0)],
)
def test_the_parts_are_told_and_add_up(taken, flags, rewriting) -> None:
    parts = saved_by(ROWS, taken, "energy_j")
    assert parts == pytest.approx({"flags": flags, "rewriting": rewriting})
    assert sum(parts.values()) == pytest.approx(1 - taken["figures"]["energy_ratio"])


def test_flags_that_were_not_run_alone_leave_the_parts_unknown() -> None:
    parts = saved_by([OTHER, TAKEN], TAKEN, "energy_j")
    assert all(math.isnan(v) for v in parts.values())
    said = apart_section([OTHER, TAKEN], TAKEN, "energy_j").sentences[0]
    assert "an unknown share by flags alone" in said


def test_compilers_stand_beside_what_the_search_did_and_are_none_of_it() -> None:
    facts = apart_facts(ROWS, TAKEN, "energy_j")
    assert facts["best_of"] == {FLAGS: "fast", TEXT: "written", BOTH: "taken"}
    assert facts["compilers"] == {"gcc": "g"}
    lines = apart_section(ROWS, TAKEN, "energy_j").grid.rows
    assert [line[0] for line in lines] == [
        "flags alone", "rewriting alone", "rewriting and flags", "loops shared by gcc"
    ]  # fmt: skip


def test_a_wrong_variant_is_the_best_of_none_but_named_where_all_are_wrong() -> None:
    wrong = {"verdict": "rejected", "rejected_by": "races"}
    least = row("least", TEXT, "-O2", 0.1, **wrong)
    assert apart_facts([least, WRITTEN], None, "energy_j")["best_of"] == {TEXT: "written"}
    grid = apart_section([least], None, "energy_j").grid
    assert grid.rows[0][3] == "rejected by races"
