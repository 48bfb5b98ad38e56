"""Boosted trees walked in machine code, for many rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._machine_code import code_folder, kept


@partial(kept, folder=code_folder("trees", [Path(__file__)]))
def walked(x: Any, roots: Any, nodes: Any) -> Any:
    """Sums of the leaves that each row comes to, (n,)."""
    sums = np.zeros(len(x))
    for i in range(len(x)):
        for root in roots:
            at = np.int64(root)
            feature = np.int64(nodes[at, 0])
            while feature >= 0:
                at = np.int64(nodes[at, 2 if x[i, feature] <= nodes[at, 1] else 3])
                feature = np.int64(nodes[at, 0])
            sums[i] += nodes[at, 1]
    return sums
