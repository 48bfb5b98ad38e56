"""A tree as an order of the waiting jobs, where it asks only what any site knows of a job.

`SITE` are the features for which a request and the clock suffice: they need no engine of their own,
and a tree of them can be handed to Slurm as it is (`export`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.errors import DataError

SITE = (
    TreeFeature("wait_s", "s", "wait time"),
    TreeFeature("request_s", "s", "requested walltime"),
    TreeFeature("procs", "", "processors"),
    TreeFeature("area_s", "processor-s", "requested area"),
    TreeFeature("relative_wait", "times", "wait time / requested walltime"),
)
SITE_NAMES = tuple(f.name for f in SITE)


def is_site(tree: PriorityTree) -> bool:
    """Do a request and the clock suffice?"""
    return all(f.name in SITE_NAMES for f in tree.features)


def site_score(tree: PriorityTree) -> Any:
    """``score(now, s, r, n)``, smallest first, which numba compiles with the tree inside.

    >>> shortest = PriorityTree.of(SITE, feature=[-1], threshold=[0], left=[-1], right=[-1],
    ...                    value=[0], slope=[1], scale=[3600.0], steep=[-1.0])
    >>> score = site_score(shortest)
    >>> bool(score(0.0, 0.0, 60.0, 1.0) < score(0.0, 0.0, 61.0, 1.0))
    True
    """
    names = [f.name for f in tree.features]
    odd = [n for n in names if n not in SITE_NAMES]
    if odd:
        problem = f"expected features among {', '.join(SITE_NAMES)}, got {', '.join(odd)}"
        raise DataError("order of a tree", [problem])
    of = np.array([SITE_NAMES.index(n) for n in names] or [0])
    feature = np.where(tree.feature >= 0, of[tree.feature], -1)
    slope = np.where(tree.slope >= 0, of[tree.slope], -1)
    threshold, left, right = tree.threshold, tree.left, tree.right
    value, scale, steep = tree.value, tree.scale, tree.steep

    def score(now: float, s: float, r: float, n: float) -> float:
        wait = now - s
        seen = (wait, float(r), float(n), float(r * n), wait / max(r, 1.0))  # as `SITE`
        node = 0
        while left[node] >= 0:
            node = left[node] if seen[feature[node]] <= threshold[node] else right[node]
        priority: float = value[node]
        for k in range(slope.shape[1]):
            f = slope[node, k]
            if f < 0:
                continue
            x = seen[f]
            priority += x / (abs(x) + scale[node, k]) / steep[node, k]
        return -priority

    return score
