"""The ablation tables compare like with like and say which side is ahead."""

from __future__ import annotations

from nodecount_lib.claims import ABLATIONS, ablations
from nodecount_lib.methods import REGISTRY
from nodecount_lib.stats import Scores


def rows(method: str, share: float, seeds: int) -> list[dict[str, object]]:
    return [
        {"method": method, "pool": p, "objectives": "runtime,energy", "budget": 4, "seed": s,
         "hv_fraction": share + 0.01 * s, "hv_attainable": share, "regret": 1 - share}
        for p in "ab" for s in range(seeds)
    ]  # fmt: skip


def test_every_method_named_exists() -> None:
    assert {m for a in ABLATIONS for _, on, off in a.pairs for m in (on, off)} <= set(REGISTRY)


def test_means_are_over_the_common_runs() -> None:
    """Seeds beyond the third were run on one side only; counting them would add 0.01 to it."""
    scores = Scores([*rows("paper-rf-emb", 0.8, 5), *rows("paper-rf", 0.7, 3)])
    table = [line for line in ablations(scores) if line.startswith("| forest")]
    assert len(table) == 1
    cells = [c.strip() for c in table[0].strip("|").split("|")]
    assert cells[:5] == ["forest", "runtime,energy", "4", "0.710", "0.810"]
    assert cells[5].startswith("0.100 [")
    assert cells[6:] == ["ahead", "-0.100 [-0.100, -0.100]", "ahead", "2", "6"]


def test_without_both_sides_there_is_no_table() -> None:
    assert ablations(Scores(rows("paper-rf", 0.7, 2))) == []
