"""What a scheduling tree says, in plain words: its rules, its picture, how far it can be trusted.

Every way from the root to a leaf is a rule.  Its questions are put together, one interval per
quantity, in the units people use; the rules that most jobs fall under come first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.explanation.number_words import MINUS, duration, listed, share, signed

Facts = Mapping[str, Any]
MOST = 12  # rules on a terminal
OVERALL = 4
DOMINANT = 0.8  # factors are named until they make up so much of the priority's change


@dataclass(frozen=True)
class TreeRule:
    """A leaf: its jobs, their share in training, priority (middle, low, high), what orders them.

    ``factors`` are (what, weight), the greatest first; more of it goes first where the weight is
    above 0, less of it below.  A weight is the factor's share in the largest change of priority.
    """

    leaf: int
    jobs: str
    part: float
    priority: tuple[float, float, float]
    factors: tuple[tuple[str, float], ...]

    @property
    def order(self) -> str:
        """What orders the jobs of the rule, in words."""
        return factor_words(self.factors)


def rules(tree: PriorityTree) -> list[TreeRule]:
    """One per leaf, the most used first."""
    total = max(int(tree.support[0]), 1)
    made = []
    for leaf, bounds in _ways(tree):
        words = [said(tree.features[f], *bounds[f]) for f in sorted(bounds)]
        part = float(tree.support[leaf]) / total
        made.append(TreeRule(leaf, listed(words) if words else "every job", part,
                          _priority(tree, leaf), factors(tree, leaf)))  # fmt: skip
    return sorted(made, key=lambda r: (-r.part, -r.priority[1], r.leaf))


def _ways(tree: PriorityTree) -> list[tuple[int, dict[int, tuple[float, float]]]]:
    """(leaf, bounds of each column asked about on the way: above the first, up to the second)."""
    leaves: list[tuple[int, dict[int, tuple[float, float]]]] = []
    stack: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if tree.left[node] < 0:
            leaves.append((node, bounds))
            continue
        f, t = int(tree.feature[node]), float(tree.threshold[node])
        low, high = bounds.get(f, (-math.inf, math.inf))
        stack.append((int(tree.right[node]), bounds | {f: (max(low, t), high)}))
        stack.append((int(tree.left[node]), bounds | {f: (low, min(high, t))}))
    return leaves


def said(feature: TreeFeature, low: float, high: float) -> str:
    """An interval as a condition.

    >>> said(TreeFeature("request_s", "s", "requested walltime"), 600.0, 7200.0)
    '10m < requested walltime ≤ 2h'
    >>> said(TreeFeature("ask", "ln s", "requested walltime"), -math.inf, math.log(3600))
    'requested walltime ≤ 1h'
    >>> said(TreeFeature("fits", "0 or 1", "fits into what is free"), -math.inf, 0.5)
    'not: fits into what is free'
    """
    if feature.unit == "0 or 1":
        return feature.said if low >= 0 else f"not: {feature.said}"
    least, most = natural(low, feature), natural(high, feature)
    if not math.isfinite(low):
        return f"{feature.said} ≤ {most}"
    return f"{feature.said} > {least}" if math.isinf(high) else f"{least} < {feature.said} ≤ {most}"


def natural(value: float, feature: TreeFeature) -> str:
    """A threshold as people say it, whatever scale the tree asks on.

    >>> natural(math.log(0.25), TreeFeature("share", "ln", "requested share of the machine"))
    '25 %'
    >>> natural(math.log1p(30), TreeFeature("wait", "ln(1 + min)", "wait time"))
    '30m'
    >>> natural(8.5, TreeFeature("procs", "", "processors"))
    '8'
    """
    if math.isinf(value):
        return ""
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
    if unit == "0 to 1" or (unit == "ln" and "/" not in feature.words):
        return share(value, 0 if value >= 0.1 else 1)
    if unit in ("", "ln(1 + jobs)"):
        return f"{math.floor(value + 1e-9):,}"  # counts are whole: at most 8.5 is at most 8
    return f"{value:.3g}"


def _priority(tree: PriorityTree, leaf: int) -> tuple[float, float, float]:
    """The middle, and where nine tenths of its jobs were in training; else all it could be."""
    met = tree.facts.get("worths", {}).get(str(leaf))
    if met:
        return met[0], met[1], met[2]
    value = float(tree.value[leaf])
    change = np.where(tree.slope[leaf] >= 0, 1.0 / tree.steep[leaf], 0.0)
    least, most = float(change[change < 0].sum()), float(change[change > 0].sum())
    return value + (least + most) / 2, value + least, value + most


def factors(tree: PriorityTree, leaf: int) -> tuple[tuple[str, float], ...]:
    """(what, signed share in the largest change of the priority) of a leaf, the greatest first."""
    change: dict[str, float] = {}
    for column, steep in zip(tree.slope[leaf].tolist(), tree.steep[leaf].tolist(), strict=True):
        if column >= 0:  # a quantity may be there twice, with changes at different sizes
            name = tree.features[column].said
            change[name] = change.get(name, 0.0) + 1.0 / steep
    total = sum(map(abs, change.values())) or 1.0
    return tuple(sorted(((n, c / total) for n, c in change.items()), key=lambda f: -abs(f[1])))


def factor_words(weighted: Sequence[tuple[str, float]]) -> str:
    """The dominant factors with their weights, the rest as one.

    >>> factor_words([("wait time", 0.5), ("requested walltime", -0.3), ("processors", -0.2)])
    'wait time (+50 %), requested walltime (−30 %), processors (−20 %)'
    >>> factor_words([("a", 0.6), ("b", -0.3), ("c", 0.05), ("d", 0.03), ("e", -0.02)])
    'a (+60 %), b (−30 %); 3 others 10 %'
    >>> factor_words([])
    'order of arrival'
    """
    shown = [f"{name} ({signed(weight)})" for name, weight in weighted]
    enough = np.cumsum([abs(weight) for _, weight in weighted]) >= DOMINANT - 1e-9
    most = int(np.argmax(enough)) + 1 if enough.any() else len(weighted)
    if len(weighted) - most < 2:
        return ", ".join(shown) or "order of arrival"
    rest = sum(abs(weight) for _, weight in weighted[most:])
    return f"{', '.join(shown[:most])}; {len(weighted) - most} others {share(rest)}"


def overall_words(tree_rules: Sequence[TreeRule]) -> str:
    """What orders jobs within rules, each rule weighed by how many jobs fall under it."""
    total: dict[str, float] = {}
    for rule in tree_rules:
        for name, weight in rule.factors:
            total[name] = total.get(name, 0.0) + rule.part * abs(weight)
    most = sorted(total.items(), key=lambda item: -item[1])[:OVERALL]
    return listed([f"{name} ({share(weight)})" for name, weight in most] or ["order of arrival"])


def rule_grid(tree: PriorityTree, most: int | None = None) -> Grid:
    """A row per rule."""
    rows = tuple((r.part, r.jobs, r.priority, r.order) for r in rules(tree)[:most])
    return Grid(("of jobs", "if", "priority", "ordered by"), rows, ("share", "", "1", ""))


def drawn(tree: PriorityTree) -> list[str]:
    r"""The tree as lines of text: questions, and the priority of leaves.

    >>> small = PriorityTree.of([TreeFeature("procs", "", "processors")], feature=[0, -1, -1], left=[1, -1, -1],
    ...                 right=[2, -1, -1], threshold=[8.5, 0, 0], value=[0, 1, 0], support=[4, 1, 3])
    >>> print(*drawn(small), sep="\n")
    processors ≤ 8?
    ├ yes: priority 1 (25 %), by order of arrival
    └ no:  priority 0 (75 %), by order of arrival
    """  # noqa: E501 - a doctest
    lines: list[str] = []
    total = max(int(tree.support[0]), 1)

    def put(node: int, lead: str, rest: str) -> None:
        if tree.left[node] < 0:
            priority, part = _priority(tree, node)[0], float(tree.support[node]) / total
            order = factor_words(factors(tree, node))
            lines.append(f"{lead}priority {priority:.3g} ({share(part)}), by {order}")
            return
        lines.append(f"{lead}{_question(tree, node)}")
        put(int(tree.left[node]), f"{rest}├ yes: ", f"{rest}│      ")
        put(int(tree.right[node]), f"{rest}└ no:  ", f"{rest}       ")

    put(0, "", "")
    return lines


def _question(tree: PriorityTree, node: int) -> str:
    feature = tree.features[int(tree.feature[node])]
    return f"{said(feature, -math.inf, float(tree.threshold[node]))}?"


def tree_chart(tree: PriorityTree) -> Chart:
    """Every node with its question and threshold, or with its answer; leaves one below another."""
    place, parent = np.zeros(len(tree.left)), np.full(len(tree.left), -1)
    order = [leaf for leaf, _ in _ways(tree)]
    place[order] = np.arange(len(order))
    inner = np.flatnonzero(tree.left >= 0)
    for node in inner[::-1]:
        parent[[tree.left[node], tree.right[node]]] = node
        place[node] = (place[tree.left[node]] + place[tree.right[node]]) / 2
    answer = {0: "", **{int(tree.left[i]): "yes: " for i in inner}}
    answer |= {int(tree.right[i]): "no: " for i in inner}
    by_leaf = {r.leaf: r for r in rules(tree)}
    text, hover = [], []
    for node in range(len(tree.left)):
        rule = by_leaf.get(node)
        text.append([answer[node] + _question(tree, node)] if rule is None
                    else _answer(rule, answer[node]))  # fmt: skip
        hover.append("" if rule is None else f"{rule.jobs}<br>by {rule.order}")
    series = {"x": tree.deep.tolist(), "y": place.tolist(), "parent": parent.tolist(),
              "leaf": (tree.left < 0).tolist(), "text": text, "hover": hover}  # fmt: skip
    return Chart("tree", (series,), ("", ""))


def _answer(rule: TreeRule, lead: str) -> list[str]:
    """Paragraphs of a leaf's box."""
    first = f"{lead}priority {rule.priority[0]:.3g}, {share(rule.part)} of jobs"
    if not rule.factors:
        return [first, "by order of arrival"]
    name, weight = rule.factors[0]
    return [first, f"by {name} ({signed(weight)})"]


def _like_its_teacher(facts: Facts, size: str) -> str:
    """How well a tree of this size stands for the policy that it was made of."""
    if not (certificate := facts.get("certificate")):
        return f"{size}."
    teacher, agree = facts.get("teacher", "its teacher"), _spread(certificate["agreement"])
    return f"It decides as {teacher} in {agree} of new decisions: {size}."


def certificate_words(facts: Facts) -> tuple[str, ...]:
    """The fidelity certificate in sentences; one that says so where there is none."""
    certificate = facts.get("certificate")
    if not certificate:
        return ("Nothing is known of how it was made: no certificate.",)
    agree, regret = certificate["agreement"], certificate["regret"]
    lines = [
        f"It puts first whom {facts.get('teacher', 'its teacher')} would in "
        f"{_spread(agree)} of {certificate['decisions']:,} decisions that it met after what it "
        f"learned from; drawing lots would in {share(certificate['chance'])}.",
        f"A decision costs {_spread(regret)} of what is at stake in it, by the teacher's own "
        "account; its place in the teacher's order is "
        f"{share(certificate['place']['mean'], 1)} of the way down.",
    ]
    if "strange" in certificate:
        lines.append(
            f"{share(certificate['strange'], 1)} of the decisions lie outside of what was learned "
            f"from; of the rules {certificate['leaves_met']} were met, {certificate['unused']} had "
            "no job in training."
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


def tree_facts(tree: PriorityTree) -> dict[str, Any]:
    """Everything the report says, as data."""
    rows = [
        {"if": r.jobs, "share": r.part, "worth": r.priority[0], "least": r.priority[1],
         "most": r.priority[2], "ordered_by": [{"factor": f, "weight": w} for f, w in r.factors]}
        for r in rules(tree)
    ]  # fmt: skip
    size = {"leaves": len(tree.leaves), "depth": tree.depth, "nodes": len(tree.left)}
    return {**size, "features": [f.name for f in tree.used], "rules": rows, "facts": tree.facts}


def tree_report(tree: PriorityTree, name: str = "tree", *, page: bool = False) -> Report:
    """Rules, picture and certificate; for a terminal, or a ``page``."""
    tree_rules = rules(tree)
    asked = [tree.features[i].said for i in dict.fromkeys(tree.feature[tree.left >= 0].tolist())]
    about = f" about {listed(asked)}" if asked else ""
    size = f"{_many(len(tree_rules), 'rule')}, at most {_many(tree.depth, 'question')}{about}"
    said_first: tuple[str, ...] = (
        _like_its_teacher(tree.facts, size),
        f"Within the rules jobs are ordered most by {overall_words(tree_rules)}.",
        "The waiting job of the highest priority goes first; others fill in as the policy "
        "backfills.",
        "Ordered by: the dominant factors of a rule with their weights, shares in the largest "
        f"change of the priority; + more of it goes first, {MINUS} less of it goes first.",
    )
    if tree.facts.get("guard"):
        said_first += (
            "Before all others go jobs that would come near a wait of "
            f"{tree.facts['guard'][0]:.3g} times the longest under first come, first served "
            "with EASY.",
        )
    if tree.facts.get("trust"):
        said_first += ("Who may pass the first in line is planned with predicted run times.",)
    trust = Section("trust", certificate_words(tree.facts))
    if page:
        sections = [
            Section("Rules", said_first, rule_grid(tree)),
            Section("The tree", ("From left to right; the shaded boxes are the rules.",), None,
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
