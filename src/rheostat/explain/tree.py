"""What a scheduling tree says, in plain words: its rules, its picture, how far it can be trusted.

Every way from the root to a leaf is a rule.  Its questions are put together, one interval per
quantity, in the units people use; the rules that most jobs fall under come first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.decide.queue.tree import Feature, Tree
from rheostat.explain.words import duration, listed, share

Facts = Mapping[str, Any]
MOST = 12  # rules on a terminal


@dataclass(frozen=True)
class Rule:
    """A leaf: its jobs, their share in training, worth (middle, low, high), and their order."""

    leaf: int
    jobs: str
    part: float
    worth: tuple[float, float, float]
    slope: str


def rules(tree: Tree) -> list[Rule]:
    """One per leaf, the most used first."""
    total = max(int(tree.support[0]), 1)
    found = []
    for leaf, bounds in _ways(tree):
        words = [said(tree.features[f], *bounds[f]) for f in sorted(bounds)]
        part = float(tree.support[leaf]) / total
        found.append(Rule(leaf, listed(words) if words else "every job", part,
                          _worth(tree, leaf), _slope(tree, leaf)))  # fmt: skip
    return sorted(found, key=lambda r: (-r.part, -r.worth[1], r.leaf))


def _ways(tree: Tree) -> list[tuple[int, dict[int, tuple[float, float]]]]:
    """(leaf, bounds of each column asked about on the way: above the first, up to the second)."""
    found, stack = [], [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if tree.left[node] < 0:
            found.append((node, bounds))
            continue
        f, t = int(tree.feature[node]), float(tree.threshold[node])
        low, high = bounds.get(f, (-math.inf, math.inf))
        stack.append((int(tree.right[node]), bounds | {f: (max(low, t), high)}))
        stack.append((int(tree.left[node]), bounds | {f: (low, min(high, t))}))
    return found


def said(feature: Feature, low: float, high: float) -> str:
    """An interval in words.

    >>> said(Feature("request_s", "s", "time asked for"), 600.0, 7200.0)
    'time asked for over 10m and up to 2h'
    >>> said(Feature("ask", "ln s", "time asked for"), -math.inf, math.log(3600))
    'time asked for up to 1h'
    >>> said(Feature("fits", "0 or 1", "fitting into what is free now"), 0.5, math.inf)
    'fitting into what is free now'
    """
    if feature.unit == "0 or 1":
        return feature.said if low >= 0 else f"not {feature.said}"
    over = f"over {natural(low, feature)}" if math.isfinite(low) else ""
    most = f"up to {natural(high, feature)}" if math.isfinite(high) else ""
    return f"{feature.said} {' and '.join(w for w in (over, most) if w)}"


def natural(value: float, feature: Feature) -> str:
    """A threshold as people say it, whatever scale the tree asks on.

    >>> natural(math.log(0.25), Feature("share", "ln", "share of the machine asked for"))
    '25 %'
    >>> natural(math.log1p(30), Feature("wait", "ln(1 + min)", "time waited"))
    '30m'
    >>> natural(8.5, Feature("procs", "", "processors"))
    '8'
    """
    unit = feature.unit
    times = {"s": 1.0, "ln s": 1.0, "ln(1 + min)": 60.0, "ln(1 + h)": 3600.0}
    if unit.startswith("ln(1 +"):
        value = math.expm1(value)
    elif unit.startswith("ln"):
        value = math.exp(value)
    if unit in times:
        return duration(times[unit] * value)
    if unit == "processor-s":
        return f"{value / 3600:.3g} processor-hours"
    if unit == "0 to 1" or (unit == "ln" and "relative" not in feature.words):
        return share(value, 0 if value >= 0.1 else 1)
    if unit in ("", "ln(1 + jobs)"):
        return f"{math.floor(value + 1e-9):,}"  # counts are whole: at most 8.5 is at most 8
    return f"{value:.3g} times"


def _worth(tree: Tree, leaf: int) -> tuple[float, float, float]:
    """The middle, and where nine tenths of its jobs were in training; else all it could be."""
    met = tree.facts.get("worths", {}).get(str(leaf))
    if met:
        return met[0], met[1], met[2]
    value = float(tree.value[leaf])
    change = np.where(tree.slope[leaf] >= 0, 1.0 / tree.steep[leaf], 0.0)
    least, most = float(change[change < 0].sum()), float(change[change > 0].sum())
    return value + (least + most) / 2, value + least, value + most


def _slope(tree: Tree, leaf: int) -> str:
    """By what its jobs are put in order, the strongest first."""
    slopes = [k for k in range(tree.slope.shape[1]) if tree.slope[leaf, k] >= 0]
    slopes.sort(key=lambda k: abs(tree.steep[leaf, k]))
    words = [
        f"{'most' if tree.steep[leaf, k] > 0 else 'least'} "
        f"{tree.features[int(tree.slope[leaf, k])].said}"
        for k in slopes
    ]
    return f"{', '.join(words)} first" if words else "as they arrived"


def rule_grid(tree: Tree, most: int | None = None) -> Grid:
    """A row per rule."""
    rows = tuple((r.part, r.jobs, r.worth, r.slope) for r in rules(tree)[:most])
    return Grid(("of jobs", "if", "worth", "among them"), rows, ("share", "", "1", ""))


def drawn(tree: Tree) -> list[str]:
    r"""The tree as lines of text: questions, and the worth of leaves.

    >>> small = Tree.of([Feature("procs", "", "processors")], feature=[0, -1, -1], left=[1, -1, -1],
    ...                 right=[2, -1, -1], threshold=[8.5, 0, 0], value=[0, 1, 0], support=[4, 1, 3])
    >>> print(*drawn(small), sep="\n")
    processors up to 8?
    ├ yes: worth 1 (25 %), as they arrived
    └ no:  worth 0 (75 %), as they arrived
    """  # noqa: E501 - a doctest
    lines: list[str] = []
    total = max(int(tree.support[0]), 1)

    def put(node: int, lead: str, rest: str) -> None:
        if tree.left[node] < 0:
            worth, part = _worth(tree, node)[0], float(tree.support[node]) / total
            lines.append(f"{lead}worth {worth:.3g} ({share(part)}), {_slope(tree, node)}")
            return
        lines.append(f"{lead}{_question(tree, node)}")
        put(int(tree.left[node]), f"{rest}├ yes: ", f"{rest}│      ")
        put(int(tree.right[node]), f"{rest}└ no:  ", f"{rest}       ")

    put(0, "", "")
    return lines


def _question(tree: Tree, node: int) -> str:
    feature = tree.features[int(tree.feature[node])]
    return f"{said(feature, -math.inf, float(tree.threshold[node]))}?"


def tree_chart(tree: Tree) -> Chart:
    """Nodes and the lines between them, for a page; leaves side by side."""
    x, deep = np.zeros(len(tree.left)), tree.deep
    order = [leaf for leaf, _ in _ways(tree)]
    x[order] = np.arange(len(order))
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        x[node] = (x[tree.left[node]] + x[tree.right[node]]) / 2
    lines_x: list[float | None] = []
    lines_y: list[float | None] = []
    for node in np.flatnonzero(tree.left >= 0):
        for child in (int(tree.left[node]), int(tree.right[node])):
            lines_x += [float(x[node]), float(x[child]), None]
            lines_y += [-float(deep[node]), -float(deep[child]), None]
    told = {r.leaf: f"{r.jobs}<br>worth {r.worth[0]:.3g}; {r.slope}" for r in rules(tree)}
    leaf = tree.left < 0
    words = [told.get(i) or f"{_question(tree, i)}<br>left: yes, right: no" for i in range(len(x))]
    short = [
        "" if e else tree.features[int(f)].said for e, f in zip(leaf, tree.feature, strict=True)
    ]
    part = tree.support / max(int(tree.support[0]), 1)
    nodes = {"x": x.tolist(), "y": (-deep).astype(float).tolist(), "hover": words, "text": short,
             "leaf": leaf.tolist(), "part": part.tolist()}  # fmt: skip
    return Chart("tree", ({"x": lines_x, "y": lines_y}, nodes), ("", ""))


def certificate_words(facts: Facts) -> tuple[str, ...]:
    """The fidelity certificate in sentences; one that says so where there is none."""
    found = facts.get("certificate")
    if not found:
        return ("Nothing is known of how it was made: no certificate.",)
    agree, regret = found["agreement"], found["regret"]
    lines = [
        f"It puts first whom {facts.get('teacher', 'its teacher')} would in "
        f"{_spread(agree)} of {found['decisions']:,} decisions that it met after what it learned "
        f"from; drawing lots would in {share(found['chance'])}.",
        f"A decision costs {_spread(regret)} of what is at stake in it, by the teacher's own "
        "account; its place in the teacher's order is "
        f"{share(found['place']['mean'], 1)} of the way down.",
    ]
    if "strange" in found:
        lines.append(
            f"{share(found['strange'], 1)} of the decisions lie outside of what was learned from; "
            f"of the rules {found['leaves_met']} were met, {found['unused']} had no job in "
            "training."
        )
    lines += [
        f"Mean bounded slowdown there: {of['tree']:.3g}, the teacher's {of['teacher']:.3g}."
        for of in [facts.get("slowdown")]
        if of
    ]
    return tuple(lines)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _spread(value: Facts) -> str:
    low, high = (f"{100 * value[k]:.1f}" for k in ("low", "high"))
    return f"{share(value['mean'], 1)} [{low} {high}]"


def tree_facts(tree: Tree) -> dict[str, Any]:
    """Everything the report says, as data."""
    told = [
        {"if": r.jobs, "share": r.part, "worth": r.worth[0], "least": r.worth[1],
         "most": r.worth[2], "among": r.slope}
        for r in rules(tree)
    ]  # fmt: skip
    size = {"leaves": len(tree.leaves), "depth": tree.depth, "nodes": len(tree.left)}
    return {**size, "features": [f.name for f in tree.used], "rules": told, "facts": tree.facts}


def tree_report(tree: Tree, name: str = "tree", *, page: bool = False) -> Report:
    """Rules, picture and certificate; for a terminal, or a ``page``."""
    said_first = (
        f"{_many(len(tree.leaves), 'rule')}, at most {_many(tree.depth, 'question')}, about "
        f"{listed([f.said for f in tree.used])}.",
        "The waiting job of the highest worth goes first; others fill in as the policy backfills.",
    )
    if tree.facts.get("guard"):
        said_first += (
            f"Before all others go jobs whose wait would reach {tree.facts['guard'][0]:.3g} times "
            "the longest under first come, first served with EASY.",
        )
    if tree.facts.get("trust"):
        said_first += ("Who may pass the first in line is planned with foretold run times.",)
    trust = Section("trust", certificate_words(tree.facts))
    if page:
        sections = [
            Section("Rules", said_first, rule_grid(tree)),
            Section("The tree", ("Left: yes, right: no.  Wide: many jobs.",), None,
                    tree_chart(tree)),
            Section("How far it can be trusted", trust.sentences),
        ]  # fmt: skip
        return Report(f"{name}: the rules", sections, tree_facts(tree))
    more = len(tree.leaves) - MOST
    tail = (f"and {more} more, each for fewer jobs: --html or --json has all.",) if more > 0 else ()
    parts = [Section("rules", (*said_first, *tail), rule_grid(tree, MOST))]
    if len(tree.leaves) > 1:
        parts.append(Section("tree", tuple(drawn(tree))))
    return Report("", [*parts, trust], tree_facts(tree))
