"""Terminal table of a finished run: mean share of the attainable hypervolume and mean regret."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from .stats import LOWER_IS_BETTER, Scores


def show(scores: Scores, console: Console) -> None:
    """One table per pair of objectives and metric; the best of a column is bold."""
    for objectives in scores.objectives:
        for metric, title in (
            ("hv_attainable", "share of the attainable hypervolume"),
            ("hv_attainable_noise", "the same, differences within noise not counted"),
            ("regret", "decision regret"),
            ("regret_noise", "decision regret beyond noise"),
        ):
            console.print(_table(scores, objectives, metric, f"{objectives}: {title}, mean"))


def _table(scores: Scores, objectives: str, metric: str, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    cells = {
        (m, b): scores.mean(metric, m, objectives, b)
        for m in scores.methods
        for b in scores.budgets
    }
    pick = min if metric in LOWER_IS_BETTER else max
    best = {
        b: pick((cells[m, b] for m in scores.methods if np.isfinite(cells[m, b])), default=None)
        for b in scores.budgets
    }
    for b in scores.budgets:
        table.add_column(f"@{b}", justify="right")
    for m in scores.methods:
        table.add_row(m, *[_cell(cells[m, b], best[b]) for b in scores.budgets])
    return table


def _cell(value: float, best: float | None) -> str:
    if np.isnan(value):
        return "-"
    return (
        f"[bold]{value:.3f}[/bold]"
        if best is not None and abs(value - best) < 5e-4
        else f"{value:.3f}"
    )
