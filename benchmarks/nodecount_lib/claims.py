"""Do attention embeddings help, and does searching for both objectives at once?  Paired tables.

The two hypotheses of the paper, tested one change at a time: the same surrogate with and without
embeddings, the same Gaussian process and start with a multi- and a single-objective acquisition.
Differences are over the pools and seeds that both sides were run on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .stats import Scores, bootstrap, verdict

BUDGETS = (2, 4, 8, 12)
HEAD = (
    "| {what} | objectives | evaluations | without | with | hypervolume gained | verdict "
    "| regret added | verdict | pools | runs |"
)


@dataclass(frozen=True)
class Ablation:
    """What is changed, the command, and pairs (label, with it, without it)."""

    title: str
    what: str
    said: str
    pairs: tuple[tuple[str, str, str], ...]

    @property
    def command(self) -> str:
        """Runs the methods of this table."""
        names = dict.fromkeys(m for _, on, off in self.pairs for m in (off, on))
        return f"python benchmarks/nodecount.py --methods {','.join(names)}"


ABLATIONS = (
    Ablation(
        "Ablation: attention embeddings on and off",
        "model",
        "The same surrogate, acquisition and seeds; with: the TabNet encoder's summed step outputs "
        "beside the features. Last: embeddings under LightGBM against TabNet as the regressor.",
        (
            ("forest", "paper-rf-emb", "paper-rf"),
            ("XGBoost", "paper-xgb-emb", "paper-xgb"),
            ("LightGBM", "paper-lgbm-emb", "paper-lgbm"),
            ("LightGBM against TabNet", "paper-lgbm-emb", "paper-tabnet"),
        ),
    ),
    Ablation(
        "Ablation: multi- against single-objective search",
        "against",
        "With: BoTorch's qLogNEHVI. Without: the same Gaussian process and start with expected "
        "improvement of one objective; last, no model at all.",
        (
            ("runtime alone", "botorch", "sobo-runtime"),
            ("power alone", "botorch", "sobo-power"),
            ("energy-delay product", "botorch", "sobo-edp"),
            ("random search", "botorch", "random"),
        ),
    ),
)


def ablations(scores: Scores) -> list[str]:
    """Both tables, each under its command."""
    lines: list[str] = []
    for a in ABLATIONS:
        rows = [
            _row(scores, pair, o, b)
            for pair in a.pairs
            if set(pair[1:]) <= set(scores.methods)
            for o in scores.objectives
            for b in BUDGETS
            if b in scores.budgets
        ]
        rows = [r for r in rows if r]
        if rows:
            head = HEAD.format(what=a.what)
            lines += ["", f"### {a.title}", "", f"    {a.command}", "", a.said, ""]
            lines += [head, "|" + "---|" * (head.count("|") - 1), *rows]
    return lines


def _row(scores: Scores, pair: tuple[str, str, str], objectives: str, budget: int) -> str:
    label, on, off = pair
    cell = (objectives, budget)
    hv = [scores.of("hv_fraction", m, *cell) for m in (off, on)]
    common = np.isfinite(hv[0]) & np.isfinite(hv[1])
    if not common.any():
        return ""
    means = [bootstrap(np.where(common, v, np.nan)).mean for v in hv]
    gained = bootstrap(hv[1] - hv[0])
    added = bootstrap(scores.of("regret", on, *cell) - scores.of("regret", off, *cell))
    cells = [label, objectives, str(budget), *(f"{m:.3f}" for m in means)]
    cells += [gained.text(), verdict("hv_fraction", gained), added.text(), verdict("regret", added)]
    cells += [str(int(common.any(axis=1).sum())), str(int(common.sum()))]
    return "| " + " | ".join(cells) + " |"
