"""Headings of trackers of experiments: the group, settings or results, stands before the name."""

from __future__ import annotations

import re
from collections.abc import Collection

GROUP = re.compile(
    r"(params?|metrics?|config|cfg|summary|hparams|user_attrs|results?|data|inputs?|outputs?)[./](.+)"
)
"""MLflow, W&B, TensorBoard, Hydra, and records whose settings and results are apart."""
OPTUNA = re.compile(r"(params|user_attrs)_(.+)")
OF_OPTUNA = {"number", "value", "state"}


def without_groups(columns: Collection[str]) -> dict[str, str]:
    """Headings without the group that a tracker puts before them, where the rest is no other's.

    >>> without_groups(["run_id", "params.nodes", "metrics.runtime_s", "metrics.run_id"])
    {'params.nodes': 'nodes', 'metrics.runtime_s': 'runtime_s'}
    >>> without_groups(["number", "value", "state", "params_nodes"])
    {'params_nodes': 'nodes'}
    """
    pattern = OPTUNA if set(columns) >= OF_OPTUNA else GROUP
    rest = {c: match[2] for c in columns if (match := pattern.fullmatch(c))}
    every = [*(c for c in columns if c not in rest), *rest.values()]
    return {c: r for c, r in rest.items() if every.count(r) == 1}
