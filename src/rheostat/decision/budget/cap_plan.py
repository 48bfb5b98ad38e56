"""A plan: which caps change, from what to what, and why - as a document that can be applied later.

A plan is plain data, one JSON object: what was allowed, what was chosen for each node, what it is
expected to gain, and the certificate.  It names the caps as they were when it was made, so whoever
applies it can see that the world has moved on.

Notation
--------
N  nodes      watts in W, gains as shares (0.05 is 5 %), prices as gain per watt
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import read_json
from rheostat.decision.budget.allocate_power import BudgetPlan, by_weight, gains, settings
from rheostat.decision.budget.node_options import BudgetObjective, setting_value
from rheostat.decision.budget.nodes import IDLE, NodeFleet
from rheostat.decision.budget.sharing_rules import BASELINES
from rheostat.errors import DataError

SCHEMA = "rheostat.plan/1"


@dataclass(frozen=True)
class CapPlan:
    """One node of a plan: its caps before and after, in watts by knob; none after: left alone."""

    node: str
    before: Mapping[str, float]
    after: Mapping[str, float]

    @property
    def changes(self) -> dict[str, tuple[float, float]]:
        """Caps that change: (before, after); before is NaN where the plan does not know it."""
        nan = float("nan")
        return {
            k: (self.before.get(k, nan), v)
            for k, v in self.after.items()
            if self.before.get(k, nan) != v
        }


def facts(spent: BudgetPlan, *, baselines: bool = True) -> dict[str, Any]:
    """The plan as plain values, to be written as JSON under the schema `SCHEMA`."""
    fleet, after = spent.fleet, spent.after
    price = dict(zip(("value", "low", "high"), spent.price, strict=True))
    plan: dict[str, Any] = {
        "objective": spent.objective.objective,
        "risk": spent.objective.risk,
        "slowdown": spent.objective.slowdown,
        "limits": {
            "total_w": spent.limits.total_w,
            "groups": {k: dict(v) for k, v in spent.limits.groups.items()},
        },
        "caps_w": {"before": float(fleet.now_w.sum()), "after": float(after.now_w.sum())},
        "mean_gain": dict(zip(("value", "low", "high"), spent.mean_gain, strict=True)),
        "least_gain": float(spent.gain[0].min()),
        "least_speed": _least_speed(spent),
        "watt": {
            "gain_per_w": price,
            "mean_gain_percent_per_kw": {
                k: None if v is None else 1e5 * v / fleet.weight.sum() for k, v in price.items()
            },
        },
        "certificate": {
            "value": spent.certificate.value,
            "bound": spent.certificate.bound,
            "gap": spent.certificate.gap,
            "exact": spent.certificate.exact,
        },
        "changed": len(spent.changed),
        "donors": [fleet.names[i] for i in spent.donors],
        "nodes": [_node(spent, after, i) for i in range(len(fleet))],
        "notes": [note.message for note in spent.notes],
    }
    if baselines:
        plan["baselines"] = baseline_gains(spent)
    return plan


def _least_speed(spent: BudgetPlan) -> float:
    """The least speed of a node, as a share of that at its application's best caps."""
    fleet, whole = spent.fleet, BudgetObjective("max-min-speed")
    shares = [setting_value(s, 0, whole) for s in fleet.surfaces]
    return float(min(shares[a][row] for a, row in zip(fleet.app, spent.rows, strict=True)))


def _node(spent: BudgetPlan, after: NodeFleet, i: int) -> dict[str, Any]:
    before, chosen = settings(spent, i)
    mean, low, high = (float(x[i]) for x in spent.gain)
    app, kept = spent.fleet.surfaces[spent.fleet.app[i]].app, i in spent.fleet.fixed
    if kept and app == IDLE:
        app = "(unknown)"
    return {
        "node": spent.fleet.names[i],
        "app": app,
        "kept": kept,
        "before": before,
        "after": chosen,
        "watts_before": float(spent.fleet.now_w[i]),
        "watts_after": float(after.now_w[i]),
        "gain": None if app == IDLE else {"value": mean, "low": low, "high": high},
        "because": {
            "last_step_per_w": float(spent.slopes[0][i]),
            "next_step_per_w": float(spent.slopes[1][i]),
            "price_per_w": spent.price[0],
        },
        **{level: names[i] for level, names in spent.fleet.groups.items()},
    }


def baseline_gains(spent: BudgetPlan) -> dict[str, Any]:
    """Mean gain of the usual rules with the same total; None where a rule breaks the total."""
    total, gain_by_rule = spent.limits.total_w, {}
    for name, rule in BASELINES.items():
        rows = rule(spent.fleet, total)
        fits = spent.fleet.at(rows).now_w.sum() <= total + 1e-6
        gain_by_rule[name] = by_weight(spent.fleet, gains(spent.fleet, rows)[0]) if fits else None
    return gain_by_rule


def read_plan(path: Path) -> tuple[list[CapPlan], dict[str, Any]]:
    """The nodes of a plan file and all its facts; every mistake is told at once."""
    plan = read_json(path)
    schema = plan.get("schema") if isinstance(plan, dict) else None
    if schema != SCHEMA:
        raise other_kind(path, f"a plan ({SCHEMA})")
    problems: list[str] = []
    nodes = [_planned(given, i, problems) for i, given in enumerate(plan.get("nodes") or [])]
    if not nodes:
        problems.append("names no nodes")
    if problems:
        raise DataError(str(path), problems)
    return [n for n in nodes if n is not None], plan


def _planned(given: Any, i: int, problems: list[str]) -> CapPlan | None:
    try:
        before, after = (
            {str(k): float(v) for k, v in dict(given[x]).items()} for x in ("before", "after")
        )
        name, kept = str(given["node"]), given.get("kept", False) is True
    except (KeyError, TypeError, ValueError):
        problems.append(f"nodes[{i}]: expected node, before and after with watts by knob")
        return None
    bad = [k for k, v in after.items() if not (np.isfinite(v) and v > 0)]
    problems += [f"nodes[{i}] ({name}): {k}: expected watts above 0, got {after[k]}" for k in bad]
    return CapPlan(name, before, {} if kept else after)
