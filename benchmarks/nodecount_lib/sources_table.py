"""Shares of the attainable hypervolume by source; a method with variants is chosen elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from .replay import Row
from .stats import Scores, difference, verdict

VARIANT = "@"
"""What separates a method's name from its variant's: ours@a and ours@b are variants of ours."""
Summary = list[dict[str, Any]]


def left_out(rows: list[Row], methods: list[str]) -> Summary:
    """Mean share by objectives, budget, source and method; each source judged by others' choice.

    The variant of a source is the one with the largest mean share over all other sources, both
    pairs of objectives and all budgets above 1.
    """
    cells: dict[tuple[str, int, str, str], list[float]] = {}
    for row in rows:
        if row["hv_attainable"] is not None:
            key = row["objectives"], row["budget"], row["source"], row["method"]
            cells.setdefault(key, []).append(row["hv_attainable"])
    mean = {k: float(np.mean(v)) for k, v in cells.items()}
    sources = sorted({k[2] for k in mean})
    summary = []
    for base in dict.fromkeys(m.split(VARIANT)[0] for m in methods):
        variants = [m for m in methods if m.split(VARIANT)[0] == base]
        for source in sources:
            others = [s for s in sources if s != source] or [source]
            chosen = max(variants, key=lambda m: _over(mean, others, m))
            summary += [
                {
                    "objectives": k[0],
                    "budget": k[1],
                    "source": source,
                    "method": base,
                    "variant": chosen,
                    "share": v,
                    "runs": len(cells[k]),
                }
                for k, v in mean.items()
                if k[2:] == (source, chosen)
            ]
    return summary


def _over(mean: dict[tuple[str, int, str, str], float], sources: list[str], method: str) -> float:
    found = [v for (_, b, s, m), v in mean.items() if m == method and s in sources and b > 1]
    return float(np.mean(found)) if found else -np.inf


def lines(summary: Summary, methods: list[str]) -> list[str]:
    """A Markdown table: a row per pair and budget, a column per method, then per source."""
    bases = list(dict.fromkeys(m.split(VARIANT)[0] for m in methods))
    sources = sorted({c["source"] for c in summary})
    heads = ["objectives", "evaluations", *bases, *sources]
    said = [" | ".join(heads), "|".join(["---"] * len(heads))]
    for pair in sorted({c["objectives"] for c in summary}):
        for budget in sorted({c["budget"] for c in summary}):
            at = [c for c in summary if (c["objectives"], c["budget"]) == (pair, budget)]
            share = {(c["method"], c["source"]): c["share"] for c in at}
            means = [np.mean([v for (m, _), v in share.items() if m == b]) for b in bases]
            each = [" / ".join(f"{share.get((b, s), np.nan):.3f}" for b in bases) for s in sources]
            said.append(" | ".join([pair, str(budget), *(f"{m:.3f}" for m in means), *each]))
    return [f"| {line} |" for line in said]


def differences(rows: list[Row], methods: list[str]) -> list[str]:
    """A Markdown table: the first method less each other one, means over pools, 95 % intervals.

    Paired by pool and seed; none where there is nothing to compare with.
    """
    if len(methods) < 2:
        return []
    scores = Scores(rows)
    said = ["objectives | evaluations | against | difference | verdict", "---|---|---|---|---"]
    for pair in sorted(scores.objectives):
        for budget in scores.budgets:
            for other in methods[1:]:
                cell = (pair, budget)
                d = difference(scores, "hv_attainable", methods[0], other, cell=cell)
                how = verdict("hv_attainable", d)
                said.append(" | ".join([pair, str(budget), other, d.text(), how]))
    return [f"| {line} |" for line in said]
