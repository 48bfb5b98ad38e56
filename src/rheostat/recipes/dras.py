"""DRAS: the two-level scheduling agent of Fan, Lan, Childers and others, as released.

Which waiting job comes next, and which fill the holes before a promised one?  One network answers
both, from the jobs of a window and all nodes; it learns by playing weekly jobsets.  The mechanisms
are `rheostat.training.rl`; here are its authors' settings.

References
----------
Fan, Lan, Childers, Rich, Allcock, Papka, "Deep reinforcement agent for scheduling in HPC", IPDPS
2021.  Settings are those of the released code (branch DRAS of SPEAR-UIC/CQSim); the paper has a
step size of 0.001, a discount of 0.99, an exploration factor of 0.995, leaky rectifiers, and
promises to the job that was chosen.
"""

from __future__ import annotations

from typing import Any

from rheostat.errors import DataError
from rheostat.training.rl.dras_config import DrasConfig, known

AGENTS = {"dras-pg": "pg", "dras-dql": "dql"}
HIDDEN = {"theta": (4000, 1000), "cori": (10_000, 4000)}
NODES = {"theta": 4360, "cori": 12_076}

FAITHFUL: dict[str, Any] = {
    "window": 50,
    "hidden": HIDDEN["theta"],
    "reward": "dras_capability",
    "inputs": "raw",
    "gamma": 0.6,
    "instances": 10,
    "loss": "whole",
    "steps": "each",
    "error": "descent",
    "explore": 1.0,
    "explore_factor": 0.99,
    "explore_least": 0.01,
    "explore_again": True,
    "test": "sample",
    "backfill": "queue",
    "plans": "true",
    "decay": "selected",
    "priorities": "trace",
}
OWN = {"pg": {"lr": 0.01, "promise": "first_held"}, "dql": {"lr": 0.001, "promise": "first"}}


def dras(agent: str = "dras-pg", *, faithful: bool = True, **changed: Any) -> DrasConfig:
    """The setup of DRAS-PG or DRAS-DQL; ``changed`` are deviations, switch by switch.

    ``faithful=False`` begins from the defaults of `DrasConfig` instead.

    >>> dras("dras-pg").hidden, dras("dras-dql", hidden=(64, 32)).inputs
    ((4000, 1000), 'raw')
    """
    if agent not in AGENTS:
        raise DataError("agent", [f"expected {' or '.join(AGENTS)}, got {agent!r}"])
    method = AGENTS[agent]
    released = FAITHFUL | OWN[method] if faithful else {}
    known(DrasConfig, changed)
    return DrasConfig(method=method, **(released | changed))
