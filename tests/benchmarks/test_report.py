"""The generated section replaces only itself, and the verdicts follow the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodecount_lib.section import replace_section
from nodecount_lib.stats import Scores
from nodecount_lib.verdicts import targets


def test_other_sections_survive(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    replace_section(page, "a", ["first"])
    replace_section(page, "b", ["second"])
    replace_section(page, "a", ["third"])
    text = page.read_text()
    assert "first" not in text
    assert text.index("third") < text.index("second")
    assert text.count("begin, generated") == 2
    replace_section(page, "a", ["third"])
    assert page.read_text() == text


def rows(method: str, share: float, regret: float) -> list[dict[str, object]]:
    return [
        {"method": method, "pool": p, "objectives": o, "budget": b, "seed": s,
         "hv_fraction": share, "hv_attainable": share, "regret": regret}
        for p in "abc" for o in ("runtime,energy", "runtime,power")
        for b in (0, 2, 4, 12) for s in range(3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("share", "regret", "reached"),
    [(0.98, 0.01, [True, True, True, True]), (0.90, 0.07, [False, False, False, False])],
)
def test_targets_follow_the_numbers(share: float, regret: float, reached: list[bool]) -> None:
    scores = Scores([*rows("ours", share, regret), *rows("botorch", 0.95, 0.1)])
    assert [t.reached for t in targets(scores)] == reached
